/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known objects are found by where they lie; a sum over their bytes tells whether
 * another one took the place. */
#include "process/jit_list.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "elf/data_symbol.h"
#include "elf/jit_object.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define LARGEST_OBJECT ((uint64_t)64 << 20)
#define MOST_BYTES     ((uint64_t)256 << 20) /* that a look reads */
#define MOST_KEPT      ((uint64_t)64 << 20)  /* of all that ever came */

enum { MOST_ENTRIES = 65536, VERSION = 1 };

/* As GDB's manual has them. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct entry {
	uint64_t next, previous, address, size;
};

struct object {
	struct object_key {
		uint64_t address, size;
	} key;
	uint64_t sum;
	uint64_t look; /* that found it last */
	bool has_come; /* else it is garbled */
	uint32_t number;
	UT_hash_handle hh;
};

struct mt_jit_list {
	MT_ARRAY(uint64_t) descriptors;
	MT_ARRAY(uint64_t) calls; /* the functions that are called at each change */
	struct object *objects;
	uint32_t numbers;
	uint64_t looks;
	uint64_t kept;
	bool is_told;
};

/* One look. */
struct look {
	struct mt_jit_list *list;
	struct mt_target *target;
	pid_t pid;
	const struct mt_jit_changes *changes;
	uint64_t read; /* bytes, with the code of what came */
	uint64_t entries;
};

struct mt_error *mt_jit_list_create(struct mt_jit_list **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? NULL : mt_error_no_memory();
}

static void forget(struct mt_jit_list *list, struct object *object)
{
	HASH_DEL(list->objects, object);
	free(object);
}

void mt_jit_list_destroy(struct mt_jit_list *list)
{
	struct object *object, *next;

	if (!list)
		return;
	HASH_ITER (hh, list->objects, object, next)
		forget(list, object);
	mt_array_deinit(&list->descriptors);
	mt_array_deinit(&list->calls);
	free(list);
}

/* An address of the file; 0: none. */
static void note(void *context, uint64_t address, const char *name)
{
	(void)name;
	*(uint64_t *)context = address;
}

struct mt_error *mt_jit_list_add_file(struct mt_jit_list *list, struct mt_objfile *objfile,
				      uint64_t bias)
{
	struct mt_data_symbol symbol;
	uint64_t call = 0;

	if (!mt_objfile_find_data_symbol(objfile, "__jit_debug_descriptor", &symbol) ||
	    symbol.thread_local)
		return NULL;
	const uint64_t address = symbol.address + bias;
	mt_array_each (known, &list->descriptors)
		if (*known == address)
			return NULL;
	mt_objfile_find_name(objfile, "__jit_debug_register_code", note, &call);
	return mt_array_push(&list->descriptors, address) ||
		       (call && mt_array_push(&list->calls, call + bias))
		   ? mt_error_no_memory()
		   : NULL;
}

bool mt_jit_list_changes_at(const struct mt_jit_list *list, uint64_t pc)
{
	mt_array_each (call, &list->calls)
		if (*call == pc)
			return true;
	return false;
}

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct look *look = context;

	return look->target->ops->read(look->target, look->pid, address, buffer, size);
}

static bool read_all(struct look *look, uint64_t address, void *buffer, size_t size)
{
	return read_memory(look, address, buffer, size) == size;
}

static void leave_out(struct look *look, const char *why)
{
	if (!look->list->is_told)
		mt_log(look->changes->log, MT_LOG_WARNING,
		       "code that process %d has made, and registered for GDB, may have no names: "
		       "%s",
		       (int)look->pid, why);
	look->list->is_told = true;
}

/* Takes over the error; lack of memory goes on. */
static struct mt_error *leave_out_error(struct look *look, struct mt_error *error)
{
	if (mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	leave_out(look, mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *went(const struct look *look, const struct object *object)
{
	return object->has_come ? look->changes->went(look->changes->context, object->number)
				: NULL;
}

static struct mt_error *came(struct look *look, struct object *object, const uint8_t *bytes)
{
	struct mt_jit_list *list = look->list;
	uint8_t *settled = NULL;
	size_t size = 0;

	object->has_come = false;
	struct mt_error *error =
	    mt_jit_object_settle(bytes, object->key.size, read_memory, look, &settled, &size);
	if (error)
		return leave_out_error(look, error);
	look->read += size;
	if (size > MOST_KEPT - list->kept) {
		leave_out(look, "it has registered more than 64 MiB");
	} else {
		list->kept += size;
		object->has_come = true;
		object->number = list->numbers++;
		error = look->changes->came(look->changes->context, object->number, settled, size);
	}
	free(settled);
	return error;
}

/* The object's newest bytes, that nobody changed meanwhile.  NULL: it cannot be had. */
static uint8_t *read_object(struct look *look, uint64_t at, const struct entry *entry)
{
	struct entry again;
	uint8_t *bytes;

	if (!entry->size || entry->size > LARGEST_OBJECT || look->read > MOST_BYTES ||
	    entry->size > MOST_BYTES - look->read) {
		leave_out(look, entry->size ? "an object file is larger than 64 MiB, or all are "
					      "together, with their code, larger than 256 MiB"
					    : "an object file has no bytes");
		return NULL;
	}
	look->read += entry->size;
	bytes = malloc(entry->size);
	if (bytes && read_all(look, entry->address, bytes, entry->size)) {
		if (read_all(look, at, &again, sizeof(again)) && again.address == entry->address &&
		    again.size == entry->size)
			return bytes;
	} else {
		leave_out(look, "an object file lies in memory that cannot be read");
	}
	free(bytes);
	return NULL;
}

static struct object *object_of(struct mt_jit_list *list, const struct object_key *key)
{
	struct object *object = NULL;

	HASH_FIND(hh, list->objects, key, sizeof(*key), object);
	if (object)
		return object;
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->key = *key;
	HASH_ADD(hh, list->objects, key, sizeof(*key), object);
	if (object->hh.tbl)
		return object;
	free(object);
	return NULL;
}

static struct mt_error *see(struct look *look, uint64_t at, const struct entry *entry)
{
	const struct object_key key = {entry->address, entry->size};
	struct object *object = NULL;

	HASH_FIND(hh, look->list->objects, &key, sizeof(key), object);
	if (object && object->look == look->list->looks)
		return NULL;
	uint8_t *bytes = read_object(look, at, entry);
	if (!bytes)
		return NULL;
	const uint64_t sum = mt_hash(0, bytes, entry->size);
	struct mt_error *error = NULL;
	object = object_of(look->list, &key);
	if (!object) {
		error = mt_error_no_memory();
	} else if (!object->look || object->sum != sum) {
		error = went(look, object);
		if (!error)
			error = came(look, object, bytes);
	}
	if (object) {
		object->sum = sum;
		object->look = look->list->looks;
	}
	free(bytes);
	return error;
}

/* A list that leads back into itself comes to an entry at which it was when its length was a power
 * of two (Brent's algorithm). */
static struct mt_error *walk(struct look *look, uint64_t first)
{
	uint64_t marked = 0, count = 0;
	struct entry entry;

	for (uint64_t at = first; at; at = entry.next) {
		if (at == marked || ++look->entries > MOST_ENTRIES) {
			leave_out(look, at == marked ? "their list is circular"
						     : "their lists have more than 65536 entries");
			return NULL;
		}
		count++;
		if (!(count & (count - 1)))
			marked = at;
		if (!read_all(look, at, &entry, sizeof(entry))) {
			leave_out(look, "their list leads to memory that cannot be read");
			return NULL;
		}
		mt_try(see(look, at, &entry));
	}
	return NULL;
}

struct mt_error *mt_jit_list_look(struct mt_jit_list *list, struct mt_target *target, pid_t pid,
				  const struct mt_jit_changes *changes)
{
	struct look look = {.list = list, .target = target, .pid = pid, .changes = changes};
	struct descriptor descriptor;
	struct object *object, *next;

	list->looks++;
	mt_array_each (address, &list->descriptors)
		if (read_all(&look, *address, &descriptor, sizeof(descriptor)) &&
		    descriptor.version == VERSION)
			mt_try(walk(&look, descriptor.first));
	HASH_ITER (hh, list->objects, object, next) {
		if (object->look == list->looks)
			continue;
		mt_try(went(&look, object));
		forget(list, object);
	}
	return NULL;
}
