/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of code in an object file's data: what a program can reach without a
 * direct branch. */
#ifndef MT_ELF_REFERENCES_H
#define MT_ELF_REFERENCES_H

#include "elf/code.h"
#include "elf/eh_frame.h"

/* Functions that .eh_frame describes.  The caller deinits OUT.  Returns 0, or -1 without memory. */
int mt_objfile_fdes(const struct mt_objfile *objfile, struct mt_fdes *out);

/* Without a section table nobody knows what refers to what. */
bool mt_objfile_has_sections(const struct mt_objfile *objfile);

/* PLACE: where it stands; ADDRESS: what it says.  Neither need be sensible. */
typedef void mt_see_reference(void *context, uint64_t place, uint64_t address);

/* Each symbol of code, aliases and labels too; PLACE is 0. */
void mt_objfile_each_symbol(struct mt_objfile *objfile, mt_see_reference *see, void *context);
/* Each address of the file itself that the dynamic loader writes: R_X86_64_RELATIVE, also packed
 * (RELR), IRELATIVE, and R_X86_64_64 and GLOB_DAT against symbols that the file defines. */
void mt_objfile_each_relocation(const struct mt_objfile *objfile, mt_see_reference *see,
				void *context);
/* Each landing pad of the functions' exception tables (Itanium C++ ABI, "Exception Handling
 * Tables"). */
void mt_objfile_each_landing_pad(const struct mt_objfile *objfile, const struct mt_fdes *fdes,
				 mt_see_reference *see, void *context);
/* Each restartable sequence (rseq(2)): PLACE is where it begins, ADDRESS where it ends.  Source:
 * Linux, include/uapi/linux/rseq.h, struct rseq_cs; librseq and tcmalloc put them into the section
 * __rseq_cs. */
void mt_objfile_each_restartable(const struct mt_objfile *objfile, mt_see_reference *see,
				 void *context);
/* Each aligned word of 8 bytes in the file's segments: in a program that is not relocated, an
 * address may stand in any. */
void mt_objfile_each_word(const struct mt_objfile *objfile, mt_see_reference *see, void *context);

#endif
