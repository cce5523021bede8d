/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file format of speedscope, a viewer that works without a server: a profile for each segment
 * of a thread, with the begins and ends of its calls in their order, and behind them the names,
 * which these refer to by number. Source: https://github.com/jlfwong/speedscope,
 * src/lib/file-format-spec.ts. */
#include "output/format.h"

#include "base/array.h"
#include "output/json_string.h"
#include "trace/sink_ops.h"

#include <stdlib.h>
#include <string.h>

struct name {
	const struct mt_function *function; /* NULL: only a name */
	const char *text;
};

struct speedscope {
	struct mt_stream *stream;
	struct mt_thread thread;
	bool is_track; /* not shown: it has no calls */
	bool has_profile, has_event;
	MT_ARRAY(struct name) names;
	MT_ARRAY(uint32_t) by_function; /* by its id: its name's number plus 1 */
	MT_ARRAY(uint32_t) open;
	struct mt_str line, scratch;
};

static int number_of_text(struct speedscope *speedscope, const char *text, uint32_t *number)
{
	const struct name name = {.text = text};

	mt_array_each (known, &speedscope->names)
		if (!known->function && strcmp(known->text, text) == 0) {
			*number = (uint32_t)(known - speedscope->names.items);
			return 0;
		}
	*number = (uint32_t)speedscope->names.count;
	return mt_array_push(&speedscope->names, name);
}

static int number_of(struct speedscope *speedscope, const struct mt_slice *slice, uint32_t *number)
{
	const struct name name = {slice->function, mt_slice_name(slice)};

	if (!slice->function)
		return number_of_text(speedscope, name.text, number);
	while (speedscope->by_function.count <= slice->function->id)
		if (mt_array_push(&speedscope->by_function, 0u))
			return -1;
	uint32_t *known = &speedscope->by_function.items[slice->function->id];
	if (!*known && mt_array_push(&speedscope->names, name))
		return -1;
	if (!*known)
		*known = (uint32_t)speedscope->names.count;
	*number = *known - 1;
	return 0;
}

static void put_string(struct speedscope *speedscope, const char *text)
{
	mt_json_append_string(&speedscope->line, &speedscope->scratch, text);
}

static struct mt_error *put_event(struct speedscope *speedscope, char type, uint64_t time_ns,
				  uint32_t number)
{
	mt_str_appendf(&speedscope->line, "%s\n{\"type\":\"%c\",\"at\":%llu,\"frame\":%u}",
		       speedscope->has_event ? "," : "", type, (unsigned long long)time_ns, number);
	speedscope->has_event = true;
	return mt_stream_write_str(speedscope->stream, &speedscope->line);
}

static struct mt_error *thread(void *self, const struct mt_thread *what)
{
	struct speedscope *speedscope = self;

	speedscope->thread = *what;
	speedscope->is_track = mt_tid_is_track(what->tid);
	return NULL;
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct speedscope *speedscope = self;
	const struct mt_thread *what = &speedscope->thread;
	mt_auto(mt_str) struct mt_str name = {0};

	speedscope->open.count = 0;
	if (speedscope->is_track)
		return NULL;
	mt_str_appendf(&name, "%s (%d)", what->name ? what->name : "thread", what->tid);
	if (segment->number)
		mt_str_appendf(&name, ", part %u", segment->number + 1);
	if (name.failed)
		return mt_error_no_memory();
	mt_str_append(&speedscope->line, speedscope->has_profile
					     ? ",\n{\"type\":\"evented\",\"name\":"
					     : "\n{\"type\":\"evented\",\"name\":");
	put_string(speedscope, name.text);
	mt_str_appendf(&speedscope->line,
		       ",\"unit\":\"nanoseconds\",\"startValue\":%llu,\"endValue\":%llu,"
		       "\"events\":[",
		       (unsigned long long)segment->begin_ns, (unsigned long long)segment->end_ns);
	speedscope->has_profile = true;
	speedscope->has_event = false;
	return mt_stream_write_str(speedscope->stream, &speedscope->line);
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct speedscope *speedscope = self;
	uint32_t number;

	if (speedscope->is_track)
		return NULL;
	if (number_of(speedscope, slice, &number) || mt_array_push(&speedscope->open, number))
		return mt_error_no_memory();
	return put_event(speedscope, 'O', slice->time_ns, number);
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct speedscope *speedscope = self;

	if (!speedscope->open.count)
		return NULL;
	return put_event(speedscope, 'C', what->time_ns,
			 speedscope->open.items[--speedscope->open.count]);
}

static struct mt_error *segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct speedscope *speedscope = self;

	(void)segment;
	if (speedscope->is_track)
		return NULL;
	mt_str_append(&speedscope->line, "]}");
	return mt_stream_write_str(speedscope->stream, &speedscope->line);
}

/* Not later: names are lent until then. */
static struct mt_error *finish(void *self)
{
	struct speedscope *speedscope = self;

	mt_str_append(&speedscope->line, "\n],\"shared\":{\"frames\":[");
	mt_array_each (name, &speedscope->names) {
		mt_str_append(&speedscope->line,
			      name == speedscope->names.items ? "\n{\"name\":" : ",\n{\"name\":");
		put_string(speedscope, name->text);
		if (name->function && name->function->source.file) {
			mt_str_append(&speedscope->line, ",\"file\":");
			put_string(speedscope, name->function->source.file);
			if (name->function->source.line)
				mt_str_appendf(&speedscope->line, ",\"line\":%u",
					       name->function->source.line);
		}
		mt_str_append(&speedscope->line, "}");
		mt_try(mt_stream_write_str(speedscope->stream, &speedscope->line));
	}
	mt_str_append(&speedscope->line, "\n]}}\n");
	return mt_stream_write_str(speedscope->stream, &speedscope->line);
}

static void speedscope_destroy(void *self)
{
	struct speedscope *speedscope = self;

	if (!speedscope)
		return;
	mt_array_deinit(&speedscope->names);
	mt_array_deinit(&speedscope->by_function);
	mt_array_deinit(&speedscope->open);
	mt_str_deinit(&speedscope->line);
	mt_str_deinit(&speedscope->scratch);
	free(speedscope);
}

static struct mt_error *speedscope_create(struct mt_stream *stream,
					  const struct mt_trace_writer_options *options,
					  void **self)
{
	struct speedscope *speedscope = calloc(1, sizeof(*speedscope));

	*self = speedscope;
	if (!speedscope)
		return mt_error_no_memory();
	speedscope->stream = stream;
	mt_str_append(&speedscope->line,
		      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		      "\"exporter\":\"mtrace\"");
	if (options->command) {
		mt_str_append(&speedscope->line, ",\"name\":");
		put_string(speedscope, options->command);
	}
	mt_str_append(&speedscope->line, ",\"profiles\":[");
	return mt_stream_write_str(stream, &speedscope->line);
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = thread,
    .segment_begin = segment_begin,
    .begin = begin,
    .end = end,
    .instant = mt_slice_ignore_instant,
    .segment_end = segment_end,
    .finish = finish,
};

static struct mt_slice_sink speedscope_sink(void *self)
{
	return (struct mt_slice_sink){&sink_ops, self};
}

const struct mt_trace_format mt_format_speedscope = {
    .name = "speedscope",
    .ending = ".speedscope.json",
    .create = speedscope_create,
    .destroy = speedscope_destroy,
    .sink = speedscope_sink,
};
