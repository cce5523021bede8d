/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that are exchanged at once, by mappings that were made ready beside them. */
#ifndef MT_ENGINE_CALLS_SWAP_H
#define MT_ENGINE_CALLS_SWAP_H

#include "engine/calls/state/types.h"

#include <fcntl.h>

/* With which files are opened in a program.  O_DSYNC means nothing to a reader: by it they are
 * known, should we be killed before they are closed. */
#define MT_CALLS_OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DSYNC)
/* Of texts that are exchanged at one stop. */
#define MT_CALLS_SWAP_AT_ONCE (2ull << 20)

/* A text, and the second mapping that is to take its place. */
struct mt_calls_copy {
	uint64_t start, end; /* of the text */
	const char *path;    /* lent */
	uint64_t offset, inode, device;
	uint64_t address;                  /* 0: there is none, or none any more */
	uint64_t aside;                    /* where the text may go; 0: nowhere */
	bool text_is_there, copy_is_there; /* as they were: seen by exchange() */
	bool aside_is_taken;
	bool is_due;   /* at this stop */
	bool had_turn; /* it is, or was at an earlier one */
	bool is_exchanged;
	bool is_aside;     /* the text is there, and to be unmapped */
	uint64_t gone;     /* so many bytes of what is to be unmapped next are */
	bool is_filled;    /* else it is not to be exchanged */
	bool is_unwritten; /* nobody has written into the text, whose pages are the file's */
	uint64_t changes;  /* of the text, when it was read: see mt_calls_swap_is_read() */
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
/* Instead, where the texts are to be the files', and nothing is read of a copy: choose where they
 * go aside.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_swap_make_way(struct mt_calls_engine *engine,
					struct mt_calls_space *space, struct mt_calls_swap *swap);
/* Whether the system lets texts not go aside. */
bool mt_calls_swap_needs_copies(void);
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
/* Makes texts due that had no turn yet: as many as together cost a stop no more than MOST bytes of
 * them do, or one. */
void mt_calls_swap_make_due(struct mt_calls_swap *swap, uint64_t most);
bool mt_calls_swap_is_due(const struct mt_calls_swap *swap, uint64_t start);
bool mt_calls_swap_had_turn(const struct mt_calls_swap *swap, uint64_t start);
bool mt_calls_swap_all_had_turn(const struct mt_calls_swap *swap);
/* While all stand still: those due into which somebody wrote since are not to be exchanged. */
void mt_calls_swap_compare(struct mt_calls_engine *engine, struct mt_calls_swap *swap);
/* While all stand still: put the copies, or the files, in the place of the texts that are due and
 * still there.  What is mapped then for nothing is left to mt_calls_swap_each_rest(). */
struct mt_error *mt_calls_swap_exchange(struct mt_calls_engine *engine,
					const struct mt_calls_space *space,
					struct mt_calls_swap *swap, pid_t lwp);
bool mt_calls_swap_has_rest(const struct mt_calls_swap *swap);
/* Unmaps the first part of what is left over, of MOST bytes at most, in the name of LWP.  Errors:
 * the target's. */
struct mt_error *mt_calls_swap_unmap(struct mt_calls_engine *engine,
				     const struct mt_calls_space *space, struct mt_calls_swap *swap,
				     pid_t lwp, uint64_t most);
/* Copies that were not exchanged, and texts that went aside.  Returns what FOUND does, if not 0. */
int mt_calls_swap_each_rest(const struct mt_calls_swap *swap,
			    int (*found)(void *context, uint64_t start, uint64_t bytes),
			    void *context);
/* Whether a mapping that begins at ADDRESS is one of these.  SWAP NULL: it is not. */
bool mt_calls_swap_holds(const struct mt_calls_swap *swap, uint64_t address);
bool mt_calls_swap_is_exchanged(const struct mt_calls_swap *swap, uint64_t start);

#endif
