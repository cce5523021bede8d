/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engines: ways to keep a ring of what each thread did.  A session drives one over a target.  A new
 * engine is one file and one line in the table.
 *
 * The session hands every stop of a known thread to stopped(), and lets threads go on with resume()
 * alone, so that an engine can step, or patch the text, as it likes.  Rings are read by snapshot()
 * into a recording, which empties them: what two snapshots hold never overlaps. */
#ifndef MT_ENGINE_ENGINE_H
#define MT_ENGINE_ENGINE_H

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "engine/calls/ring/ring.h"
#include "kernel/pmu.h"
#include "perf/recording_writer.h"
#include "process/target.h"
#include "space/unwind.h"

#define MT_ENGINE_DEFAULT_RING_BYTES (4u << 20)
#define MT_ENGINE_TICK_MS            10
#define MT_ENGINE_LEAST_RING_BYTES   (16u << 10)

#define MT_ENGINE_DEFAULT_SAMPLE_NS   1000000
#define MT_ENGINE_DEFAULT_STACK_BYTES 8192
#define MT_ENGINE_MOST_STACK_BYTES    65024 /* with the rest a record has up to 65535 */

struct mt_engine;
struct mt_expr;

/* The branches that single-stepping saw: the truth that tests compare decoders with. */
enum mt_seen_kind {
	MT_SEEN_CALL,
	MT_SEEN_RETURN,
	MT_SEEN_JUMP,    /* taken; conditional ones too */
	MT_SEEN_SYSCALL, /* from: the instruction; to 0.  Other ways into the kernel on purpose too
			  */
	MT_SEEN_STOP,    /* from: the instruction that did not run; to 0 */
	MT_SEEN_START,   /* to: the first instruction of a stretch; from 0 */
};

struct mt_seen {
	pid_t lwp;
	uint8_t kind; /* enum mt_seen_kind */
	uint64_t from;
	uint64_t to;
};

/* For Intel PT by the processor. */
struct mt_engine_pt_options {
	const char *asked; /* one of these that the user named: "--per-cpu"; NULL: none */
	enum mt_pmu_resolution resolution; /* of times */
	const char *const *filters;        /* engine/pt/filter.h; NULL at the end; or NULL */
	bool per_cpu;                      /* a ring a CPU */
	bool full_execution;               /* nothing is overwritten: see drain() */
	bool no_return_compression;
	bool ptwrite;
	bool power_events;
};

/* For samples of stacks. */
struct mt_engine_sample_options {
	const char *asked;    /* as above: "--frequency" */
	uint64_t period_ns;   /* of a thread that runs; 0: MT_ENGINE_DEFAULT_SAMPLE_NS */
	uint64_t stack_bytes; /* in each, a multiple of 8; 0: MT_ENGINE_DEFAULT_STACK_BYTES */
	bool follows_frame_pointers; /* the kernel does, and no memory is recorded */
};

struct mt_engine_options {
	uint64_t ring_bytes;                  /* a thread; 0: MT_ENGINE_DEFAULT_RING_BYTES */
	struct mt_time_conversion conversion; /* the session's own */
	const struct mt_log *log;             /* may be NULL */
	/* Of planning, and of snapshots that leave rings as they are; may be NULL. */
	const struct mt_progress *progress;
	/* The rest is for engines that record calls.  Globs are as fnmatch(3)'s, each list with
	 * NULL at its end; a list that is NULL is no limit. */
	enum mt_ring_stamps stamps;
	const char *const *modules;      /* record only these files: name, or path */
	const char *const *functions;    /* record only these functions */
	const char *const *no_functions; /* but these not */
	/* A function that alone would fill a thread's ring within this time is not recorded any
	 * more; 0: all are. */
	uint64_t throttle_ns;
	struct mt_engine_pt_options pt;
	struct mt_engine_sample_options sample;
	bool kernel;       /* what it does for the program as well; for `pt` and `sample` */
	bool follow_forks; /* children will be added too */
	/* May be NULL.  Only engines that single-step call it. */
	void (*seen)(void *context, const struct mt_seen *seen);
	void *seen_context;
	/* May be NULL.  An engine that works long while a process runs calls it in between: what
	 * threads report is handled, and they go on. */
	struct mt_error *(*breathe)(void *context);
	void *breathe_context;
	/* May be NULL.  Called in a snapshot of all threads once these may go on, also the one
	 * whose stop it is taken for: what is written of them was copied. */
	struct mt_error *(*copied)(void *context);
	void *copied_context;
	pid_t only; /* this thread, by LWP, and no other; 0: all.  Not for the engine pt */
	/* A front end's live session: a snapshot leaves the rings as they are, and the next one
	 * holds it all again. */
	bool live;
	/* The leftovers of another session that attach() found are no longer in the code: see
	 * clean(). */
	bool is_clean;
	bool share_cpu; /* the program may be kept on one CPU with us (process/pin.h) */
};

/* Where the text is to be left alone: addresses, each list in ascending order. */
struct mt_engine_alone {
	const uint64_t *places; /* of breakpoints */
	size_t place_count;
	const uint64_t *functions; /* all of the functions that hold them */
	size_t function_count;
	/* Threads that have been told of a breakpoint where they stand, and go on over it; the
	 * others come to it. */
	const pid_t *told;
	size_t told_count;
};

/* The current contents of a thread's ring. */
struct mt_engine_ring {
	uint64_t bytes; /* its size */
	uint64_t used;  /* of these */
	/* From the oldest call in it to the last moment in which the thread ran; UINT64_MAX: not
	 * known. */
	uint64_t span_ns;
};

/* The meaning of a stop to the engine. */
struct mt_engine_news {
	bool ordinary;     /* part of the engine's own work: the thread has only to go on, without
			    * the signal */
	bool breakpoint;   /* one that was asked for: pc is its address */
	bool holds;        /* and the condition that was given with it */
	const char *asked; /* the text of that one; NULL: all that were given for the address */
	uint64_t took_ns;  /* the call, or span, that ended there; 0: none was measured */
	bool left;         /* a process that let_go() kept for a while can be let go now */
	bool maps_changed; /* executable memory may have been mapped */
	uint64_t pc; /* of the instruction that runs next, if the thread goes on; 0: not known */
	uint64_t time_ns; /* when, in the recording's clock */
	uint64_t late_ns; /* of a fault: it happened so long before, at the most */
};

/* An argument, or a result, that is recorded. */
struct mt_engine_value {
	const struct mt_expr *expr; /* lives as long as the engine */
	const char *name;           /* "" of a result; the same */
};

/* The time that passes in a thread from its last coming to one place to its coming to another. */
enum mt_engine_span {
	MT_ENGINE_SPAN_NONE,
	MT_ENGINE_SPAN_BEGIN, /* no thread ever stops there */
	MT_ENGINE_SPAN_END,   /* which it is once for each beginning */
	MT_ENGINE_SPAN_AGAIN, /* both: from one coming to the next */
};

/* Which of the hits of a breakpoint count.  All 0: each. */
struct mt_engine_limits {
	uint64_t ignore;      /* so many first ones do not */
	uint64_t every;       /* of the others only each so-many-th */
	uint64_t interval_ns; /* of these none before this time has passed since the last */
	bool can_end;         /* a gate's: see mute() */
};

static inline bool mt_engine_is_limited(const struct mt_engine_limits *limits)
{
	return limits->ignore || limits->every > 1 || limits->interval_ns;
}

/* The condition of a breakpoint: where it holds, threads are to stop.  An engine that can evaluates
 * it in the program; else each thread stops, and whoever set it evaluates it. */
struct mt_engine_condition {
	/* Parsed at the address; lives as long as the engine; NULL: it always holds. */
	const struct mt_expr *expr;
	const char *text; /* of all that was asked for: "foo if x > 5"; the same */
	uint32_t trigger; /* all that are one to the user have one number */
	/* Not 0: of calls that begin at the address while `expr` holds, those that take longer;
	 * threads stop where they end.  Only for engines that measure calls. */
	uint64_t slower_ns;
	/* Threads stop where such calls return, if `expr`, which is about that, holds; the same. */
	bool at_return;
	/* Threads stop at the address if more than that has passed since a BEGIN of the same
	 * trigger, and `expr` holds; the same.  Errors of set(): TRIGGER (why it cannot be). */
	enum mt_engine_span span;
	uint64_t span_ns;
	bool wants_duration; /* `expr` contains $_duration */
	/* Not NULL: no thread ever stops there.  These are recorded with each call that begins at
	 * the address, or, AT_RETURN, that ends; of those that cannot be, the log says why. */
	const struct mt_engine_value *values;
	size_t value_count;
	const char *option;  /* by which the user asked for values: "--args"; static */
	bool is_one_of_many; /* functions with that text: the log has the first reason alone */
	bool is_implied;     /* nobody asked for it: why it cannot be is not told */
	bool is_of_runtime;  /* a language's, to whose functions no child of vfork(2) comes */
	/* Of the hits for which `expr` holds, at all places of the trigger's.  Kept by an engine
	 * that evaluates it. */
	struct mt_engine_limits limits;
};

/* Breakpoints. */
struct mt_engine_break_ops {
	bool in_registers; /* each address takes a debug register */
	bool measures;     /* calls and spans: see slower_ns */
	/* Have threads of PID stop at ADDRESS, and report it by news.breakpoint.  CONDITION NULL:
	 * it has none.  One address may have several conditions.  Errors: the target's; NOT_FOUND
	 * (no code is there); those of a condition that means nothing. */
	struct mt_error *(*set)(struct mt_engine *engine, pid_t pid, uint64_t address,
				const struct mt_engine_condition *condition);
	/* Not any more.  Only where they take debug registers. */
	void (*clear)(struct mt_engine *engine, pid_t pid, uint64_t address);
	/* No thread of PID is to stop for TRIGGER any more; some still may.  NULL: they all do.
	 * Errors: the target's. */
	struct mt_error *(*retire)(struct mt_engine *engine, pid_t pid, uint32_t trigger);
	/* What $_thread is to conditions that LWP, which stands still, evaluates itself from now
	 * on; before that, and in threads without a ring, 0.  NULL: none does. */
	void (*number)(struct mt_engine *engine, pid_t lwp, unsigned number);
};

/* What became of a gate's condition. */
struct mt_engine_gate_errors {
	uint32_t reads;     /* of memory that is not there: so often it could not be evaluated */
	uint32_t divisions; /* by zero: the same */
	uint32_t unset;     /* thread-local storage that the thread does not have yet: the same */
	uint32_t undecided; /* $_regex met characters that it does not know: the same */
	uint64_t address;   /* of the last such read */
	uint32_t missed;    /* hits of all gates of the process, by threads that block SIGURG */
	uint32_t lost;      /* returns while the program was stopped for something else */
	uint32_t left;      /* calls that ended by an exception, longjmp() or a jump elsewhere */
};

/* The gate of a debugger's trigger. */
struct mt_engine_gate {
	uint64_t address; /* of the function, or the line's instruction */
	uint32_t trigger; /* struct mt_engine_condition's */
};

struct mt_engine_gate_hit {
	struct mt_engine_gate gate; /* address 0: none was hit */
	bool at_return;
	uint64_t took_ns; /* the call, or span, that ends; 0: that was not measured */
};

/* Gates, for debuggers with breakpoints of their own: at a function's entry, where its calls end,
 * or at a line, the program itself finds out whether a thread is to stop.  One that is sends itself
 * SIGURG, and stands for that. */
struct mt_engine_gate_ops {
	/* All threads stand still.  ADDRESS: of the function, or the line's instruction; there is
	 * one gate at the most that stops threads.  CONDITION->expr NULL: each thread is to, but at
	 * those of values. Errors: BUSY (the program is not patched yet); NOT_FOUND (nothing there
	 * is patched, or not yet); UNSUPPORTED (why it cannot be: "x is optimized out"); USAGE (the
	 * condition means nothing); the target's. */
	struct mt_error *(*set)(struct mt_engine *engine, pid_t pid, uint64_t address,
				const struct mt_engine_condition *condition);
	/* The same; none there is fine. */
	struct mt_error *(*clear)(struct mt_engine *engine, pid_t pid,
				  const struct mt_engine_gate *gate);
	/* Nobody stops for TRIGGER any more whose limits can end, also while threads run: some that
	 * were about to may still. */
	void (*mute)(struct mt_engine *engine, uint32_t trigger);
	/* 0: threads that come there now do not pass the gate, since the function is left alone.
	 * Else where one that stands right there goes on without being asked. */
	uint64_t (*works)(struct mt_engine *engine, pid_t pid, const struct mt_engine_gate *gate);
	/* LWP stands for SIGURG: which gate sent it. */
	struct mt_engine_gate_hit (*hit)(struct mt_engine *engine, pid_t lwp);
	/* Such an LWP enters the function, which is recorded, and if IS_LOOKED_AT goes on to the
	 * instruction at *GOAL, a few behind its entry.  *PC: where it stands now, in a trampoline
	 * maybe; 0: it did not come there.  At a return, which is recorded, and at a line *GOAL
	 * becomes that instruction. */
	struct mt_error *(*enter)(struct mt_engine *engine, pid_t lwp, bool is_looked_at,
				  uint64_t *goal, uint64_t *pc);
	/* Until the next show() threads that come to a gate at a line do not pass it, and the text
	 * is the program's own there: a breakpoint is put into it. */
	struct mt_error *(*hold)(struct mt_engine *engine, pid_t pid,
				 const struct mt_engine_gate *gate);
	/* All is done about the hit: what took so long is not the program's time. */
	void (*leave)(struct mt_engine *engine, pid_t lwp);
	/* LWP stands still as it makes a system call, or has made it: whether that, in front of PC,
	 * is a gate's, and nothing that the program does. */
	bool (*makes_call)(struct mt_engine *engine, pid_t lwp, uint64_t pc);
	/* Of all gates of a trigger's with conditions, those of ended processes too. */
	struct mt_engine_gate_errors (*look)(struct mt_engine *engine, uint32_t trigger);
};

/* Threads' traces are perf events, and others can be in their groups. */
struct mt_engine_group_ops {
	/* The event of a thread's trace.  An event with MT_PERF_AUX_PAUSE in the group that it
	 * leads ends the trace with each sample, and stops the thread; the trace goes on with
	 * resume().  -1: none is to be in it. */
	int (*leader)(struct mt_engine *engine, pid_t lwp);
	/* A thread was hit at PC by an event of that group, and stands still for it, maybe later:
	 * then what it did in between is a gap.  Before a snapshot is taken.  Errors: NO_MEMORY. */
	struct mt_error *(*hit)(struct mt_engine *engine, pid_t lwp, uint64_t pc);
};

/* A function of the program, lent for the call. */
struct mt_engine_function {
	const char *name;
	const char *module; /* the file's path */
	const char *why;    /* its calls are not recorded; lent for ever; NULL: they are */
};
typedef struct mt_error *mt_engine_function_found(void *context,
						  const struct mt_engine_function *function);

/* An engine that changes the program's text.  Errors of all of these: the target's. */
struct mt_engine_text_ops {
	/* A running process is about to be attached: do what need not be done while it stands
	 * still.  What fails here fails in attach() too, and is no error.  Errors: INTERRUPTED. */
	struct mt_error *(*prepare_attach)(struct mt_engine *engine, pid_t pid);
	/* All threads of a running process were added and stand still: get hold of it, and let them
	 * run.  Errors: UNSUPPORTED; BUSY. */
	struct mt_error *(*attach)(struct mt_engine *engine, pid_t pid);
	/* The session is about to let go of a process that stands still, a child that was never
	 * added among them: leave nothing in it that would harm it.  *keep: it must be kept until
	 * news.left. */
	struct mt_error *(*let_go)(struct mt_engine *engine, pid_t pid, bool *keep);
	/* Whether what is mapped from START on is a second mapping of a file's code, which the
	 * engine made: not the program's, and soon gone. */
	bool (*is_copy)(struct mt_engine *engine, pid_t pid, uint64_t start);
	/* What lay at PATH when the engine opened it; lent.  NULL: it did not, or could not. */
	struct mt_objfile *(*file)(struct mt_engine *engine, const char *path);

	/* For front ends in which people look at the program.  All threads of PID stand still: its
	 * text becomes what it would be without us, and each thread stands where it would; until
	 * show(), which leaves ALONE what must not change under those who stand there, if need be
	 * at the price of what is not recorded. */
	struct mt_error *(*hide)(struct mt_engine *engine, pid_t pid);
	struct mt_error *(*show)(struct mt_engine *engine, pid_t pid,
				 const struct mt_engine_alone *alone);
	/* Where the target masks_reads() (process/target.h), hide() may leave the patches in the
	 * text.  BYTES, as they were read at ADDRESS, become what they would be without us, also
	 * while nothing is hidden; NULL: they stay as they are.  Whether some are of a text that
	 * may have patches.  And all that is masked is taken out. */
	bool (*original)(struct mt_engine *engine, pid_t pid, uint64_t address, uint8_t *bytes,
			 size_t size);
	struct mt_error *(*unmask)(struct mt_engine *engine, pid_t pid);
	/* Nothing is hidden, all threads stand still, and a breakpoint of the debugger's is about
	 * to come to ADDRESS: what of ours has that amid its bytes leaves them, until show(), and
	 * the log says what is not recorded. */
	struct mt_error *(*give_way)(struct mt_engine *engine, pid_t pid, uint64_t address);
	/* Nothing is hidden, and LWP, which stands still, is about to be stepped by the debugger:
	 * the function where it is becomes what it would be without us, until show(), unless
	 * another thread of its process runs. */
	struct mt_error *(*step_through)(struct mt_engine *engine, pid_t lwp);
	/* CHILD, which stands still, was forked by PARENT and is not recorded, but stays in sight
	 * of people: its text becomes what it would be without us. */
	struct mt_error *(*clean)(struct mt_engine *engine, pid_t parent, pid_t child);
	/* STOP: a child was born, which stands still, has not run yet, and may be let go without a
	 * word.  What it does is not recorded, and no gate stops it; but one by vfork(2) is as its
	 * parent until it calls exec. */
	struct mt_error *(*disown)(struct mt_engine *engine, const struct mt_stop *stop);
	/* LWP, which stands still, is about to be let go as it is: what it does from now on is not
	 * recorded. */
	struct mt_error *(*discard)(struct mt_engine *engine, pid_t lwp);
	/* Entries that the last show() left out for breakpoints behind them: calls are recorded
	 * there if threads are stopped, and it is said.  Valid until hide(). */
	const uint64_t *(*missed)(struct mt_engine *engine, pid_t pid, size_t *count);
	/* LWP stands at such an entry, perhaps, and enters its function. */
	struct mt_error *(*record_missed)(struct mt_engine *engine, pid_t lwp);
	/* LWP stands still, or was interrupted by a signal, with these registers: as they would be
	 * without us. */
	void (*mend)(struct mt_engine *engine, pid_t lwp, struct mt_registers *registers);
	/* LWP stands still for a SIGSEGV at FAULT.  *is_mended: it was to run what is not there,
	 * since code that the program has copied, patches and all, had led it there; the copy is
	 * the program's own now, or LWP goes round it, and stands where it would without us.
	 * Errors: the target's; NO_MEMORY. */
	struct mt_error *(*mend_copy)(struct mt_engine *engine, pid_t lwp, uint64_t fault,
				      bool *is_mended);
	/* Calls FOUND for each function of the files that PID has mapped, as far as it is known
	 * where they begin.  Errors: FOUND's; NO_MEMORY. */
	struct mt_error *(*each_function)(struct mt_engine *engine, pid_t pid,
					  mt_engine_function_found *found, void *context);
};

typedef struct mt_error *mt_engine_value_found(void *context, pid_t pid, uint64_t value);

/* Rings that are looked at while the program runs. */
struct mt_engine_live_ops {
	/* Called now and then, and tick_ms() apart when nothing happens: look at how the program
	 * gets on.  NULL: there is nothing to see. */
	void (*tick)(struct mt_engine *engine);
	/* How far apart, when nothing happens.  NULL: MT_ENGINE_TICK_MS. */
	unsigned (*tick_ms)(struct mt_engine *engine);
	/* Called as often: put into the recording what cannot wait for a snapshot.  NULL: there is
	 * no such thing.  Errors: the writer's; NO_MEMORY. */
	struct mt_error *(*drain)(struct mt_engine *engine, struct mt_recording_writer *writer);
	/* Of a thread.  False: it has no ring. */
	bool (*look)(struct mt_engine *engine, pid_t lwp, struct mt_engine_ring *ring);
	/* Calls FOUND for each value of that NAME that rings have, those of ended threads too; what
	 * a thread writes over meanwhile may be garbled.  NULL: there are no values.  Errors:
	 * FOUND's. */
	struct mt_error *(*each_value)(struct mt_engine *engine, const char *name,
				       mt_engine_value_found *found, void *context);
};

/* Stacks are sampled, and no calls seen. */
struct mt_engine_sample_ops {
	/* Of the event, for the recording's head. */
	void (*describe)(const struct mt_engine *engine, struct perf_event_attr *attr);
};

/* All functions are filled in; of the parts that are tables, those that the engine has. */
struct mt_engine_ops {
	const char *name;
	const char *summary; /* "every instruction, exact and slow": for doctor and help */
	bool automatic;      /* `auto` may take it */
	bool records_calls;  /* call events, instead of an Intel PT trace */
	struct mt_error *(*probe)(void); /* NULL: it works here; else why not, and the cure */

	struct mt_error *(*create)(struct mt_target *target,
				   const struct mt_engine_options *options, struct mt_engine **out);
	void (*destroy)(struct mt_engine *engine);
	/* For the recording's head. */
	void (*describe)(const struct mt_engine *engine, struct mt_recording_pt *pt);

	/* A thread that stands still gets a ring.  PARENT: the LWP that made it; 0: not known.
	 * Errors: NO_MEMORY. */
	struct mt_error *(*add_thread)(struct mt_engine *engine, pid_t pid, pid_t lwp,
				       pid_t parent);
	/* The thread left the engine's care; its ring is thrown away. */
	void (*remove_thread)(struct mt_engine *engine, pid_t lwp);
	/* execve was called by thread FORMER and gave it the number LWP. */
	void (*rename_thread)(struct mt_engine *engine, pid_t former, pid_t lwp);

	/* At a fork that is not followed, whatever else than text the child has of the engine's is
	 * undone.  Errors: the target's. */
	struct mt_error *(*stopped)(struct mt_engine *engine, const struct mt_stop *stop,
				    struct mt_engine_news *news);
	/* Let it go on, with SIGNAL (0: none).  Errors: the target's. */
	struct mt_error *(*resume)(struct mt_engine *engine, pid_t lwp, int signal);

	/* Put the ring of one thread (0: all) into the recording, each with a note that it belongs
	 * to snapshot NUMBER (0: without a note), and empty it.  An empty ring gives neither.
	 * Errors: the writer's; NO_MEMORY. */
	struct mt_error *(*snapshot)(struct mt_engine *engine, pid_t lwp, uint32_t number,
				     struct mt_recording_writer *writer);

	const struct mt_engine_break_ops *breaks; /* NULL: news.pc passes every instruction */
	const struct mt_engine_gate_ops *gates;   /* NULL: nothing runs in the program */
	const struct mt_engine_group_ops *group;
	const struct mt_engine_text_ops *text; /* NULL: nothing in the program is changed */
	const struct mt_engine_live_ops *live;
	const struct mt_engine_sample_ops *samples;
};

/* Implementations begin with this. */
struct mt_engine {
	const struct mt_engine_ops *ops;
};

/* All there are, best first, ended by NULL. */
extern const struct mt_engine_ops *const mt_engines[];

/* The engine of that name; "auto" or NULL: the first that works here, and WHY (may be NULL) says
 * in a line which and why.
 * Errors: USAGE (no such engine: names those there are); its probe()'s; UNSUPPORTED (none works).
 */
struct mt_error *mt_engine_choose(const char *name, const struct mt_engine_ops **out,
				  struct mt_str *why);

/* For an engine's snapshot(): the note that what was put of a thread, which stands at PC, belongs
 * to snapshot NUMBER; 0: none.  Errors: the writer's. */
struct mt_error *mt_engine_put_snapshot(struct mt_recording_writer *writer, pid_t pid, pid_t lwp,
					uint64_t pc, uint32_t number, uint64_t time_ns);

extern const struct mt_engine_ops mt_engine_pt;
extern const struct mt_engine_ops mt_engine_step;
extern const struct mt_engine_ops mt_engine_calls;
extern const struct mt_engine_ops mt_engine_sample;

#endif
