/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recorded values that rings have, without a snapshot. */
#include "engine/calls/private.h"

#include <string.h>

struct looking {
	const struct mt_calls_engine *engine;
	const char *name;
	mt_engine_value_found *found;
	void *context;
};

static struct mt_error *look(const struct looking *looking, pid_t pid,
			     const struct mt_ring_view *view)
{
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	bool at_end = view->written <= view->begin;
	uint32_t number;

	mt_ring_cursor_init(&cursor, view);
	while (!at_end) {
		const size_t count = mt_ring_next_line(&cursor, events, &at_end);

		for (size_t i = 0; i < count; i++)
			if (mt_calls_value_of(looking->engine, events[i].site, &number) &&
			    mt_calls_value_is_named(looking->engine, number, looking->name))
				mt_try(looking->found(looking->context, pid,
						      events[i].return_address));
	}
	return NULL;
}

struct mt_error *mt_calls_each_value(struct mt_engine *base, const char *name,
				     mt_engine_value_found *found, void *context)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	const struct looking looking = {engine, name, found, context};

	mt_array_each (history, &engine->ended)
		mt_try(look(&looking, history->pid, &history->view));
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (!thread->rings)
			continue;
		const struct mt_ring_view view = mt_calls_ring_view(engine, thread);
		mt_try(look(&looking, thread->pid, &view));
	}
	return NULL;
}
