/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results that are recorded with calls.  Those of the debugger's user are kept from
 * one program to the next; each program gets them when it goes on, once its libraries are there. */
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

/* In the session's numbers, behind those of triggers. */
#define FIRST_NUMBER 0x80000000u

static void forget(struct mt_live_values *values)
{
	mt_values_spec_deinit(&values->spec);
	free(values->why);
}

/* As it was typed. */
static void describe(const struct mt_live_values *values, struct mt_str *out)
{
	mt_str_appendf(out, "Values %u: %s%s", values->number,
		       values->spec.kind == MT_VALUES_RESULT ? "results of " : "",
		       values->spec.text);
}

static void remove_last(struct mt_live_debugger *debugger)
{
	forget(mt_array_last(&debugger->values));
	debugger->values.count--;
}

/* At a stop: what is wrong is said at once. */
static struct mt_error *try_now(struct mt_live_debugger *debugger, struct mt_live *live)
{
	struct mt_error *error = mt_live_place_triggers(debugger, live, NULL);
	struct mt_live_values *added = mt_array_last(&debugger->values);

	mt_live_take_back_triggers(debugger);
	if (!error && added->is_wrong)
		error = mt_error_new(MT_ERROR_USAGE, "%s", added->why);
	if (error)
		remove_last(debugger);
	return error;
}

struct mt_error *mt_live_add_values(struct mt_live_debugger *debugger, const char *text,
				    bool is_result)
{
	struct mt_live_values added = {.number = debugger->last_values + 1,
				       .session_number =
					   FIRST_NUMBER + debugger->last_session_values++};
	struct mt_live *live = debugger->ops->selected(debugger->context, false);
	const bool is_stopped = mt_live_is_recording(live) && live->state == MT_LIVE_HIDDEN;
	mt_auto(mt_str) struct mt_str what = {0};

	mt_try(mt_values_spec_parse(text, is_result ? MT_VALUES_RESULT : MT_VALUES_ARGUMENTS,
				    is_result ? "values -return" : "values", &added.spec));
	if (mt_array_push(&debugger->values, added)) {
		forget(&added);
		return mt_error_no_memory();
	}
	if (is_stopped)
		mt_try(try_now(debugger, live));
	debugger->last_values++;
	describe(mt_array_last(&debugger->values), &what);
	mt_live_printf(debugger, "%s\n", what.text ? what.text : "");
	if (!live || live->state == MT_LIVE_OFF)
		mt_live_printf(debugger,
			       "Nothing is being recorded yet (\"mtrace start\" begins).\n");
	else if (live->state >= MT_LIVE_SHOWN)
		mt_live_printf(debugger, "The program is running: they are recorded from its next "
					 "stop on (\"interrupt\").\n");
	return NULL;
}

struct mt_error *mt_live_delete_values(struct mt_live_debugger *debugger, const char *text)
{
	uint64_t number = 0;

	mt_try(mt_parse_number(text, "number of values", 1, UINT32_MAX, &number));
	mt_array_each (values, &debugger->values) {
		if (values->number != number)
			continue;
		forget(values);
		debugger->values.count--;
		memmove(values, values + 1,
			(size_t)(debugger->values.items + debugger->values.count - values) *
			    sizeof(*values));
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "No values number %s.", text);
}

static struct mt_error *place(struct mt_live_debugger *debugger, struct mt_live *live,
			      struct mt_live_values *values)
{
	size_t functions = 0;
	struct mt_error *error = mt_session_values_set(live->session, live->pid, &values->spec,
						       values->session_number, &functions);
	const enum mt_error_code code = error ? mt_error_code(error) : MT_ERROR_BUSY;

	if (error && code != MT_ERROR_BUSY && code != MT_ERROR_NOT_FOUND &&
	    code != MT_ERROR_UNSUPPORTED && code != MT_ERROR_TRIGGER)
		return error;
	if (functions || code != MT_ERROR_BUSY) {
		free(values->why);
		values->why = NULL;
	}
	values->is_wrong = code == MT_ERROR_TRIGGER;
	if (code != MT_ERROR_BUSY) {
		values->why = strdup(mt_error_message(error));
		if (!values->is_told && values->number <= debugger->last_values)
			mt_live_printf(debugger, "Values %u are not recorded: %s\n", values->number,
				       mt_error_message(error));
		values->is_told = true;
	}
	mt_error_destroy(error);
	return NULL;
}

struct mt_error *mt_live_place_values(struct mt_live_debugger *debugger, struct mt_live *live)
{
	mt_array_each (values, &debugger->values)
		mt_try(place(debugger, live, values));
	return NULL;
}

void mt_live_list_values(const struct mt_live_debugger *debugger)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);

	mt_array_each (values, &debugger->values) {
		mt_auto(mt_str) struct mt_str line = {0};
		struct mt_engine_gate_errors errors = {0};

		describe(values, &line);
		if (values->why)
			mt_str_appendf(&line, "\n  not recorded: %s", values->why);
		if (live && live->session)
			errors = mt_session_gate_look(live->session, values->session_number);
		if (errors.reads)
			mt_str_appendf(&line,
				       "\n  could not be read %u time%s: Cannot access memory at "
				       "address 0x%llx",
				       errors.reads, errors.reads == 1 ? "" : "s",
				       (unsigned long long)errors.address);
		if (line.text && !line.failed)
			mt_live_printf(debugger, "%s\n", line.text);
	}
}
