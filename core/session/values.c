/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results that are recorded with calls: `price_of(name, count)`, `price_of`.  They
 * are found where triggers are, and bound as their conditions are, but hit nothing. */
#include "elf/objfile.h"
#include "expr/expr.h"
#include "session/private.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

void mt_session_name_trigger(const struct mt_session_trigger *trigger, struct mt_str *out)
{
	static const char *const names[] = {
	    [MT_VALUES_NONE] = "the trigger",
	    [MT_VALUES_ARGUMENTS] = "--args",
	    [MT_VALUES_RESULT] = "--returns",
	};

	mt_str_appendf(out, "%s \"%s\"", names[trigger->values], trigger->text);
}

/* The ( that belongs to the ) at the end of TEXT; NULL: none. */
static const char *find_list(const char *text)
{
	size_t length = strlen(text);
	int depth = 0;

	if (!length || text[length - 1] != ')')
		return NULL;
	while (length-- > 0) {
		depth += (text[length] == ')') - (text[length] == '(');
		if (!depth)
			return length ? text + length : NULL;
	}
	return NULL;
}

/* "*0x401000" is an address, and "operator*" a name. */
static bool is_glob(const char *location)
{
	return *location != '*' || location[1] != '0'
		   ? strpbrk(location, "*?[") && !strstr(location, "operator")
		   : false;
}

static struct mt_error *add(struct mt_session *session, const char *text,
			    enum mt_session_values values)
{
	struct mt_session_trigger trigger = {
	    .text = text, .values = values, .at_return = values == MT_VALUES_RESULT};
	const char *list = values == MT_VALUES_ARGUMENTS ? find_list(text) : NULL;
	size_t length = list ? (size_t)(list - text) : strlen(text);

	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	if (!length)
		return mt_error_new(MT_ERROR_TRIGGER,
				    values == MT_VALUES_ARGUMENTS
					? "invalid --args \"%s\": must be FUNCTION or "
					  "FUNCTION(NAME, ...)"
					: "invalid --returns \"%s\": must be FUNCTION",
				    text);
	trigger.location = strndup(text, length);
	if (list)
		trigger.names = strndup(list + 1, strlen(list) - 2);
	trigger.is_glob = trigger.location && is_glob(trigger.location);
	if (trigger.location && (!list || trigger.names) &&
	    !mt_array_push(&session->triggers, trigger))
		return NULL;
	mt_session_trigger_deinit(&trigger);
	return mt_error_no_memory();
}

struct mt_error *mt_session_add_values(struct mt_session *session)
{
	const char *const *text = session->options->arguments;

	for (; text && *text; text++)
		mt_try(add(session, *text, MT_VALUES_ARGUMENTS));
	for (text = session->options->results; text && *text; text++)
		mt_try(add(session, *text, MT_VALUES_RESULT));
	return NULL;
}

/* NAME: of an argument, which goes over to this. */
static struct mt_error *add_value(const struct mt_session_process *process,
				  const struct mt_expr_frame *frame, char *name, const char *text,
				  struct mt_session_site *site)
{
	struct mt_engine_value *values =
	    realloc(site->values, (site->value_count + 1) * sizeof(*values));
	struct mt_expr *expr = NULL;

	if (values)
		site->values = values;
	struct mt_error *error = name && values
				     ? mt_expr_parse(process->program, frame, text, &expr)
				     : mt_error_no_memory();
	if (error)
		free(name);
	else
		values[site->value_count++] = (struct mt_engine_value){expr, name};
	return error;
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
				 struct mt_session_site *site)
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
		error = add_value(process, frame, name, name, site);
		if (!*end)
			break;
		list = end + 1;
	}
	return error;
}

static struct mt_error *add_all(const struct mt_session_process *process,
				const struct mt_expr_frame *frame, struct mt_session_site *site)
{
	mt_auto(mt_str) struct mt_str names = {0};

	mt_try(mt_expr_parameters(process->program, frame, &names));
	if (!names.length)
		return mt_error_new(MT_ERROR_NOT_FOUND, "The function has no parameters.");
	return add_list(process, frame, names.text, site);
}

struct mt_error *mt_session_parse_values(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 const struct mt_session_trigger *trigger,
					 struct mt_session_site *site)
{
	mt_auto(mt_str) struct mt_str name = {0};
	struct mt_error *error;

	if (trigger->values == MT_VALUES_RESULT)
		error = add_value(process, frame, strdup(""), "$_ret", site);
	else if (trigger->names)
		error = add_list(process, frame, trigger->names, site);
	else
		error = add_all(process, frame, site);
	if (!error || trigger->is_glob || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_session_name_trigger(trigger, &name);
	struct mt_error *whole = name.failed ? mt_error_no_memory()
					     : mt_error_new(MT_ERROR_TRIGGER, "invalid %s: %s",
							    name.text, mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

void mt_session_forget_values(struct mt_session_site *site)
{
	for (size_t i = 0; i < site->value_count; i++) {
		mt_expr_destroy((struct mt_expr *)site->values[i].expr);
		free((char *)site->values[i].name);
	}
	free(site->values);
	site->values = NULL;
	site->value_count = 0;
}

/* "shop::f(int)" is also called "shop::f". */
bool mt_session_glob_fits(const struct mt_session_trigger *trigger, const char *name)
{
	mt_auto(mt_str) struct mt_str without = {0};

	if (fnmatch(trigger->location, name, 0) == 0)
		return true;
	mt_str_append_bytes(&without, name, mt_name_without_parameters(name));
	return without.text && fnmatch(trigger->location, without.text, 0) == 0;
}

struct mt_error *mt_session_leave_out(struct mt_session *session,
				      const struct mt_session_process *process,
				      const struct mt_session_site *site, struct mt_error *error)
{
	struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
	const struct mt_function *function = mt_space_function_at(process->code, site->address);
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
