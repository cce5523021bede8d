/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/ring_sample.h"

#include "base/cursor.h"

#define ID_BYTES (4 * sizeof(uint64_t)) /* of MT_RING_SAMPLE_TYPE */

static struct mt_cursor body_of(const struct perf_event_header *record)
{
	return mt_cursor_over(record + 1, record->size - sizeof(*record));
}

static void read_thread(struct mt_cursor *cursor, struct mt_ring_sample *sample)
{
	sample->pid = (int32_t)mt_cursor_u32(cursor);
	sample->tid = (int32_t)mt_cursor_u32(cursor);
}

static void read_cpu(struct mt_cursor *cursor, struct mt_ring_sample *sample)
{
	sample->cpu = (int32_t)mt_cursor_u32(cursor);
	mt_cursor_u32(cursor); /* reserved */
}

bool mt_ring_sample_id(const struct perf_event_header *record, struct mt_ring_sample *sample)
{
	struct mt_cursor cursor = body_of(record);

	*sample = (struct mt_ring_sample){0};
	if (mt_cursor_left(&cursor) < ID_BYTES)
		return false;
	cursor.at = cursor.end - ID_BYTES;
	read_thread(&cursor, sample);
	sample->time = mt_cursor_u64(&cursor);
	read_cpu(&cursor, sample);
	sample->id = mt_cursor_u64(&cursor);
	return true;
}

bool mt_ring_sample_event(const struct perf_event_header *record, uint64_t *id)
{
	struct mt_cursor cursor = body_of(record);

	*id = mt_cursor_u64(&cursor);
	return !cursor.failed;
}

bool mt_ring_sample_parse(const struct perf_event_header *record, uint64_t sample_type,
			  uint64_t registers, struct mt_ring_sample *sample)
{
	struct mt_cursor cursor = body_of(record);

	*sample = (struct mt_ring_sample){.id = mt_cursor_u64(&cursor)};
	if (sample_type & PERF_SAMPLE_IP)
		sample->ip = mt_cursor_u64(&cursor);
	read_thread(&cursor, sample);
	sample->time = mt_cursor_u64(&cursor);
	if (sample_type & PERF_SAMPLE_ADDR)
		sample->address = mt_cursor_u64(&cursor);
	read_cpu(&cursor, sample);
	if (sample_type & PERF_SAMPLE_READ) {
		sample->value_count = mt_cursor_u64(&cursor);
		sample->values = cursor.at;
		mt_cursor_skip_u64s(&cursor, sample->value_count);
	}
	if (sample_type & PERF_SAMPLE_RAW) {
		sample->raw_size = mt_cursor_u32(&cursor);
		sample->raw = mt_cursor_bytes(&cursor, sample->raw_size);
	}
	if (sample_type & PERF_SAMPLE_REGS_USER &&
	    mt_cursor_u64(&cursor) == PERF_SAMPLE_REGS_ABI_64)
		sample->registers = mt_cursor_bytes(
		    &cursor, sizeof(uint64_t) * (uint64_t)__builtin_popcountll(registers));
	return !cursor.failed;
}
