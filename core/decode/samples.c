/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples of stacks as slices.  A frame that is in one sample after the other, called from the same
 * place, is one slice: from the first one's time until that of the first one without it.  What
 * happened in between nobody saw.
 *
 * A thread that does not run is not sampled: the stack ends where it left the CPU to wait, if that
 * was recorded (one that was preempted comes back with the same stack), and where no sample follows
 * for much longer than they lie apart, with the sample's own share of the time. */
#include "base/search.h"
#include "decode/private.h"
#include "decode/sample_frames.h"

/* So many periods without a sample are no delay of one. */
#define PERIODS_OF_GAP 4
/* Where nothing says how far apart they are: one sample alone. */
#define PERIOD_NS 1000000

/* One slice's worth of a stack: equal ones in consecutive samples are the same. */
struct level {
	const struct mt_function *function;
	const struct mt_inline *inlined; /* NULL: it was called */
	uint64_t site;                   /* the caller's frame, by its mt_sample_frame */
	/* While its sample is at work.  NULL: none is known. */
	const struct mt_sample_frame *caller;
	uint32_t samples;
};

typedef MT_ARRAY(const struct mt_sideband *) records;

struct sampled_thread {
	struct mt_decode_run *run;
	const struct mt_process_thread *thread;
	const struct mt_sideband *const *samples;
	const records *departures;
	struct mt_sampling sampling; /* `samples`: of the thread */
	const struct mt_epoch *epoch;
	size_t next_note;                    /* of the thread's */
	MT_ARRAY(struct level) open, levels; /* outermost first */
	mt_sample_frames frames;
	uint8_t buffer[MT_STACK_SAMPLE_BYTES];
};

/* ---- One sample ---- */

static struct mt_error *add_level(struct sampled_thread *it, struct level level)
{
	return mt_array_push(&it->levels, level) ? mt_error_no_memory() : NULL;
}

/* The function at FRAME, and those that are inlined there. */
static struct mt_error *add_frame(struct sampled_thread *it, const struct mt_sample_frame *frame,
				  const struct mt_sample_frame *caller)
{
	const struct mt_symbolizer *symbolizer = &it->epoch->symbolizer.symbolizer;
	const struct mt_function *function =
	    symbolizer->function_at(symbolizer->context, frame->inside);
	struct mt_inline_span span = {0};

	if (!function)
		return mt_error_no_memory();
	/* The kernel without its symbols is one frame. */
	if (caller && function->kind == MT_FUNCTION_UNKNOWN &&
	    mt_address_is_kernel(frame->inside) && mt_array_last(&it->levels)->function == function)
		return NULL;
	mt_try(add_level(it, (struct level){
				 .function = function,
				 .site = !caller              ? 0
					 : caller->returns_to ? caller->returns_to
							      : caller->inside,
				 .caller = caller,
			     }));
	if (symbolizer->inlines_at)
		symbolizer->inlines_at(symbolizer->context, frame->inside, &span);
	for (size_t i = 0; i < span.depth; i++)
		mt_try(add_level(it, (struct level){.function = span.chain[i]->function,
						    .inlined = span.chain[i]}));
	return NULL;
}

static struct mt_error *read_stack(struct sampled_thread *it, const struct mt_sideband *record)
{
	struct mt_stack_sample sample;

	mt_try(mt_stack_sample_read(it->run->recording, record, it->buffer, &sample));
	mt_try(mt_sample_frames_read(record, &sample, it->epoch->space, &it->frames));
	it->levels.count = 0;
	for (size_t i = it->frames.count; i-- > 0;)
		mt_try(add_frame(it, &it->frames.items[i],
				 i + 1 < it->frames.count ? &it->frames.items[i + 1] : NULL));
	return NULL;
}

static bool is_same(const struct level *open, const struct level *level)
{
	return open->function == level->function && open->inlined == level->inlined &&
	       open->site == level->site;
}

/* ---- Slices ---- */

static struct mt_error *close_to(struct sampled_thread *it, size_t count, uint64_t time_ns)
{
	const struct mt_slice_sink *sink = &it->run->calls_sink;

	while (it->open.count > count) {
		const struct level *level = &it->open.items[--it->open.count];
		const struct mt_slice_end end = {
		    .time_ns = time_ns,
		    .flags = MT_SLICE_END_TIME_ESTIMATED,
		    .depth = (uint32_t)it->open.count,
		    .samples = level->samples,
		};

		mt_try(sink->ops->end(sink->self, &end));
	}
	return NULL;
}

/* The call instruction. */
static uint64_t call_site_of(const struct mt_symbolizer *symbolizer,
			     const struct mt_sample_frame *caller)
{
	struct mt_call_before call = {0};

	if (caller->returns_to && symbolizer->call_before)
		call = symbolizer->call_before(symbolizer->context, caller->returns_to);
	return call.address ? call.address : caller->inside;
}

static struct mt_error *open_level(struct sampled_thread *it, const struct level *level,
				   uint64_t time_ns)
{
	const struct mt_symbolizer *symbolizer = &it->epoch->symbolizer.symbolizer;
	const struct mt_slice_sink *sink = &it->run->calls_sink;
	struct mt_slice slice = {
	    .time_ns = time_ns,
	    .kind = level->inlined ? MT_SLICE_INLINED : MT_SLICE_CALL,
	    .flags = MT_SLICE_SAMPLED | MT_SLICE_TIME_ESTIMATED,
	    .depth = (uint32_t)it->open.count,
	    .function = level->function,
	};

	if (level->function->kind != MT_FUNCTION_UNKNOWN)
		slice.address = level->function->start;
	if (level->inlined)
		slice.call_source = level->inlined->call;
	if (level->caller) {
		slice.call_site = call_site_of(symbolizer, level->caller);
		symbolizer->source_at(symbolizer->context, slice.call_site, &slice.call_source);
	}
	if (mt_array_push(&it->open, *level))
		return mt_error_no_memory();
	return sink->ops->begin(sink->self, &slice);
}

static struct mt_error *show_sample(struct sampled_thread *it, const struct mt_sideband *record)
{
	struct mt_epoch *epoch = mt_decode_epoch_at(it->run, it->thread, record->time_ns);
	size_t same = 0;

	if (epoch != it->epoch && epoch->exec)
		mt_try(close_to(it, 0, record->time_ns));
	it->epoch = epoch;
	mt_try(read_stack(it, record));
	while (same < it->open.count && same < it->levels.count &&
	       is_same(&it->open.items[same], &it->levels.items[same]))
		same++;
	mt_try(close_to(it, same, record->time_ns));
	for (; same < it->levels.count; same++)
		mt_try(open_level(it, &it->levels.items[same], record->time_ns));
	const bool is_stop = mt_recording_event_is_stop(it->run->recording, record->sample.event);
	mt_array_each (level, &it->open)
		level->samples += !is_stop;
	it->run->stats.events++;
	return NULL;
}

/* What happened to the thread is known to the moment.  False: NOTE is nothing of the kind. */
static bool instant_of_note(const struct mt_decode_run *run, const struct mt_sideband *note,
			    struct mt_instant *instant)
{
	*instant = (struct mt_instant){
	    .time_ns = note->time_ns,
	    .detail = (uint32_t)note->sample.weight,
	    .value = note->sample.weight,
	    .address = note->sample.ip,
	};
	switch (mt_decode_note_of(run, note)) {
	case MT_NOTE_SIGNAL:
		instant->kind = MT_INSTANT_SIGNAL;
		instant->value = note->sample.address;
		return true;
	case MT_NOTE_TRIGGER:
		instant->kind = MT_INSTANT_TRIGGER;
		return true;
	default:
		return false;
	}
}

static struct mt_error *put_notes(struct sampled_thread *it, uint64_t until_ns)
{
	const struct mt_slice_sink *sink = &it->run->calls_sink;
	const struct mt_process_thread *thread = it->thread;
	struct mt_instant instant;

	for (; it->next_note < thread->notes.count; it->next_note++) {
		const struct mt_sideband *note = thread->notes.items[it->next_note];

		if (note->time_ns > until_ns)
			break;
		if (!instant_of_note(it->run, note, &instant))
			continue;
		mt_decode_name_instant(it->run, thread, &instant);
		mt_try(sink->ops->instant(sink->self, &instant));
	}
	return NULL;
}

/* When the thread left the CPU, from a time on; UINT64_MAX: it did not, or nobody recorded it. */
static uint64_t departure_from(const struct sampled_thread *it, uint64_t time_ns)
{
	const records *departures = it->departures;
	const int32_t tid = it->thread->tid;
	const size_t at = mt_partition_point(
	    i, 0, departures->count,
	    departures->items[i]->tid < tid ||
		(departures->items[i]->tid == tid && departures->items[i]->time_ns < time_ns));

	return at < departures->count && departures->items[at]->tid == tid
		   ? departures->items[at]->time_ns
		   : UINT64_MAX;
}

/* The end of what a sample stands for. */
static uint64_t end_of(const struct sampled_thread *it, size_t index)
{
	uint64_t time_ns = it->samples[index]->time_ns;
	uint64_t room_ns = INT64_MAX - time_ns;
	uint64_t period_ns = it->sampling.period_ns;
	uint64_t end_ns = time_ns + (period_ns < room_ns ? period_ns : room_ns);
	uint64_t departure_ns = departure_from(it, time_ns);

	if (index + 1 < it->sampling.samples) {
		uint64_t next_ns = it->samples[index + 1]->time_ns;

		if ((next_ns - time_ns) / PERIODS_OF_GAP <= period_ns)
			end_ns = next_ns;
	}
	return departure_ns < end_ns ? departure_ns : end_ns;
}

static struct mt_thread_segment segment_of(const struct sampled_thread *it)
{
	struct mt_thread_segment segment = {.begin_ns = it->samples[0]->time_ns,
					    .end_ns = end_of(it, it->sampling.samples - 1)};
	struct mt_instant instant;

	mt_array_each (note, &it->thread->notes) {
		if (!instant_of_note(it->run, *note, &instant) || !mt_decode_has_time(*note))
			continue;
		if (instant.time_ns < segment.begin_ns)
			segment.begin_ns = instant.time_ns;
		if (instant.time_ns > segment.end_ns)
			segment.end_ns = instant.time_ns;
	}
	return segment;
}

static struct mt_error *show_thread(struct sampled_thread *it)
{
	const struct mt_slice_sink *sink = &it->run->calls_sink;
	const size_t count = it->sampling.samples;
	const struct mt_thread thread = {
	    .pid = it->thread->pid,
	    .tid = it->thread->tid,
	    .name = it->thread->name,
	    .process = mt_processes_name_of(it->run->processes, it->thread),
	    .sampling = mt_arena_copy(&it->run->arena, &it->sampling, sizeof(it->sampling)),
	};
	const struct mt_thread_segment segment = segment_of(it);

	if (!thread.sampling)
		return mt_error_no_memory();
	mt_try(sink->ops->thread(sink->self, &thread));
	mt_try(sink->ops->segment_begin(sink->self, &segment));
	for (size_t i = 0; i < count; i++) {
		uint64_t end_ns = end_of(it, i);

		mt_try(mt_progress_step(it->run->options->progress, "decoding",
					it->run->stats.events, it->run->bytes_total));
		mt_try(put_notes(it, it->samples[i]->time_ns));
		mt_try(show_sample(it, it->samples[i]));
		if (i + 1 < count && end_ns == it->samples[i + 1]->time_ns)
			continue;
		mt_try(put_notes(it, end_ns));
		mt_try(close_to(it, 0, end_ns));
	}
	mt_try(put_notes(it, INT64_MAX));
	it->run->stats.threads++;
	return sink->ops->segment_end(sink->self, &segment);
}

/* ---- All samples ---- */

static int compare_threads(const void *a, const void *b)
{
	const struct mt_sideband *left = *(const struct mt_sideband *const *)a;
	const struct mt_sideband *right = *(const struct mt_sideband *const *)b;

	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	/* Of one thread: as they are, by time. */
	return left < right ? -1 : left > right;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The median distance of an event's samples; 0: there is none. */
static struct mt_error *measure(const records *all, uint32_t event, uint64_t *period_ns)
{
	const struct mt_sideband *before = NULL;
	MT_ARRAY(uint64_t) distances = {0};
	int failed = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct mt_sideband *record = all->items[i];

		if (record->sample.event != event)
			continue;
		if (before && before->tid == record->tid)
			failed |= mt_array_push(&distances, record->time_ns - before->time_ns);
		before = record;
	}
	if (distances.count) {
		qsort(distances.items, distances.count, sizeof(uint64_t), compare_numbers);
		*period_ns = distances.items[distances.count / 2];
	}
	mt_array_deinit(&distances);
	return failed ? mt_error_no_memory() : NULL;
}

/* How far apart they are of a thread that runs: as was asked for, since the median says nothing of
 * threads that wait; the median where that is not known. */
static struct mt_error *describe(struct mt_decode_run *run, const records *all)
{
	struct mt_sampling *sampling = &run->stats.sampling;
	uint32_t first = all->items[0]->sample.event;

	for (size_t i = 0; i < all->count; i++)
		if (!mt_recording_event_is_stop(run->recording, all->items[i]->sample.event)) {
			first = all->items[i]->sample.event;
			break;
		}
	sampling->samples = all->count;
	sampling->event = mt_recording_event_name(run->recording, first);
	for (size_t i = 0; i < all->count; i++) {
		const uint32_t event = all->items[i]->sample.event;
		uint64_t asked_ns = mt_recording_event_period_ns(run->recording, event);

		if (event != first && !mt_recording_event_is_stop(run->recording, event))
			sampling->event = "several events";
		if (asked_ns && (!sampling->period_ns || asked_ns < sampling->period_ns))
			sampling->period_ns = asked_ns;
	}
	if (!sampling->period_ns)
		mt_try(measure(all, first, &sampling->period_ns));
	if (!sampling->period_ns)
		sampling->period_ns = PERIOD_NS;
	return NULL;
}

static void sort_by_thread(records *all)
{
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), compare_threads);
}

static struct mt_error *collect(struct mt_decode_run *run, records *all, records *departures)
{
	const struct mt_sideband *items = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		const struct mt_sideband *record = &items[i];
		records *into = NULL;

		if (record->kind == MT_SIDEBAND_SAMPLE && record->sample.stack.size)
			into = all;
		else if (record->kind == MT_SIDEBAND_SWITCH && record->context_switch.out &&
			 !record->context_switch.preempted)
			into = departures;
		if (into && mt_tid_is_thread(record->tid) && mt_decode_wants(run, record->tid) &&
		    mt_decode_has_time(record) && mt_array_push(into, record))
			return mt_error_no_memory();
	}
	sort_by_thread(all);
	sort_by_thread(departures);
	return NULL;
}

static struct mt_error *show_all(struct mt_decode_run *run, const records *all,
				 const records *departures)
{
	struct sampled_thread *it = calloc(1, sizeof(*it));
	struct mt_error *error = it ? NULL : mt_error_no_memory();

	for (size_t i = 0, count; i < all->count && !error; i += count) {
		const int32_t tid = all->items[i]->tid;

		count = 1;
		while (i + count < all->count && all->items[i + count]->tid == tid)
			count++;
		it->run = run;
		it->departures = departures;
		it->samples = (const struct mt_sideband *const *)&all->items[i];
		it->sampling = run->stats.sampling;
		it->sampling.samples = count;
		it->epoch = NULL;
		it->next_note = 0;
		it->open.count = 0;
		it->thread = mt_processes_thread(run->processes, tid);
		error = it->thread ? show_thread(it) : mt_error_no_memory();
	}
	if (it) {
		mt_array_deinit(&it->open);
		mt_array_deinit(&it->levels);
		mt_array_deinit(&it->frames);
	}
	free(it);
	return error;
}

struct mt_error *mt_decode_samples(struct mt_decode_run *run)
{
	records all = {0}, departures = {0};
	struct mt_error *error = collect(run, &all, &departures);

	if (!error && all.count)
		error = describe(run, &all);
	run->bytes_total = all.count;
	if (!error)
		error = show_all(run, &all, &departures);
	mt_array_deinit(&all);
	mt_array_deinit(&departures);
	return error;
}
