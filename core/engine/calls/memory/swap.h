/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that are exchanged at once, by mappings that were made ready beside them. */
#ifndef MT_ENGINE_CALLS_SWAP_H
#define MT_ENGINE_CALLS_SWAP_H

#include "engine/calls/state/types.h"

#include <fcntl.h>

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

#endif
