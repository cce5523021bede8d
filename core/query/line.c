/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/line.h"

#include "base/utf8.h"
#include "elf/objfile.h"
#include "output/json_string.h"
#include "output/text_line.h"

#include <string.h>

#define TIME_COLUMNS     15
#define DURATION_COLUMNS 11
#define NAME_BYTES       4096

void mt_query_cell(struct mt_str *out, const char *text, size_t columns)
{
	const size_t used = mt_utf8_columns(text, strlen(text));

	mt_str_appendf(out, "%*s%s", (int)(used < columns ? columns - used : 0), "", text);
}

static const struct mt_slice *call_of(const struct mt_grep_call *call)
{
	return call->path[call->depth - 1];
}

static bool is_estimated(const struct mt_grep_call *call)
{
	return call_of(call)->flags & MT_SLICE_TIME_ESTIMATED ||
	       call->end->flags & MT_SLICE_END_TIME_ESTIMATED;
}

static void put_times(const struct mt_grep_call *call, struct mt_str *out)
{
	const struct mt_slice *slice = call_of(call);
	mt_auto(mt_str) struct mt_str cell = {0};

	mt_str_append(&cell, slice->flags & MT_SLICE_TIME_ESTIMATED ? "~" : "");
	mt_text_time(&cell, slice->time_ns, call->zero_ns, call->span_ns);
	mt_query_cell(out, cell.text ? cell.text : "", TIME_COLUMNS);
	mt_str_clear(&cell);
	if (call->end->flags & MT_SLICE_END_OPEN) {
		mt_str_append(&cell, "open");
	} else {
		mt_str_append(&cell, slice->flags & MT_SLICE_INFERRED ? ">" : "");
		mt_str_append(&cell, is_estimated(call) ? "~" : "");
		mt_text_duration(&cell, call->end->time_ns - slice->time_ns);
	}
	mt_query_cell(out, cell.text ? cell.text : "", DURATION_COLUMNS);
	out->failed |= cell.failed;
}

/* With arguments in the place of the parameters' types. */
static void put_call(const struct mt_grep_call *call, struct mt_str *out)
{
	const struct mt_slice *slice = call_of(call);
	const char *name = mt_slice_name(slice);
	mt_auto(mt_str) struct mt_str bare = {0};

	mt_str_append_bytes(&bare, name,
			    slice->arguments ? mt_name_without_parameters(name) : strlen(name));
	mt_utf8_append_shown(out, bare.text ? bare.text : "", NAME_BYTES);
	out->failed |= bare.failed;
	if (slice->arguments)
		mt_utf8_appendf_lines(out, "(%s)", slice->arguments);
	if (call->end->result)
		mt_utf8_appendf_lines(out, " = %s", call->end->result);
}

void mt_query_line(const struct mt_grep_call *call, struct mt_str *out)
{
	const struct mt_slice *slice = call_of(call);

	put_times(call, out);
	mt_str_append(out, "  ");
	mt_utf8_append_shown(out, call->thread->name ? call->thread->name : "thread", NAME_BYTES);
	mt_str_appendf(out, " (%d)  ", call->thread->tid);
	for (size_t i = 0; i + 1 < call->depth; i++) {
		mt_utf8_append_shown(out, mt_slice_name(call->path[i]), NAME_BYTES);
		mt_str_append(out, " > ");
	}
	put_call(call, out);
	if (slice->call_source.file) {
		const char *slash = strrchr(slice->call_source.file, '/');

		mt_str_append(out, "  (");
		mt_utf8_append_shown(out, slash ? slash + 1 : slice->call_source.file, NAME_BYTES);
		mt_str_appendf(out, ":%u)", slice->call_source.line);
	}
	mt_str_append(out, "\n");
}

static void put_text(struct mt_str *out, struct mt_str *scratch, const char *name, const char *text)
{
	mt_str_appendf(out, ", \"%s\": ", name);
	mt_json_append_string(out, scratch, text);
}

void mt_query_line_json(const struct mt_grep_call *call, struct mt_str *out, struct mt_str *scratch)
{
	const struct mt_slice *slice = call_of(call);

	mt_str_appendf(out, "{\"time_ns\": %llu, \"before_end_ns\": %llu, \"duration_ns\": %llu",
		       (unsigned long long)slice->time_ns,
		       (unsigned long long)(call->zero_ns - slice->time_ns),
		       (unsigned long long)(call->end->time_ns - slice->time_ns));
	mt_str_appendf(out, ", \"estimated\": %s, \"begin_seen\": %s, \"end_seen\": %s",
		       is_estimated(call) ? "true" : "false",
		       slice->flags & MT_SLICE_INFERRED ? "false" : "true",
		       call->end->flags & (MT_SLICE_END_OPEN | MT_SLICE_END_LOST) ? "false"
										  : "true");
	mt_str_appendf(out, ", \"pid\": %d, \"tid\": %d", call->thread->pid, call->thread->tid);
	if (call->thread->name)
		put_text(out, scratch, "thread", call->thread->name);
	put_text(out, scratch, "function", mt_slice_name(slice));
	if (slice->arguments)
		put_text(out, scratch, "arguments", slice->arguments);
	if (call->end->result)
		put_text(out, scratch, "result", call->end->result);
	if (slice->call_source.file) {
		put_text(out, scratch, "call_file", slice->call_source.file);
		mt_str_appendf(out, ", \"call_line\": %u", slice->call_source.line);
	}
	mt_str_append(out, ", \"path\": [");
	for (size_t i = 0; i < call->depth; i++) {
		mt_str_append(out, i ? ", " : "");
		mt_json_append_string(out, scratch, mt_slice_name(call->path[i]));
	}
	mt_str_append(out, "]}");
}
