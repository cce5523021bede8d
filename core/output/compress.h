/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packs what goes into a file, as its name's ending says: ".gz" is gzip (output/gzip.h), ".zst"
 * zstd (output/zstd.h).  Workers pack while the caller goes on; they end with the compressor, and
 * there are none for a file of one block.  What is written does not depend on their number. */
#ifndef MT_OUTPUT_COMPRESS_H
#define MT_OUTPUT_COMPRESS_H

#include "base/outfile.h"

/* One packs faster than a format writes. */
#define MT_COMPRESSOR_WORKERS 2
/* So much is packed at once, or, of a file that is no larger, by the caller itself. */
#define MT_COMPRESSOR_BLOCK (256u << 10)

struct mt_compressor;

/* How long that ending of a name of LENGTH bytes is; 0: it has none. */
size_t mt_compressor_ending(const char *path, size_t length);
/* *out is NULL without such an ending.  FILE is lent.  Errors: NO_MEMORY. */
struct mt_error *mt_compressor_create(const char *path, struct mt_outfile *file,
				      struct mt_compressor **out);
/* NULL is fine. */
void mt_compressor_destroy(struct mt_compressor *compressor);
/* Errors: as mt_outfile_write(); INTERNAL. */
struct mt_error *mt_compressor_write(struct mt_compressor *compressor, const void *bytes,
				     size_t size);
/* Nothing more comes.  Errors: as above. */
struct mt_error *mt_compressor_finish(struct mt_compressor *compressor);

#endif
