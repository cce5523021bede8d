/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What decoding learns of the files of a program: symbols, line tables, inlined calls.  Who decodes
 * one recording of a process after another keeps it, since compressed debug information takes
 * longer to read than a ring. */
#ifndef MT_DECODE_FILES_H
#define MT_DECODE_FILES_H

#include "space/space.h"

struct mt_decode_files {
	struct mt_space_pool *pool;
	struct mt_objfile *vdso; /* NULL: not opened yet */
	char *vdso_path;         /* its copy, for who wants a file; NULL: none */
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_decode_files_create(const struct mt_objfile_options *options,
					struct mt_decode_files **out);
void mt_decode_files_destroy(struct mt_decode_files *files); /* NULL is fine */

#endif
