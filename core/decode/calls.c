/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events, a thread after the other, each one's in the order of the file.
 *
 * A thread's slices are shown when its segment ends, which is at its end, as a rule.  So while the
 * owner shows one thread's, workers read the events of those behind it, and rebuild what is called
 * by whom: each up to the first event that something of the sideband goes before, or that shows
 * slices, from where on the owner does it, when it is that thread's turn.  What they share is what
 * workers share that decode Intel PT (pt_feed.h): names are made under a lock.  Values make text
 * that all threads share, so the owner alone takes them. */
#include "decode/private.h"

#include <stdatomic.h>

/* What is smaller is decoded while threads are being made. */
#define ALONE_EVENTS 65536
#define LOOK_MS      20

struct lane {
	struct mt_decode_run *run;
	struct mt_track *track; /* NULL: it is free */
	struct mt_recording_calls *calls;
	struct mt_event *events;
	size_t count; /* that were read, and not delivered */
	bool has_ended;
	atomic_uint_fast64_t delivered;
	struct mt_task *task; /* NULL: the lane is the owner's */
};

static struct mt_error *read_more(struct lane *lane)
{
	if (lane->count || lane->has_ended)
		return NULL;
	mt_try(mt_recording_calls_next(lane->calls, lane->events, MT_DECODE_BATCH, &lane->count));
	lane->has_ended = !lane->count;
	return NULL;
}

static struct mt_error *deliver(struct lane *lane)
{
	const size_t count = lane->count;

	lane->count = 0;
	mt_try(mt_track_deliver(lane->run, lane->track, lane->events, count));
	atomic_fetch_add(&lane->delivered, count);
	return NULL;
}

/* A task. */
static struct mt_error *run_ahead(const struct mt_task *task, const void *input, void **result)
{
	struct lane *lane = (struct lane *)input;

	(void)result;
	while (!mt_task_is_cancelled(task)) {
		mt_try(read_more(lane));
		if (lane->has_ended ||
		    !mt_track_is_silent(lane->run, lane->track, lane->events, lane->count))
			break;
		mt_try(deliver(lane));
	}
	return NULL;
}

static struct mt_error *step(const struct lane *lane)
{
	return mt_progress_step(lane->run->options->progress, "decoding",
				lane->run->stats.events + lane->delivered, lane->run->bytes_total);
}

/* From where it is ahead, if it is. */
static struct mt_error *finish(struct lane *lane)
{
	struct mt_decode_run *run = lane->run;
	struct mt_track *track = lane->track;

	while (lane->task && !mt_task_is_done(lane->task, LOOK_MS))
		mt_try(step(lane));
	if (lane->task) {
		struct mt_error *error = mt_task_wait(lane->task, NULL);

		lane->task = NULL;
		mt_try(error);
	}
	while (!lane->has_ended) {
		mt_try(step(lane));
		mt_try(read_more(lane));
		if (lane->count)
			mt_try(deliver(lane));
	}
	run->stats.events += lane->delivered;
	mt_recording_calls_close(lane->calls);
	lane->calls = NULL;
	lane->track = NULL;
	return mt_track_finish(run, track);
}

static struct mt_error *begin(struct lane *lane, size_t index)
{
	struct mt_decode_run *run = lane->run;
	const struct mt_recording_call_thread *thread =
	    mt_recording_call_thread(run->recording, index);

	lane->count = 0;
	lane->has_ended = false;
	lane->delivered = 0;
	if (!lane->events)
		lane->events = calloc(MT_DECODE_BATCH, sizeof(*lane->events));
	if (!lane->events)
		return mt_error_no_memory();
	mt_try(mt_recording_calls_open(run->recording, index, &lane->calls));
	return mt_track_find(run, thread->tid, thread->events, &lane->track);
}

static void end(struct lane *lane)
{
	if (lane->task) {
		mt_task_cancel(lane->task);
		mt_error_destroy(mt_task_wait(lane->task, NULL));
	}
	mt_recording_calls_close(lane->calls);
	free(lane->events);
}

/* A lane for the thread whose turn it is, and one for each worker. */
static struct mt_error *decode_in_lanes(struct mt_decode_run *run, struct lane *lanes, size_t count)
{
	const size_t threads = mt_recording_call_thread_count(run->recording);
	size_t next = 0, first = 0, used = 0;

	for (;;) {
		for (; next < threads && used < count; next++) {
			struct lane *lane = &lanes[(first + used) % count];

			if (!mt_decode_wants(run,
					     mt_recording_call_thread(run->recording, next)->tid))
				continue;
			mt_try(begin(lane, next));
			if (used++)
				mt_try(mt_pool_submit(run->ahead, run_ahead, lane, &lane->task));
		}
		if (!used)
			return NULL;
		mt_try(finish(&lanes[first]));
		first = (first + 1) % count;
		used--;
	}
}

/* Goroutines go from thread to thread, and so do notes of what waits for what. */
static bool may_go_ahead(const struct mt_decode_run *run)
{
	return !run->goroutines && mt_recording_call_thread_count(run->recording) > 1 &&
	       run->bytes_total > ALONE_EVENTS;
}

struct mt_error *mt_decode_calls(struct mt_decode_run *run)
{
	const size_t threads = mt_recording_call_thread_count(run->recording);

	for (size_t i = 0; i < threads; i++)
		run->bytes_total += mt_recording_call_thread(run->recording, i)->events;
	if (may_go_ahead(run))
		mt_decode_get_workers(run, threads);

	const size_t count = 1 + (run->ahead ? mt_pool_thread_count(run->ahead) : 0);
	struct lane *lanes = calloc(count, sizeof(*lanes));
	struct mt_error *error = lanes ? NULL : mt_error_no_memory();

	run->lanes = count;
	for (size_t i = 0; lanes && i < count; i++)
		lanes[i].run = run;
	if (!error)
		error = decode_in_lanes(run, lanes, count);
	for (size_t i = 0; lanes && i < count; i++)
		end(&lanes[i]);
	free(lanes);
	mt_pool_destroy(run->ahead);
	run->ahead = NULL;
	return error;
}
