/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interfaces of Go: two words, of which one leads to the type of what they hold, and the other to
 * that, or is it.  Source: Go's runtime/runtime2.go (iface, eface, itab), internal/abi/type.go. */
#include "types/go_types.h"
#include "values/go.h"
#include "values/text.h"

#include <string.h>

/* Of runtime.itab, internal/abi.Type. */
#define ITAB_TYPE 8
#define TYPE_KIND 23

enum { KIND_MASK = 31, IS_DIRECT = 32 };

static bool is_named(const struct mt_type *type, const char *name)
{
	return type->name && strcmp(type->name, name) == 0;
}

bool mt_type_is_go_interface(struct mt_type *type)
{
	const struct mt_type *named = mt_type_unqualified(type);
	const struct mt_type *pair = mt_type_strip(type);

	return named->kind == MT_TYPE_TYPEDEF && named->name && pair->kind == MT_TYPE_STRUCT &&
	       pair->language == MT_LANGUAGE_GO &&
	       (is_named(pair, "runtime.iface") || is_named(pair, "runtime.eface"));
}

const char *mt_go_type_name(const struct mt_type *type)
{
	Dwarf_Die die = type->die;
	const char *name = die.addr ? dwarf_diename(&die) : NULL;

	return name ? name : type->name ? type->name : "?";
}

static struct mt_error *get_field(struct mt_eval *eval, struct mt_value *interface,
				  const char *name, struct mt_value *field, uint64_t *word)
{
	if (!mt_value_at_path(eval, interface, name, field))
		return mt_error_new(MT_ERROR_FORMAT, "an interface of Go's without %s", name);
	return mt_value_get(eval, field, word);
}

struct mt_error *mt_go_dynamic_value(struct mt_eval *eval, struct mt_value *interface,
				     struct mt_value *out, bool *is_nil)
{
	const bool has_methods = is_named(mt_type_strip(interface->type), "runtime.iface");
	struct mt_value first, data;
	uint64_t type = 0, address = 0;
	uint8_t kind = 0;

	mt_try(get_field(eval, interface, has_methods ? "tab" : "_type", &first, &type));
	mt_try(get_field(eval, interface, "data", &data, &address));
	*is_nil = !type;
	if (*is_nil)
		return NULL;
	if (has_methods)
		mt_try(mt_value_read(eval, type + ITAB_TYPE, &type, sizeof(type)));
	mt_try(mt_value_read(eval, type + TYPE_KIND, &kind, sizeof(kind)));
	struct mt_type *dynamic = mt_go_type_at(eval->program, type, kind & KIND_MASK);
	if (!dynamic)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "no DWARF knows the type of what the interface holds");
	if (kind & IS_DIRECT && mt_type_size(dynamic) == sizeof(address)) {
		*out = data;
		out->type = dynamic;
	} else {
		*out = mt_value_at(dynamic, address);
	}
	return NULL;
}
