/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of tracks/tracks.h:
 *
 *	tracks.c threads and their events
 *	choose.c which events: from words to attributes, and whether this machine allows them
 *	read.c   records of the rings to notes of the recording */
#ifndef MT_TRACKS_PRIVATE_H
#define MT_TRACKS_PRIVATE_H

#include "kernel/event_set.h"
#include "kernel/ring_sample.h"
#include "kernel/tracepoint.h"
#include "tracks/tracks.h"

#include <uthash.h>

/* The events that a thread may have; which they are, is its tag in the set. */
enum mt_track_event {
	MT_TRACK_BASE, /* holds the ring; has switches, if they are wanted */
	MT_TRACK_SCHED,
	MT_TRACK_MINOR_FAULT,
	MT_TRACK_MAJOR_FAULT,
	MT_TRACK_SYSCALL,
	MT_TRACK_SYSRET,
	MT_TRACK_COUNTERS, /* samples all counters each millisecond that the thread runs */
	MT_TRACK_EVENTS
};

enum mt_track_choice {
	MT_TRACK_CHOICE_SCHED = 1 << 0,
	MT_TRACK_CHOICE_FAULTS = 1 << 1,
	MT_TRACK_CHOICE_SYSCALLS = 1 << 2,
	MT_TRACK_CHOICE_MARKS = 1 << 3,
};

struct mt_tracks_thread {
	pid_t lwp;
	struct mt_event_set set;
	UT_hash_handle hh;
};

struct mt_tracks {
	struct mt_tracks_options options;
	struct mt_perf_clock clock;
	unsigned choices; /* enum mt_track_choice */
	bool has[MT_TRACK_EVENTS];
	struct mt_perf_spec specs[MT_TRACK_EVENTS];
	MT_ARRAY(struct mt_perf_spec) counters;
	struct mt_tracepoint_field state;               /* of sched_switch */
	struct mt_tracepoint_field number, arguments;   /* of sys_enter */
	struct mt_tracepoint_field exit_number, result; /* of sys_exit */
	struct mt_tracks_thread *threads;
	bool complained;
};

/* choose.c */
struct mt_error *mt_tracks_choose(struct mt_tracks *tracks);

/* tracks.c: open all on a thread.  What was opened before a failure is in the set. */
struct mt_error *mt_tracks_open(const struct mt_tracks *tracks, pid_t lwp,
				struct mt_event_set *set);

/* read.c */
struct mt_error *mt_tracks_read(struct mt_tracks *tracks, struct mt_tracks_thread *thread,
				struct mt_recording_writer *writer);

#endif
