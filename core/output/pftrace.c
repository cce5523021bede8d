/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Perfetto's own format: a trace of packets in the protobuf encoding.
 *
 * - Times are nanoseconds of the trace's clock, as they are in .fxt: no clock is named.
 * - Calls that never returned have no end, and ends are kept back, as in fxt.c; very deep calls are
 *   left out: see output/levels.h.
 * - Where a file and line are known they are the event's source location, not arguments.
 * - A counter's track lies below that of its thread. */
#include "output/format.h"

#include "base/array.h"
#include "base/utf8.h"
#include "output/levels.h"
#include "output/pftrace_record.h"
#include "output/slice_shape.h"
#include "output/thread_table.h"

#include <stdlib.h>

#define PF_END_BYTES 64 /* a type, and three flags */
#define END_FLAGS    16 /* above all MT_SLICE_END_… */

struct pf_thread {
	struct mt_thread_entry entry;
	const char *name; /* as the file has it */
	uint64_t uuid;
	uint32_t open_ends; /* ends that are kept back, at open_ns */
	uint64_t open_ns;
};

/* What is told of an end of which no more is known than flags. */
struct pf_end {
	size_t size; /* 0: not made yet */
	uint8_t bytes[PF_END_BYTES];
};

struct pf_process {
	struct mt_thread_entry entry;
	const char *name;
	uint64_t uuid;
};

struct pf_counter {
	const char *name;
	uint64_t thread_uuid;
	uint64_t uuid;
};

struct pftrace {
	struct mt_stream *stream;
	struct mt_thread_table threads;
	struct mt_thread_table processes; /* with tid 0 */
	MT_ARRAY(struct pf_counter) counters;
	uint64_t last_uuid;

	struct pf_thread *thread; /* whose segment it is */
	struct mt_levels levels;

	struct mt_str scratch;
	struct mt_pf_message event;
	struct mt_pf_strings strings;
	struct mt_slice_shapes shapes;
	struct pf_end ends[END_FLAGS]; /* by their flags */
};

/* Events. */

static void put_arg(struct mt_pf_message *event, const struct mt_arg *arg, uint64_t string)
{
	struct mt_pf_message annotation;

	annotation.size = 0;
	mt_pf_number(&annotation, MT_PF_ANNOTATION_NAME_IID, arg->name + 1u);
	switch (arg->type) {
	case MT_ARG_TYPE_POINTER:
		mt_pf_number(&annotation, MT_PF_ANNOTATION_POINTER, arg->number);
		break;
	case MT_ARG_TYPE_INTEGER:
		mt_pf_number(&annotation, MT_PF_ANNOTATION_UINT, arg->number);
		break;
	case MT_ARG_TYPE_REAL:
		mt_pf_fixed(&annotation, MT_PF_ANNOTATION_DOUBLE, arg->number);
		break;
	case MT_ARG_TYPE_BOOL:
		mt_pf_number(&annotation, MT_PF_ANNOTATION_BOOL, arg->number != 0);
		break;
	default:
		mt_pf_number(&annotation, MT_PF_ANNOTATION_STRING_IID, string);
	}
	mt_pf_message(event, MT_PF_EVENT_ANNOTATION, &annotation);
}

/* The file and line among ARGS, in FUNCTION. */
static struct mt_error *put_location(struct pftrace *pftrace, const struct mt_args *args,
				     const struct mt_function *function)
{
	const char *file = NULL;
	uint32_t line = 0;
	uint64_t iid;

	for (size_t i = 0; i < args->count; i++) {
		if (args->items[i].name == MT_ARG_FILE)
			file = args->items[i].text;
		if (args->items[i].name == MT_ARG_LINE)
			line = (uint32_t)args->items[i].number;
	}
	if (!file)
		return NULL;
	mt_try(mt_pf_string(&pftrace->strings, MT_PF_LOCATION, file,
			    function ? function->name : NULL, line, &iid));
	mt_pf_number(&pftrace->event, MT_PF_EVENT_LOCATION_IID, iid);
	return NULL;
}

static struct mt_error *put_args(struct pftrace *pftrace, const struct mt_args *args,
				 const struct mt_function *function)
{
	uint64_t string = 0;

	for (size_t i = 0; i < args->count; i++) {
		const struct mt_arg *arg = &args->items[i];
		uint32_t line = arg->type == MT_ARG_TYPE_PLACE ? (uint32_t)arg->number : 0;

		if (arg->name == MT_ARG_FILE || arg->name == MT_ARG_LINE)
			continue;
		if (arg->text)
			mt_try(mt_pf_string(&pftrace->strings, MT_PF_STRING, arg->text, NULL, line,
					    &string));
		put_arg(&pftrace->event, arg, string);
	}
	return put_location(pftrace, args, function);
}

/* What is told of an event, in PFTRACE->event.  No CATEGORY: an end, which has no name either. */
static struct mt_error *start_event(struct pftrace *pftrace, enum mt_pf_event_type type,
				    const char *category, const char *name,
				    const struct mt_args *args, const struct mt_function *function)
{
	uint64_t category_iid, name_iid;

	mt_try(mt_pf_strings_reserve(&pftrace->strings));
	pftrace->event.size = 0;
	mt_pf_number(&pftrace->event, MT_PF_EVENT_TYPE, type);
	if (category) {
		mt_try(mt_pf_string(&pftrace->strings, MT_PF_CATEGORY, category, NULL, 0,
				    &category_iid));
		mt_try(mt_pf_string(&pftrace->strings, MT_PF_EVENT_NAME, name, NULL, 0, &name_iid));
		mt_pf_number(&pftrace->event, MT_PF_EVENT_CATEGORY_IID, category_iid);
		mt_pf_number(&pftrace->event, MT_PF_EVENT_NAME_IID, name_iid);
	}
	return args ? put_args(pftrace, args, function) : NULL;
}

static struct mt_error *send_event(struct pftrace *pftrace, uint64_t time_ns)
{
	return mt_pf_send_event(pftrace->stream, time_ns, pftrace->thread->uuid,
				pftrace->event.bytes, pftrace->event.size);
}

static struct mt_error *write_end_with(struct pftrace *pftrace, uint64_t time_ns,
				       const struct mt_args *args)
{
	mt_try(start_event(pftrace, MT_PF_SLICE_END, NULL, NULL, args, NULL));
	return send_event(pftrace, time_ns);
}

static struct mt_error *make_end(struct pftrace *pftrace, uint8_t flags, struct pf_end *made)
{
	struct mt_args args;

	mt_args_of_end(&args, &(struct mt_slice_end){.flags = flags});
	mt_try(start_event(pftrace, MT_PF_SLICE_END, NULL, NULL, &args, NULL));
	made->size = pftrace->event.size;
	memcpy(made->bytes, pftrace->event.bytes, made->size);
	return NULL;
}

/* The end of which no more than FLAGS is known. */
static struct mt_error *write_end(struct pftrace *pftrace, uint64_t time_ns, uint8_t flags)
{
	struct pf_end *end = &pftrace->ends[flags % END_FLAGS];

	mt_try(mt_pf_strings_reserve(&pftrace->strings));
	if (!end->size)
		mt_try(make_end(pftrace, flags, end));
	return mt_pf_send_event(pftrace->stream, time_ns, pftrace->thread->uuid, end->bytes,
				end->size);
}

static struct mt_error *start_begin(struct pftrace *pftrace, const struct mt_slice *slice)
{
	struct mt_args args;

	mt_args_of_slice(&args, slice);
	return start_event(pftrace, MT_PF_SLICE_BEGIN, mt_slice_category(slice),
			   mt_slice_name(slice), &args, slice->function);
}

static struct mt_error *write_begin(struct pftrace *pftrace, const struct mt_slice *slice)
{
	struct mt_pf_message *event = &pftrace->event;

	if (!mt_slice_has_shape(slice)) {
		mt_try(start_begin(pftrace, slice));
		if (slice->flow)
			mt_pf_fixed(event, MT_PF_EVENT_FLOW_END, slice->flow);
		return send_event(pftrace, slice->time_ns);
	}

	const struct mt_slice_shape *shape =
	    mt_slice_shape_find(&pftrace->shapes, slice, slice->flags, pftrace->strings.generation);
	if (!shape) {
		mt_try(start_begin(pftrace, slice));
		if (event->size > MT_SLICE_SHAPE_BYTES)
			return send_event(pftrace, slice->time_ns);
		shape = mt_slice_shape_keep(&pftrace->shapes, slice, slice->flags,
					    pftrace->strings.generation, event->bytes, event->size);
	}
	return mt_pf_send_event(pftrace->stream, slice->time_ns, pftrace->thread->uuid,
				shape->bytes, shape->size);
}

/* Tracks. */

/* Append NAME, if there is one, as well-formed text. */
static struct mt_error *put_name(struct pftrace *pftrace, struct mt_pf_message *message,
				 unsigned field, const char *name)
{
	struct mt_str *text = &pftrace->scratch;

	if (!name || !*name)
		return NULL;
	mt_str_clear(text);
	mt_utf8_append(text, name, MT_PF_NAME_MAX);
	if (text->failed)
		return mt_error_no_memory();
	mt_pf_bytes(message, field, text->text, text->length);
	return NULL;
}

static struct mt_error *write_process(struct pftrace *pftrace, pid_t pid, const char *name)
{
	struct pf_process *process =
	    mt_thread_table_get(&pftrace->processes, pid, 0, sizeof(*process));
	struct mt_pf_message track = {.size = 0}, part = {.size = 0};

	if (!process)
		return mt_error_no_memory();
	if (!name || !*name)
		name = process->name;
	if (process->uuid && name == process->name)
		return NULL;
	if (!process->uuid)
		process->uuid = ++pftrace->last_uuid;
	process->name = name;
	mt_pf_number(&part, MT_PF_PROCESS_PID, (uint32_t)pid);
	mt_try(put_name(pftrace, &part, MT_PF_PROCESS_NAME, name));
	mt_pf_number(&track, MT_PF_TRACK_UUID, process->uuid);
	mt_pf_message(&track, MT_PF_TRACK_PROCESS, &part);
	return mt_pf_send_track(pftrace->stream, &track);
}

/* The thread, whose track is told when it is new, or gets a name. */
static struct mt_error *write_thread(struct pftrace *pftrace, pid_t pid, pid_t tid,
				     const char *name, struct pf_thread **out)
{
	struct pf_thread *thread =
	    mt_thread_table_get(&pftrace->threads, pid, tid, sizeof(*thread));
	struct mt_pf_message track = {.size = 0}, part = {.size = 0};

	*out = thread;
	if (!thread)
		return mt_error_no_memory();
	if (!name || !*name)
		name = thread->name;
	if (thread->uuid && name == thread->name)
		return NULL;
	if (!thread->uuid)
		thread->uuid = ++pftrace->last_uuid;
	thread->name = name;
	mt_pf_number(&part, MT_PF_THREAD_PID, (uint32_t)pid);
	mt_pf_number(&part, MT_PF_THREAD_TID, (uint32_t)tid);
	mt_try(put_name(pftrace, &part, MT_PF_THREAD_NAME, name));
	mt_pf_number(&track, MT_PF_TRACK_UUID, thread->uuid);
	mt_pf_message(&track, MT_PF_TRACK_THREAD, &part);
	return mt_pf_send_track(pftrace->stream, &track);
}

static struct mt_error *write_counter(struct pftrace *pftrace, const char *name,
				      uint64_t thread_uuid, uint64_t *uuid)
{
	const struct mt_pf_message nothing = {.size = 0};
	struct mt_pf_message track = {.size = 0};
	struct pf_counter counter = {.name = name, .thread_uuid = thread_uuid};

	for (size_t i = pftrace->counters.count; i-- > 0;) {
		const struct pf_counter *known = &pftrace->counters.items[i];

		if (known->name == name && known->thread_uuid == thread_uuid) {
			*uuid = known->uuid;
			return NULL;
		}
	}
	*uuid = counter.uuid = ++pftrace->last_uuid;
	if (mt_array_push(&pftrace->counters, counter))
		return mt_error_no_memory();
	mt_pf_number(&track, MT_PF_TRACK_UUID, counter.uuid);
	mt_pf_number(&track, MT_PF_TRACK_PARENT_UUID, thread_uuid);
	mt_try(put_name(pftrace, &track, MT_PF_TRACK_NAME, name));
	mt_pf_message(&track, MT_PF_TRACK_COUNTER, &nothing);
	return mt_pf_send_track(pftrace->stream, &track);
}

/* The sink. */

static struct mt_error *pftrace_thread(void *self, const struct mt_thread *id)
{
	struct pftrace *pftrace = self;

	mt_try(write_process(pftrace, id->pid, id->process));
	return write_thread(pftrace, id->pid, id->tid, id->name, &pftrace->thread);
}

static struct mt_error *pftrace_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct pftrace *pftrace = self;

	(void)segment;
	pftrace->levels = (struct mt_levels){0};
	for (; pftrace->thread->open_ends; pftrace->thread->open_ends--)
		mt_try(write_end(pftrace, pftrace->thread->open_ns, 0));
	return NULL;
}

static inline struct mt_error *end_deeper(struct pftrace *pftrace)
{
	struct mt_args args;
	uint64_t end_ns;

	if (!pftrace->levels.left_out || !mt_levels_leave(&pftrace->levels, &end_ns, &args))
		return NULL;
	return write_end_with(pftrace, end_ns, &args);
}

static struct mt_error *pftrace_begin(void *self, const struct mt_slice *slice)
{
	struct pftrace *pftrace = self;

	switch (mt_levels_begin(&pftrace->levels, slice->time_ns)) {
	case MT_LEVEL_SHOWN:
		return write_begin(pftrace, slice);
	case MT_LEVEL_FIRST_DEEPER:
		mt_try(start_event(pftrace, MT_PF_SLICE_BEGIN, MT_CATEGORY_CALL, MT_DEEPER_NAME,
				   NULL, NULL));
		return send_event(pftrace, slice->time_ns);
	default:
		return NULL;
	}
}

static struct mt_error *pftrace_end(void *self, const struct mt_slice_end *end)
{
	struct pftrace *pftrace = self;
	struct mt_args args;

	if (!pftrace->levels.depth || !mt_levels_end(&pftrace->levels, end->time_ns))
		return NULL;
	mt_try(end_deeper(pftrace));
	if (end->flags & MT_SLICE_END_OPEN) {
		pftrace->thread->open_ends++;
		pftrace->thread->open_ns = end->time_ns;
		return NULL;
	}
	if (!end->result && !end->samples)
		return write_end(pftrace, end->time_ns, end->flags);
	mt_args_of_end(&args, end);
	return write_end_with(pftrace, end->time_ns, &args);
}

static struct mt_error *pftrace_instant(void *self, const struct mt_instant *instant)
{
	struct pftrace *pftrace = self;
	struct mt_args args;

	if (pftrace->levels.depth <= MT_CALL_LEVELS)
		mt_try(end_deeper(pftrace));
	mt_args_of_instant(&args, instant);
	mt_try(start_event(pftrace, MT_PF_INSTANT, mt_instant_category(instant),
			   mt_instant_name(instant), &args, instant->function));
	if (instant->flow)
		mt_pf_fixed(&pftrace->event, MT_PF_EVENT_FLOW, instant->flow);
	return send_event(pftrace, instant->time_ns);
}

static struct mt_error *pftrace_counter(void *self, const struct mt_counter *counter)
{
	struct pftrace *pftrace = self;
	struct pf_thread *thread = NULL;
	uint64_t uuid = 0;

	mt_try(write_thread(pftrace, pftrace->thread->entry.key.pid, counter->tid, NULL, &thread));
	mt_try(write_counter(pftrace, counter->name, thread->uuid, &uuid));
	pftrace->event.size = 0;
	mt_pf_number(&pftrace->event, MT_PF_EVENT_TYPE, MT_PF_COUNTER);
	if (counter->is_real) {
		uint64_t bits;

		memcpy(&bits, &counter->real, sizeof(bits));
		mt_pf_fixed(&pftrace->event, MT_PF_EVENT_DOUBLE_COUNTER_VALUE, bits);
	} else {
		mt_pf_number(&pftrace->event, MT_PF_EVENT_COUNTER_VALUE, counter->value);
	}
	return mt_pf_send_event(pftrace->stream, counter->time_ns, uuid, pftrace->event.bytes,
				pftrace->event.size);
}

static struct mt_error *pftrace_segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct pftrace *pftrace = self;
	struct mt_args args;

	mt_try(end_deeper(pftrace));
	if (!segment->snapshot)
		return NULL;
	mt_args_of_snapshot(&args, segment);
	mt_try(
	    start_event(pftrace, MT_PF_INSTANT, MT_CATEGORY_MARK, MT_SNAPSHOT_NAME, &args, NULL));
	return send_event(pftrace, segment->end_ns);
}

static void pftrace_destroy(void *self)
{
	struct pftrace *pftrace = self;

	if (!pftrace)
		return;
	mt_thread_table_deinit(&pftrace->threads);
	mt_thread_table_deinit(&pftrace->processes);
	mt_array_deinit(&pftrace->counters);
	mt_str_deinit(&pftrace->scratch);
	mt_pf_strings_deinit(&pftrace->strings);
	free(pftrace);
}

static struct mt_error *pftrace_create(struct mt_stream *stream,
				       const struct mt_trace_writer_options *options, void **self)
{
	struct pftrace *pftrace = calloc(1, sizeof(*pftrace));

	(void)options;
	*self = pftrace;
	if (!pftrace)
		return mt_error_no_memory();
	pftrace->stream = pftrace->strings.stream = stream;
	return mt_pf_strings_begin(&pftrace->strings);
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = pftrace_thread,
    .segment_begin = pftrace_segment_begin,
    .begin = pftrace_begin,
    .end = pftrace_end,
    .instant = pftrace_instant,
    .counter = pftrace_counter,
    .segment_end = pftrace_segment_end,
};

static struct mt_slice_sink pftrace_sink(void *self)
{
	return (struct mt_slice_sink){&sink_ops, self};
}

const struct mt_trace_format mt_format_pftrace = {
    .name = "pftrace",
    .ending = ".pftrace",
    .create = pftrace_create,
    .destroy = pftrace_destroy,
    .sink = pftrace_sink,
};
