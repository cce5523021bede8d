/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which event a record belongs to, the sample_id behind a record, and samples: all laid out as the
 * event's sample_type says.  Source: perf_event_open(2), PERF_RECORD_SAMPLE and sample_id_all. */
#include "perf/recording_private.h"

/* Fields before the id in a sample, and behind it in a sample_id, of 8 bytes each. */
#define BEFORE_ID (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
#define BEHIND_ID (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)
#define IN_ID                                                                                      \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static size_t bytes_of(uint64_t sample_type, uint64_t fields)
{
	return sizeof(uint64_t) * (size_t)__builtin_popcountll(sample_type & fields);
}

/* The position of the id is the same for all events of a recording, though the rest may differ. */
static bool read_id(const struct mt_cursor *body, uint64_t sample_type, bool is_sample,
		    uint64_t *id)
{
	struct mt_cursor cursor = *body;
	size_t at = 0;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		at = is_sample ? 0 : sizeof(*id);
	else if (sample_type & PERF_SAMPLE_ID)
		at = is_sample ? bytes_of(sample_type, BEFORE_ID)
			       : sizeof(*id) + bytes_of(sample_type, BEHIND_ID);
	else
		return false;
	if (at > mt_cursor_left(&cursor))
		return false;
	cursor.at = is_sample ? cursor.at + at : cursor.end - at;
	*id = mt_cursor_u64(&cursor);
	return !cursor.failed;
}

/* Records that perf made up itself have the id 0: those are of the first event. */
static int64_t event_of(struct mt_recording *recording, const struct mt_cursor *body,
			bool is_sample)
{
	uint64_t id = 0;

	if (!recording->attrs.count)
		return -1;
	const struct perf_event_attr *first = &recording->attrs.items[0].attr;
	if (recording->attrs.count == 1 || (!is_sample && !first->sample_id_all) ||
	    !read_id(body, first->sample_type, is_sample, &id) || id == 0)
		return 0;
	return mt_recording_find_id(recording, id);
}

static void read_cpu(struct mt_cursor *cursor, int32_t *cpu)
{
	*cpu = (int32_t)mt_cursor_u32(cursor);
	mt_cursor_u32(cursor); /* reserved */
}

enum mt_parsed mt_sample_id_parse(struct mt_recording *recording, struct mt_cursor *body,
				  struct mt_sample_id *id)
{
	int64_t event = event_of(recording, body, false);

	*id = (struct mt_sample_id){.pid = -1, .tid = -1, .cpu = -1};
	if (event < 0)
		event = 0;
	if (!recording->attrs.count)
		return MT_PARSED;
	const struct perf_event_attr *attr = &recording->attrs.items[event].attr;
	uint64_t type = attr->sample_type;
	size_t size = bytes_of(type, IN_ID);
	if (!attr->sample_id_all)
		return MT_PARSED;
	if (size > mt_cursor_left(body))
		return MT_GARBLED;

	struct mt_cursor cursor = {.at = body->end - size, .end = body->end};
	body->end = cursor.at;
	if (type & PERF_SAMPLE_TID) {
		id->pid = (int32_t)mt_cursor_u32(&cursor);
		id->tid = (int32_t)mt_cursor_u32(&cursor);
	}
	if (type & PERF_SAMPLE_TIME)
		id->time_ns = mt_cursor_u64(&cursor);
	mt_cursor_skip_u64s(&cursor, bytes_of(type, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID) / 8);
	if (type & PERF_SAMPLE_CPU)
		read_cpu(&cursor, &id->cpu);
	return MT_PARSED;
}

/* struct read_format */
static void skip_read(struct mt_cursor *cursor, uint64_t format)
{
	uint64_t times = (uint64_t)__builtin_popcountll(
	    format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
	uint64_t fields =
	    1 + (uint64_t)__builtin_popcountll(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));

	if (!(format & PERF_FORMAT_GROUP)) {
		mt_cursor_skip_u64s(cursor, times + fields);
		return;
	}
	uint64_t count = mt_cursor_u64(cursor);
	mt_cursor_skip_u64s(cursor, times);
	for (uint64_t i = 0; i < fields; i++)
		mt_cursor_skip_u64s(cursor, count);
}

static void skip_branches(struct mt_cursor *cursor, const struct perf_event_attr *attr)
{
	uint64_t count = mt_cursor_u64(cursor);

	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		mt_cursor_u64(cursor);
	for (int i = 0; i < 3; i++) /* from, to, flags */
		mt_cursor_skip_u64s(cursor, count);
	if (attr->branch_sample_type & MT_PERF_BRANCH_COUNTERS)
		mt_cursor_skip_u64s(cursor, count);
}

/* The fields behind the weight are of no use here. */
static void read_rest(struct mt_cursor *cursor, const struct perf_event_attr *attr,
		      struct mt_sideband *sample)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_READ)
		skip_read(cursor, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		mt_cursor_skip_u64s(cursor, mt_cursor_u64(cursor));
	if (type & PERF_SAMPLE_RAW) {
		sample->sample.raw_size = mt_cursor_u32(cursor);
		sample->sample.raw = mt_cursor_bytes(cursor, sample->sample.raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(cursor, attr);
	if (type & PERF_SAMPLE_REGS_USER && mt_cursor_u64(cursor) != PERF_SAMPLE_REGS_ABI_NONE)
		mt_cursor_skip_u64s(cursor, (uint64_t)__builtin_popcountll(attr->sample_regs_user));
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t size = mt_cursor_u64(cursor);

		mt_cursor_bytes(cursor, size);
		if (size)
			mt_cursor_u64(cursor); /* how much of it is filled */
	}
	if (type & PERF_SAMPLE_WEIGHT)
		sample->sample.weight = mt_cursor_u64(cursor);
	else if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		sample->sample.weight = mt_cursor_u32(cursor);
}

int64_t mt_sample_event(struct mt_recording *recording, const struct mt_cursor *body)
{
	return event_of(recording, body, true);
}

enum mt_parsed mt_sample_parse(struct mt_recording *recording, struct mt_cursor *body,
			       struct mt_sideband *sample)
{
	int64_t event = event_of(recording, body, true);

	if (event < 0)
		return MT_GARBLED;
	const struct perf_event_attr *attr = &recording->attrs.items[event].attr;
	uint64_t type = attr->sample_type;
	sample->pid = sample->tid = sample->cpu = -1;
	sample->sample.event = (uint32_t)event;
	if (type & PERF_SAMPLE_IDENTIFIER)
		mt_cursor_u64(body);
	if (type & PERF_SAMPLE_IP)
		sample->sample.ip = mt_cursor_u64(body);
	if (type & PERF_SAMPLE_TID) {
		sample->pid = (int32_t)mt_cursor_u32(body);
		sample->tid = (int32_t)mt_cursor_u32(body);
	}
	if (type & PERF_SAMPLE_TIME)
		sample->time_ns = mt_cursor_u64(body);
	if (type & PERF_SAMPLE_ADDR)
		sample->sample.address = mt_cursor_u64(body);
	mt_cursor_skip_u64s(body, bytes_of(type, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID) / 8);
	if (type & PERF_SAMPLE_CPU)
		read_cpu(body, &sample->cpu);
	if (type & PERF_SAMPLE_PERIOD)
		mt_cursor_u64(body);
	read_rest(body, attr, sample);
	if (body->failed)
		return MT_GARBLED;
	if (!sample->sample.raw)
		return MT_PARSED;
	sample->sample.raw =
	    mt_arena_copy(&recording->arena, sample->sample.raw, sample->sample.raw_size);
	return sample->sample.raw ? MT_PARSED : MT_NO_MEMORY;
}
