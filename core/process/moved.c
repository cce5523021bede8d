/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/moved.h"

#include <string.h>

#define PART       8192u
#define MOST_PARTS 32u /* that are read of a large one */

bool mt_map_is_nameless_code(const struct mt_map *map)
{
	/* As prctl(2) with PR_SET_VMA_ANON_NAME, and mmap(2) with MAP_HUGETLB, call it. */
	static const char named[] = "[anon:", huge[] = "/anon_hugepage";

	return map->executable &&
	       (!map->path[0] || strncmp(map->path, named, sizeof(named) - 1) == 0 ||
		strncmp(map->path, huge, sizeof(huge) - 1) == 0);
}

struct likeness {
	uint64_t alike, all;
};

/* Zeros say nothing: memory that nobody has written has them, too. */
static void compare(const uint8_t *memory, const uint8_t *file, size_t size, struct likeness *sum)
{
	for (size_t i = 0; i < size; i++) {
		sum->alike += file[i] && memory[i] == file[i];
		sum->all += file[i] != 0;
	}
}

bool mt_map_holds_text(struct mt_target *target, pid_t pid, const struct mt_map *map,
		       const struct mt_objfile *objfile, uint64_t offset)
{
	uint8_t memory[PART], file[PART];
	struct likeness sum = {0};
	uint64_t address;

	if (!mt_objfile_offset_to_address(objfile, offset, &address))
		return false;
	const uint64_t size = map->end - map->start, step = size / MOST_PARTS / PART * PART + PART;
	for (uint64_t at = 0; at < size; at += step) {
		const size_t wanted = size - at < PART ? size - at : PART;
		const size_t there = mt_objfile_read(objfile, address + at, file, wanted);

		if (target->ops->read(target, pid, map->start + at, memory, there) != there)
			return false;
		compare(memory, file, there, &sum);
	}
	return sum.alike > sum.all / 2;
}
