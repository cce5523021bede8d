/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is recorded of the programs under GDB: for each of its inferiors a session, from `mtrace
 * start` or the program's first instruction to its end; and what is left of it then.  Commands are
 * about the selected inferior, as GDB's own are; a child that GDB follows is recorded as its parent
 * was.
 *
 * Programs' text is pristine whenever people may look: mt_live_stopped() hides what is patched in,
 * mt_live_resumes() shows it again, but for what must be left alone (pristine.c). */
#ifndef MT_GDB_PLUGIN_LIVE_H
#define MT_GDB_PLUGIN_LIVE_H

#include "births.h"
#include "engine/calls/ring/ring.h"
#include "perf/recording.h"
#include "session/session.h"

/* What was asked for by `mtrace start`. */
struct mt_live_options {
	const char *engine; /* NULL, and 0 below: as `set mtrace` says */
	uint64_t ring_bytes;
	const char *stamps;
	const char *threads;
};

/* Of an inferior, from the first `mtrace start` to the inferior's end. */
struct mt_live {
	int inferior;     /* its number */
	bool armed;       /* it is recorded, whenever it runs */
	bool hidden;      /* nothing of ours is in the text */
	bool over;        /* the program ended, or is not recorded any more */
	bool busy;        /* within a call that makes GDB resume the program */
	bool has_rings;   /* were seen in its memory */
	bool news;        /* it ran since the last snapshot */
	bool one_thread;  /* that is selected at the start, or the first of a new process */
	bool yielded;     /* to GDB's `record` */
	bool interrupted; /* while it was planned: it is not recorded from the next stop on */
	bool forked;      /* GDB may let it go, since it follows a child */
	int crash;        /* the signal of the last stop, if it is one of a crash; 0: none */
	pid_t pid;        /* that is recorded, or was */
	pid_t child;      /* that GDB follows here, and which is not recorded yet; 0: none */
	pid_t lender;     /* of the child's memory, as after vfork(); 0: it has its own */
	pid_t told;       /* that runs unrecorded */
	char *engine;
	char *events; /* that are recorded beside the calls */
	const char *event_lists[2];
	struct mt_log log;
	struct mt_session_options options;
	struct mt_births births;
	struct mt_target *target;
	struct mt_session *session; /* NULL: nothing was recorded */
};

/* Of the selected inferior; NULL: it was never to be recorded. */
struct mt_live *mt_live_selected(void);
/* That records this process; NULL: none does. */
struct mt_live *mt_live_find(pid_t pid);
/* All of them, one after the other: from NULL, to NULL. */
struct mt_live *mt_live_next(const struct mt_live *live);
/* NULL: nothing runs that is recorded; what was, can be looked at all the same.  LIVE may be NULL.
 */
struct mt_session *mt_live_session(const struct mt_live *live);

/* Record the selected inferior from now on, or when it runs.  Errors: USAGE; the session's. */
struct mt_error *mt_live_start(const struct mt_live_options *options);
/* Not any more.  What was recorded stays to be looked at.  Errors: USAGE (nothing is). */
struct mt_error *mt_live_stop(void);
/* The inferior is no more. */
void mt_live_forget(int inferior);
/* At the end of GDB. */
void mt_live_destroy(void);

/* CHILD, in an inferior of its own, is to be recorded as PARENT is.  Errors: NO_MEMORY. */
struct mt_error *mt_live_inherit(const struct mt_live *parent, int inferior, pid_t child,
				 struct mt_live **out);
/* Its session begins: FRESH: with the program's first instruction; else the process stands still,
 * and is hidden then.  Errors: the session's. */
struct mt_error *mt_live_begin(struct mt_live *live, pid_t pid, bool fresh);
/* It ends, but stays to be looked at. */
void mt_live_end(struct mt_live *live);
struct mt_error *mt_live_look_for_rings(const struct mt_live *live, bool *there);

/* live_run.c */
/* The selected inferior, and what runs with it, is about to go on for its user.  Errors: the
 * sessions'. */
struct mt_error *mt_live_resumes(void);
/* The command "continue" is about to run.  Breakpoints of ours can be put into an inferior only
 * while it is selected, which here it can be. */
struct mt_error *mt_live_continues(void);
/* All stand still for their user, before that is told; LWP: who stopped. */
struct mt_error *mt_live_stopped(pid_t lwp);
struct mt_error *mt_live_new_thread(int inferior, pid_t pid, pid_t lwp);
/* If the selected inferior has become another program: that one is recorded now. */
struct mt_error *mt_live_check_exec(void);
/* It is gone, or GDB let it go.  status as waitpid(2) gives it. */
struct mt_error *mt_live_ended(struct mt_live *live, int status);

/* live_snapshot.c.  LIVE NULL: it was never to be recorded, which is an error here. */
/* All that is known, of the program or of the one that ended.  The caller's to close.
 * Errors: USAGE (nothing was recorded). */
struct mt_error *mt_live_recording(const struct mt_live *live, const char *path,
				   struct mt_recording **out);
/* A snapshot, and its timeline: to PATH, NULL: as `set mtrace output` says.  *written, and the
 * recording that it was made of if RECORDING is not NULL, are the caller's to free and close.
 * Errors: USAGE (nothing is recorded); those of writing. */
struct mt_error *mt_live_snapshot(struct mt_live *live, const char *path, char **written,
				  struct mt_recording **recording);
/* How many were taken, of all inferiors. */
uint32_t mt_live_snapshots(void);

#endif
