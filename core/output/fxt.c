/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Fuchsia trace format, as Perfetto's importer takes it without a complaint.
 *
 * - Calls are pairs of begin and end events: complete events lose parents when times tie.
 * - An end needs no name; a call that never returned gets no end, and the viewer draws it fading
 *   out.  But calls that are open at the end of a thread's segment must not run on into its next
 *   one: so their ends are kept back until that begins, or for good.
 * - Very deep calls are left out: see output/levels.h. */
#include "output/format.h"

#include "base/utf8.h"
#include "output/fxt_record.h"
#include "output/levels.h"
#include "output/slice_shape.h"
#include "output/thread_table.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_SLOTS 255

#define PROVIDER_ID   1
#define PROVIDER_NAME "mtrace"
#define NS_PER_SECOND 1000000000

#define NAME_MAX_BYTES 255 /* of a process or thread */

/* Header, time, and one for each flag. */
#define END_WORDS 5
#define END_FLAGS 16 /* above all MT_SLICE_END_… */

struct fxt_thread {
	struct mt_thread_entry entry;
	const char *name;   /* as the file has it */
	uint8_t slot;       /* in the file's table of threads; 0: none */
	uint32_t open_ends; /* ends that are kept back, at open_ns */
	uint64_t open_ns;
};

/* An end without a thread and a time: its arguments are flags. */
struct fxt_end {
	uint64_t words[END_WORDS];
	unsigned count; /* 0: not made yet */
};

struct fxt_process {
	struct mt_thread_entry entry;
	const char *name;
};

struct fxt {
	struct mt_stream *stream;
	struct mt_thread_table threads;
	struct mt_thread_table processes; /* with tid 0 */
	struct fxt_thread *slots[THREAD_SLOTS + 1];
	uint8_t last_slot;

	struct fxt_thread *thread; /* whose segment it is */
	struct mt_levels levels;

	struct mt_str scratch;
	struct mt_fxt_record record;
	struct mt_fxt_strings strings;
	struct mt_slice_shapes shapes;
	struct fxt_end ends[END_FLAGS]; /* by their flags */
};

static struct mt_error *write_head(struct fxt *fxt)
{
	struct mt_fxt_record *record = &fxt->record;
	const size_t name_length = sizeof(PROVIDER_NAME) - 1;

	/* The magic is a record of trace information; its size is already in it. */
	mt_try(mt_stream_write(fxt->stream, &(uint64_t){htole64(MT_FXT_MAGIC)}, sizeof(uint64_t)));
	mt_fxt_start(record, MT_FXT_METADATA,
		     1 << 16 | (uint64_t)PROVIDER_ID << 20 | (uint64_t)name_length << 52);
	mt_fxt_text(record, PROVIDER_NAME, name_length);
	mt_try(mt_fxt_send(record, fxt->stream));
	mt_fxt_start(record, MT_FXT_METADATA, 2 << 16 | (uint64_t)PROVIDER_ID << 20);
	mt_try(mt_fxt_send(record, fxt->stream));
	mt_fxt_start(record, MT_FXT_INITIALIZATION, 0);
	mt_fxt_word(record, NS_PER_SECOND);
	mt_try(mt_fxt_send(record, fxt->stream));

	for (unsigned i = 0; i < MT_ARG_NAMES; i++)
		mt_try(mt_fxt_fixed_string(&fxt->strings, (uint16_t)(i + 1), mt_arg_name_text(i)));
	return NULL;
}

static uint64_t arg_header(enum mt_arg_name name, unsigned type, unsigned words, uint32_t value)
{
	return type | words << 4 | (uint64_t)(name + 1) << 16 | (uint64_t)value << 32;
}

enum {
	ARG_UINT32 = 2,
	ARG_UINT64 = 4,
	ARG_DOUBLE = 5,
	ARG_STRING = 6,
	ARG_POINTER = 7,
	ARG_KOID = 8,
	ARG_BOOL = 9
};

static void put_arg(struct mt_fxt_record *record, const struct mt_arg *arg, uint16_t string)
{
	switch (arg->type) {
	case MT_ARG_TYPE_POINTER:
		mt_fxt_word(record, arg_header(arg->name, ARG_POINTER, 2, 0));
		mt_fxt_word(record, arg->number);
		break;
	case MT_ARG_TYPE_INTEGER:
		if (arg->number <= UINT32_MAX) {
			mt_fxt_word(record,
				    arg_header(arg->name, ARG_UINT32, 1, (uint32_t)arg->number));
		} else {
			mt_fxt_word(record, arg_header(arg->name, ARG_UINT64, 2, 0));
			mt_fxt_word(record, arg->number);
		}
		break;
	case MT_ARG_TYPE_REAL:
		mt_fxt_word(record, arg_header(arg->name, ARG_DOUBLE, 2, 0));
		mt_fxt_word(record, arg->number);
		break;
	case MT_ARG_TYPE_BOOL:
		mt_fxt_word(record, arg_header(arg->name, ARG_BOOL, 1, arg->number != 0));
		break;
	default:
		mt_fxt_word(record, arg_header(arg->name, ARG_STRING, 1, string));
	}
}

static struct mt_error *start_event(struct fxt *fxt, enum mt_fxt_event_type type, uint64_t time_ns,
				    const char *category, const char *name,
				    const struct mt_args *args)
{
	struct mt_fxt_record *record = &fxt->record;
	size_t count = args ? args->count : 0;
	uint16_t category_index, name_index, strings[MT_ARGS_MAX];

	/* Before the event: String records stand in front of their use. */
	mt_try(mt_fxt_string(&fxt->strings, category, 0, &category_index));
	mt_try(mt_fxt_string(&fxt->strings, name, 0, &name_index));
	for (size_t i = 0; i < count; i++) {
		const struct mt_arg *arg = &args->items[i];
		uint32_t line = arg->type == MT_ARG_TYPE_PLACE ? (uint32_t)arg->number : 0;

		mt_try(mt_fxt_string(&fxt->strings, arg->text, line, &strings[i]));
	}
	mt_fxt_start(record, MT_FXT_EVENT,
		     (uint64_t)type << 16 | (uint64_t)count << MT_FXT_ARGS_SHIFT |
			 (uint64_t)fxt->thread->slot << MT_FXT_THREAD_SHIFT |
			 (uint64_t)category_index << 32 | (uint64_t)name_index << 48);
	mt_fxt_word(record, time_ns);
	for (size_t i = 0; i < count; i++)
		put_arg(record, &args->items[i], strings[i]);
	return NULL;
}

static struct mt_error *write_event(struct fxt *fxt, enum mt_fxt_event_type type, uint64_t time_ns,
				    const char *category, const char *name,
				    const struct mt_args *args)
{
	mt_try(start_event(fxt, type, time_ns, category, name, args));
	return mt_fxt_send(&fxt->record, fxt->stream);
}

/* FXT's record without its thread, for any. */
static uint64_t any_thread(const struct mt_fxt_record *record)
{
	return (record->words[0] | htole64((uint64_t)record->count << MT_FXT_SIZE_SHIFT)) &
	       htole64(~((uint64_t)UINT8_MAX << MT_FXT_THREAD_SHIFT));
}

/* The words that come next, at least COUNT of them. */
static struct mt_error *words_room(struct fxt *fxt, size_t count, uint64_t **words)
{
	void *room = NULL;

	mt_try(mt_stream_room(fxt->stream, count * sizeof(uint64_t), &room));
	*words = room;
	return NULL;
}

static struct mt_error *make_end(struct fxt *fxt, uint8_t flags, struct fxt_end *made)
{
	struct mt_args args;

	mt_args_of_end(&args, &(struct mt_slice_end){.flags = flags});
	mt_try(start_event(fxt, MT_FXT_END, 0, NULL, NULL, &args));
	fxt->record.words[0] = any_thread(&fxt->record);
	made->count = (unsigned)fxt->record.count;
	memcpy(made->words, fxt->record.words, made->count * sizeof(made->words[0]));
	return NULL;
}

/* The end of which no more than FLAGS is known. */
static struct mt_error *write_end(struct fxt *fxt, uint64_t time_ns, uint8_t flags)
{
	struct fxt_end *end = &fxt->ends[flags % END_FLAGS];
	uint64_t *words = NULL;

	if (!end->count)
		mt_try(make_end(fxt, flags, end));
	mt_try(words_room(fxt, END_WORDS, &words));
	memcpy(words, end->words, sizeof(end->words));
	words[0] |= htole64((uint64_t)fxt->thread->slot << MT_FXT_THREAD_SHIFT);
	words[1] = htole64(time_ns);
	mt_stream_give_back(fxt->stream, (END_WORDS - end->count) * sizeof(uint64_t));
	return NULL;
}

/* The record that begins SLICE, in FXT->record. */
static struct mt_error *start_begin(struct fxt *fxt, const struct mt_slice *slice)
{
	struct mt_args args;

	mt_args_of_slice(&args, slice);
	return start_event(fxt, MT_FXT_BEGIN, slice->time_ns, mt_slice_category(slice),
			   mt_slice_name(slice), &args);
}

/* A shape has no word for the time.  It is of an estimated one, whose flag is its last word, and
 * serves the others too. */
static const struct mt_slice_shape *find_shape(const struct fxt *fxt, const struct mt_slice *slice)
{
	return mt_slice_shape_find(&fxt->shapes, slice, slice->flags | MT_SLICE_TIME_ESTIMATED,
				   fxt->strings.generation);
}

/* *SHAPE stays NULL: it is too large to be kept. */
static struct mt_error *make_shape(struct fxt *fxt, const struct mt_slice *slice,
				   const struct mt_slice_shape **shape)
{
	struct mt_fxt_record *record = &fxt->record;
	struct mt_slice estimated = *slice;

	estimated.flags |= MT_SLICE_TIME_ESTIMATED;
	mt_try(start_begin(fxt, &estimated));
	record->words[1] = any_thread(record);
	if ((record->count - 1) * sizeof(record->words[0]) <= MT_SLICE_SHAPE_BYTES)
		*shape = mt_slice_shape_keep(&fxt->shapes, slice, estimated.flags,
					     fxt->strings.generation, &record->words[1],
					     (record->count - 1) * sizeof(record->words[0]));
	return NULL;
}

static struct mt_error *send_shape(struct fxt *fxt, const struct mt_slice_shape *shape,
				   const struct mt_slice *slice)
{
	const uint64_t one_less = htole64(1u << MT_FXT_SIZE_SHIFT | 1u << MT_FXT_ARGS_SHIFT);
	const bool is_exact = !(slice->flags & MT_SLICE_TIME_ESTIMATED);
	uint64_t *words = NULL;

	mt_try(words_room(fxt, 1 + sizeof(shape->bytes) / sizeof(words[0]), &words));
	memcpy(words + 1, shape->bytes, sizeof(shape->bytes));
	words[0] = words[1] | htole64((uint64_t)fxt->thread->slot << MT_FXT_THREAD_SHIFT);
	words[0] -= is_exact ? one_less : 0;
	words[1] = htole64(slice->time_ns);
	mt_stream_give_back(fxt->stream,
			    sizeof(shape->bytes) - shape->size + (is_exact ? sizeof(words[0]) : 0));
	return NULL;
}

static struct mt_error *write_begin(struct fxt *fxt, const struct mt_slice *slice)
{
	if (mt_slice_has_shape(slice)) {
		const struct mt_slice_shape *shape = find_shape(fxt, slice);

		if (!shape)
			mt_try(make_shape(fxt, slice, &shape));
		if (shape)
			return send_shape(fxt, shape, slice);
	}
	mt_try(start_begin(fxt, slice));
	return mt_fxt_send(&fxt->record, fxt->stream);
}

/* Names and their kernel objects. */

static struct mt_error *start_object(struct fxt *fxt, enum mt_fxt_object_type type, unsigned args,
				     uint64_t koid, const char *name)
{
	struct mt_str *text = &fxt->scratch;

	mt_str_clear(text);
	mt_utf8_append(text, name, NAME_MAX_BYTES);
	if (text->failed)
		return mt_error_no_memory();
	mt_fxt_start(&fxt->record, MT_FXT_KERNEL_OBJECT,
		     (uint64_t)type << 16 | (text->length ? 0x8000 | text->length : 0) << 24 |
			 (uint64_t)args << 40);
	mt_fxt_word(&fxt->record, koid);
	mt_fxt_text(&fxt->record, text->text, text->length);
	return NULL;
}

/* Slots go round: the one that is taken was given out longest ago. */
static struct mt_error *take_slot(struct fxt *fxt, const struct mt_thread *id)
{
	uint8_t slot = fxt->last_slot % THREAD_SLOTS + 1;

	if (fxt->thread->slot)
		return NULL;
	if (fxt->slots[slot])
		fxt->slots[slot]->slot = 0;
	fxt->slots[slot] = fxt->thread;
	fxt->thread->slot = fxt->last_slot = slot;
	mt_fxt_start(&fxt->record, MT_FXT_THREAD, (uint64_t)slot << 16);
	mt_fxt_word(&fxt->record, (uint32_t)id->pid);
	mt_fxt_word(&fxt->record, (uint32_t)id->tid);
	return mt_fxt_send(&fxt->record, fxt->stream);
}

static struct mt_error *fxt_thread(void *self, const struct mt_thread *id)
{
	struct fxt *fxt = self;
	struct fxt_process *process =
	    mt_thread_table_get(&fxt->processes, id->pid, 0, sizeof(*process));

	fxt->thread = mt_thread_table_get(&fxt->threads, id->pid, id->tid, sizeof(*fxt->thread));
	if (!fxt->thread || !process)
		return mt_error_no_memory();
	if (id->process && *id->process && id->process != process->name) {
		process->name = id->process;
		mt_try(start_object(fxt, MT_FXT_PROCESS, 0, (uint32_t)id->pid, id->process));
		mt_try(mt_fxt_send(&fxt->record, fxt->stream));
	}
	if (id->name && *id->name && id->name != fxt->thread->name) {
		fxt->thread->name = id->name;
		mt_try(start_object(fxt, MT_FXT_THREAD_OBJECT, 1, (uint32_t)id->tid, id->name));
		/* Without its process as a koid the importer puts the name on a thread that is
		 * not. */
		mt_fxt_word(&fxt->record, arg_header(MT_ARG_PROCESS, ARG_KOID, 2, 0));
		mt_fxt_word(&fxt->record, (uint32_t)id->pid);
		mt_try(mt_fxt_send(&fxt->record, fxt->stream));
	}
	return take_slot(fxt, id);
}

/* Slices. */

static struct mt_error *fxt_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct fxt *fxt = self;

	(void)segment;
	fxt->levels = (struct mt_levels){0};
	for (; fxt->thread->open_ends; fxt->thread->open_ends--)
		mt_try(write_end(fxt, fxt->thread->open_ns, 0));
	return NULL;
}

static inline struct mt_error *end_deeper(struct fxt *fxt)
{
	struct mt_args args;
	uint64_t end_ns;

	if (!fxt->levels.left_out || !mt_levels_leave(&fxt->levels, &end_ns, &args))
		return NULL;
	return write_event(fxt, MT_FXT_END, end_ns, NULL, NULL, &args);
}

/* An arrow, from or to the slice that is open. */
static struct mt_error *write_flow(struct fxt *fxt, enum mt_fxt_event_type type, uint64_t time_ns,
				   uint64_t number)
{
	mt_try(start_event(fxt, type, time_ns, MT_CATEGORY_FLOW, MT_FLOW_NAME, NULL));
	mt_fxt_word(&fxt->record, number);
	return mt_fxt_send(&fxt->record, fxt->stream);
}

static struct mt_error *fxt_begin(void *self, const struct mt_slice *slice)
{
	struct fxt *fxt = self;

	switch (mt_levels_begin(&fxt->levels, slice->time_ns)) {
	case MT_LEVEL_SHOWN:
		mt_try(write_begin(fxt, slice));
		return slice->flow ? write_flow(fxt, MT_FXT_FLOW_END, slice->time_ns, slice->flow)
				   : NULL;
	case MT_LEVEL_FIRST_DEEPER:
		return write_event(fxt, MT_FXT_BEGIN, slice->time_ns, MT_CATEGORY_CALL,
				   MT_DEEPER_NAME, NULL);
	default:
		return NULL;
	}
}

static struct mt_error *fxt_end(void *self, const struct mt_slice_end *end)
{
	struct fxt *fxt = self;
	struct mt_args args;

	if (!fxt->levels.depth || !mt_levels_end(&fxt->levels, end->time_ns))
		return NULL;
	mt_try(end_deeper(fxt));
	if (end->flags & MT_SLICE_END_OPEN) {
		fxt->thread->open_ends++;
		fxt->thread->open_ns = end->time_ns;
		return NULL;
	}
	if (!end->result && !end->samples)
		return write_end(fxt, end->time_ns, end->flags);
	mt_args_of_end(&args, end);
	return write_event(fxt, MT_FXT_END, end->time_ns, NULL, NULL, &args);
}

static struct mt_error *fxt_instant(void *self, const struct mt_instant *instant)
{
	struct fxt *fxt = self;
	struct mt_args args;

	if (fxt->levels.depth <= MT_CALL_LEVELS)
		mt_try(end_deeper(fxt));
	if (instant->flow)
		mt_try(write_flow(fxt, MT_FXT_FLOW_BEGIN, instant->time_ns, instant->flow));
	mt_args_of_instant(&args, instant);
	return write_event(fxt, MT_FXT_INSTANT, instant->time_ns, mt_instant_category(instant),
			   mt_instant_name(instant), &args);
}

/* A track of the process, whose number distinguishes threads. */
static struct mt_error *fxt_counter(void *self, const struct mt_counter *counter)
{
	struct fxt *fxt = self;
	struct mt_args args;

	mt_args_of_counter(&args, counter);
	mt_try(start_event(fxt, MT_FXT_COUNTER, counter->time_ns, MT_CATEGORY_COUNTER,
			   counter->name, &args));
	mt_fxt_word(&fxt->record, (uint32_t)counter->tid);
	return mt_fxt_send(&fxt->record, fxt->stream);
}

static struct mt_error *fxt_segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct fxt *fxt = self;
	struct mt_args args;

	mt_try(end_deeper(fxt));
	if (!segment->snapshot)
		return NULL;
	mt_args_of_snapshot(&args, segment);
	return write_event(fxt, MT_FXT_INSTANT, segment->end_ns, MT_CATEGORY_MARK, MT_SNAPSHOT_NAME,
			   &args);
}

static void fxt_destroy(void *self)
{
	struct fxt *fxt = self;

	if (!fxt)
		return;
	mt_thread_table_deinit(&fxt->threads);
	mt_thread_table_deinit(&fxt->processes);
	mt_str_deinit(&fxt->scratch);
	mt_fxt_strings_deinit(&fxt->strings);
	free(fxt);
}

static struct mt_error *fxt_create(struct mt_stream *stream,
				   const struct mt_trace_writer_options *options, void **self)
{
	struct fxt *fxt = calloc(1, sizeof(*fxt));

	(void)options;
	*self = fxt;
	if (!fxt)
		return mt_error_no_memory();
	fxt->stream = fxt->strings.stream = stream;
	fxt->strings.last_slot = MT_FXT_FIXED_STRINGS - 1;
	return write_head(fxt);
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = fxt_thread,
    .segment_begin = fxt_segment_begin,
    .begin = fxt_begin,
    .end = fxt_end,
    .instant = fxt_instant,
    .counter = fxt_counter,
    .segment_end = fxt_segment_end,
};

static struct mt_slice_sink fxt_sink(void *self)
{
	return (struct mt_slice_sink){&sink_ops, self};
}

const struct mt_trace_format mt_format_fxt = {
    .name = "fxt",
    .ending = ".fxt",
    .create = fxt_create,
    .destroy = fxt_destroy,
    .sink = fxt_sink,
};
