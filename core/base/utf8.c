/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The lead byte has the length; these are the bounds of the second byte, which rule out overlong
 * forms, surrogates and what lies above U+10FFFF (RFC 3629, section 4). */
struct lead {
	uint8_t first, last;
	uint8_t length;
	uint8_t second_low, second_high;
};

static const struct lead leads[] = {
    {0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const struct lead *lead_of(uint8_t byte)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	return NULL;
}

/* Bytes of the character at TEXT, which ends in a NUL; 0: it is none. */
static size_t character(const uint8_t *text)
{
	const struct lead *lead = lead_of(text[0]);

	if (!lead || lead->length == 1)
		return lead ? 1 : 0;
	if (text[1] < lead->second_low || text[1] > lead->second_high)
		return 0;
	for (size_t i = 2; i < lead->length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return lead->length;
}

void mt_utf8_append(struct mt_str *out, const char *text, size_t limit_bytes)
{
	size_t good = 0; /* bytes at TEXT that can be taken as they are */

	for (;;) {
		size_t length = text[good] ? character((const uint8_t *)text + good) : 0;
		bool fits = length <= limit_bytes - good;

		if (length && fits) {
			good += length;
			continue;
		}
		mt_str_append_bytes(out, text, good);
		text += good;
		limit_bytes -= good;
		good = 0;
		if (!*text || !fits || limit_bytes < sizeof(REPLACEMENT) - 1)
			return;
		mt_str_append(out, REPLACEMENT);
		limit_bytes -= sizeof(REPLACEMENT) - 1;
		text++;
	}
}

static uint32_t value_of(const uint8_t *text, size_t length)
{
	uint32_t value = length == 1 ? text[0] : text[0] & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		value = value << 6 | (text[i] & 0x3f);
	return value;
}

/* Source: Unicode 15, PropList.txt, Bidi_Control. */
static bool is_shown(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
	    {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
	    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return false;
	return true;
}

/* What was appended to OUT from START on is well-formed. */
static void hide(struct mt_str *out, size_t start, bool keeps_lines)
{
	size_t to = start;

	for (size_t from = start, length; from < out->length; from += length) {
		const uint8_t *at = (const uint8_t *)out->text + from;

		length = character(at);
		if ((keeps_lines && (*at == '\n' || *at == '\t')) ||
		    is_shown(value_of(at, length))) {
			memmove(out->text + to, at, length);
			to += length;
		} else {
			out->text[to++] = '?';
		}
	}
	if (out->text && out->length > to) {
		out->length = to;
		out->text[to] = 0;
	}
}

void mt_utf8_append_shown(struct mt_str *out, const char *text, size_t limit_bytes)
{
	const size_t start = out->length;

	mt_utf8_append(out, text, limit_bytes);
	hide(out, start, false);
}

void mt_utf8_append_lines(struct mt_str *out, const char *text)
{
	const size_t start = out->length;
	const char *at = text;

	while ((*at >= ' ' && *at <= '~') || *at == '\n' || *at == '\t')
		at++;
	if (!*at) {
		mt_str_append(out, text); /* as most is */
		return;
	}
	mt_utf8_append(out, text, SIZE_MAX);
	hide(out, start, true);
}

void mt_utf8_vappendf_lines(struct mt_str *out, const char *format, va_list args)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_vappendf(&text, format, args);
	out->failed |= text.failed;
	if (text.text)
		mt_utf8_append_lines(out, text.text);
}

void mt_utf8_appendf_lines(struct mt_str *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(out, format, args);
	va_end(args);
}

/* Latin, Greek, Cyrillic, and what our lines have. */
static bool takes_one_column(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} plain[] = {
	    {0x20, 0x7e},   {0xa0, 0xac},     {0xae, 0x2ff},    {0x370, 0x482},
	    {0x48a, 0x52f}, {0x2026, 0x2026}, {0xfffd, 0xfffd},
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (character >= plain[i].first && character <= plain[i].last)
			return true;
	return false;
}

void mt_utf8_append_columns(struct mt_str *out, const char *text, size_t first, size_t columns)
{
	const size_t last = columns > SIZE_MAX - first ? SIZE_MAX : first + columns;

	for (size_t column = 0; *text && *text != '\n' && column < last; column++) {
		const uint8_t *at = (const uint8_t *)text;
		size_t length = character(at);
		bool is_plain = length && takes_one_column(value_of(at, length));

		length = length ? length : 1;
		if (column >= first)
			mt_str_append_bytes(out, is_plain ? text : "?", is_plain ? length : 1);
		text += length;
	}
}

size_t mt_utf8_columns(const char *text, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length; i++)
		columns += ((uint8_t)text[i] & 0xc0) != 0x80;
	return columns;
}
