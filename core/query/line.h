/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call that was found, as a line for people or as a JSON object. */
#ifndef MT_QUERY_LINE_H
#define MT_QUERY_LINE_H

#include "query/grep.h"

/* "   -12.345 ms     1.20 µs  worker (123)  main > handle > price_of(count=5) = 7  (shop.c:12)\n"
 * Names are cleaned as in base/utf8.h; OUT's `failed` tells of a lack of memory. */
void mt_query_line(const struct mt_grep_call *call, struct mt_str *out);
/* Without a newline.  SCRATCH is the caller's, to be used again. */
void mt_query_line_json(const struct mt_grep_call *call, struct mt_str *out,
			struct mt_str *scratch);
/* Right-aligned, in COLUMNS. */
void mt_query_cell(struct mt_str *out, const char *text, size_t columns);

#endif
