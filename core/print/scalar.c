/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single values in words, each as its type asks for: numbers, characters, enums, pointers. */
#include "print/print.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const char *const text_names[] = {"wchar_t", "char16_t", "char32_t"};

/* Characters are recognized by their size, or by the name of any typedef on the way. */
bool mt_type_is_text(struct mt_type *element)
{
	struct mt_type *type = element;

	for (unsigned i = 0; i < 64; i++) {
		for (size_t j = 0; type->name && j < 3; j++)
			if (strcmp(type->name, text_names[j]) == 0)
				return true;
		if (type->kind != MT_TYPE_TYPEDEF && type->kind != MT_TYPE_QUALIFIED)
			break;
		type = mt_type_target(type);
	}
	return mt_type_strip(element)->kind == MT_TYPE_CHAR;
}

const char *mt_type_text_prefix(struct mt_type *element)
{
	struct mt_type *type = element;

	for (unsigned i = 0; i < 64; i++) {
		if (type->name && strcmp(type->name, "wchar_t") == 0)
			return "L";
		if (type->name && strcmp(type->name, "char16_t") == 0)
			return "u";
		if (type->name && strcmp(type->name, "char32_t") == 0)
			return "U";
		if (type->kind != MT_TYPE_TYPEDEF && type->kind != MT_TYPE_QUALIFIED)
			return "";
		type = mt_type_target(type);
	}
	return "";
}

void mt_print_char(uint64_t code, const struct mt_type *type, char quote, struct mt_str *out)
{
	static const char codes[] = "\a\b\f\n\r\t\v", letters[] = "abfnrtv";
	const char *known = code && code < 128 ? strchr(codes, (int)code) : NULL;

	bool is_rust = type && type->language == MT_LANGUAGE_RUST;

	if (known && (!is_rust || strchr("\n\r\t", (int)code)))
		mt_str_appendf(out, "\\%c", letters[known - codes]);
	else if (code == (uint64_t)quote || code == '\\')
		mt_str_appendf(out, "\\%c", (char)code);
	else if (code < 127 && code >= 32)
		mt_str_appendf(out, "%c", (char)code);
	else if (is_rust && !code)
		mt_str_append(out, "\\0");
	else if (is_rust)
		mt_str_appendf(out, code < 256 ? "\\x%02llx" : "\\u{%06llx}",
			       (unsigned long long)code);
	else
		mt_str_appendf(out, "\\%03llo", (unsigned long long)code);
}

static void print_integer(const struct mt_type *type, uint64_t bits, struct mt_str *out)
{
	if (type->is_signed)
		mt_str_appendf(out, "%lld", (long long)bits);
	else
		mt_str_appendf(out, "%llu", (unsigned long long)bits);
}

/* Infinite, or no number at all: its fraction is shown. */
static bool print_special(long double number, uint64_t fraction, bool negative, struct mt_str *out)
{
	if (isinf(number)) {
		mt_str_append(out, negative ? "-inf" : "inf");
		return true;
	}
	if (!isnan(number))
		return false;
	mt_str_appendf(out, "%snan(0x%llx)", negative ? "-" : "", (unsigned long long)fraction);
	return true;
}

/* Half a float's size: _Float16, with 5 bits of exponent, or bfloat16, with 8. */
static void print_short_float(const struct mt_type *type, const uint8_t *bytes, struct mt_str *out)
{
	bool is_brain = type->name && strcmp(type->name, "bfloat16") == 0;
	unsigned fraction_bits = is_brain ? 7 : 10, bias = is_brain ? 127 : 15;
	unsigned raw = bytes[0] | (unsigned)bytes[1] << 8, most = 2 * bias + 1;
	unsigned exponent = raw >> fraction_bits & most;
	unsigned fraction = raw & ((1u << fraction_bits) - 1);
	int scale = (int)(exponent ? exponent : 1) - (int)bias - (int)fraction_bits;
	double number = ldexp(fraction + (exponent ? 1u << fraction_bits : 0), scale);

	if (exponent == most)
		number = fraction ? NAN : INFINITY;
	if (!print_special(number, fraction, raw >> 15, out))
		mt_str_appendf(out, is_brain ? "%.4g" : "%.5g", raw >> 15 ? -number : number);
}

void mt_print_float(const struct mt_type *type, const uint8_t *bytes, struct mt_str *out)
{
	float single;
	double twice;
	long double number = 0;
	uint64_t bits = 0;

	switch (type->size) {
	case 2:
		print_short_float(type, bytes, out);
		return;
	case 4:
		memcpy(&single, bytes, 4);
		memcpy(&bits, bytes, 4);
		if (!print_special((long double)single, bits & 0x7fffff, bits >> 31 & 1, out))
			mt_str_appendf(out, "%.9g", (double)single);
		return;
	case 8:
		memcpy(&twice, bytes, 8);
		memcpy(&bits, bytes, 8);
		if (!print_special((long double)twice, bits & 0xfffffffffffff, bits >> 63, out))
			mt_str_appendf(out, "%.17g", twice);
		return;
	case 16:
		memcpy(&number, bytes, 10);
		memcpy(&bits, bytes, 8);
		if (!print_special(number, bits, bytes[9] >> 7, out))
			mt_str_appendf(out, "%.21Lg", number);
		return;
	default:
		mt_str_append(out, "<invalid float value>");
	}
}

static const char *enumerator_name(const struct mt_type *type, int64_t value)
{
	for (size_t i = 0; i < type->enumerator_count; i++)
		if (type->enumerators[i].value == value)
			return type->enumerators[i].name;
	return NULL;
}

static void print_enum(struct mt_type *type, uint64_t bits, struct mt_str *out)
{
	const char *name = enumerator_name(type, (int64_t)bits);

	if (name)
		mt_str_append(out, name);
	else if (type->is_flags) {
		uint64_t value = bits;
		bool any = false;

		for (size_t i = 0; i < type->enumerator_count; i++) {
			uint64_t flag = (uint64_t)type->enumerators[i].value;

			if (!(value & flag))
				continue;
			mt_str_appendf(out, "%s%s", any ? " | " : "(", type->enumerators[i].name);
			value &= ~flag;
			any = true;
		}
		if (value)
			mt_str_appendf(out, "%sunknown: 0x%llx)", any ? " | " : "(",
				       (unsigned long long)value);
		else
			mt_str_append(out, any ? ")" : "0");
	} else
		mt_str_appendf(out, "%lld", (long long)bits);
}

static void print_character(struct mt_value *value, uint64_t bits, struct mt_str *out)
{
	struct mt_type *type = mt_type_strip(value->type);
	uint64_t size = mt_type_size(type);
	uint64_t code = size < 8 ? bits & ((UINT64_C(1) << size * 8) - 1) : bits;

	print_integer(type, bits, out);
	mt_str_appendf(out, " %s'", mt_type_text_prefix(value->type));
	mt_print_char(code, type, '\'', out);
	mt_str_append(out, "'");
}

void mt_print_address(struct mt_print *print, uint64_t address, bool with_symbol)
{
	mt_auto(mt_str) struct mt_str symbol = {0};

	if (print->settings->address)
		mt_str_appendf(print->out, "0x%llx", (unsigned long long)address);
	if (with_symbol && mt_format_symbol(print->eval->program, address, false, &symbol) &&
	    !symbol.failed)
		/* A space stands before it, which has nothing to part without an address. */
		mt_str_append(print->out, symbol.text + !print->settings->address);
}

/* Rust's b"text" is a pointer to an array. */
static bool print_byte_string(struct mt_print *print, struct mt_type *target, uint64_t address)
{
	struct mt_type *array = mt_type_strip(target), *element;

	if (array->language != MT_LANGUAGE_RUST || array->kind != MT_TYPE_ARRAY || array->count < 1)
		return false;
	element = mt_type_strip(mt_type_target(array));
	if (!element->name || strcmp(element->name, "u8") != 0)
		return false;
	mt_str_append(print->out, " b");
	mt_print_string_at(print, mt_type_builtin(print->eval->program, MT_BUILTIN_CHAR), address,
			   array->count);
	return true;
}

/* A pointer's target as text, or the symbol that it points to. */
/* False: it cannot be read. */
static bool print_bare_string(struct mt_print *print, struct mt_type *element, uint64_t address)
{
	const size_t before = print->out->length;

	mt_print_string_at(print, element, address, -1);
	if (print->out->failed || print->out->text[before] != '<')
		return true;
	print->out->length = before;
	print->out->text[before] = '\0';
	return false;
}

static void print_pointer(struct mt_print *print, struct mt_value *value, uint64_t address)
{
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_type *target = mt_type_target(type);
	bool is_code = mt_type_strip(target)->kind == MT_TYPE_FUNCTION;

	const bool is_text = mt_type_is_text(target) && address && !is_code;

	if (is_text && print->is_bare && print_bare_string(print, target, address))
		return;
	mt_print_address(print, address, is_code || print->settings->symbol);
	if (print_byte_string(print, target, address))
		return;
	if (!is_text || print->is_bare)
		return;
	if (print->settings->address)
		mt_str_append(print->out, " ");
	mt_print_string_at(print, target, address, -1);
}

static void print_eflags(struct mt_expr_program *program, const struct mt_type *type, uint64_t bits,
			 struct mt_str *out)
{
	static const char *const eflags[] = {"CF", "",   "PF", "",    "AF",  "",  "ZF", "SF",
					     "TF", "IF", "DF", "OF",  "",    "",  "NT", "",
					     "RF", "VM", "AC", "VIF", "VIP", "ID"};
	static const char *const mxcsr[] = {"IE", "DE", "ZE", "OE", "UE", "PE", "DAZ", "IM",
					    "DM", "ZM", "OM", "UM", "PM", "",   "",    "FZ"};
	const char *const *names = type == program->user->eflags ? eflags : mxcsr;
	size_t count = type == program->user->eflags ? 22 : 16;

	mt_str_append(out, "[");
	for (size_t i = 0; i < count; i++) {
		if (bits >> i & 1 && *names[i])
			mt_str_appendf(out, " %s", names[i]);
	}
	mt_str_append(out, " ]");
}

static void print_number(struct mt_print *print, struct mt_value *value, struct mt_type *type,
			 uint64_t bits)
{
	struct mt_expr_program *program = print->eval->program;
	struct mt_str *out = print->out;

	if (type == program->user->eflags || type == program->user->mxcsr)
		print_eflags(program, type, bits, out);
	else if (mt_type_is_text(value->type))
		print_character(value, bits, out);
	else if (mt_type_size(type) == 16) {
		unsigned __int128 number;
		char digits[48];
		size_t at = sizeof(digits);
		bool negative;

		memcpy(&number, mt_value_bytes(value), sizeof(number));
		negative = type->is_signed && number >> 127;
		if (negative)
			number = -number;
		do {
			digits[--at] = (char)('0' + (unsigned)(number % 10));
			number /= 10;
		} while (number);
		if (negative)
			digits[--at] = '-';
		mt_str_append_bytes(out, digits + at, sizeof(digits) - at);
	} else if (print->settings->output_radix == 16)
		mt_str_appendf(out, "0x%llx", (unsigned long long)bits);
	else
		print_integer(type, bits, out);
}

/* The member at an offset of a class or of its bases, with the class that has it. */
static const struct mt_member *member_at(struct mt_type *type, uint64_t offset, unsigned depth,
					 const struct mt_type **owner)
{
	const struct mt_member *found = NULL;

	type = mt_type_strip(type);
	if (depth > 32 || !mt_type_is_aggregate(type))
		return NULL;
	mt_type_expand(type);
	*owner = type;
	for (size_t i = 0; i < type->member_count; i++)
		if (type->members[i].kind == MT_MEMBER_FIELD && type->members[i].name &&
		    type->members[i].offset == offset)
			return &type->members[i];
	for (size_t i = 0; i < type->member_count && !found; i++)
		if (type->members[i].kind == MT_MEMBER_BASE && !type->members[i].is_virtual &&
		    type->members[i].offset <= offset)
			found = member_at(type->members[i].type, offset - type->members[i].offset,
					  depth + 1, owner);
	return found;
}

/* 0 is the null pointer of functions; data members' is -1 (Itanium C++ ABI, 2.3). */
static void print_member_pointer(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);
	const struct mt_type *owner;
	const struct mt_member *member;
	uint64_t bits;

	memcpy(&bits, mt_value_bytes(value), sizeof(bits));
	bool is_method = mt_type_strip(mt_type_target(type))->kind == MT_TYPE_FUNCTION;

	if (bits == (is_method ? 0 : UINT64_MAX)) {
		mt_str_append(print->out, "NULL");
	} else if (is_method) {
		mt_str_append(print->out, "(");
		mt_type_name(value->type, NULL, print->out);
		mt_str_append(print->out, ") ");
		mt_print_address(print, bits, true);
	} else {
		member = member_at(mt_type_containing(type), bits, 0, &owner);
		if (member)
			mt_str_appendf(print->out, "&%s::%s", owner->name ? owner->name : "",
				       member->name);
		else
			mt_str_appendf(print->out, "%lld", (long long)bits);
	}
}

void mt_print_scalar(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_str *out = print->out;
	uint64_t bits = 0;
	struct mt_error *error;

	mt_type_expand(type);
	if (type->kind == MT_TYPE_FLOAT) {
		mt_print_float(type, mt_value_bytes(value), out);
		return;
	}
	if (type->kind == MT_TYPE_COMPLEX) {
		const uint8_t *bytes = mt_value_bytes(value);
		struct mt_type part = {.size = type->size / 2};

		mt_print_float(&part, bytes, out);
		mt_str_append(out, " + ");
		mt_print_float(&part, bytes + part.size, out);
		mt_str_append(out, "i");
		return;
	}
	if (type->kind == MT_TYPE_MEMBER_POINTER) {
		print_member_pointer(print, value);
		return;
	}
	error = mt_value_get(print->eval, value, &bits);
	if (error) {
		mt_str_appendf(out, "<error: %s>", mt_error_message(error));
		mt_error_destroy(error);
		return;
	}
	if (type->kind == MT_TYPE_BOOL && bits <= 1)
		mt_str_append(out, bits ? "true" : "false");
	else if (type->kind == MT_TYPE_ENUM)
		print_enum(type, bits, out);
	else if (type->kind == MT_TYPE_POINTER)
		print_pointer(print, value, bits);
	else
		print_number(print, value, type, bits);
}
