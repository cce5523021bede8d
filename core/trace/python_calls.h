/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is recorded where CPython's loop (runtime/python.h) is called, and the names by which it is
 * known: which code object the call begins with, and sums of what that says of itself then
 * (mt_text_hash()).  Objects come and go, and take each other's place: so whoever reads what one
 * says later, by the sums knows if it is what was meant. */
#ifndef MT_TRACE_PYTHON_CALLS_H
#define MT_TRACE_PYTHON_CALLS_H

/* Hidden: MT_VALUE_HIDDEN in trace/goroutines.h. */
#define MT_PYTHON_PREFIX        ".python."
#define MT_PYTHON_CODE_NAME     ".python.code"     /* its address */
#define MT_PYTHON_FUNCTION_NAME ".python.function" /* of its qualified name */
#define MT_PYTHON_FILE_NAME     ".python.file"
#define MT_PYTHON_LINE_NAME     ".python.line" /* its first one */

#endif
