/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page that shows the timeline in any browser, without a network: the viewer (output/viewer/,
 * which the build puts into the library), and behind it the data.
 *
 *	<script class="rows" data-count="N">   columns of N rows (output/html_chunk.h), base64
 *	<script class="args">                  the arguments that these refer to: a list in JSON
 *	…
 *	<script id="timeline">                 JSON: what the rows' numbers mean
 *
 * A row is written when its slice has ended.  Its flags are those of the begin, and from bit 8 on
 * those of the end, and from bit 16 on its kind: enum mt_slice_kind, or enum row_kind.  Arguments
 * are numbered anew in each chunk, so memory grows with distinct names and threads alone. */
#include "output/format.h"

#include "base/array.h"
#include "output/html_chunk.h"
#include "output/json_args.h"
#include "output/json_string.h"
#include "output/thread_table.h"

#include <stdlib.h>

#define END_SHIFT  8
#define KIND_SHIFT 16

enum row_kind {
	ROW_INSTANT = 16,
	ROW_COUNTER, /* its duration is the value */
	ROW_SEGMENT, /* what was recorded of a thread, without a name */
};

extern const char mt_html_viewer[];
extern const size_t mt_html_viewer_size;

struct track {
	struct mt_thread_entry entry;
	bool is_known;
	uint32_t number;
	const char *name, *process;
};

struct html {
	struct mt_stream *stream;
	struct mt_thread_table tracks;
	struct track *track; /* whose segment it is */
	uint32_t track_count;
	bool has_base;
	uint64_t base_ns;
	uint64_t row_count;
	MT_ARRAY(struct mt_slice) open;
	struct mt_text_table names; /* JSON: "name","category" */
	struct mt_html_chunk chunk;
	struct mt_str command, line, scratch;
};

static double time_of(const struct html *html, uint64_t time_ns)
{
	return (double)(int64_t)(time_ns - html->base_ns);
}

/* ROW's name and arguments are filled in; MORE may be NULL. */
static struct mt_error *put_row(struct html *html, struct mt_html_row row, const char *name,
				const char *category, const struct mt_args *args,
				const struct mt_args *more)
{
	mt_json_append_string(&html->line, &html->scratch, name);
	mt_str_appendf(&html->line, ",\"%s\"", category);
	if (mt_text_table_number(&html->names, &html->line, &row.name))
		return mt_error_no_memory();
	mt_str_clear(&html->line);
	mt_json_append_args(&html->line, &html->scratch, args);
	if (more && more->count) {
		mt_str_append(&html->line, html->line.length ? "," : "");
		mt_json_append_args(&html->line, &html->scratch, more);
	}
	row.args = MT_HTML_NO_ARGS;
	if (html->line.length && mt_text_table_number(&html->chunk.args, &html->line, &row.args))
		return mt_error_no_memory();
	mt_str_clear(&html->line);
	row.track = html->track->number;
	html->chunk.rows[html->chunk.count++] = row;
	html->row_count++;
	if (!mt_html_chunk_is_full(&html->chunk))
		return NULL;
	return mt_html_chunk_write(&html->chunk, html->stream, &html->line);
}

static struct mt_error *html_thread(void *self, const struct mt_thread *thread)
{
	struct html *html = self;
	struct track *track =
	    mt_thread_table_get(&html->tracks, thread->pid, thread->tid, sizeof(*track));

	if (!track)
		return mt_error_no_memory();
	if (!track->is_known)
		track->number = html->track_count++;
	track->is_known = true;
	track->name = thread->name ? thread->name : track->name;
	track->process = thread->process ? thread->process : track->process;
	html->track = track;
	html->open.count = 0;
	return NULL;
}

static struct mt_error *html_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct html *html = self;

	html->open.count = 0;
	if (!html->has_base)
		html->base_ns = segment->begin_ns;
	html->has_base = true;
	return NULL;
}

static struct mt_error *html_begin(void *self, const struct mt_slice *slice)
{
	struct html *html = self;

	return mt_array_push(&html->open, *slice) ? mt_error_no_memory() : NULL;
}

static struct mt_error *html_end(void *self, const struct mt_slice_end *end)
{
	struct html *html = self;
	struct mt_args args, end_args;

	if (!html->open.count)
		return NULL;
	const struct mt_slice *slice = &html->open.items[--html->open.count];
	const struct mt_html_row row = {
	    .begin_ns = time_of(html, slice->time_ns),
	    .duration_ns = (double)(end->time_ns - slice->time_ns),
	    .depth = (uint32_t)html->open.count,
	    .flags = slice->flags | (uint32_t)end->flags << END_SHIFT |
		     (uint32_t)slice->kind << KIND_SHIFT,
	};

	mt_args_of_slice(&args, slice);
	mt_args_of_end(&end_args, end);
	return put_row(html, row, mt_slice_name(slice), mt_slice_category(slice), &args, &end_args);
}

static struct mt_error *put_instant(struct html *html, uint64_t time_ns, uint32_t flags,
				    const char *name, const char *category,
				    const struct mt_args *args)
{
	const struct mt_html_row row = {
	    .begin_ns = time_of(html, time_ns),
	    .depth = (uint32_t)html->open.count,
	    .flags = flags | ROW_INSTANT << KIND_SHIFT,
	};

	return put_row(html, row, name, category, args, NULL);
}

static struct mt_error *html_instant(void *self, const struct mt_instant *instant)
{
	struct mt_args args;

	mt_args_of_instant(&args, instant);
	return put_instant(self, instant->time_ns, instant->estimated ? MT_SLICE_TIME_ESTIMATED : 0,
			   mt_instant_name(instant), mt_instant_category(instant), &args);
}

static struct mt_error *html_counter(void *self, const struct mt_counter *counter)
{
	struct html *html = self;
	struct mt_args args;
	const struct mt_html_row row = {
	    .begin_ns = time_of(html, counter->time_ns),
	    .duration_ns = counter->is_real ? counter->real : (double)counter->value,
	    .flags = ROW_COUNTER << KIND_SHIFT,
	};

	mt_args_of_counter(&args, counter);
	return put_row(html, row, counter->name, MT_CATEGORY_COUNTER, &args, NULL);
}

static struct mt_error *html_segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct html *html = self;
	struct mt_args args = {0};
	const struct mt_html_row row = {
	    .begin_ns = time_of(html, segment->begin_ns),
	    .duration_ns = (double)(segment->end_ns - segment->begin_ns),
	    .flags = ROW_SEGMENT << KIND_SHIFT,
	};

	mt_try(put_row(html, row, "", MT_CATEGORY_MARK, &args, NULL));
	if (!segment->snapshot)
		return NULL;
	mt_args_of_snapshot(&args, segment);
	return put_instant(html, segment->end_ns, 0, MT_SNAPSHOT_NAME, MT_CATEGORY_MARK, &args);
}

static struct mt_error *write_tracks(struct html *html)
{
	const struct mt_thread_entry *entry = html->tracks.first;

	mt_str_append(&html->line, "],\n\"tracks\":[");
	for (; entry; entry = mt_thread_table_next(entry)) {
		const struct track *track = (const struct track *)entry;

		mt_str_appendf(&html->line, "%s\n[%d,%d,", track->number ? "," : "", entry->key.pid,
			       entry->key.tid);
		mt_json_append_string(&html->line, &html->scratch, track->name ? track->name : "");
		mt_str_append(&html->line, ",");
		mt_json_append_string(&html->line, &html->scratch,
				      track->process ? track->process : "");
		mt_str_append(&html->line, "]");
		mt_try(mt_html_write_json(html->stream, &html->line));
	}
	return NULL;
}

/* Not later: the threads' names are lent until then. */
static struct mt_error *html_finish(void *self)
{
	struct html *html = self;

	mt_try(mt_html_chunk_write(&html->chunk, html->stream, &html->line));
	mt_str_append(&html->line, "<script type=\"application/json\" id=\"timeline\">");
	mt_try(mt_stream_write_str(html->stream, &html->line));
	mt_str_appendf(&html->line,
		       "{\"version\":1,\"base_ns\":\"%llu\",\"rows\":%llu,%s\"names\":[",
		       (unsigned long long)html->base_ns, (unsigned long long)html->row_count,
		       html->command.length ? html->command.text : "");
	for (const struct mt_text *name = html->names.first; name;
	     name = mt_text_table_next(name)) {
		mt_str_appendf(&html->line, "%s\n[%s]", name->number ? "," : "", name->text);
		mt_try(mt_html_write_json(html->stream, &html->line));
	}
	mt_try(write_tracks(html));
	mt_str_append(&html->line, "]}</script>\n</body>\n</html>\n");
	return mt_stream_write_str(html->stream, &html->line);
}

static void html_destroy(void *self)
{
	struct html *html = self;

	if (!html)
		return;
	mt_thread_table_deinit(&html->tracks);
	mt_text_table_clear(&html->names);
	mt_text_table_clear(&html->chunk.args);
	mt_array_deinit(&html->open);
	mt_str_deinit(&html->command);
	mt_str_deinit(&html->line);
	mt_str_deinit(&html->scratch);
	free(html);
}

static struct mt_error *html_create(struct mt_stream *stream,
				    const struct mt_trace_writer_options *options, void **self)
{
	struct html *html = calloc(1, sizeof(*html));

	*self = html;
	if (!html)
		return mt_error_no_memory();
	html->stream = stream;
	if (options->command) {
		mt_str_append(&html->command, "\"command\":");
		mt_json_append_string(&html->command, &html->scratch, options->command);
		mt_str_append(&html->command, ",");
	}
	mt_try(mt_stream_write(stream, mt_html_viewer, mt_html_viewer_size));
	mt_str_append(&html->line, "</script>\n");
	return mt_stream_write_str(stream, &html->line);
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = html_thread,
    .segment_begin = html_segment_begin,
    .begin = html_begin,
    .end = html_end,
    .instant = html_instant,
    .counter = html_counter,
    .segment_end = html_segment_end,
    .finish = html_finish,
};

static struct mt_slice_sink html_sink(void *self)
{
	return (struct mt_slice_sink){&sink_ops, self};
}

const struct mt_trace_format mt_format_html = {
    .name = "html",
    .ending = ".html",
    .create = html_create,
    .destroy = html_destroy,
    .sink = html_sink,
};
