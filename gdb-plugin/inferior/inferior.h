/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB's inferiors that are recorded (live/live.h): each from its first `mtrace start`, or from its
 * parent's fork, to its removal.  Commands are about the selected inferior, as GDB's own are; a
 * child that GDB follows is recorded as its parent was. */
#ifndef MT_GDB_PLUGIN_INFERIOR_INFERIOR_H
#define MT_GDB_PLUGIN_INFERIOR_INFERIOR_H

#include "gdb-plugin/inferior/births.h"
#include "gdb-plugin/inferior/entries.h"
#include "live/live.h"

struct mt_inferior {
	struct mt_live live; /* the first member */
	int number;          /* GDB's */
	bool has_rings;      /* were seen in its memory */
	bool hidden_early;   /* before GDB has told that it stands still */
	bool forked;         /* GDB may let it go, since it follows a child */
	int crash;           /* the signal of the last stop, if it is one of a crash; 0: none */
	pid_t child;         /* that GDB follows here, and which is not recorded yet; 0: none */
	pid_t lender;        /* of the child's memory, as after vfork(); 0: it has its own */
	pid_t reported;      /* as not being recorded */
	pid_t refused;       /* and it was said why it cannot be */
	mt_births births;
	struct mt_entries entries;
};

/* GDB, and what is shared by all of its inferiors; debugger.h fills it in. */
struct mt_live_debugger *mt_gdb_debugger(void);

/* The selected one; NULL: it was never to be recorded. */
struct mt_inferior *mt_inferior_selected(void);
/* The one that records this process; NULL: none does. */
struct mt_inferior *mt_inferior_find(pid_t pid);
/* Iterates over all of them: from NULL, to NULL. */
struct mt_inferior *mt_inferior_next(const struct mt_inferior *inferior);
/* Finds or makes one.  NULL: no memory. */
struct mt_inferior *mt_inferior_of(int number);
/* GDB has removed the inferior. */
void mt_inferior_forget(int number);
void mt_inferiors_destroy(void);

/* Starts to record its process: see mt_live_begin(). */
struct mt_error *mt_inferior_begin(struct mt_inferior *inferior, pid_t pid, bool fresh);
/* It is not recorded any more.  What was recorded can still be looked at. */
void mt_inferior_end(struct mt_inferior *inferior);
/* The same while it stands still, with all that we put into it taken out. */
void mt_inferior_leave(struct mt_inferior *inferior);
/* CHILD, in an inferior of its own, is to be recorded as PARENT is.  Errors: NO_MEMORY. */
struct mt_error *mt_inferior_inherit(const struct mt_inferior *parent, int number, pid_t child,
				     struct mt_inferior **out);
struct mt_error *mt_inferior_look_for_rings(const struct mt_inferior *inferior, bool *there);

/* run.c */
/* Those that are hidden are so in memory, too, and go on as they are.  Errors: the sessions'. */
struct mt_error *mt_inferiors_unmask(void);
/* The selected inferior, and what runs with it, is about to go on for its user.  Errors: the
 * sessions'. */
struct mt_error *mt_inferiors_resume(void);
/* The command "continue" is about to run.  Breakpoints of ours can be put into an inferior only
 * while it is selected, which here it can be. */
struct mt_error *mt_inferiors_continue(void);
/* All stand still for their user, before that is reported; LWP: who stopped. */
struct mt_error *mt_inferiors_stopped(pid_t lwp);
/* The same where the selected one stands still, and no event has told so. */
struct mt_error *mt_inferiors_settle(void);
/* Hides one of which that is so, amid a command of GDB's. */
struct mt_error *mt_inferior_hide_early(struct mt_inferior *inferior);
struct mt_error *mt_inferior_new_thread(int number, pid_t pid, const struct mt_live_thread *thread);
/* If the selected inferior has become another program: that one is recorded now. */
struct mt_error *mt_inferior_check_exec(void);
/* The command "detach" is about to run. */
struct mt_error *mt_inferiors_detach(void);
/* It is gone, or GDB let it go.  STATUS as waitpid(2) gives it; STOOD_STILL: until then, with all
 * of its threads. */
struct mt_error *mt_inferior_ended(struct mt_inferior *inferior, int status, bool stood_still);

#endif
