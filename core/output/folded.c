/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folded stacks, as flamegraph.pl, inferno and speedscope read them: a line for each path of calls,
 * "thread;main;handle 12345", with the ns that were spent in the last one itself.
 * Source: https://github.com/brendangregg/FlameGraph, "Fold stacks". */
#include "output/format.h"

#include "base/array.h"
#include "base/utf8.h"
#include "output/path_tree.h"
#include "trace/sink_ops.h"

#include <stdlib.h>

#define NAME_BYTES 4096

struct path {
	struct mt_path base;
	uint64_t self_ns;
};

struct frame {
	struct mt_path *path;
	uint64_t begin_ns, children_ns;
};

struct folded {
	struct mt_stream *stream;
	struct mt_path_tree tree;
	struct path root;
	struct mt_path *thread; /* NULL: a side track */
	MT_ARRAY(struct frame) frames;
	struct mt_str line;
};

static struct mt_error *thread(void *self, const struct mt_thread *what)
{
	struct folded *folded = self;

	folded->frames.count = 0;
	folded->thread = NULL;
	if (mt_tid_is_track(what->tid))
		return NULL;
	folded->thread = mt_path_tree_child(&folded->tree, &folded->root.base, 0, NULL,
					    what->name && *what->name ? what->name : "thread");
	return folded->thread ? NULL : mt_error_no_memory();
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct folded *folded = self;

	(void)segment;
	folded->frames.count = 0;
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct folded *folded = self;
	const size_t depth = folded->frames.count;
	struct frame frame = {.begin_ns = slice->time_ns};

	if (!folded->thread)
		return NULL;
	frame.path = mt_path_tree_child(
	    &folded->tree, depth ? mt_array_last(&folded->frames)->path : folded->thread, depth + 1,
	    slice->function, mt_slice_name(slice));
	if (!frame.path || mt_array_push(&folded->frames, frame))
		return mt_error_no_memory();
	return NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct folded *folded = self;

	if (!folded->frames.count)
		return NULL;
	const struct frame frame = folded->frames.items[--folded->frames.count];
	const uint64_t duration_ns = what->time_ns - frame.begin_ns;

	if (duration_ns > frame.children_ns)
		((struct path *)frame.path)->self_ns += duration_ns - frame.children_ns;
	if (folded->frames.count)
		mt_array_last(&folded->frames)->children_ns += duration_ns;
	return NULL;
}

/* A line has one number, behind the last blank, and semicolons stand between names. */
static void put_name(struct mt_str *out, const char *name)
{
	const size_t before = out->length;

	mt_utf8_append_shown(out, name, NAME_BYTES);
	for (size_t i = before; i < out->length; i++)
		if (out->text[i] == ';')
			out->text[i] = ':';
}

/* Not later: names are lent until then. */
static struct mt_error *finish(void *self)
{
	struct folded *folded = self;

	for (const struct mt_path *path = folded->tree.nodes; path; path = path->next) {
		const uint64_t self_ns = ((const struct path *)path)->self_ns;

		if (!self_ns)
			continue;
		mt_path_append(path, ";", put_name, &folded->line);
		mt_str_appendf(&folded->line, " %llu\n", (unsigned long long)self_ns);
		mt_try(mt_stream_write_str(folded->stream, &folded->line));
	}
	return NULL;
}

static void folded_destroy(void *self)
{
	struct folded *folded = self;

	if (!folded)
		return;
	mt_path_tree_deinit(&folded->tree);
	mt_array_deinit(&folded->frames);
	mt_str_deinit(&folded->line);
	free(folded);
}

static struct mt_error *folded_create(struct mt_stream *stream,
				      const struct mt_trace_writer_options *options, void **self)
{
	struct folded *folded = calloc(1, sizeof(*folded));

	(void)options;
	*self = folded;
	if (!folded)
		return mt_error_no_memory();
	folded->stream = stream;
	folded->tree.node_bytes = sizeof(struct path);
	return NULL;
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = thread,
    .segment_begin = segment_begin,
    .begin = begin,
    .end = end,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
    .finish = finish,
};

static struct mt_slice_sink folded_sink(void *self)
{
	return (struct mt_slice_sink){&sink_ops, self};
}

const struct mt_trace_format mt_format_folded = {
    .name = "folded",
    .ending = ".folded",
    .create = folded_create,
    .destroy = folded_destroy,
    .sink = folded_sink,
};
