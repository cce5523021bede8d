/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the debugger.
 *
 * A command makes a plan for the selected thread, and resumes all threads (run.c).  Events are
 * handled one at a time (events.c), while other threads run: after most of them the thread is
 * resumed; one ends the command.  Then all threads are halted, and events that had happened to them
 * by then are kept in `pending`.
 *
 * Breakpoint instructions are in the text only while the program runs: sites.c inserts those that
 * user breakpoints, the plan and the dynamic loader need.  A thread at a breakpoint that was
 * reported steps over it alone, while the others are held (`over`). */
#ifndef MT_DEBUG_PRIVATE_H
#define MT_DEBUG_PRIVATE_H

#include "base/array.h"
#include "base/str.h"
#include "debugger.h"
#include "dwarf/source.h"
#include "process/jit_list.h"
#include "ptrace/guardian.h"
#include "ptrace/registers.h"

#include <signal.h>

#define MT_DEBUG_SIGNALS 65

/* A frame of a thread, for struct mt_expr_ops. */
struct mt_debug_context {
	struct mt_debugger *debugger;
	struct mt_debug_lwp *lwp; /* NULL: none */
	unsigned level;
	struct mt_expr_frame frame;
};

/* debug_registers.c */
struct mt_debug_hardware {
	struct mt_debug_hardware_event {
		int fd;
		unsigned index; /* of the register */
		uint64_t hits;  /* that were counted by now */
	} events[MT_PTRACE_WATCHES];
	unsigned count;
	unsigned hits; /* that were not handled yet, a bit each */
};

enum mt_debug_lwp_state {
	MT_DEBUG_LWP_STOPPED,
	MT_DEBUG_LWP_PENDING, /* stopped, by an event that was not handled yet: `pending` */
	MT_DEBUG_LWP_RUNNING,
};

/* rescue.c */
struct mt_debug_lwp_rescue {
	bool trap_open;    /* SIGTRAP is not blocked, as far as this command knows */
	bool trap_blocked; /* it would be, but for us */
	bool checked;      /* whether its int3 made the kernel drop the handler */
};

struct mt_debug_lwp {
	struct mt_debug_thread thread; /* first */
	enum mt_debug_lwp_state state;
	bool exiting;     /* it runs no code of the program any more */
	bool enters_exec; /* it does that as soon as it is resumed, however it is */
	struct mt_stop pending;
	int signal;           /* to be delivered when it is resumed */
	int reported;         /* it is stopped at the delivery of this signal; 0: of none */
	unsigned group_stops; /* number of the last group stop that it reported */
	int injected;     /* signal that we sent to it, to be treated as if it had come by itself */
	unsigned watches; /* the debugger's generation of debug registers that it has; 0: none */
	struct mt_debug_hardware hardware;
	uint64_t passed; /* a breakpoint here was reported: it is stepped over at the next resume */
	/* A signal came before that: its handler returns to here, with this stack pointer. */
	uint64_t again, again_sp;
	struct mt_debug_lwp_rescue rescue;
	bool has_registers;
	struct user_regs_struct registers;
	/* The innermost frames that were found by now. */
	MT_ARRAY(struct mt_debug_frame *) frames; /* borrowed by callers: they are not moved */
	size_t frame_count;
	MT_ARRAY(struct mt_debug_context *) contexts;
	/* How many of the inlined calls that begin at `entered_pc` were stepped into. */
	unsigned entered;
	uint64_t entered_pc;
	struct mt_unwinder unwinder;
	bool unwinding;
};

/* The expression of a watchpoint: see watchpoints.c. */
struct mt_debug_watched {
	char *text;   /* of its expression */
	uint64_t pc;  /* its scope; 0: global */
	bool follows; /* its variables may move with each instruction */
	bool avoids_registers;
	/* Its frame, if it has one: the watchpoint ends when that returns to CALLER. */
	pid_t lwp; /* 0: it has none */
	uint64_t cfa, caller;
	struct mt_expr *expr; /* NULL: it cannot be parsed now */
	/* When it was evaluated last, if it was. */
	bool is_known;
	struct mt_value *value; /* NULL: it could not be read */
	struct mt_expr_reads reads;
	uint8_t *bytes; /* of the memory in `reads`; NULL: registers were read, too */
};

struct mt_debug_break {
	struct mt_debug_breakpoint public; /* first */
	char *text, *condition;
	bool is_aside;         /* the program asks for it itself: see mt_debugger_set_aside() */
	bool is_fixed;         /* its location text means another address by now */
	uint64_t condition_pc; /* scope of a watchpoint's condition */
	MT_ARRAY(struct mt_debug_location) locations;
	struct mt_debug_watched *watched; /* NULL: it is no watchpoint */
	/* The condition at each location; shorter, or NULL: not parsed yet. */
	MT_ARRAY(struct mt_expr *) parsed;
};

/* Has a breakpoint instruction while the program runs. */
struct mt_debug_site {
	uint64_t address;
	uint8_t original;
	bool inserted;
	bool passed; /* lifted while a thread steps over it: `original` is valid */
	bool wanted;
};

enum mt_debug_plan_kind {
	MT_DEBUG_PLAN_NONE,
	MT_DEBUG_PLAN_STEP,
	MT_DEBUG_PLAN_NEXT,
	MT_DEBUG_PLAN_STEPI,
	MT_DEBUG_PLAN_NEXTI,
	MT_DEBUG_PLAN_UNTIL,
	MT_DEBUG_PLAN_FINISH,
	MT_DEBUG_PLAN_RUN_TO,
};

/* How the selected thread is run. */
struct mt_debug_plan {
	enum mt_debug_plan_kind kind;
	struct mt_debug_lwp *lwp;
	uint64_t start, end;     /* the line's code */
	uint64_t cfa;            /* of the frame in which it is stepped; 0: any */
	uint64_t first_function; /* in which the command began */
	const void *instance;    /* of the frame, if it is inlined */
	const char *file;
	uint32_t line;
	uint64_t last_pc; /* of the last step */
	/* It is run, not stepped, until it comes to this address with a stack pointer above: back
	 * from a call or a handler.  0: it is stepped. */
	uint64_t back;
	uint64_t back_sp;
	bool into; /* BACK is behind the prologue of a function that is stepped into */
	/* It is in a stub of the dynamic linker, or in the linker; the call returns to RETURNS. */
	bool in_stub;
	uint64_t returns, returns_sp;
	/* FINISH and RUN_TO: where the frame returns to, with a stack pointer not below. */
	uint64_t caller;
	uint64_t above;
	uint64_t returned_from;
	MT_ARRAY(struct mt_debug_location) locations; /* with a breakpoint */
};

typedef MT_ARRAY(char *) mt_debug_words;

/* Values of $_inferior, $_thread and $_gthread. */
struct mt_debug_known {
	unsigned inferior, thread, any;
};

/* rescue.c: protects an attached program should we be killed. */
struct mt_debug_rescue {
	uint64_t page; /* of the handler for SIGTRAP; 0: there is none */
	bool refused;  /* nor can there be one; the user was warned */
	/* How many addresses of int3s the handler has; of these, which come first, how many it had
	 * when it was taken over: as threads may be in it for them, they stay. */
	uint64_t known, inherited;
	uint64_t checked_ns;
	struct mt_guardian *guardian; /* NULL: there is none */
};

/* Of a command that runs the program. */
enum mt_debug_command_state {
	MT_DEBUG_COMMAND_RUNS,
	MT_DEBUG_COMMAND_INTERRUPTED, /* by the user; the program is about to stop */
	MT_DEBUG_COMMAND_DONE,        /* `stop` is filled in */
};

/* Where the process came from. */
enum mt_debug_process {
	MT_DEBUG_NO_PROCESS,
	MT_DEBUG_LAUNCHED,
	MT_DEBUG_ATTACHED,
	MT_DEBUG_CORE, /* it is gone: `target` is a core file */
};

struct mt_debugger {
	struct mt_target *target; /* without run control while a core file is looked at */
	struct mt_target *native; /* meanwhile: that of processes; else NULL */
	char *core_path;          /* meanwhile; else NULL */
	struct mt_debug_front front;
	char *path;
	char *arguments;
	mt_debug_words environment; /* NULL at its end */

	struct mt_space_pool *pool;
	struct mt_space *code; /* executable mappings; before the program runs, all of its file */
	struct mt_objfile *vdso;
	struct mt_jit_list *objects; /* of `code`, in memory; NULL: not sought yet */
	bool objects_seen;           /* since threads ran last */
	uint64_t loader_break;       /* where the dynamic loader reports libraries; 0: not known */

	struct mt_expr_program *expressions;
	struct mt_debug_context nowhere; /* without a process */
	struct mt_debug_known known;

	pid_t pid; /* 0: none */
	enum mt_debug_process process;
	struct mt_debug_settings settings;
	mt_debug_words former; /* the programs of inferiors before this one */
	pid_t vfork_parent;    /* is stopped, and shares its memory with the process; 0: none */
	MT_ARRAY(struct mt_debug_lwp *) lwps;
	unsigned last_thread, births, beginnings;
	unsigned group_stops; /* how many were reported */
	struct mt_debug_lwp *selected;
	unsigned selected_frame;

	MT_ARRAY(struct mt_debug_break *) breakpoints;
	unsigned last_breakpoint, last_silent;
	MT_ARRAY(struct mt_debug_site) sites; /* sorted */

	struct mt_debug_rescue rescue;

	struct mt_debug_handling handling[MT_DEBUG_SIGNALS];

	struct mt_ptrace_watch watches[MT_PTRACE_WATCHES];
	unsigned watch_generation; /* grows with each change; 0: there never was one */
	bool watches_step;         /* some are checked after each instruction */
	bool watches_changed;      /* the debug registers have to be set again */
	enum {
		MT_DEBUG_HARDWARE_NOT_TRIED,
		MT_DEBUG_HARDWARE_WORKS,
		MT_DEBUG_HARDWARE_NEVER_HIT
	} hardware;
	bool stepping_is_told;               /* of watchpoints, for that reason */
	MT_ARRAY(struct mt_debug_seen) seen; /* owns its strings */

	/* record.c */
	struct mt_live live;
	uint64_t session_break; /* where its session wants to know of libraries; 0: nowhere */

	struct mt_debug_plan plan;
	/* Steps over a breakpoint, or waits for the end of vfork(), while the others are held. */
	struct mt_debug_lwp *over;
	enum { MT_DEBUG_OVER_BREAKPOINT, MT_DEBUG_OVER_VFORK } over_what;
	/* With `watches_step` one thread runs at a time, so that the one that changed a value is
	 * known: whose turn it is, 0 when that is over; and whose turn it was last. */
	pid_t turn, last_turn;
	bool sites_changed; /* sites.c has to insert and remove breakpoint instructions */
	enum mt_debug_command_state command;
	struct mt_debug_stop *stop; /* while a command runs: its result.  Else NULL */
	pid_t last_pid;
	pid_t last_lwp; /* that was selected when the command began */
};

/* debugger.c */
/* PID is the program from now on, stopped: its mappings are read, and breakpoints resolved. */
struct mt_error *mt_debug_begin(struct mt_debugger *debugger, pid_t pid);

/* core.c */
/* The error if a core file is looked at. */
struct mt_error *mt_debug_needs_process(const struct mt_debugger *debugger);
/* Another program was loaded. */
struct mt_error *mt_debug_core_reload(struct mt_debugger *debugger);

/* space.c */
/* An empty one, and the expressions. */
struct mt_error *mt_debug_space_init(struct mt_debugger *debugger);
/* The program's own file, before it runs. */
struct mt_error *mt_debug_space_of_file(struct mt_debugger *debugger);
/* The present mappings. */
struct mt_error *mt_debug_space_of_process(struct mt_debugger *debugger);
void mt_debug_space_deinit(struct mt_debugger *debugger);

/* objects.c */
/* ADDRESS may be in code of an object file that the program has registered in memory: looks for
 * those.  True: `code` has changed, and frames are forgotten. */
bool mt_debug_see_objects(struct mt_debugger *debugger, uint64_t address);
void mt_debug_forget_objects(struct mt_debugger *debugger);

/* space.c */
bool mt_debug_line_at(struct mt_debugger *debugger, uint64_t address, struct mt_line_range *out);
/* The name as the compiler was given it. */
const char *mt_debug_file_name(struct mt_debugger *debugger, uint64_t address, const char *file);
uint64_t mt_debug_frame_made(struct mt_debugger *debugger, uint64_t start);
size_t mt_debug_read(struct mt_debugger *debugger, uint64_t address, void *buffer, size_t size);
/* The same for the user, who may cancel it. */
size_t mt_debug_read_cancellably(struct mt_debugger *debugger, uint64_t address, void *buffer,
				 size_t size);
uint64_t mt_debug_word(struct mt_debugger *debugger, uint64_t address); /* 0: cannot be read */

/* threads.c */
struct mt_debug_lwp *mt_debug_find(const struct mt_debugger *debugger, pid_t lwp);
struct mt_error *mt_debug_add_lwp(struct mt_debugger *debugger, pid_t lwp, bool report,
				  struct mt_debug_lwp **out);
void mt_debug_remove_lwp(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, bool report);
void mt_debug_remove_lwps(struct mt_debugger *debugger);
/* Of a stopped thread.  NULL: it is gone. */
const struct user_regs_struct *mt_debug_registers(struct mt_debugger *debugger,
						  struct mt_debug_lwp *lwp);
struct mt_error *mt_debug_set_pc(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 uint64_t pc);
/* It was resumed, or its registers changed. */
void mt_debug_forget_frames(struct mt_debug_lwp *lwp);

/* frames.c */
const struct mt_debug_frame *mt_debug_frame_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level);
/* The first frame of LWP outside of the function that LEVEL is of, past inlined ones. */
const struct mt_debug_frame *mt_debug_outer_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level);
/* The same past those that a tail call has left: where LEVEL returns to. */
const struct mt_debug_frame *mt_debug_caller_of(struct mt_debugger *debugger,
						struct mt_debug_lwp *lwp, unsigned level);

/* The inlined calls at PC, and how many of them begin there and were not stepped into yet: those
 * are shown as calls that are still to come. */
struct mt_debug_inlines {
	struct mt_inline_span span;
	unsigned hidden;
};
struct mt_debug_inlines mt_debug_inlines_at(struct mt_debugger *debugger,
					    const struct mt_debug_lwp *lwp, uint64_t pc);
/* Steps into the next of them; into all; into those that a breakpoint is in. */
void mt_debug_enter_next(struct mt_debug_lwp *lwp, uint64_t pc);
void mt_debug_enter_all(struct mt_debug_lwp *lwp, uint64_t pc);
void mt_debug_enter_asked(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc);

/* expressions.c */
/* NULL: there is no such frame. */
const struct mt_expr_frame *mt_debug_expr_frame_of(struct mt_debugger *debugger,
						   struct mt_debug_lwp *lwp, unsigned level);
/* Of a thread that is at PC, AT_ENTRY of a function: without unwinding, for conditions. */
const struct mt_expr_frame *mt_debug_expr_here(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, uint64_t pc,
					       bool at_entry);
/* Sets $_thread and its like; NULL: there is no thread. */
void mt_debug_set_thread_variables(struct mt_debugger *debugger, const struct mt_debug_lwp *lwp);
void mt_debug_contexts_deinit(struct mt_debug_lwp *lwp);

/* sites.c */
/* The addresses that need a breakpoint instruction. */
struct mt_error *mt_debug_each_wanted(struct mt_debugger *debugger,
				      struct mt_error *(*found)(void *context, uint64_t address),
				      void *context);
/* Inserts those that are needed now, and removes the others. */
struct mt_error *mt_debug_insert_sites(struct mt_debugger *debugger);
struct mt_error *mt_debug_remove_sites(struct mt_debugger *debugger);
/* The process with its text is gone. */
void mt_debug_forget_sites(struct mt_debugger *debugger);
/* NULL: none is inserted there. */
struct mt_debug_site *mt_debug_site_at(struct mt_debugger *debugger, uint64_t address);
/* Of an int3 that a thread ran: the program's own is in the text, and ours was removed if not. */
bool mt_debug_is_own_int3(struct mt_debugger *debugger, uint64_t address);
struct mt_error *mt_debug_lift_site(struct mt_debugger *debugger, struct mt_debug_site *site);
/* Removes them from a child that was forked with them. */
struct mt_error *mt_debug_clean_child(struct mt_debugger *debugger, pid_t child);

/* rescue.c: for attached programs; they do nothing to launched ones. */
/* Before the program is resumed. */
void mt_debug_rescue_begin(struct mt_debugger *debugger);
/* Before the site's int3 is written.  Errors: USAGE (too many); the target's. */
struct mt_error *mt_debug_rescue_note(struct mt_debugger *debugger,
				      const struct mt_debug_site *site);
/* All threads are stopped, and no int3 is in the text. */
void mt_debug_rescue_rest(struct mt_debugger *debugger);
/* Restores the program, whose threads are stopped. */
void mt_debug_rescue_end(struct mt_debugger *debugger);
/* The same with a stopped child, which was forked with what its parent has.  Errors: the target's.
 */
struct mt_error *mt_debug_rescue_leave_child(struct mt_debugger *debugger, pid_t child);
/* The process with its memory is gone. */
void mt_debug_rescue_forget(struct mt_debugger *debugger);
/* LWP hit an int3. */
void mt_debug_rescue_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);

/* locations.c */
/* "*EXPRESSION" with a value that changes while the program runs: "*$pc + 4". */
bool mt_debug_is_momentary(struct mt_debugger *debugger, const char *location);
/* Appends a line number with its file.  False: LOCATION is something else. */
bool mt_debug_fix_line(struct mt_debugger *debugger, const char *location, struct mt_str *out);

/* breakpoints.c */
void mt_debug_breakpoints_deinit(struct mt_debugger *debugger);
/* They were parsed for other code. */
void mt_debug_forget_conditions(struct mt_debugger *debugger);
/* The code changed: finds the locations again. */
void mt_debug_resolve_all(struct mt_debugger *debugger);
/* The same when another program replaced the last one, and may not have such locations. */
void mt_debug_resolve_after_exec(struct mt_debugger *debugger);
/* A thread came to an address.  NULL: no breakpoint stops it. */
struct mt_debug_break *mt_debug_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				    uint64_t address);
/* A hit whose condition holds: whether it stops the program, with none to be ignored. */
bool mt_debug_break_counts(struct mt_debugger *debugger, struct mt_debug_break *one,
			   struct mt_debug_lwp *lwp);
/* The same, if the condition holds; INDEX: of the location.  Not for watchpoints. */
bool mt_debug_break_stops(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp, size_t index);

/* debugger.c */
struct mt_error *mt_debug_environment_init(struct mt_debugger *debugger);
void mt_debug_environment_deinit(struct mt_debugger *debugger);
/* Restores the stopped threads to what they would be without us, with their pending signals. */
void mt_debug_restore_threads(struct mt_debugger *debugger);

/* watchpoints.c */
/* Parses ONE->text in the selected frame.  Errors: USAGE. */
struct mt_error *mt_debug_watch_begin(struct mt_debugger *debugger, struct mt_debug_break *one);
void mt_debug_watch_end(struct mt_debug_break *one);
/* The code changes: expressions are no longer valid … */
void mt_debug_watch_forget_exprs(struct mt_debugger *debugger);
/* … and are parsed again. */
void mt_debug_watch_parse(struct mt_debugger *debugger);
/* Before the program runs: evaluates those without a known value. */
void mt_debug_watch_evaluate(struct mt_debugger *debugger);
/* The user wrote memory: that triggers no watchpoint. */
void mt_debug_watch_written(struct mt_debugger *debugger, uint64_t address, uint64_t size);
/* The process is gone, and with it its frames. */
void mt_debug_watch_ended(struct mt_debugger *debugger);
/* The condition of a watchpoint, wherever its thread is.  Without its frame it holds. */
bool mt_debug_watch_holds(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp);
/* A thread may have changed the value: whether it stops, with the reason in `seen`. */
bool mt_debug_watch_check(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp);
/* A thread came to where frames of watchpoints return to: whether it left one, with it in `seen`.
 */
bool mt_debug_watch_left(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t address);
/* The frame in which a watchpoint is evaluated.  False: there is none now. */
bool mt_debug_watch_frame(struct mt_debugger *debugger, const struct mt_debug_watched *watched,
			  struct mt_debug_lwp *lwp, struct mt_expr_frame *out);
void mt_debug_seen_clear(struct mt_debugger *debugger);

/* debug_registers.c */
/* Whether a debug register is ever hit here (kernel/breakpoint.h): tried once, when the first is
 * about to be used. */
bool mt_debug_hardware_works(struct mt_debugger *debugger);
/* How many debug registers memory takes, up to one more than there are. */
size_t mt_debug_watch_pieces(uint64_t address, uint64_t size);
/* Allocates the debug registers.  Errors: USAGE (too many). */
struct mt_error *mt_debug_watch_plan(struct mt_debugger *debugger);
/* Clears them in all threads: they would stay when we die. */
void mt_debug_watch_withdraw(struct mt_debugger *debugger);
/* A thread's watchpoints become those of its copy. */
void mt_debug_watch_move(struct mt_debugger *debugger, pid_t from, pid_t to);
/* Before a thread is resumed. */
void mt_debug_watch_insert(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);
/* It trapped, or was stepped: the breakpoint or watchpoint that stops it; NULL: none does. */
struct mt_debug_break *mt_debug_watch_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);

/* Of a stopped thread. */
void mt_debug_hardware_set(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			   const struct mt_ptrace_watch watches[MT_PTRACE_WATCHES]);
/* Which of them were hit since the last call, a bit each. */
unsigned mt_debug_hardware_take_hits(struct mt_debug_lwp *lwp);
void mt_debug_hardware_deinit(struct mt_debug_lwp *lwp);

/* record.c */
/* A process that has not run an instruction yet: launched, or by the exec of a followed child. */
struct mt_error *mt_debug_record_launched(struct mt_debugger *debugger);
struct mt_error *mt_debug_record_take(struct mt_debugger *debugger, const struct mt_stop *stop);
/* Libraries were loaded, or unloaded, and locations found again. */
struct mt_error *mt_debug_record_loaded(struct mt_debugger *debugger);
/* LWP stands for SIGURG: see passes() in debugger.h. */
bool mt_debug_record_passes(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			    unsigned *breakpoint);
/* The signal of LWP's is our own doing: see mend_copy() in engine/engine.h. */
bool mt_debug_record_mends(struct mt_debugger *debugger, const struct mt_stop *stop);
struct mt_error *mt_debug_record_forked(struct mt_debugger *debugger, pid_t child);
void mt_debug_record_tick(struct mt_debugger *debugger);
struct mt_error *mt_debug_record_show(struct mt_debugger *debugger);
/* See missed() in engine/engine.h; and LWP came to an address with a breakpoint. */
struct mt_error *mt_debug_record_each_missed(struct mt_debugger *debugger,
					     struct mt_error *(*found)(void *context,
								       uint64_t address),
					     void *context);
struct mt_error *mt_debug_record_came(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);

/* Another process is debugged now: it is recorded, too, if it has memory of its own. */
struct mt_error *mt_debug_record_followed(struct mt_debugger *debugger, bool shares_memory);

/* run.c */
/* Runs the program by its plan until something stops it. */
struct mt_error *mt_debug_run(struct mt_debugger *debugger, struct mt_debug_stop *stop);
/* Stops all threads; their events are pending. */
struct mt_error *mt_debug_halt(struct mt_debugger *debugger);
/* Ends the command. */
void mt_debug_report(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		     const struct mt_debug_stop *stop);
/* Removes the whole process: it ended. */
void mt_debug_process_ended(struct mt_debugger *debugger);
bool mt_debug_is_stepped(const struct mt_debugger *debugger, const struct mt_debug_lwp *lwp);

/* follow.c */
/* A child that is followed: it is the program from now on. */
struct mt_error *mt_debug_follow(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 const struct mt_stop *stop);
/* Detaches from, or kills, the children of forks that are pending events. */
void mt_debug_drop_children(struct mt_debugger *debugger, bool kill);
/* The parent need not wait for its child any longer. */
struct mt_error *mt_debug_release_vfork_parent(struct mt_debugger *debugger,
					       enum mt_debug_release why);
/* The process is another inferior from now on, without arguments, with our environment. */
struct mt_error *mt_debug_next_inferior(struct mt_debugger *debugger);

/* events.c */
void mt_debug_signals_init(struct mt_debugger *debugger);
const struct mt_debug_handling *mt_debug_handling_of(const struct mt_debugger *debugger,
						     int signal);
struct mt_error *mt_debug_handle_event(struct mt_debugger *debugger, const struct mt_stop *stop);
/* A trap of a debug register; or of a step that was done when its thread was halted, and is
 * reported when it is continued.  It is no signal of the program. */
bool mt_debug_is_of_processor(const struct mt_stop *stop);

/* step.c */
void mt_debug_plan_clear(struct mt_debugger *debugger);
bool mt_debug_is_by_instruction(const struct mt_debugger *debugger);
/* The stepped thread executed an instruction. */
struct mt_error *mt_debug_on_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);
/* A thread came to a breakpoint instruction that the plan may need. */
struct mt_error *mt_debug_on_plan_location(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
					   uint64_t address);

#endif
