/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calls/ring.h"

#include <string.h>

#define SLOT 8

/* The line in which a writer may be at work again is no longer whole. */
static uint64_t oldest(const struct mt_ring_view *view)
{
	uint64_t first = view->written > view->size ? view->written - view->size : 0;
	uint64_t line = (first + MT_RING_LINE_BYTES - 1) & ~(uint64_t)(MT_RING_LINE_BYTES - 1);

	if (view->written > view->size && line < first + MT_RING_LINE_BYTES)
		line += MT_RING_LINE_BYTES;
	return line > view->begin ? line : view->begin;
}

uint64_t mt_ring_bytes_lost(const struct mt_ring_view *view)
{
	uint64_t first = oldest(view);

	return first < view->written ? first - view->begin : 0;
}

void mt_ring_cursor_init(struct mt_ring_cursor *cursor, const struct mt_ring_view *view)
{
	*cursor = (struct mt_ring_cursor){.view = *view, .at = oldest(view)};
}

static uint64_t word_at(const struct mt_ring_view *view, uint64_t at)
{
	uint64_t word;

	memcpy(&word, view->bytes + (at & (view->size - 1)), sizeof(word));
	return word;
}

static struct mt_ring_event event_at(const struct mt_ring_view *view, uint64_t at)
{
	struct mt_ring_event event;

	memcpy(&event, view->bytes + (at & (view->size - 1)), sizeof(event));
	return event;
}

/* The TSC of a full event may lie a little before that of a handler's that came in between. */
static uint64_t not_before(struct mt_ring_cursor *cursor, uint64_t tsc)
{
	if (tsc < cursor->last_tsc)
		return cursor->last_tsc;
	cursor->last_tsc = tsc;
	return tsc;
}

static size_t full_line(struct mt_ring_cursor *cursor, uint64_t end, struct mt_call_event *events)
{
	size_t count = 0;

	for (; cursor->at + 2 * SLOT <= end; cursor->at += 2 * SLOT) {
		struct mt_ring_event event = event_at(&cursor->view, cursor->at);

		if (event.site)
			events[count++] = (struct mt_call_event){
			    .tsc = not_before(cursor, word_at(&cursor->view, cursor->at + SLOT)),
			    .site = event.site,
			    .stack = event.stack,
			};
	}
	return count;
}

/* A stamp belongs to the event before it. */
static void stamp(struct mt_ring_cursor *cursor, struct mt_call_event *events, size_t count,
		  uint64_t tsc)
{
	if (!count)
		return;
	events[count - 1].tsc = not_before(cursor, tsc);
	events[count - 1].estimated = false;
}

/* Events without a stamp lie between the last known time and the next. */
static void spread(struct mt_call_event *events, size_t count, uint64_t from, uint64_t to)
{
	size_t begin = 0;

	for (size_t i = 0; i <= count; i++) {
		if (i < count && events[i].estimated)
			continue;
		uint64_t next = i < count ? events[i].tsc : to;
		uint64_t room = next > from ? next - from : 0;

		for (size_t k = begin; k < i; k++)
			events[k].tsc = from + room * (k - begin + 1) / (i - begin + 1);
		from = next;
		begin = i + 1;
	}
}

/* The next line's stamp bounds this line's times; without one nothing is known of them. */
static uint64_t bound_of(const struct mt_ring_cursor *cursor, uint64_t line_end)
{
	if (line_end + SLOT > cursor->view.written)
		return cursor->last_tsc;

	uint64_t tsc = word_at(&cursor->view, line_end);

	return tsc > cursor->last_tsc ? tsc : cursor->last_tsc;
}

static size_t sampled_line(struct mt_ring_cursor *cursor, uint64_t end,
			   struct mt_call_event *events)
{
	uint64_t line_end = (cursor->at | (MT_RING_LINE_BYTES - 1)) + 1;
	uint64_t low = 0, from = cursor->last_tsc;
	size_t count = 0;

	if (cursor->at % MT_RING_LINE_BYTES == 0) {
		from = not_before(cursor, word_at(&cursor->view, cursor->at));
		cursor->at += SLOT;
	}
	for (; cursor->at + SLOT <= end; cursor->at += SLOT) {
		struct mt_ring_event event = event_at(&cursor->view, cursor->at);

		if (event.site == MT_RING_SITE_STAMP_LOW)
			low = event.stack;
		else if (event.site == MT_RING_SITE_STAMP_HIGH)
			stamp(cursor, events, count, (uint64_t)event.stack << 32 | low);
		else if (event.site)
			events[count++] = (struct mt_call_event){
			    .site = event.site, .stack = event.stack, .estimated = true};
	}
	spread(events, count, from, bound_of(cursor, line_end));
	return count;
}

size_t mt_ring_next_line(struct mt_ring_cursor *cursor,
			 struct mt_call_event events[MT_RING_LINE_EVENTS], bool *at_end)
{
	uint64_t end = (cursor->at | (MT_RING_LINE_BYTES - 1)) + 1;
	size_t count = 0;

	if (end > cursor->view.written)
		end = cursor->view.written;
	*at_end = cursor->at >= end;
	if (*at_end)
		return 0;
	count = cursor->view.stamps == MT_RING_FULL ? full_line(cursor, end, events)
						    : sampled_line(cursor, end, events);
	cursor->at = end;
	return count;
}
