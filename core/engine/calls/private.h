/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the engine `calls`:
 *
 *	engine.c      the engine's ops: stops, threads, execs
 *	birth.c       threads and processes that come
 *	start.c       a new program, and its dynamic loader
 *	agent.c       what is mapped into the program for its unwinders
 *	attach.c      a process that runs already
 *	space.c       an address space: what is mapped, patched and broken in it
 *	file.c        object files and their plans
 *	module.c      an object file's plan and trampolines at a place
 *	plan_cache.c  plans that are kept from run to run
 *	cfi.c         what unwinders learn of trampolines
 *	detour.c      the program's own unwinder
 *	text.c        patches and breakpoints into the text, and out of it
 *	exclude.c     patches that stay out of the text
 *	beneath.c     patches beneath a debugger's breakpoints
 *	order.c       a text changes so that it is a program's all the while
 *	break.c       breakpoints, and threads that stand in displaced bytes
 *	stub.c        breakpoints that do no harm when we are gone
 *	condition.c   their conditions, in the program
 *	slow.c        where calls that are measured end
 *	values.c      arguments and results, recorded
 *	gate.c        breakpoints of a debugger's, which runs the threads itself
 *	inject.c      what remote calls need in the program
 *	room.c        memory in the program, near its text
 *	alive.c       whether we live, and what of us is mapped in the program
 *	rings.c       the memory of rings
 *	slots.c       threads' rings: who writes where
 *	frames.c      which calls are open, by unwinding
 *	outside.c     threads out of trampolines
 *	hide.c        the text as it would be without us, for a while
 *	missed.c      a debugger's breakpoints at entries
 *	functions.c   which functions are recorded, and why not
 *	enter.c       patches into a running process
 *	swap.c        a text exchanged at once, by one that was made ready beside it
 *	left.c        what a killed tracer of ours left in a process
 *	left_texts.c  texts that lead there
 *	leave.c       letting go of a process
 *	anchor.c      how far threads had written when
 *	throttle.c    functions that fill the rings
 *	history.c     what rings held, of ended threads too
 *	snapshot.c    rings into the recording
 *
 * What they work on is in types.h. */
#ifndef MT_ENGINE_CALLS_PRIVATE_H
#define MT_ENGINE_CALLS_PRIVATE_H

#include "engine/calls/types.h"

#include <limits.h>

/* agent.c */
/* Put it into a program, in the name of LWP.  Errors: the target's. */
struct mt_error *mt_calls_agent_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp);

/* birth.c: ops of the engine, and a child that a thread has from now on. */
struct mt_error *mt_calls_add_thread(struct mt_engine *base, pid_t pid, pid_t lwp, pid_t parent);
struct mt_error *mt_calls_let_go(struct mt_engine *base, pid_t pid, bool *keep);
struct mt_error *mt_calls_note_birth(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				     const struct mt_stop *stop);
/* A thread of a kept process made another one. */
struct mt_error *mt_calls_keep_thread(struct mt_calls_engine *engine,
				      const struct mt_calls_thread *maker, pid_t lwp);
/* A thread has left the memory: it is asked for by somebody else in it, or, where only processes
 * are that were kept for its sake, they are let go. */
struct mt_error *mt_calls_leave_memory(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);

/* start.c */
/* A program stands before its first instruction: have it stop when its code is there.  Errors: the
 * target's. */
struct mt_error *mt_calls_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp);
/* Nothing of it is recorded, and the log says why.  Returns NULL. */
struct mt_error *mt_calls_refuse(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *why);
/* Its patches go, for good.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_record_no_more(struct mt_calls_engine *engine,
					 struct mt_calls_space *space);
/* Once, if LeakSanitizer is in what it has mapped there, and not disabled. */
void mt_calls_warn_of_leak_check(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const struct mt_map *map);
/* What the system told the program.  *stop_at: where its dynamic loader tells of libraries; 0: it
 * has none, or does not. */
struct mt_error *mt_calls_find_loader(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      uint64_t *stop_at);
/* The address of a symbol in a file's dynamic symbol table; 0: it has none of that name. */
uint64_t mt_calls_dynamic_symbol(const char *path, const char *name);

/* space.c */
struct mt_calls_space *mt_calls_space_create(pid_t pid); /* NULL without memory */
struct mt_calls_space *mt_calls_space_copy(const struct mt_calls_space *from, pid_t pid);
void mt_calls_space_unref(struct mt_calls_space *space); /* NULL is fine */
/* LWP stands at r_brk, and the loader's list is whole: look for what came and went, and patch.
 * Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_space_update(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp);
/* Rings and the agent, in the name of LWP; the space may come to be REFUSED instead. */
struct mt_error *mt_calls_space_begin(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp);
/* To all its threads, which stand still. */
struct mt_error *mt_calls_give_rings(struct mt_calls_engine *engine, struct mt_calls_space *space);
struct mt_error *mt_calls_space_detour(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
/* With no patch in the text yet.  0, or -1 without memory. */
int mt_calls_add_place(struct mt_calls_space *space, struct mt_calls_module *module);
/* A file that is not patched. */
bool mt_calls_is_left_alone(const struct mt_calls_space *space, const char *path);
/* Whether the loader's list is whole: no thread is about to load or unload. */
bool mt_calls_is_whole(const struct mt_calls_engine *engine, struct mt_calls_space *space);
/* Whether a thread of it came under seccomp: no system call may be done in its name. */
bool mt_calls_is_sandboxed(const struct mt_calls_engine *engine,
			   const struct mt_calls_space *space);
/* The place whose text, or trampolines, hold an address; NULL: none. */
struct mt_calls_place *mt_calls_place_at(struct mt_calls_space *space, uint64_t address);
struct mt_calls_place *mt_calls_place_of_trampoline(struct mt_calls_space *space, uint64_t address);

/* The same of all memory that was mapped for its trampolines. */
struct mt_calls_place *mt_calls_place_of_room(struct mt_calls_space *space, uint64_t address);

/* file.c */
/* By options.modules. */
bool mt_calls_is_wanted(const struct mt_calls_engine *engine, const char *path);
/* (*out)->plan NULL: it cannot be planned, and the log says why.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_file_get(struct mt_calls_engine *engine, const char *path,
				   struct mt_calls_file **out);
/* Plan what PID, which may be running, has mapped, on all processors; but not the file EXCEPT, if
 * that is not NULL.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_plan_ahead(struct mt_calls_engine *engine, pid_t pid, const char *except);
/* Whether functions of what PID has mapped use the GS register, but of the file EXCEPT, if that is
 * not NULL: WHY is not empty then.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_check_gs(struct mt_calls_engine *engine, pid_t pid, const char *except,
				   struct mt_str *why);
void mt_calls_file_destroy(struct mt_calls_file *file);

/* plan_cache.c: what is made now, or was once. */
/* The plan of all functions; options->wanted is NULL.  Errors: those of making it. */
struct mt_error *mt_calls_plan(const struct mt_calls_engine *engine, struct mt_calls_file *file,
			       const struct mt_plan_options *options);
/* The same of file->gs_user alone: the plan may not be made. */
struct mt_error *mt_calls_find_gs_user(const struct mt_calls_engine *engine,
				       struct mt_calls_file *file,
				       const struct mt_plan_options *options);
/* Remove what was not used for the longest time, as far as all takes too much room. */
void mt_calls_trim_cache(void);
/* The image of a file that is planned.  load(): it was kept; false: it was not.  make(): without
 * that, from the file's bytes.  Errors: as mt_image_make(). */
bool mt_calls_image_load(const struct mt_calls_file *file, const struct mt_image_config *config,
			 struct mt_image *image);
struct mt_error *mt_calls_image_make(const struct mt_calls_engine *engine,
				     struct mt_calls_file *file,
				     const struct mt_image_config *config, struct mt_image *image);

/* module.c */
/* A file for a place, with nothing done to the process, which may be running.  OUTLIVES_US: the
 * process does.  *out NULL: nothing of it can be recorded, and the log says why.  Errors:
 * NO_MEMORY. */
struct mt_error *mt_calls_module_make(struct mt_calls_engine *engine, const struct mt_map *map,
				      bool outlives_us, struct mt_calls_module **out);
/* From here on its `clean` is there.  0, or -1 without memory. */
int mt_calls_module_find_clean(struct mt_calls_module *module);
/* SIZE bytes of it at ADDRESS in the process, wherever they are.  False: they are not to be had. */
bool mt_calls_clean_bytes(const struct mt_calls_module *module, uint64_t address, void *bytes,
			  size_t size);
/* Its room, by a call in the name of LWP.  *module becomes NULL: there is none, and the log says
 * so. Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_module_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct mt_calls_module **module);
/* Its trampolines into that; the process may be running.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_module_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_module *module);
/* And what describes them to unwinders.  Where nobody else can get the module, once. */
struct mt_error *mt_calls_module_write_tables(struct mt_calls_engine *engine,
					      const struct mt_calls_space *space,
					      struct mt_calls_module *module);
/* The first three.  *out NULL: nothing of it can be recorded, and the log says why.  Errors:
 * NO_MEMORY; the target's. */
struct mt_error *mt_calls_module_create(struct mt_calls_engine *engine,
					struct mt_calls_space *space, pid_t lwp,
					const struct mt_map *map, struct mt_calls_module **out);
void mt_calls_module_destroy(struct mt_calls_module *module);
/* Where the instruction at a displaced ADDRESS stands now; 0: it is not displaced. */
uint64_t mt_calls_module_copy_of(const struct mt_calls_module *module, size_t patch,
				 uint64_t address);
/* The trampoline of a patch, made again: offsets are from its own first byte.  Good until the next
 * call.  NULL: it has none, or without memory. */
const struct mt_trampolines *mt_calls_trampoline_again(const struct mt_calls_module *module,
						       size_t patch);
/* The same of the trampoline that holds an address in the process, at *AT in it. */
const struct mt_trampolines *mt_calls_trampoline_at(const struct mt_calls_module *module,
						    uint64_t address, uint32_t *at);
/* Its row there; NULL: none. */
const struct mt_trampoline_row *mt_calls_row_at(const struct mt_calls_module *module,
						uint64_t address);
/* The module that a site belongs to; NULL: none. */
const struct mt_calls_module *mt_calls_module_of_site(const struct mt_calls_engine *engine,
						      uint32_t site);
static inline uint64_t mt_calls_patch_address(const struct mt_calls_module *module, size_t patch)
{
	return module->file->plan->patches.items[patch].address + module->bias;
}

/* cfi.c */
/* Tell the program's unwinder of the trampolines of a place, or of all, unless that was done; the
 * process is halted.  Errors: the target's. */
struct mt_error *mt_calls_describe(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_place *place);
struct mt_error *mt_calls_describe_all(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
/* A signal is about to come to a thread at PC. */
struct mt_error *mt_calls_describe_at(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      uint64_t pc);
/* The tables wait until then: each signal is told to us first, and the memory dies with us. */
bool mt_calls_describes_late(const struct mt_calls_engine *engine,
			     const struct mt_calls_space *space);
/* Into the agent's list, and out of it; the process is halted.  *AT: where it stands there; 0:
 * nowhere. */
struct mt_error *mt_calls_cfi_link(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   const struct mt_calls_entry *what, uint64_t *at);
struct mt_error *mt_calls_cfi_unlink(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     uint64_t *at);

/* detour.c */
/* Have the program's unwinder ask the agent, if libc, of which BASE is the load address, knows
 * _dl_find_object(); and no more.  Errors: the target's. */
struct mt_error *mt_calls_detour(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *libc, uint64_t base);
struct mt_error *mt_calls_end_detour(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* swap.c */
/* With which files are opened in a program.  O_DSYNC means nothing to a reader: by it they are
 * known, should we be killed before they are closed. */
#define MT_CALLS_OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DSYNC)
/* A text, and the second mapping that is to take its place. */
struct mt_calls_copy {
	uint64_t start, end; /* of the text */
	const char *path;    /* lent */
	uint64_t offset, inode, device;
	uint64_t address;                  /* 0: there is none (any more) */
	bool text_is_there, copy_is_there; /* as they were: seen by exchange() */
	bool is_exchanged;
	bool is_filled; /* else it is not to be exchanged */
};

struct mt_calls_swap {
	pid_t pid;
	MT_ARRAY(struct mt_calls_copy) copies;
};

/* 0, or -1 without memory. */
int mt_calls_swap_add(struct mt_calls_swap *swap, uint64_t start, uint64_t end, const char *path);
/* Map what was added, in the name of LWP: clean copies, as far as that is possible.  Errors: the
 * target's; NO_MEMORY. */
struct mt_error *mt_calls_swap_map(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space, struct mt_calls_swap *swap,
				   pid_t lwp);
/* That of the text at START; NULL: it has none. */
struct mt_calls_copy *mt_calls_swap_find(struct mt_calls_swap *swap, uint64_t start);
/* While threads run: give the copy TEXT, where that differs from CLEAN, the file's. */
struct mt_error *mt_calls_swap_fill(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_copy *copy,
				    const uint8_t *text, const uint8_t *clean);
/* While all stand still: put the copies in the place of the texts that are still there. */
struct mt_error *mt_calls_swap_exchange(struct mt_calls_engine *engine,
					const struct mt_calls_space *space,
					struct mt_calls_swap *swap, pid_t lwp);
/* Whether a mapping that begins at ADDRESS is one of its copies.  SWAP NULL: it is not. */
bool mt_calls_swap_holds(const struct mt_calls_swap *swap, uint64_t address);
bool mt_calls_swap_is_exchanged(const struct mt_calls_swap *swap, uint64_t start);

/* text.c: the process is halted. */
/* Write what is to be in the text of a place, unless it is hidden.  Errors: the target's;
 * NO_MEMORY. */
struct mt_error *mt_calls_text_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place);
/* The same when one breakpoint was added: where it can be, its bytes alone are written. */
struct mt_error *mt_calls_text_write_break(struct mt_calls_engine *engine,
					   struct mt_calls_space *space,
					   struct mt_calls_place *place,
					   const struct mt_calls_break *one);
/* The same when one breakpoint, whose patch's jump leads to it, was retired. */
struct mt_error *mt_calls_text_turn_from(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, struct mt_calls_place *place,
					 const struct mt_calls_break *one);
/* The same with no patch and no breakpoint. */
struct mt_error *mt_calls_text_clean(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place);
/* While the process runs: give the copy of the place's text, if there is one, the bytes that
 * write() would put there, for the first time; those that clean() would leave. */
struct mt_error *mt_calls_text_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_place *place, struct mt_calls_swap *swap);
struct mt_error *mt_calls_text_prepare_clean(struct mt_calls_engine *engine,
					     const struct mt_calls_space *space,
					     const struct mt_calls_place *place,
					     struct mt_calls_swap *swap);
/* What was prepared is about to be in the text; or it is not. */
/* Behind the last one of a program's start. */
void mt_calls_text_end(struct mt_calls_engine *engine);
void mt_calls_text_note_written(struct mt_calls_place *place, bool is_written);
/* The patch in the text that displaces ADDRESS; -1: none. */
ssize_t mt_calls_patch_at(const struct mt_calls_place *place, uint64_t address);
/* One that begins at the address, and is in the text but when that is hidden, or for a while. */
ssize_t mt_calls_planned_at(const struct mt_calls_place *place, uint64_t address);

/* exclude.c */
/* Leave out a patch, and those that need bytes of it. */
void mt_calls_patch_off(struct mt_calls_place *place, size_t patch, enum mt_calls_off why);
/* The same until the next show(). */
void mt_calls_patch_hold(struct mt_calls_place *place, size_t patch);
/* So many of the bytes in memory are not the file's that hardly any patch may be put there. */
bool mt_calls_is_another(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			 const struct mt_calls_module *module, const uint8_t *memory);
/* No patch of it is put there, and the log says so. */
void mt_calls_leave_alone(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			  struct mt_calls_place *place);
/* Take out those that may not be put over the program's own bytes, which are in MEMORY.  FIRST: it
 * is looked at for the first time.  0, or -1 without memory. */
int mt_calls_leave_out(const struct mt_calls_engine *engine, struct mt_calls_space *space,
		       struct mt_calls_place *place, const uint8_t *memory, bool first);
/* Whether a patch in the text has to go for its sake. */
bool mt_calls_break_disturbs(const struct mt_calls_place *place, const struct mt_calls_break *one);

/* beneath.c */
enum mt_calls_cover {
	MT_CALLS_COVER_NONE,
	MT_CALLS_COVER_FIRST,  /* its first byte alone */
	MT_CALLS_COVER_INSIDE, /* other bytes of it */
};

/* Where breakpoint instructions of a debugger's stand in the place of a patch, if those are all
 * that is not the file's in MEMORY there. */
enum mt_calls_cover mt_calls_covered(const struct mt_calls_engine *engine,
				     const struct mt_calls_space *space,
				     const struct mt_calls_module *module,
				     const struct mt_patch *patch, const uint8_t *memory);
/* TEXT, in which no other's breakpoints stand over patches, is about to be written over MEMORY: it
 * gets those that stand there, and the debugger what lies beneath them.  Errors: the target's. */
struct mt_error *mt_calls_write_beneath(const struct mt_calls_engine *engine,
					const struct mt_calls_space *space,
					const struct mt_calls_module *module, const uint8_t *memory,
					uint8_t *text);

/* order.c */
/* By patch: how many others, one upon the other, it needs in the text.  0, or -1 without memory. */
int mt_calls_order_levels(const struct mt_plan *plan, uint8_t **out);

struct mt_calls_text_change {
	uint8_t *memory;     /* what is in the text; comes to be what is in it then */
	const uint8_t *text; /* what is to be in it */
	const bool *was;     /* by patch: it may be in `memory` */
	const bool *is;      /* it is in `text`; NULL: none is */
};
/* Should we be killed meanwhile, threads of a process that outlives us go on all the same.  Errors:
 * the target's; NO_MEMORY. */
struct mt_error *mt_calls_text_change(struct mt_calls_engine *engine,
				      const struct mt_calls_space *space, pid_t pid,
				      struct mt_calls_module *module,
				      const struct mt_calls_text_change *what);

/* break.c */
/* Where the trampoline's copy of the instruction at ADDRESS stands, if that lies within displaced
 * bytes, and behind their first; else 0. */
uint64_t mt_calls_copy_of(struct mt_calls_space *space, uint64_t address);
/* With all threads halted: one that can do system calls for us.  0: none can. */
pid_t mt_calls_able_thread(struct mt_calls_engine *engine, const struct mt_calls_space *space);
/* The patch whose long jump stands in a hole at ADDRESS; -1: none. */
ssize_t mt_calls_patch_of_hole(const struct mt_calls_place *place, uint64_t address);
/* A thread whose PC lies within bytes that are about to be displaced goes on in the trampoline. */
struct mt_error *mt_calls_displace_thread(struct mt_calls_engine *engine,
					  struct mt_calls_space *space, pid_t lwp);
/* The same with bytes that are; but one on its way through a hole among them stays. */
struct mt_error *mt_calls_move_thread(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp);
/* A thread on its way through a hole goes on in the trampoline, before the hole is filled. */
struct mt_error *mt_calls_leave_hole(struct mt_calls_engine *engine,
				     const struct mt_calls_place *place, pid_t lwp);
/* Where a jump to a stub does not fit, a program that outlives us gets none, and the log says so.
 */
struct mt_error *mt_calls_set_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    uint64_t address, bool loader,
				    struct mt_calls_condition *condition);
/* retire.c: no thread comes to ONE any more, which has a stub.  All threads are halted.  Errors:
 * the target's; those of mt_calls_text_write(). */
struct mt_error *mt_calls_break_retire(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_break *one);
/* As the engine's. */
struct mt_error *mt_calls_retire(struct mt_engine *engine, pid_t pid, uint32_t trigger);
/* A gate (gate.c) at the entry of a patched function.  Errors: UNSUPPORTED; those of its condition;
 * the target's. */
struct mt_error *mt_calls_set_gate(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   uint64_t address, const struct mt_engine_condition *given);
/* Those that could not be made yet.  Errors: the target's. */
struct mt_error *mt_calls_set_waiting_breaks(struct mt_calls_engine *engine,
					     struct mt_calls_space *space);
/* A breakpoint at ADDRESS has the condition of that text; a child has those of its parent. */
bool mt_calls_has_condition(const struct mt_calls_space *space, uint64_t address, const char *text);
/* At which threads stop that come to the entry ADDRESS; NULL: none. */
struct mt_calls_break *mt_calls_stopping_break_at(struct mt_calls_space *space, uint64_t address);
/* The one whose int3 stands at ADDRESS; whose stub holds it.  NULL: none. */
struct mt_calls_break *mt_calls_break_trap(struct mt_calls_space *space, uint64_t address);
struct mt_calls_break *mt_calls_break_of_stub(struct mt_calls_space *space, uint64_t address);
/* The bytes that it has in the code in place of the program's. */
void mt_calls_break_bytes(const struct mt_calls_break *one, uint8_t bytes[MT_CALLS_BREAK_BYTES]);
/* LWP ran into an int3 of ours: where it goes on. */
struct mt_error *mt_calls_pass_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct mt_calls_break *there);
/* Take the breakpoints out of the memory of PID: the space's own, or a child's copy. */
struct mt_error *mt_calls_remove_breaks(struct mt_calls_engine *engine,
					struct mt_calls_space *space, pid_t pid);

/* stub.c */
/* Make a stub for a breakpoint, if there is room for its jump.  BYTES: the program's, from its
 * address on; at the end of a function, padding behind it counts.  Else one->stub stays 0.
 * Errors: NO_MEMORY; the target's. */
struct mt_error *mt_calls_stub_make(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, struct mt_calls_break *one, const uint8_t *bytes,
				    size_t size);
/* One whose condition is compiled, in front of code at TARGET.  Errors: UNSUPPORTED (no memory is
 * free near it); the target's. */
struct mt_error *mt_calls_stub_make_before(struct mt_calls_engine *engine,
					   struct mt_calls_space *space, pid_t lwp,
					   struct mt_calls_break *one, uint64_t target);
/* Whether a thread at PC, in there, waits for us. */
bool mt_calls_stub_waits(const struct mt_calls_break *one, uint64_t pc);
/* Threads that wait stop soon with INTERRUPTED. */
void mt_calls_stub_answer(struct mt_calls_engine *engine);
/* LWP stands behind the stub's signal, or waits: it goes on as if it had not been there. */
struct mt_error *mt_calls_stub_leave(struct mt_calls_engine *engine,
				     const struct mt_calls_break *one, pid_t pid, pid_t lwp);
/* The same of one anywhere in the stub: it stands at the breakpoint's address again. */
struct mt_error *mt_calls_stub_retreat(struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread);
/* Nobody waits in it again in the memory of PID. */
struct mt_error *mt_calls_stub_silence(struct mt_calls_engine *engine,
				       const struct mt_calls_break *one, pid_t pid);
/* Where threads come to it: to its condition, if that is compiled. */
uint64_t mt_calls_stub_entry(const struct mt_calls_break *one);
/* Where a jump to an active patch's trampoline really goes. */
uint64_t mt_calls_stub_before(const struct mt_calls_space *space, uint64_t address,
			      uint64_t trampoline);

/* condition.c */
/* One more; NULL without memory. */
struct mt_calls_condition *mt_calls_condition_add(struct mt_calls_engine *engine,
						  const struct mt_engine_condition *given);
/* That of a breakpoint at ADDRESS, if it can be; else the log says why not.  Errors: it means
 * nothing. */
struct mt_error *mt_calls_condition_compile(struct mt_calls_engine *engine,
					    struct mt_calls_space *space,
					    struct mt_calls_condition *condition, uint64_t address);
/* The log says that others evaluate it, and WHY, which goes over to this. */
void mt_calls_condition_leave(const struct mt_calls_engine *engine,
			      const struct mt_calls_condition *condition, struct mt_error *why);
/* Of code for it at ADDRESS; nothing is measured. */
struct mt_condition_place mt_calls_condition_place(const struct mt_calls_engine *engine,
						   const struct mt_calls_space *space,
						   struct mt_calls_condition *condition,
						   uint64_t address);
/* Put its code to an address, at a multiple of 8; who does not meet it goes on in TRAMPOLINE. */
struct mt_error *mt_calls_condition_write(struct mt_calls_engine *engine,
					  const struct mt_calls_space *space,
					  struct mt_calls_condition *condition, uint64_t address,
					  uint64_t trampoline);
/* Room for that and what describes it to unwinders, at the most. */
uint64_t mt_calls_condition_bytes(const struct mt_calls_condition *condition);
/* Tell the program's unwinder of it, by tables in what is left of ROOM. */
struct mt_error *mt_calls_condition_describe(struct mt_calls_engine *engine,
					     struct mt_calls_space *space,
					     struct mt_calls_condition *condition,
					     struct mt_calls_room *room);
/* The breakpoint whose condition's code holds PC; NULL: none. */
struct mt_calls_break *mt_calls_break_of_condition(struct mt_calls_space *space, uint64_t pc);
/* The code's row there; NULL: none. */
const struct mt_trampoline_row *mt_calls_condition_row(const struct mt_calls_space *space,
						       uint64_t pc);
/* A thread in such code, or what a signal handler returns to, gets back those registers that its
 * rows do not tell of. */
void mt_calls_condition_end_probe(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space,
				  struct user_regs_struct *registers);
/* A thread read memory at FAULT that is not there any more: the condition does not hold. */
struct mt_error *mt_calls_condition_fault(struct mt_calls_engine *engine,
					  struct mt_calls_thread *thread,
					  const struct mt_calls_break *there, uint64_t fault);
/* The log says which of them failed how often. */
void mt_calls_conditions_end(struct mt_calls_engine *engine);
/* Hits of its trigger's conditions in the same memory, if they can end, do not count any more. */
void mt_calls_condition_mute(const struct mt_calls_engine *engine,
			     struct mt_calls_condition *condition);
/* What it could not do until now. */
struct mt_condition_errors mt_calls_condition_errors(const struct mt_calls_condition *condition);

/* values.c */
/* Number those of a breakpoint's that can be recorded; the log says why others cannot.  Errors: one
 * means nothing; NO_MEMORY. */
struct mt_error *mt_calls_values_find(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      const struct mt_calls_break *one);
/* What went wrong with all of a breakpoint's: the log says it, unless it means nothing, which is
 * returned. */
struct mt_error *mt_calls_values_tell(struct mt_calls_engine *engine,
				      const struct mt_calls_condition *condition,
				      struct mt_error *error);
/* Likewise of a result, at LEFT of ALL ends of its function. */
struct mt_error *mt_calls_values_tell_ends(struct mt_calls_engine *engine,
					   const struct mt_calls_condition *condition, size_t left,
					   size_t all, const char *why);
/* WHERE is to record them. */
void mt_calls_values_into(const struct mt_calls_engine *engine,
			  const struct mt_calls_condition *condition,
			  struct mt_condition_place *where);
/* The number of the value that an event of SITE has.  False: it has none. */
bool mt_calls_value_of(const struct mt_calls_engine *engine, uint32_t site, uint32_t *number);
bool mt_calls_value_is_result(const struct mt_calls_engine *engine, uint32_t number);
/* What the numbers mean, unless that was put.  Errors: the writer's. */
struct mt_error *mt_calls_put_values(struct mt_calls_engine *engine,
				     struct mt_recording_writer *writer);
void mt_calls_values_end(struct mt_calls_engine *engine);

/* gate.c */
extern const struct mt_engine_gate_ops mt_calls_gates;

/* slow.c */
/* BEGIN notes when calls begin: have those that count stop where they end.  The log says which ends
 * are left out.  Errors: TRIGGER (all are); NO_MEMORY; the target's. */
struct mt_error *mt_calls_add_ends(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const struct mt_calls_break *begin);
/* Whether anything has to be noted where calls begin. */
bool mt_calls_needs_begin(struct mt_calls_space *space, const struct mt_calls_break *begin);
/* The error. */
struct mt_error *mt_calls_cannot_measure(const struct mt_calls_condition *condition,
					 const char *why);
/* Of the time stamp counter. */
uint64_t mt_calls_ticks(const struct mt_calls_engine *engine, uint64_t ns);
/* A thread that was about to stop for the end of a span comes to it again: so it begins when it
 * did.
 */
void mt_calls_reopen_span(const struct mt_calls_thread *thread,
			  const struct mt_calls_condition *condition);
/* How long the call or span took for whose end a thread stops; 0: that is not known. */
uint64_t mt_calls_slow_ns(const struct mt_calls_engine *engine,
			  const struct mt_calls_thread *thread);
/* What is measured of THREAD does not contain so many ticks. */
void mt_calls_hold(const struct mt_calls_thread *thread, uint64_t ticks);
/* Those since its held_tsc, which is over. */
void mt_calls_let_run(struct mt_calls_thread *thread);
/* The instruction in a trampoline at HOOK leads on to NEXT, which lies behind a step over the red
 * zone: that of some code, or its own. */
struct mt_error *mt_calls_hook_lead(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, uint64_t hook,
				    uint64_t next);

/* inject.c */
/* From now on our sudden end does no harm within a remote call: begin() is for system
 * calls, and what it put into the program ends with the others.  Errors: the target's. */
struct mt_error *mt_calls_inject_begin(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
struct mt_error *mt_calls_inject_give_up(struct mt_calls_engine *engine,
					 struct mt_calls_space *space);
struct mt_error *mt_calls_inject(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 pid_t lwp);
/* All bytes of its code's page, but for the mark. */
void mt_calls_inject_page(uint8_t page[4096]);
struct mt_error *mt_calls_inject_end(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp);

/* room.c: by system calls in the name of LWP. */
struct mt_calls_room_wish {
	uint64_t start, end; /* it reaches [start, end) */
	uint64_t bytes;
	uint64_t best; /* where it is to be, if that is free; 0: anywhere */
};
/* Memory for code.  Errors: UNSUPPORTED (none is free); the target's. */
struct mt_error *mt_calls_room_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const struct mt_calls_room_wish *wish,
				   uint64_t *address);
struct mt_error *mt_calls_room_unmap(struct mt_calls_engine *engine, pid_t lwp, uint64_t address,
				     uint64_t bytes);
/* In between what is mapped is looked at once.  Should the process map something meanwhile, that
 * room is not taken. */
void mt_calls_rooms_begin(struct mt_calls_space *space);
void mt_calls_rooms_end(struct mt_calls_space *space);
/* Of the rooms for single instructions, one near ADDRESS with at least BYTES left. */
struct mt_error *mt_calls_room_find(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t address, uint64_t bytes,
				    struct mt_calls_room **out);
/* A system call whose failure is an error. */
struct mt_error *mt_calls_system(struct mt_calls_engine *engine, pid_t lwp, const char *what,
				 long number, const uint64_t arguments[6], uint64_t *result);

/* alive.c */
/* Errors: UNSUPPORTED; NO_MEMORY; the target's. */
struct mt_error *mt_calls_alive_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_rings *rings, pid_t lwp);
void mt_calls_alive_unmap(struct mt_calls_engine *engine, struct mt_calls_rings *rings, pid_t lwp);
/* Into the directory, if the space has one: memory that was mapped, before it is used.  INODE: of
 * the file that it is a copy of; 0: it is private, and a mark is put at its end. */
void mt_calls_list(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		   uint64_t start, uint64_t end, uint64_t inode);
/* The first BYTES of what begins there were unmapped; or are about to be, if that is not all of it.
 */
void mt_calls_unlist(const struct mt_calls_space *space, uint64_t start, uint64_t bytes);
/* In the name of LWP, under a name of at most 15 characters.  *FD: the program's. */
struct mt_error *mt_calls_make_memfd(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, const char *called, uint64_t *fd);
/* A descriptor of our own for the program's ITS_FD, of SIZE bytes and with SEALS.  What is opened
 * must be a memfd that nobody has sealed otherwise: the program may have exchanged it. */
struct mt_error *mt_calls_open_memfd(pid_t pid, uint64_t its_fd, off_t size, int seals, int *fd);
struct mt_error *mt_calls_close_memfd(struct mt_calls_engine *engine, pid_t lwp, uint64_t fd);

/* rings.c */
#define MT_MADV_POPULATE_WRITE 23
struct mt_error *mt_calls_rings_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp);
void mt_calls_rings_unref(struct mt_calls_rings *rings);
/* In the program: the slots' size; where a ring and a slot are.  Here: a ring, a slot. */
uint64_t mt_calls_slots_bytes(const struct mt_calls_rings *rings);
/* From ring to ring: a table of open calls lies behind each. */
static inline uint64_t mt_calls_ring_stride(const struct mt_calls_rings *rings)
{
	return rings->ring_bytes + MT_CALLS_OPEN_BYTES;
}
uint64_t mt_calls_ring_address(const struct mt_calls_rings *rings, uint32_t ring);
uint64_t mt_calls_slot_address(const struct mt_calls_rings *rings, uint32_t ring);
uint8_t *mt_calls_ring_here(const struct mt_calls_rings *rings, uint32_t ring);
struct mt_ring_position *mt_calls_slot(const struct mt_calls_rings *rings, uint32_t ring);
/* The file comes to hold this ring.  Errors: SYSTEM. */
struct mt_error *mt_calls_rings_reach(struct mt_calls_rings *rings, uint32_t ring);
/* From rings->address on: that are mapped, and that threads may have written to. */
uint64_t mt_calls_rings_bytes(const struct mt_calls_rings *rings);
uint64_t mt_calls_rings_used_bytes(const struct mt_calls_rings *rings);
/* Its memory goes back to the system; what is written on comes anew. */
void mt_calls_rings_empty(const struct mt_calls_rings *rings);

/* slots.c */
/* Give a thread that stands still its ring, if its space has rings.  Errors: the target's. */
struct mt_error *mt_calls_give_ring(struct mt_calls_engine *engine, struct mt_calls_thread *thread);
void mt_calls_take_ring(struct mt_calls_thread *thread);
/* Have pages ready for who comes next. */
void mt_calls_warm_ring(struct mt_calls_rings *rings);
/* Have a thread write into the discard ring. */
struct mt_error *mt_calls_discard(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space, pid_t lwp);
/* The same until it is called with false. */
struct mt_error *mt_calls_pause(struct mt_calls_engine *engine,
				const struct mt_calls_thread *thread, bool on);
/* Whether a GS base leads to one of its slots. */
bool mt_calls_is_slot(const struct mt_calls_rings *rings, uint64_t gs_base);
/* How many bytes a thread that has a ring has written in all: never less than thread->begin. */
uint64_t mt_calls_written(const struct mt_calls_thread *thread);
/* It stands still: what it wrote from there on does not count. */
void mt_calls_unwrite(const struct mt_calls_thread *thread, uint64_t written);
/* Where errors of conditions are counted: in the program, and here. */
uint64_t mt_calls_conditions_address(const struct mt_calls_rings *rings);
uint8_t *mt_calls_conditions_here(const struct mt_calls_rings *rings);
/* In the program: the word that tells whether we live. */
static inline uint64_t mt_calls_alive_word(const struct mt_calls_rings *rings)
{
	return rings->alive_address + MT_CALLS_ALIVE_WORD;
}
/* Its bytes, and how many were written in all. */
struct mt_ring_view mt_calls_ring_view(const struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread);
struct mt_engine_ring mt_calls_ring_look(const struct mt_calls_engine *engine,
					 const struct mt_calls_thread *thread);

/* anchor.c */
/* It stands still since TSC, at the latest. */
void mt_calls_anchor(struct mt_calls_thread *thread, uint64_t tsc);
/* It stood still up to TSC, and goes on. */
void mt_calls_note_resumed(struct mt_calls_thread *thread, uint64_t tsc);
/* It stands still, as was seen at TSC: for how long it may have done so before, by what it had of
 * the processor since it last went on. */
uint64_t mt_calls_stood_ns(const struct mt_calls_engine *engine,
			   const struct mt_calls_thread *thread, uint64_t tsc);
/* All of them, which run on; not more often than makes sense. */
void mt_calls_tick(struct mt_engine *base);

/* history.c: 0, or -1 without memory. */
int mt_calls_history_create(const struct mt_calls_thread *thread, const struct mt_ring_view *view,
			    uint64_t tsc, struct mt_calls_history *out);
void mt_calls_history_deinit(struct mt_calls_history *history);
/* HISTORY goes over to the engine. */
int mt_calls_keep_ended(struct mt_calls_engine *engine, const struct mt_calls_history *history);
void mt_calls_forget_ended(struct mt_calls_engine *engine);

/* throttle.c */
/* A thread had written so much by then: take out what fills its ring too fast. */
void mt_calls_throttle(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
		       uint64_t written, uint64_t tsc);
struct mt_error *mt_calls_put_throttled(struct mt_calls_engine *engine,
					struct mt_recording_writer *writer);
void mt_calls_tell_throttled(const struct mt_calls_engine *engine);

/* attach.c */
/* All threads of a running process stand still: patch, and let them run.
 * Errors: UNSUPPORTED; BUSY (no thread can be borrowed); the target's. */
struct mt_error *mt_calls_attach(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* enter.c */
/* Between two parts of long work on a process that runs.  Errors: GONE (it is not the same program
 * any more); the session's. */
struct mt_error *mt_calls_breathe(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space);
/* Make the modules of a running process, which is not touched.  Errors: INTERRUPTED; NO_MEMORY. */
struct mt_error *mt_calls_make_ready(struct mt_calls_engine *engine, pid_t pid);

struct mt_calls_entering {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	struct mt_calls_swap swap;
	MT_ARRAY(struct mt_calls_module *) modules;
	size_t breaks; /* so many were known when the texts were filled */
};

/* In this order: map what is needed, in the name of LWP, which alone stands still; fill it, while
 * all run; and have the patches in the text, while all stand still.  Errors: the target's;
 * NO_MEMORY. */
struct mt_error *mt_calls_enter_map(struct mt_calls_entering *entering, pid_t lwp);
struct mt_error *mt_calls_enter_fill(struct mt_calls_entering *entering);
struct mt_error *mt_calls_enter_join(struct mt_calls_entering *entering, pid_t lwp);
/* Whether or not that succeeded. */
struct mt_error *mt_calls_enter_end(struct mt_calls_entering *entering, pid_t lwp);

/* left.c */
enum mt_calls_left_kind {
	MT_CALLS_LEFT_CODE, /* trampolines, an agent, code for injected calls */
	MT_CALLS_LEFT_COPY, /* of a text, that was to take its place */
	MT_CALLS_LEFT_RINGS,
	MT_CALLS_LEFT_ALIVE, /* a directory */
};

struct mt_calls_left_range {
	uint64_t start, end; /* [start, end) */
	enum mt_calls_left_kind kind;
};

/* A text that leads there, and is not of the space's places. */
struct mt_calls_left_text {
	uint64_t start, end;
	char *path;
};

struct mt_calls_left {
	MT_ARRAY(struct mt_calls_left_range) ranges;
	MT_ARRAY(struct mt_calls_left_text) texts;
	MT_ARRAY(int) descriptors; /* the program's, that were not closed any more */
	bool is_whole;             /* else there may be more, that is not known of */
};

/* *out NULL: nothing was left.  The process may be running.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_left_find(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_left **out);
void mt_calls_left_destroy(struct mt_calls_left *left); /* NULL is fine */
/* Whether FD looks like one of ours: a memfd, or a file that was opened as we do. */
bool mt_calls_left_is_descriptor(pid_t pid, int fd, char path[PATH_MAX]);
/* LEFT NULL: it does not. */
bool mt_calls_left_holds(const struct mt_calls_left *left, enum mt_calls_left_kind kind,
			 uint64_t address);
static inline bool mt_calls_left_has_copy(const struct mt_calls_left *left, uint64_t address)
{
	return mt_calls_left_holds(left, MT_CALLS_LEFT_COPY, address);
}
/* left_texts.c */
/* In a text that stands at ADDRESS: CLEAN, the file's, where a jump leads to what is left.  False:
 * there may be some left. */
bool mt_calls_left_undo(const struct mt_calls_left *left, uint64_t address, uint8_t *text,
			const uint8_t *clean, size_t size);
/* While the process runs: add the texts that lead there and are not of the space's places to SWAP;
 * and fill what was mapped for them.  Errors: the target's; NO_MEMORY; the session's. */
struct mt_error *mt_calls_left_add_texts(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, struct mt_calls_left *left,
					 struct mt_calls_swap *swap);
struct mt_error *mt_calls_left_fill(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    const struct mt_calls_left *left, struct mt_calls_swap *swap);
/* Once SWAP was exchanged: whether no text leads there any more. */
bool mt_calls_left_is_unreached(const struct mt_calls_left *left, const struct mt_calls_swap *swap);
/* Before that, while all stand still: who stands before a jump that leads there goes there. */
struct mt_error *mt_calls_left_follow(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      struct mt_calls_left *left);

/* leave.c */
/* Its text as it was.  What threads stopped for is left to the target's detach(). */
struct mt_error *mt_calls_detach(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* frames.c */
/* The calls that are open in a thread, innermost first, without times.  None if it does not stand
 * still, or is not in this space any more.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_find_frames(struct mt_calls_engine *engine,
				      const struct mt_calls_thread *thread,
				      struct mt_calls_frames *out);
/* 0, or -1 without memory. */
int mt_calls_frames_copy(struct mt_calls_frames *to, const struct mt_calls_frames *from);
/* The number of innermost frames that are new, if the thread's ring has all events since its own
 * frames were found: up to the first that these contain, too. */
size_t mt_calls_unreported_frames(const struct mt_calls_thread *thread,
				  const struct mt_calls_frames *frames);
/* For all threads of a space, that stand still: what was open before recording began. */
struct mt_error *mt_calls_note_roots(struct mt_calls_engine *engine, struct mt_calls_space *space);
/* See struct mt_engine_text_ops. */
void mt_calls_mend(struct mt_engine *engine, pid_t lwp, struct mt_registers *registers);
/* The mappings have changed. */
void mt_calls_forget_code(struct mt_calls_space *space);

/* outside.c */
/* The thread stands where it does in effect, and has recorded nothing of it. */
struct mt_error *mt_calls_leave_trampoline(struct mt_calls_engine *engine,
					   struct mt_calls_thread *thread);
/* Whether it changed them: rip, rsp, and those that code of ours uses. */
typedef bool mt_calls_move(void *context, struct user_regs_struct *registers);
/* Calls it for each thread, and for what handlers of signals return to.  *is_whole: none was left
 * out that may run on.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_move_all(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   mt_calls_move *move, void *context, bool *is_whole);
/* They stand where they do in effect: the text is clean.  *inside: one is, or may be, in other code
 * of ours: a stub, the agent; *in_left: in what a killed tracer left. */
struct mt_error *mt_calls_leave_trampolines(struct mt_calls_engine *engine,
					    struct mt_calls_space *space, bool *inside,
					    bool *in_left);
/* Those within displaced bytes go on in trampolines; so do those on their way through holes. */
struct mt_error *mt_calls_displace_all(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
struct mt_error *mt_calls_leave_holes(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* hide.c */
struct mt_error *mt_calls_hide(struct mt_calls_engine *engine, struct mt_calls_space *space);
/* The text of a forked child, whose thread stands in no trampoline. */
struct mt_error *mt_calls_clean(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t child);
struct mt_error *mt_calls_show(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       const struct mt_engine_alone *alone);

/* missed.c */
/* A patch that stays out for a breakpoint, or begins with one: it is noted if it is an entry's.
 * 0, or -1 without memory. */
int mt_calls_miss(struct mt_calls_space *space, const struct mt_calls_place *place, size_t patch);
int mt_calls_cover(struct mt_calls_space *space, const struct mt_calls_place *place, size_t patch);
/* See missed() in engine/engine.h. */
const uint64_t *mt_calls_missed(struct mt_engine *base, pid_t pid, size_t *count);
struct mt_error *mt_calls_record_missed(struct mt_engine *base, pid_t lwp);

/* Who can record what we cannot: in a debugger there is no such engine. */
static inline const char *mt_calls_who_can(const struct mt_calls_engine *engine)
{
	return engine->options.live ? "mtdb run --engine step can" : "--engine step can";
}

/* functions.c */
/* See each_function() in engine/engine.h. */
struct mt_error *mt_calls_each_function(struct mt_engine *base, pid_t pid,
					mt_engine_function_found *found, void *context);
/* Whether it stands at the entry yet whose call was recorded so. */
bool mt_calls_has_entered(const struct mt_calls_thread *thread,
			  const struct user_regs_struct *registers);
/* As mt_calls_leave_trampoline(), in a text that is clean; past a breakpoint that it was let over.
 */
struct mt_error *mt_calls_leave_covered(struct mt_calls_engine *engine,
					struct mt_calls_thread *thread);

/* snapshot.c */
/* A thread at PC in a recording part: how many bytes of the ring are reserved, and not filled. */
unsigned mt_calls_half_written(const struct mt_calls_module *module, uint64_t pc);
struct mt_error *mt_calls_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				   struct mt_recording_writer *writer);

/* Of a process of its own; NULL: there is none. */
struct mt_calls_space *mt_calls_find_space(const struct mt_calls_engine *engine, pid_t pid);
void mt_calls_thread_destroy(struct mt_calls_engine *engine, struct mt_calls_thread *thread);
struct mt_calls_thread *mt_calls_find_thread(const struct mt_calls_engine *engine, pid_t lwp);

#endif
