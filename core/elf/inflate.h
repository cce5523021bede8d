/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compressed debug sections of a file (gABI, "Section Compression"), inflated by ISA-L: libelf
 * has zlib, which took as long over the C library's as all the rest of a short recording. */
#ifndef MT_ELF_INFLATE_H
#define MT_ELF_INFLATE_H

#include "elf/file.h"

/* An ELF file in memory, for libdw alone: it has the sections of FILE by the same numbers, but only
 * debug sections and the sections' names have contents, and none is compressed.  False: OUT is not
 * open, and libdw is to read FILE itself.  Nothing in it is compressed, or not by what ISA-L knows,
 * or it refers to other files, which libdw finds from where FILE is; or something is garbled, or
 * there is no memory. */
bool mt_inflate_debug(const struct mt_elf_file *file, struct mt_elf_file *out);

#endif
