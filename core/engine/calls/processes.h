/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes and threads: their births, attaching to them, leaving them. */
#ifndef MT_ENGINE_CALLS_PROCESSES_H
#define MT_ENGINE_CALLS_PROCESSES_H

#include "engine/calls/memory/left.h"
#include "engine/calls/memory/swap.h"
#include "engine/calls/state/types.h"

#include <limits.h>

/* birth.c: ops of the engine, and a child that a thread has from now on. */
struct mt_error *mt_calls_add_thread(struct mt_engine *base, pid_t pid, pid_t lwp, pid_t parent);
struct mt_error *mt_calls_let_go(struct mt_engine *base, pid_t pid, bool *keep);
struct mt_error *mt_calls_disown(struct mt_engine *base, const struct mt_stop *stop);
struct mt_error *mt_calls_note_birth(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				     const struct mt_stop *stop);
/* Whether somebody runs in its memory, or is about to, whom nobody has told us of, or who is not
 * traced: a thread is about to make another one, or waits in vfork().  All stand still. */
bool mt_calls_is_bearing(const struct mt_calls_engine *engine, const struct mt_calls_space *space);
/* A thread of a kept process made another one. */
struct mt_error *mt_calls_keep_thread(struct mt_calls_engine *engine,
				      const struct mt_calls_thread *maker, pid_t lwp);
/* A thread has left the memory: it is asked for by somebody else in it, or, where only processes
 * are that were kept for its sake, they are let go. */
struct mt_error *mt_calls_leave_memory(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);

/* start.c */
/* Who can record what we cannot: in a debugger there is no engine that steps. */
static inline const char *mt_calls_who_can(const struct mt_calls_engine *engine)
{
	return engine->options.live ? "mtdb run --engine step can, and \"mtrace start -engine "
				      "sample\" samples its stacks"
				    : "--engine step can, and --engine sample samples its stacks";
}
/* A program stands before its first instruction: have it stop when its code is there.  Errors: the
 * target's. */
struct mt_error *mt_calls_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp);
/* Nothing of it is recorded, and the log says why.  Returns NULL. */
struct mt_error *mt_calls_refuse(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *why);
/* The same, as what it should have had failed by ERROR, which is taken; NULL is fine.  Errors: that
 * one, if it is GONE. */
struct mt_error *mt_calls_refuse_for(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_error *error);
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

/* space.c */
struct mt_calls_space *mt_calls_space_create(pid_t pid); /* NULL without memory */
struct mt_calls_space *mt_calls_space_copy(const struct mt_calls_space *from, pid_t pid);
void mt_calls_space_unref(struct mt_calls_space *space); /* NULL is fine */
/* Whether it is code of the program's in a file, which is recorded if it can be. */
bool mt_calls_is_recorded_code(const struct mt_calls_space *space, const struct mt_map *map);
/* Whether the space's places are all that is mapped of such, and are still there, patched. */
bool mt_calls_space_is_current(struct mt_calls_engine *engine, const struct mt_calls_space *space);
/* LWP stands at r_brk, and the loader's list is whole: look for what came and went, and patch.
 * Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_space_update(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp);
/* To all its threads, which stand still. */
struct mt_error *mt_calls_give_rings(struct mt_calls_engine *engine, struct mt_calls_space *space);
struct mt_error *mt_calls_space_detour(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
/* With no patch in the text yet.  0, or -1 without memory. */
int mt_calls_place_init(struct mt_calls_place *place, struct mt_calls_module *module);
void mt_calls_place_deinit(struct mt_calls_place *place);
int mt_calls_add_place(struct mt_calls_space *space, struct mt_calls_module *module);
/* A file that is not patched. */
bool mt_calls_is_libc(const char *path);
/* Whether the loader's list is whole: no thread is about to load or unload. */
bool mt_calls_is_whole(const struct mt_calls_engine *engine, struct mt_calls_space *space);
bool mt_calls_is_left_alone(const struct mt_calls_space *space, const char *path);

/* attach.c */
/* All threads of a running process stand still: patch, and let them run.
 * Errors: UNSUPPORTED; BUSY (no thread can be borrowed); the target's. */
struct mt_error *mt_calls_attach(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* enter.c */
/* Make the modules of a running process, which is not touched.  Errors: INTERRUPTED; NO_MEMORY. */
struct mt_error *mt_calls_make_ready(struct mt_calls_engine *engine, pid_t pid);

struct mt_calls_entering {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	struct mt_calls_swap swap;
	MT_ARRAY(struct mt_calls_module *) modules;
	size_t breaks; /* so many were known when the texts were filled */
};

/* In this order: map the rings, the agent, room for trampolines, and copies of texts, each in the
 * name of LWP, which alone stands still; fill them, while all run; and have the patches in the
 * text, while all stand still.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_enter_map_rings(struct mt_calls_entering *entering, pid_t lwp);
struct mt_error *mt_calls_enter_map_agent(struct mt_calls_entering *entering, pid_t lwp);
struct mt_error *mt_calls_enter_map_rooms(struct mt_calls_entering *entering, pid_t lwp);
struct mt_error *mt_calls_enter_map_copies(struct mt_calls_entering *entering, pid_t lwp);
struct mt_error *mt_calls_enter_fill(struct mt_calls_entering *entering);
/* At a stop for a part of the texts: as long as they have not all joined, with the others running
 * unpatched in between. */
struct mt_error *mt_calls_enter_join(struct mt_calls_entering *entering, pid_t lwp);
bool mt_calls_enter_has_joined(const struct mt_calls_entering *entering);
/* Whether or not that succeeded, and late: what is mapped for nothing goes, MOST bytes of it at
 * most at once, in the name of LWP, which alone need stand still. */
bool mt_calls_enter_has_rest(const struct mt_calls_entering *entering);
struct mt_error *mt_calls_enter_unmap(struct mt_calls_entering *entering, pid_t lwp, uint64_t most);
/* What is mapped yet stays. */
void mt_calls_enter_end(struct mt_calls_entering *entering);

/* left_texts.c */
/* While the process runs: add the texts that lead there and are not of the space's places to SWAP;
 * and fill what was mapped for those that are due.  Errors: the target's; NO_MEMORY; the session's.
 */
struct mt_error *mt_calls_left_add_texts(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, struct mt_calls_left *left,
					 struct mt_calls_swap *swap);
struct mt_error *mt_calls_left_fill(const struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_left *left, struct mt_calls_swap *swap);
/* Once SWAP was exchanged: whether no text leads there any more. */
bool mt_calls_left_is_unreached(struct mt_calls_engine *engine, struct mt_calls_space *space,
				struct mt_calls_left *left, const struct mt_calls_swap *swap);
/* Before that, while all stand still: who stands before a jump that leads there goes there. */
struct mt_error *mt_calls_left_follow(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      struct mt_calls_left *left);

/* leave.c */
/* Its text as it was.  What threads stopped for is left to the target's detach(). */
struct mt_error *mt_calls_detach(struct mt_calls_engine *engine, struct mt_calls_space *space);

#endif
