/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of Go that the runtime keeps: maps, channels and interfaces.
 *
 * Nothing that is read from the program is trusted: what has no sane shape is none, and no walk is
 * without a bound. */
#ifndef MT_VALUES_GO_H
#define MT_VALUES_GO_H

#include "values/value.h"

#define MT_GO_MAP_MOST (1u << 16) /* buckets that are visited */

/* go_map.c */
/* Both are pointers to what the runtime has of them. */
bool mt_type_is_go_map(struct mt_type *type);
bool mt_type_is_go_channel(struct mt_type *type);
/* Calls SEE with the keys and values of MAP, a map's header, until it returns false.  False: the
 * header has not the shape that is expected. */
bool mt_go_map_walk(struct mt_eval *eval, struct mt_value *header,
		    bool (*see)(void *context, struct mt_value *key, struct mt_value *value),
		    void *context);
/* What MAP has at KEY.  Errors: NOT_FOUND; UNSUPPORTED (its keys are neither numbers, pointers nor
 * strings, or it is too large); USAGE (KEY is no key of its); those of reading. */
struct mt_error *mt_go_map_at(struct mt_eval *eval, struct mt_value *map, struct mt_value *key,
			      struct mt_value *out);

/* A slice, or a string: the address of their elements and how many there are.  What they are is
 * known by the names of their types. */
bool mt_type_is_go_slice(struct mt_type *type);

/* go_interface.c */
bool mt_type_is_go_interface(struct mt_type *type);
/* What INTERFACE holds, with the type that it has at run time; *IS_NIL: nothing.  Errors:
 * NOT_FOUND (no DWARF knows that type); those of reading. */
struct mt_error *mt_go_dynamic_value(struct mt_eval *eval, struct mt_value *interface,
				     struct mt_value *out, bool *is_nil);
/* As Go's sources have it: "*main.T". */
const char *mt_go_type_name(const struct mt_type *type);

#endif
