/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rings of the `calls` engine, as the trampolines write and the tracer reads them.
 *
 * A ring is made of lines of 256 bytes.  With sampled time stamps a line begins with a full TSC,
 * read when the writer enters the line, and holds events: a return takes one slot of 8 bytes, an
 * entry two, of which the second is its return address.  Both lie in one line; where they do not
 * fit, slots of zeros fill it.  With full stamps a slot has 16 bytes, and each event its TSC.
 *
 * A stamp costs as much as six events do without one (rdtsc 9 ns on an Intel Xeon VM, and 5 ns
 * for the branch to it, which nothing predicts): docs/benchmarks.md.  Hence lines of four cache
 * lines.
 *
 * A thread's GS base leads to its slot, two words: the address of its ring, and how many bytes it
 * has written in all.  Room for an event is reserved by one xadd and then filled, so that a signal
 * handler's events never take the same one.  A ring's size is 2^n bytes.
 *
 * A reservation costs 5 ns (an AMD EPYC VM), of which half is a wait: it is a load, too, and the
 * addresses of the stores before it come from the reservation before.  Events that come together
 * have one for all of them, and lie in one line. */
#ifndef MT_ENGINE_CALLS_RING_RING_H
#define MT_ENGINE_CALLS_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_RING_LINE_BYTES 256

struct mt_ring_event {
	uint32_t site;  /* number of the place in the text, and MT_RING_SITE_ENTRY; 0: no event */
	uint32_t stack; /* low half of the stack pointer as the trampoline sees it */
};

/* The next slot has the address that the function returns to. */
#define MT_RING_SITE_ENTRY 0x80000000u
/* With full stamps that slot is a struct mt_ring_full_event of this site: its `tsc` is the address.
 */
#define MT_RING_SITE_CALLER (UINT32_MAX - 2)
/* In place of a site: `stack` is a half of the TSC at the event before it; low comes first. */
#define MT_RING_SITE_STAMP_LOW  (UINT32_MAX - 1)
#define MT_RING_SITE_STAMP_HIGH UINT32_MAX

struct mt_ring_full_event {
	struct mt_ring_event event;
	uint64_t tsc;
};

enum mt_ring_stamps { MT_RING_SAMPLED, MT_RING_FULL };

/* Numbers of sites are below this.  From here on up to MT_RING_SITE_CALLER they are those of
 * recorded values, whose events are laid out as entries are: with the stack pointer itself, and
 * the value for the return address.  They stand in front of the entry that they belong to, or
 * behind the return. */
#define MT_RING_SITE_END    ((MT_RING_SITE_CALLER & ~MT_RING_SITE_ENTRY) - MT_RING_MOST_VALUES)
#define MT_RING_MOST_VALUES 65536u

static inline bool mt_ring_is_entry(uint32_t site)
{
	return site & MT_RING_SITE_ENTRY && site < MT_RING_SITE_CALLER;
}

/* What is reserved for an event. */
static inline unsigned mt_ring_event_bytes(enum mt_ring_stamps stamps, bool is_entry)
{
	return (stamps == MT_RING_FULL ? 16 : 8) * (is_entry ? 2 : 1);
}

/* A thread's slot, at its GS base. */
#define MT_RING_SLOT_BYTES 128
struct mt_ring_position {
	uint64_t ring;       /* address of the thread's ring */
	uint64_t written;    /* bytes; the next slot is at ring + written % size */
	uint64_t stampless;  /* not 0: no time stamps are read for it */
	uint64_t pages;      /* address of a table: condition/read.c */
	uint64_t open_calls; /* address of a table: condition/measure.c; 0: none are measured */
	uint64_t held;       /* ticks in which the tracer had it stopped, lest it seem slow; in the
			      * first slot, which is nobody's: a thread asks for the tracer */
	/* Of the last slow call, in ticks. */
	uint64_t slow_begin, slow_ticks;
	uint64_t number; /* of the thread, as who looks at it counts: $_thread; 0: not known */
};

/* The distance from `stack` up to the stack pointer at the entry or return. */
#define MT_RING_RED_ZONE 128
static inline uint32_t mt_ring_pushed(enum mt_ring_stamps stamps, bool is_return)
{
	return (stamps == MT_RING_FULL ? 24 : 8) + (is_return ? MT_RING_RED_ZONE : 0);
}

/* What the tracer saw of a ring from outside: so much was written by `first`, and nothing more
 * until `last`.  Anchors go by `written`. */
struct mt_ring_anchor {
	uint64_t written;
	uint64_t first, last; /* TSC */
};

/* A ring as it lies in memory, and how far its thread had written. */
struct mt_ring_view {
	const uint8_t *bytes;
	uint64_t size; /* 2^n, at least MT_RING_LINE_BYTES */
	uint64_t written;
	uint64_t begin; /* nothing before this many bytes counts (a snapshot emptied it) */
	uint64_t whole; /* nor before this many: they were written over while it was copied */
	enum mt_ring_stamps stamps;
	const struct mt_ring_anchor *anchors;
	size_t anchor_count;
};

struct mt_call_event {
	uint64_t tsc;
	uint32_t site;           /* its number alone */
	uint32_t stack;          /* as it stands in the ring */
	uint64_t return_address; /* of an entry; else 0 */
	bool estimated;          /* the time lies between two stamps, or anchors */
};

/* COUNT bytes from AT on, as whole slots, are no events, in a ring of SIZE bytes into which WRITTEN
 * were written; if they are in it yet.  AT may be anything: none but the ring's bytes change. */
void mt_ring_clear(uint8_t *bytes, uint64_t size, uint64_t written, uint64_t at, uint64_t count);

/* A walk over a ring from its oldest whole line to its end. */
struct mt_ring_cursor {
	struct mt_ring_view view;
	uint64_t at;
	uint64_t last_tsc;
	uint64_t end_tsc; /* nothing in it is of later */
	size_t next_anchor;
	uint64_t line_stamp; /* of the last line whose stamp is sure; 0: none yet */
	/* What was known where the last line began, and how many events it had. */
	uint64_t line_tsc;
	uint64_t line_events;
	uint64_t pace; /* ticks from event to event in the last line without anchors */
	bool line_is_anchored;
};

void mt_ring_cursor_init(struct mt_ring_cursor *cursor, const struct mt_ring_view *view);

/* Events of one line more, at the most MT_RING_LINE_EVENTS, by time.  Times never run backwards;
 * between two stamps they are spread by order.  Up to an anchor they go at the pace of the line
 * before: a stop comes some time after the last event. */
#define MT_RING_LINE_EVENTS 31
size_t mt_ring_next_line(struct mt_ring_cursor *cursor,
			 struct mt_call_event events[MT_RING_LINE_EVENTS], bool *at_end);

/* What a trampoline puts into a ring for an entry, by the tracer, while the thread stands still:
 * with a stamp of its own.  WRITTEN bytes were written by then; returns how many are now. */
uint64_t mt_ring_put_entry(uint8_t *bytes, uint64_t size, uint64_t written,
			   enum mt_ring_stamps stamps, const struct mt_call_event *event);

/* Bytes that were overwritten before they were read, and those that were not. */
uint64_t mt_ring_bytes_lost(const struct mt_ring_view *view);
uint64_t mt_ring_bytes_left(const struct mt_ring_view *view);

/* The size of the smallest ring, no larger than VIEW's own, that would hold what counts of it. */
uint64_t mt_ring_least_size(const struct mt_ring_view *view);
/* A ring into which its thread may write. */
struct mt_ring_live {
	const uint64_t *written; /* the word of its slot */
	/* The file that its bytes lie in, and where: to read it costs less than page faults, where
	 * nobody has looked at them yet.  FD -1: none. */
	int fd;
	uint64_t offset;
};

/* The newest of it as a ring of SIZE bytes, which is 2^n, at least MT_RING_LINE_BYTES, and at the
 * most VIEW's own.  LIVE: what VIEW is of, or NULL, if nobody writes there.  The newest is copied
 * first, and parts that were written over meanwhile are left out.  Returns the copy's `whole`. */
uint64_t mt_ring_copy(const struct mt_ring_view *view, const struct mt_ring_live *live,
		      uint64_t size, uint8_t *bytes);

#endif
