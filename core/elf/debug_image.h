/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The debug sections of a file as an ELF file in memory, for libdw alone, which has all of them
 * read as it begins.  Here sections that nobody asks for are left out, the large ones are read by
 * and by, where libdw is about to look, and compressed ones (gABI, "Section Compression") are
 * inflated by ISA-L: libelf has zlib, which took as long over the C library's as all the rest of a
 * short recording. */
#ifndef MT_ELF_DEBUG_IMAGE_H
#define MT_ELF_DEBUG_IMAGE_H

#include "elf/file.h"

/* Sections that are read by and by, unless they were compressed. */
enum mt_debug_part {
	MT_DEBUG_INFO,
	MT_DEBUG_LINE,
	MT_DEBUG_LOC,
	MT_DEBUG_LOCLISTS,
	MT_DEBUG_PART_COUNT,
};

struct mt_debug_section {
	uint8_t *bytes;  /* zeros where nothing was read; NULL: there is none, or it is all there */
	uint64_t offset; /* in the file */
	uint64_t size;
	uint8_t *is_read; /* a byte a page: none is read twice, so that what was seen stays */
};

struct mt_debug_image {
	/* Has the sections of FROM by the same numbers, none of them compressed. */
	struct mt_elf_file file;
	const struct mt_elf_file *from;
	struct stat status; /* FROM's, when it was made */
	uint8_t *memory;    /* NULL: there is no image */
	uint64_t size;
	struct mt_debug_section parts[MT_DEBUG_PART_COUNT];
	const uint8_t *abbreviations; /* .debug_abbrev */
	uint64_t abbreviations_size;
};

/* With what libdw knows lines, functions, types and variables by.  False: there is no image, and
 * libdw is to read FROM itself, which must outlive it: it refers to other files, which libdw finds
 * from where FROM is; or something is compressed by what ISA-L does not know, or is garbled, or
 * there is no memory. */
bool mt_debug_image_open(const struct mt_elf_file *from, struct mt_debug_image *out);
/* The same with .debug_frame alone. */
bool mt_debug_image_open_frames(const struct mt_elf_file *from, struct mt_debug_image *out);
void mt_debug_image_close(struct mt_debug_image *image); /* one that is not there is fine */

/* Before libdw looks at [start, end) of a part, which may lie beyond its end.  What cannot be read,
 * since the file was written to or cut short meanwhile, stays zeros; one that was only touched has
 * all it had. */
void mt_debug_image_read(struct mt_debug_image *image, enum mt_debug_part which, uint64_t start,
			 uint64_t end);

#endif
