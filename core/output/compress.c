/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/compress.h"

#include "output/gzip.h"
#include "output/zstd.h"

#include <stdlib.h>
#include <string.h>

struct mt_compressor {
	struct mt_gzip *gzip; /* or */
	struct mt_zstd *zstd;
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
	struct mt_error *error = ends_in(path, strlen(path), ".gz")
				     ? mt_gzip_create(file, &compressor->gzip)
				     : mt_zstd_create(file, &compressor->zstd);
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
	mt_gzip_destroy(compressor->gzip);
	mt_zstd_destroy(compressor->zstd);
	free(compressor);
}

struct mt_error *mt_compressor_write(struct mt_compressor *compressor, const void *bytes,
				     size_t size)
{
	return compressor->gzip ? mt_gzip_write(compressor->gzip, bytes, size)
				: mt_zstd_write(compressor->zstd, bytes, size);
}

struct mt_error *mt_compressor_finish(struct mt_compressor *compressor)
{
	return compressor->gzip ? mt_gzip_finish(compressor->gzip)
				: mt_zstd_finish(compressor->zstd);
}
