/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/call_log.h"

#include "base/arena.h"
#include "base/spill.h"
#include "trace/sink_ops.h"

#include <string.h>
#include <uthash.h>

#define BLOCK 8192u /* calls */

struct name {
	const char *text;
	uint32_t number;
	UT_hash_handle hh;
};

struct mt_call_names {
	struct name *by_text;
	MT_ARRAY(const char *) texts;
	struct mt_arena arena;
};

struct log_thread {
	struct mt_call_log_thread thread;
	struct mt_call_item *items; /* of the block that is being filled; NULL: none */
	uint32_t order;
};

struct mt_call_log {
	struct mt_slice_sink to;
	struct mt_call_names *names;
	struct mt_spill spill;
	uint64_t size;
	MT_ARRAY(struct log_thread) threads;
	size_t current; /* plus 1; 0: a side track */
	uint32_t depth;
	uint64_t begin_ns; /* of the first segment, and whose it is */
	pid_t first_pid;
	MT_ARRAY(uint32_t) known; /* by a function's id: its name's number plus 1 */
};
MT_SLICE_FILTER(struct mt_call_log, to);

/* ---- Names ---- */

struct mt_error *mt_call_names_create(struct mt_call_names **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? NULL : mt_error_no_memory();
}

void mt_call_names_destroy(struct mt_call_names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->by_text);
	mt_array_deinit(&names->texts);
	mt_arena_deinit(&names->arena);
	free(names);
}

const char *mt_call_name(const struct mt_call_names *names, uint32_t number)
{
	return names->texts.items[number];
}

static struct mt_error *number_of(struct mt_call_names *names, const char *text, uint32_t *out)
{
	struct name *found = NULL;

	HASH_FIND_STR(names->by_text, text, found);
	if (!found) {
		found = mt_arena_zalloc(&names->arena, sizeof(*found));
		if (found)
			found->text = mt_arena_text(&names->arena, text, SIZE_MAX);
		if (!found || !found->text || mt_array_push(&names->texts, found->text))
			return mt_error_no_memory();
		found->number = (uint32_t)(names->texts.count - 1);
		HASH_ADD_KEYPTR(hh, names->by_text, found->text, strlen(found->text), found);
	}
	*out = found->number;
	return NULL;
}

static struct mt_error *number_of_slice(struct mt_call_log *log, const struct mt_slice *slice,
					uint32_t *out)
{
	if (!slice->function)
		return number_of(log->names, mt_slice_name(slice), out);
	while (log->known.count <= slice->function->id)
		if (mt_array_push(&log->known, 0u))
			return mt_error_no_memory();
	uint32_t *known = &log->known.items[slice->function->id];
	if (!*known) {
		mt_try(number_of(log->names, slice->function->name, known));
		++*known;
	}
	*out = *known - 1;
	return NULL;
}

/* ---- Writing ---- */

static struct mt_error *write_block(struct mt_call_log *log, struct log_thread *thread)
{
	if (mt_array_push(&thread->thread.offsets, log->size))
		return mt_error_no_memory();
	mt_try(
	    mt_spill_write(&log->spill, log->size, thread->items, BLOCK * sizeof(*thread->items)));
	log->size += BLOCK * sizeof(*thread->items);
	return NULL;
}

static struct mt_error *put(struct mt_call_log *log, struct mt_call_item item)
{
	struct log_thread *thread = &log->threads.items[log->current - 1];

	if (!thread->items)
		thread->items = calloc(BLOCK, sizeof(*thread->items));
	if (!thread->items)
		return mt_error_no_memory();
	thread->items[thread->thread.count % BLOCK] = item;
	return ++thread->thread.count % BLOCK ? NULL : write_block(log, thread);
}

static struct mt_error *thread(void *self, const struct mt_thread *what)
{
	struct mt_call_log *log = self;
	struct log_thread new = {.thread = {.pid = what->pid, .tid = what->tid}};

	log->current = 0;
	log->depth = 0;
	for (size_t i = 0; i < log->threads.count && !log->current; i++)
		if (log->threads.items[i].thread.pid == what->pid &&
		    log->threads.items[i].thread.tid == what->tid)
			log->current = i + 1;
	if (!log->current && !mt_tid_is_track(what->tid)) {
		mt_try(number_of(log->names, what->name ? what->name : "", &new.thread.name));
		if (mt_array_push(&log->threads, new))
			return mt_error_no_memory();
		log->current = log->threads.count;
	}
	return mt_slice_pass_thread(self, what);
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_call_log *log = self;

	log->depth = 0;
	if (log->current && (!log->first_pid || segment->begin_ns < log->begin_ns)) {
		log->begin_ns = segment->begin_ns;
		log->first_pid = log->threads.items[log->current - 1].thread.pid;
	}
	return mt_slice_pass_segment_begin(self, segment);
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_call_log *log = self;
	struct mt_call_item item = {.depth = log->depth++};

	if (log->current) {
		mt_try(number_of_slice(log, slice, &item.name));
		item.depth |= slice->kind == MT_SLICE_GAP ? MT_CALL_LOST : 0;
		/* Not of a thread's first function, whose call nobody sees. */
		if (slice->flags & MT_SLICE_INFERRED && !(slice->flags & MT_SLICE_PYTHON) &&
		    item.depth)
			log->threads.items[log->current - 1].thread.began_before = true;
		mt_try(put(log, item));
	}
	return mt_slice_pass_begin(self, slice);
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_call_log *log = self;

	log->depth -= log->depth > 0;
	return mt_slice_pass_end(self, what);
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_call_log *log = self;

	if (log->current && what->kind == MT_INSTANT_GAP) {
		struct mt_call_item item = {.depth = log->depth | MT_CALL_LOST};

		mt_try(number_of(log->names, "[lost]", &item.name));
		mt_try(put(log, item));
	}
	return mt_slice_pass_instant(self, what);
}

static int by_order(const void *a, const void *b)
{
	const struct log_thread *left = a, *right = b;

	return (left->order > right->order) - (left->order < right->order);
}

static struct mt_error *finish(void *self)
{
	struct mt_call_log *log = self;

	mt_array_each (one, &log->threads)
		if (one->thread.count % BLOCK)
			mt_try(write_block(log, one));
	/* Numbers begin anew at the system's limit: those below the first process's came later. */
	mt_array_each (one, &log->threads)
		one->order = (uint32_t)(one->thread.tid - log->first_pid);
	if (log->threads.count)
		qsort(log->threads.items, log->threads.count, sizeof(*log->threads.items),
		      by_order);
	return mt_slice_pass_finish(self);
}

struct mt_slice_sink mt_call_log_sink(struct mt_call_log *log)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = instant,
	    .segment_end = mt_slice_pass_segment_end,
	    .finish = finish,
	};

	return (struct mt_slice_sink){&ops, log};
}

struct mt_error *mt_call_log_create(struct mt_call_names *names, struct mt_slice_sink to,
				    struct mt_call_log **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->to = to;
	(*out)->names = names;
	return NULL;
}

void mt_call_log_destroy(struct mt_call_log *log)
{
	if (!log)
		return;
	mt_array_each (one, &log->threads) {
		free(one->items);
		mt_array_deinit(&one->thread.offsets);
	}
	mt_array_deinit(&log->threads);
	mt_array_deinit(&log->known);
	mt_spill_deinit(&log->spill);
	free(log);
}

/* ---- Reading ---- */

size_t mt_call_log_threads(const struct mt_call_log *log)
{
	return log->threads.count;
}

const struct mt_call_log_thread *mt_call_log_thread(const struct mt_call_log *log, size_t index)
{
	return &log->threads.items[index].thread;
}

struct mt_error *mt_call_reader_get(struct mt_call_reader *reader, uint64_t index,
				    struct mt_call_item *out)
{
	const uint64_t block = index / BLOCK;

	if (!reader->items)
		reader->items = calloc(BLOCK, sizeof(*reader->items));
	if (!reader->items)
		return mt_error_no_memory();
	if (reader->block != block + 1)
		mt_try(mt_spill_read(&reader->log->spill, reader->thread->offsets.items[block],
				     reader->items, BLOCK * sizeof(*reader->items)));
	reader->block = block + 1;
	*out = reader->items[index % BLOCK];
	return NULL;
}

void mt_call_reader_deinit(struct mt_call_reader *reader)
{
	free(reader->items);
	reader->items = NULL;
}
