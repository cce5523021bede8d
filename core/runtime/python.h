/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an interpreter of Python lies in a process, and which functions in C are its loop's. */
#ifndef MT_RUNTIME_PYTHON_H
#define MT_RUNTIME_PYTHON_H

#include "runtime/python_stack.h"
#include "space/space.h"

/* The function in C that runs functions in Python, and the one that ends the interpreter. */
#define MT_PYTHON_LOOP "_PyEval_EvalFrameDefault"
#define MT_PYTHON_END  "Py_FinalizeEx"

/* The file has an interpreter. */
bool mt_python_is_in(struct mt_objfile *objfile);
/* Of that name is the function in C that runs functions in Python. */
bool mt_python_is_loop(const struct mt_function *function);
/* The interpreter whose loop has PC: OUT's addresses; its `read` and `context` are the caller's.
 * *VERSION: Py_Version; 0: of before 3.11, or it cannot be read.  False: it is none. */
bool mt_python_find(const struct mt_space *code, uint64_t pc, struct mt_python_memory *out,
		    uint64_t *version);
/* That of a frame on the stack, [LOW, HIGH).  NULL: none. */
const struct mt_python_loop *mt_python_loop_in(const struct mt_python_stack *stack, uint64_t low,
					       uint64_t high);

#endif
