/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/write_behind.h"

#include "base/pool.h"

#include <emmintrin.h>
#include <stdalign.h>
#include <stdlib.h>

#define CACHE_LINE 64
#define COPIES     4
/* A smaller file is written without. */
#define ALONE_BYTES (1u << 20)

struct copy {
	alignas(CACHE_LINE) uint8_t bytes[MT_WRITE_BEHIND_MOST];
	struct mt_outfile *file;
	struct mt_task *task; /* NULL: it is free */
	size_t size;
};

struct mt_write_behind {
	struct mt_outfile *file;
	struct mt_pool *pool; /* NULL: the owner writes */
	bool is_alone;        /* and will */
	struct copy *copies[COPIES];
	unsigned next; /* the oldest */
};

struct mt_error *mt_write_behind_create(struct mt_outfile *file, struct mt_write_behind **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->file = file;
	(*out)->is_alone = mt_pool_processors() == 1;
	return NULL;
}

/* Until it is written; if it is being so. */
static struct mt_error *wait_for(struct copy *copy)
{
	struct mt_task *task = copy ? copy->task : NULL;

	if (!task)
		return NULL;
	copy->task = NULL;
	return mt_task_wait(task, NULL);
}

struct mt_error *mt_write_behind_finish(struct mt_write_behind *behind)
{
	struct mt_error *first = NULL;

	for (unsigned i = 0; i < COPIES; i++) {
		struct mt_error *error = wait_for(behind->copies[(behind->next + i) % COPIES]);

		mt_error_destroy(first ? error : NULL);
		first = first ? first : error;
	}
	return first;
}

void mt_write_behind_destroy(struct mt_write_behind *behind)
{
	if (!behind)
		return;
	mt_error_destroy(mt_write_behind_finish(behind));
	mt_pool_destroy(behind->pool);
	for (unsigned i = 0; i < COPIES; i++)
		free(behind->copies[i]);
	free(behind);
}

/* A task. */
static struct mt_error *write_copy(const struct mt_task *task, const void *input, void **result)
{
	const struct copy *copy = input;

	(void)task;
	(void)result;
	return mt_outfile_write(copy->file, copy->bytes, copy->size);
}

/* Past the caches: the worker's processor has the lines that it read when the copy was another one,
 * and to take them from it one by one costs more than to write them. */
static void fill(struct copy *copy, const void *bytes, size_t size)
{
	const __m128i *from = bytes;
	__m128i *to = (__m128i *)copy->bytes;

	for (size_t i = 0; i < (size + sizeof(*to) - 1) / sizeof(*to); i++)
		_mm_stream_si128(&to[i], _mm_loadu_si128(&from[i]));
	_mm_sfence();
	copy->size = size;
}

/* Whether there is a worker. */
static bool begin(struct mt_write_behind *behind)
{
	if (behind->pool || behind->is_alone || mt_outfile_position(behind->file) < ALONE_BYTES)
		return behind->pool;
	mt_error_destroy(mt_pool_create(1, COPIES, &behind->pool));
	behind->is_alone = !behind->pool;
	return behind->pool;
}

struct mt_error *mt_write_behind(struct mt_write_behind *behind, const void *bytes, size_t size)
{
	struct copy **copy = &behind->copies[behind->next];

	if (!begin(behind))
		return mt_outfile_write(behind->file, bytes, size);
	if (!*copy) {
		*copy = aligned_alloc(CACHE_LINE, sizeof(**copy));
		if (!*copy)
			return mt_error_no_memory();
		(*copy)->file = behind->file;
		(*copy)->task = NULL;
	}
	behind->next = (behind->next + 1) % COPIES;
	mt_try(wait_for(*copy));
	fill(*copy, bytes, size);
	return mt_pool_submit(behind->pool, write_copy, *copy, &(*copy)->task);
}
