/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_ELF_CODE_H
#define MT_ELF_CODE_H

#include "elf/objfile.h"

/* The stretches of the file that hold code, sorted and disjoint: the executable sections, or the
 * executable segments of a file without sections. */
struct mt_code_range {
	uint64_t start; /* [start, end) */
	uint64_t end;
};

struct mt_code {
	struct mt_code_range *items;
	size_t count;
	size_t capacity;
};

/* Returns 0, or -1 without memory. */
int mt_code_read(const struct mt_objfile *objfile, struct mt_code *out);
/* NULL: no code is there. */
const struct mt_code_range *mt_code_at(const struct mt_code *code, uint64_t address);

#endif
