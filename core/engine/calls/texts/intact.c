/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of ours is still in a text is told by the bytes there, not by what we remember: a library
 * may have been unloaded, and other memory lie in its place by now; and a program may have moved
 * its text, and our patches with it, into memory of no file.  Bytes that do not look like what we
 * put there are not ours to change. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"

#include <string.h>

#define JUMP       0xe9
#define SHORT_JUMP 0xeb
#define INT3       0xcc
#define PAGE       4096u

static bool is_ours(const struct mt_calls_space *space, const struct mt_calls_module *module,
		    uint64_t address)
{
	if (address - module->room < module->room_bytes)
		return true;
	mt_array_each (room, &space->rooms)
		if (address - room->start < room->end - room->start)
			return true;
	return false;
}

/* A debugger's breakpoint may stand on its first byte. */
static bool begins(const uint8_t *there, uint8_t byte)
{
	return *there == byte || *there == INT3;
}

bool mt_calls_piece_has_patch(const struct mt_calls_piece *piece,
			      const struct mt_calls_module *module, size_t index)
{
	const struct mt_patch *patch = &module->file->plan->patches.items[index];
	const uint64_t jump = patch->hole ? patch->hole : patch->address;

	return mt_calls_piece_holds(piece, patch->address + module->bias, patch->length) &&
	       mt_calls_piece_holds(piece, jump + module->bias, MT_PATCH_JUMP_BYTES);
}

bool mt_calls_is_intact(const struct mt_calls_space *space, const struct mt_calls_module *module,
			size_t index, const struct mt_calls_piece *piece)
{
	const struct mt_patch *patch = &module->file->plan->patches.items[index];
	const uint64_t jump = patch->hole ? patch->hole : patch->address;
	int32_t distance;

	if (!mt_calls_piece_has_patch(piece, module, index))
		return false;
	const uint8_t *there = piece->bytes + (patch->address + module->bias - piece->start);
	const uint8_t *jump_there = piece->bytes + (jump + module->bias - piece->start);
	if (patch->hole &&
	    !(begins(there, SHORT_JUMP) &&
	      patch->address + MT_PATCH_SHORT_BYTES + (uint64_t)(int64_t)(int8_t)there[1] ==
		  patch->hole))
		return false;
	memcpy(&distance, jump_there + 1, sizeof(distance));
	return begins(jump_there, JUMP) &&
	       is_ours(space, module,
		       jump + module->bias + MT_PATCH_JUMP_BYTES + (uint64_t)(int64_t)distance);
}

/* Of the bytes around patches so many are as they were, if they are the file's at all; of other
 * memory's one in 256 is so by chance. */
#define LEAST_ALIKE_PART 16

static bool is_alike(const struct mt_calls_module *module, const uint8_t *memory, size_t start,
		     size_t end)
{
	size_t alike = 0;

	for (size_t i = start; i < end; i++)
		alike += memory[i] == module->clean[i];
	return alike > (end - start) / LEAST_ALIKE_PART;
}

/* Where patches are missing, what looks like one may do so by chance, as one in some ten thousand
 * does in random bytes: it counts if its page has another, or is the file's. */
static bool keep_proven(const struct mt_calls_module *module, const uint8_t *memory, bool *patches)
{
	const size_t count = module->file->plan->patches.count;
	const size_t size = module->end - module->start;
	bool any = false;

	for (size_t i = 0, next; i < count; i = next) {
		const size_t page = (mt_calls_patch_address(module, i) - module->start) / PAGE;
		const size_t start = page * PAGE, end = start + PAGE < size ? start + PAGE : size;
		size_t found = 0;

		for (next = i;
		     next < count &&
		     (mt_calls_patch_address(module, next) - module->start) / PAGE == page;
		     next++)
			found += patches[next];
		if (found == 1 && !is_alike(module, memory, start, end))
			memset(patches + i, 0, (next - i) * sizeof(*patches));
		else
			any |= found;
	}
	return any;
}

bool mt_calls_keep_intact(const struct mt_calls_space *space, const struct mt_calls_module *module,
			  const uint8_t *memory, bool *patches)
{
	const struct mt_calls_piece piece = {module->start, module->end - module->start,
					     (uint8_t *)memory};
	const size_t count = module->file->plan->patches.count;
	const bool *one = patches;
	bool any = false, all = true;

	while ((one = memchr(one, 1, count - (size_t)(one - patches)))) {
		const size_t i = (size_t)(one++ - patches);

		patches[i] = mt_calls_is_intact(space, module, i, &piece);
		any |= patches[i];
		all &= patches[i];
	}
	return any && !all && module->clean ? keep_proven(module, memory, patches) : any;
}

static bool is_same_file(const struct mt_calls_module *module, const struct mt_map *map)
{
	return map->inode == module->inode && map->device == module->device &&
	       map->offset - map->start == module->offset - module->start;
}

bool mt_calls_is_mapping_of(const struct mt_calls_module *module, const struct mt_map *map)
{
	return module->start == map->start && module->end == map->end && is_same_file(module, map);
}

struct looking {
	const struct mt_calls_module *module;
	uint64_t bytes; /* of it, that were seen */
};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct looking *looking = context;
	const struct mt_calls_module *module = looking->module;
	const uint64_t start = map->start > module->start ? map->start : module->start;
	const uint64_t end = map->end < module->end ? map->end : module->end;

	if (start < end && is_same_file(module, map))
		looking->bytes += end - start;
	return NULL;
}

bool mt_calls_is_mapped(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			const struct mt_calls_module *module)
{
	struct looking looking = {.module = module};

	mt_error_destroy(mt_target_each_map(engine->target, space->pid, see_map, &looking));
	return looking.bytes == module->end - module->start;
}

bool mt_calls_break_is_intact(const struct mt_calls_break *one, const uint8_t *there)
{
	uint8_t bytes[MT_CALLS_BREAK_BYTES];

	if (!one->length)
		return false;
	mt_calls_break_bytes(one, bytes);
	return begins(there, bytes[0]) && memcmp(there + 1, bytes + 1, one->length - 1) == 0;
}

void mt_calls_undo_breaks(const struct mt_calls_space *space, const struct mt_calls_piece *piece)
{
	mt_array_each (one, &space->breaks) {
		if (!mt_calls_piece_holds(piece, one->address, one->length))
			continue;
		uint8_t *there = piece->bytes + (one->address - piece->start);
		if (mt_calls_break_is_intact(one, there))
			memcpy(there, one->original, one->length);
	}
}

struct mt_error *mt_calls_break_put_back(struct mt_calls_engine *engine, pid_t pid,
					 const struct mt_calls_break *one)
{
	struct mt_target *target = engine->target;
	uint8_t there[MT_CALLS_BREAK_BYTES];

	if (target->ops->read(target, pid, one->address, there, one->length) != one->length ||
	    !mt_calls_break_is_intact(one, there))
		return NULL;
	return target->ops->write(target, pid, one->address, one->original, one->length);
}
