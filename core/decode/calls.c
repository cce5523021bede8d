/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of call events: a thread after the other, its events in the order of the file. */
#include "decode/private.h"
#include "trace/sp_stack.h"

static struct mt_error *create(const struct mt_thread *thread, struct mt_slice_sink sink,
			       bool inlines, void **out)
{
	const struct mt_sp_stack_options options = {.thread = *thread, .sink = sink};
	struct mt_sp_stack *stack = NULL;
	struct mt_error *error = mt_sp_stack_create(&options, &stack);

	(void)inlines; /* they are not called, so they report nothing */
	*out = stack;
	return error;
}

static void destroy(void *stack)
{
	mt_sp_stack_destroy(stack);
}

static void set_symbolizer(void *stack, const struct mt_symbolizer *symbolizer)
{
	mt_sp_stack_set_symbolizer(stack, symbolizer);
}

static struct mt_error *push(void *stack, const struct mt_event *events, size_t count)
{
	return mt_sp_stack_push(stack, events, count);
}

static struct mt_error *finish(void *stack)
{
	return mt_sp_stack_finish(stack);
}

static bool names_may_change(const struct mt_event *event)
{
	(void)event;
	return true;
}

static bool takes_note(const struct mt_event *event, enum mt_recording_note note)
{
	(void)event;
	(void)note;
	return true;
}

const struct mt_rebuild_ops mt_rebuild_from_calls = {
    .create = create,
    .destroy = destroy,
    .set_symbolizer = set_symbolizer,
    .push = push,
    .finish = finish,
    .names_may_change = names_may_change,
    .takes_note = takes_note,
};

static struct mt_error *decode_batches(struct mt_decode_run *run, struct mt_track *track,
				       struct mt_recording_calls *calls, struct mt_event *events)
{
	size_t count;

	do {
		mt_try(mt_progress_step(run->options->progress, "decoding", run->stats.events,
					run->bytes_total));
		mt_try(mt_recording_calls_next(calls, events, MT_DECODE_BATCH, &count));
		run->stats.events += count;
		mt_try(mt_track_deliver(run, track, events, count));
	} while (count);
	return mt_track_finish(run, track);
}

static struct mt_error *decode_thread(struct mt_decode_run *run, size_t index)
{
	struct mt_event *events = calloc(MT_DECODE_BATCH, sizeof(*events));
	struct mt_recording_calls *calls = NULL;
	struct mt_track *track = NULL;
	struct mt_error *error = events ? NULL : mt_error_no_memory();

	if (!error)
		error = mt_recording_calls_open(run->recording, index, &calls);
	if (!error)
		error = mt_track_find(run, mt_recording_call_thread(run->recording, index)->tid,
				      &track);
	if (!error)
		error = decode_batches(run, track, calls, events);
	mt_recording_calls_close(calls);
	free(events);
	return error;
}

struct mt_error *mt_decode_calls(struct mt_decode_run *run)
{
	size_t count = mt_recording_call_thread_count(run->recording);

	for (size_t i = 0; i < count; i++)
		run->bytes_total += mt_recording_call_thread(run->recording, i)->events;
	for (size_t i = 0; i < count; i++)
		if (mt_decode_wants(run, mt_recording_call_thread(run->recording, i)->tid))
			mt_try(decode_thread(run, i));
	return NULL;
}
