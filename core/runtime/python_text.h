/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A str of CPython 3.11: struct PyASCIIObject, PyCompactUnicodeObject.  Its characters lie behind
 * what it says of itself. */
#ifndef MT_RUNTIME_PYTHON_TEXT_H
#define MT_RUNTIME_PYTHON_TEXT_H

#define MT_PYTHON_TEXT_LENGTH     16 /* in characters */
#define MT_PYTHON_TEXT_STATE      32
#define MT_PYTHON_TEXT_ASCII      48 /* characters, where all are ASCII */
#define MT_PYTHON_TEXT_OTHER      72
#define MT_PYTHON_TEXT_KIND_BIT   2 /* of the state: bytes a character */
#define MT_PYTHON_TEXT_KIND_MASK  7
#define MT_PYTHON_TEXT_IS_COMPACT 0x20
#define MT_PYTHON_TEXT_ASCII_BIT  6

#endif
