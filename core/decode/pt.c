/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feeds (pt_feed.h) to tracks.  When AUX areas are threads', a feed goes to one track, one feed
 * after the other.  When they are CPUs', a thread's events are spread over several: the feeds are
 * then merged by time, and the switch records say whose an event is. */
#include "decode/pt_feed.h"

/* What is smaller is decoded while threads are being made. */
#define ALONE_BYTES (64u << 10)

static struct mt_error *decode_threads(struct mt_decode_run *run)
{
	mt_array_each (stream, &run->streams) {
		struct mt_pt_feed *feed = NULL;

		if (!mt_decode_wants(run, stream->tid))
			continue;
		struct mt_track *track = NULL;

		mt_try(mt_track_find(run, stream->tid, 0, &track));
		track->stream = stream;
		mt_try(mt_pt_feed_create(run, stream, 1, &feed));
		struct mt_error *error = NULL;
		do {
			error = mt_pt_feed_fill(feed);
			if (!error)
				error = mt_track_deliver(run, track, feed->events, feed->count);
		} while (!error && feed->count);
		if (!error)
			error = mt_track_finish(run, track);
		mt_pt_feed_destroy(feed);
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
static struct mt_error *feed_drain(struct mt_pt_feed *feed, uint64_t until_ns)
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
		mt_try(mt_track_find(run, feed->tid, 0, &track));
		mt_try(mt_track_deliver(run, track, first, count));
	}
	return NULL;
}

static uint64_t feed_time(const struct mt_pt_feed *feed)
{
	return feed->next < feed->count ? feed->events[feed->next].time_ns : UINT64_MAX;
}

/* The feed whose next event is the earliest, and the time of the others'.  NULL: all have ended. */
static struct mt_pt_feed *earliest(struct mt_pt_feed **feeds, size_t count, uint64_t *others_ns)
{
	struct mt_pt_feed *first = NULL;

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

static struct mt_error *merge(struct mt_decode_run *run, struct mt_pt_feed **feeds, size_t count)
{
	uint64_t others_ns = 0;
	struct mt_pt_feed *feed = NULL;
	struct mt_track *track, *next;

	for (size_t i = 0; i < count; i++)
		mt_try(mt_pt_feed_fill(feeds[i]));
	while ((feed = earliest(feeds, count, &others_ns))) {
		mt_try(feed_drain(feed, others_ns));
		if (feed->next == feed->count)
			mt_try(mt_pt_feed_fill(feed));
	}
	HASH_ITER (hh, run->tracks, track, next)
		mt_try(mt_track_finish(run, track));
	return NULL;
}

static struct mt_error *decode_cpus(struct mt_decode_run *run)
{
	struct mt_pt_feed **feeds = calloc(run->streams.count, sizeof(struct mt_pt_feed *));
	struct mt_error *error = feeds ? NULL : mt_error_no_memory();
	size_t count = 0;

	while (!error && count < run->streams.count) {
		error = mt_pt_feed_create(run, &run->streams.items[count],
					  (unsigned int)run->streams.count, &feeds[count]);
		count += !error;
	}
	if (!error)
		error = merge(run, feeds, count);
	for (size_t i = 0; i < count; i++)
		mt_pt_feed_destroy(feeds[i]);
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
	if (run->bytes_total > ALONE_BYTES)
		mt_decode_get_workers(run, run->streams.count);
	struct mt_error *error = of_threads ? decode_threads(run) : decode_cpus(run);
	mt_pool_destroy(run->ahead);
	return error;
}
