/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the log: from packed records to the sink's begins and ends. */
#include "trace/segment_log.h"
#include "trace/segment_record.h"

#include <string.h>

enum { WINDOW_SIZE = 1 << 16 };

struct replayer {
	struct mt_segment_log *log;
	const struct mt_replay *replay;
	struct mt_log_definition *definitions; /* MT_LOG_SLOTS */
	uint8_t *window;                       /* WINDOW_SIZE bytes of a log that spilled */
	const uint8_t *at, *end;               /* what can be read without a refill */
	uint64_t position;                     /* in the log, of `end` */
	uint64_t time_ns;
	uint32_t depth;
};

static struct mt_error *refill(struct replayer *r)
{
	size_t left = (size_t)(r->end - r->at);
	uint64_t more = mt_segment_log_size(r->log) - r->position;

	if (more == 0 || left >= MT_LOG_RECORD_MAX)
		return NULL;
	if (left)
		memmove(r->window, r->at, left);
	if (more > WINDOW_SIZE - left)
		more = WINDOW_SIZE - left;
	mt_try(mt_segment_log_read(r->log, r->position, r->window + left, (size_t)more));
	r->position += more;
	r->at = r->window;
	r->end = r->window + left + more;
	return NULL;
}

static uint64_t get_time(struct replayer *r)
{
	uint64_t delta = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = *r->at++;
		delta |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	r->time_ns += delta;
	return r->time_ns;
}

static size_t get_slot(struct replayer *r)
{
	size_t slot = r->at[0] | (size_t)r->at[1] << 8;

	r->at += 2;
	return slot;
}

static void get_bytes(struct replayer *r, void *bytes, size_t count)
{
	memcpy(bytes, r->at, count);
	r->at += count;
}

static struct mt_error *begin(struct replayer *r, uint8_t tag)
{
	const struct mt_log_definition *definition = &r->definitions[get_slot(r)];
	const struct mt_log_slice *what = &definition->slice;
	struct mt_slice slice = {
	    .time_ns = get_time(r),
	    .kind = what->kind,
	    .flags = what->flags,
	    .depth = r->depth++,
	    .function = what->function,
	    .address = what->address,
	    .call_site = what->call_site,
	    .call_source = definition->call_source,
	    .cause = (enum mt_gap_cause)what->cause,
	    .bytes_lost = what->bytes_lost,
	};

	if (tag & MT_LOG_ESTIMATED)
		slice.flags |= MT_SLICE_TIME_ESTIMATED;
	return r->replay->sink.ops->begin(r->replay->sink.self, &slice);
}

static struct mt_error *end(struct replayer *r, uint64_t time_ns, uint8_t flags)
{
	struct mt_slice_end slice_end = {.time_ns = time_ns, .flags = flags, .depth = --r->depth};

	return r->replay->sink.ops->end(r->replay->sink.self, &slice_end);
}

static struct mt_error *instant(struct replayer *r)
{
	uint64_t time_ns = get_time(r);
	struct mt_instant what;

	get_bytes(r, &what, sizeof(what));
	what.time_ns = time_ns;
	return r->replay->sink.ops->instant(r->replay->sink.self, &what);
}

static struct mt_error *record(struct replayer *r)
{
	uint8_t tag = *r->at++;
	size_t slot;

	switch (tag & MT_LOG_KIND_MASK) {
	case MT_LOG_BEGIN:
		return begin(r, tag);
	case MT_LOG_END:
		return end(r, get_time(r), tag >> MT_LOG_FLAGS_SHIFT);
	case MT_LOG_INSTANT:
		return instant(r);
	default:
		slot = get_slot(r);
		get_bytes(r, &r->definitions[slot], sizeof(r->definitions[slot]));
		return NULL;
	}
}

static struct mt_error *roots(struct replayer *r)
{
	for (size_t i = r->replay->root_count; i-- > 0;) {
		struct mt_slice slice = r->replay->roots[i];

		slice.time_ns = r->replay->segment.begin_ns;
		slice.depth = r->depth++;
		mt_try(r->replay->sink.ops->begin(r->replay->sink.self, &slice));
	}
	return NULL;
}

static struct mt_error *records(struct replayer *r)
{
	for (;;) {
		mt_try(refill(r));
		if (r->at >= r->end)
			return NULL;
		mt_try(record(r));
	}
}

static struct mt_error *close_open(struct replayer *r)
{
	while (r->depth > 0)
		mt_try(end(r, r->replay->segment.end_ns, MT_SLICE_END_OPEN));
	return NULL;
}

static struct mt_error *run(struct replayer *r)
{
	const struct mt_replay *replay = r->replay;
	const struct mt_slice_sink *sink = &replay->sink;

	mt_try(sink->ops->thread(sink->self, replay->thread));
	mt_try(sink->ops->segment_begin(sink->self, &replay->segment));
	mt_try(roots(r));
	mt_try(records(r));
	mt_try(close_open(r));
	return sink->ops->segment_end(sink->self, &replay->segment);
}

struct mt_error *mt_segment_log_replay(struct mt_segment_log *log, const struct mt_replay *replay)
{
	struct replayer r = {.log = log, .replay = replay};
	struct mt_error *error = NULL;

	if (log->spilled == 0 && log->bytes.count) {
		r.at = log->bytes.items;
		r.end = r.at + log->bytes.count;
		r.position = log->bytes.count;
	}
	r.definitions = malloc(MT_LOG_SLOTS * sizeof(*r.definitions));
	r.window = log->spilled ? malloc(WINDOW_SIZE) : NULL;
	if (!r.definitions || (log->spilled && !r.window))
		error = mt_error_no_memory();
	else
		error = run(&r);
	free(r.definitions);
	free(r.window);
	return error;
}
