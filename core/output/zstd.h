/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zstd file (RFC 8878) of one frame with a checksum, packed by the library's own workers, where
 * it has them. */
#ifndef MT_OUTPUT_ZSTD_H
#define MT_OUTPUT_ZSTD_H

#include "base/outfile.h"

struct mt_zstd;

/* FILE is lent.  Errors: NO_MEMORY. */
struct mt_error *mt_zstd_create(struct mt_outfile *file, struct mt_zstd **out);
/* NULL is fine. */
void mt_zstd_destroy(struct mt_zstd *zstd);
/* Errors: as mt_outfile_write(); INTERNAL. */
struct mt_error *mt_zstd_write(struct mt_zstd *zstd, const void *bytes, size_t size);
/* Nothing more comes.  Errors: as above. */
struct mt_error *mt_zstd_finish(struct mt_zstd *zstd);

#endif
