/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Go's runtime knows, as it lies in the memory of a program that stands still.  Nothing that
 * is read is believed, and what cannot be read is 0, or is left out: the program may be dying. */
#ifndef MT_RUNTIME_GO_H
#define MT_RUNTIME_GO_H

#include "base/str.h"
#include "space/space.h"

#include <sys/types.h>

struct mt_go_memory {
	/* Returns how many bytes from ADDRESS on, at the most SIZE. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
	void *context;
	const struct mt_mapping *program; /* of its code, with its file; NULL: not known */
	unsigned goid_offset;             /* mt_go_goid_offset()'s */
};

/* Of runtime.g, in which the goroutine's number lies, in the runtime of Go 1.MINOR; 0: not known,
 * types tell. */
unsigned mt_go_goid_offset(unsigned minor);
/* 0: it cannot be read. */
uint64_t mt_go_word(const struct mt_go_memory *memory, uint64_t address);
/* The beginning of the text, of LENGTH, as one line. */
void mt_go_append_text(const struct mt_go_memory *memory, uint64_t address, uint64_t length,
		       struct mt_str *out);
/* The number of the goroutine whose runtime.g, which is in r14, is at G; on a thread's own stack
 * that of the goroutine for which the thread does something there.  0: none. */
uint64_t mt_go_goroutine_of(const struct mt_go_memory *memory, uint64_t g);
/* What runtime.printpanics() is about to print of the runtime._panic at PANIC, and of those in
 * whose deferred calls it came about, as one line: "panic: first [recovered] panic: again".
 * (go_panic.c)
 */
void mt_go_append_panics(const struct mt_go_memory *memory, uint64_t panic, struct mt_str *out);

#endif
