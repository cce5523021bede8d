/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/stream.h"

#include "base/outfile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* windowBits that ask deflateInit2() for a gzip header and trailer. */
#define GZIP_WINDOW_BITS (15 + 16)
#define GZIP_MEMORY      8

struct mt_stream {
	struct mt_outfile *file; /* NULL: it prints */
	struct mt_printer printer;
	bool is_gzip;
	z_stream gzip;
	size_t filled; /* of room */
	_Alignas(uint64_t) uint8_t room[MT_STREAM_ROOM];
	uint8_t packed[65536];
};

static struct mt_error *start(struct mt_stream *stream, const char *path)
{
	size_t length = strlen(path);

	mt_try(mt_outfile_create(path, &stream->file));
	if (length <= 3 || strcmp(path + length - 3, ".gz") != 0)
		return NULL;
	/* The fastest level: it makes timelines ten times smaller and keeps up with decoding. */
	if (deflateInit2(&stream->gzip, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return mt_error_no_memory();
	stream->is_gzip = true;
	return NULL;
}

struct mt_error *mt_stream_create(const char *path, struct mt_stream **out)
{
	struct mt_stream *stream = calloc(1, sizeof(*stream));

	*out = NULL;
	if (!stream)
		return mt_error_no_memory();
	struct mt_error *error = start(stream, path);
	if (error) {
		mt_stream_destroy(stream);
		return error;
	}
	*out = stream;
	return NULL;
}

struct mt_error *mt_stream_create_printing(const struct mt_printer *printer, struct mt_stream **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->printer = *printer;
	return NULL;
}

void mt_stream_destroy(struct mt_stream *stream)
{
	if (!stream)
		return;
	if (stream->is_gzip)
		deflateEnd(&stream->gzip);
	mt_outfile_destroy(stream->file);
	free(stream);
}

static struct mt_error *deflate_all(struct mt_stream *stream, int flush)
{
	z_stream *gzip = &stream->gzip;

	do {
		gzip->next_out = stream->packed;
		gzip->avail_out = sizeof(stream->packed);
		if (deflate(gzip, flush) == Z_STREAM_ERROR)
			return mt_error_new(MT_ERROR_INTERNAL, "cannot compress %s: %s",
					    mt_outfile_path(stream->file),
					    gzip->msg ? gzip->msg : "zlib's state is broken");
		mt_try(mt_outfile_write(stream->file, stream->packed,
					sizeof(stream->packed) - gzip->avail_out));
	} while (gzip->avail_out == 0);
	return NULL;
}

static struct mt_error *write_out(struct mt_stream *stream, const void *bytes, size_t size)
{
	const uint8_t *next = bytes;

	if (!stream->is_gzip)
		return mt_outfile_write(stream->file, bytes, size);
	while (size) {
		uInt count = size > INT_MAX ? INT_MAX : (uInt)size;

		stream->gzip.next_in = (Bytef *)next;
		stream->gzip.avail_in = count;
		mt_try(deflate_all(stream, Z_NO_FLUSH));
		next += count;
		size -= count;
	}
	return NULL;
}

static struct mt_error *empty_room(struct mt_stream *stream)
{
	size_t size = stream->filled;

	stream->filled = 0;
	return write_out(stream, stream->room, size);
}

struct mt_error *mt_stream_room(struct mt_stream *stream, size_t size, void **out)
{
	if (size > sizeof(stream->room) - stream->filled)
		mt_try(empty_room(stream));
	*out = stream->room + stream->filled;
	stream->filled += size;
	return NULL;
}

struct mt_error *mt_stream_write(struct mt_stream *stream, const void *bytes, size_t size)
{
	void *room = NULL;

	if (size > sizeof(stream->room)) {
		mt_try(empty_room(stream));
		return write_out(stream, bytes, size);
	}
	mt_try(mt_stream_room(stream, size, &room));
	if (size)
		memcpy(room, bytes, size);
	return NULL;
}

struct mt_error *mt_stream_write_str(struct mt_stream *stream, struct mt_str *str)
{
	if (str->failed)
		return mt_error_no_memory();
	struct mt_error *error = NULL;
	if (stream->file)
		error = mt_stream_write(stream, str->text, str->length);
	else if (str->length)
		stream->printer.print(stream->printer.context, str->text);
	mt_str_clear(str);
	return error;
}

struct mt_error *mt_stream_finish(struct mt_stream *stream)
{
	if (!stream->file)
		return NULL;
	mt_try(empty_room(stream));
	if (stream->is_gzip)
		mt_try(deflate_all(stream, Z_FINISH));
	return mt_outfile_commit(stream->file);
}
