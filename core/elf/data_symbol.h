/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables by their names, as symbol tables have them; and functions, where the sorting of all
 * names (objfile.h) would take longer than all else. */
#ifndef MT_ELF_DATA_SYMBOL_H
#define MT_ELF_DATA_SYMBOL_H

#include "elf/objfile.h"

struct mt_data_symbol {
	uint64_t address; /* in the file; of a thread-local one: its offset, which is no address */
	uint64_t size;    /* 0: not known */
	bool thread_local;
};

/* NAME is the raw or the demangled one.  False: there is none. */
bool mt_objfile_find_data_symbol(struct mt_objfile *objfile, const char *name,
				 struct mt_data_symbol *out);
/* The address in the file of the function with that raw name; 0: there is none. */
uint64_t mt_objfile_find_function_symbol(struct mt_objfile *objfile, const char *name);

#endif
