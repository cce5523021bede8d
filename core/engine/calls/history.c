/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of rings.  Threads come and go by the thousand, so those of ended ones are kept in memory
 * until a snapshot, and all of them share the room of a few rings: when it is full, the largest
 * loses its older half, so that as many threads as can be keep their last calls. */
#include "engine/calls/private.h"

#include "base/large.h"

#define ENDED_RINGS   8u
#define LEAST_HISTORY 16384u

void mt_calls_history_deinit(struct mt_calls_history *history)
{
	free(history->bytes);
	mt_array_deinit(&history->anchors);
	mt_array_deinit(&history->before);
	mt_array_deinit(&history->frames);
}

/* LIVE: see mt_ring_copy(). */
static int copy_bytes(struct mt_calls_history *history, const struct mt_ring_view *view,
		      const struct mt_ring_live *live, uint64_t size)
{
	uint8_t *bytes = mt_large_alloc(size); /* the program waits for its page faults */

	if (!bytes)
		return -1;
	uint64_t whole = mt_ring_copy(view, live, size, bytes);
	free(history->bytes);
	history->bytes = bytes;
	history->view = *view;
	history->view.whole = whole;
	history->view.bytes = bytes;
	history->view.size = size;
	return 0;
}

/* With the end among them. */
static int copy_anchors(struct mt_calls_history *history, const mt_calls_anchors *anchors,
			uint64_t tsc)
{
	const struct mt_ring_anchor end = {history->view.written, tsc, tsc};

	for (size_t i = 0; i < anchors->count; i++)
		if (mt_array_push(&history->anchors, anchors->items[i]))
			return -1;
	if (mt_array_push(&history->anchors, end))
		return -1;
	history->view.anchors = history->anchors.items;
	history->view.anchor_count = history->anchors.count;
	return 0;
}

int mt_calls_history_create(const struct mt_calls_thread *thread, const struct mt_ring_view *view,
			    uint64_t tsc, struct mt_calls_history *out)
{
	const struct mt_calls_rings *rings = thread->rings;
	const struct mt_ring_live live = {
	    .written = &mt_calls_slot(rings, thread->ring)->written,
	    .fd = rings->fd,
	    .offset = mt_calls_ring_address(rings, thread->ring) - rings->address,
	};

	*out = (struct mt_calls_history){.own_stack_bytes = thread->own_stack_bytes,
					 .pid = thread->pid,
					 .lwp = thread->lwp,
					 .forked = thread->forked,
					 .is_continued = thread->is_continued,
					 .pc = thread->pc,
					 .stack = thread->stack,
					 .own_stack = thread->own_stack};
	if (!copy_bytes(out, view, &live, mt_ring_least_size(view)) &&
	    !copy_anchors(out, &thread->anchors, tsc) &&
	    !mt_calls_frames_copy(&out->before, &thread->frames))
		return 0;
	mt_calls_history_deinit(out);
	return -1;
}

static void forget(mt_calls_histories *ended, size_t index)
{
	mt_calls_history_deinit(&ended->items[index]);
	ended->count--;
	for (size_t i = index; i < ended->count; i++)
		ended->items[i] = ended->items[i + 1];
}

/* Of several, the one that ended first. */
static struct mt_calls_history *largest(const mt_calls_histories *ended)
{
	struct mt_calls_history *best = ended->items;

	mt_array_each (history, ended)
		if (history->view.size > best->view.size)
			best = history;
	return best;
}

/* Returns whether a whole thread's went. */
static bool shrink(mt_calls_histories *ended)
{
	struct mt_calls_history *history = largest(ended);

	if (history->view.size > LEAST_HISTORY &&
	    !copy_bytes(history, &history->view, NULL, history->view.size / 2))
		return false;
	forget(ended, (size_t)(history - ended->items));
	return true;
}

int mt_calls_keep_ended(struct mt_calls_engine *engine, const struct mt_calls_history *history)
{
	uint64_t room = ENDED_RINGS * engine->options.ring_bytes, used = 0;

	if (mt_array_push(&engine->ended, *history))
		return -1;
	mt_array_each (one, &engine->ended)
		used += one->view.size;
	while (used > room) {
		uint64_t before = largest(&engine->ended)->view.size;
		bool gone = shrink(&engine->ended);

		engine->forgotten += gone;
		used -= gone ? before : before / 2;
	}
	return 0;
}

void mt_calls_forget_ended(struct mt_calls_engine *engine)
{
	mt_array_each (history, &engine->ended)
		mt_calls_history_deinit(history);
	mt_array_deinit(&engine->ended);
}
