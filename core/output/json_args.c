/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/json_args.h"

#include "output/json_string.h"

#include <math.h>
#include <string.h>

static void append_value(struct mt_str *out, struct mt_str *scratch, const struct mt_arg *arg)
{
	double real;

	switch (arg->type) {
	case MT_ARG_TYPE_POINTER: /* a number would lose its low bits in JavaScript */
		mt_str_appendf(out, "\"0x%llx\"", (unsigned long long)arg->number);
		break;
	case MT_ARG_TYPE_INTEGER:
		mt_str_appendf(out, "%llu", (unsigned long long)arg->number);
		break;
	case MT_ARG_TYPE_REAL:
		memcpy(&real, &arg->number, sizeof(real));
		mt_str_appendf(out, isfinite(real) ? "%.17g" : "\"%g\"", real);
		break;
	case MT_ARG_TYPE_BOOL:
		mt_str_append(out, arg->number ? "true" : "false");
		break;
	case MT_ARG_TYPE_TEXT:
		mt_json_append_string(out, scratch, arg->text);
		break;
	case MT_ARG_TYPE_PLACE:
		mt_json_append_string(out, scratch, arg->text);
		if (out->failed)
			break;
		out->length--; /* the line goes before the closing quote */
		mt_str_appendf(out, ":%u\"", (uint32_t)arg->number);
		break;
	}
}

void mt_json_append_args(struct mt_str *out, struct mt_str *scratch, const struct mt_args *args)
{
	for (size_t i = 0; i < args->count; i++) {
		mt_str_appendf(out, "%s\"%s\":", i ? "," : "",
			       mt_arg_name_text(args->items[i].name));
		append_value(out, scratch, &args->items[i]);
	}
}
