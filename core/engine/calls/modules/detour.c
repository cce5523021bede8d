/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's own unwinder, in a signal handler that calls backtrace(), or throws: libgcc asks
 * libc's _dl_find_object() which object an address is of.  That one calls what the loader left in a
 * pointer; ours leads to the agent first, which knows trampolines, and then to the loader.
 *
 * libgcc's __register_frame() would do the same at the price of a lock that a handler may meet in
 * its own thread, and of memory from malloc(); and it would have to be called in the program.
 *
 * A libc without the function (glibc before 2.35), or of another make, is left alone. */
#include "engine/calls/modules/modules.h"

#include "elf/dynamic_symbol.h"

#include <string.h>

/* endbr64; mov rax, [rip+…]; jmp [rax+…] */
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const uint8_t mov_rax[] = {0x48, 0x8b, 0x05};
static const uint8_t jmp_long[] = {0xff, 0xa0};

#define MOV_BYTES  7
#define JUMP_BYTES 6

static int32_t displacement(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Where its pointer to a structure stands (in the file), and where in there the function's. */
static bool parse(const uint8_t *bytes, uint64_t address, uint64_t *pointer, int32_t *offset)
{
	if (memcmp(bytes, endbr64, sizeof(endbr64)) == 0) {
		bytes += sizeof(endbr64);
		address += sizeof(endbr64);
	}
	if (memcmp(bytes, mov_rax, sizeof(mov_rax)) != 0 ||
	    memcmp(bytes + MOV_BYTES, jmp_long, sizeof(jmp_long)) != 0)
		return false;
	*pointer = address + MOV_BYTES + (uint64_t)(int64_t)displacement(bytes + sizeof(mov_rax));
	*offset = displacement(bytes + MOV_BYTES + sizeof(jmp_long));
	return true;
}

/* From the file: in memory it may be patched already. */
const struct mt_calls_finder *mt_calls_find_finder(struct mt_calls_file *file)
{
	uint8_t bytes[sizeof(endbr64) + MOV_BYTES + JUMP_BYTES];
	struct mt_calls_finder *finder = &file->finder;

	if (finder->is_known)
		return finder;
	finder->is_known = true;
	uint64_t address = file->objfile ? mt_elf_dynamic_symbol(file->path, "_dl_find_object") : 0;
	if (address && mt_objfile_read_pages(file->objfile, address, bytes, sizeof(bytes)) &&
	    !parse(bytes, address, &finder->pointer, &finder->offset))
		finder->pointer = 0;
	return finder;
}

static bool read_word(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      uint64_t address, uint64_t *word)
{
	return engine->target->ops->read(engine->target, space->pid, address, word,
					 sizeof(*word)) == sizeof(*word);
}

struct inside {
	const struct mt_calls_space *space;
	uint64_t address;
	bool found;
};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct inside *inside = context;

	if (map->executable && inside->address >= map->start && inside->address < map->end &&
	    strcmp(map->path, inside->space->loader_path) == 0)
		inside->found = true;
	return NULL;
}

/* Behind an agent at *ADDRESS, if one is there. */
static bool read_rest(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      uint64_t *address)
{
	uint8_t code[16];

	if (engine->target->ops->read(engine->target, space->pid, *address, code, sizeof(code)) !=
	    sizeof(code))
		return false;
	return memcmp(code, mt_agent_code, sizeof(code)) != 0 ||
	       read_word(engine, space, *address + MT_AGENT_REST, address);
}

struct mt_error *mt_calls_detour(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *libc, uint64_t base)
{
	const uint64_t detour = space->agent;
	struct mt_calls_file *file = NULL;
	struct inside inside = {.space = space};
	uint64_t at = 0;

	mt_try(mt_calls_file_get(engine, libc, &file));
	const struct mt_calls_finder *finder = mt_calls_find_finder(file);
	if (!finder->pointer || !read_word(engine, space, base + finder->pointer, &at))
		return NULL;
	at += (uint64_t)(int64_t)finder->offset;
	if (!read_word(engine, space, at, &inside.address))
		return NULL;
	/* That of another tracer of ours, which was killed here. */
	if (!read_rest(engine, space, &inside.address))
		return NULL;
	mt_try(mt_target_each_map(engine->target, space->pid, see_map, &inside));
	if (!inside.found)
		return NULL;
	space->detour_at = at;
	space->detour_original = inside.address;
	mt_try(engine->target->ops->write(engine->target, space->pid, space->agent + MT_AGENT_REST,
					  &space->detour_original, sizeof(uint64_t)));
	return engine->target->ops->write(engine->target, space->pid, at, &detour, sizeof(detour));
}

struct mt_error *mt_calls_end_detour(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	uint64_t at = space->detour_at;

	space->detour_at = 0;
	if (!at)
		return NULL;
	return engine->target->ops->write(engine->target, space->pid, at, &space->detour_original,
					  sizeof(space->detour_original));
}
