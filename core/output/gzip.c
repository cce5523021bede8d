/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/gzip.h"

#include "base/pool.h"
#include "output/compress.h"

#include <endian.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	LEVEL = 1,
	/* Of blocks: one that is filled, and two for each worker, so that none has to wait. */
	BLOCKS = 2 * MT_COMPRESSOR_WORKERS + 1,
	/* What does not get smaller is stored, with five bytes in front of each 64 KiB; then
	 * comes an empty stored block, which ends on a byte. */
	PACKED_MAX = MT_COMPRESSOR_BLOCK + MT_COMPRESSOR_BLOCK / 64 + 64,
};

struct block {
	struct mt_task *task; /* NULL: none packs it */
	size_t size, packed_size;
	uint32_t crc;
	uint8_t bytes[MT_COMPRESSOR_BLOCK];
	uint8_t packed[PACKED_MAX];
	uint8_t tables[ISAL_DEF_LVL1_DEFAULT];
};

struct mt_gzip {
	struct mt_outfile *file;
	struct mt_pool *pool;         /* from the first full block on; NULL: no threads */
	bool is_alone;                /* the system gives no threads */
	struct block *blocks[BLOCKS]; /* a ring: behind the one that is filled is the oldest */
	unsigned filled;
	uint32_t crc;
	uint64_t size;
};

struct mt_error *mt_gzip_create(struct mt_outfile *file, struct mt_gzip **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->file = file;
	return NULL;
}

void mt_gzip_destroy(struct mt_gzip *gzip)
{
	if (!gzip)
		return;
	for (unsigned i = 0; i < BLOCKS; i++)
		if (gzip->blocks[i] && gzip->blocks[i]->task)
			mt_error_destroy(mt_task_wait(gzip->blocks[i]->task, NULL));
	mt_pool_destroy(gzip->pool);
	for (unsigned i = 0; i < BLOCKS; i++)
		free(gzip->blocks[i]);
	free(gzip);
}

/* A task: no block knows of those before it. */
static struct mt_error *pack(const struct mt_task *task, const void *input, void **result)
{
	struct block *block = (struct block *)input;
	struct isal_zstream stream;

	(void)task;
	(void)result;
	isal_deflate_stateless_init(&stream);
	stream.hist_bits = 0; /* the largest window; the library does not set it */
	stream.level = LEVEL;
	stream.level_buf = block->tables;
	stream.level_buf_size = sizeof(block->tables);
	stream.flush = FULL_FLUSH;
	stream.end_of_stream = 0;
	stream.next_in = block->bytes;
	stream.avail_in = (uint32_t)block->size;
	stream.next_out = block->packed;
	stream.avail_out = sizeof(block->packed);
	if (isal_deflate_stateless(&stream) != COMP_OK || stream.avail_in)
		return mt_error_new(MT_ERROR_INTERNAL, "cannot compress: ISA-L's deflate failed");
	block->packed_size = stream.total_out;
	block->crc = crc32_gzip_refl(0, block->bytes, block->size);
	return NULL;
}

static struct mt_error *write_header(struct mt_gzip *gzip)
{
	static const uint8_t header[] = {0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 4, 3};

	return gzip->size ? NULL : mt_outfile_write(gzip->file, header, sizeof(header));
}

static struct mt_error *write_packed(struct mt_gzip *gzip, const struct block *block)
{
	mt_try(write_header(gzip));
	gzip->crc = (uint32_t)crc32_combine(gzip->crc, block->crc, (z_off_t)block->size);
	gzip->size += block->size;
	return mt_outfile_write(gzip->file, block->packed, block->packed_size);
}

/* Have the oldest block packed and written; if there is one. */
static struct mt_error *take_oldest(struct mt_gzip *gzip, struct block *block)
{
	if (!block || !block->task)
		return NULL;
	struct mt_error *error = mt_task_wait(block->task, NULL);
	block->task = NULL;
	if (!error)
		error = write_packed(gzip, block);
	block->size = 0;
	return error;
}

static struct mt_error *pack_here(struct mt_gzip *gzip, struct block *block)
{
	mt_try(pack(NULL, block, NULL));
	mt_try(write_packed(gzip, block));
	block->size = 0;
	return NULL;
}

static struct mt_error *hand_on(struct mt_gzip *gzip, struct block *block)
{
	if (!gzip->pool && !gzip->is_alone) {
		struct mt_error *error = mt_pool_create(MT_COMPRESSOR_WORKERS, BLOCKS, &gzip->pool);

		gzip->is_alone = error != NULL;
		mt_error_destroy(error);
	}
	if (gzip->is_alone)
		return pack_here(gzip, block);
	mt_try(mt_pool_submit(gzip->pool, pack, block, &block->task));
	gzip->filled = (gzip->filled + 1) % BLOCKS;
	return take_oldest(gzip, gzip->blocks[gzip->filled]);
}

struct mt_error *mt_gzip_write(struct mt_gzip *gzip, const void *bytes, size_t size)
{
	const uint8_t *next = bytes;

	while (size) {
		struct block **block = &gzip->blocks[gzip->filled];

		if (!*block)
			*block = calloc(1, sizeof(**block));
		if (!*block)
			return mt_error_no_memory();
		/* Not before more comes: a file of one block needs no worker. */
		if ((*block)->size == MT_COMPRESSOR_BLOCK) {
			mt_try(hand_on(gzip, *block));
			continue;
		}
		size_t count = MT_COMPRESSOR_BLOCK - (*block)->size;
		count = count < size ? count : size;
		memcpy((*block)->bytes + (*block)->size, next, count);
		(*block)->size += count;
		next += count;
		size -= count;
	}
	return NULL;
}

struct mt_error *mt_gzip_finish(struct mt_gzip *gzip)
{
	static const uint8_t end[] = {3, 0}; /* a last block of no bytes, by the fixed codes */
	struct block *last = gzip->blocks[gzip->filled];

	for (unsigned i = 1; i < BLOCKS; i++)
		mt_try(take_oldest(gzip, gzip->blocks[(gzip->filled + i) % BLOCKS]));
	mt_try(last && last->size ? pack_here(gzip, last) : write_header(gzip));
	const uint32_t trailer[] = {htole32(gzip->crc), htole32((uint32_t)gzip->size)};
	mt_try(mt_outfile_write(gzip->file, end, sizeof(end)));
	return mt_outfile_write(gzip->file, trailer, sizeof(trailer));
}
