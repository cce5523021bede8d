/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an object file that a JIT compiler has registered in memory. */
#include "elf/jit_object.h"

#include "dwarf/source.h"
#include "space/space.h"

#include <stdlib.h>
#include <string.h>

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	memset(buffer, (int)address, size);
	return size;
}

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void look_up(struct mt_space *space)
{
	for (size_t i = 0; i < mt_space_mapping_count(space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(space, i);
		struct mt_inline_span span;
		struct mt_source source;

		for (uint64_t at = mapping->start, n = 0; at < mapping->end && n < 64; at++, n++) {
			check(mt_space_function_at(space, at));
			mt_space_source_at(space, at, &source);
			mt_space_inlines_at(space, at, &span);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct mt_space_pool *pool;
	struct mt_space *space;
	uint8_t *settled = NULL;
	size_t settled_size = 0;
	struct mt_error *error =
	    mt_jit_object_settle(bytes, size, read_code, NULL, &settled, &settled_size);

	if (error) {
		mt_error_destroy(error);
		return 0;
	}
	check(!mt_space_pool_create(NULL, &pool));
	check(!mt_space_create(pool, 1, &space));
	check(!mt_space_add_object(space, settled, settled_size));
	look_up(space);
	mt_space_destroy(space);
	mt_space_pool_destroy(pool);
	free(settled);
	return 0;
}
