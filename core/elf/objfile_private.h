/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of an mt_objfile: identity (objfile.c), where its debug information is
 * (debug_file.c), names (symbols.c, plt.c), and what folders above attach to it.  All but the
 * identity is found or built at the first question, once. */
#ifndef MT_ELF_OBJFILE_PRIVATE_H
#define MT_ELF_OBJFILE_PRIVATE_H

#include "base/arena.h"
#include "base/array.h"
#include "elf/data_symbol.h"
#include "elf/eh_frame.h"
#include "elf/file.h"
#include "elf/objfile.h"

/* A PT_LOAD segment. */
struct mt_load_segment {
	uint64_t offset;
	uint64_t file_size;
	uint64_t address;
	uint64_t size; /* in memory */
	bool executable;
	unsigned char *bytes; /* of the file, once they were asked for */
	unsigned char *pages; /* that hold them, and zeros */
};

struct mt_symbol_index;

/* The answer to a question for one symbol: the same few are asked for in each file. */
struct mt_sought_symbol {
	const char *name;
	bool is_function;
	bool is_found;
	struct mt_data_symbol symbol;
};

/* What a folder above keeps with an object file: made at the first question. */
struct mt_objfile_attachment {
	void *data; /* NULL: nothing yet */
	void (*destroy)(void *data);
};

struct mt_objfile {
	unsigned references;
	char *path;
	char *debug_directory;
	char *sysroot;
	bool debuginfod;
	bool without_locations;
	struct mt_log log;

	struct mt_elf_file main;
	struct mt_elf_file debug; /* the separate debug file, if there is one */
	struct mt_elf_file mini;  /* .gnu_debugdata, if there is one */
	bool debug_sought;

	struct mt_build_id build_id;
	bool is_pie;
	uint64_t entry;
	struct mt_load_segment *segments; /* sorted by address */
	size_t segment_count;

	struct mt_arena arena; /* of all that is lent */
	struct mt_symbol_index *symbols;
	MT_ARRAY(struct mt_sought_symbol) sought; /* without the index */
	struct mt_objfile_attachment dwarf;       /* dwarf/units.c */
	struct mt_objfile_attachment cfi;         /* space/unwind_cfi.c */
	struct mt_objfile_attachment go;          /* go_table.c; NULL: it is no program of Go's */
	bool go_sought;
	uint32_t own_function_count;
	uint32_t *function_count; /* gives ids: the pool's, or own_function_count */
};

/* objfile.c */
/* The last component of a path. */
const char *mt_path_name(const char *path);
struct mt_load_segment *mt_objfile_segment_at(const struct mt_objfile *objfile, uint64_t address);
/* From now on inlined functions take their ids from COUNT (NULL: its own). */
void mt_objfile_number_by(struct mt_objfile *objfile, uint32_t *count);

/* debug_file.c */
/* Look for the separate debug file, once. */
void mt_objfile_seek_debug(struct mt_objfile *objfile);
/* A file that has the build id, found without a path: under the debug directory, or from
 * debuginfod.  False: none; OUT is then not open. */
bool mt_objfile_find_by_build_id(struct mt_objfile *objfile, const struct mt_build_id *wanted,
				 struct mt_elf_file *out);

/* symbols.c */
void mt_symbol_index_destroy(struct mt_symbol_index *index);

#endif
