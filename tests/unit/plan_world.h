/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of a few small functions, its plan, and what the plan says of each of them. */
#ifndef MT_TESTS_PLAN_WORLD_H
#define MT_TESTS_PLAN_WORLD_H

#include "unit.h"

#include "engine/calls/plan/plan.h"
#include "made_elf.h"

struct world {
	struct made_elf elf;
	struct mt_objfile *objfile;
	struct mt_plan *plan;
};

/* A function of these bytes behind what is there; its offset in the text. */
static inline uint64_t add(struct world *world, const uint8_t *bytes, size_t size)
{
	struct made_elf *elf = &world->elf;
	uint64_t offset = elf->text_size;

	memcpy(elf->text + offset, bytes, size);
	elf->text_size += size;
	elf->symbols[elf->symbol_count++] = (struct made_symbol){offset, size, STT_FUNC};
	return offset;
}

#define function(world, ...)                                                                       \
	add((world), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Code that is no function's and that nothing can be made of: it keeps neighbours apart. */
static inline void wall(struct world *world)
{
	memset(world->elf.text + world->elf.text_size, 0x06, 300); /* no instruction */
	world->elf.text_size += 300;
}

static inline void padding(struct world *world, size_t size)
{
	memset(world->elf.text + world->elf.text_size, 0x90, size);
	world->elf.text_size += size;
}

static inline uint64_t address(const struct world *world, uint64_t offset)
{
	return made_base(&world->elf) + MADE_TEXT + offset;
}

static inline void plan_some(struct world *world, const struct mt_plan_options *options)
{
	struct made_file *file = made_elf_file(&world->elf);

	assert_non_null(file);
	assert_no_error(mt_objfile_open_memory("made.so", file, sizeof(*file), &world->objfile));
	free(file);
	assert_no_error(mt_plan_create(world->objfile, options, &world->plan));
}

static inline void plan(struct world *world)
{
	plan_some(world, NULL);
}

static inline void end(struct world *world)
{
	mt_plan_destroy(world->plan);
	mt_objfile_unref(world->objfile);
}

static inline const struct mt_patch *patch_at(const struct world *world, uint64_t offset)
{
	const struct mt_patch *patch = mt_plan_patch_at(world->plan, address(world, offset));

	assert_non_null(patch);
	assert_int_equal(patch->address, address(world, offset));
	return patch;
}

static inline void check_patch(const struct world *world, uint64_t offset, uint8_t length,
			       uint8_t flags, enum mt_plan_tactic tactic)
{
	const struct mt_patch *patch = patch_at(world, offset);

	assert_int_equal(patch->length, length);
	assert_int_equal(patch->flags, flags);
	assert_string_equal(mt_plan_tactic_name(patch->tactic), mt_plan_tactic_name(tactic));
}

static inline void check_left(const struct world *world, uint64_t offset, bool is_return,
			      enum mt_plan_reason reason)
{
	mt_array_each (left, &world->plan->left) {
		if (left->address != address(world, offset) || left->is_return != is_return)
			continue;
		assert_string_equal(mt_plan_reason_name(left->reason), mt_plan_reason_name(reason));
		return;
	}
	fail_msg("%#jx is not left out", (uintmax_t)offset);
}

#define ENDBR64  0xf3, 0x0f, 0x1e, 0xfa
#define LEA_5    0x48, 0x8d, 0x44, 0x37, 0x05 /* lea rax, [rdi+rsi+5] */
#define MOV_EAX  0xb8, 0x01, 0x00, 0x00, 0x00
#define ADD_EAX  0x05, 0x01, 0x00, 0x00, 0x00
#define XOR_EAX  0x31, 0xc0
#define TEST_EDI 0x85, 0xff
#define RET      0xc3
#define PUSH_RBP 0x55
#define MOV_RBP  0x48, 0x89, 0xe5
#define SUB_RSP  0x48, 0x83, 0xec, 0x10
#define LEAVE    0xc9
#define JMP(to)  0xeb, (uint8_t)(to)
#define JE(to)   0x74, (uint8_t)(to)
#define CALL(to)                                                                                   \
	0xe8, (uint8_t)(to), (uint8_t)((to) >> 8), (uint8_t)((to) >> 16), (uint8_t)((to) >> 24)

#endif
