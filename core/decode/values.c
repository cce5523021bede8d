/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which values were recorded with calls: notes say what their numbers mean, and what was read of
 * the calls that were open at the end. */
#include "decode/private.h"

#include <stdlib.h>

struct python_note {
	const char *name, *file;
	uint32_t first_line, line;
};

static struct python_note next_python(const char **at, const char *end)
{
	struct python_note note = {.name = mt_decode_next_string(at, end)};
	char *behind;

	note.file = mt_decode_next_string(at, end);
	const char *lines = mt_decode_next_string(at, end);
	note.first_line = (uint32_t)strtoul(lines, &behind, 10);
	note.line = (uint32_t)strtoul(behind, NULL, 10);
	return note;
}

/* False: no memory. */
static bool make_python(struct mt_decode_run *run, const struct python_note *note,
			struct mt_python_call *out)
{
	struct mt_arena *arena = &run->values.arena;

	out->function = mt_space_pool_python_function(mt_processes_pool(run->processes), note->name,
						      note->file, note->first_line);
	if (!*note->file)
		return out->function;
	out->at = (struct mt_source){.file = note->file, .line = note->line};
	out->where = note->line ? mt_arena_format(arena, "at %s:%u", note->file, note->line)
				: mt_arena_format(arena, "at %s", note->file);
	return out->function && out->where;
}

/* See mt_session_append_python(). */
static struct mt_error *read_python(struct mt_decode_run *run, const char *at, const char *end,
				    struct mt_recorded_open_call *call)
{
	char *behind;
	const unsigned long left_out = strtoul(mt_decode_next_string(&at, end), &behind, 10);
	const unsigned long count = strtoul(behind, NULL, 10);
	MT_ARRAY(struct mt_python_call) calls = {0};
	bool failed = false;

	if (left_out) {
		const struct python_note note = {
		    .name = mt_arena_format(&run->values.arena, "[%lu more functions in Python]",
					    left_out),
		    .file = ""};
		struct mt_python_call others = {0};

		failed = !note.name || !make_python(run, &note, &others) ||
			 mt_array_push(&calls, others);
	}
	for (unsigned long i = 0; i < count && at < end && !failed; i++) {
		const struct python_note note = next_python(&at, end);
		struct mt_python_call one = {0};

		failed = !make_python(run, &note, &one) || mt_array_push(&calls, one);
	}
	call->python_count = calls.count;
	if (calls.count && !failed)
		call->python = mt_arena_copy(&run->values.arena, calls.items,
					     calls.count * sizeof(*calls.items));
	mt_array_deinit(&calls);
	return failed || (call->python_count && !call->python) ? mt_error_no_memory() : NULL;
}

static struct mt_error *add_open_call(struct mt_decode_run *run, const struct mt_sideband *note)
{
	const char *at = (const char *)note->sample.raw;
	const char *const end = at + note->sample.raw_size;
	const char *text = mt_decode_next_string(&at, end);
	struct mt_recorded_open_call call = {
	    .tid = note->tid,
	    .snapshot = (uint32_t)note->sample.weight,
	    .function = note->sample.ip,
	    .sp = note->sample.address,
	    .arguments = *text ? text : NULL,
	};

	mt_try(read_python(run, at, end, &call));
	return mt_array_push(&run->values.open_calls, call) ? mt_error_no_memory() : NULL;
}

static int by_hash(const void *left, const void *right)
{
	const struct mt_recorded_python_text *a = left, *b = right;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

static const struct mt_function *python_function(void *context, const char *name, const char *file,
						 uint32_t first_line)
{
	const struct mt_decode_run *run = context;

	return mt_space_pool_python_function(mt_processes_pool(run->processes), name, file,
					     first_line);
}

static struct mt_error *add_python_text(struct mt_decode_run *run, const struct mt_sideband *note)
{
	const char *at = (const char *)note->sample.raw;
	const struct mt_recorded_python_text text = {
	    .hash = note->sample.address,
	    .text = mt_decode_next_string(&at, at + note->sample.raw_size),
	};

	return mt_array_push(&run->values.python_texts, text) ? mt_error_no_memory() : NULL;
}

static void complete_python(struct mt_decode_run *run)
{
	struct mt_recorded_values *values = &run->values;

	values->python_function = python_function;
	values->python_context = run;
	if (values->python_texts.count)
		qsort(values->python_texts.items, values->python_texts.count,
		      sizeof(*values->python_texts.items), by_hash);
}

struct mt_error *mt_decode_values(struct mt_decode_run *run)
{
	const struct mt_sideband *notes = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		const struct mt_sideband *note = &notes[i];

		if (note->sample.raw && mt_decode_note_of(run, note) == MT_NOTE_OPEN_CALL)
			mt_try(add_open_call(run, note));
		if (note->sample.raw && mt_decode_note_of(run, note) == MT_NOTE_PYTHON_TEXT)
			mt_try(add_python_text(run, note));
		if (mt_decode_note_of(run, note) != MT_NOTE_VALUE_IS || !note->sample.raw)
			continue;
		const char *at = (const char *)note->sample.raw, *end = at + note->sample.raw_size;
		struct mt_recorded_value value = {
		    .number = note->sample.weight < MT_RECORDED_VALUES_LIMIT
				  ? (uint32_t)note->sample.weight
				  : MT_RECORDED_VALUES_LIMIT,
		    .function = note->sample.ip,
		    .is_result = note->sample.address,
		};

		value.name = mt_decode_next_string(&at, end);
		const char *form = mt_decode_next_string(&at, end);
		value.form = *form;
		value.size = *form ? (uint8_t)strtoul(form + 1, NULL, 10) : 0;
		value.names = at;
		value.names_bytes = (size_t)(end - at);
		mt_try(mt_recorded_values_add(&run->values, &value));
	}
	complete_python(run);
	return NULL;
}
