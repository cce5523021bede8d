/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/zstd.h"

#include "output/compress.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 1, JOB_SIZE = 1 << 20 };

struct mt_zstd {
	struct mt_outfile *file;
	ZSTD_CCtx *context;
	bool is_begun;
	size_t held; /* of first: what begins with its end needs no worker */
	uint8_t first[MT_COMPRESSOR_BLOCK];
	uint8_t packed[65536];
};

static bool set(struct mt_zstd *zstd, ZSTD_cParameter parameter, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(zstd->context, parameter, value));
}

struct mt_error *mt_zstd_create(struct mt_outfile *file, struct mt_zstd **out)
{
	struct mt_zstd *zstd = calloc(1, sizeof(*zstd));

	*out = zstd;
	if (!zstd)
		return mt_error_no_memory();
	zstd->file = file;
	zstd->context = ZSTD_createCCtx();
	if (!zstd->context || !set(zstd, ZSTD_c_compressionLevel, LEVEL) ||
	    !set(zstd, ZSTD_c_checksumFlag, 1))
		return mt_error_no_memory();
	/* A library that was built without them packs alone. */
	if (set(zstd, ZSTD_c_nbWorkers, MT_COMPRESSOR_WORKERS))
		set(zstd, ZSTD_c_jobSize, JOB_SIZE);
	return NULL;
}

void mt_zstd_destroy(struct mt_zstd *zstd)
{
	if (!zstd)
		return;
	ZSTD_freeCCtx(zstd->context);
	free(zstd);
}

/* The first call starts the workers, which take no signals. */
static size_t begin(struct mt_zstd *zstd, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
		    ZSTD_EndDirective what)
{
	sigset_t all, before;
	size_t left;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	left = ZSTD_compressStream2(zstd->context, out, in, what);
	if (ZSTD_isError(left)) { /* perhaps the system gives no threads */
		ZSTD_CCtx_reset(zstd->context, ZSTD_reset_session_only);
		set(zstd, ZSTD_c_nbWorkers, 0);
		out->pos = in->pos = 0;
		left = ZSTD_compressStream2(zstd->context, out, in, what);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	zstd->is_begun = true;
	return left;
}

static struct mt_error *pack(struct mt_zstd *zstd, const void *bytes, size_t size,
			     ZSTD_EndDirective what)
{
	ZSTD_inBuffer in = {bytes, size, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {zstd->packed, sizeof(zstd->packed), 0};

		left = zstd->is_begun ? ZSTD_compressStream2(zstd->context, &out, &in, what)
				      : begin(zstd, &out, &in, what);
		if (ZSTD_isError(left))
			return mt_error_new(MT_ERROR_INTERNAL, "cannot compress %s: %s",
					    mt_outfile_path(zstd->file), ZSTD_getErrorName(left));
		mt_try(mt_outfile_write(zstd->file, zstd->packed, out.pos));
	} while (what == ZSTD_e_end ? left : in.pos < in.size);
	return NULL;
}

struct mt_error *mt_zstd_write(struct mt_zstd *zstd, const void *bytes, size_t size)
{
	if (zstd->is_begun)
		return pack(zstd, bytes, size, ZSTD_e_continue);
	if (size <= sizeof(zstd->first) - zstd->held) {
		if (size)
			memcpy(zstd->first + zstd->held, bytes, size);
		zstd->held += size;
		return NULL;
	}
	mt_try(pack(zstd, zstd->first, zstd->held, ZSTD_e_continue));
	return pack(zstd, bytes, size, ZSTD_e_continue);
}

struct mt_error *mt_zstd_finish(struct mt_zstd *zstd)
{
	return pack(zstd, zstd->first, zstd->is_begun ? 0 : zstd->held, ZSTD_e_end);
}
