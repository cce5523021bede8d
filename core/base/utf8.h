/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names come from other people's files and may hold any bytes; what we write is UTF-8. */
#ifndef MT_BASE_UTF8_H
#define MT_BASE_UTF8_H

#include "base/str.h"

/* Append TEXT to OUT as well-formed UTF-8: each byte that belongs to no character becomes U+FFFD
 * (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).  At most LIMIT_BYTES are
 * appended; what is longer is cut between two characters. */
void mt_utf8_append(struct mt_str *out, const char *text, size_t limit_bytes);

/* The same for a terminal: what would speak to it, or change the order of what is shown, becomes
 * "?": control characters of C0 and C1, U+2028 and U+2029, and Unicode's bidirectional marks. */
void mt_utf8_append_shown(struct mt_str *out, const char *text, size_t limit_bytes);

/* The same of text that may have several lines: newlines and tabs stay.  Whatever is printed for
 * people goes through it as a whole, by those below, unless its foreign parts have. */
void mt_utf8_append_lines(struct mt_str *out, const char *text);
void mt_utf8_appendf_lines(struct mt_str *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mt_utf8_vappendf_lines(struct mt_str *out, const char *format, va_list args);

/* Appends COLUMNS columns of TEXT, from column FIRST on, up to a newline.  A character takes one
 * column: "?" stands for others, for those that speak to the terminal, and for bytes of none. */
void mt_utf8_append_columns(struct mt_str *out, const char *text, size_t first, size_t columns);

/* Columns that the first LENGTH bytes of TEXT take when each character takes one. */
size_t mt_utf8_columns(const char *text, size_t length);

#endif
