/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/stream.h"

#include "base/outfile.h"
#include "output/compress.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct mt_error *start(struct mt_stream *stream, const char *path)
{
	mt_try(mt_outfile_create(path, &stream->file));
	mt_try(mt_compressor_create(path, stream->file, &stream->compressor));
	/* Compressors have workers of their own. */
	return stream->compressor || !mt_outfile_is_local(stream->file)
		   ? NULL
		   : mt_write_behind_create(stream->file, &stream->behind);
}

/* The room is not touched, since each of its pages costs a fault.  NULL: without memory. */
static struct mt_stream *create(void)
{
	struct mt_stream *stream = malloc(sizeof(*stream));

	if (stream)
		memset(stream, 0, offsetof(struct mt_stream, room));
	return stream;
}

struct mt_error *mt_stream_create(const char *path, struct mt_stream **out)
{
	struct mt_stream *stream = create();

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
	*out = create();
	if (!*out)
		return mt_error_no_memory();
	(*out)->printer = *printer;
	return NULL;
}

void mt_stream_destroy(struct mt_stream *stream)
{
	if (!stream)
		return;
	mt_write_behind_destroy(stream->behind);
	mt_compressor_destroy(stream->compressor);
	mt_outfile_destroy(stream->file);
	free(stream);
}

static struct mt_error *write_out(struct mt_stream *stream, const void *bytes, size_t size)
{
	return stream->compressor ? mt_compressor_write(stream->compressor, bytes, size)
				  : mt_outfile_write(stream->file, bytes, size);
}

struct mt_error *mt_stream_empty_room(struct mt_stream *stream)
{
	size_t size = stream->filled;

	stream->filled = 0;
	return stream->behind ? mt_write_behind(stream->behind, stream->room, size)
			      : write_out(stream, stream->room, size);
}

struct mt_error *mt_stream_write(struct mt_stream *stream, const void *bytes, size_t size)
{
	void *room = NULL;

	if (size > sizeof(stream->room)) {
		mt_try(mt_stream_empty_room(stream));
		if (stream->behind)
			mt_try(mt_write_behind_finish(stream->behind));
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
	mt_try(mt_stream_empty_room(stream));
	if (stream->behind)
		mt_try(mt_write_behind_finish(stream->behind));
	if (stream->compressor)
		mt_try(mt_compressor_finish(stream->compressor));
	return mt_outfile_commit(stream->file);
}
