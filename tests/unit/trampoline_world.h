/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small functions in pages of our own, that are patched and called.  Include cmocka.h before. */
#ifndef TESTS_UNIT_TRAMPOLINE_WORLD_H
#define TESTS_UNIT_TRAMPOLINE_WORLD_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asm/prctl.h>

#include "engine/calls/trampoline/trampoline.h"

#define PAGE       4096
#define RING_BYTES 4096
#define TEXT       ((uint64_t)0x10000000) /* what the plan calls the page's address */

static struct mt_ring_position position; /* to which GS leads */

struct world {
	uint8_t *text; /* a page of text, and behind it the trampolines */
	size_t used;   /* bytes of text */
	uint8_t *ring;
	struct mt_trampolines trampolines;
	struct mt_trampoline_config config;
	uint8_t *trampoline_page;
};

static inline struct world world_make(enum mt_ring_stamps stamps)
{
	struct world world = {0};

	world.text = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(world.text, MAP_FAILED);
	world.ring = calloc(1, RING_BYTES);
	assert_non_null(world.ring);
	world.trampoline_page = world.text + PAGE;
	world.config = (struct mt_trampoline_config){
	    .address = (uintptr_t)world.trampoline_page,
	    .bias = (uintptr_t)world.text - TEXT,
	    .ring_bytes = RING_BYTES,
	    .stamps = stamps,
	};
	world.config.shared = world.config.address;
	assert_int_equal(mt_trampolines_share(&world.trampolines, &world.config), 0);
	position = (struct mt_ring_position){.ring = (uintptr_t)world.ring};
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, &position), 0);
	return world;
}

static inline void world_end(struct world *world)
{
	munmap(world->text, 4 * PAGE);
	free(world->ring);
	mt_trampolines_deinit(&world->trampolines);
}

/* Put a function's bytes into the text, with room behind it, and return its plan address. */
static inline uint64_t add(struct world *world, const uint8_t *bytes, size_t size)
{
	uint64_t address = TEXT + world->used;

	memcpy(world->text + world->used, bytes, size);
	memset(world->text + world->used + size, 0x90, 16);
	world->used += (size + 31) & ~(size_t)15;
	return address;
}

#define function(world, ...)                                                                       \
	add((world), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline uint8_t *in_memory(const struct world *world, uint64_t address)
{
	return world->text + (address - TEXT);
}

static inline void patch_with(struct world *world, const struct mt_patch *one, uint32_t site)
{
	uint8_t *text = in_memory(world, one->address);
	uint8_t *target = world->trampoline_page + world->trampolines.code.count;
	int32_t distance = (int32_t)(target - (text + MT_PATCH_JUMP_BYTES));

	assert_int_equal(mt_trampoline_append(&world->trampolines, &world->config, one, text, site),
			 0);
	assert_true(world->trampolines.code.count < 3 * PAGE);
	memcpy(world->trampoline_page, world->trampolines.code.items,
	       world->trampolines.code.count);
	memset(text, 0xcc, one->length);
	text[0] = 0xe9;
	memcpy(text + 1, &distance, sizeof(distance));
}

static inline void patch(struct world *world, uint64_t address, uint8_t length, uint8_t flags,
			 uint32_t site)
{
	const struct mt_patch one = {.address = address, .length = length, .flags = flags};

	patch_with(world, &one, site);
}

static inline long call(const struct world *world, uint64_t address, long a, long b)
{
	long (*run)(long, long);
	void *there = in_memory(world, address);

	memcpy(&run, &there, sizeof(run));
	return run(a, b);
}

#endif
