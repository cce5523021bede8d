/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packed data of `perf record -z`: one stream of zstd, cut into COMPRESSED records, whose ends
 * are not those of the records within. */
#include "perf/recording_private.h"

#include <zstd.h>

/* perf packs about ten to one.  Beyond these it is a trap for the reader's memory. */
#define FREE_BYTES (4u << 20)
#define RATIO_MAX  200

struct mt_unpacker {
	ZSTD_DStream *stream;
	MT_ARRAY(uint8_t) bytes;
	uint64_t packed, unpacked; /* in all */
};

struct mt_unpacker *mt_unpacker_create(void)
{
	struct mt_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return NULL;
	unpacker->stream = ZSTD_createDStream();
	if (!unpacker->stream) {
		mt_unpacker_destroy(unpacker);
		return NULL;
	}
	return unpacker;
}

void mt_unpacker_destroy(struct mt_unpacker *unpacker)
{
	if (!unpacker)
		return;
	ZSTD_freeDStream(unpacker->stream);
	mt_array_deinit(&unpacker->bytes);
	free(unpacker);
}

enum mt_parsed mt_unpacker_feed(struct mt_unpacker *unpacker, const uint8_t *data, size_t size,
				const uint8_t **bytes, size_t *count)
{
	ZSTD_inBuffer in = {data, size, 0};
	bool is_full = true;

	unpacker->packed += size;
	while (in.pos < in.size || is_full) {
		if (mt_array_reserve(&unpacker->bytes,
				     unpacker->bytes.count + ZSTD_DStreamOutSize()))
			return MT_NO_MEMORY;
		ZSTD_outBuffer out = {unpacker->bytes.items + unpacker->bytes.count,
				      ZSTD_DStreamOutSize(), 0};
		size_t before = in.pos;

		if (ZSTD_isError(ZSTD_decompressStream(unpacker->stream, &out, &in)))
			return MT_GARBLED;
		unpacker->bytes.count += out.pos;
		unpacker->unpacked += out.pos;
		if (unpacker->unpacked > FREE_BYTES + RATIO_MAX * unpacker->packed)
			return MT_GARBLED;
		is_full = out.pos == out.size;
		if (!out.pos && in.pos == before)
			break;
	}
	*bytes = unpacker->bytes.items;
	*count = unpacker->bytes.count;
	return MT_PARSED;
}

void mt_unpacker_took(struct mt_unpacker *unpacker, size_t count)
{
	unpacker->bytes.count -= count;
	if (count && unpacker->bytes.count)
		memmove(unpacker->bytes.items, unpacker->bytes.items + count,
			unpacker->bytes.count);
}
