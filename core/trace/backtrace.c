/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An unwinder's backtrace tells what no trace can: who called the roots.
 *
 * It is laid beside the frames, from the innermost on; frames that only one of the two has (a tail
 * call, a stub) are passed over.  What lies outside of our outermost frame is put in. */
#include "trace/callstack_internal.h"

#include <string.h>

enum { LOOK_AHEAD = 16 }; /* frames that only the unwinder has, in a row */

/* A return address belongs to the call before it. */
static uint64_t inside_of(const uint64_t *pcs, size_t i)
{
	return i > 0 && pcs[i] ? pcs[i] - 1 : pcs[i];
}

static bool match(struct mt_callstack *cs, const struct mt_frame *frame, const uint64_t *pcs,
		  size_t count, size_t *at)
{
	for (size_t i = *at; i < count && i < *at + LOOK_AHEAD; i++) {
		const struct mt_function *function = mt_cs_function_at(cs, inside_of(pcs, i));

		if (mt_cs_frame_is(cs, frame, function)) {
			*at = i + 1;
			return true;
		}
	}
	return false;
}

/* How many of the backtrace's frames reach to our outermost; COUNT: that was not found. */
static size_t frames_in_common(struct mt_callstack *cs, const uint64_t *pcs, size_t count)
{
	bool matched = false;
	size_t at = 0;

	for (size_t i = cs->frames.count; i-- > 0;)
		matched = match(cs, &cs->frames.items[i], pcs, count, &at);
	return matched ? at : count;
}

static void put_outside(struct mt_callstack *cs, const uint64_t *pcs, size_t count)
{
	struct mt_frame *frames;
	size_t old = cs->frames.count;

	if (mt_array_reserve(&cs->frames, old + count)) {
		mt_cs_fail(cs, mt_error_no_memory());
		return;
	}
	frames = cs->frames.items;
	memmove(frames + count, frames, old * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		frames[count - i].return_site = pcs[i] - 1;
		mt_cs_note_call_of_root(cs, pcs[i]);
		frames[count - i - 1] = mt_cs_note_root(cs, pcs[i] - 1);
	}
	cs->frames.count += count;
	cs->kept_frames += count;
	cs->saved_roots += count;
}

struct mt_error *mt_callstack_set_backtrace(struct mt_callstack *cs, const uint64_t *pcs,
					    size_t count)
{
	size_t common;
	struct mt_error *error;

	if (cs->failed || cs->frames.count == 0 || cs->mode == MT_CS_LOST)
		return NULL;
	mt_cs_end_transaction(cs);
	common = frames_in_common(cs, pcs, count);
	if (common < count)
		put_outside(cs, pcs + common, count - common);
	error = cs->log.error;
	cs->log.error = NULL;
	cs->failed = error != NULL;
	return error;
}
