/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/plan/cache.h"

#include "base/outfile.h"
#include "elf/code.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Of the file's layout; the sizes below cover that of the structs. */
#define VERSION    3
#define MOST_BYTES (1ull << 30)
#define PARTS      4

struct head {
	char magic[8];
	uint32_t version;
	uint32_t sizes[PARTS];
	uint8_t build_id[20];
	uint32_t build_id_size;
	uint32_t code;   /* CRC of the text, and of the name of the file with the symbols */
	uint32_t unused; /* 0 */
	uint32_t whole;  /* CRC of all that follows */
	uint64_t planner;
	uint64_t counts[PARTS];
	uint64_t redirected;
	uint64_t gs_user;
};

static const char magic[8] = "mtplan";
static const uint32_t sizes[PARTS] = {sizeof(struct mt_patch), sizeof(struct mt_plan_function),
				      sizeof(struct mt_plan_site), sizeof(struct mt_plan_left)};

static int crc_of_code(struct mt_objfile *objfile, uint32_t *crc)
{
	const char *debug = mt_objfile_debug_path(objfile);
	struct mt_code code = {0};
	int failed = mt_code_read(objfile, &code);

	*crc = debug ? (uint32_t)crc32_z(0, (const uint8_t *)debug, strlen(debug)) : 0;
	for (size_t i = 0; !failed && i < code.count; i++) {
		uint64_t length = code.items[i].end - code.items[i].start;
		size_t size = 0;
		const uint8_t *bytes = mt_objfile_bytes(objfile, code.items[i].start, &size);

		if (bytes)
			*crc = (uint32_t)crc32_z(*crc, bytes, size < length ? size : length);
	}
	mt_array_deinit(&code);
	return failed;
}

/* All of the head but what depends on the plan. */
static int begin_head(struct mt_objfile *objfile, uint64_t planner, struct head *head)
{
	const struct mt_build_id *id = mt_objfile_build_id(objfile);

	memset(head, 0, sizeof(*head));
	memcpy(head->magic, magic, sizeof(magic));
	memcpy(head->sizes, sizes, sizeof(sizes));
	memcpy(head->build_id, id->bytes, id->size);
	head->build_id_size = id->size;
	head->version = VERSION;
	head->planner = planner;
	return crc_of_code(objfile, &head->code);
}

static uLong crc_of_tail(const struct head *head)
{
	return crc32_z(0, (const uint8_t *)&head->planner,
		       sizeof(*head) - offsetof(struct head, planner));
}

struct part {
	const void *items;
	size_t bytes;
};

static void parts_of(const struct mt_plan *plan, struct part parts[PARTS])
{
	parts[0] = (struct part){plan->patches.items, plan->patches.count * sizes[0]};
	parts[1] = (struct part){plan->functions.items, plan->functions.count * sizes[1]};
	parts[2] = (struct part){plan->sites.items, plan->sites.count * sizes[2]};
	parts[3] = (struct part){plan->left.items, plan->left.count * sizes[3]};
}

struct mt_error *mt_plan_store(const struct mt_plan *plan, struct mt_objfile *objfile,
			       uint64_t planner, const char *path)
{
	struct part parts[PARTS];
	struct head head;
	uLong whole;

	if (begin_head(objfile, planner, &head))
		return mt_error_no_memory();
	parts_of(plan, parts);
	head.redirected = plan->redirected;
	head.gs_user = plan->gs_user;
	for (size_t i = 0; i < PARTS; i++)
		head.counts[i] = parts[i].bytes / sizes[i];
	whole = crc_of_tail(&head);
	for (size_t i = 0; i < PARTS; i++)
		if (parts[i].bytes)
			whole = crc32_z(whole, parts[i].items, parts[i].bytes);
	head.whole = (uint32_t)whole;
	struct mt_outfile *file = NULL;
	struct mt_error *error = mt_outfile_create(path, &file);
	if (!error)
		error = mt_outfile_write(file, &head, sizeof(head));
	for (size_t i = 0; !error && i < PARTS; i++)
		error = mt_outfile_write(file, parts[i].items, parts[i].bytes);
	if (!error)
		error = mt_outfile_commit(file);
	mt_outfile_destroy(file);
	return error;
}

/* Another user must not control what we write into programs. */
static int open_own(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat file;

	if (fd < 0)
		return -1;
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
	    !(file.st_mode & S_IWOTH) && (uint64_t)file.st_size <= MOST_BYTES) {
		*size = (uint64_t)file.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

static bool read_all(int fd, void *buffer, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, (uint8_t *)buffer + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* It is of this text and this planner, and its counts fit the file's size. */
static bool is_ours(const struct head *head, const struct head *wanted, uint64_t file_size)
{
	uint64_t size = sizeof(*head);

	if (memcmp(head, wanted, offsetof(struct head, whole)) != 0 ||
	    head->planner != wanted->planner)
		return false;
	for (size_t i = 0; i < PARTS; i++) {
		if (head->counts[i] > file_size / sizes[i])
			return false;
		size += head->counts[i] * sizes[i];
	}
	return size == file_size;
}

#define read_part(fd, array, wanted, whole)                                                        \
	(mt_array_reserve(array, (size_t)(wanted) + 1)                                             \
	     ? -1                                                                                  \
	     : ((array)->count = (size_t)(wanted),                                                 \
		read_bytes(fd, (array)->items, (array)->count * sizeof(*(array)->items), whole)))

static int read_bytes(int fd, void *items, size_t size, uLong *whole)
{
	if (!read_all(fd, items, size))
		return 1;
	if (size)
		*whole = crc32_z(*whole, items, size);
	return 0;
}

/* 0; 1: it is garbled; -1: no memory. */
static int read_plan(int fd, const struct head *head, struct mt_plan *plan)
{
	uLong whole = crc_of_tail(head);
	int result = read_part(fd, &plan->patches, head->counts[0], &whole);

	if (!result)
		result = read_part(fd, &plan->functions, head->counts[1], &whole);
	if (!result)
		result = read_part(fd, &plan->sites, head->counts[2], &whole);
	if (!result)
		result = read_part(fd, &plan->left, head->counts[3], &whole);
	plan->redirected = head->redirected;
	plan->gs_user = head->gs_user;
	return result ? result : whole != head->whole;
}

static bool lies_in_code(const struct mt_code *code, uint64_t start, uint64_t length)
{
	const struct mt_code_range *range = mt_code_at(code, start);

	return range && length <= range->end - start;
}

static unsigned events_of(const struct mt_patch *patch)
{
	return !!(patch->flags & MT_PATCH_ENTRY) + !!(patch->flags & MT_PATCH_RETURN) +
	       !!(patch->flags & MT_PATCH_REDIRECT);
}

static bool is_hole_sound(const struct mt_code *code, const struct mt_patch *patch)
{
	int64_t distance = (int64_t)(patch->hole - (patch->address + MT_PATCH_SHORT_BYTES));

	if (!patch->hole)
		return patch->length >= MT_PATCH_JUMP_BYTES;
	return patch->length >= MT_PATCH_SHORT_BYTES && distance == (int8_t)distance &&
	       lies_in_code(code, patch->hole, MT_PATCH_JUMP_BYTES);
}

static bool is_patch_sound(const struct mt_plan *plan, const struct mt_code *code,
			   const struct mt_patch *patch)
{
	const unsigned flags =
	    MT_PATCH_ENTRY | MT_PATCH_RETURN | MT_PATCH_STAMP | MT_PATCH_REDIRECT | MT_PATCH_AGAIN;

	return !(patch->flags & ~flags) && patch->tactic < MT_TACTIC_COUNT &&
	       patch->function < plan->functions.count && patch->site <= plan->sites.count &&
	       events_of(patch) <= plan->sites.count - patch->site &&
	       patch->length <= MT_PATCH_MAX_BYTES &&
	       lies_in_code(code, patch->address, patch->length) && is_hole_sound(code, patch) &&
	       (!patch->redirect || lies_in_code(code, patch->redirect, 1));
}

/* Whoever uses it may rely on plan.h. */
static bool is_sound(struct mt_plan *plan, const struct mt_code *code)
{
	uint64_t end = 0;

	mt_array_each (patch, &plan->patches) {
		if (patch->address < end || !is_patch_sound(plan, code, patch))
			return false;
		end = patch->address + patch->length;
	}
	mt_array_each (site, &plan->sites)
		if (site->function >= plan->functions.count)
			return false;
	mt_array_each (left, &plan->left)
		if (left->function >= plan->functions.count || left->reason >= MT_LEFT_REASONS)
			return false;
	mt_array_each (function, &plan->functions)
		function->symbol = UINT32_MAX;
	return true;
}

static struct mt_error *read_sound(int fd, const struct head *head, struct mt_objfile *objfile,
				   struct mt_plan **out)
{
	struct mt_plan *plan = calloc(1, sizeof(*plan));
	struct mt_code code = {0};
	int result = plan ? read_plan(fd, head, plan) : -1;

	if (!result)
		result = mt_code_read(objfile, &code);
	if (!result && is_sound(plan, &code))
		*out = plan;
	else
		mt_plan_destroy(plan);
	mt_array_deinit(&code);
	return result < 0 ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_plan_load(struct mt_objfile *objfile, uint64_t planner, const char *path,
			      struct mt_plan **out)
{
	struct mt_error *error = NULL;
	struct head head, wanted;
	uint64_t size = 0;
	int fd = open_own(path, &size);

	*out = NULL;
	if (fd < 0)
		return NULL;
	if (begin_head(objfile, planner, &wanted))
		error = mt_error_no_memory();
	else if (read_all(fd, &head, sizeof(head)) && is_ours(&head, &wanted, size))
		error = read_sound(fd, &head, objfile, out);
	/* For who looks for what was not used for the longest time. */
	if (*out)
		futimens(fd, NULL);
	close(fd);
	return error;
}
