/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a format's bytes go: a file that is whole or not there (base/outfile.h), packed as its
 * name's ending says (output/compress.h).  A large one that is not packed is written by a worker
 * (output/write_behind.h), since the system takes as long to copy the bytes into its pages as it
 * takes to make them. */
#ifndef MT_OUTPUT_STREAM_H
#define MT_OUTPUT_STREAM_H

#include "base/error.h"
#include "base/str.h"
#include "output/write_behind.h"

/* Takes text a piece at a time, as a front end shows it. */
struct mt_printer {
	void (*print)(void *context, const char *text);
	void *context;
};

#define MT_STREAM_ROOM MT_WRITE_BEHIND_MOST

/* Its parts are its own: they are here so that a record is written without a call. */
struct mt_stream {
	struct mt_outfile *file; /* NULL: it prints */
	struct mt_printer printer;
	struct mt_compressor *compressor; /* NULL: none */
	struct mt_write_behind *behind;   /* NULL: no worker writes */
	size_t filled;                    /* of room */
	_Alignas(uint64_t) uint8_t room[MT_STREAM_ROOM];
};

/* Errors: as mt_outfile_create(). */
struct mt_error *mt_stream_create(const char *path, struct mt_stream **out);
/* To a printer (copied) instead of a file: for text alone, as a NUL would end a piece. */
struct mt_error *mt_stream_create_printing(const struct mt_printer *printer,
					   struct mt_stream **out);
/* Takes the temporary file away if the stream was not finished.  NULL is fine. */
void mt_stream_destroy(struct mt_stream *stream);

/* Write out what is in the room.  Errors: SYSTEM. */
struct mt_error *mt_stream_empty_room(struct mt_stream *stream);

/* The bytes that come next, at most MT_STREAM_ROOM, for the caller to fill in before the stream is
 * used again.  Errors: SYSTEM. */
static inline struct mt_error *mt_stream_room(struct mt_stream *stream, size_t size, void **out)
{
	if (size > sizeof(stream->room) - stream->filled)
		mt_try(mt_stream_empty_room(stream));
	*out = stream->room + stream->filled;
	stream->filled += size;
	return NULL;
}

/* The last so many bytes of the room that was given last are not used. */
static inline void mt_stream_give_back(struct mt_stream *stream, size_t size)
{
	stream->filled -= size;
}

/* Errors: SYSTEM. */
struct mt_error *mt_stream_write(struct mt_stream *stream, const void *bytes, size_t size);
/* Write what STR holds and clear it.  Errors: SYSTEM; NO_MEMORY when the string has failed. */
struct mt_error *mt_stream_write_str(struct mt_stream *stream, struct mt_str *str);
/* Put the file under its name; nothing is written afterwards.  Errors: SYSTEM. */
struct mt_error *mt_stream_finish(struct mt_stream *stream);

#endif
