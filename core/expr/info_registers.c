/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of `info registers`: a name, its bits, and what they mean. */
#include "expr/node.h"

#include <string.h>

static struct mt_error *put_formatted(struct mt_expr_program *program,
				      const struct mt_expr_frame *frame, const char *format,
				      const char *name, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_appendf(&text, "%s$%s", format, name);
	if (text.failed)
		return mt_error_no_memory();
	return mt_expr_output(program, frame, text.text, out);
}

/* "0 (raw 0x00000000000000000000)" */
static struct mt_error *put_float(struct mt_expr_program *program,
				  const struct mt_expr_frame *frame,
				  const struct mt_register_name *reg, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str natural = {0};
	uint8_t bytes[16] = {0};

	mt_try(put_formatted(program, frame, "", reg->name, &natural));
	if (natural.failed)
		return mt_error_no_memory();
	mt_str_appendf(out, "%-19s ", natural.text);
	if (!frame->ops->get_register ||
	    !frame->ops->get_register(frame->context, reg->number, bytes, reg->size))
		return NULL;
	mt_str_append(out, "(raw 0x");
	for (size_t i = reg->size; i > 0; i--)
		mt_str_appendf(out, "%02x", bytes[i - 1]);
	mt_str_append(out, ")");
	return NULL;
}

static struct mt_error *put_bits_and_meaning(struct mt_expr_program *program,
					     const struct mt_expr_frame *frame,
					     const struct mt_register_name *reg, struct mt_str *out)
{
	static const char *const formats[] = {
	    [MT_SHAPE_INTEGER] = "/d ",
	    [MT_SHAPE_DATA_POINTER] = "/a ",
	    [MT_SHAPE_CODE_POINTER] = "/a ",
	};
	const char *format =
	    reg->shape < sizeof(formats) / sizeof(*formats) ? formats[reg->shape] : NULL;
	mt_auto(mt_str) struct mt_str bits = {0};

	mt_try(put_formatted(program, frame, "/x ", reg->name, &bits));
	if (bits.failed)
		return mt_error_no_memory();
	mt_str_appendf(out, "%-19s ", bits.text);
	return put_formatted(program, frame, format ? format : "", reg->name, out);
}

struct mt_error *mt_expr_info_register(struct mt_expr_program *program,
				       const struct mt_expr_frame *frame, const char *name,
				       struct mt_str *out)
{
	const struct mt_register_name *reg = mt_register_named(name);

	if (!reg)
		return mt_error_new(MT_ERROR_USAGE, "Invalid register `%s'", name);
	struct mt_error *error;

	mt_str_appendf(out, "%-14s ", reg->name);
	if (reg->shape == MT_SHAPE_VECTOR)
		error = put_formatted(program, frame, "/x ", reg->name, out);
	else if (reg->shape == MT_SHAPE_X87)
		error = put_float(program, frame, reg, out);
	else
		error = put_bits_and_meaning(program, frame, reg, out);
	mt_str_append(out, "\n");
	return error;
}
