/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a ring ends whose thread can no longer be asked: its program was replaced.  Time stamps
 * tell which line is the newest; what of that line is new, and what is left of an earlier round, is
 * told by zeros, by stamps within it, and by what the tracer had anchored. */
#include "engine/calls/ring/private.h"

#define SLOT 8
#define FULL 16
#define LINE MT_RING_LINE_BYTES

/* Time stamps stand UNIT bytes apart, each OFFSET behind its unit's beginning. */
struct stamps {
	uint64_t unit, offset;
};

static const struct stamps stamps_of[] = {
    [MT_RING_SAMPLED] = {LINE, 0},
    [MT_RING_FULL] = {FULL, SLOT},
};

static uint64_t newest(const struct mt_ring_view *view, const struct stamps *stamps)
{
	uint64_t best = 0, best_tsc = 0;

	for (uint64_t at = 0; at < view->size; at += stamps->unit) {
		uint64_t tsc = word_at(view, at + stamps->offset);

		if (tsc >= best_tsc) {
			best_tsc = tsc;
			best = at;
		}
	}
	return best;
}

/* A place in the ring as a number of bytes written in all: the first behind the anchor, and a round
 * more if what follows it was written since then too. */
static uint64_t unroll(const struct mt_ring_view *view, const struct stamps *stamps,
		       const struct mt_ring_anchor *anchor, uint64_t place)
{
	uint64_t least = (anchor->written + stamps->unit - 1) & ~(stamps->unit - 1);
	uint64_t at = (least & ~(view->size - 1)) + place;

	if (at < least)
		at += view->size;
	if (at + stamps->unit - view->size != least &&
	    word_at(view, at + stamps->unit + stamps->offset) > anchor->last)
		at += view->size;
	return at;
}

/* Behind the last whole stamp that is younger than the line, or than the one before it if its first
 * half stands there. */
static uint64_t behind_stamps(const struct mt_ring_view *view, uint64_t line)
{
	uint64_t line_tsc = word_at(view, line), end = line + SLOT;

	for (uint64_t at = line + SLOT; at < line + LINE; at += SLOT) {
		bool is_first = at == line + SLOT;
		struct mt_ring_event low = event_at(view, is_first ? line - SLOT : at - SLOT);
		struct mt_ring_event high = event_at(view, at);
		uint64_t tsc = (uint64_t)high.stack << 32 | low.stack;

		if (low.site != MT_RING_SITE_STAMP_LOW || high.site != MT_RING_SITE_STAMP_HIGH)
			continue;
		if (is_first ? line >= LINE && tsc >= word_at(view, line - LINE) : tsc >= line_tsc)
			end = at + SLOT;
	}
	return end;
}

static uint64_t behind_events(const struct mt_ring_view *view, uint64_t line, uint64_t begin)
{
	uint64_t end = line + LINE;

	while (end > begin && !event_at(view, end - SLOT).site)
		end -= SLOT;
	return end;
}

/* The newest line, from what is known to be written of it on.  The last one of a ring, when it is
 * full, may be the first round's or any other's. */
static uint64_t end_in_line(const struct mt_ring_view *view, uint64_t line, uint64_t known)
{
	uint64_t end = behind_events(view, line, known);

	if (line < view->size && end < view->size)
		return end;
	end = behind_stamps(view, line);
	return end > known ? end : known;
}

uint64_t mt_ring_find_end(const struct mt_ring_view *view)
{
	static const struct mt_ring_anchor none;
	const struct stamps *stamps = &stamps_of[view->stamps];
	const struct mt_ring_anchor *anchor =
	    view->anchor_count ? &view->anchors[view->anchor_count - 1] : &none;
	uint64_t place = newest(view, stamps), line = anchor->written & ~(uint64_t)(LINE - 1);
	bool is_newer = word_at(view, place + stamps->offset) > anchor->last;

	if (is_newer)
		line = unroll(view, stamps, anchor, place);
	if (view->stamps == MT_RING_FULL)
		return is_newer ? line + FULL : anchor->written;
	if (is_newer)
		return end_in_line(view, line, line + SLOT);
	return anchor->written == line ? line : end_in_line(view, line, anchor->written);
}
