/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/pt_feed.h"
#include "base/search.h"

/* Whose user space runs on a CPU at a time.  Without MTC and CYC times are those of the last TSC,
 * and what they have run while the CPU was idle is of the thread that comes next, at its time. */
static struct mt_cpu_switch runs_on_cpu(const struct mt_cpu_timeline *timeline, uint64_t time_ns)
{
	const size_t count = timeline ? timeline->switches.count : 0;
	const size_t behind =
	    mt_partition_point(i, 0, count, timeline->switches.items[i].time_ns <= time_ns);

	for (size_t i = behind; behind && i <= count; i++)
		if (timeline->switches.items[i - 1].tid > 0)
			return timeline->switches.items[i - 1];
	return (struct mt_cpu_switch){.time_ns = time_ns};
}

static int next_piece(void *context, struct mt_pt_piece *piece)
{
	struct mt_pt_feed *feed = context;

	return mt_pt_stream_next_piece(feed->stream, piece);
}

/* Places are an epoch's. */
static struct mt_pt_image *image_at(void *context, uint64_t time_ns, void **places)
{
	const struct mt_pt_feed *feed = context;
	int tid = feed->stream->tid;

	if (tid < 0) {
		struct mt_cpu_switch runs = runs_on_cpu(feed->timeline, time_ns);

		tid = runs.tid;
		time_ns = runs.time_ns > time_ns ? runs.time_ns : time_ns;
	}
	struct mt_process_thread *thread =
	    tid > 0 ? mt_processes_thread(feed->run->processes, tid) : NULL;
	struct mt_epoch *epoch = thread ? mt_decode_epoch_at(feed->run, thread, time_ns) : NULL;

	*places = epoch;
	return epoch ? mt_processes_image(feed->run->processes, epoch) : NULL;
}

static void begins(void *context, void *places)
{
	(void)context;
	mt_epoch_log_missing(places);
}

/* A function, or as much of it as is of the same inlined ones: call stacks do not change within.
 * Not the kernel's, where CPUs change hands. */
static bool place_at(void *context, void *places, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct mt_epoch *epoch = places;
	const struct mt_symbolizer *symbolizer;
	const struct mt_function *function;
	struct mt_inline_span span;

	(void)context;
	if (!epoch || mt_address_is_kernel(address))
		return false;
	symbolizer = &epoch->symbolizer.symbolizer;
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

/* No thread ran before it was switched to. */
static void correct_times(struct mt_pt_feed *feed, struct mt_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct mt_event *event = &events[i];

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

struct mt_error *mt_pt_feed_fill(struct mt_pt_feed *feed)
{
	struct mt_decode_run *run = feed->run;

	mt_try(mt_progress_step(run->options->progress, "decoding", run->stats.bytes + feed->bytes,
				run->bytes_total));
	feed->next = 0;
	mt_try(mt_pt_decoder_next(feed->decoder, &feed->events, &feed->count));
	feed->bytes = mt_pt_decoder_stats(feed->decoder).bytes;
	if (!feed->count) {
		struct mt_error *error = feed->stream->error;

		feed->stream->error = NULL;
		return error;
	}
	if (feed->timeline && run->timed)
		correct_times(feed, feed->events, feed->count);
	return NULL;
}

/* ---- making ---- */

struct mt_error *mt_pt_feed_create(struct mt_decode_run *run, struct mt_pt_stream *stream,
				   unsigned int sharers, struct mt_pt_feed **out)
{
	const struct mt_recording_pt *pt = mt_recording_pt(run->recording);
	struct mt_pt_feed *feed = calloc(1, sizeof(*feed));

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
	    .source = {next_piece, image_at, run->options->by_libipt ? NULL : place_at, begins,
		       feed},
	    .by_libipt = run->options->by_libipt,
	    .pool = run->ahead,
	    .sharers = sharers,
	};
	struct mt_error *error = mt_pt_decoder_create(&config, &feed->decoder);
	if (error) {
		free(feed);
		return error;
	}
	*out = feed;
	return NULL;
}

void mt_pt_feed_destroy(struct mt_pt_feed *feed)
{
	struct mt_decode_stats *stats = &feed->run->stats;
	const struct mt_pt_decoder_stats fed = mt_pt_decoder_stats(feed->decoder);

	stats->bytes += fed.bytes;
	stats->blocks += fed.blocks;
	stats->instructions += fed.instructions;
	stats->events += fed.events;
	stats->gaps += fed.gaps;
	mt_pt_decoder_destroy(feed->decoder);
	free(feed);
}
