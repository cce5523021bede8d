/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A worker that writes a file while its owner makes what comes next. */
#ifndef MT_OUTPUT_WRITE_BEHIND_H
#define MT_OUTPUT_WRITE_BEHIND_H

#include "base/outfile.h"

#define MT_WRITE_BEHIND_MOST (128u << 10) /* bytes at once */

struct mt_write_behind;

/* FILE is the worker's from the first write until mt_write_behind_finish() or _destroy().  It is a
 * local one: what takes nothing for long may have to be left when a signal comes, and workers
 * hear of none.  Begins no thread before that pays. */
struct mt_error *mt_write_behind_create(struct mt_outfile *file, struct mt_write_behind **out);
/* NULL is fine. */
void mt_write_behind_destroy(struct mt_write_behind *behind);
/* SIZE of the MT_WRITE_BEHIND_MOST bytes at BYTES, which can be filled anew then.  Errors: SYSTEM,
 * of this write or one before. */
struct mt_error *mt_write_behind(struct mt_write_behind *behind, const void *bytes, size_t size);
/* Until all is written. */
struct mt_error *mt_write_behind_finish(struct mt_write_behind *behind);

#endif
