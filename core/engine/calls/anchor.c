/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Anchors: how far a thread had written when.  With sampled stamps they part the events before a
 * stop from those after it, and what came before a sleep from what came after: a thread that enters
 * the kernel through code that is not recorded leaves no stamp there. */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <signal.h>
#include <string.h>

#define MOST_ANCHORS 16384u
/* Looking at many threads must not take more than one part in so many of our time. */
#define LEISURE   50u
#define NS_PER_MS 1000000ull
/* While threads may wait for that. */
#define ASKED_TICK_MS 1
/* Of threads whose signals are looked at in one tick. */
#define MOST_HEEDED 8u

/* The older half of many goes: the ring began anew since then, or times get coarser there. */
static void put(mt_calls_anchors *anchors, struct mt_ring_anchor anchor)
{
	size_t half = MOST_ANCHORS / 2;

	/* An event may have been taken back: it was not whole, or will be recorded again. */
	while (anchors->count > 1 && mt_array_last(anchors)->written > anchor.written)
		anchor.first = anchors->items[--anchors->count].first;
	if (anchors->count && mt_array_last(anchors)->written >= anchor.written) {
		mt_array_last(anchors)->last = anchor.last;
		return;
	}
	if (anchors->count == MOST_ANCHORS) {
		memmove(&anchors->items[1], &anchors->items[half],
			(anchors->count - half) * sizeof(anchors->items[0]));
		anchors->count -= half - 1;
	}
	/* Without memory, times are estimated more coarsely. */
	(void)!mt_array_push(anchors, anchor);
}

void mt_calls_anchor(struct mt_calls_thread *thread, uint64_t tsc)
{
	if (thread->rings)
		put(&thread->anchors, (struct mt_ring_anchor){mt_calls_written(thread), tsc, tsc});
}

void mt_calls_begin_anew(struct mt_calls_thread *thread, uint64_t tsc)
{
	thread->begin = thread->used;
	thread->anchors.items[0] = (struct mt_ring_anchor){thread->used, tsc, tsc};
	thread->anchors.count = 1;
}

void mt_calls_note_resumed(struct mt_calls_thread *thread, uint64_t tsc)
{
	mt_calls_anchor(thread, tsc);
	thread->resumed_tsc = tsc;
	thread->resumed_cpu_ns = mt_proc_cpu_ns(thread->lwp);
}

uint64_t mt_calls_stood_ns(const struct mt_calls_engine *engine,
			   const struct mt_calls_thread *thread, uint64_t tsc)
{
	const struct mt_time_conversion *clock = &engine->options.conversion;
	const uint64_t cpu_ns = mt_proc_cpu_ns(thread->lwp);

	if (!thread->resumed_cpu_ns || cpu_ns < thread->resumed_cpu_ns || tsc < thread->resumed_tsc)
		return 0;
	const uint64_t ran_ns = cpu_ns - thread->resumed_cpu_ns;
	const uint64_t since_ns =
	    mt_tsc_to_ns(clock, tsc) - mt_tsc_to_ns(clock, thread->resumed_tsc);
	return since_ns > ran_ns ? since_ns - ran_ns : 0;
}

/* It writes on meanwhile. */
static void anchor_running(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct mt_ring_anchor anchor = {.last = mt_clock_tsc()};

	if (!thread->rings)
		return;
	anchor.written = mt_calls_written(thread);
	anchor.first = mt_clock_tsc();
	put(&thread->anchors, anchor);
	mt_calls_throttle(engine, thread, anchor.written, anchor.first);
}

/* A server may read its signals from a descriptor: then it has them blocked from the beginning, in
 * all of its threads.  One that blocks SIGURG later is known by its first question. */
static void heed(struct mt_calls_engine *engine)
{
	struct mt_calls_thread *thread = engine->threads;

	for (unsigned left = MOST_HEEDED; thread && left && !engine->is_asked;
	     thread = thread->hh.next) {
		if (thread->heeded || !thread->space->breaks.count)
			continue;
		thread->heeded = true;
		left--;
		if (mt_proc_is_blocked(thread->lwp, SIGURG))
			mt_calls_note_asked(engine, thread->space);
	}
}

unsigned mt_calls_tick_ms(struct mt_engine *base)
{
	return ((struct mt_calls_engine *)base)->is_asked ? ASKED_TICK_MS : MT_ENGINE_TICK_MS;
}

void mt_calls_tick(struct mt_engine *base)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	uint64_t begin_ns = mt_clock_monotonic_ns(), end_ns;

	mt_calls_stub_answer(engine);
	if (begin_ns < engine->next_tick_ns)
		return;
	heed(engine);
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (thread->space->waiting.count)
			mt_error_destroy(mt_calls_set_waiting_breaks(engine, thread->space));
		anchor_running(engine, thread);
	}
	end_ns = mt_clock_monotonic_ns();
	engine->next_tick_ns =
	    end_ns + MT_ENGINE_TICK_MS / 2 * NS_PER_MS + LEISURE * (end_ns - begin_ns);
	/* One a process: threads share theirs. */
	const struct mt_calls_rings *last = NULL;
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (thread->rings && thread->rings != last)
			mt_calls_warm_ring(thread->rings);
		last = thread->rings;
	}
}
