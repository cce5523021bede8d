/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A gzip file (RFC 1952), packed by workers: each block is compressed by itself, ends on a byte,
 * and is not the last one of its deflate stream (RFC 1951), so that all of them, one behind the
 * other, are one stream.  A member of its own for each would be simpler, but older importers of
 * Perfetto end at the first one's end, and say nothing. */
#ifndef MT_OUTPUT_GZIP_H
#define MT_OUTPUT_GZIP_H

#include "base/outfile.h"

struct mt_gzip;

/* FILE is lent.  Errors: NO_MEMORY. */
struct mt_error *mt_gzip_create(struct mt_outfile *file, struct mt_gzip **out);
/* NULL is fine. */
void mt_gzip_destroy(struct mt_gzip *gzip);
/* Errors: as mt_outfile_write(); INTERNAL; NO_MEMORY. */
struct mt_error *mt_gzip_write(struct mt_gzip *gzip, const void *bytes, size_t size);
/* Nothing more comes.  Errors: as above. */
struct mt_error *mt_gzip_finish(struct mt_gzip *gzip);

#endif
