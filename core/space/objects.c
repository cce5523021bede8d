/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files that lie in the process's memory.  Each decoding of a live session brings the same
 * ones again, which give the functions that they gave before. */
#include "space/private.h"

#include "base/hash.h"
#include "elf/code.h"
#include "elf/jit_object.h"
#include "elf/objfile_private.h"

#include <string.h>

/* NULL: no memory. */
static struct mt_space_pool_object *object_of(struct mt_space_pool *pool, const uint8_t *bytes,
					      size_t size)
{
	const struct mt_object_key key = {size, mt_hash(0, bytes, size)};
	struct mt_space_pool_object *object;

	HASH_FIND(hh, pool->objects, &key, sizeof(key), object);
	if (object && (!object->objfile || !memcmp(object->objfile->main.bytes, bytes, size)))
		return object;
	object = mt_arena_zalloc(&pool->arena, sizeof(*object));
	if (!object)
		return NULL;
	object->key = key;
	mt_auto(mt_error) struct mt_error *error =
	    mt_objfile_open_memory(MT_JIT_OBJECT_PATH, bytes, size, &object->objfile);
	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return NULL;
	HASH_ADD(hh, pool->objects, key, sizeof(key), object);
	if (object->hh.tbl)
		return object;
	mt_objfile_unref(object->objfile);
	return NULL;
}

void mt_space_pool_drop_objects(struct mt_space_pool *pool)
{
	for (struct mt_space_pool_object *object = pool->objects; object; object = object->hh.next)
		mt_objfile_unref(object->objfile);
	HASH_CLEAR(hh, pool->objects);
}

/* A file's code is no JIT compiler's, whatever an object says. */
static bool is_of_file(const struct mt_space *space, const struct mt_code_range *range)
{
	size_t i = mt_space_search(space, range->start);

	if (i && space->entries[i - 1].mapping.end > range->start)
		i--;
	for (; i < space->count && space->entries[i].mapping.start < range->end; i++)
		if (space->entries[i].image &&
		    strcmp(space->entries[i].mapping.path, MT_JIT_OBJECT_PATH) != 0)
			return true;
	return false;
}

static struct mt_error *add_code(struct mt_space *space, struct mt_objfile *objfile,
				 const struct mt_code *code)
{
	mt_array_each (range, code) {
		struct mt_mapping mapping = {
		    .start = range->start, .end = range->end, .path = MT_JIT_OBJECT_PATH};

		if (!is_of_file(space, range) &&
		    mt_objfile_address_to_offset(objfile, range->start, &mapping.offset))
			mt_try(mt_space_add_objfile(space, &mapping, objfile));
	}
	return NULL;
}

struct mt_error *mt_space_add_object(struct mt_space *space, const uint8_t *bytes, size_t size)
{
	const struct mt_space_pool_object *object = object_of(space->pool, bytes, size);
	struct mt_code code = {0};

	if (!object)
		return mt_error_no_memory();
	if (!object->objfile)
		return NULL;
	struct mt_error *error = mt_code_read(object->objfile, &code)
				     ? mt_error_no_memory()
				     : add_code(space, object->objfile, &code);
	mt_array_deinit(&code);
	return error;
}

void mt_space_drop_objects(struct mt_space *space)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->count; i++)
		if (strcmp(space->entries[i].mapping.path, MT_JIT_OBJECT_PATH) != 0)
			space->entries[kept++] = space->entries[i];
	space->count = kept;
	mt_space_forget_last(space);
}
