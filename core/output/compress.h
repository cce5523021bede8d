/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packs what goes into a file, as its name's ending says: ".gz" is gzip (RFC 1952), ".zst" zstd
 * (RFC 8878).  At their fastest levels both keep up with decoding, and make a timeline about ten
 * times smaller. */
#ifndef MT_OUTPUT_COMPRESS_H
#define MT_OUTPUT_COMPRESS_H

#include "base/outfile.h"

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
