/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's text: patches into it, out of it, and what keeps them out. */
#ifndef MT_ENGINE_CALLS_TEXTS_H
#define MT_ENGINE_CALLS_TEXTS_H

#include "engine/calls/memory/left.h"
#include "engine/calls/memory/swap.h"
#include "engine/calls/state/types.h"

/* compose.c: what is to be in a text. */
/* So far from a patch lies what belongs to it: a short jump leads to its hole. */
#define MT_CALLS_NEAR 256u
/* A part of a text, or all of it: the bytes of [start, start + size). */
struct mt_calls_piece {
	uint64_t start;
	size_t size;
	uint8_t *bytes;
};
static inline bool mt_calls_piece_holds(const struct mt_calls_piece *piece, uint64_t address,
					size_t length)
{
	return address >= piece->start && address + length <= piece->start + piece->size;
}
/* Put our patches and breakpoints over the program's own bytes. */
void mt_calls_compose(const struct mt_calls_space *space, const struct mt_calls_place *place,
		      const struct mt_calls_piece *piece);
/* The first patch at an address of the file, or behind it. */
size_t mt_calls_first_patch(const struct mt_plan *plan, uint64_t address);
/* Whether a patch is to be there. */
static inline bool mt_calls_is_on(const struct mt_calls_place *place, size_t patch)
{
	return !place->off[patch] && !place->held[patch];
}
void mt_calls_make_jump(uint8_t bytes[MT_PATCH_JUMP_BYTES], uint64_t at, uint64_t target);

/* text_begin.c */
/* Whether nothing was written into a text but breakpoints of ours. */
bool mt_calls_is_text_of_file(const struct mt_calls_engine *engine,
			      const struct mt_calls_space *space,
			      const struct mt_calls_module *module);
/* Write such a one for the first time, all of it at once: in a program that dies with us, and where
 * nobody runs what is there between two writes.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_text_begin(struct mt_calls_engine *engine,
				     const struct mt_calls_space *space,
				     const struct mt_calls_place *place);

/* text.c: the process is halted. */
/* Write what is to be in the text of a place, unless it is hidden: where the process is left, what
 * was there without us.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_text_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place);
/* The same with no patch and no breakpoint. */
struct mt_error *mt_calls_text_clean(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place);
/* Whether patches of ours are in what lies in the place of a text. */
struct mt_error *mt_calls_text_look(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_place *place, bool *is_patched);
/* Whether a text that is mapped in its place has, or is not to have, what was written: the file may
 * have been unmapped and mapped again, of which nobody told.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_text_is_kept(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space,
				       const struct mt_calls_place *place, bool *is_kept);
/* One that was not. */
struct mt_error *mt_calls_text_write_again(struct mt_calls_engine *engine,
					   struct mt_calls_space *space,
					   struct mt_calls_place *place);
/* While the process runs: give the copy of the place's text, if there is one, the bytes that
 * write() would put there, for the first time; those that clean() would leave. */
struct mt_error *mt_calls_text_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_place *place, struct mt_calls_swap *swap);
struct mt_error *mt_calls_text_prepare_clean(struct mt_calls_engine *engine,
					     struct mt_calls_space *space,
					     const struct mt_calls_place *place,
					     struct mt_calls_swap *swap);
/* What was prepared is about to be in the text; or it is not. */
void mt_calls_text_note_written(struct mt_calls_space *space, struct mt_calls_place *place,
				bool is_written);

/* The memory in which texts were composed is not needed any more. */
void mt_calls_text_end(struct mt_calls_engine *engine);

/* text_break.c: what mt_calls_text_write() does, when one breakpoint was added: where it can be,
 * its bytes alone are written. */
struct mt_error *mt_calls_text_write_break(struct mt_calls_engine *engine,
					   struct mt_calls_space *space,
					   struct mt_calls_place *place,
					   const struct mt_calls_break *one);
/* The same when one breakpoint, whose patch's jump leads to it, was retired. */
struct mt_error *mt_calls_text_turn_from(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, struct mt_calls_place *place,
					 const struct mt_calls_break *one);

/* move.c */
/* Where the copy of the instruction at ADDRESS stands, if that lies within bytes that a trampoline
 * or a line's condition displaces, and behind their first; else 0. */
uint64_t mt_calls_copy_of(struct mt_calls_space *space, uint64_t address);
/* A thread whose PC lies within bytes that are about to be displaced goes on in the trampoline. */
struct mt_error *mt_calls_displace_thread(struct mt_calls_engine *engine,
					  struct mt_calls_space *space, pid_t lwp);
/* The same with bytes that are; but one on its way through a hole among them stays. */
struct mt_error *mt_calls_move_thread(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp);
/* A thread on its way through a hole goes on in the trampoline, before the hole is filled. */
struct mt_error *mt_calls_leave_hole(struct mt_calls_engine *engine,
				     const struct mt_calls_place *place, pid_t lwp);
/* Whether it changed them: rip, rsp, and those that code of ours uses. */
typedef bool mt_calls_move(void *context, struct user_regs_struct *registers);
/* Calls it for each thread, and for what handlers of signals return to.  *is_whole: none was left
 * out that may run on.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_move_all(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   mt_calls_move *move, void *context, bool *is_whole);
/* Those within displaced bytes go on in trampolines; so do those on their way through holes.  DUE:
 * in its texts that are due alone; NULL: in all. */
struct mt_error *mt_calls_displace_all(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       const struct mt_calls_swap *due);
struct mt_error *mt_calls_leave_holes(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* left_jumps.c */
/* In a text that stands at ADDRESS: CLEAN, the file's, where a jump leads to what is left.  False:
 * there may be some left. */
bool mt_calls_left_undo(const struct mt_calls_left *left, uint64_t address, uint8_t *text,
			const uint8_t *clean, size_t size);
/* The offset of the next jump into what is left, from AT on; SIZE: there is none. */
size_t mt_calls_left_next_jump(const struct mt_calls_left *left, uint64_t address,
			       const uint8_t *text, size_t size, size_t at);
/* Whether something in that memory looks like a jump to what is left. */
bool mt_calls_left_is_reached(const struct mt_calls_left *left, uint64_t address,
			      const uint8_t *text, size_t size);

/* intact.c */
/* Of the patches that were put into a text, by number, those remain in PATCHES that are in MEMORY,
 * which was read from there.  False: none are. */
bool mt_calls_keep_intact(const struct mt_calls_space *space, const struct mt_calls_module *module,
			  const uint8_t *memory, bool *patches);
/* Whether one is that was put there, as far as the PIECE tells. */
bool mt_calls_is_intact(const struct mt_calls_space *space, const struct mt_calls_module *module,
			size_t index, const struct mt_calls_piece *piece);
bool mt_calls_piece_has_patch(const struct mt_calls_piece *piece,
			      const struct mt_calls_module *module, size_t index);
/* Whether that is its mapping. */
bool mt_calls_is_mapping_of(const struct mt_calls_module *module, const struct mt_map *map);
/* Whether all of a text is mapped where it was, with whichever rights. */
bool mt_calls_is_mapped(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			const struct mt_calls_module *module);
/* Whether its own bytes stand THERE, where they were put. */
bool mt_calls_break_is_intact(const struct mt_calls_break *one, const uint8_t *there);
/* The program's own bytes, where the PIECE has those of breakpoints. */
void mt_calls_undo_breaks(const struct mt_calls_space *space, const struct mt_calls_piece *piece);
/* In its place, in the memory of PID, comes to be what was there before; if it is there.  Errors:
 * the target's. */
struct mt_error *mt_calls_break_put_back(struct mt_calls_engine *engine, pid_t pid,
					 const struct mt_calls_break *one);

/* copied.c */
/* See mend_copy() in engine/engine.h.  Whoever else was led astray by the same copy is led back,
 * too. */
struct mt_error *mt_calls_mend_copy(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t fault, bool *is_mended);
/* The same for a SIGTRAP at PC, behind an int3 that is no trigger's in its place. */
struct mt_error *mt_calls_mend_trap(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t pc, bool *is_mended);

/* shown.c: TEXT is about to be in the place of what was the file's own text alone.  A debugger will
 * hide it, and show the like again. */
void mt_calls_shown_keep(const struct mt_calls_space *space, struct mt_calls_place *place,
			 const uint8_t *text);
void mt_calls_shown_forget(struct mt_calls_place *place);
/* What was kept, if that is what belongs in the place of MEMORY; the file's text, if MEMORY is what
 * was kept.  NULL: it is to be composed. */
const uint8_t *mt_calls_shown_again(const struct mt_calls_space *space,
				    const struct mt_calls_place *place, const uint8_t *memory);
const uint8_t *mt_calls_shown_clean(const struct mt_calls_space *space,
				    const struct mt_calls_place *place, const uint8_t *memory);

/* mask.c */
/* About to be hidden: where the target masks_reads(), it is by `masked`, with all patches in the
 * text but those that threads are led out of now.  *is_aside: none is to be led out of anything.
 * Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_mask(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       bool *is_aside);
/* Take them out, as if it had been hidden without that.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_unmask(struct mt_calls_engine *engine, struct mt_calls_space *space);
/* BYTES, read at ADDRESS, become the program's own where our patches are; NULL: they stay as they
 * are.  Whether some are of a text that may have patches. */
bool mt_calls_original(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		       uint64_t address, uint8_t *bytes, size_t size);
/* Those patches alone are written that come or go, in a text that is known.  *done false: it has
 * to be written as a whole.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_text_update(const struct mt_calls_engine *engine,
				      struct mt_calls_space *space, struct mt_calls_place *place,
				      bool *done);

/* exclude.c */
/* Leave out a patch, and those that need bytes of it. */
void mt_calls_patch_off(struct mt_calls_place *place, size_t patch, enum mt_calls_off why);
/* The same until the next show(). */
void mt_calls_patch_hold(struct mt_calls_place *place, size_t patch);
/* The first patch from FROM on that is held so; the number of all: none is. */
size_t mt_calls_next_held(const struct mt_calls_place *place, size_t from);
/* None is any more. */
void mt_calls_patches_release(struct mt_calls_place *place);
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

/* A patch that stays out for a breakpoint, or begins with one: it is noted if it is an entry's.
 * 0, or -1 without memory. */
int mt_calls_miss(struct mt_calls_space *space, const struct mt_calls_place *place, size_t patch);
/* missed.c */
int mt_calls_cover(struct mt_calls_space *space, const struct mt_calls_place *place, size_t patch);

/* An entry whose jump a breakpoint of the debugger's keeps out. */
bool mt_calls_is_missed(const struct mt_calls_space *space, uint64_t address);
/* One that begins with one. */
bool mt_calls_is_covered(const struct mt_calls_space *space, uint64_t address);

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

#endif
