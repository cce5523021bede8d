/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracks/private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#define RING_BYTES (256u << 10)
#define FILES_LEFT 32

struct mt_error *mt_tracks_open(const struct mt_tracks *tracks, pid_t lwp, struct mt_event_set *set)
{
	for (uint32_t event = 0; event < MT_TRACK_EVENTS; event++)
		if (tracks->has[event])
			mt_try(mt_event_set_add(
			    set, &tracks->specs[event], lwp, -1, event,
			    tracks->options.ring_bytes ? tracks->options.ring_bytes : RING_BYTES));
	if (!tracks->has[MT_TRACK_COUNTERS])
		return NULL;
	int leader = mt_event_set_last(set);
	mt_array_each (spec, &tracks->counters)
		mt_try(mt_event_set_add(set, spec, lwp, leader, MT_TRACK_EVENTS, 0));
	return NULL;
}

struct mt_error *mt_tracks_create(const struct mt_tracks_options *options, struct mt_tracks **out)
{
	struct mt_tracks *tracks = NULL;
	struct mt_error *error;

	*out = NULL;
	if (!options->events && !options->counters)
		return NULL;
	tracks = calloc(1, sizeof(*tracks));
	if (!tracks)
		return mt_error_no_memory();
	tracks->options = *options;
	mt_perf_clock_init(&tracks->clock);
	error = mt_tracks_choose(tracks);
	if (!error && (tracks->counters.count || (tracks->choices & ~MT_TRACK_CHOICE_MARKS))) {
		struct mt_event_set set = {0};

		/* On ourselves, to learn what the machine allows. */
		error = mt_tracks_open(tracks, 0, &set);
		mt_event_set_deinit(&set);
		*out = tracks;
	}
	if (error || !*out) {
		mt_tracks_destroy(tracks);
		*out = NULL;
	}
	return error;
}

static void forget(struct mt_tracks *tracks, struct mt_tracks_thread *thread)
{
	HASH_DEL(tracks->threads, thread);
	mt_event_set_deinit(&thread->set);
	free(thread);
}

void mt_tracks_destroy(struct mt_tracks *tracks)
{
	struct mt_tracks_thread *thread, *next;

	if (!tracks)
		return;
	HASH_ITER (hh, tracks->threads, thread, next)
		forget(tracks, thread);
	mt_array_deinit(&tracks->counters);
	free(tracks);
}

static struct mt_tracks_thread *find(struct mt_tracks *tracks, pid_t lwp)
{
	struct mt_tracks_thread *thread = NULL;

	if (tracks)
		HASH_FIND_INT(tracks->threads, &lwp, thread);
	return thread;
}

/* Files that others open must still find room: what we cannot do without, and libraries. */
static struct mt_error *leave_files(const struct mt_tracks *tracks, pid_t lwp,
				    const struct mt_event_set *set)
{
	const struct perf_event_attr attr = mt_perf_spec_attr(&tracks->specs[MT_TRACK_BASE]);
	struct rlimit limit = {0};

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    (rlim_t)mt_event_set_last(set) + FILES_LEFT < limit.rlim_cur)
		return NULL;
	return mt_perf_event_explain(&attr, "its events", lwp, -1, EMFILE);
}

void mt_tracks_add_thread(struct mt_tracks *tracks, pid_t lwp)
{
	struct mt_tracks_thread *thread;
	struct mt_error *error;

	if (!tracks || find(tracks, lwp))
		return;
	thread = calloc(1, sizeof(*thread));
	error = thread ? mt_tracks_open(tracks, lwp, &thread->set) : mt_error_no_memory();
	if (!error)
		error = leave_files(tracks, lwp, &thread->set);
	if (thread) {
		thread->lwp = lwp;
		HASH_ADD_INT(tracks->threads, lwp, thread);
	}
	if (thread && error && find(tracks, lwp))
		forget(tracks, thread);
	if (error && mt_error_code(error) != MT_ERROR_GONE && !tracks->complained) {
		mt_log(tracks->options.log, MT_LOG_WARNING, "recording a thread without events: %s",
		       mt_error_message(error));
		tracks->complained = true;
	}
	mt_error_destroy(error);
}

void mt_tracks_remove_thread(struct mt_tracks *tracks, pid_t lwp)
{
	struct mt_tracks_thread *thread = find(tracks, lwp);

	if (thread)
		forget(tracks, thread);
}

void mt_tracks_rename_thread(struct mt_tracks *tracks, pid_t former, pid_t lwp)
{
	struct mt_tracks_thread *thread = find(tracks, former);

	if (!thread || former == lwp)
		return;
	mt_tracks_remove_thread(tracks, lwp);
	HASH_DEL(tracks->threads, thread);
	thread->lwp = lwp;
	HASH_ADD_INT(tracks->threads, lwp, thread);
}

void mt_tracks_borrow(struct mt_tracks *tracks, pid_t lwp, bool borrowed)
{
	static const enum mt_track_event events[] = {MT_TRACK_SYSCALL, MT_TRACK_SYSRET,
						     MT_TRACK_MINOR_FAULT, MT_TRACK_MAJOR_FAULT};
	const struct mt_tracks_thread *thread = find(tracks, lwp);

	for (size_t i = 0; thread && i < sizeof(events) / sizeof(*events); i++)
		mt_event_set_pause(&thread->set, events[i], borrowed);
}

struct mt_error *mt_tracks_snapshot(struct mt_tracks *tracks, pid_t lwp,
				    struct mt_recording_writer *writer)
{
	struct mt_tracks_thread *thread, *next;

	if (!tracks)
		return NULL;
	mt_perf_clock_sync(&tracks->clock);
	HASH_ITER (hh, tracks->threads, thread, next)
		if (!lwp || thread->lwp == lwp)
			mt_try(mt_tracks_read(tracks, thread, writer));
	return NULL;
}
