/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/trace_writer.h"

#include "output/compress.h"
#include "output/format.h"

#include <stdlib.h>
#include <string.h>

static const struct mt_trace_format *const formats[] = {
    &mt_format_fxt, /* the first is the one that is taken when nothing is said */
    &mt_format_pftrace,    &mt_format_text,
    &mt_format_speedscope, /* before json: that is an end of its ending */
    &mt_format_json,       &mt_format_html,
    &mt_format_folded,
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

struct mt_trace_writer {
	const struct mt_trace_format *format;
	struct mt_stream *stream;
	void *self; /* the format's */
};

const char *const *mt_trace_writer_formats(void)
{
	static const char *const names[] = {"fxt",  "pftrace", "text",   "speedscope",
					    "json", "html",    "folded", NULL};

	_Static_assert(sizeof(names) / sizeof(names[0]) == FORMATS + 1, "a name for each format");
	return names;
}

static struct mt_error *format_by_name(const char *name, const struct mt_trace_format **out)
{
	mt_auto(mt_str) struct mt_str known = {0};

	for (size_t i = 0; i < FORMATS; i++) {
		if (strcmp(formats[i]->name, name) == 0) {
			*out = formats[i];
			return NULL;
		}
		mt_str_appendf(&known, "%s%s", i ? ", " : "", formats[i]->name);
	}
	if (known.failed)
		return mt_error_no_memory();
	return mt_error_new(MT_ERROR_USAGE, "unknown format \"%s\"; choose one of %s", name,
			    known.text);
}

static bool ends_in(const char *path, size_t length, const char *ending)
{
	size_t size = strlen(ending);

	return length > size && strncmp(path + length - size, ending, size) == 0;
}

static bool fits(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t length = strlen(path);

	name = name ? name + 1 : path;
	if (!strchr(name + strspn(name, "."), '.'))
		return true;
	length -= mt_compressor_ending(path, length);
	for (size_t i = 0; i < FORMATS; i++)
		if (ends_in(path, length, formats[i]->ending))
			return true;
	return false;
}

const char *mt_trace_writer_ending(const char *format)
{
	for (size_t i = 0; format && i < FORMATS; i++)
		if (strcmp(formats[i]->name, format) == 0)
			return formats[i]->ending;
	return formats[0]->ending;
}

struct mt_error *mt_trace_writer_check(const char *path, const char *format)
{
	return format || fits(path)
		   ? NULL
		   : mt_error_new(
			 MT_ERROR_USAGE,
			 "%s: the ending selects the format: .fxt, .pftrace, .json, .speedscope.json, .html, .txt or .folded, each "
			 "also with .gz or .zst behind it",
			 path);
}

static const struct mt_trace_format *format_by_path(const char *path)
{
	size_t length = strlen(path);

	length -= mt_compressor_ending(path, length);
	for (size_t i = 0; i < FORMATS; i++)
		if (ends_in(path, length, formats[i]->ending))
			return formats[i];
	return formats[0];
}

/* PATH NULL: prints with PRINTER. */
static struct mt_error *start(struct mt_trace_writer *writer, const char *path, const char *format,
			      const struct mt_printer *printer,
			      const struct mt_trace_writer_options *options)
{
	static const struct mt_trace_writer_options defaults;

	writer->format = path ? format_by_path(path) : &mt_format_text;
	if (format)
		mt_try(format_by_name(format, &writer->format));
	mt_try(path ? mt_stream_create(path, &writer->stream)
		    : mt_stream_create_printing(printer, &writer->stream));
	return writer->format->create(writer->stream, options ? options : &defaults, &writer->self);
}

static struct mt_error *create(const char *path, const char *format,
			       const struct mt_printer *printer,
			       const struct mt_trace_writer_options *options,
			       struct mt_trace_writer **out)
{
	struct mt_trace_writer *writer = calloc(1, sizeof(*writer));

	*out = NULL;
	if (!writer)
		return mt_error_no_memory();
	struct mt_error *error = start(writer, path, format, printer, options);
	if (error)
		mt_trace_writer_destroy(writer);
	else
		*out = writer;
	return error;
}

struct mt_error *mt_trace_writer_create(const char *path, const char *format,
					const struct mt_trace_writer_options *options,
					struct mt_trace_writer **out)
{
	return create(path, format, NULL, options, out);
}

struct mt_error *mt_trace_writer_create_printing(const struct mt_printer *printer,
						 const struct mt_trace_writer_options *options,
						 struct mt_trace_writer **out)
{
	return create(NULL, NULL, printer, options, out);
}

struct mt_slice_sink mt_trace_writer_sink(struct mt_trace_writer *writer)
{
	return writer->format->sink(writer->self);
}

struct mt_error *mt_trace_writer_finish(struct mt_trace_writer *writer)
{
	if (writer->format->finish)
		mt_try(writer->format->finish(writer->self));
	return mt_stream_finish(writer->stream);
}

void mt_trace_writer_destroy(struct mt_trace_writer *writer)
{
	if (!writer)
		return;
	if (writer->format)
		writer->format->destroy(writer->self);
	mt_stream_destroy(writer->stream);
	free(writer);
}
