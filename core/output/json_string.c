/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/json_string.h"

#include "base/utf8.h"

#define NAME_MAX_BYTES 32000

void mt_json_append_string(struct mt_str *out, struct mt_str *scratch, const char *text)
{
	size_t start = 0;

	mt_str_clear(scratch);
	mt_utf8_append(scratch, text, NAME_MAX_BYTES);
	if (scratch->failed)
		out->failed = true;
	mt_str_append(out, "\"");
	for (size_t i = 0; i < scratch->length; i++) {
		char byte = scratch->text[i];
		bool is_control = (unsigned char)byte < 0x20;

		/* RFC 8259, section 7. */
		if (!is_control && byte != '"' && byte != '\\')
			continue;
		mt_str_append_bytes(out, scratch->text + start, i - start);
		mt_str_appendf(out, is_control ? "\\u%04x" : "\\%c", byte);
		start = i + 1;
	}
	mt_str_append_bytes(out, scratch->text + start, scratch->length - start);
	mt_str_append(out, "\"");
}
