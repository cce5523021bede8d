/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What death.c and go_panic.c read of a program of Go's that dies. */
#ifndef MT_SESSION_DYING_H
#define MT_SESSION_DYING_H

#include "session/private.h"

/* The thread that dies, in whose process we read. */
struct mt_dying {
	struct mt_session *session;
	const struct mt_session_thread *thread;
	struct user_regs_struct registers;
};

/* Returns how many bytes could be read. */
size_t mt_dying_read(const struct mt_dying *dying, uint64_t address, void *out, size_t size);
/* 0: it cannot be read. */
uint64_t mt_dying_word(const struct mt_dying *dying, uint64_t address);
/* The text's beginning, as one line. */
void mt_dying_append_text(const struct mt_dying *dying, uint64_t address, uint64_t length,
			  struct mt_str *out);

/* go_panic.c */
/* What runtime.printpanics() is about to print of a runtime._panic, and of those in whose deferred
 * calls it came about, as one line: "panic: first [recovered] panic: again". */
void mt_dying_append_panics(const struct mt_dying *dying, uint64_t panic, struct mt_str *out);

#endif
