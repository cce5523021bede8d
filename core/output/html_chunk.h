/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Some thousand rows of a timeline in HTML, on their way into the page: columns of numbers, in
 * base64, and behind them the arguments that these rows refer to. */
#ifndef MT_OUTPUT_HTML_CHUNK_H
#define MT_OUTPUT_HTML_CHUNK_H

#include "output/stream.h"
#include "output/text_table.h"

#include <stdbool.h>

#define MT_HTML_CHUNK_ROWS 8192u
#define MT_HTML_NO_ARGS    UINT32_MAX

/* Times are ns from the page's base: as numbers of JavaScript, exact up to 104 days. */
struct mt_html_row {
	double begin_ns, duration_ns;
	uint32_t track, depth, name;
	uint32_t args; /* their number within the chunk, or MT_HTML_NO_ARGS */
	uint32_t flags;
};

/* Zeroed storage is empty. */
struct mt_html_chunk {
	uint32_t count;
	struct mt_html_row rows[MT_HTML_CHUNK_ROWS];
	struct mt_text_table args; /* JSON objects */
};

/* Whether it wants to be written before the next row. */
bool mt_html_chunk_is_full(const struct mt_html_chunk *chunk);
/* Writes what there is, and empties the chunk.  SCRATCH is empty before and after.
 * Errors: SYSTEM, NO_MEMORY. */
struct mt_error *mt_html_chunk_write(struct mt_html_chunk *chunk, struct mt_stream *stream,
				     struct mt_str *scratch);

/* Writes JSON as a script element may hold it, and clears it: all that is not ASCII, and "<", are
 * escaped, so that nothing in it ends the element, or deceives who reads the file.
 * Errors: SYSTEM, NO_MEMORY. */
struct mt_error *mt_html_write_json(struct mt_stream *stream, struct mt_str *json);

#endif
