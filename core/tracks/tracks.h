/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Side tracks: what the kernel records of a program beside its calls: where its threads ran, or why
 * not, page faults, system calls, counters.  A ring a thread, overwritten by what is newer and read
 * at snapshots, like the engine's; what it holds goes into the recording as notes
 * (perf/recording_writer.h).
 *
 * Where a kind of event is not permitted, asking for it fails before the program runs.  A thread
 * whose events cannot be opened later (too many open files …) goes without, and that is logged
 * once. */
#ifndef MT_TRACKS_TRACKS_H
#define MT_TRACKS_TRACKS_H

#include "base/log.h"
#include "kernel/clock.h"
#include "perf/recording_writer.h"

struct mt_tracks;

struct mt_tracks_options {
	const char *const *events;            /* "sched,faults", … NULL at the end; or NULL */
	const char *const *counters;          /* kernel/counter.h; NULL at the end; or NULL */
	uint64_t ring_bytes;                  /* a thread; 0: a default */
	struct mt_time_conversion conversion; /* of the recording */
	const struct mt_log *log;             /* may be NULL */
	bool keep;                            /* a snapshot leaves the rings as they are */
};

/* The kinds of `events`, for help and completion; NULL at the end. */
extern const char *const mt_tracks_names[];

/* Errors: USAGE (no such event). */
struct mt_error *mt_tracks_check(const char *const *events);
/* *out is NULL where nothing was asked for: the functions below then have nothing to do.
 * Errors: USAGE (no such event); mt_perf_event_open()'s; mt_tracepoint_find()'s. */
struct mt_error *mt_tracks_create(const struct mt_tracks_options *options, struct mt_tracks **out);
void mt_tracks_destroy(struct mt_tracks *tracks); /* NULL is fine */
/* "marks" was among the events: they are not the kernel's, and left to others. */
bool mt_tracks_want_marks(const char *const *events);

void mt_tracks_add_thread(struct mt_tracks *tracks, pid_t lwp);
void mt_tracks_remove_thread(struct mt_tracks *tracks, pid_t lwp);
/* execve gave the calling thread FORMER the number LWP. */
void mt_tracks_rename_thread(struct mt_tracks *tracks, pid_t former, pid_t lwp);
/* A thread that stands still is about to make system calls for us, or has: they, and what they do
 * to memory, are not recorded. */
void mt_tracks_borrow(struct mt_tracks *tracks, pid_t lwp, bool borrowed);
/* Records the contents of the ring of thread LWP (0: all) since the last time.  Errors: the
 * writer's; NO_MEMORY. */
struct mt_error *mt_tracks_snapshot(struct mt_tracks *tracks, pid_t lwp,
				    struct mt_recording_writer *writer);

#endif
