/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding sections of an ELF file by name or type.  libelf checks that their bytes lie in the
 * file. */
#ifndef MT_ELF_SECTION_H
#define MT_ELF_SECTION_H

#include <gelf.h>
#include <stdbool.h>

struct mt_section {
	Elf_Scn *scn;
	GElf_Shdr header;
	const char *name; /* never NULL */
	Elf_Data *data;   /* never NULL; d_buf is, for SHT_NOBITS */
};

/* False: there is none, or it cannot be read. */
bool mt_section_find(Elf *elf, const char *name, struct mt_section *out);
/* The same without reading it. */
bool mt_section_exists(Elf *elf, const char *name);
/* The first of a type (SHT_SYMTAB …). */
bool mt_section_find_type(Elf *elf, unsigned type, struct mt_section *out);
/* The next one after out->scn (NULL: the first), without its data (data is NULL).  False: that was
 * the last. */
bool mt_section_next(Elf *elf, struct mt_section *out);

#endif
