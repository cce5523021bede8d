/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols that come beside the object files, with process addresses: those of JIT code, from perf's
 * maps (here) and jitdump files (elf/jitdump.h), and the kernel's. */
#ifndef MT_ELF_TEXT_SYMBOLS_H
#define MT_ELF_TEXT_SYMBOLS_H

#include "base/array.h"
#include "base/error.h"
#include "elf/function.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct mt_text_symbol {
	uint64_t start; /* [start, end) */
	uint64_t end;
	size_t order; /* in the file: the later is the newer */
	const char *name;
	const char *module;
	uint64_t base; /* lines count from here; what is newer may have taken the start */
	uint32_t first_line, line_count;
	const struct mt_function *function; /* the owner's; NULL: not asked for yet */
};

/* From here to the symbol's next one. */
struct mt_text_line {
	uint32_t offset; /* of the symbol's base; they rise */
	uint32_t line;
	const char *file;
};

struct mt_text_symbols {
	size_t users;                 /* the owner's */
	struct mt_text_symbol *items; /* sorted and disjoint */
	size_t count;
	size_t capacity;
	MT_ARRAY(struct mt_text_line) lines;
};

/* Where strings are kept.  NULL: no memory. */
struct mt_text_store {
	const char *(*keep)(void *context, const char *text);
	void *context;
};

/* Files that anybody may have written: what is no regular file is not opened.
 * Errors: as opening. */
struct mt_error *mt_text_symbols_open(const char *path, FILE **file, struct stat *status);

/* "START SIZE name", hex.  Garbled lines are left out.  Where ranges overlap the later line wins:
 * code moves.  Errors: NO_MEMORY. */
struct mt_error *mt_text_symbols_read_perf_map(FILE *file, const struct mt_text_store *store,
					       struct mt_text_symbols *out);
/* "START type name [module]".  Without permission every address reads 0: then there are none. */
struct mt_error *mt_text_symbols_read_kallsyms(FILE *file, const struct mt_text_store *store,
					       struct mt_text_symbols *out);
void mt_text_symbols_deinit(struct mt_text_symbols *symbols);

/* For readers: sort, and let the newer win.  Errors: NO_MEMORY. */
struct mt_error *mt_text_symbols_settle(struct mt_text_symbols *symbols);

/* How many begin at or below an address: the one before may hold it. */
size_t mt_text_symbols_search(const struct mt_text_symbols *symbols, uint64_t address);
/* False: no line is known. */
bool mt_text_symbols_source_at(const struct mt_text_symbols *symbols, uint64_t address,
			       struct mt_source *out);

#endif
