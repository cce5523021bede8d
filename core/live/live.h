/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recording of programs that a debugger controls: GDB with our plugin, or mtdb's prompt.  Starting
 * and stopping, triggers, snapshots, and what is printed of them are the same in both; what differs
 * stands behind struct mt_live_debugger_ops.
 *
 * A program's text is pristine whenever people may look at it: mt_live_hide() takes the engine's
 * patches out before a stop is reported, mt_live_show() puts them back when the program goes on. */
#ifndef MT_LIVE_LIVE_H
#define MT_LIVE_LIVE_H

#include "base/array.h"
#include "base/str.h"
#include "output/stream.h"
#include "perf/recording.h"
#include "session/session.h"
#include "session/spec/trigger.h"
#include "view/view.h"

#include <string.h>

/* ---- A program ---- */

enum mt_live_state {
	MT_LIVE_OFF,       /* not to be recorded */
	MT_LIVE_ARMED,     /* to be recorded from the start of the next process on */
	MT_LIVE_BEGINNING, /* attaching, which may make the program run */
	MT_LIVE_HIDDEN,    /* recorded; the text is the program's own */
	MT_LIVE_YIELDED, /* as HIDDEN, and remains so for as long as the debugger itself records */
	MT_LIVE_SHOWN,   /* recorded; the patches are in the text */
	MT_LIVE_CANCELLED, /* as SHOWN, but the user interrupted planning: ends at the next stop */
};

/* From the first `mtrace start` on.  Zeroed storage can be deinited. */
struct mt_live {
	enum mt_live_state state;
	bool has_news;       /* the program ran since the last snapshot */
	int crash;           /* the signal of the last stop, if it is one of a crash; 0: none */
	pid_t crash_lwp;     /* the thread that it came to; 0: none */
	bool one_thread;     /* only the selected one, or the first of a new process, is recorded */
	pid_t pid;           /* that is recorded, or was */
	uint64_t changed_ns; /* monotonic: a history that was read before is old */
	/* A thread was stopped by a trigger at `at`: it is not to be asked there again, and goes on
	 * at `pc` if its call has entered the function already, or ended, else 0. */
	struct {
		pid_t lwp; /* 0: none */
		uint64_t at, sp, pc;
		bool at_return;
	} passing;
	char *engine;
	char *events; /* that are recorded beside the calls */
	const char *event_lists[2];
	struct mt_session_options options;
	struct mt_target *target;      /* of the session; owned */
	struct mt_decode_files *files; /* of the process, from one snapshot to the next */
	struct mt_session *session;    /* outlives the recording, to be looked at; NULL: none */
};

void mt_live_deinit(struct mt_live *live);
/* Whether a process is being recorded now.  LIVE may be NULL. */
bool mt_live_is_recording(const struct mt_live *live);
/* That of the process that is being recorded; NULL: none is.  LIVE may be NULL. */
struct mt_session *mt_live_session(const struct mt_live *live);
/* Settings as OTHER's.  Errors: NO_MEMORY. */
struct mt_error *mt_live_inherit(struct mt_live *live, const struct mt_live *other);

/* Starts to record PID; what was recorded before is discarded.  FRESH: it has not run an
 * instruction yet; else it stands still, and is hidden then.  TARGET belongs to LIVE from now on,
 * also if this fails.  LWP: the selected thread.  Errors: the session's; it is armed then, if it
 * was. */
struct mt_error *mt_live_begin(struct mt_live *live, struct mt_target *target, pid_t pid, pid_t lwp,
			       bool fresh);
/* The process is gone.  What was recorded can still be looked at. */
void mt_live_end(struct mt_live *live);
/* The same while it stands still, with all that was put into it taken out. */
void mt_live_leave(struct mt_live *live);
/* Discards what was recorded. */
void mt_live_discard(struct mt_live *live);

/* Before anybody looks.  Errors: the session's; USAGE (planning was interrupted: it is not recorded
 * any more). */
struct mt_error *mt_live_hide(struct mt_live *live);

/* What stays out of the text when the program goes on: see struct mt_engine_alone. */
struct mt_live_alone {
	MT_ARRAY(uint64_t) places; /* of the debugger's breakpoints */
	MT_ARRAY(uint64_t) functions;
	MT_ARRAY(pid_t) told;
};
/* Errors: NO_MEMORY. */
struct mt_error *mt_live_add_place(void *alone, uint64_t address);
struct mt_error *mt_live_add_function(struct mt_live_alone *alone, uint64_t address);
struct mt_error *mt_live_add_told(struct mt_live_alone *alone, pid_t lwp);
void mt_live_alone_deinit(struct mt_live_alone *alone);
/* The program goes on.  Errors: the session's. */
struct mt_error *mt_live_show(struct mt_live *live, struct mt_live_alone *alone);

/* ---- A debugger ---- */

/* As `set mtrace` names them. */
enum mt_live_setting {
	MT_LIVE_ENGINE,
	MT_LIVE_BUFFER_SIZE,
	MT_LIVE_TIMESTAMPS,
	MT_LIVE_EVENTS,
	MT_LIVE_PYTHON_CALLS, /* "on" or "off" */
	MT_LIVE_OUTPUT,
	MT_LIVE_ON_CRASH,     /* likewise */
	MT_LIVE_ON_EXIT,      /* likewise */
	MT_LIVE_HISTORY_SIZE, /* "0": all */
	MT_LIVE_SETTINGS,
};
/* Their values before anybody changes them. */
extern const char *const mt_live_defaults[MT_LIVE_SETTINGS];

struct mt_live_thread {
	unsigned number; /* the debugger's */
	pid_t lwp;
	const char *name; /* lent for the call */
};
typedef void mt_live_thread_found(void *context, const struct mt_live_thread *thread);

struct mt_live_trigger {
	uint32_t number;
	struct mt_trigger_spec spec;
	struct mt_trigger_count count; /* where its limits are kept here */
	uint32_t hits;                 /* that count */
	void *breakpoint;              /* the debugger's */
	void *script;                  /* the debugger's, for tell_script(); NULL: none */
	/* Where the program evaluates it itself (gate.c). */
	MT_ARRAY(struct mt_live_gate) gates;
	bool is_aside;     /* its breakpoint is not in the program, since gates are, or for good */
	bool was_aside;    /* the same while the program ran last */
	bool is_told;      /* why, once */
	uint32_t problems; /* how often the debugger could not evaluate its condition */
	char *problem;     /* why, the first time */
	/* It is evaluated by the debugger, or, if it needs gates, by nobody; NULL: it is not so, or
	 * that is not known. */
	char *why;
	/* None of the user's, but where the program asks for snapshots by mtrace.h (words.c): it
	 * has no breakpoint. */
	bool is_own;
};

/* What it is about the program alone finds, at returns or by its clock: its breakpoint never stands
 * for it. */
static inline bool mt_live_needs_gates(const struct mt_live_trigger *trigger)
{
	const struct mt_trigger_spec *spec = &trigger->spec;

	return spec->at_return || spec->slower_ns || spec->span_ns;
}

/* A thread may stay where its hit was. */
static inline bool mt_live_may_stop(const struct mt_live_trigger *trigger)
{
	return trigger->spec.stops || trigger->script;
}

/* A hit is where its breakpoint is, so that a thread that stops there for something else may be one
 * of its own. */
static inline bool mt_live_is_asked_at_entry(const struct mt_live_trigger *trigger)
{
	return !mt_live_needs_gates(trigger) ||
	       (mt_live_may_stop(trigger) && trigger->spec.span_ns);
}

/* At its hits somebody looks at the thread. */
static inline bool mt_live_is_looked_at(const struct mt_live_trigger *trigger)
{
	return mt_live_may_stop(trigger) || trigger->spec.expressions.count ||
	       strcmp(trigger->spec.location, MT_TRIGGER_INDICATOR) == 0;
}

/* It has taken all its snapshots. */
static inline bool mt_live_is_done(const struct mt_live_trigger *trigger)
{
	return trigger->spec.most && trigger->hits >= trigger->spec.most;
}

/* Arguments or results that are recorded with calls. */
struct mt_live_values {
	uint32_t number;
	uint32_t
	    session_number; /* the session's: also that of what was refused is never used again */
	struct mt_values_spec spec;
	char *why;     /* they are not recorded; NULL: they are, or it is not known yet */
	bool is_wrong; /* they mean nothing */
	bool is_told;  /* why, once */
};

struct mt_live_gate {
	struct mt_engine_gate gate;
	uint64_t address; /* where the debugger has its breakpoint */
	bool is_begin;    /* of a span: nobody stops there, and there is none */
};

/* A snapshot. */
struct mt_live_written {
	uint32_t number;
	char *path;
	char *whole; /* for when the directory has changed */
};

typedef struct mt_error *mt_live_location_found(void *context, uint64_t address);

struct mt_live_debugger_ops {
	const char *const *engines; /* that `mtrace start` takes, NULL at the end */
	/* Of the selected program; NULL: it was never to be recorded.  MAKE: make one then, NULL
	 * without memory. */
	struct mt_live *(*selected)(void *context, bool make);
	/* Of the selected process and thread; 0: none. */
	pid_t (*pid)(void *context);
	pid_t (*lwp)(void *context);
	void (*each_thread)(void *context, mt_live_thread_found *found, void *found_context);

	/* Why the selected program cannot be recorded now; NULL: it can. */
	struct mt_error *(*refuse)(void *context);
	/* What is looked at is no process, but what one left, and its recording is in this file;
	 * the caller frees it.  NULL: it is a process, or has none. */
	char *(*kept)(void *context);
	/* Why the selected program has no history, where that is not for want of `mtrace start`. */
	struct mt_error *(*explain_nothing)(void *context);
	/* The selected process, which stands still, is to be recorded: mt_live_begin(). */
	struct mt_error *(*begin)(void *context, struct mt_live *live);
	/* LIVE is not recorded any more, by `mtrace stop`. */
	void (*ended)(void *context, struct mt_live *live);
	/* A line for each program that is recorded beside the selected one. */
	void (*list_others)(void *context);

	/* A breakpoint at whose hits mt_live_fire() is called.  SAID is what the user is to read of
	 * it if it stays.  May replace the location.  Errors: NOT_FOUND (there is no such place,
	 * and it is not to be pending); those of the location and the condition. */
	struct mt_error *(*set_breakpoint)(void *context, struct mt_live_trigger *trigger,
					   struct mt_str *said);
	/* The trigger is about to go. */
	void (*delete_breakpoint)(void *context, struct mt_live_trigger *trigger);
	/* The user has not deleted it. */
	bool (*has_breakpoint)(void *context, const struct mt_live_trigger *trigger);
	/* Calls FOUND where the breakpoint stands in the selected program, until an error.  Errors:
	 * UNSUPPORTED (why it needs the debugger); NOT_FOUND (why, for now); FOUND's. */
	struct mt_error *(*each_location)(void *context, const struct mt_live_trigger *trigger,
					  mt_live_location_found *found, void *found_context);
	/* Of the selected program, whether or not it runs yet: at the most SIZE bytes; how many.
	 * NULL, as the next two: it is not known where instructions begin. */
	size_t (*read_code)(void *context, uint64_t address, void *bytes, size_t size);
	bool (*has_code)(void *context, uint64_t address);
	/* Where the function begins that has ADDRESS; 0: not known. */
	uint64_t (*function_start)(void *context, uint64_t address);
	/* Threads may stop for gates from now on that are of no breakpoint.  NULL: nothing has to
	 * be done for that. */
	void (*expect_gates)(void *context);
	/* The breakpoint is not to be in the program from now on, or is again. */
	void (*set_aside)(void *context, const struct mt_live_trigger *trigger, bool aside);
	/* LIVE's selected thread stands elsewhere now.  NULL: nobody has to know. */
	void (*moved)(void *context, struct mt_live *live);
	/* What it costs when the debugger evaluates a condition: "about 200 us a call". */
	const char *cost;
	const char *name; /* the debugger's */
	/* "EXPRESSION = VALUE" in the selected thread. */
	struct mt_error *(*evaluate)(void *context, const char *expression, struct mt_str *out);
	/* "NAME = VALUE", a line for each argument of the function where the selected thread is. */
	struct mt_error *(*arguments)(void *context, struct mt_str *out);

	/* The window of the history has changed: it is drawn again.  False: none is open.  NULL:
	 * the debugger has no windows. */
	bool (*draw_window)(void *context);
	/* Shows the line where the user looks at the source.  NULL: its place is printed. */
	struct mt_error *(*show_source)(void *context, const char *file, uint32_t line);

	/* The caller's to free; NULL: as mt_live_defaults says. */
	char *(*setting)(void *context, enum mt_live_setting which);
	/* SNAPSHOT was taken, of what RECORDING has; both are lent.  NULL: nobody has to know. */
	void (*taken)(void *context, const struct mt_live_written *snapshot,
		      struct mt_recording *recording);
	/* The selected thread has hit a trigger with a script: *STOPS if that has it stop.
	 * SNAPSHOT and its RECORDING are lent; NULL: nothing is recorded.  NULL: there are no
	 * scripts.  Errors: INTERRUPTED. */
	struct mt_error *(*tell_script)(void *context, const struct mt_live_trigger *trigger,
					const struct mt_live_written *snapshot,
					struct mt_recording *recording, bool *stops);
	/* $NAME. */
	void (*set_variable)(void *context, const char *name, uint64_t value);
	/* $_ret: the selected thread stands at a return. */
	void (*set_result)(void *context);
};

/* A debugger, and what all its programs share. */
struct mt_live_debugger {
	const struct mt_live_debugger_ops *ops;
	void *context;
	struct mt_printer printer;
	bool colour;
	const struct mt_log *log;
	const struct mt_progress *progress;
	uint32_t snapshots; /* how many were taken, of all programs */
	MT_ARRAY(struct mt_live_written) written;
	MT_ARRAY(struct mt_live_trigger *) triggers;
	/* By scripts, while a hit was handled: they go at the next stop. */
	MT_ARRAY(struct mt_live_trigger *) deleted;
	/* The program's own. */
	MT_ARRAY(struct mt_live_trigger *) askers;
	unsigned taking; /* hits that are being handled */
	uint32_t last_trigger;
	MT_ARRAY(struct mt_live_values) values;
	uint32_t last_values, last_session_values;
	uint32_t hits; /* of all triggers */
	struct {
		struct mt_view *view; /* NULL: none was asked for */
		pid_t pid, tid;
		uint64_t changed_ns; /* of the program that it is of */
	} window;
};

void mt_live_debugger_deinit(struct mt_live_debugger *debugger);
void mt_live_printf(const struct mt_live_debugger *debugger, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The caller's to free; NULL without memory. */
char *mt_live_setting(const struct mt_live_debugger *debugger, enum mt_live_setting which);

/* What was typed behind `mtrace start`; NULL: as the settings say. */
struct mt_live_start {
	const char *engine, *size, *threads, *stamps;
	bool python_calls;
};
/* Records the selected program from now on, or from its start.  Options that make no sense change
 * nothing.  Errors: USAGE; the debugger's; the session's. */
struct mt_error *mt_live_start(struct mt_live_debugger *debugger,
			       const struct mt_live_start *options);
/* Errors: USAGE (nothing is being recorded, or it is running). */
struct mt_error *mt_live_stop(struct mt_live_debugger *debugger);
/* All that is recorded, the snapshots and the triggers. */
void mt_live_info(const struct mt_live_debugger *debugger);
/* Prints which functions are recorded, and why the others are not (functions.c): how many, or each
 * whose name PATTERN is, as people write it, or a glob.  Errors: USAGE (nothing is being recorded);
 * NOT_FOUND (no such function); mt_session_each_function()'s. */
struct mt_error *mt_live_functions(const struct mt_live_debugger *debugger, const char *pattern);
/* What was typed behind `mtrace history`. */
struct mt_live_history {
	uint64_t last;          /* calls; 0: all */
	pid_t tid;              /* 0: of all threads */
	bool by_threads;        /* not of the goroutine that it runs */
	const char *function;   /* only its calls, with their callers; NULL: all.  Lent. */
	bool is_unfolded;       /* also those that output/fold.h leaves out */
	bool is_for_statistics; /* decode/timeline.h, as the next two */
	const char *(*missed)(void *context);
	void *context;
};
/* Of the selected thread, as much as `set mtrace history-size` says. */
struct mt_live_history mt_live_default_history(const struct mt_live_debugger *debugger);
/* Prints it, or gives SINK what it is made of: all calls, however many are wanted; NULL: it prints.
 * Errors: those of mt_live_open() and mt_timeline_write(); USAGE (no calls of it were recorded);
 * the sink's. */
struct mt_error *mt_live_history(struct mt_live_debugger *debugger,
				 const struct mt_live_history *what,
				 const struct mt_slice_sink *sink);
/* The error. */
struct mt_error *mt_live_no_calls_of(pid_t tid);

/* ---- The history as a list to walk in (window.c) ---- */

/* That of the selected thread, or of all threads of a program that ended: read when it is first
 * asked for at a stop.  While the program runs it stays as it was.  Lent, until the program has run
 * on.  Errors: those of mt_live_history(). */
struct mt_error *mt_live_view(struct mt_live_debugger *debugger, struct mt_view **out);
/* Prints COUNT lines around the selected one. */
void mt_live_print_view(const struct mt_live_debugger *debugger, struct mt_view *view,
			size_t count);
/* Prints the last COUNT lines, and nothing but them.  Errors: as above. */
struct mt_error *mt_live_context(struct mt_live_debugger *debugger, uint64_t count);

/* ---- Triggers in the program (gate.c) ---- */

/* The selected program LIVE, whose threads all stand still, is about to go on, or its loader has
 * loaded libraries: what it can evaluate itself of the triggers has gates, and their breakpoints
 * are set aside; but for what is left ALONE, which may be NULL.  Errors: the session's. */
struct mt_error *mt_live_place_triggers(struct mt_live_debugger *debugger, struct mt_live *live,
					const struct mt_live_alone *alone);
/* The same for a child that the debugger has just followed, whose breakpoints it must not be asked
 * for yet: what the program alone finds has its gates where the parent had them. */
struct mt_error *mt_live_inherit_gates(struct mt_live_debugger *debugger, struct mt_live *live);
/* After mt_live_show(): those in functions that were left alone have their breakpoints again. */
void mt_live_check_triggers(struct mt_live_debugger *debugger, struct mt_live *live);
/* The program has stopped, or ended: all have, before anybody looks. */
void mt_live_stop_triggers(struct mt_live_debugger *debugger);
/* Likewise after they were placed while it stands. */
void mt_live_take_back_triggers(struct mt_live_debugger *debugger);
void mt_live_take_back_trigger(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger);

struct mt_live_passed {
	struct mt_live_trigger *trigger; /* that fired; NULL: it was deleted meanwhile */
	struct mt_error *error;          /* those of mt_live_fire(), and the session's */
	bool stops;                      /* the thread is to stop where it stands now */
	bool can_break; /* the trigger's breakpoint can be put there while others run */
};
/* The selected thread of LIVE stands for SIGURG.  False: that has nothing to do with a trigger.
 * Else it goes on where the breakpoint would have stopped it. */
bool mt_live_pass_gate(struct mt_live_debugger *debugger, struct mt_live *live,
		       struct mt_live_passed *passed);
/* Appends how TRIGGER is evaluated, and what became of that: "" or lines, indented. */
void mt_live_tell_gates(const struct mt_live_debugger *debugger,
			const struct mt_live_trigger *trigger, struct mt_str *out);

/* ---- Values of calls (values.c) ---- */

/* TEXT: see session/spec/values.h.  They are recorded when the selected program goes on.  Errors:
 * USAGE (nothing that makes sense, as far as that can be told by now); the session's. */
struct mt_error *mt_live_add_values(struct mt_live_debugger *debugger, const char *text,
				    bool is_result);
/* Errors: USAGE ("No values number 7."). */
struct mt_error *mt_live_delete_values(struct mt_live_debugger *debugger, const char *number);
/* Prints a line, or more, for each. */
void mt_live_list_values(const struct mt_live_debugger *debugger);
/* With the triggers (mt_live_place_triggers()).  Errors: the session's. */
struct mt_error *mt_live_place_values(struct mt_live_debugger *debugger, struct mt_live *live);

/* ---- What the program says by mtrace.h (words.c) ---- */

/* Before the user's triggers and values are placed: theirs is the place where both are.  Errors:
 * the engine's. */
struct mt_error *mt_live_make_way(struct mt_live_debugger *debugger, struct mt_live *live);
/* After them: it is recorded, and a snapshot taken where it asks for one.  Errors: the session's.
 */
struct mt_error *mt_live_place_words(struct mt_live_debugger *debugger, struct mt_live *live);
void mt_live_destroy_trigger(struct mt_live_trigger *trigger);

/* ---- Snapshots (snapshot.c) ---- */

/* To look at: what was kept of what is looked at, else a copy of what LIVE, which may be NULL, has
 * recorded.  *TID becomes 0 where that is of another process than the selected one.  Errors: those
 * of mt_recording_open() and mt_live_copy(). */
struct mt_error *mt_live_open(const struct mt_live_debugger *debugger, const struct mt_live *live,
			      pid_t *tid, struct mt_recording **out);

/* *GOROUTINE: whose history is to be looked at in place of that of thread TID, which runs it; of
 * all threads (0): which one died, and the program of it.  0: none, or it is not known.  Errors:
 * mt_decode_last_goroutine()'s. */
struct mt_error *mt_live_goroutine(const struct mt_live_debugger *debugger, struct mt_live *live,
				   struct mt_recording *recording, pid_t tid, uint64_t *goroutine);

/* All that is known of the program LIVE, or of the one that ended, as a recording at PATH; NULL: a
 * file without a name.  The caller's to close.  LIVE may be NULL.  Errors: USAGE (nothing was
 * recorded; no name). */
struct mt_error *mt_live_copy(const struct mt_live_debugger *debugger, const struct mt_live *live,
			      const char *path, struct mt_recording **out);
/* Takes a snapshot and writes its timeline to PATH; NULL: as `set mtrace output` says.  *WRITTEN,
 * lent until the next snapshot, is where; *RECORDING is the caller's to close, if RECORDING is not
 * NULL.  Errors: as above; those of writing. */
struct mt_error *mt_live_snapshot(struct mt_live_debugger *debugger, struct mt_live *live,
				  const char *path, const char **written,
				  struct mt_recording **recording);
/* The program stopped, for SIGNAL or for something else (0): if it crashed, and ran since the last
 * snapshot, one is taken and reported, unless `set mtrace on-crash` is off. */
struct mt_error *mt_live_stopped(struct mt_live_debugger *debugger, struct mt_live *live,
				 int signal);
/* It ended, by SIGNAL or by itself (0), or WAS_LET_GO: it goes on without the debugger.  The same
 * is done for a crash at which it did not stop, and at any end if `set mtrace on-exit` is on. */
struct mt_error *mt_live_ended(struct mt_live_debugger *debugger, struct mt_live *live, int signal,
			       bool was_let_go);
/* SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL. */
bool mt_live_is_crash(int signal);
/* The whole path of the timeline that was written last; NULL: none was. */
const char *mt_live_last_written(const struct mt_live_debugger *debugger);

/* ---- Triggers (trigger.c) ---- */

/* TEXT: see session/spec/trigger.h.  SCRIPT: the debugger's, whose it stays if this fails.
 * Errors: USAGE (a hit is being handled); the debugger's. */
struct mt_error *mt_live_add_trigger(struct mt_live_debugger *debugger, const char *text,
				     void *script);
/* Why TRIGGER, whose breakpoint is set, cannot be where it is (address.c).  Errors: USAGE (no
 * instruction begins there). */
struct mt_error *mt_live_check_address(const struct mt_live_debugger *debugger,
				       const struct mt_live_trigger *trigger);
/* A script may do this while a hit is handled: nobody is stopped any more, and the breakpoint goes
 * at the next stop.  Errors: USAGE ("No trigger number 7."). */
struct mt_error *mt_live_delete_trigger(struct mt_live_debugger *debugger, const char *number);
/* Those that scripts deleted go, unless a hit is being handled. */
void mt_live_drop_deleted(struct mt_live_debugger *debugger);
/* The selected thread came to TRIGGER, whose condition could not be evaluated, and goes on. */
void mt_live_note_problem(struct mt_live_trigger *trigger, const char *why);
/* The selected thread came to TRIGGER, and its condition holds.  *STOPS: it is to stop.  Errors:
 * those of a snapshot. */
struct mt_error *mt_live_fire(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
			      bool *stops);

/* A hit that counts. */
struct mt_live_hit {
	uint64_t pc;      /* where the debugger is to see the thread */
	uint64_t real_pc; /* where it stands and goes on: in a trampoline maybe; 0: at pc */
	uint64_t took_ns; /* the call, or span, that ends; 0: not known */
	bool at_return;
};
/* The same of HIT.  Only for as long as somebody has to look is the thread at HIT->pc, where it
 * stays if it is to stop: should we be killed meanwhile, it could not go on from there. */
struct mt_error *mt_live_take(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
			      const struct mt_live_hit *hit, bool *stops);

#endif
