/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chrome's trace events ("Trace Event Format", the JSON object form), one event a line.
 *
 * Times are microseconds, as the format wants, with the nanoseconds as three decimals.  Calls that
 * never returned have a begin and no end; their ends are kept back as in fxt.c. */
#include "output/format.h"

#include "output/args.h"
#include "output/json_args.h"
#include "output/json_string.h"
#include "output/thread_table.h"

#include <stdlib.h>
#include <string.h>

struct json_thread {
	struct mt_thread_entry entry;
	const char *name; /* as the file has it */
	uint32_t open_ends;
	uint64_t open_ns;
};

struct json_process {
	struct mt_thread_entry entry;
	const char *name;
};

struct json {
	struct mt_stream *stream;
	struct mt_thread_table threads;
	struct mt_thread_table processes; /* with tid 0 */
	struct json_thread *thread;       /* whose segment it is */
	bool has_events;
	struct mt_str line;
	struct mt_str scratch;
};

static void put_string(struct json *json, const char *text)
{
	mt_json_append_string(&json->line, &json->scratch, text);
}

static void put_args(struct json *json, const struct mt_args *args)
{
	if (!args || !args->count)
		return;
	mt_str_append(&json->line, ",\"args\":{");
	mt_json_append_args(&json->line, &json->scratch, args);
	mt_str_append(&json->line, "}");
}

static void start_event(struct json *json, char phase, pid_t pid, pid_t tid)
{
	mt_str_appendf(&json->line, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d",
		       json->has_events ? "," : "", phase, pid, tid);
	json->has_events = true;
}

static void start_timed(struct json *json, char phase, uint64_t time_ns)
{
	const struct mt_thread_key *key = &json->thread->entry.key;

	start_event(json, phase, key->pid, key->tid);
	mt_str_appendf(&json->line, ",\"ts\":%llu.%03u", (unsigned long long)(time_ns / 1000),
		       (unsigned)(time_ns % 1000));
}

static void put_name(struct json *json, const char *name, const char *category)
{
	mt_str_append(&json->line, ",\"name\":");
	put_string(json, name);
	mt_str_appendf(&json->line, ",\"cat\":\"%s\"", category);
}

static struct mt_error *end_event(struct json *json)
{
	mt_str_append(&json->line, "}");
	return mt_stream_write_str(json->stream, &json->line);
}

static struct mt_error *write_end(struct json *json, uint64_t time_ns, const struct mt_args *args)
{
	start_timed(json, 'E', time_ns);
	put_args(json, args);
	return end_event(json);
}

static struct mt_error *write_metadata(struct json *json, const char *what, pid_t pid, pid_t tid,
				       const char *name)
{
	start_event(json, 'M', pid, tid);
	mt_str_appendf(&json->line, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	put_string(json, name);
	mt_str_append(&json->line, "}");
	return end_event(json);
}

static struct mt_error *json_thread(void *self, const struct mt_thread *id)
{
	struct json *json = self;
	struct json_process *process =
	    mt_thread_table_get(&json->processes, id->pid, 0, sizeof(*process));

	json->thread = mt_thread_table_get(&json->threads, id->pid, id->tid, sizeof(*json->thread));
	if (!json->thread || !process)
		return mt_error_no_memory();
	if (id->process && id->process != process->name) {
		process->name = id->process;
		mt_try(write_metadata(json, "process_name", id->pid, id->pid, id->process));
	}
	if (!id->name || id->name == json->thread->name)
		return NULL;
	json->thread->name = id->name;
	return write_metadata(json, "thread_name", id->pid, id->tid, id->name);
}

static struct mt_error *json_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct json *json = self;

	(void)segment;
	for (; json->thread->open_ends; json->thread->open_ends--)
		mt_try(write_end(json, json->thread->open_ns, NULL));
	return NULL;
}

/* An arrow, from or to the slice that is open. */
static struct mt_error *write_flow(struct json *json, char phase, uint64_t time_ns, uint64_t number)
{
	start_timed(json, phase, time_ns);
	mt_str_appendf(&json->line, ",\"id\":%llu,\"bp\":\"e\"", (unsigned long long)number);
	put_name(json, MT_FLOW_NAME, MT_CATEGORY_FLOW);
	return end_event(json);
}

static struct mt_error *json_begin(void *self, const struct mt_slice *slice)
{
	struct json *json = self;
	struct mt_args args;

	mt_args_of_slice(&args, slice);
	start_timed(json, 'B', slice->time_ns);
	put_name(json, mt_slice_name(slice), mt_slice_category(slice));
	put_args(json, &args);
	mt_try(end_event(json));
	return slice->flow ? write_flow(json, 'f', slice->time_ns, slice->flow) : NULL;
}

static struct mt_error *json_end(void *self, const struct mt_slice_end *end)
{
	struct json *json = self;
	struct mt_args args;

	if (end->flags & MT_SLICE_END_OPEN) {
		json->thread->open_ends++;
		json->thread->open_ns = end->time_ns;
		return NULL;
	}
	mt_args_of_end(&args, end);
	return write_end(json, end->time_ns, &args);
}

static struct mt_error *write_instant(struct json *json, uint64_t time_ns, const char *name,
				      const char *category, const struct mt_args *args)
{
	start_timed(json, 'i', time_ns);
	mt_str_append(&json->line, ",\"s\":\"t\""); /* its scope: the thread */
	put_name(json, name, category);
	put_args(json, args);
	return end_event(json);
}

static struct mt_error *json_instant(void *self, const struct mt_instant *instant)
{
	struct mt_args args;

	if (instant->flow)
		mt_try(write_flow(self, 's', instant->time_ns, instant->flow));
	mt_args_of_instant(&args, instant);
	return write_instant(self, instant->time_ns, mt_instant_name(instant),
			     mt_instant_category(instant), &args);
}

static struct mt_error *json_counter(void *self, const struct mt_counter *counter)
{
	struct json *json = self;
	struct mt_args args;

	mt_args_of_counter(&args, counter);
	start_timed(json, 'C', counter->time_ns);
	mt_str_appendf(&json->line, ",\"id\":%d", counter->tid);
	put_name(json, counter->name, MT_CATEGORY_COUNTER);
	put_args(json, &args);
	return end_event(json);
}

static struct mt_error *json_segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct mt_args args;

	if (!segment->snapshot)
		return NULL;
	mt_args_of_snapshot(&args, segment);
	return write_instant(self, segment->end_ns, MT_SNAPSHOT_NAME, MT_CATEGORY_MARK, &args);
}

static struct mt_error *json_finish(void *self)
{
	struct json *json = self;

	mt_str_append(&json->line, "\n]}\n");
	return mt_stream_write_str(json->stream, &json->line);
}

static void json_destroy(void *self)
{
	struct json *json = self;

	if (!json)
		return;
	mt_thread_table_deinit(&json->threads);
	mt_thread_table_deinit(&json->processes);
	mt_str_deinit(&json->line);
	mt_str_deinit(&json->scratch);
	free(json);
}

static struct mt_error *json_create(struct mt_stream *stream,
				    const struct mt_trace_writer_options *options, void **self)
{
	struct json *json = calloc(1, sizeof(*json));

	*self = json;
	if (!json)
		return mt_error_no_memory();
	json->stream = stream;
	mt_str_append(&json->line, "{\"displayTimeUnit\":\"ns\",\"otherData\":{"
				   "\"producer\":\"mtrace\"");
	if (options->command) {
		mt_str_append(&json->line, ",\"command\":");
		put_string(json, options->command);
	}
	mt_str_append(&json->line, "},\"traceEvents\":[");
	return mt_stream_write_str(json->stream, &json->line);
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = json_thread,
    .segment_begin = json_segment_begin,
    .begin = json_begin,
    .end = json_end,
    .instant = json_instant,
    .counter = json_counter,
    .segment_end = json_segment_end,
};

static struct mt_slice_sink json_sink(void *self)
{
	return (struct mt_slice_sink){&sink_ops, self};
}

const struct mt_trace_format mt_format_json = {
    .name = "json",
    .ending = ".json",
    .create = json_create,
    .finish = json_finish,
    .destroy = json_destroy,
    .sink = json_sink,
};
