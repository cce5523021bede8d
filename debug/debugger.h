/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A debugger without a user interface: one program, its threads, breakpoints, and the commands that
 * run it.  Nothing here prints or reads a line: a command returns a struct mt_debug_stop, and
 * events on the way are reported to the front end by struct mt_debug_front.
 *
 * All-stop: between two commands every thread is stopped, and the program's text has no breakpoint
 * instruction, and nothing of a recording engine.  Borrowed pointers are valid until the next
 * command, unless said otherwise.
 *
 * One thread uses a debugger. */
#ifndef MT_DEBUG_DEBUGGER_H
#define MT_DEBUG_DEBUGGER_H

#include "expr/expr.h"
#include "live/live.h"
#include "process/target.h"
#include "space/location.h"
#include "space/space.h"
#include "space/unwind.h"

struct mt_debugger;

/* ---- The front end ---- */

struct mt_debug_thread {
	unsigned number; /* from 1, never used again in its inferior */
	pid_t lwp;
	char name[16];   /* the program's own, or the user's */
	bool is_named;   /* by the user */
	uint64_t handle; /* the C library's, where its thread pointer points; 0: not known */
};

/* Why the parent of a vfork() no longer waits for its child. */
enum mt_debug_release { MT_DEBUG_BY_EXEC, MT_DEBUG_BY_EXIT, MT_DEBUG_BY_DETACH };

enum mt_debug_child {
	MT_DEBUG_CHILD_DETACHED,
	MT_DEBUG_CHILD_FOLLOWED /* it is debugged now, and its parent is detached */
};

/* Any of them may be NULL. */
struct mt_debug_front {
	void *context;
	void (*thread_born)(void *context, const struct mt_debug_thread *thread);
	void (*thread_ended)(void *context, const struct mt_debug_thread *thread);
	/* THREAD is the parent's.  A followed child of vfork() holds its parent until it calls exec
	 * or exits; then parent_detached() is called. */
	void (*forked)(void *context, enum mt_debug_child what,
		       const struct mt_debug_thread *thread, pid_t child, bool is_vfork);
	void (*parent_detached)(void *context, pid_t parent, enum mt_debug_release why);
	/* exec: PATH is another inferior from now on, if the settings say so. */
	void (*executes)(void *context, pid_t pid, const char *path);
	/* A signal that does not stop the program, but is to be printed. */
	void (*signalled)(void *context, const struct mt_debug_thread *thread, int signal);
	/* A breakpoint's condition cannot be evaluated: the program stops there, unless that is a
	 * silent one. */
	void (*condition_failed)(void *context, unsigned breakpoint, const char *why);
	/* A warning for the user. */
	void (*warned)(void *context, const char *text);
	/* A thread, which is selected for the moment, hit a silent breakpoint: whether the program
	 * is to stop there.  Other threads run. */
	bool (*hit)(void *context, unsigned breakpoint);
	/* Nothing of the recorded program runs: it is about to go on, but for ALONE, or has loaded
	 * libraries; and it is about to, with the recording's patches in it. */
	struct mt_error *(*places)(void *context, const struct mt_live_alone *alone);
	void (*shown)(void *context);
	/* A thread, which is selected for the moment, stands for SIGURG.  False: the recording did
	 * not send it.  *BREAKPOINT: at which it is to stop; 0: it is not. */
	bool (*passes)(void *context, unsigned *breakpoint);
	/* The new program of exec() has no location for a breakpoint, which is disabled. */
	void (*unresolved)(void *context, unsigned breakpoint, const char *why);
	/* A pending breakpoint got a location. */
	void (*resolved)(void *context, unsigned breakpoint);
	/* The terminal is the program's from now on, and ours again. */
	void (*runs)(void *context, pid_t pid);
	void (*stopped)(void *context, pid_t pid);
	/* Polled while the program runs: true when the user asked for attention. */
	bool (*interrupted)(void *context);
	/* Polled while the memory of the stopped program is read for the user: true to cancel that;
	 * reads fail then. */
	bool (*cancelled)(void *context);
	/* As interrupted(): true when the debugger is to exit, so the program has to be stopped. */
	bool (*ended)(void *context);
};

/* TARGET belongs to the debugger from now on.  Errors: NO_MEMORY. */
struct mt_error *mt_debugger_create(struct mt_target *target, const struct mt_debug_front *front,
				    struct mt_debugger **out);
/* Kills a launched program, and detaches from an attached one.  DEBUGGER may be NULL. */
void mt_debugger_destroy(struct mt_debugger *debugger);

/* ---- The program ---- */

/* PATH: the program to launch, whose symbols are read at once; without a slash it may be in a
 * directory of the variable PATH.  Errors: those of mt_objfile_open(). */
struct mt_error *mt_debugger_load(struct mt_debugger *debugger, const char *path);
const char *mt_debugger_path(const struct mt_debugger *debugger); /* NULL: none */
/* Of the next launch, for a shell, redirections included; copied.  Errors: NO_MEMORY. */
struct mt_error *mt_debugger_set_arguments(struct mt_debugger *debugger, const char *text);
const char *mt_debugger_arguments(const struct mt_debugger *debugger);
/* VALUE NULL: unset.  Errors: NO_MEMORY. */
struct mt_error *mt_debugger_set_environment(struct mt_debugger *debugger, const char *name,
					     const char *value);
const char *const *mt_debugger_environment(const struct mt_debugger *debugger);

/* 0: no program runs. */
pid_t mt_debugger_pid(const struct mt_debugger *debugger);
bool mt_debugger_is_attached(const struct mt_debugger *debugger); /* else launched */
/* All code that is mapped, or of the program's file before it runs.  Empty without a program. */
struct mt_space *mt_debugger_space(const struct mt_debugger *debugger);
struct mt_target *mt_debugger_target(const struct mt_debugger *debugger);

/* ---- Forks and exec ---- */

enum mt_debug_follow_fork {
	MT_DEBUG_FOLLOW_CHILD, /* the child is debugged, and its parent detached */
	MT_DEBUG_FOLLOW_PARENT,
};
enum mt_debug_follow_exec {
	MT_DEBUG_EXEC_NEW, /* the new program is another inferior */
	MT_DEBUG_EXEC_SAME,
};

struct mt_debug_settings {
	uint8_t follow_fork;   /* enum mt_debug_follow_fork */
	uint8_t follow_exec;   /* enum mt_debug_follow_exec */
	bool hardware_watches; /* new watchpoints use debug registers, where these can do it */
};
/* To be read and changed. */
struct mt_debug_settings *mt_debugger_settings(struct mt_debugger *debugger);

/* Inferiors are GDB's word for what was debugged, one after the other.  The last one is debugged
 * now, or will be. */
struct mt_debug_inferior {
	pid_t pid;        /* 0: it does not run, or was detached */
	const char *path; /* of its program; NULL: none */
};
/* At least 1, which is also the number of the last one. */
unsigned mt_debugger_inferior_count(const struct mt_debugger *debugger);
/* How often a program was launched or attached to. */
unsigned mt_debugger_beginnings(const struct mt_debugger *debugger);
/* NUMBER: from 1. */
struct mt_debug_inferior mt_debugger_inferior(const struct mt_debugger *debugger, unsigned number);
/* The last one is a child of vfork(), and lives in the memory of the one before. */
bool mt_debugger_is_vfork_child(const struct mt_debugger *debugger);

/* Reads were cancelled: the frames that were found by then are not all. */
void mt_debugger_forget_frames(struct mt_debugger *debugger);

/* ---- Stops ---- */

enum mt_debug_stop_kind {
	MT_DEBUG_BREAKPOINT, /* `breakpoint` is its number */
	MT_DEBUG_STEPPED,    /* a step is done, or until and advance arrived */
	MT_DEBUG_FINISHED,   /* the frame returned: `returned_from` */
	MT_DEBUG_SIGNAL,     /* `signal`, 0: the debugger stopped it */
	MT_DEBUG_EXITED,     /* `status` as exit(2) was given it; the program is gone */
	MT_DEBUG_WATCHED,    /* a watchpoint triggered, or went out of scope: `seen` */
	MT_DEBUG_KILLED,     /* by `signal`; the program is gone */
};

/* A watchpoint that stopped the program. */
struct mt_debug_seen {
	unsigned breakpoint;
	const char *before; /* NULL: it has the same value as before */
	const char *after;
	bool left; /* its frame is gone: the front end deletes it */
};

struct mt_debug_stop {
	enum mt_debug_stop_kind kind;
	unsigned breakpoint; /* with WATCHED: one that was hit as well; 0: none */
	bool temporary;      /* that breakpoint: the front end deletes it after the report */
	pid_t pid;
	int signal;
	uint64_t address; /* SIGNAL: of a fault; else 0 */
	int status;
	uint64_t returned_from; /* an address within the function */
	const struct mt_debug_seen *seen;
	size_t seen_count;
	bool same_frame; /* a step ended in the frame where it began: only its line is new */
	bool switched;   /* another thread than before is selected now */
};

/* Launches what was loaded; the new process is stopped at its first instruction.  Errors: USAGE
 * (nothing is loaded); the target's. */
struct mt_error *mt_debugger_launch(struct mt_debugger *debugger);
/* Errors: the target's. */
struct mt_error *mt_debugger_attach(struct mt_debugger *debugger, pid_t pid);
struct mt_error *mt_debugger_detach(struct mt_debugger *debugger);
struct mt_error *mt_debugger_kill(struct mt_debugger *debugger);

/* Looks at a core file of the program that was loaded, else of the one that it names; its first
 * thread, the one that died, is selected.  There must be no process.  It takes the place of one for
 * all that only looks; what would change or run it is refused.
 * Errors: mt_corefile_open()'s. */
struct mt_error *mt_debugger_open_core(struct mt_debugger *debugger, const char *path);
void mt_debugger_close_core(struct mt_debugger *debugger); /* none is fine */
/* NULL: no core file is looked at. */
const char *mt_debugger_core_path(const struct mt_debugger *debugger);
/* A process is debugged, and no core file. */
bool mt_debugger_has_process(const struct mt_debugger *debugger);

/* Each runs the program until something stops it.  Errors: USAGE (no program runs: "The program is
 * not being run."); the target's. */
struct mt_error *mt_debugger_continue(struct mt_debugger *debugger, struct mt_debug_stop *stop);

enum mt_debug_step {
	MT_DEBUG_STEP,  /* to another line, also in a function that is called */
	MT_DEBUG_NEXT,  /* to another line, past functions that are called */
	MT_DEBUG_STEPI, /* an instruction */
	MT_DEBUG_NEXTI, /* an instruction, past a function that it calls */
	MT_DEBUG_UNTIL, /* as NEXT, but not backward */
};
struct mt_error *mt_debugger_step(struct mt_debugger *debugger, enum mt_debug_step how,
				  struct mt_debug_stop *stop);
/* Until the selected frame returns.  Errors: USAGE (it is the outermost one). */
struct mt_error *mt_debugger_finish(struct mt_debugger *debugger, struct mt_debug_stop *stop);
/* Until LOCATION, or the return of the selected frame; IN_FRAME: LOCATION in other frames does not
 * count. */
struct mt_error *mt_debugger_run_to(struct mt_debugger *debugger, const char *location,
				    bool in_frame, struct mt_debug_stop *stop);

/* Continues at ADDRESS.  Errors: USAGE (no program runs); the target's. */
struct mt_error *mt_debugger_jump(struct mt_debugger *debugger, uint64_t address,
				  struct mt_debug_stop *stop);
/* Makes the selected frame return to its caller; nothing runs.  VALUE: an expression, "" is
 * none.  Errors: USAGE (there is no such frame, or it is inlined); those of mt_expr_give(). */
struct mt_error *mt_debugger_return(struct mt_debugger *debugger, const char *value);
/* The signal that the selected thread is continued with, instead of the one that it stopped for;
 * 0: none. */
void mt_debugger_set_signal(struct mt_debugger *debugger, int signal);

/* The signal that a thread will be continued with, without events of it that are pending; 0: none.
 */
int mt_debugger_signal(const struct mt_debugger *debugger, unsigned thread);

/* GDB's "handle": what the debugger does about a signal. */
struct mt_debug_handling {
	bool stop, print, pass;
};
struct mt_debug_handling mt_debugger_handling(const struct mt_debugger *debugger, int signal);
void mt_debugger_handle(struct mt_debugger *debugger, int signal,
			struct mt_debug_handling handling);

/* ---- Threads and frames ---- */

size_t mt_debugger_thread_count(const struct mt_debugger *debugger);
/* By age. */
const struct mt_debug_thread *mt_debugger_thread(const struct mt_debugger *debugger, size_t index);
/* How many threads this run had, those of followed children too. */
unsigned mt_debugger_births(const struct mt_debugger *debugger);
/* NULL: no program runs. */
const struct mt_debug_thread *mt_debugger_selected(const struct mt_debugger *debugger);
/* The innermost frame is selected then.  Errors: USAGE ("Unknown thread 7."). */
struct mt_error *mt_debugger_select_thread(struct mt_debugger *debugger, unsigned number);

/* The user's name for the selected thread; NULL or "": the program's.  Errors: USAGE (none is
 * selected). */
struct mt_error *mt_debugger_name_thread(struct mt_debugger *debugger, const char *name);

/* As GDB's enum frame_type. */
enum mt_debug_frame_type {
	MT_DEBUG_NORMAL_FRAME,
	MT_DEBUG_INLINE_FRAME,    /* inlined into the next outer one */
	MT_DEBUG_TAIL_CALL_FRAME, /* it ended in a jump to the function of the next inner one */
	MT_DEBUG_SIGNAL_FRAME,    /* made by the kernel for a handler */
};

struct mt_debug_frame {
	unsigned level; /* 0: the innermost */
	struct mt_registers registers;
	uint64_t pc;
	uint64_t inside;      /* an address within the instruction that it is at */
	uint64_t cfa;         /* 0: not known */
	uint8_t type;         /* enum mt_debug_frame_type */
	bool shows_pc;        /* pc is not where a line begins */
	unsigned inner;       /* inlined calls at pc that are inner to it */
	const void *instance; /* identifies an inlined call; NULL: it is not inlined */
	const char *function; /* NULL: not known */
	uint64_t function_start;
	const char *module; /* the file that holds the code; NULL: none */
	bool has_debug;     /* line numbers are known of the function */
	/* file NULL: not known. */
	struct mt_source source;
	const char *file; /* source.file as the compiler was given it */
};

/* Of the selected thread.  NULL: there are not so many, or no program runs. */
const struct mt_debug_frame *mt_debugger_frame(struct mt_debugger *debugger, unsigned level);
/* The selected one. */
const struct mt_debug_frame *mt_debugger_selected_frame(struct mt_debugger *debugger);
void mt_debugger_select_frame(struct mt_debugger *debugger, unsigned level);
/* Addresses where the registers of FRAME's caller are saved (numbers of space/unwind.h); 0: they
 * are still in registers.  False: there is no caller, or that is not known. */
bool mt_debugger_saved_registers(struct mt_debugger *debugger, const struct mt_debug_frame *frame,
				 uint64_t saved[MT_REGISTER_COUNT]);
/* Why there is no frame beyond the last one; NULL: that one is the outermost. */
const char *mt_debugger_frames_end(struct mt_debugger *debugger);

/* ---- Expressions ---- */

/* For all that expr/expr.h offers; as long as the debugger. */
struct mt_expr_program *mt_debugger_expressions(const struct mt_debugger *debugger);
/* FRAME: of the selected thread; NULL: the selected one.  Without a process only static variables
 * have a value.  The context that it points to is valid until the next command. */
struct mt_expr_frame mt_debugger_expr_frame(struct mt_debugger *debugger,
					    const struct mt_debug_frame *frame);

/* ---- Breakpoints ---- */

struct mt_debug_location {
	uint64_t address;
	bool enabled;
	/* What they point to lives as long as the debugger. */
	const char *function;             /* NULL: not known */
	const struct mt_inline *instance; /* of it, if it is inlined; NULL: it is not */
	struct mt_source source;          /* file NULL: not known */
	const char *file;                 /* source.file as the compiler was given it */
};

enum mt_debug_break_kind {
	MT_DEBUG_BREAK,
	MT_DEBUG_HARDWARE_BREAK, /* in a debug register */
	/* Of the memory that the value of an expression comes from. */
	MT_DEBUG_WATCH,  /* its value changes */
	MT_DEBUG_RWATCH, /* it is read */
	MT_DEBUG_AWATCH, /* it is read or written */
};

struct mt_debug_breakpoint {
	unsigned number;
	uint8_t kind; /* enum mt_debug_break_kind */
	bool temporary;
	bool enabled;
	bool silent;           /* the front end's hit() decides whether it stops */
	bool by_stepping;      /* WATCH: checked after each instruction, not by debug registers */
	bool has_memory;       /* of a watchpoint: some memory is watched now */
	const char *text;      /* the location, as it was typed */
	const char *condition; /* NULL: none */
	unsigned thread;       /* 0: any */
	uint64_t hits;
	uint64_t ignore; /* this many further hits do not stop */
	const struct mt_debug_location *locations;
	size_t location_count; /* 0: pending */
};

struct mt_debug_new_breakpoint {
	uint8_t kind; /* enum mt_debug_break_kind */
	/* Of a watchpoint its expression; "-l" or "-location" before it: the memory that it refers
	 * to now.  NULL or "": where the selected frame is. */
	const char *location;
	const char *condition; /* NULL: none */
	bool temporary;
	unsigned thread;
	bool silent;
	bool pending; /* it may have no location: it waits for its library */
};

/* Errors: NOT_FOUND ("Function \"f\" not defined."); USAGE. */
struct mt_error *mt_debugger_break(struct mt_debugger *debugger,
				   const struct mt_debug_new_breakpoint *what, unsigned *number);
size_t mt_debugger_breakpoint_count(const struct mt_debugger *debugger);
const struct mt_debug_breakpoint *mt_debugger_breakpoint(const struct mt_debugger *debugger,
							 size_t index);
/* NULL: no such number. */
const struct mt_debug_breakpoint *mt_debugger_find_breakpoint(const struct mt_debugger *debugger,
							      unsigned number);
/* Errors: USAGE ("No breakpoint number 7."). */
struct mt_error *mt_debugger_delete(struct mt_debugger *debugger, unsigned number);
struct mt_error *mt_debugger_enable(struct mt_debugger *debugger, unsigned number, bool enabled);
/* TEXT NULL or "": unconditional.  Errors: USAGE; those of mt_expr_parse() at its first location.
 */
struct mt_error *mt_debugger_condition(struct mt_debugger *debugger, unsigned number,
				       const char *text);
/* It is not in the program from now on, or is again: somebody else knows when it is hit. */
void mt_debugger_set_aside(struct mt_debugger *debugger, unsigned number, bool aside);
struct mt_error *mt_debugger_ignore(struct mt_debugger *debugger, unsigned number, uint64_t count);

/* ---- Recording ---- */

struct mt_live *mt_debugger_live(struct mt_debugger *debugger);
/* Records the program, which is stopped, from now on.  Errors: mt_live_begin()'s. */
struct mt_error *mt_debugger_record(struct mt_debugger *debugger);
/* Nor is there anything of the recording in it any more. */
void mt_debugger_record_stop(struct mt_debugger *debugger);
/* It is not recorded any more. */
void mt_debugger_record_ended(struct mt_debugger *debugger);

/* ---- Locations ---- */

/* Of an address. */
struct mt_debug_position {
	uint64_t address;
	const struct mt_function *function; /* NULL: not known */
	struct mt_source source;            /* file NULL: not known */
	const char *file;                   /* as the compiler was given it */
};

/* Strings live as long as the debugger. */
void mt_debugger_position(struct mt_debugger *debugger, uint64_t address,
			  struct mt_debug_position *out);
/* FUNCTION, FILE:LINE, LINE, FILE:FUNCTION, *ADDRESS; FOUND is called for each location
 * in the order of addresses.  Errors: NOT_FOUND, in GDB's words; USAGE. */
struct mt_error *mt_debugger_locate(struct mt_debugger *debugger, const char *location,
				    struct mt_error *(*found)(void *context,
							      const struct mt_location *location),
				    void *context);

/* The text of GDB's `info line` for each location that LOCATION means.  Errors: as above. */
struct mt_error *mt_debugger_info_line(struct mt_debugger *debugger, const char *location,
				       struct mt_str *out);

#endif
