/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files that a JIT compiler registers in memory by GDB's interface (GDB's manual, "JIT
 * Compilation Interface").  They tell of code that lies elsewhere: sections have the addresses at
 * which it was placed, but a relocatable file's symbols and tables are still to be relocated, and
 * its own copy of the code may be, too. */
#ifndef MT_ELF_JIT_OBJECT_H
#define MT_ELF_JIT_OBJECT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The path of what is opened of one, and of its mappings. */
#define MT_JIT_OBJECT_PATH "[JIT]"

/* The process's memory: returns how many bytes from ADDRESS on, at the most SIZE. */
typedef size_t mt_jit_object_read(void *context, uint64_t address, void *buffer, size_t size);

/* Makes of the object in BYTES a program that stands by itself, at the process's addresses: its
 * symbols, lines and unwind tables are relocated, and a segment for each section of code has the
 * code as READ gives it, with the rest of its last page, where linkers put stubs.  OUT is the
 * caller's to free.
 * Errors: FORMAT (garbled, or it tells of no code: the message says what); UNSUPPORTED (not
 * x86-64); NO_MEMORY. */
struct mt_error *mt_jit_object_settle(const uint8_t *bytes, size_t size, mt_jit_object_read *read,
				      void *context, uint8_t **out, size_t *out_size);

#endif
