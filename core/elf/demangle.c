/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libiberty's demanglers, through their callback forms: those never end the process without
 * memory, and what they give can be cut off.  A mangled name of a few hundred bytes can stand for
 * gigabytes. */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

enum { LONGEST_RAW = 16384, LONGEST_DEMANGLED = 65536 };

struct sink {
	struct mt_str *out;
	size_t start;
	bool overlong;
};

static void take(const char *text, size_t length, void *opaque)
{
	struct sink *sink = opaque;

	if (sink->out->length - sink->start + length > LONGEST_DEMANGLED)
		sink->overlong = true;
	if (!sink->overlong)
		mt_str_append_bytes(sink->out, text, length);
}

static bool looks_mangled(const char *raw)
{
	/* A third underscore stands on some platforms' symbols; "_R" is Rust's v0 scheme. */
	return (raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R')) || strncmp(raw, "__Z", 3) == 0 ||
	       strncmp(raw, "_GLOBAL_", 8) == 0;
}

static void forget(struct sink *sink)
{
	sink->out->length = sink->start;
	if (sink->out->text)
		sink->out->text[sink->start] = '\0';
	sink->overlong = false;
}

bool mt_demangle(const char *raw, enum mt_demangle_style style, struct mt_str *out)
{
	int options = style == MT_DEMANGLE_FULL ? DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI : DMGL_AUTO;
	struct sink sink = {.out = out, .start = out->length};

	if (!looks_mangled(raw) || strlen(raw) > LONGEST_RAW)
		return false;
	if (rust_demangle_callback(raw, options, take, &sink) && !sink.overlong)
		return !out->failed;
	forget(&sink);
	if (cplus_demangle_v3_callback(raw, options, take, &sink) && !sink.overlong)
		return !out->failed;
	forget(&sink);
	return false;
}
