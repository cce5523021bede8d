/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libiberty's demanglers, through their callback forms: those never end the process without memory.
 * A mangled name of a few hundred bytes can stand for gigabytes, and the callback has no word for
 * "stop": it leaves by longjmp, past frames that hold nothing but stack. */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

enum { LONGEST_RAW = 16384, LONGEST_DEMANGLED = 65536 };

struct sink {
	struct mt_str *out;
	size_t start;
	jmp_buf overlong;
};

typedef int demangler(const char *mangled, int options, demangle_callbackref callback,
		      void *opaque);

static void take(const char *text, size_t length, void *opaque)
{
	struct sink *sink = opaque;

	if (sink->out->length - sink->start + length > LONGEST_DEMANGLED)
		longjmp(sink->overlong, 1);
	mt_str_append_bytes(sink->out, text, length);
}

static void forget(struct sink *sink)
{
	sink->out->length = sink->start;
	if (sink->out->text)
		sink->out->text[sink->start] = '\0';
}

static bool run(demangler *demangle, const char *raw, int options, struct mt_str *out)
{
	struct sink sink = {.out = out, .start = out->length};

	if (setjmp(sink.overlong) == 0 && demangle(raw, options, take, &sink))
		return !out->failed;
	forget(&sink);
	return false;
}

static bool looks_mangled(const char *raw)
{
	/* A third underscore stands on some platforms' symbols; "_R" is Rust's v0 scheme. */
	return (raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R')) || strncmp(raw, "__Z", 3) == 0 ||
	       strncmp(raw, "_GLOBAL_", 8) == 0;
}

bool mt_demangle(const char *raw, enum mt_demangle_style style, struct mt_str *out)
{
	int options = style == MT_DEMANGLE_BARE ? DMGL_AUTO : DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI;

	if (style == MT_DEMANGLE_NO_RETURN)
		options |= DMGL_RET_DROP;
	if (!looks_mangled(raw) || strlen(raw) > LONGEST_RAW)
		return false;
	return run(rust_demangle_callback, raw, options, out) ||
	       run(cplus_demangle_v3_callback, raw, options, out);
}

bool mt_is_rust_name(const char *raw)
{
	size_t length = strlen(raw);

	/* "17h", sixteen digits of a hash, "E": the scheme before "_R". */
	return strncmp(raw, "_R", 2) == 0 ||
	       (strncmp(raw, "_ZN", 3) == 0 && length > 23 && raw[length - 1] == 'E' &&
		strncmp(raw + length - 20, "17h", 3) == 0);
}
