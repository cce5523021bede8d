/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracks/private.h"

#include <string.h>

struct reading {
	struct mt_tracks *tracks;
	struct mt_tracks_thread *thread;
	struct mt_recording_writer *writer;
	uint64_t state;  /* of the thread that is about to go off its CPU */
	bool older_lost; /* and was not reported yet */
	bool was_read;   /* before: what was lost since then is missing in the recording */
};

static struct mt_sideband note_of(const struct reading *reading,
				  const struct mt_ring_sample *sample, enum mt_recording_note note)
{
	const struct mt_tracks *tracks = reading->tracks;

	return (struct mt_sideband){
	    .time_ns = mt_tsc_to_ns(&tracks->options.conversion,
				    mt_perf_clock_to_tsc(&tracks->clock, sample->time)),
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = sample->pid,
	    .tid = sample->tid,
	    .cpu = sample->cpu,
	    .sample = {.event = note, .ip = sample->ip, .address = sample->address},
	};
}

static struct mt_error *put(struct reading *reading, const struct mt_sideband *note)
{
	struct mt_sideband missed = *note;

	missed.sample = (__typeof__(missed.sample)){.event = MT_NOTE_MISSED};
	if (reading->older_lost && reading->was_read)
		mt_try(mt_recording_writer_put(reading->writer, &missed));
	reading->older_lost = false;
	return mt_recording_writer_put(reading->writer, note);
}

static struct mt_error *put_switch(struct reading *reading, const struct mt_ring_sample *sample,
				   uint16_t misc)
{
	bool out = misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct mt_sideband note = note_of(reading, sample, out ? MT_NOTE_OFF_CPU : MT_NOTE_ON_CPU);

	if (out)
		note.sample.weight = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
					 ? MT_OFF_CPU_PREEMPTED
					 : reading->state;
	reading->state = MT_OFF_CPU_UNKNOWN;
	return put(reading, &note);
}

static struct mt_error *put_syscall(struct reading *reading, const struct mt_ring_sample *sample)
{
	const struct mt_tracks *tracks = reading->tracks;
	struct mt_sideband note = note_of(reading, sample, MT_NOTE_SYSCALL);

	note.sample.weight = mt_tracepoint_number(&tracks->number, sample->raw, sample->raw_size);
	if (tracks->arguments.offset + tracks->arguments.size <= sample->raw_size) {
		note.sample.raw = sample->raw + tracks->arguments.offset;
		note.sample.raw_size = tracks->arguments.size;
	}
	return put(reading, &note);
}

static struct mt_error *put_sysret(struct reading *reading, const struct mt_ring_sample *sample)
{
	const struct mt_tracks *tracks = reading->tracks;
	struct mt_sideband note = note_of(reading, sample, MT_NOTE_SYSRET);

	note.sample.weight =
	    mt_tracepoint_number(&tracks->exit_number, sample->raw, sample->raw_size);
	note.sample.address = mt_tracepoint_number(&tracks->result, sample->raw, sample->raw_size);
	return put(reading, &note);
}

/* The clock's own value comes first, then the counters' in the order in which they were opened. */
static struct mt_error *put_counters(struct reading *reading, const struct mt_ring_sample *sample)
{
	for (size_t i = 0; i < reading->tracks->counters.count && i + 1 < sample->value_count;
	     i++) {
		const char *name = reading->tracks->counters.items[i].what;
		struct mt_sideband note = note_of(reading, sample, MT_NOTE_COUNTER);

		memcpy(&note.sample.weight, sample->values + (i + 1) * sizeof(uint64_t),
		       sizeof(uint64_t));
		note.sample.raw = (const uint8_t *)name;
		note.sample.raw_size = (uint32_t)strlen(name) + 1;
		mt_try(put(reading, &note));
	}
	return NULL;
}

static struct mt_error *put_fault(struct reading *reading, const struct mt_ring_sample *sample,
				  bool major)
{
	struct mt_sideband note = note_of(reading, sample, MT_NOTE_FAULT);

	note.sample.weight = major;
	return put(reading, &note);
}

static struct mt_error *take_sample(struct reading *reading, const struct perf_event_header *record)
{
	struct mt_ring_sample sample;
	uint32_t event;
	uint64_t id;

	if (!mt_ring_sample_event(record, &id) ||
	    !mt_event_set_tag(&reading->thread->set, id, &event) || event >= MT_TRACK_EVENTS ||
	    !mt_ring_sample_parse(record, reading->tracks->specs[event].sample_type, 0, &sample))
		return NULL;
	switch (event) {
	case MT_TRACK_SCHED:
		reading->state =
		    mt_tracepoint_number(&reading->tracks->state, sample.raw, sample.raw_size);
		return NULL;
	case MT_TRACK_MINOR_FAULT:
	case MT_TRACK_MAJOR_FAULT:
		return put_fault(reading, &sample, event == MT_TRACK_MAJOR_FAULT);
	case MT_TRACK_SYSCALL:
		return put_syscall(reading, &sample);
	case MT_TRACK_SYSRET:
		return put_sysret(reading, &sample);
	case MT_TRACK_COUNTERS:
		return put_counters(reading, &sample);
	default:
		return NULL;
	}
}

static struct mt_error *take(void *context, const struct perf_event_header *record)
{
	struct reading *reading = context;
	struct mt_ring_sample sample;

	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(reading, record);
	case PERF_RECORD_SWITCH:
		return mt_ring_sample_id(record, &sample)
			   ? put_switch(reading, &sample, record->misc)
			   : NULL;
	default:
		return NULL;
	}
}

struct mt_error *mt_tracks_read(struct mt_tracks *tracks, struct mt_tracks_thread *thread,
				struct mt_recording_writer *writer)
{
	struct reading reading = {
	    .tracks = tracks,
	    .thread = thread,
	    .writer = writer,
	    .state = MT_OFF_CPU_UNKNOWN,
	    .was_read = thread->set.ring.read_to != 0,
	};
	uint64_t read_to = thread->set.ring.read_to;
	struct mt_error *error =
	    mt_data_ring_read(&thread->set.ring, take, &reading, &reading.older_lost);

	if (tracks->options.keep)
		thread->set.ring.read_to = read_to;
	return error;
}
