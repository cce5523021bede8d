/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ptype` of an enumeration of C and C++. */
#include "types/type.h"

#include <dwarf.h>

void mt_type_describe_enum(struct mt_type *type, struct mt_str *out)
{
	int64_t expected = 0;

	mt_str_appendf(out, "enum %s%s%s", type->is_enum_class ? "class " : "",
		       type->name ? type->name : "", type->name ? " " : "");
	if (type->is_enum_class || dwarf_hasattr(&type->die, DW_AT_type)) {
		struct mt_type *under = mt_type_target(type);

		if (type->language != MT_LANGUAGE_C && dwarf_hasattr(&type->die, DW_AT_type) &&
		    under->name)
			mt_str_appendf(out, ": %s ", under->name);
	}
	mt_str_append(out, "{");
	for (size_t i = 0; i < type->enumerator_count; i++) {
		const struct mt_enumerator *item = &type->enumerators[i];

		mt_str_appendf(out, "%s%s", i ? ", " : "", item->name);
		if (item->value != expected)
			mt_str_appendf(out, " = %lld", (long long)item->value);
		expected = item->value + 1;
	}
	mt_str_append(out, "}");
}
