/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The making of a symbol index: every name that might begin a function is a candidate, and
 * symbols.c chooses. */
#ifndef MT_ELF_SYMBOLS_H
#define MT_ELF_SYMBOLS_H

#include "elf/code.h"
#include "elf/objfile_private.h"

struct mt_candidate {
	uint64_t start;
	uint64_t size;    /* 0: not known */
	const char *name; /* without a version */
	uint8_t kind;     /* MT_FUNCTION_SYMBOL or MT_FUNCTION_PLT */
	bool label;       /* STT_NOTYPE: perhaps a place inside a function */
	bool is_ifunc;    /* STT_GNU_IFUNC: it is its resolver that begins there */
	uint8_t binding;  /* STB_… */
};

struct mt_candidates {
	struct mt_candidate *items;
	size_t count;
	size_t capacity;
};

struct mt_symbol_index {
	struct mt_symbol *symbols;
	uint64_t *starts; /* of symbols: what a look-up searches, dense in the cache */
	const char **names;
	size_t count;
	size_t capacity;
	struct mt_candidates all; /* sorted; aliases too */
};

/* symbol_tables.c: from .symtab, .dynsym, the separate debug file and .gnu_debugdata; or, where
 * only .dynsym is left, Go's own table.
 * Returns 0, or -1 without memory. */
int mt_collect_symbols(struct mt_objfile *objfile, const struct mt_code *code,
		       struct mt_candidates *out);
/* plt.c: the stubs of .plt, .plt.sec and .plt.got.  OUT has the symbols already, sorted:
 * resolvers of IFUNCs have their names from there.  Returns 0, or -1 without memory. */
int mt_collect_plt(struct mt_objfile *objfile, const struct mt_code *code,
		   struct mt_candidates *out);

/* The index, built at the first question.  NULL without memory. */
struct mt_symbol_index *mt_symbol_index(struct mt_objfile *objfile);
/* How many symbols begin at or below an address: the one before may hold it. */
size_t mt_symbol_index_search(const struct mt_symbol_index *index, uint64_t address);

#endif
