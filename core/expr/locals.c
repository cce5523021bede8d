/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A frame's variables, block by block, in the order in which GDB shows them. */
#include "expr/node.h"

#include <ctype.h>
#include <dwarf.h>
#include <string.h>

struct frame_walk {
	struct mt_lookup lookup;
	struct mt_arena arena;
	struct mt_eval eval;
	struct mt_str *out;
	const struct mt_expr_settings *settings;
	bool any;
	bool is_bare; /* see struct mt_print */
};

static struct mt_error *begin(struct frame_walk *walk, struct mt_expr_program *program,
			      const struct mt_expr_frame *frame, struct mt_str *out)
{
	*walk = (struct frame_walk){.out = out, .settings = &program->user->settings};
	mt_try(mt_lookup_init(&walk->lookup, program, frame));
	walk->eval = (struct mt_eval){.program = program,
				      .frame = frame,
				      .arena = &walk->arena,
				      .language = walk->lookup.language};
	return NULL;
}

static struct mt_print printer(struct frame_walk *walk)
{
	return (struct mt_print){.eval = &walk->eval,
				 .settings = walk->settings,
				 .out = walk->out,
				 .language = walk->lookup.language,
				 .is_bare = walk->is_bare};
}

/* "name = value\n" */
static void print_variable(struct frame_walk *walk, Dwarf_Die *die)
{
	struct mt_variable variable;
	struct mt_value value;
	struct mt_print print = printer(walk);
	struct mt_error *error;

	mt_variable_bind(walk->lookup.scope.module, &walk->lookup.scope, walk->lookup.frame, die,
			 &variable);
	if (!variable.name)
		return;
	walk->any = true;
	mt_str_appendf(walk->out, "%s = ", variable.name);
	error = mt_variable_value(&walk->eval, &variable, &value);
	if (!error)
		mt_print_value(&print, &value);
	else
		mt_str_appendf(walk->out, "<error: %s>", mt_error_message(error));
	mt_error_destroy(error);
	mt_str_append(walk->out, "\n");
}

/* GDB keeps the names of a block that is no function in a table of hashes, and shows them in its
 * order: by search_name_hash() of its dictionary.  Of names that share a place the first declared
 * comes first. */
static unsigned hash_of(const char *name, bool is_cxx)
{
	unsigned hash = 0;

	for (; *name && *name != '('; name++) {
		if (is_cxx && *name == '<')
			break;
		if (!is_cxx && (*name == '$' || *name == '.' || *name == 'X'))
			break;
		if (!is_cxx && name[0] == '_' && name[1] == '_' &&
		    !(islower((unsigned char)name[2]) || name[2] == 'O') && hash)
			break;
		hash = hash * 67 + (unsigned)tolower((unsigned char)*name) - 113;
	}
	return hash;
}

static bool is_hashed(struct frame_walk *walk, Dwarf_Die *block)
{
	(void)walk;
	return dwarf_tag(block) == DW_TAG_lexical_block;
}

static bool is_local(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_variable &&
	       (!mt_die_flag(die, DW_AT_declaration) || !mt_die_flag(die, DW_AT_external));
}

static struct mt_error *end(struct frame_walk *walk, const char *none)
{
	mt_arena_deinit(&walk->arena);
	if (!walk->any && none)
		mt_str_append(walk->out, none);
	return walk->out->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_expr_locals(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				struct mt_str *out)
{
	struct frame_walk walk;

	mt_try(begin(&walk, program, frame, out));
	if (!walk.lookup.has_scope)
		return end(&walk, "No symbol table info available.\n");
	for (size_t i = 0; i <= walk.lookup.scope.function; i++) {
		mt_dies dies = {0};

		if (mt_block_variables(&walk.lookup.scope.blocks[i], &dies) == 0) {
			if (is_hashed(&walk, &walk.lookup.scope.blocks[i])) {
				size_t count = 0, buckets;
				bool is_cxx = walk.lookup.language == MT_LANGUAGE_CPP;

				mt_array_each (die, &dies)
					count += mt_die_name(die) != NULL;
				buckets = count * 5 / 4 + 1;
				for (size_t bucket = 0; bucket < buckets; bucket++)
					mt_array_each (die, &dies) {
						const char *name = mt_die_name(die);

						if (name && is_local(die) &&
						    hash_of(name, is_cxx) % buckets == bucket)
							print_variable(&walk, die);
					}
			} else
				mt_array_each (die, &dies)
					if (is_local(die))
						print_variable(&walk, die);
		}
		mt_array_deinit(&dies);
	}
	return end(&walk, "No locals.\n");
}

static void each_parameter(struct frame_walk *walk,
			   void (*visit)(struct frame_walk *walk, Dwarf_Die *die))
{
	struct mt_scope *scope = &walk->lookup.scope;
	mt_dies dies = {0};

	if (mt_block_variables(&scope->blocks[scope->function], &dies) == 0)
		mt_array_each (die, &dies)
			if (dwarf_tag(die) == DW_TAG_formal_parameter)
				visit(walk, die);
	mt_array_deinit(&dies);
}

struct mt_error *mt_expr_args(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			      struct mt_str *out)
{
	struct frame_walk walk;

	mt_try(begin(&walk, program, frame, out));
	if (!walk.lookup.has_scope)
		return end(&walk, "No symbol table info available.\n");
	each_parameter(&walk, print_variable);
	return end(&walk, "No arguments.\n");
}

/* Go's results are parameters, too. */
static bool is_hidden(Dwarf_Die *die, const char *name)
{
	return mt_die_flag(die, DW_AT_variable_parameter) ||
	       (mt_die_flag(die, DW_AT_artificial) && strcmp(name, "this") != 0);
}

static void put_name(struct frame_walk *walk, Dwarf_Die *die)
{
	const char *name = mt_die_name(die);

	if (name && !is_hidden(die, name))
		mt_str_appendf(walk->out, "%s%s", walk->out->length ? ", " : "", name);
}

struct mt_error *mt_expr_parameters(struct mt_expr_program *program,
				    const struct mt_expr_frame *frame, struct mt_str *out)
{
	struct frame_walk walk;

	mt_try(begin(&walk, program, frame, out));
	if (!walk.lookup.has_scope)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No symbol table info available.");
	each_parameter(&walk, put_name);
	return end(&walk, NULL);
}

static void print_summary(struct frame_walk *walk, struct mt_value *value)
{
	struct mt_print print = printer(walk);
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_type *referred =
	    mt_type_is_reference(type) ? mt_type_strip(mt_type_target(type)) : NULL;

	print.is_summary = true;
	if (referred && mt_type_is_aggregate(referred)) {
		size_t before = walk->out->length;

		mt_print_value(&print, value);
		/* Known to people, like std::string; else its members are left out, too. */
		if (walk->out->failed || walk->out->text[before] != '@')
			return;
		walk->out->length = before;
		walk->out->text[before] = '\0';
	}
	if (type->kind == MT_TYPE_ARRAY ||
	    (referred && (mt_type_is_aggregate(referred) || referred->kind == MT_TYPE_ARRAY)))
		mt_str_append(walk->out, "...");
	else
		mt_print_value(&print, value);
}

/* Whether what it was at entry is what it is now. */
static bool is_same(struct frame_walk *walk, struct mt_value *now, struct mt_value *entry)
{
	struct mt_error *error = mt_value_fetch(&walk->eval, now);
	bool same = !error && mt_value_equal(now, entry);

	mt_error_destroy(error);
	return same;
}

/* "n=3", "n=n@entry=3", "n=<optimized out>, n@entry=3". */
static void print_argument(struct frame_walk *walk, Dwarf_Die *die)
{
	struct mt_variable variable;
	struct mt_value value, entry;
	struct mt_error *error, *no_entry;

	mt_variable_bind(walk->lookup.scope.module, &walk->lookup.scope, walk->lookup.frame, die,
			 &variable);
	if (!variable.name)
		return;
	mt_str_appendf(walk->out, "%s%s=", walk->any ? ", " : "", variable.name);
	walk->any = true;
	error = mt_variable_value(&walk->eval, &variable, &value);
	if (error) {
		mt_str_appendf(walk->out, "<error reading variable: %s>", mt_error_message(error));
		mt_error_destroy(error);
		return;
	}
	no_entry = mt_call_site_parameter(&walk->eval, &variable, &entry);
	if (!no_entry && !value.is_optimized_out && is_same(walk, &value, &entry)) {
		mt_str_appendf(walk->out, "%s@entry=", variable.name);
		print_summary(walk, &value);
	} else {
		print_summary(walk, &value);
		if (!no_entry) {
			mt_str_appendf(walk->out, ", %s@entry=", variable.name);
			print_summary(walk, &entry);
		}
	}
	mt_error_destroy(no_entry);
}

struct mt_error *mt_expr_frame_arguments(struct mt_expr_program *program,
					 const struct mt_expr_frame *frame, struct mt_str *out)
{
	struct frame_walk walk;

	mt_try(begin(&walk, program, frame, out));
	if (walk.lookup.has_scope)
		each_parameter(&walk, print_argument);
	return end(&walk, NULL);
}

/* Of strings, and of what containers hold. */
#define KNOWN_ELEMENTS 32
#define KNOWN_DEPTH    2

/* Now, or else at the call, which the caller may tell: not of floating-point numbers, with which
 * DWARF's stack machine does not compute. */
static struct mt_error *known_value(struct frame_walk *walk, const struct mt_variable *variable,
				    struct mt_value *out)
{
	struct mt_error *error = mt_variable_value(&walk->eval, variable, out);

	if (!error)
		error = mt_value_fetch(&walk->eval, out);
	if ((!error && !out->is_optimized_out) ||
	    mt_type_strip(variable->type)->kind == MT_TYPE_FLOAT)
		return error;
	mt_error_destroy(error);
	mt_try(mt_call_site_parameter(&walk->eval, variable, out));
	return mt_value_fetch(&walk->eval, out);
}

static void print_known(struct frame_walk *walk, Dwarf_Die *die)
{
	const size_t before = walk->out->length;
	struct mt_variable variable;
	struct mt_value value;

	mt_variable_bind(walk->lookup.scope.module, &walk->lookup.scope, walk->lookup.frame, die,
			 &variable);
	if (!variable.name || is_hidden(die, variable.name))
		return;
	mt_str_appendf(walk->out, "%s%s=", walk->any ? ", " : "", variable.name);
	const size_t name = walk->out->length;
	struct mt_error *error = known_value(walk, &variable, &value);
	if (!error && !value.is_optimized_out)
		print_summary(walk, &value);
	mt_error_destroy(error);
	if (walk->out->failed)
		return;
	/* "<error: ...>" and the like are no values. */
	const bool is_known = walk->out->length > name && walk->out->text[name] != '<';
	if (!is_known) {
		walk->out->length = before;
		walk->out->text[before] = '\0';
	}
	walk->any |= is_known;
}

struct mt_error *mt_expr_known_arguments(struct mt_expr_program *program,
					 const struct mt_expr_frame *frame, struct mt_str *out)
{
	struct frame_walk walk;
	struct mt_expr_settings settings = program->user->settings;

	mt_try(begin(&walk, program, frame, out));
	settings.elements = KNOWN_ELEMENTS;
	settings.max_depth = KNOWN_DEPTH;
	settings.pretty = false;
	walk.settings = &settings;
	walk.is_bare = true;
	if (walk.lookup.has_scope)
		each_parameter(&walk, print_known);
	return end(&walk, NULL);
}

/* A parameter of no name is too much for GDB, which keeps them all then. */
static void drop_parameters(struct mt_str *name)
{
	if (strstr(name->text, "{...}"))
		return;
	name->length = mt_name_without_parameters(name->text);
	name->text[name->length] = '\0';
}

bool mt_expr_frame_function(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			    struct mt_str *name, uint64_t *low_pc)
{
	struct mt_lookup lookup;
	struct mt_error *error = mt_lookup_init(&lookup, program, frame);
	Dwarf_Die function;
	Dwarf_Addr entry = 0;

	if (error || !lookup.has_scope) {
		mt_error_destroy(error);
		return false;
	}
	function = lookup.scope.blocks[lookup.scope.function];
	if (!mt_function_name(lookup.scope.module, &function, false, name) || name->failed)
		return false;
	if (lookup.language == MT_LANGUAGE_CPP)
		drop_parameters(name);
	if (low_pc && dwarf_entrypc(&function, &entry) == 0)
		*low_pc = entry + lookup.scope.module->bias;
	return !name->failed;
}
