/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events packed into one record: a sample of mtrace:calls, whose IP, TIME and ADDR are those
 * of its first event, and whose raw data has them all, most of them in four bytes each.  Only
 * recordings that nobody but us reads have them: to write and read a sample for each event took
 * half the time of a snapshot. */
#ifndef MT_PERF_CALL_BATCH_H
#define MT_PERF_CALL_BATCH_H

#include "perf/format.h"
#include "trace/event.h"

#include <stddef.h>

struct mt_call_batch {
	struct perf_event_header header;
	uint64_t id;
	uint64_t ip;
	int32_t pid, tid;
	uint64_t time;
	uint64_t addr;
	uint32_t raw_size; /* of what follows */
	uint32_t count;    /* of events */
};

enum {
	MT_CALL_BATCH_MAX = 65528,     /* bytes of a record */
	MT_CALL_BATCH_EVENT_LEAST = 4, /* bytes of an event */
	MT_CALL_BATCH_EVENT_MOST = 36,
	MT_CALL_BATCH_PLACES_BITS = 11,
	MT_CALL_BATCH_PLACES = 1 << MT_CALL_BATCH_PLACES_BITS,
	MT_CALL_BATCH_SLOTS_BITS = 13,
};

/* What is the same of all events of a call from one place, or of a return: the second half of a
 * struct mt_event. */
struct mt_call_place {
	uint64_t to, rest;
};

/* What an event is in a recording. */
enum mt_perf_call mt_perf_call_of(const struct mt_event *event);
/* The word that goes with it. */
static inline uint64_t mt_perf_call_weight(const struct mt_event *event)
{
	return event->kind == MT_EVENT_VALUE ? event->detail : mt_event_return_address(event);
}

struct mt_perf_call_kind {
	const char *name;
	uint8_t kind, flags; /* as in struct mt_event */
};
extern const struct mt_perf_call_kind mt_perf_call_kinds[MT_PERF_CALL_COUNT];

/* An event that was written as CALL. */
static inline struct mt_event mt_perf_call_event(enum mt_perf_call call, uint64_t time_ns,
						 uint64_t from, uint64_t to, uint64_t weight)
{
	struct mt_event event = {
	    .time_ns = time_ns,
	    .from = from,
	    .to = to,
	    .kind = mt_perf_call_kinds[call].kind,
	    .flags = mt_perf_call_kinds[call].flags,
	};

	/* Nothing predicts whether it is an entry: no branch on that. */
	const uint64_t is_entry = event.kind == MT_EVENT_ENTRY;

	mt_event_set_return_address(&event, weight & -is_entry);
	if (event.kind == MT_EVENT_VALUE)
		event.detail = (uint32_t)weight;
	return event;
}

/* What packs; all zeros to begin with. */
struct mt_call_packer {
	struct mt_call_place places[MT_CALL_BATCH_PLACES]; /* of this batch */
	uint32_t defined;                                  /* so many were */
	uint16_t slots[1 << MT_CALL_BATCH_SLOTS_BITS];     /* which of them, perhaps, by hash */
};

/* Packs as many of the COUNT events, at least one, as a record has room for: MT_CALL_BATCH_MAX
 * bytes at BYTES.  `id`, `pid` and `tid` are the caller's to set in the struct mt_call_batch there.
 * Returns how many. */
size_t mt_call_batch_pack(struct mt_call_packer *packer, uint8_t *bytes,
			  const struct mt_event *events, size_t count);

/* How many events a record of SIZE bytes says that it has; 0: it is no batch. */
uint32_t mt_call_batch_count(const uint8_t *record, size_t size);

/* A walk over a batch's events. */
struct mt_call_unpacker {
	const uint8_t *at, *end;
	uint32_t left;
	uint64_t time_ns, from; /* of the event before */
	uint32_t defined;       /* places, so far */
	struct mt_call_place places[MT_CALL_BATCH_PLACES];
};
/* RECORD: a whole one of SIZE bytes, and MT_CALL_BATCH_EVENT_MOST bytes behind it that can be read,
 * whatever they are.  False: it is no batch. */
bool mt_call_unpacker_init(struct mt_call_unpacker *unpacker, const uint8_t *record, size_t size);
/* Returns how many; 0, with some left: they are garbled. */
size_t mt_call_unpacker_next(struct mt_call_unpacker *unpacker, struct mt_event *out,
			     size_t capacity);

#endif
