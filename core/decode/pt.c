/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A feed is one AUX area's decoder.  When AUX areas are threads', a feed goes to one track, one
 * feed after the other.  When they are CPUs', a thread's events are spread over several: the feeds
 * are then merged by time, and the switch records say whose an event is. */
#include "decode/private.h"

struct feed {
	struct mt_decode_run *run;
	struct mt_pt_stream *stream;
	struct mt_pt_decoder *decoder;
	const struct mt_cpu_timeline *timeline; /* of a CPU's area; may be NULL */
	size_t next_switch;
	struct mt_epoch *epoch; /* whose code is decoded; NULL: none is known */
	int tid;                /* whose events come now; 0: not known */
	uint64_t not_before_ns; /* the next events' times, at the earliest */
	struct mt_event events[MT_DECODE_BATCH];
	size_t count;
	size_t next;
};

/* Whose user space runs on a CPU at a time.  Without MTC and CYC times are those of the last TSC,
 * and what they have run while the CPU was idle is of the thread that comes next, at its time. */
static struct mt_cpu_switch runs_on_cpu(const struct mt_cpu_timeline *timeline, uint64_t time_ns)
{
	size_t low = 0, high = timeline ? timeline->switches.count : 0;
	size_t count = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->switches.items[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; low && i <= count; i++)
		if (timeline->switches.items[i - 1].tid > 0)
			return timeline->switches.items[i - 1];
	return (struct mt_cpu_switch){.time_ns = time_ns};
}

static int next_piece(void *context, struct mt_pt_piece *piece)
{
	struct feed *feed = context;

	return mt_pt_stream_next_piece(feed->stream, piece);
}

static struct mt_pt_image *image_at(void *context, uint64_t time_ns)
{
	struct feed *feed = context;
	int tid = feed->stream->tid;

	if (tid < 0) {
		struct mt_cpu_switch runs = runs_on_cpu(feed->timeline, time_ns);

		tid = runs.tid;
		time_ns = runs.time_ns > time_ns ? runs.time_ns : time_ns;
	}
	struct mt_process_thread *thread =
	    tid > 0 ? mt_processes_thread(feed->run->processes, tid) : NULL;

	feed->epoch = thread ? mt_decode_epoch_at(feed->run, thread, time_ns) : NULL;
	return feed->epoch ? mt_processes_image(feed->run->processes, feed->epoch) : NULL;
}

/* A function, or as much of it as is of the same inlined ones: call stacks do not change within.
 * Not the kernel's, where CPUs change hands. */
static bool place_at(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct feed *feed = context;
	const struct mt_symbolizer *symbolizer;
	const struct mt_function *function;
	struct mt_inline_span span;

	if (!feed->epoch || mt_address_is_kernel(address))
		return false;
	symbolizer = &feed->epoch->symbolizer.symbolizer;
	function = symbolizer->function_at(symbolizer->context, address);
	if (address < function->start || address >= function->end)
		return false;
	*start = function->start;
	*end = function->end;
	if (!symbolizer->inlines_at)
		return true;
	span = mt_symbolizer_span_at(symbolizer, address);
	*start = span.start > *start ? span.start : *start;
	*end = span.end < *end ? span.end : *end;
	return true;
}

static struct mt_error *feed_create(struct mt_decode_run *run, struct mt_pt_stream *stream,
				    struct feed **out)
{
	const struct mt_recording_pt *pt = mt_recording_pt(run->recording);
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return mt_error_no_memory();
	feed->run = run;
	feed->stream = stream;
	feed->tid = stream->tid >= 0 ? stream->tid : 0;
	feed->timeline = stream->tid >= 0 ? NULL : mt_processes_cpu(run->processes, stream->cpu);

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
	    .source = {next_piece, image_at, run->options->by_libipt ? NULL : place_at, feed},
	    .by_libipt = run->options->by_libipt,
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

/* No thread ran before it was switched to. */
static void correct_times(struct feed *feed)
{
	for (size_t i = 0; i < feed->count; i++) {
		struct mt_event *event = &feed->events[i];

		if (event->kind == MT_EVENT_TRACE_START && !mt_address_is_kernel(event->to)) {
			uint64_t from_ns = runs_on_cpu(feed->timeline, event->time_ns).time_ns;

			feed->not_before_ns =
			    from_ns > feed->not_before_ns ? from_ns : feed->not_before_ns;
		}
		if (event->time_ns >= feed->not_before_ns)
			continue;
		event->time_ns = feed->not_before_ns;
		event->flags |= MT_EVENT_TIME_IS_ESTIMATE;
	}
}

/* The next batch; count 0: the end. */
static struct mt_error *feed_fill(struct feed *feed)
{
	struct mt_decode_run *run = feed->run;
	uint64_t bytes = run->stats.bytes + mt_pt_decoder_stats(feed->decoder).bytes;

	mt_try(mt_progress_step(run->options->progress, "decoding", bytes, run->bytes_total));
	feed->next = 0;
	mt_try(mt_pt_decoder_next(feed->decoder, feed->events, MT_DECODE_BATCH, &feed->count));
	if (!feed->count && feed->stream->error) {
		struct mt_error *error = feed->stream->error;

		feed->stream->error = NULL;
		return error;
	}
	if (feed->timeline && run->timed)
		correct_times(feed);
	return NULL;
}

static struct mt_error *decode_threads(struct mt_decode_run *run)
{
	mt_array_each (stream, &run->streams) {
		struct feed *feed = NULL;

		if (!mt_decode_wants(run, stream->tid))
			continue;
		struct mt_track *track = NULL;

		mt_try(mt_track_find(run, stream->tid, &track));
		track->stream = stream;
		mt_try(feed_create(run, stream, &feed));
		struct mt_error *error = NULL;
		do {
			error = feed_fill(feed);
			if (!error)
				error = mt_track_deliver(run, track, feed->events, feed->count);
		} while (!error && feed->count);
		if (!error)
			error = mt_track_finish(run, track);
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

/* Deliver the feed's events up to a time, a run of one thread's at once. */
static struct mt_error *feed_drain(struct feed *feed, uint64_t until_ns)
{
	const struct mt_cpu_timeline *timeline = feed->timeline;
	struct mt_decode_run *run = feed->run;

	while (feed->next < feed->count && feed->events[feed->next].time_ns <= until_ns) {
		struct mt_event *first = &feed->events[feed->next];
		struct mt_track *track = NULL;
		size_t count = 1;

		while (timeline && may_switch(first) &&
		       feed->next_switch < timeline->switches.count &&
		       timeline->switches.items[feed->next_switch].time_ns <= first->time_ns)
			feed->tid = timeline->switches.items[feed->next_switch++].tid;
		while (feed->next + count < feed->count && first[count].time_ns <= until_ns &&
		       !may_switch(&first[count]))
			count++;
		feed->next += count;
		if (feed->tid <= 0 || !mt_decode_wants(run, feed->tid))
			continue;
		mt_try(mt_track_find(run, feed->tid, &track));
		mt_try(mt_track_deliver(run, track, first, count));
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

static struct mt_error *merge(struct mt_decode_run *run, struct feed **feeds, size_t count)
{
	uint64_t others_ns = 0;
	struct feed *feed = NULL;
	struct mt_track *track, *next;

	for (size_t i = 0; i < count; i++)
		mt_try(feed_fill(feeds[i]));
	while ((feed = earliest(feeds, count, &others_ns))) {
		mt_try(feed_drain(feed, others_ns));
		if (feed->next == feed->count)
			mt_try(feed_fill(feed));
	}
	HASH_ITER (hh, run->tracks, track, next)
		mt_try(mt_track_finish(run, track));
	return NULL;
}

static struct mt_error *decode_cpus(struct mt_decode_run *run)
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

struct mt_error *mt_decode_pt(struct mt_decode_run *run)
{
	bool of_threads = true;

	for (size_t i = 0; i < mt_recording_auxtrace_count(run->recording); i++)
		run->bytes_total += mt_recording_auxtrace(run->recording, i)->size;
	mt_try(mt_pt_streams_read(run->recording, &run->streams));
	mt_array_each (stream, &run->streams)
		of_threads = of_threads && stream->tid >= 0 && stream->cpu < 0;
	return of_threads ? decode_threads(run) : decode_cpus(run);
}
