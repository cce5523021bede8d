/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings that grow, and the reading of what people type. */
#ifndef MT_BASE_STR_H
#define MT_BASE_STR_H

#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>

/* Zeroed storage is the empty string (text may then be NULL).  When memory ran out, `failed` stays
 * set and later appends do nothing: check once at the end. */
struct mt_str {
	char *text; /* NUL-terminated once anything was appended */
	size_t length;
	size_t capacity;
	bool failed;
};

void mt_str_append(struct mt_str *str, const char *text);
/* BYTES may be NULL where COUNT is 0. */
void mt_str_append_bytes(struct mt_str *str, const char *bytes, size_t count);
void mt_str_appendf(struct mt_str *str, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mt_str_vappendf(struct mt_str *str, const char *format, va_list args);
void mt_str_clear(struct mt_str *str); /* keeps the storage */
void mt_str_deinit(struct mt_str *str);
static inline void mt_str_cleanup(struct mt_str *str)
{
	mt_str_deinit(str);
}

/* "4096", "64k", "16M", "1G" (binary units; an optional "B" or "iB" behind) to bytes.
 * Errors: USAGE. */
struct mt_error *mt_parse_size(const char *text, uint64_t *size_bytes);

/* "100ns", "5us", "500ms", "0.5s", "1m", "1h" -> nanoseconds, at least one.  Errors: USAGE. */
struct mt_error *mt_parse_duration(const char *text, uint64_t *ns);

/* A whole decimal number in [low, high].  `what` names it in the message.  Errors: USAGE. */
struct mt_error *mt_parse_number(const char *text, const char *what, uint64_t low, uint64_t high,
				 uint64_t *value);

#endif
