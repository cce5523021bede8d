/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the debugger share.
 *
 * A verb makes a plan for the selected thread, and lets all threads run (run.c).  Each event is
 * taken by one thread (events.c): most let it go on alone, others run meanwhile; one ends the verb.
 * Then all threads are halted, and what had happened to them besides waits in `pending`.
 *
 * Breakpoint instructions are in the text only while the program runs: sites.c puts those in that
 * user breakpoints, the plan and the loader ask for.  A thread that stands where one was told of
 * passes it alone, with the others held (`over`). */
#ifndef MT_DEBUG_PRIVATE_H
#define MT_DEBUG_PRIVATE_H

#include "base/array.h"
#include "base/str.h"
#include "debugger.h"
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

/* hardware.c */
struct mt_debug_hardware {
	struct mt_debug_hardware_event {
		int fd;
		unsigned index; /* of the register */
		uint64_t hits;  /* that were noted */
	} events[MT_PTRACE_WATCHES];
	unsigned count;
	unsigned hits; /* noted and not taken, a bit each */
};

struct mt_debug_lwp {
	struct mt_debug_thread thread; /* first */
	bool running;
	bool exiting;     /* it runs no code of its own any more */
	bool has_pending; /* what happened, and was not taken yet */
	struct mt_stop pending;
	int signal;           /* given to it when it goes on */
	int reported;         /* it stands at the delivery of this signal; 0: of none */
	unsigned group_stops; /* which of the debugger's it told of last */
	int injected;         /* this one was sent to it by us, as if it had come to it */
	unsigned watches; /* the debugger's generation of debug registers that it has; 0: none */
	struct mt_debug_hardware hardware;
	uint64_t passed; /* a breakpoint here was told already: it is passed when it goes on */
	/* A signal came before that: its handler returns to here, with this stack pointer. */
	uint64_t again, again_sp;
	/* rescue.c */
	bool trap_open;        /* SIGTRAP is not blocked, as far as this verb knows */
	bool had_trap_blocked; /* but by us it would be */
	bool looked_at;        /* at whether its int3 did harm to the handler */
	bool has_registers;
	struct user_regs_struct registers;
	/* Frames as far as they were asked for. */
	MT_ARRAY(struct mt_debug_frame *) frames; /* lent: they stay where they are */
	size_t frame_count;
	MT_ARRAY(struct mt_debug_context *) contexts;
	/* Of the inlined calls that begin where it stands so many were stepped into. */
	unsigned entered;
	uint64_t entered_pc;
	struct mt_unwinder unwinder;
	bool unwinding;
};

/* What a watchpoint watches: see watched.c. */
struct mt_debug_watched {
	char *text;   /* of its expression */
	uint64_t pc;  /* where its names mean something; 0: anywhere */
	bool follows; /* they may lie elsewhere at each instruction */
	bool avoids_registers;
	/* Its frame, if it has one: it ends where that returns to. */
	pid_t lwp; /* 0: it has none */
	uint64_t cfa, caller;
	struct mt_expr *expr; /* NULL: it means nothing now */
	/* When it was looked at last, if it was. */
	bool is_known;
	struct mt_value *value; /* NULL: it could not be read */
	struct mt_expr_reads reads;
	uint8_t *bytes; /* of all that is in `reads`; NULL: there is more to it */
};

struct mt_debug_break {
	struct mt_debug_breakpoint public; /* first */
	char *text, *condition;
	bool is_fixed;         /* its location means another place by now */
	uint64_t condition_pc; /* of a watchpoint's: where it was told */
	MT_ARRAY(struct mt_debug_location) locations;
	struct mt_debug_watched *watched; /* NULL: it is no watchpoint */
	/* The condition at each of them; shorter, or NULL: not parsed yet. */
	MT_ARRAY(struct mt_expr *) parsed;
};

/* A place with a breakpoint instruction while the program runs. */
struct mt_debug_site {
	uint64_t address;
	uint8_t original;
	bool inserted;
	bool passed; /* taken out for one instruction of one thread, so `original` is as it was */
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

/* What the selected thread is to do. */
struct mt_debug_plan {
	enum mt_debug_plan_kind kind;
	struct mt_debug_lwp *lwp;
	uint64_t start, end;     /* the line's code */
	uint64_t cfa;            /* of the frame in which it is stepped; 0: any */
	uint64_t first_function; /* in which the verb began */
	const void *instance;    /* of the frame, if it is inlined */
	const char *file;
	uint32_t line;
	uint64_t last_pc; /* of the last step */
	/* Not stepped, but run until it comes to this place with a stack pointer above: back from a
	 * call or a handler.  0: it is stepped. */
	uint64_t back;
	uint64_t back_sp;
	bool into; /* BACK is behind the prologue of what is stepped into */
	/* It is in a stub of the dynamic linker's, or in that; what is called returns to RETURNS.
	 */
	bool in_stub;
	uint64_t returns, returns_sp;
	/* FINISH and RUN_TO: where the frame returns to, with a stack pointer not below. */
	uint64_t caller;
	uint64_t above;
	uint64_t returned_from;
	MT_ARRAY(struct mt_debug_location) places;
};

typedef MT_ARRAY(char *) mt_debug_words;

/* What expressions know as $_inferior, $_thread and $_gthread. */
struct mt_debug_known {
	unsigned inferior, thread, any;
};

/* rescue.c: what an attached program has for the time when we are gone. */
struct mt_debug_rescue {
	uint64_t page; /* of the handler for SIGTRAP; 0: there is none */
	bool refused;  /* nor can there be one; that was told */
	uint64_t told; /* so many places with int3s the handler knows of */
	uint64_t looked_ns;
	struct mt_guardian *guardian; /* NULL: there is none */
};

struct mt_debugger {
	struct mt_target *target;
	struct mt_debug_front front;
	char *path;
	char *arguments;
	mt_debug_words environment; /* NULL at its end */

	struct mt_space_pool *pool;
	struct mt_space *code; /* what can be executed; before the program runs, all of its file */
	struct mt_objfile *vdso;
	uint64_t loader_break; /* where the loader tells of libraries; 0: not known */

	struct mt_expr_program *expressions; /* NULL: not asked for yet */
	struct mt_debug_context nowhere;     /* where no process is */
	struct mt_debug_known known;

	pid_t pid;
	bool attached;
	struct mt_debug_settings settings;
	mt_debug_words former; /* the programs of inferiors before this one */
	pid_t lender; /* parent of what vfork() made: stands still, in the same memory; 0: none */
	MT_ARRAY(struct mt_debug_lwp *) lwps;
	unsigned last_thread, births, beginnings;
	unsigned group_stops; /* how many were told of */
	struct mt_debug_lwp *selected;
	unsigned selected_frame;

	MT_ARRAY(struct mt_debug_break *) breakpoints;
	unsigned last_breakpoint, last_silent;
	MT_ARRAY(struct mt_debug_site) sites; /* sorted */

	struct mt_debug_rescue rescue;

	struct mt_debug_handling handling[MT_DEBUG_SIGNALS];

	struct mt_ptrace_watch watches[MT_PTRACE_WATCHES];
	unsigned watch_generation;           /* grows with each change; 0: there never was one */
	bool watches_by_stepping;            /* all that are set from now on */
	bool watches_step;                   /* there are such: each instruction is looked behind */
	bool watches_changed;                /* what is watched is not what the registers hold */
	MT_ARRAY(struct mt_debug_seen) seen; /* owns its strings */

	/* record.c */
	bool armed; /* the program is recorded, or will be when it runs */
	struct mt_session_options session_options;
	struct mt_session *session; /* NULL: nothing was recorded */
	struct mt_target *session_target;
	bool session_over;      /* it stays to be looked at */
	bool session_hidden;    /* nothing of it is in the text */
	uint64_t session_break; /* where it wants to know of libraries; 0: nowhere */

	struct mt_debug_plan plan;
	/* Passes a breakpoint, or waits for the end of vfork(); the others are held. */
	struct mt_debug_lwp *over;
	bool over_vfork;
	/* With each instruction looked behind, one thread runs at a time, so that it is known who
	 * changed a value: the last one's number, and whether it still holds its turn. */
	pid_t turn;
	bool turn_holds;
	bool sites_changed;         /* what sites.c puts in is not what is asked for */
	bool interrupting;          /* the user asked for attention during this verb */
	struct mt_debug_stop *stop; /* while a verb runs: to be filled in */
	bool told;                  /* it is */
	pid_t last_pid;
	pid_t last_lwp; /* that was selected when the verb began */
};

/* space.c */
/* The program's own file, before it runs. */
struct mt_error *mt_debug_space_of_file(struct mt_debugger *debugger);
/* Nothing is known. */
struct mt_error *mt_debug_space_empty(struct mt_debugger *debugger);
/* What is mapped now. */
struct mt_error *mt_debug_space_of_process(struct mt_debugger *debugger);
void mt_debug_space_deinit(struct mt_debugger *debugger);
bool mt_debug_line_at(struct mt_debugger *debugger, uint64_t address, struct mt_line_range *out);
/* The name as the compiler was given it. */
const char *mt_debug_file_name(struct mt_debugger *debugger, uint64_t address, const char *file);
uint64_t mt_debug_frame_made(struct mt_debugger *debugger, uint64_t start);
size_t mt_debug_read(struct mt_debugger *debugger, uint64_t address, void *buffer, size_t size);
/* The same for what the user wants to see, who may give it up meanwhile. */
size_t mt_debug_look(struct mt_debugger *debugger, uint64_t address, void *buffer, size_t size);
uint64_t mt_debug_word(struct mt_debugger *debugger, uint64_t address); /* 0: cannot be read */

/* threads.c */
struct mt_debug_lwp *mt_debug_find(const struct mt_debugger *debugger, pid_t lwp);
struct mt_error *mt_debug_add_lwp(struct mt_debugger *debugger, pid_t lwp, bool tell,
				  struct mt_debug_lwp **out);
void mt_debug_remove_lwp(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, bool tell);
void mt_debug_remove_lwps(struct mt_debugger *debugger);
/* Of a thread that stands still.  NULL: it is gone. */
const struct user_regs_struct *mt_debug_registers(struct mt_debugger *debugger,
						  struct mt_debug_lwp *lwp);
struct mt_error *mt_debug_set_pc(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 uint64_t pc);
/* It runs, or its registers changed: what is known of its stack is old. */
void mt_debug_forget_frames(struct mt_debug_lwp *lwp);

/* frames.c */
const struct mt_debug_frame *mt_debug_frame_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level);
/* The first frame of LWP outside of the function that LEVEL is of, past inlined ones. */
const struct mt_debug_frame *mt_debug_outer_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level);
/* The same past those that are left already by tail calls: where LEVEL returns to. */
const struct mt_debug_frame *mt_debug_caller_of(struct mt_debugger *debugger,
						struct mt_debug_lwp *lwp, unsigned level);

/* inlined.c */
/* The inlined calls at PC, and how many of them begin there and are not entered yet: people see
 * them as the call that comes next. */
struct mt_debug_inlines {
	struct mt_inline_span span;
	unsigned hidden;
};
struct mt_debug_inlines mt_debug_inlines_at(struct mt_debugger *debugger,
					    const struct mt_debug_lwp *lwp, uint64_t pc);
/* The next of them is entered; all are; those are in which somebody asked for a breakpoint. */
void mt_debug_enter_next(struct mt_debug_lwp *lwp, uint64_t pc);
void mt_debug_enter_all(struct mt_debug_lwp *lwp, uint64_t pc);
void mt_debug_enter_asked(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc);

/* expressions.c */
/* NULL: there is no such frame. */
const struct mt_expr_frame *mt_debug_expr_frame_of(struct mt_debugger *debugger,
						   struct mt_debug_lwp *lwp, unsigned level);
/* A thread that stands at PC, AT_ENTRY of a function: without unwinding anything. */
const struct mt_expr_frame *mt_debug_expr_here(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, uint64_t pc,
					       bool at_entry);
/* Expressions are of this thread from now on; NULL: of none. */
void mt_debug_name_thread(struct mt_debugger *debugger, const struct mt_debug_lwp *lwp);
void mt_debug_contexts_deinit(struct mt_debug_lwp *lwp);

/* sites.c */
/* Where somebody asks for a breakpoint instruction. */
struct mt_error *mt_debug_each_wanted(struct mt_debugger *debugger,
				      struct mt_error *(*found)(void *context, uint64_t address),
				      void *context);
/* What is asked for now, and only that, is in the text. */
struct mt_error *mt_debug_insert_sites(struct mt_debugger *debugger);
struct mt_error *mt_debug_remove_sites(struct mt_debugger *debugger);
/* The process with its text is gone. */
void mt_debug_forget_sites(struct mt_debugger *debugger);
/* NULL: none is inserted there. */
struct mt_debug_site *mt_debug_site_at(struct mt_debugger *debugger, uint64_t address);
struct mt_error *mt_debug_lift_site(struct mt_debugger *debugger, struct mt_debug_site *site);
/* Take what is inserted out of a child that was forked with it. */
struct mt_error *mt_debug_clean_child(struct mt_debugger *debugger, pid_t child);

/* rescue.c: about attached programs; they do nothing to launched ones. */
/* Before a program may trap. */
void mt_debug_rescue_begin(struct mt_debugger *debugger);
/* Before the site's int3 is written.  Errors: USAGE (too many); the target's. */
struct mt_error *mt_debug_rescue_note(struct mt_debugger *debugger,
				      const struct mt_debug_site *site);
/* No int3 is in the text, and all threads stand still. */
void mt_debug_rescue_rest(struct mt_debugger *debugger);
/* The program becomes as it was; its threads stand still. */
void mt_debug_rescue_end(struct mt_debugger *debugger);
/* The same with a child, which stands still and was forked with what its parent has.  Errors: the
 * target's. */
struct mt_error *mt_debug_rescue_leave_child(struct mt_debugger *debugger, pid_t child);
/* The process with its memory is gone. */
void mt_debug_rescue_forget(struct mt_debugger *debugger);
/* LWP met an int3. */
void mt_debug_rescue_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);

/* locations.c */
/* "*EXPRESSION" that means another place at another moment: "*$pc + 4". */
bool mt_debug_is_momentary(struct mt_debugger *debugger, const char *location);
/* A line without a file: with its file.  False: it is something else. */
bool mt_debug_fix_line(struct mt_debugger *debugger, const char *location, struct mt_str *out);

/* breakpoints.c */
void mt_debug_breakpoints_deinit(struct mt_debugger *debugger);
/* What was parsed where the code was another. */
void mt_debug_forget_conditions(struct mt_debugger *debugger);
/* The code changed: find the places anew. */
void mt_debug_resolve_all(struct mt_debugger *debugger);
/* The same when another program replaced the one that was there: it may have no such places. */
void mt_debug_resolve_after_exec(struct mt_debugger *debugger);
/* A thread came to an address: NULL: no breakpoint stops it. */
struct mt_debug_break *mt_debug_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				    uint64_t address);
/* The condition and the count of hits to ignore let it stop; INDEX: of the location. */
bool mt_debug_break_stops(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp, size_t index);

/* debugger.c */
/* The threads, which stand still, are as they would be without us, with the signals that they were
 * about to get. */
void mt_debug_give_back(struct mt_debugger *debugger);

/* watched.c */
/* What ONE->text means in the selected frame.  Errors: USAGE. */
struct mt_error *mt_debug_watch_begin(struct mt_debugger *debugger, struct mt_debug_break *one);
void mt_debug_watch_end(struct mt_debug_break *one);
/* The code changes: nothing of it may be known any more … */
void mt_debug_watch_forget_exprs(struct mt_debugger *debugger);
/* … and is known anew. */
void mt_debug_watch_parse(struct mt_debugger *debugger);
/* Before the program runs: the values that are not known. */
void mt_debug_watch_look(struct mt_debugger *debugger);
/* The user wrote memory, which is no news. */
void mt_debug_watch_written(struct mt_debugger *debugger, uint64_t address, uint64_t size);
/* The process is gone, and with it its frames. */
void mt_debug_watch_ended(struct mt_debugger *debugger);
/* A thread may have changed it: whether it stops, with the reason in `seen`. */
bool mt_debug_watch_check(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp);
/* Where watchpoints' frames return to, a thread came: whether it left one, by `seen`. */
bool mt_debug_watch_left(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t address);
/* The frame in which a watchpoint is looked at.  False: there is none now. */
bool mt_debug_watch_frame(struct mt_debugger *debugger, const struct mt_debug_watched *watched,
			  struct mt_debug_lwp *lwp, struct mt_expr_frame *out);
void mt_debug_seen_clear(struct mt_debugger *debugger);

/* watch.c */
/* How many debug registers memory takes, up to one more than there are. */
size_t mt_debug_watch_pieces(uint64_t address, uint64_t size);
/* What goes into the debug registers.  Errors: USAGE (too many). */
struct mt_error *mt_debug_watch_plan(struct mt_debugger *debugger);
/* Its threads have none any more: they would stay when we die. */
void mt_debug_watch_withdraw(struct mt_debugger *debugger);
/* What belonged to one thread's frames, belongs to those of its copy. */
void mt_debug_watch_move(struct mt_debugger *debugger, pid_t from, pid_t to);
/* Before a thread goes on. */
void mt_debug_watch_insert(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);
/* It trapped, or was stepped: the breakpoint or watchpoint that stops it; NULL: none does. */
struct mt_debug_break *mt_debug_watch_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);

/* hardware.c */
/* Of a thread that stands still. */
void mt_debug_hardware_set(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			   const struct mt_ptrace_watch watches[MT_PTRACE_WATCHES]);
/* Which of them were hit since the last question, a bit each. */
unsigned mt_debug_hardware_take_hits(struct mt_debug_lwp *lwp);
void mt_debug_hardware_deinit(struct mt_debug_lwp *lwp);

/* record.c */
void mt_debug_record_deinit(struct mt_debugger *debugger);
/* A process that has not run an instruction yet. */
struct mt_error *mt_debug_record_launched(struct mt_debugger *debugger);
struct mt_error *mt_debug_record_take(struct mt_debugger *debugger, const struct mt_stop *stop);
struct mt_error *mt_debug_record_forked(struct mt_debugger *debugger, pid_t child);
void mt_debug_record_tick(struct mt_debugger *debugger);
struct mt_error *mt_debug_record_hide(struct mt_debugger *debugger);
struct mt_error *mt_debug_record_show(struct mt_debugger *debugger);
void mt_debug_record_ended(struct mt_debugger *debugger);

/* Another process is debugged now: it is recorded, too, if it has memory of its own. */
struct mt_error *mt_debug_record_followed(struct mt_debugger *debugger, bool shares_memory);
/* A followed child became a program with memory of its own. */
struct mt_error *mt_debug_record_executed(struct mt_debugger *debugger);

/* run.c */
/* Let the program run by its plan until something stops it. */
struct mt_error *mt_debug_run(struct mt_debugger *debugger, struct mt_debug_stop *stop);
/* All stand still; what happened to them is pending. */
struct mt_error *mt_debug_halt(struct mt_debugger *debugger);
/* The verb ends with this. */
void mt_debug_tell(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		   const struct mt_debug_stop *stop);
/* Take the whole process away: it ended. */
void mt_debug_process_ended(struct mt_debugger *debugger);
bool mt_debug_is_stepped(const struct mt_debugger *debugger, const struct mt_debug_lwp *lwp);

/* follow.c */
/* A child that is to be followed: it is the program from now on. */
struct mt_error *mt_debug_follow(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 const struct mt_stop *stop);
/* Children of forks that nobody took note of yet. */
void mt_debug_leave_children(struct mt_debugger *debugger, bool kill);
/* The parent needs to wait for its child no longer. */
struct mt_error *mt_debug_let_go_lender(struct mt_debugger *debugger, enum mt_debug_release why);
/* What is debugged is another inferior from now on, which has no arguments, and our environment. */
struct mt_error *mt_debug_next_inferior(struct mt_debugger *debugger);

/* environment.c */
struct mt_error *mt_debug_environment_init(struct mt_debugger *debugger);
void mt_debug_environment_deinit(struct mt_debugger *debugger);

/* signals.c */
void mt_debug_signals_init(struct mt_debugger *debugger);
const struct mt_debug_handling *mt_debug_handling_of(const struct mt_debugger *debugger,
						     int signal);

/* events.c */
struct mt_error *mt_debug_take(struct mt_debugger *debugger, const struct mt_stop *stop);
/* A trap of a debug register; or of a step that was done when its thread was halted, and is told
 * when it goes on otherwise.  No signal of the program's. */
bool mt_debug_is_of_processor(const struct mt_stop *stop);

/* step.c */
void mt_debug_plan_clear(struct mt_debugger *debugger);
bool mt_debug_is_by_instruction(const struct mt_debugger *debugger);
/* The stepped thread did an instruction. */
struct mt_error *mt_debug_on_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp);
/* A thread came to a breakpoint instruction that the plan may have asked for. */
struct mt_error *mt_debug_on_place(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				   uint64_t address);

#endif
