/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program says by the functions of include/mtrace.h, and the names by which the arguments of
 * these are recorded: whoever decodes them needs no symbols. */
#ifndef MT_TRACE_WORDS_H
#define MT_TRACE_WORDS_H

#include <stdbool.h>
#include <string.h>

enum mt_words {
	MT_WORDS_NONE,
	MT_WORDS_MARK,
	MT_WORDS_BEGIN,
	MT_WORDS_END,
	MT_WORDS_NUMBER,
	MT_WORDS_SNAPSHOT,  /* these two are triggers */
	MT_WORDS_INDICATOR, /* magic-trace's, whose arguments mean nothing to us */
	/* None of mtrace.h: Go's runtime switches to a goroutine (trace/goroutines.h). */
	MT_WORDS_GOROUTINE,
	MT_WORDS_WAKE,  /* of another one, that waits */
	MT_WORDS_MAKE,  /* of a new one: the call, */
	MT_WORDS_MADE,  /* and its return */
	MT_WORDS_DEATH, /* why it dies: a trigger, too */
	/* Nor are these: CPython's loop is called (trace/python_calls.h), */
	MT_WORDS_PYTHON,
	/* and triggers that are no hits: the interpreter ends, or has no frame evaluator. */
	MT_WORDS_PYTHON_ENDS,
	MT_WORDS_PYTHON_EVALUATOR,
};

/* A snapshot that the program asked for, by its reason, wherever it is shown. */
#define MT_WORDS_SNAPSHOT_FUNCTION "mtrace_snapshot"
#define MT_WORDS_SNAPSHOT_FORMAT   "snapshot: %s"

/* Go's runtime has come to its end, and tells why: whoever calls one of these does not go on. */
#define MT_WORDS_PANIC_FUNCTION "runtime.fatalpanic"
#define MT_WORDS_THROW_FUNCTION "runtime.throw"
#define MT_WORDS_FATAL_FUNCTION "runtime.fatal"

static inline bool mt_words_is_death(const char *function)
{
	return strcmp(function, MT_WORDS_PANIC_FUNCTION) == 0 ||
	       strcmp(function, MT_WORDS_THROW_FUNCTION) == 0 ||
	       strcmp(function, MT_WORDS_FATAL_FUNCTION) == 0;
}

#define MT_WORDS_PREFIX      "mtrace:"
#define MT_WORDS_MARK_NAME   "mtrace:mark"
#define MT_WORDS_BEGIN_NAME  "mtrace:begin"
#define MT_WORDS_END_NAME    "mtrace:end"
#define MT_WORDS_NUMBER_NAME "mtrace:number"
#define MT_WORDS_BITS_NAME   "bits" /* of the number, a double */
/* Of a text that is given by its address; without it that goes up to its NUL. */
#define MT_WORDS_LENGTH_NAME "length"

#endif
