/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of Go, up to 1.23: a pointer to runtime.hmap, whose buckets have eight cells each, and
 * chains of overflow buckets (runtime/map.go).  While a map grows, what has not moved yet is in the
 * old buckets, and what has is marked there. */
#include "values/go.h"
#include "values/text.h"

#include <string.h>

enum { CELLS = 8, LEAST_TOP_HASH = 5, SAME_SIZE_GROW = 8, MOST_POWER = 40 };

struct walk {
	struct mt_eval *eval;
	bool (*see)(void *context, struct mt_value *key, struct mt_value *value);
	void *context;
	unsigned visited; /* buckets */
};

static bool number_at(struct mt_eval *eval, struct mt_value *value, const char *name, uint64_t *out)
{
	struct mt_value found;

	if (!mt_value_at_path(eval, value, name, &found))
		return false;
	struct mt_error *error = mt_value_get(eval, &found, out);
	const bool is_known = !error;
	mt_error_destroy(error);
	return is_known;
}

static bool element(struct mt_value *array, unsigned index, struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(array->type);

	if (type->kind != MT_TYPE_ARRAY)
		return false;
	type = mt_type_target(type);
	*out = mt_value_at(type, array->address + index * mt_type_size(type));
	return true;
}

/* False: it was told to end. */
static bool see_cell(struct walk *walk, struct mt_value *keys, struct mt_value *values,
		     unsigned index)
{
	struct mt_value key, value;

	return element(keys, index, &key) && element(values, index, &value) &&
	       walk->see(walk->context, &key, &value);
}

/* With its overflow buckets.  False: no more are seen. */
static bool see_bucket(struct walk *walk, struct mt_type *type, uint64_t address)
{
	while (address && walk->visited++ < MT_GO_MAP_MOST) {
		struct mt_value bucket = mt_value_at(type, address), top, keys, values;
		uint64_t marks;

		if (!mt_value_at_path(walk->eval, &bucket, "tophash", &top) ||
		    !mt_value_at_path(walk->eval, &bucket, "keys", &keys) ||
		    !mt_value_at_path(walk->eval, &bucket, "values", &values))
			return false;
		struct mt_error *error =
		    mt_value_read(walk->eval, top.address, &marks, sizeof(marks));
		const bool is_read = !error;
		mt_error_destroy(error);
		if (!is_read)
			return false;
		for (unsigned i = 0; i < CELLS; i++)
			if ((uint8_t)(marks >> 8 * i) >= LEAST_TOP_HASH &&
			    !see_cell(walk, &keys, &values, i))
				return false;
		if (!number_at(walk->eval, &bucket, "overflow", &address))
			return false;
	}
	return !address;
}

static bool see_buckets(struct walk *walk, struct mt_value *header, const char *field,
			uint64_t power)
{
	struct mt_value pointer;
	uint64_t start;

	if (!mt_value_at_path(walk->eval, header, field, &pointer) ||
	    mt_type_strip(pointer.type)->kind != MT_TYPE_POINTER ||
	    !number_at(walk->eval, header, field, &start))
		return false;
	struct mt_type *type = mt_type_target(mt_type_strip(pointer.type));
	const uint64_t size = mt_type_size(type);
	for (uint64_t i = 0; start && i < 1ull << power; i++)
		if (!see_bucket(walk, type, start + i * size))
			return false;
	return true;
}

/* A typedef of a pointer to a structure whose name begins so. */
static bool leads_to(struct mt_type *type, const char *prefix)
{
	struct mt_type *pointer = mt_type_strip(type);
	const struct mt_type *header;

	type = mt_type_unqualified(type);
	if (type->kind != MT_TYPE_TYPEDEF || type->language != MT_LANGUAGE_GO ||
	    pointer->kind != MT_TYPE_POINTER)
		return false;
	header = mt_type_strip(mt_type_target(pointer));
	return header->kind == MT_TYPE_STRUCT && header->name && type->name &&
	       strncmp(header->name, prefix, strlen(prefix)) == 0;
}

bool mt_type_is_go_map(struct mt_type *type)
{
	return leads_to(type, "hash<");
}

bool mt_type_is_go_channel(struct mt_type *type)
{
	return leads_to(type, "hchan<");
}

bool mt_type_is_go_slice(struct mt_type *type)
{
	type = mt_type_strip(type);
	return type->kind == MT_TYPE_STRUCT && type->language == MT_LANGUAGE_GO && type->name &&
	       (strncmp(type->name, "[]", 2) == 0 || strcmp(type->name, "string") == 0);
}

bool mt_go_map_walk(struct mt_eval *eval, struct mt_value *header,
		    bool (*see)(void *context, struct mt_value *key, struct mt_value *value),
		    void *context)
{
	struct walk walk = {.eval = eval, .see = see, .context = context};
	uint64_t count, power, flags, old;

	if (!number_at(eval, header, "count", &count) || !number_at(eval, header, "B", &power) ||
	    !number_at(eval, header, "flags", &flags) ||
	    !number_at(eval, header, "oldbuckets", &old) || power > MOST_POWER)
		return false;
	if (count && see_buckets(&walk, header, "buckets", power) && old)
		see_buckets(&walk, header, "oldbuckets",
			    flags & SAME_SIZE_GROW || !power ? power : power - 1);
	return true;
}

/* ---- A key ---- */

struct sought {
	struct mt_eval *eval;
	const char *text; /* of a string; NULL: it is a number */
	uint64_t length, bits;
	long double number;
	bool is_float, is_found;
	struct mt_value value;
	struct mt_error *error;
};

/* The text of a string of Go's, or of a literal; *TEXT is NULL: it is none. */
static struct mt_error *text_of(struct mt_eval *eval, struct mt_value *value, const char **text,
				uint64_t *length)
{
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_value start, count;
	uint64_t address;

	*text = NULL;
	if (type->kind == MT_TYPE_ARRAY && value->lval != MT_LVAL_MEMORY &&
	    mt_type_strip(mt_type_target(type))->kind == MT_TYPE_CHAR) {
		mt_try(mt_value_need(eval, value));
		*length = mt_type_size(type) - 1; /* its NUL */
		*text = (const char *)mt_value_bytes(value);
		return NULL;
	}
	if (!mt_text_parts(eval, value, &start, &count))
		return NULL;
	mt_try(mt_value_get(eval, &start, &address));
	mt_try(mt_value_get(eval, &count, length));
	if (*length > MT_VALUE_MOST)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "a string of %llu bytes",
				    (unsigned long long)*length);
	char *bytes = mt_arena_alloc(eval->arena, *length + 1);
	if (!bytes)
		return mt_error_no_memory();
	*text = bytes;
	return *length ? mt_value_read(eval, address, bytes, *length) : NULL;
}

static struct mt_error *is_equal(struct sought *sought, struct mt_value *key, bool *out)
{
	long double number;
	const char *text;
	uint64_t length, bits;

	if (sought->text) {
		struct mt_value start, count;

		/* Most differ in their lengths. */
		*out = mt_text_parts(sought->eval, key, &start, &count);
		if (!*out)
			return NULL;
		mt_try(mt_value_get(sought->eval, &count, &length));
		*out = length == sought->length;
		if (!*out)
			return NULL;
		mt_try(text_of(sought->eval, key, &text, &length));
		*out = memcmp(text, sought->text, length) == 0;
	} else if (sought->is_float) {
		mt_try(mt_value_get_float(sought->eval, key, &number));
		*out = number == sought->number;
	} else {
		mt_try(mt_value_get(sought->eval, key, &bits));
		*out = bits == sought->bits;
	}
	return NULL;
}

static bool compare(void *context, struct mt_value *key, struct mt_value *value)
{
	struct sought *sought = context;

	sought->error = is_equal(sought, key, &sought->is_found);
	if (sought->is_found)
		sought->value = *value;
	return !sought->error && !sought->is_found;
}

/* Of the keys, or of the values.  NULL: the layout is another. */
static struct mt_type *cell_type(struct mt_type *header, const char *which)
{
	mt_type_expand(header);
	for (size_t i = 0; i < header->member_count; i++) {
		const struct mt_member *member = &header->members[i];
		struct mt_type *buckets = mt_type_strip(member->type);

		if (!member->name || strcmp(member->name, "buckets") != 0 ||
		    buckets->kind != MT_TYPE_POINTER)
			continue;
		buckets = mt_type_strip(mt_type_target(buckets));
		mt_type_expand(buckets);
		for (size_t j = 0; j < buckets->member_count; j++)
			if (buckets->members[j].name &&
			    strcmp(buckets->members[j].name, which) == 0)
				return mt_type_target(mt_type_strip(buckets->members[j].type));
	}
	return NULL;
}

static struct mt_error *no_key(const struct mt_type *map)
{
	return mt_error_new(MT_ERROR_USAGE, "The subscript is no key of a %s.",
			    map->name ? map->name : "map");
}

/* KEY as one of the type KEYS. */
static struct mt_error *seek(struct sought *sought, const struct mt_type *map, struct mt_type *keys,
			     struct mt_value *key)
{
	const struct mt_type *stripped = mt_type_strip(keys);
	struct mt_value converted;

	mt_try(text_of(sought->eval, key, &sought->text, &sought->length));
	if (stripped->kind == MT_TYPE_STRUCT && stripped->name &&
	    strcmp(stripped->name, "string") == 0)
		return sought->text ? NULL : no_key(map);
	if (!mt_type_is_integer_kind(stripped) && stripped->kind != MT_TYPE_FLOAT &&
	    stripped->kind != MT_TYPE_POINTER)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "A %s has keys that are neither numbers, pointers nor "
				    "strings: print the whole map.",
				    map->name);
	const struct mt_type *given = mt_type_strip(key->type);
	sought->is_float = stripped->kind == MT_TYPE_FLOAT;
	if (sought->text || (!mt_type_is_integer_kind(given) && given->kind != MT_TYPE_POINTER &&
			     !(sought->is_float && given->kind == MT_TYPE_FLOAT)))
		return no_key(map);
	mt_try(mt_value_cast(sought->eval, key, keys, &converted));
	return sought->is_float ? mt_value_get_float(sought->eval, &converted, &sought->number)
				: mt_value_get(sought->eval, &converted, &sought->bits);
}

struct mt_error *mt_go_map_at(struct mt_eval *eval, struct mt_value *map, struct mt_value *key,
			      struct mt_value *out)
{
	const struct mt_type *type = mt_type_unqualified(map->type);
	struct sought sought = {.eval = eval};
	struct mt_type *head = mt_type_strip(mt_type_target(mt_type_strip(map->type)));
	struct mt_type *keys = cell_type(head, "keys"), *values = cell_type(head, "values");
	struct mt_value header;
	uint64_t address, count;

	if (!keys || !values)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "A %s of an unknown layout.", type->name);
	if (eval->no_side_effects) {
		*out = mt_value_at(values, 0);
		return NULL;
	}
	mt_try(seek(&sought, type, keys, key));
	mt_try(mt_value_get(eval, map, &address));
	if (address) {
		header = mt_value_at(head, address);
		if (number_at(eval, &header, "count", &count) && count > CELLS * MT_GO_MAP_MOST / 2)
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "The map has %llu elements, which are too many to "
					    "search.",
					    (unsigned long long)count);
		if (!mt_go_map_walk(eval, &header, compare, &sought))
			return mt_error_new(MT_ERROR_FORMAT, "The map cannot be read.");
		mt_try(sought.error);
	}
	*out = sought.value;
	return sought.is_found ? NULL
			       : mt_error_new(MT_ERROR_NOT_FOUND, "The map has no such key.");
}
