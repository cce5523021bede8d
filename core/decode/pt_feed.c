/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/pt_feed.h"
#include "base/search.h"

#include <emmintrin.h>
#include <stdalign.h>

#define CACHE_LINE 64

struct mt_pt_batch {
	alignas(CACHE_LINE) struct mt_event events[MT_DECODE_BATCH];
	struct mt_pt_feed *feed;
	struct mt_task *task; /* NULL: it is the owner's */
	size_t count;
	uint64_t bytes; /* of trace that the decoder has read by its end */
};

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

static struct mt_pt_image *image_at(void *context, uint64_t time_ns)
{
	struct mt_pt_feed *feed = context;
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
	const struct mt_pt_feed *feed = context;
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

/* ---- batches ---- */

/* Past the caches: the owner's still has the lines that it read when the batch was another one.  To
 * take them from it one by one costs more than decoding, where the two processors share no cache.
 */
static void hand_over(const struct mt_event *events, struct mt_pt_batch *batch)
{
	const size_t pieces = batch->count * sizeof(*events) / sizeof(__m128i);
	const __m128i *from = (const __m128i *)events;
	__m128i *to = (__m128i *)batch->events;

	for (size_t i = 0; i < pieces; i++)
		_mm_stream_si128(&to[i], _mm_load_si128(&from[i]));
	_mm_sfence();
}

/* A task, or for its owner right here; then TASK is NULL. */
static struct mt_error *decode(const struct mt_task *task, const void *input, void **result)
{
	struct mt_pt_batch *batch = (struct mt_pt_batch *)input;
	struct mt_pt_feed *feed = batch->feed;
	struct mt_event *events = task ? feed->run->made_ahead : batch->events;

	(void)result;
	batch->count = 0;
	if (feed->has_failed)
		return NULL;
	struct mt_error *error =
	    mt_pt_decoder_next(feed->decoder, events, MT_DECODE_BATCH, &batch->count);
	batch->bytes = mt_pt_decoder_stats(feed->decoder).bytes;
	if (!error && !batch->count) {
		error = feed->stream->error;
		feed->stream->error = NULL;
	}
	feed->has_failed = error != NULL;
	if (!error && feed->timeline && feed->run->timed)
		correct_times(feed, events, batch->count);
	if (task)
		hand_over(events, batch);
	return error;
}

static int add_batch(struct mt_pt_feed *feed, size_t at)
{
	feed->batches[at] = aligned_alloc(CACHE_LINE, sizeof(*feed->batches[at]));
	if (!feed->batches[at])
		return -1;
	feed->batches[at]->feed = feed;
	feed->batches[at]->task = NULL;
	return 0;
}

/* NULL: there is none to be had, or nothing for it to run on. */
static struct mt_pool *worker(struct mt_decode_run *run)
{
	if (run->is_alone || run->ahead)
		return run->ahead;
	if (mt_pool_processors() > 1)
		run->made_ahead =
		    aligned_alloc(CACHE_LINE, MT_DECODE_BATCH * sizeof(*run->made_ahead));
	if (run->made_ahead)
		mt_error_destroy(
		    mt_pool_create(1, run->streams.count * MT_PT_FEED_BATCHES, &run->ahead));
	run->is_alone = !run->ahead;
	return run->ahead;
}

static struct mt_error *submit(struct mt_pt_feed *feed, size_t at)
{
	struct mt_pt_batch *batch = feed->batches[at];

	return mt_pool_submit(feed->run->ahead, decode, batch, &batch->task);
}

static struct mt_error *run_ahead(struct mt_pt_feed *feed)
{
	feed->is_ahead = true;
	for (size_t i = 1; i < MT_PT_FEED_BATCHES; i++) {
		if (add_batch(feed, i))
			return mt_error_no_memory();
		mt_try(submit(feed, i));
	}
	return NULL;
}

/* What was decoded ahead is not wanted. */
static void stop(struct mt_pt_feed *feed)
{
	for (size_t i = 0; i < MT_PT_FEED_BATCHES; i++)
		if (feed->batches[i] && feed->batches[i]->task)
			mt_task_cancel(feed->batches[i]->task);
	for (size_t i = 0; i < MT_PT_FEED_BATCHES; i++) {
		if (feed->batches[i] && feed->batches[i]->task)
			mt_error_destroy(mt_task_wait(feed->batches[i]->task, NULL));
		free(feed->batches[i]);
	}
}

struct mt_error *mt_pt_feed_fill(struct mt_pt_feed *feed)
{
	struct mt_decode_run *run = feed->run;

	mt_try(mt_progress_step(run->options->progress, "decoding", run->stats.bytes + feed->bytes,
				run->bytes_total));
	/* Where there are few events, nearly all of the time is the decoder's.  But never do two
	 * decode at once: images are one thread's. */
	if (!feed->is_ahead && (run->ahead || (2 * feed->count >= MT_DECODE_BATCH && worker(run))))
		mt_try(run_ahead(feed));
	if (feed->is_ahead) {
		mt_try(submit(feed, feed->taken));
		feed->taken = (feed->taken + 1) % MT_PT_FEED_BATCHES;
	}
	struct mt_pt_batch *batch = feed->batches[feed->taken];
	struct mt_error *error =
	    batch->task ? mt_task_wait(batch->task, NULL) : decode(NULL, batch, NULL);
	batch->task = NULL;
	feed->events = batch->events;
	feed->count = batch->count;
	feed->next = 0;
	feed->bytes = batch->bytes;
	return error;
}

/* ---- making ---- */

struct mt_error *mt_pt_feed_create(struct mt_decode_run *run, struct mt_pt_stream *stream,
				   struct mt_pt_feed **out)
{
	const struct mt_recording_pt *pt = mt_recording_pt(run->recording);
	struct mt_pt_feed *feed = calloc(1, sizeof(*feed));

	if (!feed || add_batch(feed, 0)) {
		free(feed);
		return mt_error_no_memory();
	}
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
		free(feed->batches[0]);
		free(feed);
		return error;
	}
	*out = feed;
	return NULL;
}

void mt_pt_feed_destroy(struct mt_pt_feed *feed)
{
	struct mt_decode_stats *stats = &feed->run->stats;

	stop(feed);
	struct mt_pt_decoder_stats fed = mt_pt_decoder_stats(feed->decoder);

	stats->bytes += fed.bytes;
	stats->blocks += fed.blocks;
	stats->instructions += fed.instructions;
	stats->events += fed.events;
	stats->gaps += fed.gaps;
	mt_pt_decoder_destroy(feed->decoder);
	free(feed);
}
