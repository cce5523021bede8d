/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results that are recorded with calls: `price_of(name, count)`, `price_of`.  They
 * are found where triggers are, and bound as their conditions are, but hit nothing. */
#include "elf/objfile.h"
#include "expr/expr.h"
#include "session/languages/words.h"
#include "session/private.h"
#include "values/variable.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS     " \t"
#define RESULT     "$_ret"
#define MOST_PARTS 16u /* of a structure */

void mt_session_name_trigger(const struct mt_session_trigger *trigger, struct mt_str *out)
{
	mt_str_appendf(out, "%s \"%s\"", trigger->values ? trigger->option : "the trigger",
		       trigger->text);
}

struct mt_session_trigger mt_session_values_trigger(const struct mt_values_spec *spec)
{
	return (struct mt_session_trigger){
	    .text = spec->text,
	    .values = spec->kind,
	    .option = spec->option,
	    .names = spec->names,
	    .spec = {.location = spec->location, .at_return = spec->kind == MT_VALUES_RESULT},
	    .is_glob = spec->is_glob};
}

static struct mt_error *add(struct mt_session *session, const char *text,
			    enum mt_session_values values, const char *option)
{
	struct mt_values_spec spec;

	mt_try(mt_values_spec_parse(text, values, option, &spec));
	struct mt_session_trigger trigger = mt_session_values_trigger(&spec);
	trigger.text = text;
	if (mt_array_push(&session->triggers, trigger)) {
		mt_values_spec_deinit(&spec);
		return mt_error_no_memory();
	}
	free(spec.text); /* the rest went over to the trigger */
	return NULL;
}

struct mt_error *mt_session_add_values(struct mt_session *session)
{
	const char *const *text = session->options->arguments;

	for (; text && *text; text++)
		mt_try(add(session, *text, MT_VALUES_ARGUMENTS, "--args"));
	for (text = session->options->results; text && *text; text++)
		mt_try(add(session, *text, MT_VALUES_RESULT, "--returns"));
	return NULL;
}

/* The parts of the last value take its place. */
static struct mt_error *use_parts(struct mt_session_value_list *parts,
				  struct mt_session_value_list *list)
{
	const size_t count = list->count - 1 + parts->count;
	struct mt_engine_value *values = realloc(list->items, count * sizeof(*values));

	if (!values)
		return mt_error_no_memory();
	list->items = values;
	mt_expr_destroy((struct mt_expr *)values[--list->count].expr);
	free((char *)values[list->count].name);
	memcpy(values + list->count, parts->items, parts->count * sizeof(*values));
	list->count = count;
	parts->count = 0;
	return NULL;
}

/* Of a part of TEXT: "point.x", or of a result, whose name is not its text, "x" or "err.data". */
static char *name_part(const char *name, const char *text, const char *part)
{
	char *made = NULL;

	if (strcmp(name, text) == 0)
		return strdup(part);
	return asprintf(&made, "%s%s", name, part + strlen(text) + !*name) < 0 ? NULL : made;
}

/* A value, or, of a structure, its parts, if these mean something alone. */
static struct mt_error *add_named(const struct mt_session_process *process,
				  const struct mt_expr_frame *frame, const char *name,
				  const char *text, struct mt_session_value_list *out)
{
	mt_auto(mt_str) struct mt_str parts = {0};
	struct mt_session_value_list list = {0};

	mt_try(mt_session_parse_value(process, frame, name, text, out));
	mt_try(mt_expr_parts(out->items[out->count - 1].expr, frame, MOST_PARTS, &parts));
	if (!parts.length)
		return NULL;
	struct mt_error *error = NULL;
	for (char *rest = parts.text, *part; !error && (part = strsep(&rest, ",")) != NULL;) {
		char *named = name_part(name, text, part);

		error = named ? mt_session_parse_value(process, frame, named, part, &list)
			      : mt_error_no_memory();
		free(named);
	}
	if (!error)
		error = use_parts(&list, out);
	mt_session_forget_values(&list);
	if (!error || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *add_value(const struct mt_session_process *process,
				  const struct mt_expr_frame *frame, const char *text,
				  struct mt_session_value_list *out)
{
	return add_named(process, frame, strcmp(text, RESULT) == 0 ? "" : text, text, out);
}

/* Of a function with several results (Go) each has its name. */
static struct mt_error *add_results(const struct mt_session_process *process,
				    const struct mt_expr_frame *frame,
				    struct mt_session_value_list *out)
{
	mt_auto(mt_str) struct mt_str names = {0};
	char text[32];
	unsigned number = 0;

	mt_try(mt_expr_results(process->program, frame->pc, &names));
	if (!names.length)
		return add_value(process, frame, RESULT, out);
	for (char *rest = names.text, *name; (name = strsep(&rest, ",")) != NULL; number++) {
		snprintf(text, sizeof(text), RESULT "%u", number);
		mt_try(add_named(process, frame, name, text, out));
	}
	return NULL;
}

/* At the end of the first word of a list: a comma outside of parentheses. */
static const char *end_of_word(const char *list)
{
	int depth = 0;

	for (; *list && (depth || *list != ','); list++)
		depth += (*list == '(' || *list == '[') - (*list == ')' || *list == ']');
	return list;
}

static struct mt_error *add_list(const struct mt_session_process *process,
				 const struct mt_expr_frame *frame, const char *list,
				 struct mt_session_value_list *out)
{
	struct mt_error *error = NULL;

	while (!error) {
		const char *end = end_of_word(list);
		list += strspn(list, BLANKS);
		size_t length = list < end ? (size_t)(end - list) : 0;
		while (length && strchr(BLANKS, list[length - 1]))
			length--;
		if (!length)
			return mt_error_new(MT_ERROR_USAGE, "A name is missing.");
		char *name = strndup(list, length);
		error = name ? add_value(process, frame, name, out) : mt_error_no_memory();
		free(name);
		if (!*end)
			break;
		list = end + 1;
	}
	return error;
}

static struct mt_error *add_all(const struct mt_session_process *process,
				const struct mt_expr_frame *frame,
				struct mt_session_value_list *out)
{
	mt_auto(mt_str) struct mt_str names = {0};

	mt_try(mt_expr_parameters(process->program, frame, &names));
	if (!names.length)
		return mt_error_new(MT_ERROR_NOT_FOUND, "The function has no parameters.");
	return add_list(process, frame, names.text, out);
}

struct mt_error *mt_session_parse_values(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 const struct mt_session_trigger *trigger,
					 struct mt_session_value_list *out)
{
	mt_auto(mt_str) struct mt_str name = {0};
	struct mt_error *error;

	if (trigger->words)
		error = mt_session_parse_words(process, frame, trigger, out);
	else if (trigger->values == MT_VALUES_RESULT)
		error = add_results(process, frame, out);
	else if (trigger->names)
		error = add_list(process, frame, trigger->names, out);
	else
		error = add_all(process, frame, out);
	if (!error || trigger->is_glob || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_session_name_trigger(trigger, &name);
	struct mt_error *whole = name.failed ? mt_error_no_memory()
					     : mt_error_new(MT_ERROR_TRIGGER, "invalid %s: %s",
							    name.text, mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

/* "shop::f(int)" is also called "shop::f". */
static bool glob_fits(const struct mt_session_trigger *trigger, const char *name)
{
	mt_auto(mt_str) struct mt_str without = {0};

	if (fnmatch(trigger->spec.location, name, 0) == 0)
		return true;
	mt_str_append_bytes(&without, name, mt_name_without_parameters(name));
	return without.text && fnmatch(trigger->spec.location, without.text, 0) == 0;
}

struct mt_error *mt_session_each_of_glob(struct mt_space *space, const struct mt_mapping *mapping,
					 const struct mt_session_trigger *trigger,
					 mt_session_function_found *found, void *context)
{
	struct mt_objfile *objfile = mapping->objfile;
	struct mt_error *error = NULL;
	size_t count = 0;
	const struct mt_symbol *symbols = objfile ? mt_objfile_symbols(objfile, &count) : NULL;

	for (size_t i = 0; i < count && !error; i++) {
		uint64_t address = symbols[i].start + mapping->bias;
		const char *name = mt_objfile_symbol_name(objfile, &symbols[i]);
		const struct mt_function *function;

		if (symbols[i].kind != MT_FUNCTION_SYMBOL ||
		    symbols[i].flags & (MT_FUNCTION_COLD | MT_FUNCTION_LABEL) ||
		    address < mapping->start || address >= mapping->end || !name ||
		    strstr(name, "thunk to ") || !glob_fits(trigger, name))
			continue;
		function = mt_space_function_at(space, address);
		if (function && function->source.file)
			error = found(context, address);
	}
	return error;
}

struct mt_error *mt_session_leave_out(struct mt_session *session,
				      const struct mt_session_process *process,
				      struct mt_session_trigger *trigger, uint64_t address,
				      struct mt_error *error)
{
	const struct mt_function *function = mt_space_function_at(process->code, address);
	mt_auto(mt_str) struct mt_str name = {0};

	if (mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_session_name_trigger(trigger, &name);
	/* One without such parameters, or that returns nothing, is none of those that are meant. */
	if (mt_error_code(error) != MT_ERROR_NOT_FOUND && !name.failed)
		mt_log(
		    session->options->engine.log,
		    trigger->left_out++ ? MT_LOG_DEBUG : MT_LOG_WARNING,
		    "%s: %s is left out: %s (more of the kind are not told: name a function for its own)",
		    name.text, function ? function->name : "a function", mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}
