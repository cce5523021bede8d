/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks: how far a thread had written when.  With sampled stamps they part the events before a stop
 * from those after it, and what came before a sleep from what came after: a thread that enters the
 * kernel through code that is not recorded leaves no stamp there. */
#include "engine/calls/private.h"

#include <string.h>

#define MOST_MARKS 16384u
/* Looking at many threads must not take more than one part in so many of our time. */
#define LEISURE   50u
#define NS_PER_MS 1000000ull

bool mt_calls_read_written(struct mt_calls_engine *engine, const struct mt_calls_thread *thread,
			   uint64_t *written)
{
	const struct mt_calls_rings *rings = thread->rings;
	struct mt_ring_position position = {0};

	if (engine->target->ops->read(engine->target, thread->pid, thread->words, &position,
				      sizeof(position)) != sizeof(position) ||
	    position.ring != rings->address + thread->ring * rings->ring_bytes ||
	    position.written < thread->begin)
		return false;
	*written = position.written;
	return true;
}

/* The older half of many goes: the ring began anew since then, or times get coarser there. */
static void put(mt_calls_marks *marks, struct mt_ring_mark mark)
{
	size_t half = MOST_MARKS / 2;

	/* An event may have been taken back: it was not whole, or will be recorded again. */
	while (marks->count > 1 && mt_array_last(marks)->written > mark.written)
		mark.first = marks->items[--marks->count].first;
	if (marks->count && mt_array_last(marks)->written >= mark.written) {
		mt_array_last(marks)->last = mark.last;
		return;
	}
	if (marks->count == MOST_MARKS) {
		memmove(&marks->items[1], &marks->items[half],
			(marks->count - half) * sizeof(marks->items[0]));
		marks->count -= half - 1;
	}
	/* Without memory, times are estimated more coarsely. */
	(void)!mt_array_push(marks, mark);
}

void mt_calls_mark(struct mt_calls_engine *engine, struct mt_calls_thread *thread, uint64_t tsc)
{
	uint64_t written;

	if (thread->rings && mt_calls_read_written(engine, thread, &written))
		put(&thread->marks, (struct mt_ring_mark){written, tsc, tsc});
}

/* It writes on meanwhile. */
static void mark_running(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct mt_ring_mark mark = {.last = mt_clock_tsc()};

	if (!thread->rings || !mt_calls_read_written(engine, thread, &mark.written))
		return;
	mark.first = mt_clock_tsc();
	put(&thread->marks, mark);
	mt_calls_throttle(engine, thread, mark.written, mark.first);
}

/* One a process: threads share theirs. */
static void warm_rings(const struct mt_calls_engine *engine)
{
	const struct mt_calls_rings *last = NULL;

	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (thread->rings && thread->rings != last)
			mt_calls_warm_ring(thread->rings);
		last = thread->rings;
	}
}

void mt_calls_tick(struct mt_engine *base)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	uint64_t begin_ns = mt_clock_monotonic_ns(), end_ns;

	if (begin_ns < engine->next_tick_ns)
		return;
	mt_calls_stub_answer(engine);
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (thread->space->waiting.count)
			mt_error_destroy(mt_calls_set_waiting_breaks(engine, thread->space));
		mark_running(engine, thread);
	}
	end_ns = mt_clock_monotonic_ns();
	engine->next_tick_ns =
	    end_ns + MT_ENGINE_TICK_MS / 2 * NS_PER_MS + LEISURE * (end_ns - begin_ns);
	warm_rings(engine);
}
