/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which event a record belongs to, the sample_id behind a record, and samples: all laid out as the
 * event's sample_type says.  Source: perf_event_open(2), PERF_RECORD_SAMPLE and sample_id_all. */
#include "perf/recording_private.h"
#include "perf/stack_sample.h"

/* Fields before the id in a sample, and behind it in a sample_id, of 8 bytes each. */
#define BEFORE_ID (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
#define BEHIND_ID (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)
#define IN_ID                                                                                      \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

#define LEAST_PERIOD_NS 10000

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

static void read_branches(struct mt_cursor *cursor, const struct perf_event_attr *attr,
			  struct mt_stack_sample *stack)
{
	uint64_t count = mt_cursor_u64(cursor);

	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		mt_cursor_u64(cursor);
	stack->branches.at = cursor->at;
	for (int i = 0; i < 3; i++) /* from, to, flags */
		mt_cursor_skip_u64s(cursor, count);
	stack->branches.count = count;
	stack->branches_are_calls = attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
	if (attr->branch_sample_type & MT_PERF_BRANCH_COUNTERS)
		mt_cursor_skip_u64s(cursor, count);
}

static void read_user_stack(struct mt_cursor *cursor, struct mt_stack_sample *stack)
{
	uint64_t size = mt_cursor_u64(cursor);

	stack->memory = mt_cursor_bytes(cursor, size);
	if (!size)
		return;
	stack->memory_size = mt_cursor_u64(cursor); /* how much of it is filled */
	if (stack->memory_size > size)
		stack->memory_size = size;
}

/* The fields behind the weight are of no use here. */
static void read_rest(struct mt_cursor *cursor, const struct perf_event_attr *attr,
		      struct mt_sideband *sample, struct mt_stack_sample *stack)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_READ)
		skip_read(cursor, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		stack->chain.count = mt_cursor_u64(cursor);
		stack->chain.at = cursor->at;
		mt_cursor_skip_u64s(cursor, stack->chain.count);
	}
	if (type & PERF_SAMPLE_RAW) {
		sample->sample.raw_size = mt_cursor_u32(cursor);
		sample->sample.raw = mt_cursor_bytes(cursor, sample->sample.raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(cursor, attr, stack);
	if (type & PERF_SAMPLE_REGS_USER) {
		stack->registers_abi = mt_cursor_u64(cursor);
		if (stack->registers_abi != PERF_SAMPLE_REGS_ABI_NONE) {
			stack->registers_mask = attr->sample_regs_user;
			stack->registers.count =
			    (uint64_t)__builtin_popcountll(attr->sample_regs_user);
		}
		stack->registers.at = cursor->at;
		mt_cursor_skip_u64s(cursor, stack->registers.count);
	}
	if (type & PERF_SAMPLE_STACK_USER)
		read_user_stack(cursor, stack);
	if (type & PERF_SAMPLE_WEIGHT)
		sample->sample.weight = mt_cursor_u64(cursor);
	else if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		sample->sample.weight = mt_cursor_u32(cursor);
}

int64_t mt_sample_event(struct mt_recording *recording, const struct mt_cursor *body)
{
	return event_of(recording, body, true);
}

static enum mt_parsed parse(struct mt_recording *recording, struct mt_cursor *body,
			    struct mt_sideband *sample, struct mt_stack_sample *stack)
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
	read_rest(body, attr, sample, stack);
	return body->failed ? MT_GARBLED : MT_PARSED;
}

static bool is_of_stops(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == MT_PERF_STOP_CONFIG;
}

/* Events that occur as a thread runs on, so that their samples say where its time goes.  Others
 * say where something happened. */
static bool samples_stacks(const struct perf_event_attr *attr)
{
	const uint64_t needed = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

	if ((attr->sample_type & needed) != needed)
		return false;
	switch (attr->type) {
	case PERF_TYPE_SOFTWARE:
		return attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		       attr->config == PERF_COUNT_SW_TASK_CLOCK || is_of_stops(attr);
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
	case MT_PERF_TYPE_CALLS:
		return false;
	default:
		return true;
	}
}

static enum mt_parsed keep_place(struct mt_recording *recording,
				 const struct mt_perf_record *record, struct mt_stack_place *place)
{
	place->size = record->header.size;
	place->part = record->packed ? MT_STACK_UNPACKED : recording->part;
	if (!record->packed) {
		place->offset = record->offset;
		return MT_PARSED;
	}
	place->bytes = mt_arena_copy(&recording->arena, record->bytes, place->size);
	return place->bytes ? MT_PARSED : MT_NO_MEMORY;
}

enum mt_parsed mt_sample_parse(struct mt_recording *recording, const struct mt_perf_record *record,
			       struct mt_sideband *sample)
{
	struct mt_cursor body = mt_perf_record_body(record);
	struct mt_stack_sample stack = {0};
	enum mt_parsed parsed = parse(recording, &body, sample, &stack);

	if (parsed != MT_PARSED)
		return parsed;
	if (samples_stacks(&recording->attrs.items[sample->sample.event].attr))
		parsed = keep_place(recording, record, &sample->sample.stack);
	if (parsed != MT_PARSED || !sample->sample.raw)
		return parsed;
	sample->sample.raw =
	    mt_arena_copy(&recording->arena, sample->sample.raw, sample->sample.raw_size);
	return sample->sample.raw ? MT_PARSED : MT_NO_MEMORY;
}

struct mt_error *mt_stack_sample_read(struct mt_recording *recording,
				      const struct mt_sideband *record,
				      uint8_t buffer[MT_STACK_SAMPLE_BYTES],
				      struct mt_stack_sample *out)
{
	const struct mt_stack_place *place = &record->sample.stack;
	const uint8_t *bytes = place->bytes;
	struct mt_sideband again = {0};
	size_t count = place->size;

	*out = (struct mt_stack_sample){0};
	if (place->part != MT_STACK_UNPACKED) {
		bytes = buffer;
		mt_try(mt_recording_read_part(recording, place->part, buffer, place->size,
					      place->offset, &count));
	}
	struct mt_cursor body = mt_cursor_over(bytes, count);
	mt_cursor_bytes(&body, sizeof(struct perf_event_header));
	/* It was whole when the recording was opened. */
	if (body.failed || parse(recording, &body, &again, out) != MT_PARSED ||
	    again.sample.event != record->sample.event)
		return mt_recording_garbled(recording,
					    place->part == MT_STACK_UNPACKED ? 0 : place->offset,
					    "a sample, which changed meanwhile");
	return NULL;
}

bool mt_recording_is_of_samples(const struct mt_recording *recording)
{
	if (recording->pt.present || mt_recording_is_of_calls(recording))
		return false;
	mt_array_each (record, &recording->sideband)
		if (record->kind == MT_SIDEBAND_SAMPLE && record->sample.stack.size)
			return true;
	return false;
}

bool mt_recording_was_sampled(const struct mt_recording *recording)
{
	const uint64_t stacks =
	    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK;

	mt_array_each (attr, &recording->attrs)
		if (samples_stacks(&attr->attr) && attr->attr.sample_type & stacks)
			return true;
	return false;
}

bool mt_recording_event_is_stop(const struct mt_recording *recording, uint32_t index)
{
	return is_of_stops(&recording->attrs.items[index].attr);
}

uint64_t mt_recording_event_period_ns(const struct mt_recording *recording, uint32_t index)
{
	const struct perf_event_attr *attr = &recording->attrs.items[index].attr;

	if (attr->freq)
		return attr->sample_freq ? 1000000000 / attr->sample_freq : 0;
	if (attr->type != PERF_TYPE_SOFTWARE || is_of_stops(attr))
		return 0;
	/* A clock's.  The kernel does not look at it more often (perf_swevent_start_hrtimer()). */
	return attr->sample_period > LEAST_PERIOD_NS ? attr->sample_period : LEAST_PERIOD_NS;
}
