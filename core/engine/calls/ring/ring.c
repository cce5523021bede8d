/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/ring/private.h"

#include <unistd.h>

#define SLOT 8
/* Of a ring, copied at a time: so much is whole even if its thread goes round meanwhile. */
#define PART 32768u
/* So many times as long as usual is suspicious. */
#define FAR 4

static uint64_t line_behind(uint64_t at)
{
	return (at + MT_RING_LINE_BYTES - 1) & ~(uint64_t)(MT_RING_LINE_BYTES - 1);
}

/* The line in which a writer may be at work again is no longer whole. */
static uint64_t oldest(const struct mt_ring_view *view)
{
	uint64_t first = view->written > view->size ? view->written - view->size : 0;

	if (first < view->whole)
		first = view->whole;
	if (first)
		first = line_behind(first) + MT_RING_LINE_BYTES * (first % MT_RING_LINE_BYTES == 0);
	if (first > view->written)
		first = view->written;
	return first > view->begin ? first : view->begin;
}

uint64_t mt_ring_bytes_lost(const struct mt_ring_view *view)
{
	return oldest(view) - view->begin;
}

uint64_t mt_ring_bytes_left(const struct mt_ring_view *view)
{
	uint64_t first = oldest(view);

	return first < view->written ? view->written - first : 0;
}

uint64_t mt_ring_least_size(const struct mt_ring_view *view)
{
	/* A ring that began anew has less than it can hold by up to two lines. */
	uint64_t needed = view->written - view->begin + 2 * MT_RING_LINE_BYTES;
	uint64_t size = MT_RING_LINE_BYTES;

	while (size < needed && size < view->size)
		size *= 2;
	return size;
}

/* From FIRST to END. */
static void copy_part(const struct mt_ring_view *view, const struct mt_ring_live *live,
		      uint64_t first, uint64_t end, uint64_t size, uint8_t *bytes)
{
	uint64_t count; /* up to where one of the two begins again */

	for (uint64_t at = first; at < end; at += count) {
		const uint64_t from = at & (view->size - 1), to = at & (size - 1);

		count = end - at;
		count = count > view->size - from ? view->size - from : count;
		count = count > size - to ? size - to : count;
		if (!live || pread(live->fd, bytes + to, count, (off_t)(live->offset + from)) !=
				 (ssize_t)count)
			memcpy(bytes + to, view->bytes + from, count);
	}
}

uint64_t mt_ring_copy(const struct mt_ring_view *view, const struct mt_ring_live *live,
		      uint64_t size, uint8_t *bytes)
{
	uint64_t first = view->begin & ~(uint64_t)(MT_RING_LINE_BYTES - 1);
	uint64_t part, now;

	/* The line that is being written takes the place of the oldest. */
	if (view->written > size && first < view->written - size)
		first = line_behind(view->written - size);
	for (uint64_t end = line_behind(view->written); end > first; end = part) {
		part = end - first > PART ? end - PART : first;
		copy_part(view, live, part, end, size, bytes);
		if (!live)
			continue;
		/* A writer takes its room by this word before it writes. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		now = __atomic_load_n(live->written, __ATOMIC_RELAXED);
		if (now > view->size && now - view->size > part)
			return now - view->size;
	}
	return view->whole;
}

void mt_ring_clear(uint8_t *bytes, uint64_t size, uint64_t written, uint64_t at, uint64_t count)
{
	/* AT comes of a register, which the program may have set to anything. */
	at &= ~(uint64_t)(SLOT - 1);
	for (uint64_t end = at + count; at < end; at += SLOT)
		if (at + size >= line_behind(written))
			memset(bytes + (at & (size - 1)), 0, SLOT);
}

/* When it was written so far. */
static uint64_t end_tsc(const struct mt_ring_view *view)
{
	const struct mt_ring_anchor *last =
	    view->anchor_count ? &view->anchors[view->anchor_count - 1] : NULL;

	return last && last->written >= view->written ? last->last : UINT64_MAX;
}

void mt_ring_cursor_init(struct mt_ring_cursor *cursor, const struct mt_ring_view *view)
{
	*cursor =
	    (struct mt_ring_cursor){.view = *view, .at = oldest(view), .end_tsc = end_tsc(view)};
}

/* The TSC of a full event may lie a little before that of a handler's that came in between; and
 * that of one which a thread writes while it is looked at, a little behind the time of the look:
 * RDTSC waits for no read before it. */
static uint64_t not_before(struct mt_ring_cursor *cursor, uint64_t tsc)
{
	if (tsc > cursor->end_tsc)
		tsc = cursor->end_tsc;
	if (tsc < cursor->last_tsc)
		return cursor->last_tsc;
	cursor->last_tsc = tsc;
	return tsc;
}

static uint32_t number_of(struct mt_ring_event event)
{
	return event.site & ~MT_RING_SITE_ENTRY;
}

/* Of the event at AT. */
static uint64_t caller_of_full(const struct mt_ring_view *view, uint64_t at,
			       struct mt_ring_event event)
{
	uint64_t next = at + 2 * SLOT;

	if (!mt_ring_is_entry(event.site) || next + 2 * SLOT > view->written ||
	    event_at(view, next).site != MT_RING_SITE_CALLER)
		return 0;
	return word_at(view, next + SLOT);
}

static size_t full_line(struct mt_ring_cursor *cursor, uint64_t end, struct mt_call_event *events)
{
	size_t count = 0;

	for (; cursor->at + 2 * SLOT <= end; cursor->at += 2 * SLOT) {
		struct mt_ring_event event = event_at(&cursor->view, cursor->at);

		/* A line may begin with the second half of an entry. */
		if (event.site && event.site != MT_RING_SITE_CALLER)
			events[count++] = (struct mt_call_event){
			    .tsc = not_before(cursor, word_at(&cursor->view, cursor->at + SLOT)),
			    .site = number_of(event),
			    .stack = event.stack,
			    .return_address = caller_of_full(&cursor->view, cursor->at, event),
			};
	}
	return count;
}

/* A line's events, of which the last ones wait for a time that is known. */
struct line {
	struct mt_call_event *events;
	size_t count;
	size_t known;
	uint64_t low; /* half of a stamp */
};

/* The events up to UNTIL lie between the last known time and TO. */
static void spread(struct mt_ring_cursor *cursor, struct line *line, size_t until, uint64_t to)
{
	uint64_t from = cursor->last_tsc, room = not_before(cursor, to) - from;
	size_t begin = line->known, count = until - begin;

	for (size_t i = 0; i < count; i++)
		line->events[begin + i].tsc = from + room * (i + 1) / (count + 1);
	line->known = until;
}

/* An event's own stamp, the first from AT on in its line; 0: none. */
static uint64_t own_stamp(const struct mt_ring_cursor *cursor, uint64_t at)
{
	const uint64_t end = line_behind(at);
	uint64_t low = 0;

	for (; at + SLOT <= end && at + SLOT <= cursor->view.written; at += SLOT) {
		const struct mt_ring_event event = event_at(&cursor->view, at);

		if (mt_ring_is_entry(event.site))
			at += SLOT;
		else if (event.site == MT_RING_SITE_STAMP_LOW)
			low = event.stack;
		else if (event.site == MT_RING_SITE_STAMP_HIGH && low)
			return (uint64_t)event.stack << 32 | low;
	}
	return 0;
}

/* With which the line at AT begins; 0: it was not written yet, or is from the ring's last round. */
static uint64_t stamp_at(const struct mt_ring_cursor *cursor, uint64_t at)
{
	const uint64_t tsc = at + SLOT <= cursor->view.written ? word_at(&cursor->view, at) : 0;

	return tsc > cursor->line_stamp ? tsc : 0;
}

static uint64_t lesser(uint64_t tsc, uint64_t other)
{
	return other && other < tsc ? other : tsc;
}

/* What is known of the line at AT by its stamp, TSC, and by what lies behind that: an anchor, the
 * next line's stamp, an event's own.  Less than TSC: a signal came before the stamp was read, and
 * the handler's events lie behind it. */
static uint64_t earliest_in(const struct mt_ring_cursor *cursor, uint64_t at, uint64_t tsc)
{
	const struct mt_ring_view *view = &cursor->view;
	const uint64_t end = at + MT_RING_LINE_BYTES;
	const uint64_t usual = cursor->pace * MT_RING_LINE_EVENTS * FAR;
	uint64_t least = lesser(tsc, stamp_at(cursor, end));

	if (cursor->next_anchor < view->anchor_count &&
	    view->anchors[cursor->next_anchor].written <= end)
		least = lesser(least, view->anchors[cursor->next_anchor].first);
	if (tsc > cursor->last_tsc + usual)
		least = lesser(least, own_stamp(cursor, at + SLOT));
	return least;
}

/* The next stamp from the cursor on, in its line or at its end; 0: none is known. */
static uint64_t next_stamp(const struct mt_ring_cursor *cursor)
{
	const uint64_t own = own_stamp(cursor, cursor->at);

	return own ? own : stamp_at(cursor, line_behind(cursor->at));
}

/* Those that an anchor bounds, or a stamp behind it: the thread may go on while it is taken. */
static void spread_to_anchor(struct mt_ring_cursor *cursor, struct line *line, uint64_t to)
{
	const uint64_t stamp = next_stamp(cursor);

	if (stamp && stamp < to)
		to = stamp;
	uint64_t count = line->count - line->known;
	uint64_t room = to > cursor->last_tsc ? to - cursor->last_tsc : 0;

	if (cursor->pace && room / (count + 1) > cursor->pace)
		to = cursor->last_tsc + cursor->pace * (count + 1);
	spread(cursor, line, line->count, to);
}

/* It belongs to the event before it. */
static void stamp(struct mt_ring_cursor *cursor, struct line *line, uint64_t tsc)
{
	if (line->known == line->count)
		return;
	spread(cursor, line, line->count - 1, tsc);
	line->events[line->known].tsc = cursor->last_tsc;
	line->events[line->known++].estimated = false;
}

/* Whatever was anchored up to this place. */
static void pass_anchors(struct mt_ring_cursor *cursor, struct line *line)
{
	const struct mt_ring_view *view = &cursor->view;

	for (; cursor->next_anchor < view->anchor_count; cursor->next_anchor++) {
		const struct mt_ring_anchor *anchor = &view->anchors[cursor->next_anchor];

		if (anchor->written > cursor->at)
			return;
		if (line->known < line->count)
			spread_to_anchor(cursor, line, anchor->first);
		not_before(cursor, anchor->last);
		cursor->line_is_anchored = true;
	}
}

/* The data after the line bounds its times: the next one's stamp, else an anchor.  Without one
 * nothing is known of them.  A stamp may lie before a time that an anchor says, if the thread went
 * on while that was taken: the lines behind it catch up then. */
static void finish_line(struct mt_ring_cursor *cursor, struct line *line)
{
	const struct mt_ring_view *view = &cursor->view;
	const uint64_t next = stamp_at(cursor, cursor->at);

	if (line->known == line->count)
		return;
	const uint64_t least = earliest_in(cursor, cursor->at, next);
	if (least < next)
		spread_to_anchor(cursor, line, least);
	else if (next)
		spread(cursor, line, line->count, next);
	else if (cursor->next_anchor < view->anchor_count)
		spread_to_anchor(cursor, line, view->anchors[cursor->next_anchor].first);
	else
		spread(cursor, line, line->count, cursor->last_tsc);
}

/* What lies at the cursor, and behind it. */
static void take(struct mt_ring_cursor *cursor, struct line *line, uint64_t end)
{
	struct mt_ring_event event = event_at(&cursor->view, cursor->at);
	uint64_t return_address = 0;

	cursor->at += SLOT;
	if (mt_ring_is_entry(event.site)) {
		if (cursor->at + SLOT > end)
			return; /* it is not whole */
		return_address = word_at(&cursor->view, cursor->at);
		cursor->at += SLOT;
	}
	if (event.site == MT_RING_SITE_STAMP_LOW)
		line->low = event.stack;
	else if (event.site == MT_RING_SITE_STAMP_HIGH)
		stamp(cursor, line, (uint64_t)event.stack << 32 | line->low);
	else if (event.site)
		line->events[line->count++] =
		    (struct mt_call_event){.site = number_of(event),
					   .stack = event.stack,
					   .return_address = return_address,
					   .estimated = true};
}

static void begin_line(struct mt_ring_cursor *cursor)
{
	uint64_t tsc = stamp_at(cursor, cursor->at);

	if (earliest_in(cursor, cursor->at, tsc) < tsc)
		tsc = 0;
	if (cursor->line_events && tsc > cursor->line_tsc && !cursor->line_is_anchored)
		cursor->pace = (tsc - cursor->line_tsc) / cursor->line_events;
	cursor->line_is_anchored = false;
	if (tsc)
		cursor->line_stamp = tsc;
	cursor->line_tsc = not_before(cursor, tsc);
}

static size_t sampled_line(struct mt_ring_cursor *cursor, uint64_t end,
			   struct mt_call_event *events)
{
	struct line line = {.events = events};

	pass_anchors(cursor, &line);
	if (cursor->at % MT_RING_LINE_BYTES == 0) {
		begin_line(cursor);
		cursor->at += SLOT;
		pass_anchors(cursor, &line);
	}
	while (cursor->at + SLOT <= end) {
		take(cursor, &line, end);
		pass_anchors(cursor, &line);
	}
	finish_line(cursor, &line);
	cursor->line_events = line.count;
	return line.count;
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

struct pen {
	uint8_t *bytes;
	uint64_t size, written;
	uint64_t tsc;
};

static void put_word(struct pen *pen, uint64_t word)
{
	memcpy(pen->bytes + (pen->written & (pen->size - 1)), &word, sizeof(word));
	pen->written += sizeof(word);
}

/* A line begins with a stamp. */
static void begin_slot(struct pen *pen)
{
	if (pen->written % MT_RING_LINE_BYTES == 0)
		put_word(pen, pen->tsc);
}

static void put_event(struct pen *pen, uint32_t site, uint32_t stack)
{
	put_word(pen, (uint64_t)stack << 32 | site);
}

uint64_t mt_ring_put_entry(uint8_t *bytes, uint64_t size, uint64_t written,
			   enum mt_ring_stamps stamps, const struct mt_call_event *event)
{
	struct pen pen = {bytes, size, written, event->tsc};
	const uint32_t site = event->site | MT_RING_SITE_ENTRY;

	if (stamps == MT_RING_FULL) {
		put_event(&pen, site, event->stack);
		put_word(&pen, event->tsc);
		put_event(&pen, MT_RING_SITE_CALLER, 0);
		put_word(&pen, event->return_address);
		return pen.written;
	}
	/* Both slots in one line. */
	if (pen.written % MT_RING_LINE_BYTES == MT_RING_LINE_BYTES - SLOT)
		put_word(&pen, 0);
	begin_slot(&pen);
	put_event(&pen, site, event->stack);
	put_word(&pen, event->return_address);
	begin_slot(&pen);
	put_event(&pen, MT_RING_SITE_STAMP_LOW, (uint32_t)event->tsc);
	begin_slot(&pen);
	put_event(&pen, MT_RING_SITE_STAMP_HIGH, (uint32_t)(event->tsc >> 32));
	return pen.written;
}
