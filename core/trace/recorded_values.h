/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results that were recorded with calls: what the numbers of VALUE events mean
 * (trace/event.h), and how such values read. */
#ifndef MT_TRACE_RECORDED_VALUES_H
#define MT_TRACE_RECORDED_VALUES_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "elf/function.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Numbers of values are below this. */
#define MT_RECORDED_VALUES_LIMIT 65536u

/* How 64 bits are to be read; a letter, as it stands in recordings. */
enum mt_value_form {
	MT_VALUE_SIGNED = 'd',
	MT_VALUE_UNSIGNED = 'u',
	MT_VALUE_POINTER = 'x',
	MT_VALUE_BOOL = 'b',
	MT_VALUE_CHAR = 'c',
	MT_VALUE_ENUM = 'e',
	MT_VALUE_FLOAT = 'f', /* in the lower 32 bits */
	MT_VALUE_DOUBLE = 'F',
	/* A pointer; the numbers behind its own are those of the aligned words that hold the
	 * string's first bytes, in their order.  The first may have others before the string. */
	MT_VALUE_STRING = 's',
	/* A string of known length: the address of its object, or of its bytes; the number behind
	 * its own is that of 8 times its length plus the address of its bytes modulo 8, those
	 * behind that as above. */
	MT_VALUE_TEXT = 'S',
};

#define MT_RECORDED_STRING_BYTES   32u /* are shown */
#define MT_RECORDED_STRING_WORDS   5u
#define MT_RECORDED_STRING_NUMBERS (1 + 1 + MT_RECORDED_STRING_WORDS) /* at the most */

struct mt_recorded_value {
	uint32_t number;
	uint64_t function; /* an address in it */
	bool is_result;    /* else an argument */
	char form;         /* enum mt_value_form */
	uint8_t size;      /* of its type, in bytes; 0: not known */
	const char *name;  /* "count"; of a result "", of a part of it "x" */
	/* Of an ENUM: "RED", "0", "GREEN", "1", each with a NUL at its end. */
	const char *names;
	size_t names_bytes;
};

/* A function in Python, which runs in a call of an interpreter's loop. */
struct mt_python_call {
	const struct mt_function *function;
	struct mt_source at; /* where it stands; file NULL: not known */
	const char *where;   /* "at app.py:6"; NULL likewise */
};

/* A call that was open at a snapshot, and what its arguments were. */
struct mt_recorded_open_call {
	pid_t tid;
	uint32_t snapshot;     /* 0: it has no number */
	uint64_t function;     /* an address in it */
	uint64_t sp;           /* where its return address lies */
	const char *arguments; /* lent, as the other strings are; NULL: none are known */
	/* What an interpreter's loop ran, the outermost first; lent. */
	const struct mt_python_call *python;
	size_t python_count;
};

/* A name or a file of Python's, known by a sum (trace/python_calls.h). */
struct mt_recorded_python_text {
	uint64_t hash;
	const char *text; /* lent */
};

/* The code object that a call of the loop begins with. */
struct mt_recorded_python_code {
	uint64_t function, file; /* sums */
	uint64_t first_line;
};

/* More than anybody reads for a thread. */
#define MT_RECORDED_OPEN_CALLS 256u

struct mt_recorded_values {
	MT_ARRAY(struct mt_recorded_open_call) open_calls;
	MT_ARRAY(struct mt_recorded_value) items; /* by number; `name` NULL: there is none */
	bool has_results;
	MT_ARRAY(struct mt_recorded_python_text) python_texts; /* by their sums */
	/* A function of that name, one and the same each time; NULL: no memory. */
	const struct mt_function *(*python_function)(void *context, const char *name,
						     const char *file, uint32_t first_line);
	void *python_context;
	struct mt_recorded_python *python; /* that were found last; NULL: none yet */
	struct mt_arena arena;
	const char **kept; /* texts that were made last, by their hashes */
};

void mt_recorded_values_deinit(struct mt_recorded_values *values);
/* Its strings are lent.  One with a number that is too large is passed over.  Errors: NO_MEMORY. */
struct mt_error *mt_recorded_values_add(struct mt_recorded_values *values,
					const struct mt_recorded_value *value);
/* NULL: nothing is known of it; VALUES may be NULL. */
const struct mt_recorded_value *mt_recorded_values_find(const struct mt_recorded_values *values,
							uint32_t number);
/* "598", "RED", "97 'a'": as GDB writes it; a STRING or TEXT as its pointer. */
void mt_recorded_value_append(const struct mt_recorded_value *value, uint64_t bits,
			      struct mt_str *out);
/* A STRING: "\"butter\"", with "..." behind what is not its end.  COUNT 0: as above. */
void mt_recorded_string_append(const struct mt_recorded_value *value, uint64_t address,
			       const uint64_t *words, size_t count, struct mt_str *out);
/* A TEXT, LENGTH as it was recorded. */
void mt_recorded_text_append(uint64_t length, const uint64_t *words, size_t count,
			     struct mt_str *out);
/* Of a thread, at SNAPSHOT: innermost first, as far out as its stack was unwound.  The count. */
size_t
mt_recorded_values_open_calls(const struct mt_recorded_values *values, pid_t tid, uint32_t snapshot,
			      const struct mt_recorded_open_call *out[MT_RECORDED_OPEN_CALLS]);
/* Of a call that begins with CODE: `where` says where the function is ("app.py:3").  Lent until the
 * next one is asked for.  NULL: it is not known, or there is no memory. */
const struct mt_python_call *mt_recorded_values_python(struct mt_recorded_values *values,
						       const struct mt_recorded_python_code *code);
/* A copy of TEXT that lives as long as VALUES; equal ones are often the same.  NULL: no memory. */
const char *mt_recorded_values_keep(struct mt_recorded_values *values, const struct mt_str *text);

#endif
