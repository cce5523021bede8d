/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A feed is one AUX area's decoder; a track is one thread's call stack.  When AUX areas are
 * threads', a feed goes to one track, one feed after the other.  When they are CPUs', a thread's
 * events are spread over several: the feeds are then merged by time, and the switch records say
 * whose an event is. */
#include "target/decode.h"

#include "perf/recording_writer.h"
#include "target/machine.h"
#include "target/pt_stream.h"
#include "trace/callstack.h"

#include <string.h>

#define BATCH_EVENTS 4096

struct track {
	int tid;
	struct mt_machine_thread *thread;
	struct mt_callstack *stack;
	const struct mt_pt_stream *stream; /* the thread's own; NULL: of a CPU */
	struct mt_epoch *epoch;            /* whose names the stack uses */
	size_t next_note;
	uint64_t time_ns; /* of the last event */
	UT_hash_handle hh;
};

struct run {
	struct mt_recording *recording;
	const struct mt_decode_options *options;
	struct mt_slice_sink sink;
	struct mt_decode_stats stats;
	struct mt_machine *machine;
	mt_pt_streams streams;
	struct track *tracks;
	bool timed; /* times of events and of the sideband can be compared */
	uint64_t bytes_total;
};

struct feed {
	struct run *run;
	struct mt_pt_stream *stream;
	struct mt_pt_decoder *decoder;
	const struct mt_cpu_timeline *timeline; /* of a CPU's area; may be NULL */
	size_t next_switch;
	int tid; /* whose events come now; 0: nobody's */
	struct mt_event events[BATCH_EVENTS];
	size_t count;
	size_t next;
};

static struct mt_epoch *epoch_at(const struct run *run, const struct mt_machine_thread *thread,
				 uint64_t time_ns)
{
	return mt_process_epoch_at(thread->process, run->timed ? time_ns : UINT64_MAX);
}

static struct mt_error *track_create(struct run *run, int tid, struct track **out)
{
	struct mt_machine_thread *thread = mt_machine_thread(run->machine, tid);
	struct track *track = thread ? calloc(1, sizeof(*track)) : NULL;

	if (!track)
		return mt_error_no_memory();

	struct mt_callstack_options options = {
	    .thread = {.pid = thread->pid,
		       .tid = tid,
		       .name = thread->name,
		       .process = mt_machine_process_name(run->machine, thread)},
	    .sink = run->sink,
	    .inlines = !run->options->no_inlines,
	};
	struct mt_error *error = mt_callstack_create(&options, &track->stack);
	if (error) {
		free(track);
		return error;
	}
	track->tid = tid;
	track->thread = thread;
	HASH_ADD_INT(run->tracks, tid, track);
	if (!track->hh.tbl) {
		mt_callstack_destroy(track->stack);
		free(track);
		return mt_error_no_memory();
	}
	run->stats.threads++;
	*out = track;
	return NULL;
}

static struct mt_error *track_find(struct run *run, int tid, struct track **out)
{
	HASH_FIND_INT(run->tracks, &tid, *out);
	return *out ? NULL : track_create(run, tid, out);
}

static void track_destroy(struct run *run, struct track *track)
{
	HASH_DEL(run->tracks, track);
	mt_callstack_destroy(track->stack);
	free(track);
}

/* Which of our notes a sample is; MT_NOTE_COUNT: none. */
static enum mt_recording_note note_of(const struct run *run, const struct mt_sideband *record)
{
	const char *name = mt_recording_event_name(run->recording, record->sample.event);
	int note = 0;

	while (note < MT_NOTE_COUNT && (!name || strcmp(name, mt_recording_note_names[note]) != 0))
		note++;
	return note;
}

static bool event_of_note(const struct run *run, const struct mt_sideband *record,
			  struct mt_event *event)
{
	*event = (struct mt_event){
	    .time_ns = record->time_ns,
	    .kind = MT_EVENT_MARK,
	    .from = record->sample.ip,
	    .to = record->sample.weight,
	};
	switch (note_of(run, record)) {
	case MT_NOTE_SIGNAL:
		event->kind = MT_EVENT_SIGNAL;
		event->detail = (uint32_t)record->sample.weight;
		event->to = record->sample.address;
		return true;
	case MT_NOTE_TRIGGER:
		event->detail = MT_MARK_TRIGGER;
		return true;
	case MT_NOTE_EXIT:
		event->detail = MT_MARK_EXIT;
		return true;
	default:
		return false;
	}
}

static struct mt_error *push(struct track *track, const struct mt_event *events, size_t count)
{
	if (count)
		track->time_ns = events[count - 1].time_ns;
	return mt_callstack_push(track->stack, events, count);
}

static struct mt_error *push_note(struct run *run, struct track *track,
				  const struct mt_sideband *note)
{
	struct mt_event event;

	if (!event_of_note(run, note, &event))
		return NULL;
	if (event.time_ns < track->time_ns || !run->timed)
		event.time_ns = track->time_ns;
	return push(track, &event, 1);
}

static bool is_snapshot_mark(const struct mt_event *event)
{
	return event->kind == MT_EVENT_MARK && event->detail == MT_MARK_SNAPSHOT;
}

/* Signals are delivered on the way out of the kernel, so they belong right before tracing begins
 * again; a snapshot belongs to its mark, and the end of a thread behind everything else. */
static bool note_is_due(const struct run *run, const struct mt_sideband *note,
			const struct mt_event *event)
{
	enum mt_recording_note kind = note_of(run, note);

	if (!run->timed || note->time_ns > event->time_ns || kind == MT_NOTE_EXIT ||
	    kind == MT_NOTE_SNAPSHOT)
		return false;
	return kind != MT_NOTE_SIGNAL || event->kind == MT_EVENT_TRACE_START;
}

/* The snapshot's note, from the next one on; NULL: it is not there. */
static const struct mt_sideband *note_of_snapshot(const struct run *run, const struct track *track,
						  uint64_t number)
{
	for (size_t i = track->next_note; i < track->thread->notes.count; i++) {
		const struct mt_sideband *note = track->thread->notes.items[i];

		if (note_of(run, note) == MT_NOTE_SNAPSHOT && note->sample.weight == number)
			return note;
	}
	return NULL;
}

/* A crash: behind the last snapshot comes nothing but the end.  It belongs to the same segment, and
 * at its time, since the program stood still from then on. */
static struct mt_error *push_end_of_crash(struct run *run, struct track *track,
					  const struct mt_event *mark)
{
	size_t left = track->thread->notes.count - track->next_note;
	const struct mt_sideband *note = left ? track->thread->notes.items[track->next_note] : NULL;
	struct mt_event event;

	if (left != 1 || note_of(run, note) != MT_NOTE_EXIT)
		return NULL;
	track->next_note++;
	event_of_note(run, note, &event);
	event.time_ns = mark->time_ns;
	return push(track, &event, 1);
}

static struct mt_error *push_what_follows(struct run *run, struct track *track,
					  struct mt_event *mark)
{
	const struct mt_pt_stream_piece *piece =
	    track->stream ? mt_pt_stream_piece_of(track->stream, mark->to) : NULL;

	if (!piece)
		return NULL;
	if (piece->runs_on)
		mark->flags |= MT_EVENT_RUNS_ON;
	return piece == mt_array_last(&track->stream->pieces) ? push_end_of_crash(run, track, mark)
							      : NULL;
}

/* All notes up to that of the snapshot, whose time is the mark's. */
static struct mt_error *push_notes_of_snapshot(struct run *run, struct track *track,
					       struct mt_event *mark)
{
	const struct mt_sideband *last = note_of_snapshot(run, track, mark->to);
	const struct mt_sideband *note = NULL;

	while (last && note != last) {
		note = track->thread->notes.items[track->next_note++];
		mt_try(push_note(run, track, note));
	}
	if (last && run->timed && last->time_ns > mark->time_ns)
		mark->time_ns = last->time_ns;
	return push_what_follows(run, track, mark);
}

static struct mt_error *push_notes_before(struct run *run, struct track *track,
					  struct mt_event *event)
{
	if (is_snapshot_mark(event))
		return push_notes_of_snapshot(run, track, event);
	while (track->next_note < track->thread->notes.count &&
	       note_is_due(run, track->thread->notes.items[track->next_note], event))
		mt_try(push_note(run, track, track->thread->notes.items[track->next_note++]));
	return NULL;
}

/* Names change where control comes back from the kernel: that is where mappings are made. */
static struct mt_error *enter_epoch(struct run *run, struct track *track,
				    const struct mt_event *event)
{
	struct mt_epoch *epoch = epoch_at(run, track->thread, event->time_ns);

	if (epoch == track->epoch || (track->epoch && event->kind != MT_EVENT_TRACE_START))
		return NULL;
	if (track->epoch && epoch->exec) {
		struct mt_event exec = {
		    .time_ns = event->time_ns, .kind = MT_EVENT_MARK, .detail = MT_MARK_EXEC};

		mt_try(push(track, &exec, 1));
	}
	track->epoch = epoch;
	mt_callstack_set_symbolizer(track->stack, &epoch->symbolizer.symbolizer);
	return NULL;
}

/* True if nothing of the sideband can fall between events until that time. */
static bool is_plain(const struct run *run, const struct track *track, uint64_t until_ns)
{
	const struct mt_machine_thread *thread = track->thread;

	if (!track->epoch || track->epoch != epoch_at(run, thread, until_ns))
		return false;
	return track->next_note >= thread->notes.count ||
	       (run->timed && thread->notes.items[track->next_note]->time_ns > until_ns);
}

static bool has_snapshot_mark(const struct mt_event *events, size_t count)
{
	while (count && !is_snapshot_mark(&events[count - 1]))
		count--;
	return count;
}

static struct mt_error *deliver(struct run *run, struct track *track, struct mt_event *events,
				size_t count)
{
	if (!count)
		return NULL;
	if (is_plain(run, track, events[count - 1].time_ns) && !has_snapshot_mark(events, count))
		return push(track, events, count);
	for (size_t i = 0; i < count; i++) {
		mt_try(enter_epoch(run, track, &events[i]));
		mt_try(push_notes_before(run, track, &events[i]));
		mt_try(push(track, &events[i], 1));
	}
	return NULL;
}

/* What came after the last event: the signal that killed it, the end. */
static struct mt_error *track_finish(struct run *run, struct track *track)
{
	const struct mt_machine_thread *thread = track->thread;

	for (; track->next_note < thread->notes.count; track->next_note++)
		mt_try(push_note(run, track, thread->notes.items[track->next_note]));
	return mt_callstack_finish(track->stack);
}

static int tid_on_cpu(const struct mt_cpu_timeline *timeline, uint64_t time_ns)
{
	size_t low = 0, high = timeline ? timeline->switches.count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->switches.items[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? timeline->switches.items[low - 1].tid : 0;
}

static int next_piece(void *context, struct mt_pt_piece *piece)
{
	struct feed *feed = context;

	return mt_pt_stream_next_piece(feed->stream, piece);
}

static struct mt_pt_image *image_at(void *context, uint64_t time_ns)
{
	struct feed *feed = context;
	int tid = feed->stream->tid >= 0 ? feed->stream->tid : tid_on_cpu(feed->timeline, time_ns);
	struct mt_machine_thread *thread =
	    tid > 0 ? mt_machine_thread(feed->run->machine, tid) : NULL;

	if (!thread)
		return NULL;
	return mt_machine_image(feed->run->machine, epoch_at(feed->run, thread, time_ns));
}

static struct mt_error *feed_create(struct run *run, struct mt_pt_stream *stream, struct feed **out)
{
	const struct mt_recording_pt *pt = mt_recording_pt(run->recording);
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return mt_error_no_memory();
	feed->run = run;
	feed->stream = stream;
	feed->tid = stream->tid >= 0 ? stream->tid : 0;
	feed->timeline = stream->tid >= 0 ? NULL : mt_machine_cpu(run->machine, stream->cpu);

	struct mt_pt_decoder_config config = {
	    .cpu = {pt->cpu_is_intel, pt->cpu_family, pt->cpu_model, pt->cpu_stepping},
	    .timing = {.tsc_ctc_numerator = pt->tsc_ctc_numerator,
		       .tsc_ctc_denominator = pt->tsc_ctc_denominator,
		       .mtc_period = pt->mtc_period,
		       .max_nonturbo_ratio = pt->max_nonturbo_ratio,
		       .tsc = pt->tsc,
		       .mtc = pt->mtc,
		       .cyc = pt->cyc},
	    .conversion = mt_recording_info(run->recording)->conversion,
	    .source = {next_piece, image_at, feed},
	};
	struct mt_error *error = mt_pt_decoder_create(&config, &feed->decoder);
	if (error) {
		free(feed);
		return error;
	}
	*out = feed;
	return NULL;
}

/* A feed's figures go into the run's. */
static void feed_destroy(struct feed *feed)
{
	struct mt_decode_stats *stats = &feed->run->stats;
	struct mt_pt_decoder_stats fed = mt_pt_decoder_stats(feed->decoder);

	stats->bytes += fed.bytes;
	stats->blocks += fed.blocks;
	stats->instructions += fed.instructions;
	stats->events += fed.events;
	stats->gaps += fed.gaps;
	mt_pt_decoder_destroy(feed->decoder);
	free(feed);
}

/* The next batch; count 0: the end. */
static struct mt_error *feed_fill(struct feed *feed)
{
	struct run *run = feed->run;
	uint64_t bytes = run->stats.bytes + mt_pt_decoder_stats(feed->decoder).bytes;

	mt_try(mt_progress_step(run->options->progress, "decoding", bytes, run->bytes_total));
	feed->next = 0;
	mt_try(mt_pt_decoder_next(feed->decoder, feed->events, BATCH_EVENTS, &feed->count));
	if (!feed->count && feed->stream->error) {
		struct mt_error *error = feed->stream->error;

		feed->stream->error = NULL;
		return error;
	}
	return NULL;
}

static struct mt_error *decode_thread(struct run *run, struct feed *feed)
{
	struct track *track = NULL;

	mt_try(track_find(run, feed->tid, &track));
	track->stream = feed->stream;
	do {
		mt_try(feed_fill(feed));
		mt_try(deliver(run, track, feed->events, feed->count));
	} while (feed->count);
	mt_try(track_finish(run, track));
	track_destroy(run, track);
	return NULL;
}

static bool wants(const struct run *run, int tid)
{
	return !run->options->tid || run->options->tid == tid;
}

static struct mt_error *decode_threads(struct run *run)
{
	mt_array_each (stream, &run->streams) {
		struct feed *feed = NULL;

		if (!wants(run, stream->tid))
			continue;
		mt_try(feed_create(run, stream, &feed));
		struct mt_error *error = decode_thread(run, feed);
		feed_destroy(feed);
		mt_try(error);
	}
	return NULL;
}

/* Where a CPU may have changed hands: in the kernel, traced or not. */
static bool may_switch(const struct mt_event *event)
{
	return event->kind == MT_EVENT_TRACE_START || mt_address_is_kernel(event->from);
}

static void feed_switch(struct feed *feed, const struct mt_event *event)
{
	const struct mt_cpu_timeline *timeline = feed->timeline;

	while (timeline && may_switch(event) && feed->next_switch < timeline->switches.count &&
	       timeline->switches.items[feed->next_switch].time_ns <= event->time_ns)
		feed->tid = timeline->switches.items[feed->next_switch++].tid;
}

/* Deliver the feed's events up to a time, a run of one thread's at once. */
static struct mt_error *feed_drain(struct feed *feed, uint64_t until_ns)
{
	struct run *run = feed->run;

	while (feed->next < feed->count && feed->events[feed->next].time_ns <= until_ns) {
		struct mt_event *first = &feed->events[feed->next];
		struct track *track = NULL;
		size_t count = 1;

		feed_switch(feed, first);
		while (feed->next + count < feed->count && first[count].time_ns <= until_ns &&
		       !may_switch(&first[count]))
			count++;
		feed->next += count;
		if (feed->tid <= 0 || !wants(run, feed->tid))
			continue;
		mt_try(track_find(run, feed->tid, &track));
		mt_try(deliver(run, track, first, count));
	}
	return NULL;
}

static uint64_t feed_time(const struct feed *feed)
{
	return feed->next < feed->count ? feed->events[feed->next].time_ns : UINT64_MAX;
}

/* The feed whose next event is the earliest, and the time of the others'.  NULL: all have ended. */
static struct feed *earliest(struct feed **feeds, size_t count, uint64_t *others_ns)
{
	struct feed *first = NULL;

	*others_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		if (feed_time(feeds[i]) == UINT64_MAX)
			continue;
		if (!first || feed_time(feeds[i]) < feed_time(first)) {
			if (first && feed_time(first) < *others_ns)
				*others_ns = feed_time(first);
			first = feeds[i];
		} else if (feed_time(feeds[i]) < *others_ns) {
			*others_ns = feed_time(feeds[i]);
		}
	}
	return first;
}

static struct mt_error *merge(struct run *run, struct feed **feeds, size_t count)
{
	uint64_t others_ns = 0;
	struct feed *feed = NULL;
	struct track *track, *next;

	for (size_t i = 0; i < count; i++)
		mt_try(feed_fill(feeds[i]));
	while ((feed = earliest(feeds, count, &others_ns))) {
		mt_try(feed_drain(feed, others_ns));
		if (feed->next == feed->count)
			mt_try(feed_fill(feed));
	}
	HASH_ITER (hh, run->tracks, track, next) {
		mt_try(track_finish(run, track));
		track_destroy(run, track);
	}
	return NULL;
}

static struct mt_error *decode_cpus(struct run *run)
{
	struct feed **feeds = calloc(run->streams.count, sizeof(struct feed *));
	struct mt_error *error = feeds ? NULL : mt_error_no_memory();
	size_t count = 0;

	while (!error && count < run->streams.count) {
		error = feed_create(run, &run->streams.items[count], &feeds[count]);
		count += !error;
	}
	if (!error)
		error = merge(run, feeds, count);
	for (size_t i = 0; i < count; i++)
		feed_destroy(feeds[i]);
	free(feeds);
	return error;
}

static struct mt_error *decode(struct run *run)
{
	bool of_threads = true;

	mt_try(mt_machine_create(run->recording, run->options, &run->machine));
	mt_try(mt_pt_streams_read(run->recording, &run->streams));
	mt_array_each (stream, &run->streams)
		of_threads = of_threads && stream->tid >= 0 && stream->cpu < 0;
	return of_threads ? decode_threads(run) : decode_cpus(run);
}

static struct mt_error *check_kind(const struct mt_recording *recording)
{
	const char *path = mt_recording_info(recording)->path;

	if (!mt_recording_pt(recording)->present)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s holds no Intel PT trace: make one with \"mtdb run --record FILE\" "
		    "or \"perf record -e intel_pt//u\"",
		    path);
	if (!mt_recording_auxtrace_count(recording))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s holds no trace data: nothing ran while it was recorded, or it was cut off",
		    path);
	return NULL;
}

struct mt_error *mt_decode(struct mt_recording *recording, const struct mt_decode_options *options,
			   struct mt_slice_sink sink, struct mt_decode_stats *stats)
{
	static const struct mt_decode_options defaults;
	const struct mt_recording_info *info = mt_recording_info(recording);
	struct run run = {
	    .recording = recording,
	    .options = options ? options : &defaults,
	    .sink = sink,
	    .timed = info->has_time && mt_time_conversion_is_known(&info->conversion),
	};
	struct track *track, *next;

	mt_try(check_kind(recording));
	for (size_t i = 0; i < mt_recording_auxtrace_count(recording); i++)
		run.bytes_total += mt_recording_auxtrace(recording, i)->size;

	struct mt_error *error = decode(&run);
	if (!error && sink.ops->finish)
		error = sink.ops->finish(sink.self);

	HASH_ITER (hh, run.tracks, track, next)
		track_destroy(&run, track);
	mt_pt_streams_deinit(&run.streams);
	if (run.machine)
		run.stats.missing_files = mt_machine_missing_files(run.machine);
	mt_machine_destroy(run.machine);
	if (stats)
		*stats = run.stats;
	return error;
}
