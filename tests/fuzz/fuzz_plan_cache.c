/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the file of a plan: garbage is none, and what is believed is as sound as plan.h
 * promises.  The first bytes say how much of a true file comes before the rest, and whether the
 * checksum is made right, since hardly anything else would get by it. */
#include "base/hash.h"
#include "engine/calls/plan/cache.h"
#include "engine/calls/trampoline/trampoline.h"

#include "../unit/made_elf.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLANNER      42
#define MOST_BYTES   16384
#define FUNCTIONS    8
#define CHECKSUM_AT  72 /* of all that follows it */
#define COUNTS_AT    80 /* of the items of each part, and then the sizes of items */
#define SIZES_AT     208
#define PARTS_AT     4096
#define PARTS        5
#define HEADER_BYTES 3 /* of the input */

struct world {
	char path[40];
	struct mt_objfile *objfile;
	struct mt_kept_key key;
	uint8_t file[MOST_BYTES];
	size_t file_size;
};

static void check(int holds)
{
	if (!holds)
		abort();
}

/* Functions of a few instructions, with holes between them. */
static struct mt_objfile *make_objfile(void)
{
	static const uint8_t code[] = {
	    0x55,                         /* push rbp */
	    0x48, 0x89, 0xe5,             /* mov rbp, rsp */
	    0x85, 0xff,                   /* test edi, edi */
	    0x74, 0x02,                   /* jz to the pop */
	    0x31, 0xc0,                   /* xor eax, eax */
	    0x5d,                         /* pop rbp */
	    0xc3,                         /* ret */
	    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* padding */
	};
	static struct made_elf elf;
	struct mt_objfile *objfile = NULL;
	struct made_file *file;

	elf.symbol_count = FUNCTIONS;
	for (size_t i = 0; i < FUNCTIONS; i++) {
		memcpy(elf.text + 32 * i, code, sizeof(code));
		elf.symbols[i] = (struct made_symbol){32 * i, 12, STT_FUNC};
	}
	elf.text_size = 32 * FUNCTIONS;
	file = made_elf_file(&elf);
	check(file != NULL);
	check(!mt_objfile_open_memory("fuzz.so", file, sizeof(*file), &objfile));
	free(file);
	return objfile;
}

static void put_checksum(uint8_t *file, size_t size)
{
	size_t at = PARTS_AT;
	uint64_t sum;

	if (size < PARTS_AT)
		return;
	sum = mt_hash(0, file + COUNTS_AT, PARTS_AT - COUNTS_AT);
	for (size_t i = 0; i < PARTS; i++) {
		uint64_t count;
		uint32_t bytes;

		memcpy(&count, file + COUNTS_AT + i * sizeof(count), sizeof(count));
		memcpy(&bytes, file + SIZES_AT + i * sizeof(bytes), sizeof(bytes));
		if (!bytes || count > (size - at) / bytes)
			return;
		sum = mt_hash(sum, file + at, count * bytes);
		at += count * bytes;
	}
	memcpy(file + CHECKSUM_AT, &sum, sizeof(sum));
}

static void write_file(const struct world *world, const uint8_t *bytes, size_t size)
{
	int fd = open(world->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static struct mt_plan *load(const struct world *world)
{
	struct mt_plan *plan = NULL;

	check(!mt_plan_load(world->objfile, &world->key, world->path, &plan));
	return plan;
}

/* The true file, which must be believed with the checksum that is made here. */
static void begin(struct world *world)
{
	struct mt_plan *plan = NULL;
	int fd;

	snprintf(world->path, sizeof(world->path), "/tmp/mtrace-fuzz-%d", getpid());
	world->objfile = make_objfile();
	check(!mt_plan_create(world->objfile, NULL, &plan) && plan->patches.count >= FUNCTIONS);
	check(!mt_kept_key(world->objfile, PLANNER, &world->key));
	check(!mt_plan_store(plan, &world->key, world->path));
	mt_plan_destroy(plan);
	fd = open(world->path, O_RDONLY);
	ssize_t got = read(fd, world->file, MOST_BYTES);
	close(fd);
	check(got > PARTS_AT && got < MOST_BYTES);
	world->file_size = (size_t)got;
	put_checksum(world->file, world->file_size);
	write_file(world, world->file, world->file_size);
	plan = load(world);
	check(plan != NULL);
	mt_plan_destroy(plan);
}

static const struct mt_trampoline_config config = {
    .address = 0x1000000, .shared = 0x1000000, .ring_bytes = 4096, .stamps = MT_RING_SAMPLED};

/* Where its trampoline begins. */
static uint32_t check_patch(const struct mt_objfile *objfile, const struct mt_plan *plan,
			    size_t index, struct mt_trampolines *made)
{
	const struct mt_patch *patch = &plan->patches.items[index];
	uint32_t offset = (uint32_t)made->code.count;
	uint8_t bytes[MT_PATCH_MAX_BYTES];
	int result;

	check(patch->length >= (patch->hole ? MT_PATCH_SHORT_BYTES : MT_PATCH_JUMP_BYTES));
	check(patch->length <= MT_PATCH_MAX_BYTES);
	check(patch->function < plan->functions.count && patch->site <= plan->sites.count);
	check(index == 0 || patch[-1].address + patch[-1].length <= patch->address);
	check(mt_objfile_read(objfile, patch->address, bytes, patch->length) == patch->length);
	result = mt_trampoline_append(made, &config, patch, bytes, 1 + patch->site);
	check(result != -1);
	return result ? MT_TRAMPOLINE_NONE : offset;
}

static void check_plan(const struct world *world, const struct mt_plan *plan)
{
	struct mt_trampolines made = {0};
	uint32_t *offsets = calloc(plan->patches.count + 1, sizeof(*offsets));

	check(offsets != NULL && mt_trampolines_share(&made, &config) == 0);
	for (size_t i = 0; i < plan->patches.count; i++)
		offsets[i] = check_patch(world->objfile, plan, i, &made);
	mt_trampolines_link(&made, &config, plan, offsets);
	mt_trampolines_deinit(&made);
	free(offsets);
	mt_array_each (site, &plan->sites)
		check(site->function < plan->functions.count);
	mt_array_each (left, &plan->left)
		check(left->function < plan->functions.count);
}

/* SIZE bytes over the true file from AT on; what lies behind them stays. */
static size_t mix(const struct world *world, uint8_t *file, size_t at, const uint8_t *bytes,
		  size_t size)
{
	at %= world->file_size + 1;
	if (size > MOST_BYTES - at)
		size = MOST_BYTES - at;
	memcpy(file, world->file, world->file_size);
	memcpy(file + at, bytes, size);
	return at + size > world->file_size ? at + size : world->file_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct world world;
	static uint8_t file[MOST_BYTES];
	size_t file_size;
	bool is_right;

	if (!world.objfile)
		begin(&world);
	if (size < HEADER_BYTES)
		return 0;
	is_right = bytes[0] & 1;
	file_size = mix(&world, file, bytes[1] | (size_t)bytes[2] << 8, bytes + HEADER_BYTES,
			size - HEADER_BYTES);
	if (is_right)
		put_checksum(file, file_size);
	write_file(&world, file, file_size);
	struct mt_plan *plan = load(&world);
	check(!plan || is_right || memcmp(file, world.file, file_size) == 0);
	if (plan)
		check_plan(&world, plan);
	mt_plan_destroy(plan);
	unlink(world.path);
	return 0;
}
