/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Literals: numbers, characters, strings (C11, 6.4.4 and 6.4.5). */
#include "expr/node.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct mt_error *bad_number(const char *text, size_t length)
{
	return mt_error_new(MT_ERROR_USAGE, "Invalid number \"%.*s\".", (int)length, text);
}

static struct mt_error *read_float(struct mt_parser *parser, const char *text, size_t length,
				   struct mt_value *out)
{
	char buffer[64], *end;
	enum mt_builtin which = MT_BUILTIN_DOUBLE;
	long double number;

	if (length >= sizeof(buffer))
		return bad_number(text, length);
	memcpy(buffer, text, length);
	buffer[length] = '\0';
	number = strtold(buffer, &end);
	if (*end == 'f' || *end == 'F')
		which = MT_BUILTIN_FLOAT;
	else if (*end == 'l' || *end == 'L')
		which = MT_BUILTIN_LDOUBLE;
	if (end == buffer || (*end && (which == MT_BUILTIN_DOUBLE || end[1])))
		return bad_number(text, length);
	*out = mt_value_float(mt_type_builtin(parser->program, which), number);
	return NULL;
}

/* "u", "l", "ul", "llu" …  False: something else. */
static bool read_suffix(const char *end, size_t length, bool *is_unsigned, unsigned *longs)
{
	for (size_t i = 0; i < length; i++) {
		char c = (char)tolower((unsigned char)end[i]);

		if (c == 'u' && !*is_unsigned)
			*is_unsigned = true;
		else if (c == 'l' && *longs < 2)
			++*longs;
		else
			return false;
	}
	return true;
}

static enum mt_builtin type_of(uint64_t number, bool is_decimal, bool is_unsigned, unsigned longs)
{
	if (longs < 1 && number <= INT32_MAX && !is_unsigned)
		return MT_BUILTIN_INT;
	if (longs < 1 && number <= UINT32_MAX && (is_unsigned || !is_decimal))
		return MT_BUILTIN_UINT;
	if (number <= INT64_MAX && !is_unsigned)
		return longs == 2 ? MT_BUILTIN_LLONG : MT_BUILTIN_LONG;
	return longs == 2 ? MT_BUILTIN_ULLONG : MT_BUILTIN_ULONG;
}

static bool looks_float(const char *text, size_t length, int base)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] == '.' || (base == 10 && (text[i] == 'e' || text[i] == 'E')) ||
		    (base == 16 && (text[i] == 'p' || text[i] == 'P')))
			return true;
	return false;
}

static struct mt_error *lex_c(struct mt_parser *parser, const char *text, size_t length,
			      struct mt_value *out)
{
	int base = parser->program->user->settings.input_radix;
	size_t prefix = 0;
	bool is_unsigned = false;
	unsigned longs = 0;
	uint64_t number;
	char *end;

	if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		prefix = 2;
	} else if (length > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
		base = 2;
		prefix = 2;
	} else if (length > 1 && text[0] == '0' && base == 10) {
		base = 8;
	}
	if (looks_float(text, length, base == 8 ? 10 : base))
		return read_float(parser, text, length, out);
	if (!isalnum((unsigned char)text[prefix]))
		return bad_number(text, length);
	errno = 0;
	number = strtoull(text + prefix, &end, base);
	if (errno == ERANGE)
		return mt_error_new(MT_ERROR_USAGE, "Numeric constant too large.");
	if (end < text + prefix || end > text + length ||
	    !read_suffix(end, (size_t)(text + length - end), &is_unsigned, &longs))
		return bad_number(text, length);
	*out = mt_value_integer(
	    mt_type_builtin(parser->program, type_of(number, base == 10, is_unsigned, longs)),
	    number);
	return NULL;
}

/* Rust's have underscores, and their type's name behind them: 1_000u64, 1.5f32. */
static struct mt_error *lex_rust(struct mt_parser *parser, const char *text, size_t length,
				 struct mt_value *out)
{
	char plain[80];
	size_t used = 0, end;
	bool is_hex = length > 1 && text[1] == 'x';

	for (size_t i = 0; i < length && used + 2 < sizeof(plain); i++)
		if (text[i] != '_')
			plain[used++] = text[i];
	for (end = 0; end < used && !strchr(is_hex ? "iu" : "iuf", plain[end]);)
		end++;
	/* C's words for the same. */
	if (end < used && plain[end] == 'f')
		used = end + (plain[end + 1] == '3');
	else if (end < used)
		used = end;
	if (used > 2 && plain[1] == 'o') {
		memmove(plain + 1, plain + 2, used - 2);
		used--;
	} else if (used > 1 && plain[0] == '0' && isdigit((unsigned char)plain[1])) {
		return bad_number(text, length);
	}
	plain[used] = '\0';
	return lex_c(parser, plain, used, out);
}

struct mt_error *mt_lex_number(struct mt_parser *parser, const char *text, size_t length,
			       struct mt_value *out)
{
	return parser->lookup.language == MT_LANGUAGE_RUST ? lex_rust(parser, text, length, out)
							   : lex_c(parser, text, length, out);
}

static uint64_t read_hex(const char **at)
{
	uint64_t code = 0;

	for (unsigned i = 0; i < 8 && isxdigit((unsigned char)**at); i++, ++*at) {
		char c = (char)tolower((unsigned char)**at);

		code = code * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
	}
	return code;
}

static uint64_t read_code(const char **at)
{
	if (**at == '\\') {
		++*at;
		static const char letters[] = "abefnrtv", codes[] = "\a\b\033\f\n\r\t\v";
		const char *known = **at ? strchr(letters, **at) : NULL;

		if (**at >= '0' && **at <= '7') {
			uint64_t code = 0;

			for (unsigned i = 0; i < 3 && **at >= '0' && **at <= '7'; i++, ++*at)
				code = code * 8 + (uint64_t)(**at - '0');
			return code;
		}
		if (**at == 'x') {
			++*at;
			return read_hex(at);
		}
		if (!**at)
			return '\\';
		++*at;
		return known ? (uint64_t)codes[known - letters]
			     : (uint64_t)(unsigned char)(*at)[-1];
	}
	return (unsigned char)*(*at)++;
}

static struct mt_type *element_type(struct mt_parser *parser, const char **at)
{
	char prefix = **at;
	enum mt_builtin which = prefix == 'L'   ? MT_BUILTIN_WCHAR
				: prefix == 'u' ? MT_BUILTIN_CHAR16
				: prefix == 'U' ? MT_BUILTIN_CHAR32
						: MT_BUILTIN_CHAR;

	*at += which != MT_BUILTIN_CHAR;
	return mt_type_builtin(parser->program, which);
}

struct mt_error *mt_lex_char(struct mt_parser *parser, const char **at, struct mt_value *out)
{
	struct mt_type *type = element_type(parser, at);
	uint64_t code;

	++*at;
	if (!**at)
		return mt_error_new(MT_ERROR_USAGE, "Unmatched single quote.");
	if (**at == '\'')
		return mt_error_new(MT_ERROR_USAGE,
				    "A character constant must contain at least one character.");
	code = read_code(at);
	if (**at != '\'')
		return mt_error_new(MT_ERROR_USAGE, "Unmatched single quote.");
	++*at;
	*out = mt_value_integer(type,
				mt_type_size(type) == 1 ? (uint64_t)(int64_t)(int8_t)code : code);
	return NULL;
}

struct mt_error *mt_lex_string(struct mt_parser *parser, const char **at, struct mt_value *out)
{
	struct mt_type *element = element_type(parser, at);
	uint64_t width = mt_type_size(element), count = 0;
	size_t room = (strlen(*at) + 1) * width;
	uint8_t *bytes = mt_arena_zalloc(&parser->expr->arena, room + MT_VALUE_INLINE);

	if (!bytes)
		return mt_error_no_memory();
	for (++*at; **at != '"'; count++) {
		uint64_t code;

		if (!**at)
			return mt_error_new(MT_ERROR_USAGE, "Unterminated string in expression.");
		code = read_code(at);
		memcpy(bytes + count * width, &code, width);
	}
	++*at;
	*out = mt_value_zero(mt_type_array_of(element, 0, (int64_t)count + 1));
	if (!out->type)
		return mt_error_no_memory();
	if ((count + 1) * width > MT_VALUE_INLINE)
		out->big = bytes;
	else
		memcpy(out->small, bytes, (count + 1) * width);
	return NULL;
}

struct mt_error *mt_lex_join(struct mt_parser *parser, struct mt_value *first)
{
	struct mt_value *second = &parser->token.value;
	struct mt_type *element = mt_type_target(first->type);
	uint64_t width = mt_type_size(element), head, tail;
	uint8_t *bytes;

	head = mt_type_size(first->type) - width;
	tail = mt_type_size(second->type);
	if (mt_type_target(second->type) != element)
		return mt_error_new(MT_ERROR_USAGE, "Undefined string concatenation.");
	bytes = mt_arena_zalloc(&parser->expr->arena, head + tail + MT_VALUE_INLINE);
	if (!bytes)
		return mt_error_no_memory();
	memcpy(bytes, mt_value_bytes(first), head);
	memcpy(bytes + head, mt_value_bytes(second), tail);
	*first = mt_value_zero(mt_type_array_of(element, 0, (int64_t)((head + tail) / width)));
	if (!first->type)
		return mt_error_no_memory();
	if (head + tail > MT_VALUE_INLINE)
		first->big = bytes;
	else
		memcpy(first->small, bytes, head + tail);
	return mt_lex(parser);
}
