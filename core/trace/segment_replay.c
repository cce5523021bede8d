/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the log: from packed records to the sink's begins and ends. */
#include "trace/segment_log_format.h"

#include <endian.h>
#include <string.h>

enum { WINDOW_SIZE = 1 << 16 };

struct reader {
	struct mt_segment_log *log;
	const struct mt_slice_sink *sink;
	MT_ARRAY(struct mt_slice) slices; /* as last begun, by number */
	uint8_t *window;                  /* WINDOW_SIZE bytes of a log that spilled */
	const uint8_t *at, *end;          /* what can be read without a refill */
	uint64_t position;                /* in the log, of `end` */
	uint64_t time_ns;
	uint32_t depth;
	const char *text; /* of the next begin or end; NULL: none */
};

static struct mt_error *read_more(struct reader *r)
{
	struct mt_segment_log *log = r->log;
	size_t left = (size_t)(r->end - r->at), spilled = 0;
	uint64_t more = mt_log_size(log) - r->position;

	if (more == 0)
		return NULL;
	if (left)
		memmove(r->window, r->at, left);
	if (more > WINDOW_SIZE - left)
		more = WINDOW_SIZE - left;
	if (r->position < log->spilled) {
		spilled = (size_t)more;
		if (spilled > log->spilled - r->position)
			spilled = (size_t)(log->spilled - r->position);
		mt_try(mt_spill_read(&log->spill, r->position, r->window + left, spilled));
	}
	if (more > spilled)
		memcpy(r->window + left + spilled,
		       log->bytes.items + (size_t)(r->position + spilled - log->spilled),
		       (size_t)more - spilled);
	r->position += more;
	r->at = r->window;
	r->end = r->window + left + more;
	return NULL;
}

/* So that a whole record can be read, unless none is left. */
static inline struct mt_error *refill(struct reader *r)
{
	return (size_t)(r->end - r->at) < MT_LOG_RECORD_MAX ? read_more(r) : NULL;
}

static inline uint64_t read_time(const uint8_t **from)
{
	const uint8_t *at = *from;
	uint64_t delta = *at & 0x7f;

	for (unsigned int shift = 7; *at++ & 0x80; shift += 7)
		delta |= (uint64_t)(*at & 0x7f) << shift;
	*from = at;
	return delta;
}

static uint64_t get_time(struct reader *r)
{
	r->time_ns += read_time(&r->at);
	return r->time_ns;
}

/* Of a record AT its tag, with which it was written. */
static inline size_t read_number(const uint8_t **at)
{
	uint32_t number;

	memcpy(&number, *at, sizeof(number));
	*at += sizeof(number);
	return le32toh(number) >> 8;
}

static void get_bytes(struct reader *r, void *bytes, size_t count)
{
	memcpy(bytes, r->at, count);
	r->at += count;
}

static struct mt_error *replay_end(struct reader *r, uint64_t time_ns, uint8_t flags)
{
	struct mt_slice_end end = {
	    .time_ns = time_ns, .flags = flags, .depth = --r->depth, .result = r->text};

	r->text = NULL;
	return r->sink->ops->end(r->sink->self, &end);
}

/* Behind the last byte at which a record may begin of which no part is missing. */
static const uint8_t *whole_up_to(const struct reader *r)
{
	if (r->position == mt_log_size(r->log))
		return r->end;
	return r->end - r->at < MT_LOG_RECORD_MAX ? r->at : r->end - MT_LOG_RECORD_MAX + 1;
}

/* Begins and ends, up to the first record that is neither, or may not be whole yet. */
static struct mt_error *replay_calls(struct reader *r)
{
	const struct mt_slice_sink sink = *r->sink;
	const uint8_t *at = r->at, *const whole = whole_up_to(r);
	uint64_t time_ns = r->time_ns;
	uint32_t depth = r->depth;
	struct mt_slice_end end;
	struct mt_error *error = NULL;

	while (!error && at < whole) {
		const uint8_t tag = *at, kind = tag & MT_LOG_KIND_MASK;

		if (kind == MT_LOG_BEGIN) {
			struct mt_slice *slice = &r->slices.items[read_number(&at)];

			time_ns += read_time(&at);
			slice->time_ns = time_ns;
			slice->flags &= (uint8_t)~MT_SLICE_TIME_ESTIMATED;
			slice->flags |= tag & MT_LOG_ESTIMATED ? MT_SLICE_TIME_ESTIMATED : 0;
			slice->depth = depth++;
			slice->arguments = r->text;
			error = sink.ops->begin(sink.self, slice);
		} else if (kind == MT_LOG_END) {
			at++;
			time_ns += read_time(&at);
			depth--;
			end = (struct mt_slice_end){.time_ns = time_ns,
						    .flags = tag >> MT_LOG_FLAGS_SHIFT,
						    .depth = depth,
						    .result = r->text};
			error = sink.ops->end(sink.self, &end);
		} else {
			break;
		}
		r->text = NULL;
	}
	r->at = at;
	r->time_ns = time_ns;
	r->depth = depth;
	return error;
}

/* Numbers begin anew once there are too many. */
static struct mt_error *define(struct reader *r)
{
	size_t number = read_number(&r->at);
	struct mt_log_definition definition;

	if (mt_array_reserve(&r->slices, number + 1))
		return mt_error_no_memory();
	get_bytes(r, &definition, sizeof(definition));
	r->slices.items[number] = (struct mt_slice){
	    .kind = definition.slice.kind,
	    .flags = definition.slice.flags,
	    .function = definition.slice.function,
	    .address = definition.slice.address,
	    .call_site = definition.slice.call_site,
	    .call_source = definition.call_source,
	    .cause = (enum mt_gap_cause)definition.slice.cause,
	    .bytes_lost = definition.slice.bytes_lost,
	};
	return NULL;
}

static struct mt_error *replay_instant(struct reader *r)
{
	const uint64_t time_ns = get_time(r);
	struct mt_instant instant;

	get_bytes(r, &instant, sizeof(instant));
	instant.time_ns = time_ns;
	return r->sink->ops->instant(r->sink->self, &instant);
}

static struct mt_error *replay_rare(struct reader *r)
{
	struct mt_log_late_text late;

	switch (*r->at & MT_LOG_KIND_MASK) {
	case MT_LOG_INSTANT:
		r->at++;
		return replay_instant(r);
	case MT_LOG_TEXT:
		r->at++;
		get_bytes(r, &r->text, sizeof(r->text));
		return NULL;
	case MT_LOG_LATE_TEXT:
		r->at++;
		get_bytes(r, &late, sizeof(late));
		r->text = late.text;
		return NULL;
	default:
		return define(r);
	}
}

static inline bool is_rare(const struct reader *r)
{
	const uint8_t kind = *r->at & MT_LOG_KIND_MASK;

	return kind != MT_LOG_BEGIN && kind != MT_LOG_END;
}

static struct mt_error *begin_roots(struct reader *r, const struct mt_replay *replay)
{
	for (size_t i = replay->root_count; i-- > 0;) {
		struct mt_slice root = replay->roots[i];

		root.time_ns =
		    replay->segment.has_calls ? replay->segment.calls_ns : replay->segment.begin_ns;
		root.depth = r->depth++;
		mt_try(r->sink->ops->begin(r->sink->self, &root));
	}
	return NULL;
}

/* The next record is an instant from before all calls. */
static bool is_early(const struct reader *r, const struct mt_replay *replay)
{
	struct reader ahead = *r;

	return replay->segment.has_calls && (*ahead.at++ & MT_LOG_KIND_MASK) == MT_LOG_INSTANT &&
	       get_time(&ahead) < replay->segment.calls_ns;
}

static struct mt_error *replay_all(struct reader *r, const struct mt_replay *replay)
{
	const struct mt_slice_sink *sink = r->sink;

	mt_try(sink->ops->thread(sink->self, replay->thread));
	mt_try(sink->ops->segment_begin(sink->self, &replay->segment));
	mt_try(refill(r));
	while (r->at < r->end && is_early(r, replay)) {
		r->at++;
		mt_try(replay_instant(r));
		mt_try(refill(r));
	}
	mt_try(begin_roots(r, replay));
	while (r->at < r->end) {
		mt_try(is_rare(r) ? replay_rare(r) : replay_calls(r));
		mt_try(refill(r));
	}
	while (r->depth > 0)
		mt_try(replay_end(r, replay->segment.end_ns, MT_SLICE_END_OPEN));
	return sink->ops->segment_end(sink->self, &replay->segment);
}

struct mt_error *mt_segment_log_replay(struct mt_segment_log *log, const struct mt_replay *replay)
{
	struct reader r = {.log = log, .sink = &replay->sink};
	struct mt_error *error = NULL;

	if (log->spilled == 0 && log->bytes.count) {
		r.at = log->bytes.items;
		r.end = r.at + log->bytes.count;
		r.position = log->bytes.count;
	}
	r.window = log->spilled ? malloc(WINDOW_SIZE) : NULL;
	if (log->spilled && !r.window)
		error = mt_error_no_memory();
	else
		error = replay_all(&r, replay);
	mt_array_deinit(&r.slices);
	free(r.window);
	return error;
}
