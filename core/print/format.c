/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The letters of /FMT: x d u o t c a f s z. */
#include "print/print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "xduotcafszi"

struct mt_error *mt_expr_format_parse(const char *text, struct mt_expr_format *out,
				      const char **rest)
{
	bool negative = *text == '-';
	char *end;
	long count = 1;

	*out = (struct mt_expr_format){.count = 1};
	text += negative;
	if (isdigit((unsigned char)*text)) {
		count = strtol(text, &end, 10);
		text = end;
		if (count > INT32_MAX)
			return mt_error_new(MT_ERROR_USAGE, "Invalid number \"%ld\".", count);
	}
	out->count = (int32_t)(negative ? -count : count);
	for (; *text && !isspace((unsigned char)*text); text++) {
		if (strchr("bhwg", *text))
			out->size = *text;
		else if (*text == 'r')
			out->raw = true;
		else if (isalpha((unsigned char)*text) && !out->letter)
			out->letter = *text;
		else
			break;
	}
	if (out->letter && !strchr(LETTERS, out->letter))
		return mt_error_new(MT_ERROR_USAGE, "Undefined output format \"%c\".", out->letter);
	while (isspace((unsigned char)*text))
		text++;
	*rest = text;
	return NULL;
}

static void print_binary(uint64_t bits, unsigned size, bool padded, struct mt_str *out)
{
	bool any = padded;

	for (unsigned i = size * 8; i-- > 0;) {
		bool is_set = i < 64 && bits >> i & 1;

		any |= is_set || i == 0;
		if (any)
			mt_str_append(out, is_set ? "1" : "0");
	}
}

static void print_bits(struct mt_print *print, struct mt_type *type, uint64_t bits, unsigned size,
		       char letter)
{
	uint64_t cut = size < 8 ? bits & ((UINT64_C(1) << size * 8) - 1) : bits;
	struct mt_str *out = print->out;

	switch (letter) {
	case 'x':
		mt_str_appendf(out, "0x%llx", (unsigned long long)cut);
		break;
	case 'z':
		mt_str_appendf(out, "0x%0*llx", (int)size * 2, (unsigned long long)cut);
		break;
	case 'd':
		mt_str_appendf(out, "%lld", (long long)mt_extend(bits, size * 8, true));
		break;
	case 'u':
		mt_str_appendf(out, "%llu", (unsigned long long)cut);
		break;
	case 'o':
		mt_str_appendf(out, cut ? "0%llo" : "%llo", (unsigned long long)cut);
		break;
	case 't':
		print_binary(cut, size, false, out);
		break;
	case 'a':
		mt_expr_format_address(print->eval->program, cut, out);
		break;
	default:
		/* Whatever it is, its lowest byte. */
		if (type->is_signed)
			mt_str_appendf(out, "%d '", (int)(int8_t)bits);
		else
			mt_str_appendf(out, "%u '", (unsigned)(uint8_t)bits);
		mt_print_char((uint8_t)bits, type, '\'', out);
		mt_str_append(out, "'");
	}
}

void mt_print_format(struct mt_print *print, struct mt_value *value,
		     const struct mt_expr_format *format)
{
	struct mt_type *type = mt_type_strip(value->type);
	unsigned size = (unsigned)mt_type_size(type);
	char letter = format->letter;
	uint64_t bits = 0;

	memcpy(&bits, mt_value_bytes(value), size && size < 8 ? size : 8);
	if (letter == 'c' && type->kind == MT_TYPE_FLOAT) {
		struct mt_error *error = mt_value_get(print->eval, value, &bits);

		mt_error_destroy(error);
	}
	if (letter == 'f') {
		struct mt_type as = {.size = size, .kind = MT_TYPE_FLOAT};

		if (type->kind == MT_TYPE_FLOAT || size == 4 || size == 8)
			mt_print_float(type->kind == MT_TYPE_FLOAT ? type : &as,
				       mt_value_bytes(value), print->out);
		else if (type->is_signed)
			mt_str_appendf(print->out, "%lld", (long long)bits);
		else
			mt_str_appendf(print->out, "%llu", (unsigned long long)bits);
		return;
	}
	if (type->kind == MT_TYPE_FLOAT && letter != 'x' && letter != 'z' && letter != 't' &&
	    letter != 'o' && letter != 'c' && letter != 'd' && letter != 'u' && letter != 'a') {
		mt_print_scalar(print, value);
		return;
	}
	if (size > 8 && (letter == 'x' || letter == 'z')) {
		/* Whole numbers of 16 bytes, in hex alone. */
		const uint8_t *bytes = mt_value_bytes(value);
		bool padded = letter == 'z';
		uint64_t low, high;

		memcpy(&low, bytes, 8);
		memcpy(&high, bytes + 8, 8);
		if (high || padded)
			mt_str_appendf(print->out, padded ? "0x%016llx%016llx" : "0x%llx%016llx",
				       (unsigned long long)high, (unsigned long long)low);
		else
			mt_str_appendf(print->out, "0x%llx", (unsigned long long)low);
		return;
	}
	print_bits(print, type, bits, size, letter);
}
