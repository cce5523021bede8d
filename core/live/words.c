/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a debugger's program says by mtrace.h: its marks, spans and numbers are recorded by gates
 * that stop nobody (session/languages/header.c), and where it asks for a snapshot it has a trigger
 * of its own, of which the debugger has no breakpoint; as where an interpreter of Python has no
 * frame evaluator (session/languages/python_inline.c), which takes none. */
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

/* Of triggers: in the session's numbers, behind the user's values (values.c). */
#define FIRST_NUMBER 0xe0000000u

struct placing {
	struct mt_live_debugger *debugger;
	struct mt_live *live;
	bool has_gates;
};

static bool is_same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

static struct mt_error *find(struct mt_live_debugger *debugger, const char *function,
			     const char *condition, struct mt_live_trigger **out)
{
	mt_array_each (asker, &debugger->askers)
		if (strcmp((*asker)->spec.location, function) == 0 &&
		    is_same((*asker)->spec.condition, condition)) {
			*out = *asker;
			return NULL;
		}
	struct mt_live_trigger *made = calloc(1, sizeof(*made));
	if (made) {
		made->is_own = true;
		made->number = FIRST_NUMBER + (uint32_t)debugger->askers.count;
		made->spec.location = strdup(function);
		made->spec.condition = condition ? strdup(condition) : NULL;
	}
	if (made && made->spec.location && (made->spec.condition || !condition) &&
	    !mt_array_push(&debugger->askers, made)) {
		*out = made;
		return NULL;
	}
	if (made)
		mt_live_destroy_trigger(made);
	return mt_error_no_memory();
}

/* A trigger of the user's takes the place of the program's own. */
static bool is_users(const struct mt_live_debugger *debugger, const char *function)
{
	mt_array_each (trigger, &debugger->triggers)
		if (strcmp((*trigger)->spec.location, function) == 0)
			return true;
	return false;
}

struct mt_error *mt_live_make_way(struct mt_live_debugger *debugger, struct mt_live *live)
{
	mt_array_each (asker, &debugger->askers)
		if (live->state == MT_LIVE_HIDDEN && is_users(debugger, (*asker)->spec.location))
			mt_try(mt_session_gates_clear(live->session, live->pid, (*asker)->number));
	return NULL;
}

/* An error is that it is not recorded, or not yet, or that a trigger of the user's is at the same
 * address. */
static struct mt_error *place(void *context, const char *function, const char *condition,
			      uint64_t entry)
{
	struct placing *placing = context;
	struct mt_live_debugger *debugger = placing->debugger;
	struct mt_live_trigger *asker = NULL;

	if (is_users(debugger, function))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "a trigger of yours is there");
	mt_try(find(debugger, function, condition, &asker));
	const struct mt_engine_gate gate = {entry, asker->number};
	mt_try(mt_session_gate_set(placing->live->session, placing->live->pid, &asker->spec, &gate,
				   false));
	placing->has_gates = true;
	return NULL;
}

struct mt_error *mt_live_place_words(struct mt_live_debugger *debugger, struct mt_live *live)
{
	struct placing placing = {debugger, live, false};

	mt_try(mt_session_words_set(live->session, live->pid, place, &placing));
	if (placing.has_gates && debugger->ops->expect_gates)
		debugger->ops->expect_gates(debugger->context);
	return NULL;
}
