/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A history for people: a line a call, indented, with how long it took (text_window.h). */
#include "output/format.h"

#include "output/text_window.h"

#include <stdlib.h>

struct text {
	struct mt_stream *stream;
	struct mt_text_window *window;
	struct mt_text_style style;
	struct mt_str out;
	bool has_threads; /* one was written */
};

static struct mt_error *write_out(struct text *text)
{
	return mt_stream_write_str(text->stream, &text->out);
}

static struct mt_error *write_thread(void *self, const struct mt_thread *thread)
{
	struct text *text = self;

	if (text->has_threads)
		mt_str_append(&text->out, "\n");
	text->has_threads = true;
	mt_text_thread(&text->out, &text->style, thread);
	return write_out(text);
}

static struct mt_error *write_entry(void *self, const struct mt_text_entry *entry)
{
	struct text *text = self;

	mt_text_entry(&text->out, &text->style, entry);
	return write_out(text);
}

static struct mt_error *write_elided(void *self, size_t count)
{
	struct text *text = self;

	mt_text_elided(&text->out, &text->style, count);
	return write_out(text);
}

static const struct mt_text_lines lines = {
    .thread = write_thread,
    .entry = write_entry,
    .elided = write_elided,
};

static void text_destroy(void *self)
{
	struct text *text = self;

	if (!text)
		return;
	mt_text_window_destroy(text->window);
	mt_text_style_deinit(&text->style);
	mt_str_deinit(&text->out);
	free(text);
}

static struct mt_error *text_create(struct mt_stream *stream,
				    const struct mt_trace_writer_options *options, void **self)
{
	struct text *text = calloc(1, sizeof(*text));

	*self = text;
	if (!text)
		return mt_error_no_memory();
	text->stream = stream;
	text->style.colour = options->colour;
	mt_try(mt_text_window_create(&lines, text, options->last, &text->window));
	if (!options->command)
		return NULL;
	mt_text_command(&text->out, &text->style, options->command);
	return write_out(text);
}

static struct mt_slice_sink text_sink(void *self)
{
	return mt_text_window_sink(((struct text *)self)->window);
}

const struct mt_trace_format mt_format_text = {
    .name = "text",
    .ending = ".txt",
    .create = text_create,
    .destroy = text_destroy,
    .sink = text_sink,
};
