/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's text: patches into it, out of it, and what keeps them out. */
#ifndef MT_ENGINE_CALLS_TEXTS_H
#define MT_ENGINE_CALLS_TEXTS_H

#include "engine/calls/types.h"

/* compose.c: what is to be in a text. */
/* So far from a patch lies what belongs to it: a short jump leads to its hole. */
#define MT_CALLS_NEAR 256u
/* A part of a text, or all of it: the bytes of [start, start + size). */
struct mt_calls_piece {
	uint64_t start;
	size_t size;
	uint8_t *bytes;
};
/* Put our patches and breakpoints over the program's own bytes. */
void mt_calls_compose(const struct mt_calls_space *space, const struct mt_calls_place *place,
		      const struct mt_calls_piece *piece);
/* The first patch at an address of the file, or behind it. */
size_t mt_calls_first_patch(const struct mt_plan *plan, uint64_t address);
/* Whether a patch is to be there. */
bool mt_calls_is_on(const struct mt_calls_place *place, size_t patch);
void mt_calls_make_jump(uint8_t bytes[MT_PATCH_JUMP_BYTES], uint64_t at, uint64_t target);

/* text_begin.c */
/* Whether nothing was written into a text, by us or by others. */
bool mt_calls_is_text_of_file(const struct mt_calls_space *space,
			      const struct mt_calls_module *module);
/* Write such a one for the first time, all of it at once: in a program that dies with us, and where
 * nobody runs what is there between two writes.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_text_begin(struct mt_calls_engine *engine,
				     const struct mt_calls_space *space,
				     const struct mt_calls_place *place);

/* text.c: the process is halted. */
/* Write what is to be in the text of a place, unless it is hidden.  Errors: the target's;
 * NO_MEMORY. */
struct mt_error *mt_calls_text_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place);
/* The same with no patch and no breakpoint. */
struct mt_error *mt_calls_text_clean(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place);
/* Whether patches of ours are in what lies in the place of a text. */
struct mt_error *mt_calls_text_look(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_place *place, bool *is_patched);
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
/* The patch in the text that displaces ADDRESS; -1: none. */
ssize_t mt_calls_patch_at(const struct mt_calls_place *place, uint64_t address);
/* One that begins at the address, and is in the text but when that is hidden, or for a while. */
ssize_t mt_calls_planned_at(const struct mt_calls_place *place, uint64_t address);

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

/* intact.c */
/* Of the patches that were put into a text, by number, those remain in PATCHES that are in MEMORY,
 * which was read from there.  False: none are. */
bool mt_calls_keep_intact(const struct mt_calls_space *space, const struct mt_calls_module *module,
			  uint8_t *memory, bool *patches);
/* Whether one is that was put there, as far as the PIECE tells. */
bool mt_calls_is_intact(const struct mt_calls_space *space, const struct mt_calls_module *module,
			size_t index, const struct mt_calls_piece *piece);
bool mt_calls_piece_holds(const struct mt_calls_piece *piece, uint64_t address, size_t length);
bool mt_calls_piece_has_patch(const struct mt_calls_piece *piece,
			      const struct mt_calls_module *module, size_t index);
/* Whether that is its mapping. */
bool mt_calls_is_mapping_of(const struct mt_calls_module *module, const struct mt_map *map);
/* Whether all of a text is mapped where it was, with whichever rights. */
bool mt_calls_is_mapped(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			const struct mt_calls_module *module);
/* Whether its own bytes stand THERE, where they were put. */
bool mt_calls_break_is_intact(const struct mt_calls_break *one, const uint8_t *there);
/* In its place, in the memory of PID, comes to be what was there before; if it is there.  Errors:
 * the target's. */
struct mt_error *mt_calls_break_put_back(struct mt_calls_engine *engine, pid_t pid,
					 const struct mt_calls_break *one);

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
/* BYTES, read at ADDRESS, are the program's own where our patches are, if it is masked.  Whether
 * some are of a text that may have patches. */
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
	bool is_filled;   /* else it is not to be exchanged */
	uint64_t changes; /* of the text, when it was read: see mt_calls_swap_is_read() */
};

struct mt_calls_swap {
	pid_t pid;
	MT_ARRAY(struct mt_calls_copy) copies;
};

/* 0, or -1 without memory. */
int mt_calls_swap_add(struct mt_calls_swap *swap, uint64_t start, uint64_t end, const char *path);
/* Map what was added, in the name of LWP: clean copies, as far as that is possible.  Errors: the
 * target's; NO_MEMORY. */
struct mt_error *mt_calls_swap_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_swap *swap, pid_t lwp);
/* That of the text at START; NULL: it has none. */
struct mt_calls_copy *mt_calls_swap_find(struct mt_calls_swap *swap, uint64_t start);
/* While threads run: give the copy TEXT, where that differs from CLEAN, the file's. */
struct mt_error *mt_calls_swap_fill(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_copy *copy,
				    const uint8_t *text, const uint8_t *clean);
/* After a text that nobody has patched was read: whether MEMORY is CLEAN, the file's, but for pages
 * that were written, of which note is taken.  It is not when the file was unloaded meanwhile, and
 * other memory read that was in its place. */
bool mt_calls_swap_is_read(const struct mt_calls_swap *swap, struct mt_calls_copy *copy,
			   const uint8_t *memory, const uint8_t *clean);
/* While all stand still: those into which somebody wrote since are not to be exchanged. */
void mt_calls_swap_compare(struct mt_calls_engine *engine, struct mt_calls_swap *swap);
/* While all stand still: put the copies in the place of the texts that are still there. */
struct mt_error *mt_calls_swap_exchange(struct mt_calls_engine *engine,
					const struct mt_calls_space *space,
					struct mt_calls_swap *swap, pid_t lwp);
/* Whether a mapping that begins at ADDRESS is one of its copies.  SWAP NULL: it is not. */
bool mt_calls_swap_holds(const struct mt_calls_swap *swap, uint64_t address);
bool mt_calls_swap_is_exchanged(const struct mt_calls_swap *swap, uint64_t start);

/* hide.c */
struct mt_error *mt_calls_hide(struct mt_calls_engine *engine, struct mt_calls_space *space);
/* The text of a forked child, whose thread stands in no trampoline. */
struct mt_error *mt_calls_clean(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t child);
struct mt_error *mt_calls_show(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       const struct mt_engine_alone *alone);

#endif
