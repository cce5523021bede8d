/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The session that records the program under GDB, from `mtrace start` or the program's first
 * instruction to its end; and what is left of it then.
 *
 * The program's text is pristine whenever people may look: mt_live_stopped() hides what is patched
 * in, mt_live_resumes() shows it again, but for what must be left alone (pristine.c). */
#ifndef MT_GDB_PLUGIN_LIVE_H
#define MT_GDB_PLUGIN_LIVE_H

#include "calls/ring.h"
#include "perf/recording.h"
#include "target/session.h"

/* What was asked for by `mtrace start`. */
struct mt_live_options {
	const char *engine; /* NULL, and 0 below: as `set mtrace` says */
	uint64_t ring_bytes;
	const char *stamps;
	const char *threads;
};

/* Record from now on, or when the program runs.  Errors: USAGE; the session's. */
struct mt_error *mt_live_start(const struct mt_live_options *options);
/* Not any more.  What was recorded stays to be looked at.  Errors: USAGE (nothing is). */
struct mt_error *mt_live_stop(void);
/* At the end of GDB. */
void mt_live_destroy(void);

bool mt_live_is_armed(void);
/* NULL: nothing runs that is recorded; what was, can be looked at all the same. */
struct mt_session *mt_live_session(void);
pid_t mt_live_pid(void);
struct mt_target *mt_live_target(void);

/* The program is about to go on for its user.  Errors: the session's. */
struct mt_error *mt_live_resumes(pid_t pid);
/* It stopped for its user, before that is told; NULL session: nothing happens. */
struct mt_error *mt_live_stopped(pid_t lwp);
/* The signal of the last stop, if it is one of a crash; 0: none. */
int mt_live_crash(void);
struct mt_error *mt_live_new_thread(pid_t pid, pid_t lwp);
/* If the process has become another program: that one is recorded now. */
struct mt_error *mt_live_check_exec(bool *is_new);
/* It is gone, or GDB let it go.  status as waitpid(2) gives it. */
struct mt_error *mt_live_ended(int status);

/* All that is known, of the program or of the one that ended.  The caller's to close.
 * Errors: USAGE (nothing was recorded). */
struct mt_error *mt_live_recording(const char *path, struct mt_recording **out);
/* A snapshot, and its timeline: to PATH, NULL: as `set mtrace output` says.  *written is the
 * caller's to free.  Errors: USAGE (nothing is recorded); those of writing. */
struct mt_error *mt_live_snapshot(const char *path, char **written);
/* The same, and what it was made of: the caller's to close. */
struct mt_error *mt_live_snapshot_and_keep(const char *path, char **written,
					   struct mt_recording **recording);
/* It stands still for its user. */
bool mt_live_is_hidden(void);
/* Whether the program ran since the last one. */
bool mt_live_is_news(void);
uint32_t mt_live_snapshots(void);

#endif
