/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The things that names stand for: variables, functions, enumerators, registers, convenience
 * variables, the history of values. */
#include "expr/node.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* From '<' to the '>' that matches it.  NULL: none. */
static const char *matching_angle(const char *text)
{
	int depth = 0;

	for (const char *c = text; *c; c++) {
		if (strchr("();\"'", *c) && *c != '(' && *c != ')')
			return NULL;
		depth += (*c == '<') - (*c == '>');
		if (!depth)
			return c;
	}
	return NULL;
}

static bool means_something(struct mt_parser *parser, const char *name)
{
	struct mt_found found;

	mt_lookup_name(&parser->lookup, name, &found);
	return found.kind != MT_FOUND_NOTHING;
}

/* "vec<int>", if there is such a name: else '<' compares. */
static struct mt_error *add_template(struct mt_parser *parser, struct mt_str *name)
{
	const char *end = mt_token_is(parser, '<') || mt_token_is(parser, MT_OP_SHIFT_LEFT)
			      ? matching_angle(parser->token.start)
			      : NULL;
	size_t before = name->length;

	if (!end || parser->lookup.language == MT_LANGUAGE_C || name->failed)
		return NULL;
	mt_str_append_bytes(name, parser->token.start, (size_t)(end + 1 - parser->token.start));
	if (name->failed)
		return mt_error_no_memory();
	if (!means_something(parser, name->text) && strncmp(end + 1, "::", 2) != 0) {
		name->length = before;
		name->text[before] = '\0';
		return NULL;
	}
	parser->next = end + 1;
	return mt_lex(parser);
}

static struct mt_error *read_parts(struct mt_parser *parser, struct mt_str *name)
{
	for (;;) {
		if (mt_token_is(parser, MT_OP_SCOPE)) {
			if (name->length)
				mt_str_append(name, "::");
			mt_try(mt_lex(parser));
			if (mt_token_is(parser, '~')) {
				mt_str_append(name, "~");
				mt_try(mt_lex(parser));
			}
		}
		if (parser->token.kind != MT_TOKEN_NAME)
			return mt_syntax_error(parser);
		mt_str_append(name, parser->token.text);
		mt_try(mt_lex(parser));
		mt_try(add_template(parser, name));
		if (!mt_token_is(parser, MT_OP_SCOPE))
			return NULL;
	}
}

/* Go's names have their package in front: "main.count". */
static struct mt_error *read_package(struct mt_parser *parser, struct mt_str *name)
{
	mt_auto(mt_str) struct mt_str full = {0};
	const char *rest;
	size_t length;

	if (parser->lookup.language != MT_LANGUAGE_GO || !mt_token_is(parser, '.') ||
	    name->failed || means_something(parser, name->text))
		return NULL;
	rest = parser->token.start;
	for (length = 1; isalnum((unsigned char)rest[length]) || rest[length] == '_';)
		length++;
	mt_str_append(&full, name->text);
	mt_str_append_bytes(&full, rest, length);
	if (full.failed)
		return mt_error_no_memory();
	if (!means_something(parser, full.text))
		return NULL;
	mt_str_append_bytes(name, rest, length);
	parser->next = rest + length;
	return mt_lex(parser);
}

struct mt_error *mt_read_qualified(struct mt_parser *parser, char **out)
{
	mt_auto(mt_str) struct mt_str name = {0};

	mt_try(read_parts(parser, &name));
	mt_try(read_package(parser, &name));
	*out = name.failed || !name.text
		   ? NULL
		   : mt_arena_text(&parser->expr->arena, name.text, name.length);
	return *out ? NULL : mt_error_no_memory();
}

static struct mt_error *no_symbol(const struct mt_parser *parser, const char *name)
{
	if (parser->lookup.language == MT_LANGUAGE_RUST)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No symbol '%s' in current context", name);
	return mt_no_symbol(name);
}

static struct mt_error *variable_node(struct mt_parser *parser, const struct mt_found *found,
				      struct mt_node **out)
{
	*out = mt_node_new(parser, MT_NODE_VARIABLE);
	if (!*out)
		return mt_error_no_memory();
	(*out)->variable =
	    mt_arena_copy(&parser->expr->arena, &found->variable, sizeof(found->variable));
	(*out)->type = found->type;
	return (*out)->variable ? NULL : mt_error_no_memory();
}

/* `function::variable`: a static one of that function. */
static bool find_in_function(Dwarf_Die *block, const char *name, unsigned depth, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (depth > MT_SCOPE_MOST || dwarf_child(block, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *child_name = mt_die_name(&child);

		if (tag == DW_TAG_variable && child_name && strcmp(child_name, name) == 0) {
			*out = child;
			return true;
		}
		if (tag == DW_TAG_lexical_block && find_in_function(&child, name, depth + 1, out))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool lookup_in_function(struct mt_parser *parser, const char *name, struct mt_found *found)
{
	const char *colons = strstr(name, "::"), *next;
	mt_auto(mt_str) struct mt_str function = {0};
	Dwarf_Die die, variable;

	while (colons && (next = strstr(colons + 2, "::")))
		colons = next;
	if (!colons || colons == name)
		return false;
	mt_str_append_bytes(&function, name, (size_t)(colons - name));
	if (function.failed)
		return false;
	mt_lookup_name(&parser->lookup, function.text, found);
	if (found->kind != MT_FOUND_FUNCTION || !found->type->die.addr)
		return false;
	die = found->type->die;
	if (!find_in_function(&die, colons + 2, 0, &variable)) {
		*found = (struct mt_found){0};
		return false;
	}
	const struct mt_scope *scope = parser->lookup.has_scope ? &parser->lookup.scope : NULL;
	bool is_here = scope && scope->blocks[scope->function].addr == die.addr;
	mt_variable_bind(found->type->module, is_here ? scope : NULL, parser->lookup.frame,
			 &variable, &found->variable);
	found->kind = MT_FOUND_VARIABLE;
	found->type = found->variable.type;
	return true;
}

/* "'file.c'::name": *FOUND stays empty where no file is called so. */
static struct mt_error *lookup_in_file(struct mt_parser *parser, const char *name,
				       struct mt_found *found)
{
	const char *colons = strstr(name, "::");
	mt_auto(mt_str) struct mt_str file = {0};

	*found = (struct mt_found){0};
	if (!colons || colons == name)
		return NULL;
	mt_str_append_bytes(&file, name, (size_t)(colons - name));
	if (file.failed)
		return mt_error_no_memory();
	if (!mt_lookup_in_file(&parser->lookup, file.text, colons + 2, found))
		return strchr(file.text, '.') ? no_symbol(parser, file.text) : NULL;
	return found->kind ? NULL
			   : mt_error_new(MT_ERROR_NOT_FOUND,
					  "No symbol \"%s\" in specified context.", colons + 2);
}

/* Of what a function has itself, its statics alone stay. */
static bool is_gone(const struct mt_parser *parser, const struct mt_found *found)
{
	const struct mt_variable *variable = &found->variable;

	if (!parser->lookup.frame || !parser->lookup.frame->at_return ||
	    (found->kind != MT_FOUND_VARIABLE && found->kind != MT_FOUND_MEMBER))
		return false;
	return variable->is_parameter || variable->kind == MT_VARIABLE_ABI ||
	       (variable->kind == MT_VARIABLE_LOCATION &&
		!(variable->count && (variable->operations[0].atom == DW_OP_addr ||
				      variable->operations[0].atom == DW_OP_addrx)));
}

static struct mt_error *found_node(struct mt_parser *parser, const char *name,
				   const struct mt_found *found, struct mt_node **out)
{
	if (is_gone(parser, found))
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "\"%s\" is not there any more when the function returns.",
				    name);
	switch (found->kind) {
	case MT_FOUND_VARIABLE:
		return variable_node(parser, found, out);
	case MT_FOUND_MEMBER: {
		/* A member of the object that the function is called for. */
		struct mt_node *this;

		mt_try(variable_node(parser, found, &this));
		*out = mt_node_new(parser, MT_NODE_MEMBER);
		if (!*out)
			return mt_error_no_memory();
		(*out)->left = this;
		(*out)->name = name;
		(*out)->through_pointer = true;
		return NULL;
	}
	case MT_FOUND_FUNCTION:
	case MT_FOUND_TYPE:
	case MT_FOUND_ENUMERATOR:
		*out = mt_node_new(parser, found->kind == MT_FOUND_FUNCTION ? MT_NODE_FUNCTION
					   : found->kind == MT_FOUND_TYPE   ? MT_NODE_TYPE
									    : MT_NODE_VALUE);
		if (!*out)
			return mt_error_no_memory();
		(*out)->type = found->type;
		(*out)->number = (int64_t)found->address;
		if (found->kind == MT_FOUND_ENUMERATOR)
			(*out)->value = mt_value_integer(found->type, (uint64_t)found->value);
		return NULL;
	default:
		return no_symbol(parser, name);
	}
}

static bool any_symbols(const struct mt_parser *parser)
{
	mt_array_each (module, &parser->program->modules)
		if ((*module)->is_mapped && mt_dwarf((*module)->objfile) &&
		    mt_dwarf((*module)->objfile)->unit_count)
			return true;
	return false;
}

static struct mt_error *symbol_node(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_found found;
	char *name;

	mt_try(mt_read_qualified(parser, &name));
	mt_lookup_name(&parser->lookup, name, &found);
	if (!found.kind && parser->lookup.language != MT_LANGUAGE_C &&
	    (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)) {
		*out = mt_node_new(parser, MT_NODE_VALUE);
		if (!*out)
			return mt_error_no_memory();
		(*out)->value = mt_value_integer(mt_type_builtin(parser->program, MT_BUILTIN_BOOL),
						 name[0] == 't');
		return NULL;
	}
	bool is_found = found.kind || lookup_in_function(parser, name, &found);
	if (!is_found)
		mt_try(lookup_in_file(parser, name, &found));
	if (!found.kind) {
		if (!any_symbols(parser))
			return mt_error_new(
			    MT_ERROR_NOT_FOUND,
			    "No symbol table is loaded.  Use the \"file\" command.");
		return no_symbol(parser, name);
	}
	mt_try(found_node(parser, name, &found, out));
	/* `parameter@entry` */
	struct mt_parser before = *parser;

	if (!mt_token_is(parser, '@') || (*out)->kind != MT_NODE_VARIABLE)
		return NULL;
	mt_try(mt_lex(parser));
	if (parser->token.kind == MT_TOKEN_NAME && strcmp(parser->token.text, "entry") == 0) {
		(*out)->kind = MT_NODE_ENTRY;
		return mt_lex(parser);
	}
	*parser = before;
	return NULL;
}

/* "$", "$$", "$3", "$$2". */
static bool is_history(const char *text, bool *absolute, int64_t *number)
{
	size_t dollars = text[1] == '$' ? 2 : 1;
	char *end;

	if (!text[dollars]) {
		*absolute = false;
		*number = (int64_t)dollars - 1;
		return true;
	}
	if (!isdigit((unsigned char)text[dollars]))
		return false;
	*absolute = dollars == 1;
	*number = strtol(text + dollars, &end, 10);
	return !*end;
}

static struct mt_error *returned_node(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_found found = {.kind = MT_FOUND_VARIABLE};

	const char *digits = parser->token.text + strlen("$_ret");
	const int number = *digits ? atoi(digits) : -1;

	mt_try(mt_returned_variable(parser->program, parser->lookup.frame->pc, number,
				    &found.variable));
	found.type = found.variable.type;
	mt_try(variable_node(parser, &found, out));
	return mt_lex(parser);
}

static struct mt_error *dollar_node(struct mt_parser *parser, struct mt_node **out)
{
	const char *text = parser->token.text;
	const struct mt_register_name *reg = mt_register_named(text + 1);
	bool absolute = false;
	int64_t number = 0;

	if (parser->lookup.frame && parser->lookup.frame->at_return &&
	    strncmp(text, "$_ret", strlen("$_ret")) == 0 &&
	    strspn(text + strlen("$_ret"), "0123456789") == strlen(text) - strlen("$_ret"))
		return returned_node(parser, out);
	*out = mt_node_new(parser, MT_NODE_CONVENIENCE);
	if (!*out)
		return mt_error_no_memory();
	if (is_history(text, &absolute, &number)) {
		(*out)->kind = MT_NODE_HISTORY;
		(*out)->absolute = absolute;
		(*out)->number = number;
	} else if (reg) {
		(*out)->kind = MT_NODE_REGISTER;
		(*out)->reg = reg;
	} else {
		(*out)->name = text + 1;
	}
	return mt_lex(parser);
}

struct mt_error *mt_parse_name(struct mt_parser *parser, struct mt_node **out)
{
	return parser->token.kind == MT_TOKEN_DOLLAR ? dollar_node(parser, out)
						     : symbol_node(parser, out);
}
