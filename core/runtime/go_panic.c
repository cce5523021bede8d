/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arguments of panic(), in the words of Go's runtime.  Where it dies, it has made texts of
 * errors, and of what has a method String(); all else it prints by its type, whose name is found by
 * the module data.  Source: Go's runtime/panic.go (printpanics), runtime/error.go (printpanicval),
 * runtime/print.go, internal/abi/type.go. */
#include "elf/go_table.h"
#include "elf/go_version.h"
#include "runtime/go.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of runtime._panic: what panic() was called with, and the one that it came within. */
#define PANIC_ARG  8
#define PANIC_LINK 24
/* Older ones are not told of. */
#define MOST_PANICS 16

/* Of internal/abi.Type.  The kind has flags, but none in what is no pointer. */
#define TYPE_FLAGS 20
#define TYPE_KIND  23
#define TYPE_NAME  40
#define EXTRA_STAR 2 /* the name has one in front */
#define NAME_BYTES 512

enum {
	KIND_BOOL = 1,
	KIND_INT,
	KIND_INT64 = 6,
	KIND_UINT,
	KIND_UINTPTR = 12,
	KIND_FLOAT32,
	KIND_FLOAT64,
	KIND_COMPLEX64,
	KIND_COMPLEX128,
	KIND_STRING = 24
};

/* What differs from version to version. */
struct layout {
	unsigned recovered, goexit; /* of runtime._panic */
	unsigned types;             /* of runtime.moduledata */
};

static const struct layout *layout_of(unsigned minor)
{
	static const struct layout of_18 = {48, 50, 280}, of_20 = {48, 50, 296},
				   of_22 = {96, 97, 296};

	if (minor < 18 || minor > 24)
		return NULL;
	return minor < 20 ? &of_18 : minor < 22 ? &of_20 : &of_22;
}

/* ---- Types ---- */

/* The types' names are at offsets from the beginning of all types. */
static uint64_t name_of(const struct mt_go_memory *memory, uint64_t type)
{
	const struct mt_mapping *program = memory->program;
	const struct layout *layout =
	    program ? layout_of(mt_objfile_go_minor(program->objfile)) : NULL;
	const uint64_t module = layout ? mt_go_module(program->objfile) : 0;
	int32_t offset;

	if (!module)
		return 0;
	const uint64_t bounds = module + program->bias + layout->types;
	const uint64_t types = mt_go_word(memory, bounds);
	return type >= types && type < mt_go_word(memory, bounds + sizeof(types)) &&
		       memory->read(memory->context, type + TYPE_NAME, &offset, sizeof(offset)) ==
			   sizeof(offset) &&
		       offset > 0
		   ? types + (uint64_t)offset
		   : 0;
}

/* A name has a byte of flags, its length, 7 bits a byte, and its bytes.  False: there is none. */
static bool append_type(const struct mt_go_memory *memory, uint64_t type, struct mt_str *out)
{
	uint8_t flags = 0, name[NAME_BYTES + 3];
	const uint64_t address = name_of(memory, type);
	const size_t got = address ? memory->read(memory->context, address, name, sizeof(name)) : 0;

	if (got < 3 || memory->read(memory->context, type + TYPE_FLAGS, &flags, 1) != 1)
		return false;
	const size_t at = name[1] & 0x80 ? 3 : 2, star = flags & EXTRA_STAR ? 1 : 0;
	const size_t length = (name[1] & 0x7fu) | (at == 3 ? (size_t)name[2] << 7 : 0);
	const size_t here = length < got - at ? length : got - at;
	if (here <= star || memchr(name + at, 0, here) || (at == 3 && name[2] & 0x80))
		return false;
	mt_str_append_bytes(out, (const char *)name + at + star, here - star);
	mt_str_append(out, here < length ? "..." : "");
	return true;
}

/* ---- Values ---- */

/* Integers have as many bytes as their kind says: int, int8, int16, int32, int64, and so on. */
static uint64_t integer_at(const struct mt_go_memory *memory, uint64_t address, unsigned kind)
{
	static const unsigned char bytes[] = {8, 1, 2, 4, 8};
	const bool is_signed = kind <= KIND_INT64;
	const unsigned index = kind - (is_signed ? KIND_INT : KIND_UINT);
	const unsigned unused = 64 - 8 * (kind == KIND_UINTPTR ? 8 : bytes[index]);
	const uint64_t shifted = mt_go_word(memory, address) << unused;

	return is_signed ? (uint64_t)((int64_t)shifted >> unused) : shifted >> unused;
}

static double float_at(const struct mt_go_memory *memory, uint64_t address, bool is_single)
{
	const uint64_t word = mt_go_word(memory, address);
	const uint32_t half = (uint32_t)word;
	double value;
	float single;

	memcpy(&value, &word, sizeof(value));
	memcpy(&single, &half, sizeof(single));
	return is_single ? (double)single : value;
}

/* "+1.500000e+000" */
static void append_float(double value, struct mt_str *out)
{
	char text[32];

	if (value != value) {
		mt_str_append(out, "NaN");
	} else if (value - value != 0) {
		mt_str_append(out, value < 0 ? "-Inf" : "+Inf");
	} else {
		snprintf(text, sizeof(text), "%+.6e", value);
		char *exponent = strchr(text, 'e') + 2;
		mt_str_append_bytes(out, text, (size_t)(exponent - text));
		mt_str_appendf(out, "%03ld", strtol(exponent, NULL, 10));
	}
}

static void append_complex(const struct mt_go_memory *memory, uint64_t data, bool is_single,
			   struct mt_str *out)
{
	mt_str_append(out, "(");
	append_float(float_at(memory, data, is_single), out);
	append_float(float_at(memory, data + (is_single ? 4 : 8), is_single), out);
	mt_str_append(out, "i)");
}

static void append_string(const struct mt_go_memory *memory, uint64_t data, struct mt_str *out)
{
	mt_go_append_text(memory, mt_go_word(memory, data), mt_go_word(memory, data + 8), out);
}

/* False: it is of no type that is printed. */
static bool append_basic(const struct mt_go_memory *memory, unsigned kind, uint64_t data,
			 struct mt_str *out)
{
	if (kind == KIND_STRING)
		append_string(memory, data, out);
	else if (kind == KIND_BOOL)
		mt_str_append(out, mt_go_word(memory, data) & 1 ? "true" : "false");
	else if (kind >= KIND_INT && kind <= KIND_INT64)
		mt_str_appendf(out, "%" PRId64, (int64_t)integer_at(memory, data, kind));
	else if (kind >= KIND_UINT && kind <= KIND_UINTPTR)
		mt_str_appendf(out, "%" PRIu64, integer_at(memory, data, kind));
	else if (kind == KIND_FLOAT32 || kind == KIND_FLOAT64)
		append_float(float_at(memory, data, kind == KIND_FLOAT32), out);
	else if (kind == KIND_COMPLEX64 || kind == KIND_COMPLEX128)
		append_complex(memory, data, kind == KIND_COMPLEX64, out);
	else
		return false;
	return true;
}

/* An interface's two words.  The language's own types have no package in their names, and are
 * printed without them. */
static void append_value(const struct mt_go_memory *memory, uint64_t type, uint64_t data,
			 struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str name = {0}, value = {0};
	uint8_t kind = 0;

	if (!type) {
		mt_str_append(out, "nil");
		return;
	}
	memory->read(memory->context, type + TYPE_KIND, &kind, 1);
	const bool is_basic = append_basic(memory, kind, data, &value);
	const bool has_name = append_type(memory, type, &name);
	const bool is_named = has_name && strchr(name.text, '.');
	const char *quote = kind == KIND_STRING ? "\"" : "";
	if (!is_basic && has_name)
		mt_str_appendf(out, "(%s) 0x%" PRIx64, name.text, data);
	else if (!is_basic)
		mt_str_appendf(out, "a value at 0x%" PRIx64, data);
	else if (!is_named)
		mt_str_append_bytes(out, value.text, value.length);
	else if (kind == KIND_COMPLEX64 || kind == KIND_COMPLEX128)
		mt_str_appendf(out, "%s%s", name.text, value.text);
	else
		mt_str_appendf(out, "%s(%s%s%s)", name.text, quote, value.length ? value.text : "",
			       quote);
	out->failed |= name.failed || value.failed;
}

/* ---- Panics ---- */

static bool flag_at(const struct mt_go_memory *memory, uint64_t address)
{
	uint8_t flag = 0;

	return memory->read(memory->context, address, &flag, 1) == 1 && flag;
}

void mt_go_append_panics(const struct mt_go_memory *memory, uint64_t panic, struct mt_str *out)
{
	const struct mt_mapping *program = memory->program;
	const struct layout *layout =
	    program ? layout_of(mt_objfile_go_minor(program->objfile)) : NULL;
	uint64_t panics[MOST_PANICS] = {panic};
	size_t count = 1;

	for (; layout && count < MOST_PANICS; count++)
		if (!(panics[count] = mt_go_word(memory, panics[count - 1] + PANIC_LINK)))
			break;
	for (size_t i = count; i-- > 0;) {
		/* Of runtime.Goexit(), which runs deferred calls, too. */
		if (layout && flag_at(memory, panics[i] + layout->goexit))
			continue;
		mt_str_append(out, out->length ? " panic: " : "panic: ");
		append_value(memory, mt_go_word(memory, panics[i] + PANIC_ARG),
			     mt_go_word(memory, panics[i] + PANIC_ARG + 8), out);
		if (layout && flag_at(memory, panics[i] + layout->recovered))
			mt_str_append(out, " [recovered]");
	}
	if (!out->length) /* by what the program's memory says, which may be anything */
		mt_str_append(out, "panic");
}
