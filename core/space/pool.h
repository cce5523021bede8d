/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the spaces of a pool: open files, and every function that was ever asked for. */
#ifndef MT_SPACE_POOL_H
#define MT_SPACE_POOL_H

#include "base/arena.h"
#include "elf/text_symbols.h"
#include "space/space.h"

#include <uthash.h>

/* A text, once. */
struct mt_space_pool_text {
	UT_hash_handle hh;
	char text[];
};

/* A file that was asked for: open, or why not. */
struct mt_space_pool_file {
	const char *key; /* path and build id */
	struct mt_objfile *objfile;
	const char *problem;
	UT_hash_handle hh;
};

/* An object file at a place: its functions have process addresses. */
struct mt_image {
	struct {
		struct mt_objfile *objfile;
		uint64_t bias;
	} key;
	const struct mt_symbol *symbols;
	size_t symbol_count;
	const struct mt_function **functions; /* by symbol; NULL: not asked for yet */
	UT_hash_handle hh;
};

/* A stretch that holds nothing known. */
struct mt_hole {
	struct mt_hole_key {
		uint64_t start; /* [start, end) */
		uint64_t end;
		const char *path; /* of the mapping, a text of the pool; NULL: none */
	} key;
	const struct mt_function *function;
	UT_hash_handle hh;
};

/* A function out of a table, which is the same one when the table is read again. */
struct mt_space_pool_made {
	struct mt_made_key {
		uint64_t start, end;
		const char *name, *module, *file; /* texts of the pool */
		uint64_t line;
	} key;
	struct mt_function *function;
	UT_hash_handle hh;
};

/* An object file that was read out of a process: the same bytes are the same one. */
struct mt_space_pool_object {
	struct mt_object_key {
		uint64_t size, sum;
	} key;
	struct mt_objfile *objfile; /* NULL: it cannot be read */
	UT_hash_handle hh;
};

/* The symbols that a file had when it was read. */
struct mt_space_pool_table {
	const char *path;
	struct mt_table_version {
		dev_t device;
		ino_t inode;
		off_t size;
		struct timespec modified, changed;
	} version;
	struct mt_text_symbols *symbols; /* NULL: it had none */
	UT_hash_handle hh;
};

struct mt_space_pool {
	struct mt_objfile_options options;
	char *debug_directory;
	char *sysroot;
	struct mt_arena arena;
	uint32_t function_count;
	struct mt_space_pool_text *texts;
	struct mt_space_pool_file *files;
	struct mt_image *images;
	struct mt_hole *holes;
	struct mt_space_pool_made *made;
	struct mt_space_pool_table *tables; /* by path, the newest of each */
	struct mt_space_pool_object *objects;
	struct mt_log log;
	struct { /* opened by others: the vDSO */
		struct mt_objfile **items;
		size_t count;
		size_t capacity;
	} guests;
};

/* made.c */
void mt_space_pool_drop_tables(struct mt_space_pool *pool);
/* objects.c */
void mt_space_pool_drop_objects(struct mt_space_pool *pool);

/* All of these return NULL without memory. */
const char *mt_space_pool_text(struct mt_space_pool *pool, const char *text);
/* `wanted` may be empty. */
const struct mt_space_pool_file *mt_space_pool_file(struct mt_space_pool *pool, const char *path,
						    const struct mt_build_id *wanted);
/* Keep a reference until the end. */
struct mt_error *mt_space_pool_adopt(struct mt_space_pool *pool, struct mt_objfile *objfile);
struct mt_image *mt_space_pool_image(struct mt_space_pool *pool, struct mt_objfile *objfile,
				     uint64_t bias);
const struct mt_function *mt_space_pool_image_function(struct mt_space_pool *pool,
						       struct mt_image *image, size_t symbol);
const struct mt_function *mt_space_pool_text_function(struct mt_space_pool *pool,
						      struct mt_text_symbols *table, size_t symbol);
const struct mt_function *mt_space_pool_hole(struct mt_space_pool *pool,
					     const struct mt_hole_key *key, const char *name);

#endif
