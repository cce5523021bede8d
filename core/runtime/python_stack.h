/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions in Python that a thread runs, as CPython 3.11 has them in memory: what its own
 * faulthandler prints, without its help.
 *
 * The thread stands still, anywhere, and what it runs may have crashed or be no Python at all.  So
 * nothing that is read is believed: objects must be of the types that they should be of, and all is
 * bounded, also in bytes.  What cannot be read ends a list.
 *
 * Source: CPython 3.11, Include/internal/pycore_frame.h, pycore_runtime.h, Include/cpython/code.h,
 * pystate.h, unicodeobject.h, Objects/locations.md.  The layouts are those of all of 3.11. */
#ifndef MT_RUNTIME_PYTHON_STACK_H
#define MT_RUNTIME_PYTHON_STACK_H

#include "base/arena.h"
#include "base/array.h"

#include <stdbool.h>
#include <sys/types.h>

/* In bytes, also for what the program reads of itself: in _PyInterpreterFrame its code object; in
 * PyCodeObject the function's first line, the file, and the qualified name. */
#define MT_PYTHON_FRAME_CODE_AT 32
#define MT_PYTHON_CODE_LINE_AT  72
#define MT_PYTHON_CODE_FILE_AT  112
#define MT_PYTHON_CODE_NAME_AT  128
/* In PyThreadState its interpreter, how many calls it may still begin, and how many it might; in
 * PyInterpreterState the size of new threads' stacks (0: the system's), and the frame evaluator
 * (NULL: none). */
#define MT_PYTHON_THREAD_INTERPRETER_AT    16
#define MT_PYTHON_THREAD_LEFT_AT           32
#define MT_PYTHON_THREAD_LIMIT_AT          36
#define MT_PYTHON_INTERPRETER_STACK_AT     32
#define MT_PYTHON_INTERPRETER_EVALUATOR_AT 1424

/* Of a sound process there are no more, or they are not worth the time. */
#define MT_PYTHON_MOST_INTERPRETERS 64

/* The memory of the interpreter's process. */
struct mt_python_memory {
	/* Returns how many bytes from ADDRESS on, at the most SIZE. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
	void *context;
	/* Where its variables of these names lie. */
	uint64_t runtime;      /* _PyRuntime */
	uint64_t code_type;    /* PyCode_Type */
	uint64_t unicode_type; /* PyUnicode_Type */
	uint64_t bytes_type;   /* PyBytes_Type */
};

struct mt_python_frame {
	const char *function; /* its qualified name: "Store.load" */
	const char *file;     /* as Python has it */
	uint32_t first_line;  /* of the function */
	uint32_t line;        /* where it stands; 0: not known */
};

/* A call of the interpreter's loop, and what it runs: a function in Python that calls another one
 * stays in the same loop. */
struct mt_python_loop {
	uint64_t at; /* in its frame on the thread's stack */
	/* Of the stack's frames. */
	size_t first, count;
};

/* A str, as it was read. */
struct mt_python_text {
	const char *text; /* NULL: not all of it could be */
	uint64_t hash;    /* mt_text_hash() of its characters as Python has them */
};

struct mt_python_code {
	struct mt_python_text function, file;
	struct mt_arena arena;
};

struct mt_python_stack {
	MT_ARRAY(struct mt_python_loop) loops;   /* of each interpreter the innermost first */
	MT_ARRAY(struct mt_python_frame) frames; /* of each loop the innermost first */
	struct mt_arena arena;
};

/* Py_Version of 3.11.x. */
static inline bool mt_python_is_known(uint64_t version)
{
	return version >> 16 == 0x030b;
}

/* Where the PyInterpreterState of each interpreter lies.  Returns how many. */
size_t mt_python_interpreters(const struct mt_python_memory *memory,
			      uint64_t out[MT_PYTHON_MOST_INTERPRETERS]);
/* THREAD_ID: pthread_self() there, which is the FS base.  MOST: of its innermost functions. */
void mt_python_stack_read(const struct mt_python_memory *memory, uint64_t thread_id, size_t most,
			  struct mt_python_stack *out);
void mt_python_stack_deinit(struct mt_python_stack *stack);
/* What a code object says of itself.  False: at CODE there is none. */
bool mt_python_code_read(const struct mt_python_memory *memory, uint64_t code,
			 struct mt_python_code *out);
void mt_python_code_deinit(struct mt_python_code *code);

#endif
