/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_SPACE_PRIVATE_H
#define MT_SPACE_PRIVATE_H

#include "space/pool.h"

/* The path of a mapping that has none, as perf writes it. */
#define MT_SPACE_NO_FILE "//anon"

struct mt_space_entry {
	struct mt_mapping mapping;
	struct mt_image *image; /* NULL: no object file */
};

struct mt_space {
	struct mt_space_pool *pool;
	pid_t pid;
	struct mt_space_entry *room;    /* with some to spare before and behind the entries */
	size_t capacity;                /* of room */
	struct mt_space_entry *entries; /* sorted by address, disjoint */
	size_t count;
	MT_ARRAY(struct mt_text_symbols *) made; /* of code that was made at run time */
	struct mt_text_symbols *kernel;          /* NULL: none */
	/* The answer before this one, which is often this one's too. */
	struct {
		uint64_t start; /* [start, end): where it is the answer */
		uint64_t end;
		const struct mt_function *function;
	} last;
};

/* How many mappings begin at or below an address: the one before may hold it. */
size_t mt_space_search(const struct mt_space *space, uint64_t address);
struct mt_space_entry *mt_space_entry_at(const struct mt_space *space, uint64_t address);
/* Whether what is mapped by that name is a file that can hold code. */
bool mt_space_is_file(const char *path);

void mt_space_forget_last(struct mt_space *space);

/* made.c */
struct mt_error *mt_space_share_tables(const struct mt_space *from, struct mt_space *to);
void mt_space_drop_tables(struct mt_space *space);

#endif
