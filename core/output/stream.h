/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a format's bytes go: a file that is whole or not there (base/outfile.h), packed as its
 * name's ending says (output/compress.h). */
#ifndef MT_OUTPUT_STREAM_H
#define MT_OUTPUT_STREAM_H

#include "base/error.h"
#include "base/str.h"

struct mt_stream;

/* Takes text a piece at a time, as a front end shows it. */
struct mt_printer {
	void (*print)(void *context, const char *text);
	void *context;
};

/* Errors: as mt_outfile_create(). */
struct mt_error *mt_stream_create(const char *path, struct mt_stream **out);
/* To a printer (copied) instead of a file: for text alone, as a NUL would end a piece. */
struct mt_error *mt_stream_create_printing(const struct mt_printer *printer,
					   struct mt_stream **out);
/* Takes the temporary file away if the stream was not finished.  NULL is fine. */
void mt_stream_destroy(struct mt_stream *stream);

/* The bytes that come next, at most MT_STREAM_ROOM, for the caller to fill in before the stream is
 * used again.  Errors: SYSTEM. */
#define MT_STREAM_ROOM (128u << 10)
struct mt_error *mt_stream_room(struct mt_stream *stream, size_t size, void **out);
/* Errors: SYSTEM. */
struct mt_error *mt_stream_write(struct mt_stream *stream, const void *bytes, size_t size);
/* Write what STR holds and clear it.  Errors: SYSTEM; NO_MEMORY when the string has failed. */
struct mt_error *mt_stream_write_str(struct mt_stream *stream, struct mt_str *str);
/* Put the file under its name; nothing is written afterwards.  Errors: SYSTEM. */
struct mt_error *mt_stream_finish(struct mt_stream *stream);

#endif
