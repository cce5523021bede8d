/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events: where in the file each thread's lie, and reading them from there.  Only the layout
 * that we write counts as such; anything else is a sample like others. */
#include "perf/recording_private.h"

#define WINDOW_SAMPLES 4096

struct mt_recording_calls {
	struct mt_recording *recording;
	const struct mt_call_stream *stream;
	size_t run;    /* that is being read */
	uint64_t done; /* of it */
	struct mt_perf_call_sample window[WINDOW_SAMPLES];
	size_t next, count; /* in the window */
};

static bool is_call_attr(const struct perf_event_attr *attr)
{
	return attr->type == MT_PERF_TYPE_CALLS && attr->config < MT_PERF_CALL_COUNT &&
	       attr->sample_type == MT_PERF_CALL_SAMPLE_TYPE;
}

/* BODY: a sample behind its header. */
static bool find_event(struct mt_recording *recording, const struct mt_cursor *body,
		       enum mt_perf_call *event)
{
	int64_t index = mt_sample_event(recording, body);

	if (index < 0 || !is_call_attr(&recording->attrs.items[index].attr))
		return false;
	*event = (enum mt_perf_call)recording->attrs.items[index].attr.config;
	return true;
}

static struct mt_call_stream *stream_create(struct mt_recording *recording, int32_t tid)
{
	struct mt_call_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->thread.tid = tid;
	if (mt_array_push(&recording->call_streams, stream)) {
		free(stream);
		return NULL;
	}
	HASH_ADD(hh, recording->call_streams_by_tid, thread.tid, sizeof(int32_t), stream);
	if (!stream->hh.tbl) {
		recording->call_streams.count--;
		free(stream);
		return NULL;
	}
	return stream;
}

static struct mt_call_stream *stream_of(struct mt_recording *recording, int32_t tid)
{
	struct mt_call_stream *stream = recording->last_call_stream;

	if (stream && stream->thread.tid == tid)
		return stream;
	HASH_FIND(hh, recording->call_streams_by_tid, &tid, sizeof(tid), stream);
	if (!stream)
		stream = stream_create(recording, tid);
	recording->last_call_stream = stream;
	return stream;
}

static enum mt_parsed add_to_run(struct mt_call_stream *stream, uint64_t offset)
{
	struct mt_call_run *last = stream->runs.count ? mt_array_last(&stream->runs) : NULL;
	struct mt_call_run run = {.offset = offset, .count = 1};

	stream->thread.events++;
	if (last && last->offset + last->count * sizeof(struct mt_perf_call_sample) == offset)
		last->count++;
	else if (mt_array_push(&stream->runs, run))
		return MT_NO_MEMORY;
	return MT_PARSED;
}

bool mt_recording_take_call(struct mt_recording *recording, const struct mt_perf_record *record,
			    enum mt_parsed *parsed)
{
	struct mt_cursor body = mt_perf_record_body(record);
	struct mt_perf_call_sample sample;
	struct mt_call_stream *stream;
	enum mt_perf_call event;

	if (!find_event(recording, &body, &event))
		return false;
	*parsed = MT_GARBLED;
	if (record->packed || record->header.size != sizeof(sample))
		return true;
	memcpy(&sample, record->bytes, sizeof(sample));
	*parsed = MT_NO_MEMORY;
	stream = stream_of(recording, sample.tid);
	if (!stream)
		return true;
	stream->thread.pid = sample.pid;
	recording->info.has_time |= sample.time != 0;
	*parsed = add_to_run(stream, record->offset);
	return true;
}

void mt_recording_forget_calls(struct mt_recording *recording)
{
	HASH_CLEAR(hh, recording->call_streams_by_tid);
	mt_array_each (stream, &recording->call_streams) {
		mt_array_deinit(&(*stream)->runs);
		free(*stream);
	}
	mt_array_deinit(&recording->call_streams);
}

bool mt_recording_is_of_calls(const struct mt_recording *recording)
{
	mt_array_each (one, &recording->attrs)
		if (is_call_attr(&one->attr))
			return true;
	return false;
}

size_t mt_recording_call_thread_count(const struct mt_recording *recording)
{
	return recording->call_streams.count;
}

const struct mt_recording_call_thread *
mt_recording_call_thread(const struct mt_recording *recording, size_t index)
{
	return &recording->call_streams.items[index]->thread;
}

struct mt_error *mt_recording_calls_open(struct mt_recording *recording, size_t index,
					 struct mt_recording_calls **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->recording = recording;
	(*out)->stream = recording->call_streams.items[index];
	return NULL;
}

void mt_recording_calls_close(struct mt_recording_calls *calls)
{
	free(calls);
}

static struct mt_error *fill(struct mt_recording_calls *calls)
{
	const struct mt_call_run *run = &calls->stream->runs.items[calls->run];
	uint64_t left = run->count - calls->done;
	size_t size = sizeof(calls->window[0]), got = 0;

	calls->next = 0;
	calls->count = left < WINDOW_SAMPLES ? (size_t)left : WINDOW_SAMPLES;
	mt_try(mt_recording_read(calls->recording, calls->window, calls->count * size,
				 run->offset + calls->done * size, &got));
	calls->count = got / size;
	calls->done += calls->count;
	if (calls->done == run->count || !calls->count) {
		calls->run++;
		calls->done = 0;
	}
	return NULL;
}

static bool decode(struct mt_recording_calls *calls, const struct mt_perf_call_sample *sample,
		   struct mt_recording_call *out)
{
	struct mt_cursor body =
	    mt_cursor_over(&sample->id, sizeof(*sample) - sizeof(sample->header));
	enum mt_perf_call event = MT_PERF_FRAME;
	static const uint8_t kinds[MT_PERF_CALL_COUNT] = {
	    [MT_PERF_CALL] = MT_RECORDING_CALL,
	    [MT_PERF_CALL_ESTIMATED] = MT_RECORDING_CALL,
	    [MT_PERF_RETURN] = MT_RECORDING_RETURN,
	    [MT_PERF_RETURN_ESTIMATED] = MT_RECORDING_RETURN,
	    [MT_PERF_FRAME] = MT_RECORDING_FRAME,
	    [MT_PERF_AGAIN] = MT_RECORDING_AGAIN,
	};

	if (!find_event(calls->recording, &body, &event))
		return false;
	out->time_ns = sample->time;
	out->address = sample->ip;
	out->stack = sample->addr;
	out->time_is_estimate = event == MT_PERF_CALL_ESTIMATED ||
				event == MT_PERF_RETURN_ESTIMATED || event == MT_PERF_AGAIN;
	out->kind = kinds[event];
	return true;
}

struct mt_error *mt_recording_calls_next(struct mt_recording_calls *calls,
					 struct mt_recording_call *out, size_t capacity,
					 size_t *count)
{
	*count = 0;
	while (*count < capacity) {
		if (calls->next == calls->count) {
			if (calls->run == calls->stream->runs.count)
				return NULL;
			mt_try(fill(calls));
			continue;
		}
		if (!decode(calls, &calls->window[calls->next++], &out[*count]))
			return mt_recording_garbled(calls->recording, 0, "a call event");
		(*count)++;
	}
	return NULL;
}
