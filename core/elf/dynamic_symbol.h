/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file exports, where nothing else of it is needed. */
#ifndef MT_ELF_DYNAMIC_SYMBOL_H
#define MT_ELF_DYNAMIC_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/* The address of a symbol in a file's dynamic symbol table; 0: it has none of that name. */
uint64_t mt_elf_dynamic_symbol(const char *path, const char *name);
/* The same of several. */
void mt_elf_dynamic_symbols(const char *path, const char *const *names, size_t count,
			    uint64_t *addresses);

#endif
