/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols that come as text, with process addresses: perf's maps of JIT code, and the kernel's. */
#ifndef MT_ELF_TEXT_SYMBOLS_H
#define MT_ELF_TEXT_SYMBOLS_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/function.h"

struct mt_text_symbol {
	uint64_t start; /* [start, end) */
	uint64_t end;
	size_t order; /* line in the file: the later is the newer */
	const char *name;
	const char *module;
	const struct mt_function *function; /* NULL: not asked for yet */
};

struct mt_text_symbols {
	struct mt_text_symbols *next; /* the owner's */
	struct mt_text_symbol *items; /* sorted and disjoint */
	size_t count;
	size_t capacity;
};

/* "START SIZE name", hex.  Names go into ARENA; garbled lines are left out.  Where ranges overlap
 * the later line wins: code moves.  Errors: as opening; NO_MEMORY. */
struct mt_error *mt_text_symbols_read_perf_map(const char *path, struct mt_arena *arena,
					       struct mt_text_symbols *out);
/* "START type name [module]".  Without permission every address reads 0: then there are none. */
struct mt_error *mt_text_symbols_read_kallsyms(const char *path, struct mt_arena *arena,
					       struct mt_text_symbols *out);
void mt_text_symbols_deinit(struct mt_text_symbols *symbols);

/* How many begin at or below an address: the one before may hold it. */
size_t mt_text_symbols_search(const struct mt_text_symbols *symbols, uint64_t address);

#endif
