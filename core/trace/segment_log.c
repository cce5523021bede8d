/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the log: waiting entries, the spreading of time, packing, spilling. */
#include "base/large.h"
#include "trace/segment_log_format.h"

#include <endian.h>
#include <string.h>

enum { DEFAULT_BUDGET = 64 << 20, LEAST_BUDGET = 4096 };

struct mt_error *mt_segment_log_init(struct mt_segment_log *log, size_t budget)
{
	*log = (struct mt_segment_log){.budget = budget ? budget : DEFAULT_BUDGET, .epoch = 1};
	if (log->budget < LEAST_BUDGET)
		log->budget = LEAST_BUDGET;
	if (mt_array_reserve(&log->bytes, 2 * MT_LOG_RECORD_MAX))
		return mt_error_no_memory();
	log->full_at = MT_LOG_RECORD_MAX;
	return mt_log_slices_init(&log->slices);
}

void mt_segment_log_deinit(struct mt_segment_log *log)
{
	mt_array_deinit(&log->bytes);
	mt_array_deinit(&log->pending);
	mt_array_deinit(&log->instants);
	mt_spill_deinit(&log->spill);
	mt_log_slices_deinit(&log->slices);
	mt_error_destroy(log->error);
}

void mt_segment_log_clear(struct mt_segment_log *log)
{
	log->bytes.count = 0;
	log->pending.count = log->instants.count = 0;
	log->spilled = 0;
	log->time_ns = 0;
	log->held = log->checkpoint = false;
	log->epoch++;
	log->defined = 0;
	mt_log_slices_clear(&log->slices);
}

void mt_segment_log_set_symbolizer(struct mt_segment_log *log,
				   const struct mt_symbolizer *symbolizer)
{
	log->symbolizer = symbolizer;
	mt_log_slices_forget(&log->slices);
}

void mt_segment_log_fail(struct mt_segment_log *log, struct mt_error *error)
{
	if (log->error)
		mt_error_destroy(error);
	else
		log->error = error;
}

/* In large steps, as far as the budget goes: what is not written to yet is no memory. */
static struct mt_error *grow(struct mt_segment_log *log)
{
	const size_t more = log->bytes.capacity * 4;
	const size_t size = more < log->budget ? more : log->budget;
	uint8_t *larger = mt_large_alloc(size);

	if (!larger)
		return mt_error_no_memory();
	memcpy(larger, log->bytes.items, log->bytes.count);
	free(log->bytes.items);
	log->bytes.items = larger;
	log->bytes.capacity = size;
	return NULL;
}

static struct mt_error *find_room(struct mt_segment_log *log)
{
	if (log->bytes.count + 2 * MT_LOG_RECORD_MAX > log->budget) {
		mt_try(
		    mt_spill_write(&log->spill, log->spilled, log->bytes.items, log->bytes.count));
		log->spilled += log->bytes.count;
		log->bytes.count = 0;
	}
	if (log->bytes.count + 2 * MT_LOG_RECORD_MAX > log->bytes.capacity)
		mt_try(grow(log));
	log->full_at = log->bytes.capacity - MT_LOG_RECORD_MAX;
	return NULL;
}

void mt_log_make_room(struct mt_segment_log *log)
{
	struct mt_error *error = find_room(log);

	if (!error)
		return;
	mt_segment_log_fail(log, error);
	log->bytes.count = 0;
}

static void define(struct mt_segment_log *log, uint32_t number)
{
	const struct mt_symbolizer *symbolizer = log->symbolizer;
	const struct mt_log_slice *slice = &log->slices.items.items[number];
	struct mt_log_definition definition = {.slice = *slice};
	uint8_t *at = mt_log_record_start(log);

	if (slice->inlined)
		definition.call_source = slice->inlined->call;
	else if (slice->call_site && symbolizer && symbolizer->source_at &&
		 !symbolizer->source_at(symbolizer->context, slice->call_site,
					&definition.call_source))
		definition.call_source = (struct mt_source){0};
	at = mt_log_put_number(at, MT_LOG_DEFINE, number);
	memcpy(at, &definition, sizeof(definition));
	mt_log_record_end(log, at + sizeof(definition));
}

static void pack_begin(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
		       uint32_t number)
{
	while (log->defined <= number)
		define(log, log->defined++);
	mt_log_put_begin(log, time_ns, estimated, number);
}

static void pack_instant(struct mt_segment_log *log, uint64_t time_ns,
			 const struct mt_instant *instant)
{
	uint8_t *at = mt_log_record_start(log);

	*at++ = MT_LOG_INSTANT;
	at = mt_log_write_time(at, &log->time_ns, time_ns);
	memcpy(at, instant, sizeof(*instant));
	mt_log_record_end(log, at + sizeof(*instant));
}

void mt_segment_log_text(struct mt_segment_log *log, const char *text)
{
	uint8_t *at = mt_log_record_start(log);

	*at++ = MT_LOG_TEXT;
	memcpy(at, &text, sizeof(text));
	mt_log_record_end(log, at + sizeof(text));
}

uint64_t mt_segment_log_late_text(struct mt_segment_log *log, const struct mt_log_late_text *late)
{
	const uint64_t place = mt_log_size(log) + 1;
	uint8_t *at = mt_log_record_start(log);

	*at++ = MT_LOG_LATE_TEXT;
	memcpy(at, late, sizeof(*late));
	mt_log_record_end(log, at + sizeof(*late));
	return log->error ? 0 : place;
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
	log->checkpoint_defined = log->defined;
}

/* Behind entry I: those that are estimates of one time belong together. */
static size_t end_of_group(const struct mt_log_entry *entries, size_t count, size_t i)
{
	size_t next = i + 1;

	while (entries[i].estimated && next < count && entries[next].estimated &&
	       entries[next].time_ns == entries[i].time_ns)
		next++;
	return next;
}

/* Begins and ends, up to the first entry that is neither, has no number yet, or no room; returns
 * how many. */
static size_t pack_calls(struct mt_segment_log *log, const struct mt_log_entry *entries,
			 size_t count)
{
	const uint8_t *const full_at = log->bytes.items + log->full_at;
	const uint32_t defined = log->defined;
	uint8_t *at = mt_log_record_start(log);
	uint64_t time_ns = log->time_ns;
	size_t i = 0;

	for (; i < count && at < full_at; i++) {
		const struct mt_log_entry *entry = &entries[i];

		if (entry->kind == MT_LOG_END)
			at = mt_log_write_end(at, &time_ns, entry->time_ns, entry->estimated,
					      entry->end_flags);
		else if (entry->kind == MT_LOG_BEGIN && entry->what < defined)
			at = mt_log_write_begin(at, &time_ns, entry->time_ns, entry->estimated,
						entry->what);
		else
			break;
	}
	log->time_ns = time_ns;
	mt_log_record_end(log, at);
	return i;
}

static void pack_entry(struct mt_segment_log *log, const struct mt_log_entry *entry)
{
	if (entry->kind == MT_LOG_BEGIN)
		pack_begin(log, entry->time_ns, entry->estimated, entry->what);
	else if (entry->kind == MT_LOG_END)
		mt_log_put_end(log, entry->time_ns, entry->estimated, entry->end_flags);
	else
		pack_instant(log, entry->time_ns, &log->instants.items[entry->what]);
}

static void pack(struct mt_segment_log *log, const struct mt_log_entry *entries, size_t count)
{
	for (size_t i = 0; i < count;) {
		if (!log->checkpoint)
			i += pack_calls(log, entries + i, count - i);
		note_checkpoint(log, i);
		if (i < count)
			pack_entry(log, &entries[i++]);
	}
	note_checkpoint(log, count);
}

void mt_segment_log_settle(struct mt_segment_log *log, uint64_t bound_ns)
{
	struct mt_log_entry *entries = log->pending.items;
	size_t count = log->pending.count, next;

	if (log->held || count == 0)
		return;
	for (size_t i = 0; i < count; i = next) {
		next = end_of_group(entries, count, i);
		if (entries[i].estimated)
			spread(&entries[i], next - i,
			       next < count ? entries[next].time_ns : bound_ns);
	}
	pack(log, entries, count);
	log->pending.count = log->instants.count = 0;
}

static void wait(struct mt_segment_log *log, struct mt_log_entry entry)
{
	if (mt_array_push(&log->pending, entry))
		mt_segment_log_fail(log, mt_error_no_memory());
}

static inline void make_room_to_wait(struct mt_segment_log *log, uint64_t time_ns)
{
	if (log->pending.count < MT_LOG_PENDING)
		return;
	mt_segment_log_release(log, true);
	mt_segment_log_settle(log, time_ns);
}

static inline bool must_wait(const struct mt_segment_log *log, bool estimated)
{
	return estimated || log->held || log->pending.count;
}

/* MT_LOG_SLICES_NONE after a failure. */
static uint32_t number_of(struct mt_segment_log *log, const struct mt_log_slice *slice)
{
	if (mt_log_slices_is_full(&log->slices) && !log->pending.count) {
		mt_log_slices_clear(&log->slices);
		log->defined = log->checkpoint_defined = 0;
	}

	uint32_t number = mt_log_slices_number(&log->slices, slice);

	if (number == MT_LOG_SLICES_NONE)
		mt_segment_log_fail(log, mt_error_no_memory());
	return number;
}

void mt_segment_log_begin_again(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				uint32_t number)
{
	if (!must_wait(log, estimated)) {
		pack_begin(log, time_ns, false, number);
		return;
	}
	make_room_to_wait(log, time_ns);
	wait(log,
	     (struct mt_log_entry){
		 .time_ns = time_ns, .what = number, .kind = MT_LOG_BEGIN, .estimated = estimated});
	if (!estimated)
		mt_segment_log_settle(log, time_ns);
}

uint32_t mt_segment_log_begin(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
			      const struct mt_log_slice *slice)
{
	make_room_to_wait(log, time_ns);

	uint32_t number = number_of(log, slice);

	if (number != MT_LOG_SLICES_NONE)
		mt_segment_log_begin_again(log, time_ns, estimated, number);
	return number;
}

uint32_t mt_segment_log_begin_settled(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				      const struct mt_log_slice *slice)
{
	uint32_t number = number_of(log, slice);

	if (number != MT_LOG_SLICES_NONE)
		pack_begin(log, time_ns, estimated, number);
	return number;
}

void mt_segment_log_end(struct mt_segment_log *log, uint64_t time_ns, bool estimated, uint8_t flags)
{
	if (!must_wait(log, estimated)) {
		mt_log_put_end(log, time_ns, false, flags);
		return;
	}
	make_room_to_wait(log, time_ns);
	wait(log, (struct mt_log_entry){.time_ns = time_ns,
					.kind = MT_LOG_END,
					.estimated = estimated,
					.end_flags = flags});
	if (!estimated)
		mt_segment_log_settle(log, time_ns);
}

void mt_segment_log_instant(struct mt_segment_log *log, const struct mt_instant *instant)
{
	if (!must_wait(log, false)) {
		pack_instant(log, instant->time_ns, instant);
		return;
	}
	make_room_to_wait(log, instant->time_ns);
	if (mt_array_push(&log->instants, *instant)) {
		mt_segment_log_fail(log, mt_error_no_memory());
		return;
	}
	wait(log, (struct mt_log_entry){.time_ns = instant->time_ns,
					.what = (uint32_t)log->instants.count - 1,
					.kind = MT_LOG_INSTANT});
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
	log->defined = log->checkpoint_defined;
	log->epoch++;
}
