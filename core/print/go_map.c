/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of Go, up to 1.23: a pointer to runtime.hmap, whose buckets have eight cells each, and
 * chains of overflow buckets (runtime/map.go).  While a map grows, what has not moved yet is in the
 * old buckets, and what has is marked there. */
#include "print/container.h"

#include <string.h>

enum { CELLS = 8, LEAST_TOP_HASH = 5, SAME_SIZE_GROW = 8, MOST_POWER = 40 };

struct map {
	struct mt_print *print;
	struct mt_children children;
	unsigned visited; /* buckets */
};

static bool element(struct mt_value *array, unsigned index, struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(array->type);

	if (type->kind != MT_TYPE_ARRAY)
		return false;
	type = mt_type_target(type);
	*out = mt_value_at(type, array->address + index * mt_type_size(type));
	return true;
}

/* False: no more are shown. */
static bool print_cell(struct map *map, struct mt_value *keys, struct mt_value *values,
		       unsigned index)
{
	struct mt_value key, value;

	if (!element(keys, index, &key) || !element(values, index, &value) ||
	    !mt_children_next(&map->children))
		return false;
	mt_str_append(map->print->out, "[");
	mt_children_value(&map->children, &key);
	if (map->children.is_over)
		return false;
	mt_str_append(map->print->out, "] = ");
	mt_children_value(&map->children, &value);
	return !map->children.is_over;
}

/* With its overflow buckets.  False: no more are shown. */
static bool print_bucket(struct map *map, struct mt_type *type, uint64_t address)
{
	while (address && map->visited++ < MT_CONTAINER_MOST) {
		struct mt_value bucket = mt_value_at(type, address), top, keys, values;
		uint64_t marks;

		if (!mt_container_field(map->print, &bucket, "tophash", &top) ||
		    !mt_container_field(map->print, &bucket, "keys", &keys) ||
		    !mt_container_field(map->print, &bucket, "values", &values) ||
		    !mt_container_word(map->print, top.address, &marks))
			return false;
		for (unsigned i = 0; i < CELLS; i++)
			if ((uint8_t)(marks >> 8 * i) >= LEAST_TOP_HASH &&
			    !print_cell(map, &keys, &values, i))
				return false;
		if (!mt_container_number(map->print, &bucket, "overflow", &address))
			return false;
	}
	return !address;
}

static bool print_buckets(struct map *map, struct mt_value *header, const char *field,
			  uint64_t power)
{
	struct mt_value pointer;
	uint64_t start;

	if (!mt_container_field(map->print, header, field, &pointer) ||
	    mt_type_strip(pointer.type)->kind != MT_TYPE_POINTER ||
	    !mt_container_number(map->print, header, field, &start))
		return false;
	struct mt_type *type = mt_type_target(mt_type_strip(pointer.type));
	const uint64_t size = mt_type_size(type);
	for (uint64_t i = 0; start && i < 1ull << power; i++)
		if (!print_bucket(map, type, start + i * size))
			return false;
	return true;
}

bool mt_type_is_go_map(struct mt_type *type)
{
	struct mt_type *pointer = mt_type_strip(type);
	const struct mt_type *header;

	type = mt_type_unqualified(type);
	if (type->kind != MT_TYPE_TYPEDEF || type->language != MT_LANGUAGE_GO ||
	    pointer->kind != MT_TYPE_POINTER)
		return false;
	header = mt_type_strip(mt_type_target(pointer));
	return header->kind == MT_TYPE_STRUCT && header->name && type->name &&
	       strncmp(header->name, "hash<", 5) == 0;
}

bool mt_print_go_map(struct mt_print *print, struct mt_value *value)
{
	struct map map = {.print = print, .children = {.print = print, .hint = MT_CHILDREN_MAP}};
	struct mt_value header;
	uint64_t address, count, power, flags, old;
	struct mt_error *error = mt_value_get(print->eval, value, &address);
	bool is_known = !error;

	mt_error_destroy(error);
	if (!is_known)
		return false;
	if (!address) {
		mt_str_appendf(print->out, "%s = nil", mt_type_unqualified(value->type)->name);
		return true;
	}
	header = mt_value_at(mt_type_target(mt_type_strip(value->type)), address);
	if (!mt_container_number(print, &header, "count", &count) ||
	    !mt_container_number(print, &header, "B", &power) ||
	    !mt_container_number(print, &header, "flags", &flags) ||
	    !mt_container_number(print, &header, "oldbuckets", &old) || power > MOST_POWER)
		return false;
	mt_str_append(print->out, mt_type_unqualified(value->type)->name);
	if (!count)
		mt_str_append(print->out, " = {}");
	else if (print_buckets(&map, &header, "buckets", power) && old)
		print_buckets(&map, &header, "oldbuckets",
			      flags & SAME_SIZE_GROW || !power ? power : power - 1);
	mt_children_end(&map.children);
	return !count || map.children.count || map.children.is_over;
}
