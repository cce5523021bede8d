/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events in a file: where each thread's lie, reading them from there, and writing them.  Only
 * the layouts that we write count as such; anything else is a sample like others. */
#include "perf/call_batch.h"
#include "perf/recording_private.h"
#include "perf/writer_private.h"

enum {
	READ_SAMPLES = 4096, /* at once */
	WRITE_SAMPLES = 256,
};

/* An event of the recording for each kind of call event, one more where the time is an estimate. */
const struct mt_perf_call_kind mt_perf_call_kinds[MT_PERF_CALL_COUNT] = {
    [MT_PERF_CALL] = {"mtrace:call", MT_EVENT_ENTRY, 0},
    [MT_PERF_CALL_ESTIMATED] = {"mtrace:call~", MT_EVENT_ENTRY, MT_EVENT_TIME_IS_ESTIMATE},
    [MT_PERF_RETURN] = {"mtrace:return", MT_EVENT_LEAVE, 0},
    [MT_PERF_RETURN_ESTIMATED] = {"mtrace:return~", MT_EVENT_LEAVE, MT_EVENT_TIME_IS_ESTIMATE},
    [MT_PERF_FRAME] = {"mtrace:frame", MT_EVENT_FRAME, 0},
    [MT_PERF_AGAIN] = {"mtrace:again", MT_EVENT_AGAIN, MT_EVENT_TIME_IS_ESTIMATE},
    [MT_PERF_VALUE] = {"mtrace:value", MT_EVENT_VALUE, MT_EVENT_TIME_IS_ESTIMATE},
    [MT_PERF_CALL_BATCH] = {"mtrace:calls", 0, 0},
};

const char *mt_perf_call_name(enum mt_perf_call call)
{
	return mt_perf_call_kinds[call].name;
}

struct mt_recording_calls {
	struct mt_recording *recording;
	const struct mt_call_stream *stream;
	struct mt_call_ids ids;
	size_t run;    /* that is being read */
	uint64_t done; /* of it */
	uint8_t window[READ_SAMPLES * sizeof(struct mt_perf_call_sample)];
	size_t sample_bytes;              /* of those in the window */
	size_t next, count;               /* in the window */
	struct mt_call_unpacker unpacker; /* of the batch in the window */
};

_Static_assert(READ_SAMPLES * sizeof(struct mt_perf_call_sample) >=
		   MT_CALL_BATCH_MAX + MT_CALL_BATCH_EVENT_MOST,
	       "a batch has no room in the window");

/* How large its samples are, of batches at least; 0: they are no call events. */
static size_t sample_bytes_of(const struct perf_event_attr *attr)
{
	if (attr->type != MT_PERF_TYPE_CALLS || attr->config >= MT_PERF_CALL_COUNT)
		return 0;
	if (attr->config == MT_PERF_CALL_BATCH)
		return attr->sample_type == MT_PERF_CALL_BATCH_TYPE ? sizeof(struct mt_call_batch)
								    : 0;
	if (attr->sample_type == MT_PERF_CALL_SAMPLE_TYPE)
		return sizeof(struct mt_perf_call_sample);
	return attr->sample_type == MT_PERF_CALL_SAMPLE_TYPE_1 ? MT_PERF_CALL_SAMPLE_BYTES_1 : 0;
}

/* BODY: a sample behind its header.  Returns how large it is; 0: it is no call event. */
static size_t find_event(struct mt_recording *recording, const struct mt_cursor *body,
			 enum mt_perf_call *event)
{
	int64_t index = mt_sample_event(recording, body);
	size_t bytes = index < 0 ? 0 : sample_bytes_of(&recording->attrs.items[index].attr);

	if (bytes)
		*event = (enum mt_perf_call)recording->attrs.items[index].attr.config;
	return bytes;
}

static inline bool is_current(const struct mt_recording *recording, const struct mt_call_ids *ids)
{
	return ids->attrs == recording->attrs.count && ids->ids == recording->ids.count;
}

/* The same of a sample that begins with its id, where the ids are current. */
static inline size_t find_known(const struct mt_call_ids *ids, uint64_t id,
				enum mt_perf_call *event)
{
	const size_t at = id % (sizeof(ids->known) / sizeof(ids->known[0]));

	if (ids->known[at].id != id)
		return 0;
	*event = (enum mt_perf_call)ids->known[at].event;
	return ids->known[at].sample_bytes;
}

/* BODY belongs to EVENT, whose samples are of BYTES. */
static void note_known(const struct mt_recording *recording, struct mt_call_ids *ids,
		       const struct mt_cursor *body, size_t bytes, enum mt_perf_call event)
{
	const struct perf_event_attr *first = &recording->attrs.items[0].attr;
	struct mt_cursor peek = *body;
	const uint64_t id = mt_cursor_u64(&peek);
	const size_t at = id % (sizeof(ids->known) / sizeof(ids->known[0]));

	/* As mt_sample_event() finds the id. */
	if (!(first->sample_type & PERF_SAMPLE_IDENTIFIER) || recording->attrs.count == 1 || !id)
		return;
	if (!is_current(recording, ids))
		*ids = (struct mt_call_ids){.attrs = recording->attrs.count,
					    .ids = recording->ids.count};
	ids->known[at].id = id;
	ids->known[at].sample_bytes = (uint8_t)bytes;
	ids->known[at].event = (uint8_t)event;
}

/* NULL: no memory. */
static struct mt_call_stream *stream_of(struct mt_recording *recording, int32_t tid)
{
	struct mt_call_stream *stream = recording->last_call_stream;

	if (stream && stream->thread.tid == tid)
		return stream;
	HASH_FIND(hh, recording->call_streams_by_tid, &tid, sizeof(tid), stream);
	if (!stream) {
		stream = calloc(1, sizeof(*stream));
		if (!stream || mt_array_push(&recording->call_streams, stream)) {
			free(stream);
			return NULL;
		}
		stream->thread.tid = tid;
		HASH_ADD(hh, recording->call_streams_by_tid, thread.tid, sizeof(int32_t), stream);
		if (!stream->hh.tbl) {
			recording->call_streams.count--;
			free(stream);
			return NULL;
		}
	}
	recording->last_call_stream = stream;
	return stream;
}

bool mt_recording_take_call(struct mt_recording *recording, const struct mt_perf_record *record,
			    enum mt_parsed *parsed)
{
	struct mt_cursor body = mt_perf_record_body(record);
	struct mt_perf_call_sample sample;
	struct mt_call_stream *stream;
	enum mt_perf_call event;
	size_t bytes = find_event(recording, &body, &event);

	if (!bytes)
		return false;
	struct mt_call_run run = {
	    .offset = record->offset, .count = 1, .sample_bytes = (uint32_t)bytes};
	*parsed = MT_GARBLED;
	if (record->packed)
		return true;
	if (event == MT_PERF_CALL_BATCH) {
		run = (struct mt_call_run){
		    .offset = record->offset,
		    .count = mt_call_batch_count(record->bytes, record->header.size),
		    .batch_bytes = record->header.size};
		if (!run.count)
			return true;
	} else if (record->header.size != bytes) {
		return true;
	} else {
		note_known(recording, &recording->call_ids, &body, bytes, event);
	}
	memcpy(&sample, record->bytes, MT_PERF_CALL_SAMPLE_BYTES_1);
	if (!mt_tid_is_thread(sample.tid))
		return true;
	*parsed = MT_NO_MEMORY;
	stream = stream_of(recording, sample.tid);
	if (!stream)
		return true;
	stream->thread.pid = sample.pid;
	stream->thread.events += run.count;
	recording->info.has_time |= sample.time != 0;

	struct mt_call_run *last = stream->runs.count ? mt_array_last(&stream->runs) : NULL;

	*parsed = MT_PARSED;
	if (last && run.sample_bytes && last->sample_bytes == bytes &&
	    last->offset + last->count * bytes == record->offset)
		last->count++;
	else if (mt_array_push(&stream->runs, run))
		*parsed = MT_NO_MEMORY;
	return true;
}

size_t mt_recording_take_calls(struct mt_recording *recording, uint64_t offset,
			       const uint8_t *bytes, size_t size)
{
	struct mt_call_stream *stream = recording->last_call_stream;
	struct mt_call_run *run =
	    stream && stream->runs.count ? mt_array_last(&stream->runs) : NULL;
	const struct mt_call_ids *ids = &recording->call_ids;
	const size_t one = run ? run->sample_bytes : 0;
	struct mt_perf_call_sample sample;
	enum mt_perf_call event;
	uint64_t times = 0;
	size_t taken = 0;

	if (!one || run->offset + run->count * one != offset || !is_current(recording, ids))
		return 0;
	for (; size - taken >= one; taken += one) {
		memcpy(&sample, bytes + taken, MT_PERF_CALL_SAMPLE_BYTES_1);
		if (sample.header.type != PERF_RECORD_SAMPLE || sample.header.size != one ||
		    sample.tid != stream->thread.tid || sample.pid != stream->thread.pid ||
		    find_known(ids, sample.id, &event) != one)
			break;
		times |= sample.time;
	}
	recording->info.has_time |= times != 0;
	run->count += taken / one;
	stream->thread.events += taken / one;
	return taken;
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
		if (sample_bytes_of(&one->attr))
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
	/* Which sorts ids: whoever reads on finds them sorted, in whatever thread. */
	mt_recording_find_id(recording, 0);
	return NULL;
}

void mt_recording_calls_close(struct mt_recording_calls *calls)
{
	free(calls);
}

static struct mt_error *fill_with_batch(struct mt_recording_calls *calls)
{
	const struct mt_call_run *run = &calls->stream->runs.items[calls->run++];
	size_t got = 0;

	mt_try(mt_recording_read(calls->recording, calls->window, run->batch_bytes, run->offset,
				 &got));
	if (got == run->batch_bytes && mt_call_unpacker_init(&calls->unpacker, calls->window, got))
		return NULL;
	return mt_recording_garbled(calls->recording, run->offset, "call events");
}

static struct mt_error *fill(struct mt_recording_calls *calls)
{
	const struct mt_call_run *run = &calls->stream->runs.items[calls->run];
	uint64_t left = run->count - calls->done;
	size_t size = run->sample_bytes, got = 0;

	if (!size)
		return fill_with_batch(calls);
	calls->next = 0;
	calls->sample_bytes = size;
	calls->count = left < READ_SAMPLES ? (size_t)left : READ_SAMPLES;
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

static struct mt_error *find_unknown(struct mt_recording_calls *calls,
				     const struct mt_perf_call_sample *sample,
				     enum mt_perf_call *event)
{
	struct mt_cursor body =
	    mt_cursor_over(&sample->id, calls->sample_bytes - sizeof(sample->header));
	const size_t size = find_event(calls->recording, &body, event);

	if (!size)
		return mt_recording_garbled(calls->recording, 0, "a call event");
	note_known(calls->recording, &calls->ids, &body, size, *event);
	return NULL;
}

/* As many as there are in the window, CAPACITY at the most. */
static struct mt_error *next_samples(struct mt_recording_calls *calls, struct mt_event *out,
				     size_t capacity, size_t *count)
{
	const size_t left = calls->count - calls->next, size = calls->sample_bytes;
	const uint8_t *bytes = calls->window + calls->next * size;
	const bool has_weight = size == sizeof(struct mt_perf_call_sample);
	bool are_current = is_current(calls->recording, &calls->ids);

	*count = left < capacity ? left : capacity;
	calls->next += *count;
	for (size_t i = 0; i < *count; i++, bytes += size) {
		struct mt_perf_call_sample sample;
		enum mt_perf_call event = MT_PERF_CALL;

		/* Of a known size each: one that is not costs as much as all the rest. */
		memcpy(&sample, bytes, MT_PERF_CALL_SAMPLE_BYTES_1);
		sample.weight = 0;
		if (has_weight)
			memcpy(&sample.weight, bytes + MT_PERF_CALL_SAMPLE_BYTES_1,
			       sizeof(sample.weight));
		if (!are_current || !find_known(&calls->ids, sample.id, &event)) {
			mt_try(find_unknown(calls, &sample, &event));
			are_current = is_current(calls->recording, &calls->ids);
		}
		out[i] =
		    mt_perf_call_event(event, sample.time, sample.addr, sample.ip, sample.weight);
	}
	return NULL;
}

struct mt_error *mt_recording_calls_next(struct mt_recording_calls *calls, struct mt_event *out,
					 size_t capacity, size_t *count)
{
	*count = 0;
	while (*count < capacity) {
		size_t more = 0;

		if (calls->unpacker.left) {
			more = mt_call_unpacker_next(&calls->unpacker, out + *count,
						     capacity - *count);
			if (!more)
				return mt_recording_garbled(calls->recording, 0, "call events");
			*count += more;
		} else if (calls->next < calls->count) {
			mt_try(next_samples(calls, out + *count, capacity - *count, &more));
			*count += more;
		} else if (calls->run < calls->stream->runs.count) {
			mt_try(fill(calls));
		} else {
			break;
		}
	}
	return NULL;
}

static struct mt_error *put_batches(struct mt_recording_writer *writer, int32_t pid, int32_t tid,
				    const struct mt_event *calls, size_t count)
{
	struct mt_call_batch batch;

	for (size_t done = 0; done < count;) {
		done +=
		    mt_call_batch_pack(&writer->packer, writer->batch, calls + done, count - done);
		memcpy(&batch, writer->batch, sizeof(batch));
		batch.id = MT_WRITER_FIRST_CALL + MT_PERF_CALL_BATCH + 1u;
		batch.pid = pid;
		batch.tid = tid;
		memcpy(writer->batch, &batch, sizeof(batch));
		mt_try(mt_outfile_write(writer->file, writer->batch, batch.header.size));
	}
	return NULL;
}

static struct mt_error *put_samples(struct mt_recording_writer *writer, int32_t pid, int32_t tid,
				    const struct mt_event *calls, size_t count)
{
	struct mt_perf_call_sample samples[WRITE_SAMPLES];

	for (size_t done = 0; done < count; done += WRITE_SAMPLES) {
		size_t batch = count - done < WRITE_SAMPLES ? count - done : WRITE_SAMPLES;

		for (size_t i = 0; i < batch; i++)
			samples[i] = (struct mt_perf_call_sample){
			    .header = {.type = PERF_RECORD_SAMPLE,
				       .misc = PERF_RECORD_MISC_USER,
				       .size = sizeof(samples[i])},
			    .id = MT_WRITER_FIRST_CALL + mt_perf_call_of(&calls[done + i]) + 1u,
			    .ip = calls[done + i].to,
			    .pid = pid,
			    .tid = tid,
			    .time = calls[done + i].time_ns,
			    .addr = calls[done + i].from,
			    .weight = mt_perf_call_weight(&calls[done + i]),
			};
		mt_try(mt_outfile_write(writer->file, samples, batch * sizeof(samples[0])));
	}
	return NULL;
}

struct mt_error *mt_recording_writer_put_calls(struct mt_recording_writer *writer, int32_t pid,
					       int32_t tid, const struct mt_event *calls,
					       size_t count)
{
	if (!writer->calls)
		return mt_error_new(MT_ERROR_INTERNAL,
				    "call events for a recording that was not made for them");
	if (!count)
		return NULL;
	mt_writer_note_time(writer, calls[0].time_ns);
	mt_writer_note_time(writer, calls[count - 1].time_ns);
	return writer->is_named ? put_samples(writer, pid, tid, calls, count)
				: put_batches(writer, pid, tid, calls, count);
}
