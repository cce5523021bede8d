/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the log: waiting entries, the spreading of time, packing, spilling.
 *
 * A record is a tag byte (kind, flags), then by kind: BEGIN: slot (2 bytes), time; END: time;
 * INSTANT: time, struct; DEFINE: slot, struct.  Times are LEB128 differences to the record
 * before. */
#include "trace/segment_log.h"

#include "trace/segment_record.h"

#include <string.h>

enum { DEFAULT_BUDGET = 64 << 20, LEAST_BUDGET = 4096 };

struct mt_error *mt_segment_log_init(struct mt_segment_log *log, size_t budget)
{
	*log = (struct mt_segment_log){.budget = budget ? budget : DEFAULT_BUDGET, .epoch = 1};
	if (log->budget < LEAST_BUDGET)
		log->budget = LEAST_BUDGET;
	log->slots = calloc(MT_LOG_SLOTS, sizeof(*log->slots));
	return log->slots ? NULL : mt_error_no_memory();
}

void mt_segment_log_deinit(struct mt_segment_log *log)
{
	mt_array_deinit(&log->bytes);
	mt_array_deinit(&log->pending);
	mt_spill_deinit(&log->spill);
	free(log->slots);
	mt_error_destroy(log->error);
}

void mt_segment_log_clear(struct mt_segment_log *log)
{
	log->bytes.count = 0;
	log->pending.count = 0;
	log->spilled = 0;
	log->time_ns = 0;
	log->held = log->checkpoint = false;
	log->epoch++;
}

static void fail(struct mt_segment_log *log, struct mt_error *error)
{
	if (log->error)
		mt_error_destroy(error);
	else
		log->error = error;
}

static void make_room(struct mt_segment_log *log)
{
	if (log->bytes.count + 2 * MT_LOG_RECORD_MAX > log->budget) {
		struct mt_error *error =
		    mt_spill_write(&log->spill, log->spilled, log->bytes.items, log->bytes.count);
		if (error) {
			fail(log, error);
			return;
		}
		log->spilled += log->bytes.count;
		log->bytes.count = 0;
	}
	if (mt_array_reserve(&log->bytes, log->bytes.count + 2 * MT_LOG_RECORD_MAX)) {
		fail(log, mt_error_no_memory());
		return;
	}
	log->full_at = log->bytes.capacity < log->budget ? log->bytes.capacity : log->budget;
	log->full_at -= MT_LOG_RECORD_MAX;
}

/* Where the next record goes; NULL after a failure. */
static inline uint8_t *record_start(struct mt_segment_log *log)
{
	if (log->bytes.count >= log->full_at)
		make_room(log);
	return log->error ? NULL : log->bytes.items + log->bytes.count;
}

static inline void record_end(struct mt_segment_log *log, const uint8_t *end)
{
	log->bytes.count = (size_t)(end - log->bytes.items);
}

static inline uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t count)
{
	memcpy(at, bytes, count);
	return at + count;
}

static inline uint8_t *put_slot(uint8_t *at, size_t slot)
{
	*at++ = (uint8_t)slot;
	*at++ = (uint8_t)(slot >> 8);
	return at;
}

static inline uint8_t *put_time(struct mt_segment_log *log, uint8_t *at, uint64_t time_ns)
{
	uint64_t delta = time_ns > log->time_ns ? time_ns - log->time_ns : 0;

	log->time_ns += delta;
	for (; delta >= 0x80; delta >>= 7)
		*at++ = (uint8_t)(delta | 0x80);
	*at++ = (uint8_t)delta;
	return at;
}

static void define(struct mt_segment_log *log, size_t slot, const struct mt_log_slice *slice)
{
	const struct mt_symbolizer *symbolizer = log->symbolizer;
	struct mt_log_definition definition = {.slice = *slice};
	uint8_t *at = record_start(log);

	if (!at)
		return;
	if (slice->inlined)
		definition.call_source = slice->inlined->call;
	else if (slice->call_site && symbolizer && symbolizer->source_at &&
		 !symbolizer->source_at(symbolizer->context, slice->call_site,
					&definition.call_source))
		definition.call_source = (struct mt_source){0};
	*at++ = MT_LOG_DEFINE;
	at = put_slot(at, slot);
	record_end(log, put_bytes(at, &definition, sizeof(definition)));
	log->slots[slot] = *slice;
	log->slots[slot].epoch = log->epoch;
}

static inline size_t slot_of(const struct mt_log_slice *slice)
{
	uint64_t what = slice->address ^ slice->call_site << 21 ^ (uint64_t)slice->flags << 56;
	uint64_t hash = what * 0x9e3779b97f4a7c15u;

	return hash >> 51; /* 13 bits: MT_LOG_SLOTS */
}

static inline bool is_defined(const struct mt_segment_log *log, size_t slot,
			      const struct mt_log_slice *slice)
{
	const struct mt_log_slice *old = &log->slots[slot];

	return old->call_site == slice->call_site && old->address == slice->address &&
	       old->function == slice->function && old->epoch == log->epoch &&
	       old->kind == slice->kind && old->flags == slice->flags &&
	       old->inlined == slice->inlined && old->bytes_lost == slice->bytes_lost &&
	       old->cause == slice->cause;
}

static inline void pack_begin(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
			      const struct mt_log_slice *slice)
{
	size_t slot = slot_of(slice);
	uint8_t *at;

	if (!is_defined(log, slot, slice))
		define(log, slot, slice);
	at = record_start(log);
	if (!at)
		return;
	*at++ = MT_LOG_BEGIN | (estimated ? MT_LOG_ESTIMATED : 0);
	at = put_slot(at, slot);
	record_end(log, put_time(log, at, time_ns));
}

static inline void pack_end(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
			    uint8_t flags)
{
	uint8_t *at = record_start(log);

	if (!at)
		return;
	if (estimated)
		flags |= MT_SLICE_END_TIME_ESTIMATED;
	*at++ = (uint8_t)(MT_LOG_END | flags << MT_LOG_FLAGS_SHIFT);
	record_end(log, put_time(log, at, time_ns));
}

static void pack_instant(struct mt_segment_log *log, const struct mt_instant *instant)
{
	uint8_t *at = record_start(log);

	if (!at)
		return;
	*at++ = MT_LOG_INSTANT;
	at = put_time(log, at, instant->time_ns);
	record_end(log, put_bytes(at, instant, sizeof(*instant)));
}

static void pack(struct mt_segment_log *log, const struct mt_log_entry *entry)
{
	switch (entry->kind) {
	case MT_LOG_BEGIN:
		pack_begin(log, entry->time_ns, entry->estimated, &entry->slice);
		break;
	case MT_LOG_END:
		pack_end(log, entry->time_ns, entry->estimated, entry->end_flags);
		break;
	case MT_LOG_INSTANT:
		pack_instant(log, &entry->instant);
		break;
	}
}

/* Calls take time, returns take none: each begin gets a share of the time between, and so do the
 * code before the first entry and behind the last. */
static void spread(struct mt_log_entry *entries, size_t count, uint64_t until_ns)
{
	uint64_t from_ns = entries[0].time_ns;
	uint64_t span = until_ns > from_ns ? until_ns - from_ns : 0;
	uint64_t shares = 2, share = 1;
	double step;

	for (size_t i = 0; i < count; i++)
		shares += entries[i].kind == MT_LOG_BEGIN;
	step = (double)span / (double)shares;
	for (size_t i = 0; i < count; i++) {
		entries[i].time_ns = from_ns + (uint64_t)(step * (double)share);
		if (entries[i].kind == MT_LOG_INSTANT)
			entries[i].instant.time_ns = entries[i].time_ns;
		share += entries[i].kind == MT_LOG_BEGIN;
	}
}

static void spread_all(struct mt_log_entry *entries, size_t count, uint64_t bound_ns)
{
	size_t next;

	for (size_t i = 0; i < count; i = next) {
		next = i + 1;
		if (!entries[i].estimated)
			continue;
		while (next < count && entries[next].estimated &&
		       entries[next].time_ns == entries[i].time_ns)
			next++;
		spread(&entries[i], next - i, next < count ? entries[next].time_ns : bound_ns);
	}
}

static void note_checkpoint(struct mt_segment_log *log, size_t settled)
{
	if (!log->checkpoint || log->checkpoint_settled || log->checkpoint_pending != settled)
		return;
	log->checkpoint_settled = true;
	log->checkpoint_position = mt_segment_log_size(log);
	log->checkpoint_time_ns = log->time_ns;
}

void mt_segment_log_settle(struct mt_segment_log *log, uint64_t bound_ns)
{
	size_t count = log->pending.count;

	if (log->held || count == 0)
		return;
	spread_all(log->pending.items, count, bound_ns);
	for (size_t i = 0; i < count; i++) {
		note_checkpoint(log, i);
		pack(log, &log->pending.items[i]);
	}
	note_checkpoint(log, count);
	log->pending.count = 0;
}

/* A waiting entry, for the caller to fill in the rest of; NULL after a failure. */
static struct mt_log_entry *wait(struct mt_segment_log *log, enum mt_log_kind kind,
				 uint64_t time_ns, bool estimated)
{
	struct mt_log_entry *entry;

	if (log->pending.count >= MT_LOG_PENDING) {
		mt_segment_log_release(log, true);
		mt_segment_log_settle(log, time_ns);
	}
	if (log->pending.count == log->pending.capacity &&
	    mt_array_reserve(&log->pending, log->pending.count + 1)) {
		fail(log, mt_error_no_memory());
		return NULL;
	}
	entry = &log->pending.items[log->pending.count++];
	entry->time_ns = time_ns;
	entry->kind = (uint8_t)kind;
	entry->estimated = estimated;
	return entry;
}

static inline bool must_wait(const struct mt_segment_log *log, bool estimated)
{
	return estimated || log->held || log->pending.count;
}

void mt_segment_log_begin(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
			  const struct mt_log_slice *slice)
{
	struct mt_log_entry *entry;

	if (!must_wait(log, estimated)) {
		pack_begin(log, time_ns, false, slice);
		return;
	}
	entry = wait(log, MT_LOG_BEGIN, time_ns, estimated);
	if (entry)
		entry->slice = *slice;
	if (!estimated)
		mt_segment_log_settle(log, time_ns);
}

void mt_segment_log_begin_settled(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				  const struct mt_log_slice *slice)
{
	pack_begin(log, time_ns, estimated, slice);
}

void mt_segment_log_end(struct mt_segment_log *log, uint64_t time_ns, bool estimated, uint8_t flags)
{
	struct mt_log_entry *entry;

	if (!must_wait(log, estimated)) {
		pack_end(log, time_ns, false, flags);
		return;
	}
	entry = wait(log, MT_LOG_END, time_ns, estimated);
	if (entry)
		entry->end_flags = flags;
	if (!estimated)
		mt_segment_log_settle(log, time_ns);
}

void mt_segment_log_instant(struct mt_segment_log *log, const struct mt_instant *instant)
{
	struct mt_log_entry *entry;

	if (!must_wait(log, false)) {
		pack_instant(log, instant);
		return;
	}
	entry = wait(log, MT_LOG_INSTANT, instant->time_ns, false);
	if (entry)
		entry->instant = *instant;
	mt_segment_log_settle(log, instant->time_ns);
}

void mt_segment_log_hold(struct mt_segment_log *log)
{
	log->held = true;
	log->held_at = log->pending.count;
}

bool mt_segment_log_release(struct mt_segment_log *log, bool keep)
{
	size_t at = log->held_at;

	if (!log->held)
		return true;
	log->held = false;
	if (keep || at >= log->pending.count)
		return keep;
	log->pending.count--;
	memmove(&log->pending.items[at], &log->pending.items[at + 1],
		(log->pending.count - at) * sizeof(log->pending.items[0]));
	return false;
}

void mt_segment_log_checkpoint(struct mt_segment_log *log)
{
	log->checkpoint = true;
	log->checkpoint_settled = false;
	log->checkpoint_pending = log->pending.count;
	if (log->pending.count == 0)
		note_checkpoint(log, 0);
}

void mt_segment_log_commit(struct mt_segment_log *log)
{
	log->checkpoint = false;
}

static void truncate_bytes(struct mt_segment_log *log, uint64_t position)
{
	log->bytes.count = position > log->spilled ? (size_t)(position - log->spilled) : 0;
	if (position < log->spilled)
		log->spilled = position;
}

void mt_segment_log_rollback(struct mt_segment_log *log)
{
	if (!log->checkpoint)
		return;
	log->checkpoint = log->held = false;
	if (!log->checkpoint_settled) {
		log->pending.count = log->checkpoint_pending;
		return;
	}
	log->pending.count = 0;
	truncate_bytes(log, log->checkpoint_position);
	log->time_ns = log->checkpoint_time_ns;
	log->epoch++; /* definitions went too */
}

struct mt_error *mt_segment_log_read(struct mt_segment_log *log, uint64_t position, void *bytes,
				     size_t count)
{
	size_t spilled = 0;

	if (position < log->spilled) {
		spilled = count;
		if (spilled > log->spilled - position)
			spilled = (size_t)(log->spilled - position);
		mt_try(mt_spill_read(&log->spill, position, bytes, spilled));
	}
	if (count > spilled)
		memcpy((char *)bytes + spilled,
		       log->bytes.items + (size_t)(position + spilled - log->spilled),
		       count - spilled);
	return NULL;
}
