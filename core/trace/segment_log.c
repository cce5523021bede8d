/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the log: waiting entries, the spreading of time, packing, spilling. */
#include "trace/segment_log_format.h"

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

void mt_segment_log_fail(struct mt_segment_log *log, struct mt_error *error)
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
			mt_segment_log_fail(log, error);
			return;
		}
		log->spilled += log->bytes.count;
		log->bytes.count = 0;
	}
	if (mt_array_reserve(&log->bytes, log->bytes.count + 2 * MT_LOG_RECORD_MAX)) {
		mt_segment_log_fail(log, mt_error_no_memory());
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
	memcpy(at, &definition, sizeof(definition));
	record_end(log, at + sizeof(definition));
	log->slots[slot] = *slice;
	log->slots[slot].epoch = log->epoch;
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
	uint64_t what = slice->address ^ slice->call_site << 21 ^ (uint64_t)slice->flags << 56;
	size_t slot = (what * 0x9e3779b97f4a7c15u) >> 51; /* 13 bits: MT_LOG_SLOTS */
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
	memcpy(at, instant, sizeof(*instant));
	record_end(log, at + sizeof(*instant));
}

void mt_segment_log_text(struct mt_segment_log *log, const char *text)
{
	uint8_t *at = record_start(log);

	if (!at)
		return;
	*at++ = MT_LOG_TEXT;
	memcpy(at, &text, sizeof(text));
	record_end(log, at + sizeof(text));
}

uint64_t mt_segment_log_late_text(struct mt_segment_log *log, const struct mt_log_late_text *late)
{
	uint8_t *at = record_start(log);

	if (!at)
		return 0;
	*at++ = MT_LOG_LATE_TEXT;
	record_end(log, at);
	const uint64_t place = mt_log_size(log);
	memcpy(at, late, sizeof(*late));
	record_end(log, at + sizeof(*late));
	return place;
}

bool mt_segment_log_get_late(struct mt_segment_log *log, uint64_t place,
			     struct mt_log_late_text *out)
{
	if (place >= log->spilled)
		memcpy(out, log->bytes.items + (place - log->spilled), sizeof(*out));
	else
		mt_segment_log_fail(log, mt_spill_read(&log->spill, place, out, sizeof(*out)));
	return !log->error;
}

void mt_segment_log_set_late(struct mt_segment_log *log, uint64_t place,
			     const struct mt_log_late_text *late)
{
	if (place >= log->spilled)
		memcpy(log->bytes.items + (place - log->spilled), late, sizeof(*late));
	else
		mt_segment_log_fail(log, mt_spill_write(&log->spill, place, late, sizeof(*late)));
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

static void note_checkpoint(struct mt_segment_log *log, size_t settled)
{
	if (!log->checkpoint || log->checkpoint_settled || log->checkpoint_pending != settled)
		return;
	log->checkpoint_settled = true;
	log->checkpoint_position = mt_log_size(log);
	log->checkpoint_time_ns = log->time_ns;
}

void mt_segment_log_settle(struct mt_segment_log *log, uint64_t bound_ns)
{
	struct mt_log_entry *entries = log->pending.items;
	size_t count = log->pending.count, next;

	if (log->held || count == 0)
		return;
	for (size_t i = 0; i < count; i = next) {
		next = i + 1;
		if (!entries[i].estimated)
			continue;
		while (next < count && entries[next].estimated &&
		       entries[next].time_ns == entries[i].time_ns)
			next++;
		spread(&entries[i], next - i, next < count ? entries[next].time_ns : bound_ns);
	}
	for (size_t i = 0; i < count; i++) {
		const struct mt_log_entry *entry = &entries[i];

		note_checkpoint(log, i);
		if (entry->kind == MT_LOG_BEGIN)
			pack_begin(log, entry->time_ns, entry->estimated, &entry->slice);
		else if (entry->kind == MT_LOG_END)
			pack_end(log, entry->time_ns, entry->estimated, entry->end_flags);
		else
			pack_instant(log, &entry->instant);
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
		mt_segment_log_fail(log, mt_error_no_memory());
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
	log->bytes.count = log->checkpoint_position > log->spilled
			       ? (size_t)(log->checkpoint_position - log->spilled)
			       : 0;
	if (log->checkpoint_position < log->spilled)
		log->spilled = log->checkpoint_position;
	log->time_ns = log->checkpoint_time_ns;
	log->epoch++; /* definitions went too */
}
