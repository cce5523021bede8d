/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/python_stack.h"

#include "base/hash.h"
#include "base/str.h"
#include "runtime/python_text.h"

#include <string.h>

/* struct pyruntimestate, PyInterpreterState, PyThreadState */
#define RUNTIME_INTERPRETERS 40
#define INTERPRETER_NEXT     0
#define INTERPRETER_THREADS  16
#define INTERPRETER_RUNTIME  40
#define THREAD_NEXT          8
#define THREAD_LOOP          56
#define THREAD_ID            152
#define THREAD_BYTES         160
/* _PyCFrame */
#define LOOP_FRAME 8
#define LOOP_OUTER 16
#define LOOP_BYTES 24
/* _PyInterpreterFrame */
#define FRAME_OUTER            48
#define FRAME_BEFORE_NEXT      56
#define FRAME_IS_FIRST_OF_LOOP 68
#define FRAME_BYTES            70
/* PyObject, PyVarObject, PyCodeObject */
#define OBJECT_TYPE       8
#define OBJECT_SIZE       16
#define CODE_LINES        136
#define CODE_INSTRUCTIONS 184
#define INSTRUCTION_BYTES 2
/* PyBytesObject */
#define BYTES_START 32

/* Of a sound interpreter there are no more, or they are not worth the time. */
#define MOST_THREADS    4096
#define MOST_LOOPS      1024
#define MOST_FRAMES     8192
#define MOST_LENGTH     (64u << 20) /* of what is read in parts */
#define MOST_CHARACTERS 512
#define MOST_BYTES      (32u << 20)

struct reading {
	const struct mt_python_memory *memory;
	struct mt_arena *arena; /* of *OUT, or of whoever has it */
	struct mt_python_stack *out;
	size_t bytes_left, frames_left;
	/* A function that calls itself is read once. */
	uint64_t last_code;
	struct mt_python_frame last;
};

static bool read_bytes(struct reading *reading, uint64_t address, void *out, size_t size)
{
	if (size > reading->bytes_left)
		return false;
	reading->bytes_left -= size;
	return address &&
	       reading->memory->read(reading->memory->context, address, out, size) == size;
}

static uint64_t word_at(struct reading *reading, uint64_t address)
{
	uint64_t word;

	return read_bytes(reading, address, &word, sizeof(word)) ? word : 0;
}

static uint64_t word_in(const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* A byte of a file's name that is no UTF-8 is a lone surrogate in Python (surrogateescape). */
static void append_character(struct mt_str *out, uint32_t c)
{
	const char bytes[] = {(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)),
			      (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f))};

	if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) {
		mt_str_append_bytes(out, &(char){(char)c}, 1);
	} else if (c < 0x800) {
		mt_str_append_bytes(out, &(char){(char)(0xc0 | c >> 6)}, 1);
		mt_str_append_bytes(out, bytes + 3, 1);
	} else if (c < 0x10000) {
		mt_str_append_bytes(out, &(char){(char)(0xe0 | c >> 12)}, 1);
		mt_str_append_bytes(out, bytes + 2, 2);
	} else {
		mt_str_append_bytes(out, bytes, 4);
	}
}

/* A str, as UTF-8; NULL: it is none, or has a NUL, which no name has.  *IS_WHOLE: HASH is of all.
 */
static const char *text_at(struct reading *reading, uint64_t address, uint64_t *hash,
			   bool *is_whole)
{
	uint8_t header[MT_PYTHON_TEXT_ASCII], characters[4 * MOST_CHARACTERS];
	mt_auto(mt_str) struct mt_str text = {0};

	if (!read_bytes(reading, address, header, sizeof(header)) ||
	    word_in(header, OBJECT_TYPE) != reading->memory->unicode_type)
		return NULL;
	const uint64_t length = word_in(header, MT_PYTHON_TEXT_LENGTH);
	const unsigned state = header[MT_PYTHON_TEXT_STATE],
		       kind = state >> MT_PYTHON_TEXT_KIND_BIT & MT_PYTHON_TEXT_KIND_MASK;
	const size_t count = length < MOST_CHARACTERS ? (size_t)length : MOST_CHARACTERS;
	if (!(state & MT_PYTHON_TEXT_IS_COMPACT) || length > MOST_LENGTH ||
	    (kind != 1 && kind != 2 && kind != 4) ||
	    !read_bytes(reading,
			address + (state & (1u << MT_PYTHON_TEXT_ASCII_BIT) ? MT_PYTHON_TEXT_ASCII
									    : MT_PYTHON_TEXT_OTHER),
			characters, count * kind))
		return NULL;
	*hash = mt_text_hash(characters, count * kind);
	*is_whole = count == length;
	mt_str_append(&text, "");
	for (size_t i = 0; i < count; i++) {
		uint32_t c = 0;

		memcpy(&c, characters + i * kind, kind);
		if (!c || c > 0x10ffff)
			return NULL;
		append_character(&text, c);
	}
	mt_str_append(&text, count < length ? "..." : "");
	return text.failed ? NULL : mt_arena_text(reading->arena, text.text, text.length);
}

/* ---- Lines: what co_linetable, a bytes, says of an instruction ---- */

struct table {
	struct reading *reading;
	uint64_t at, end; /* what is not in the window yet */
	size_t next, count;
	uint8_t window[256];
};

static bool next_byte(struct table *table, uint8_t *out)
{
	if (table->next == table->count) {
		const uint64_t left = table->end - table->at;

		table->count = left < sizeof(table->window) ? (size_t)left : sizeof(table->window);
		table->next = 0;
		if (!table->count ||
		    !read_bytes(table->reading, table->at, table->window, table->count)) {
			table->count = 0;
			return false;
		}
		table->at += table->count;
	}
	*out = table->window[table->next++];
	return true;
}

static int32_t next_signed(struct table *table)
{
	uint32_t value = 0;
	uint8_t byte = 0x40;

	for (unsigned shift = 0; byte & 0x40 && shift < 32 && next_byte(table, &byte); shift += 6)
		value |= (uint32_t)(byte & 0x3f) << shift;
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

enum { ONE_LINE = 10, LAST_ONE_LINE = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

/* Of the instruction with that number; 0: it has none. */
static uint32_t line_of(struct reading *reading, uint64_t address, uint32_t line, int64_t number)
{
	uint8_t header[BYTES_START], byte;

	if (!read_bytes(reading, address, header, sizeof(header)) ||
	    word_in(header, OBJECT_TYPE) != reading->memory->bytes_type)
		return 0;
	const uint64_t size = word_in(header, OBJECT_SIZE);
	struct table table = {.reading = reading, .at = address + BYTES_START};
	table.end = table.at + (size <= MOST_LENGTH ? size : 0);
	for (int64_t end = 0; next_byte(&table, &byte);) {
		const unsigned code = byte >> 3 & 15;

		if (!(byte & 0x80) && end)
			continue; /* columns */
		if (!(byte & 0x80))
			return 0;
		end += (byte & 7) + 1;
		if (code == NO_COLUMNS || code == LONG)
			line += (uint32_t)next_signed(&table);
		else if (code >= ONE_LINE && code <= LAST_ONE_LINE)
			line += code - ONE_LINE;
		if (number < end)
			return code == NO_LINE || line > INT32_MAX ? 0 : line;
	}
	return 0;
}

/* ---- Frames ---- */

/* What is true of CODE wherever it stands.  False: it is no code. */
static bool read_code(struct reading *reading, uint64_t code, const uint8_t *object,
		      struct mt_python_frame *out)
{
	uint32_t first_line;
	uint64_t hash;
	bool is_whole;

	if (code == reading->last_code) {
		*out = reading->last;
		return true;
	}
	memcpy(&first_line, object + MT_PYTHON_CODE_LINE_AT, sizeof(first_line));
	*out = (struct mt_python_frame){
	    .function = text_at(reading, word_in(object, MT_PYTHON_CODE_NAME_AT), &hash, &is_whole),
	    .file = text_at(reading, word_in(object, MT_PYTHON_CODE_FILE_AT), &hash, &is_whole),
	    .first_line = first_line <= INT32_MAX ? first_line : 0,
	};
	if (!out->function || !out->file)
		return false;
	reading->last_code = code;
	reading->last = *out;
	return true;
}

/* BEFORE_NEXT: the instruction in front of the one that runs next, which may be in front of all. */
static bool read_frame(struct reading *reading, uint64_t code, uint64_t before_next,
		       struct mt_python_frame *out)
{
	uint8_t object[CODE_INSTRUCTIONS];

	if (!read_bytes(reading, code, object, sizeof(object)) ||
	    word_in(object, OBJECT_TYPE) != reading->memory->code_type ||
	    !read_code(reading, code, object, out))
		return false;
	const uint64_t offset = before_next - (code + CODE_INSTRUCTIONS) + INSTRUCTION_BYTES;
	if (offset / INSTRUCTION_BYTES > word_in(object, OBJECT_SIZE))
		out->line = 0;
	else if (offset < INSTRUCTION_BYTES)
		out->line = out->first_line;
	else
		out->line = line_of(reading, word_in(object, CODE_LINES), out->first_line,
				    (int64_t)(offset / INSTRUCTION_BYTES) - 1);
	return true;
}

/* From FRAME to the one that the loop began with.  False: no memory, or too much of it all. */
static bool read_frames(struct reading *reading, uint64_t frame, struct mt_python_loop *loop)
{
	uint8_t object[FRAME_BYTES] = {0};
	struct mt_python_frame one;

	loop->first = reading->out->frames.count;
	for (; frame && !object[FRAME_IS_FIRST_OF_LOOP]; frame = word_in(object, FRAME_OUTER)) {
		if (!reading->frames_left || !read_bytes(reading, frame, object, sizeof(object)) ||
		    !read_frame(reading, word_in(object, MT_PYTHON_FRAME_CODE_AT),
				word_in(object, FRAME_BEFORE_NEXT), &one))
			break;
		reading->frames_left--;
		if (mt_array_push(&reading->out->frames, one))
			return false;
		loop->count++;
	}
	return true;
}

/* The outermost loop of a thread is none: it has no frame, and lies in the thread's state. */
static bool read_loops(struct reading *reading, uint64_t innermost)
{
	uint8_t object[LOOP_BYTES];

	for (uint64_t at = innermost; at; at = word_in(object, LOOP_OUTER)) {
		struct mt_python_loop loop = {.at = at};

		if (reading->out->loops.count >= MOST_LOOPS ||
		    !read_bytes(reading, at, object, sizeof(object)))
			break;
		if (!read_frames(reading, word_in(object, LOOP_FRAME), &loop) ||
		    (loop.count && mt_array_push(&reading->out->loops, loop)))
			return false;
	}
	return true;
}

/* False: it is none. */
static bool read_thread(struct reading *reading, uint64_t interpreter, uint64_t at,
			uint64_t thread_id, uint64_t *next)
{
	uint8_t object[THREAD_BYTES];

	if (!read_bytes(reading, at, object, sizeof(object)) ||
	    word_in(object, MT_PYTHON_THREAD_INTERPRETER_AT) != interpreter)
		return false;
	*next = word_in(object, THREAD_NEXT);
	return word_in(object, THREAD_ID) != thread_id ||
	       read_loops(reading, word_in(object, THREAD_LOOP));
}

size_t mt_python_interpreters(const struct mt_python_memory *memory,
			      uint64_t out[MT_PYTHON_MOST_INTERPRETERS])
{
	struct reading reading = {.memory = memory, .bytes_left = MOST_BYTES};
	uint64_t at = word_at(&reading, memory->runtime + RUNTIME_INTERPRETERS);
	size_t count = 0;

	for (; at && count < MT_PYTHON_MOST_INTERPRETERS &&
	       word_at(&reading, at + INTERPRETER_RUNTIME) == memory->runtime;
	     at = word_at(&reading, at + INTERPRETER_NEXT))
		out[count++] = at;
	return count;
}

void mt_python_stack_read(const struct mt_python_memory *memory, uint64_t thread_id, size_t most,
			  struct mt_python_stack *out)
{
	struct reading reading = {
	    .memory = memory,
	    .arena = &out->arena,
	    .out = out,
	    .bytes_left = MOST_BYTES,
	    .frames_left = most < MOST_FRAMES ? most : MOST_FRAMES,
	};
	uint64_t interpreters[MT_PYTHON_MOST_INTERPRETERS];
	const size_t count = mt_python_interpreters(memory, interpreters);
	size_t threads = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t at = word_at(&reading, interpreters[i] + INTERPRETER_THREADS);

		while (at && threads++ < MOST_THREADS &&
		       read_thread(&reading, interpreters[i], at, thread_id, &at))
			;
	}
}

void mt_python_stack_deinit(struct mt_python_stack *stack)
{
	mt_array_deinit(&stack->loops);
	mt_array_deinit(&stack->frames);
	mt_arena_deinit(&stack->arena);
}

static struct mt_python_text whole_text_at(struct reading *reading, uint64_t address)
{
	struct mt_python_text text = {0};
	bool is_whole = false;

	text.text = text_at(reading, address, &text.hash, &is_whole);
	if (!is_whole)
		text.text = NULL;
	return text;
}

bool mt_python_code_read(const struct mt_python_memory *memory, uint64_t code,
			 struct mt_python_code *out)
{
	struct reading reading = {.memory = memory, .arena = &out->arena, .bytes_left = MOST_BYTES};
	uint8_t object[CODE_INSTRUCTIONS];

	if (!read_bytes(&reading, code, object, sizeof(object)) ||
	    word_in(object, OBJECT_TYPE) != memory->code_type)
		return false;
	out->function = whole_text_at(&reading, word_in(object, MT_PYTHON_CODE_NAME_AT));
	out->file = whole_text_at(&reading, word_in(object, MT_PYTHON_CODE_FILE_AT));
	return true;
}

void mt_python_code_deinit(struct mt_python_code *code)
{
	mt_arena_deinit(&code->arena);
}
