/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is there. */
#include "engine/calls/state/state.h"

struct mt_calls_thread *mt_calls_find_thread(const struct mt_calls_engine *engine, pid_t lwp)
{
	struct mt_calls_thread *thread = NULL;

	HASH_FIND_INT(engine->threads, &lwp, thread);
	return thread;
}

struct mt_calls_space *mt_calls_find_space(const struct mt_calls_engine *engine, pid_t pid)
{
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->pid == pid && !thread->guest)
			return thread->space;
	return NULL;
}

struct mt_error *mt_calls_breathe(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space)
{
	if (!engine->breathes || !engine->options.breathe)
		return NULL;
	engine->breathes = false; /* what is done meanwhile is short */
	struct mt_error *error = engine->options.breathe(engine->options.breathe_context);
	engine->breathes = true;
	if (!error && mt_calls_find_space(engine, space->pid) != space)
		return mt_error_new(MT_ERROR_GONE, "process %d ended, or became another program",
				    space->pid);
	return error;
}
