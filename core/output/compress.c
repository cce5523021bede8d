/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/compress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* windowBits that ask deflateInit2() for a gzip header and trailer. */
#define GZIP_WINDOW_BITS (15 + 16)
#define GZIP_MEMORY      8
#define ZSTD_LEVEL       1

struct mt_compressor {
	struct mt_outfile *file;
	bool is_gzip;
	z_stream gzip;
	ZSTD_CCtx *zstd;
	uint8_t packed[65536];
};

static bool ends_in(const char *path, size_t length, const char *ending)
{
	size_t size = strlen(ending);

	return length > size && memcmp(path + length - size, ending, size) == 0;
}

size_t mt_compressor_ending(const char *path, size_t length)
{
	return ends_in(path, length, ".gz") ? 3 : ends_in(path, length, ".zst") ? 4 : 0;
}

static struct mt_error *start_zstd(struct mt_compressor *compressor)
{
	compressor->zstd = ZSTD_createCCtx();
	if (!compressor->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(
				     compressor->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)))
		return mt_error_no_memory();
	ZSTD_CCtx_setParameter(compressor->zstd, ZSTD_c_checksumFlag, 1);
	return NULL;
}

static struct mt_error *start_gzip(struct mt_compressor *compressor)
{
	if (deflateInit2(&compressor->gzip, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return mt_error_no_memory();
	compressor->is_gzip = true;
	return NULL;
}

struct mt_error *mt_compressor_create(const char *path, struct mt_outfile *file,
				      struct mt_compressor **out)
{
	const size_t ending = mt_compressor_ending(path, strlen(path));
	struct mt_compressor *compressor;

	*out = NULL;
	if (!ending)
		return NULL;
	compressor = calloc(1, sizeof(*compressor));
	if (!compressor)
		return mt_error_no_memory();
	compressor->file = file;
	struct mt_error *error =
	    ends_in(path, strlen(path), ".gz") ? start_gzip(compressor) : start_zstd(compressor);
	if (error) {
		mt_compressor_destroy(compressor);
		return error;
	}
	*out = compressor;
	return NULL;
}

void mt_compressor_destroy(struct mt_compressor *compressor)
{
	if (!compressor)
		return;
	if (compressor->is_gzip)
		deflateEnd(&compressor->gzip);
	ZSTD_freeCCtx(compressor->zstd);
	free(compressor);
}

static struct mt_error *broken(const struct mt_compressor *compressor, const char *why)
{
	return mt_error_new(MT_ERROR_INTERNAL, "cannot compress %s: %s",
			    mt_outfile_path(compressor->file), why);
}

static struct mt_error *deflate_all(struct mt_compressor *compressor, int flush)
{
	z_stream *gzip = &compressor->gzip;

	do {
		gzip->next_out = compressor->packed;
		gzip->avail_out = sizeof(compressor->packed);
		if (deflate(gzip, flush) == Z_STREAM_ERROR)
			return broken(compressor, gzip->msg ? gzip->msg : "zlib's state is broken");
		mt_try(mt_outfile_write(compressor->file, compressor->packed,
					sizeof(compressor->packed) - gzip->avail_out));
	} while (gzip->avail_out == 0);
	return NULL;
}

static struct mt_error *write_gzip(struct mt_compressor *compressor, const uint8_t *next,
				   size_t size)
{
	while (size) {
		uInt count = size > INT_MAX ? INT_MAX : (uInt)size;

		compressor->gzip.next_in = (Bytef *)next;
		compressor->gzip.avail_in = count;
		mt_try(deflate_all(compressor, Z_NO_FLUSH));
		next += count;
		size -= count;
	}
	return NULL;
}

static struct mt_error *write_zstd(struct mt_compressor *compressor, const void *bytes, size_t size,
				   ZSTD_EndDirective what)
{
	ZSTD_inBuffer in = {bytes, size, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {compressor->packed, sizeof(compressor->packed), 0};

		left = ZSTD_compressStream2(compressor->zstd, &out, &in, what);
		if (ZSTD_isError(left))
			return broken(compressor, ZSTD_getErrorName(left));
		mt_try(mt_outfile_write(compressor->file, compressor->packed, out.pos));
	} while (what == ZSTD_e_end ? left : in.pos < in.size);
	return NULL;
}

struct mt_error *mt_compressor_write(struct mt_compressor *compressor, const void *bytes,
				     size_t size)
{
	return compressor->is_gzip ? write_gzip(compressor, bytes, size)
				   : write_zstd(compressor, bytes, size, ZSTD_e_continue);
}

struct mt_error *mt_compressor_finish(struct mt_compressor *compressor)
{
	return compressor->is_gzip ? deflate_all(compressor, Z_FINISH)
				   : write_zstd(compressor, NULL, 0, ZSTD_e_end);
}
