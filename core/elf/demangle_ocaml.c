/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OCaml's symbols: "caml", the module, its parts joined by "__" (by "." since OCaml 5.1), a number
 * that makes the name unique, and bytes that assemblers do not take as "$2b" (asmcomp/compilenv.ml,
 * asmcomp/emitaux.ml). */
#include "elf/demangle.h"

#include <ctype.h>
#include <string.h>

static const char prefix[] = "caml";

/* How much of RAW stands before its number. */
static size_t length_without_number(const char *raw)
{
	size_t length = strlen(raw), end = length;

	while (end && isdigit((unsigned char)raw[end - 1]))
		end--;
	/* Functions without a name have nothing else. */
	if (end == length || end < 2 || raw[end - 1] != '_' || raw[end - 2] == '_' ||
	    (end >= 4 && strncmp(raw + end - 4, "fun_", 4) == 0))
		return length;
	return end - 1;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that stands at AT as "$2b"; 0: none does. */
static char escaped(const char *at)
{
	const int high = at[0] == '$' ? hex_digit(at[1]) : -1;
	const int low = high >= 0 ? hex_digit(at[2]) : -1;
	const int byte = high * 16 + low;

	return low >= 0 && byte > ' ' && byte < 0x7f ? (char)byte : 0;
}

bool mt_demangle_ocaml(const char *raw, struct mt_str *out)
{
	const size_t start = out->length, skip = sizeof(prefix) - 1;
	size_t length;

	if (strncmp(raw, prefix, skip) != 0 || raw[skip] < 'A' || raw[skip] > 'Z')
		return false;
	raw += skip;
	length = length_without_number(raw);
	for (size_t i = 0; i < length; i++) {
		const char byte = escaped(raw + i);

		if (byte) {
			mt_str_append_bytes(out, &byte, 1);
			i += 2;
		} else if (i && i + 2 < length && strncmp(raw + i, "__", 2) == 0 &&
			   raw[i + 2] != '_') {
			mt_str_append(out, ".");
			i++;
		} else {
			mt_str_append_bytes(out, raw + i, 1);
		}
	}
	if (out->failed)
		out->length = start;
	return !out->failed;
}
