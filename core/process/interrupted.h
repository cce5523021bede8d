/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a thread goes on when its signal handlers return.
 *
 * The kernel leaves what it interrupted in a frame on the stack (struct sigcontext).  Such frames
 * are known by the segment registers in them, so the answer may hold what is none: too much rather
 * than too little.
 *
 * Source: arch/x86/include/uapi/asm/sigcontext.h of Linux, struct sigcontext_64. */
#ifndef MT_PROCESS_INTERRUPTED_H
#define MT_PROCESS_INTERRUPTED_H

#include "process/target.h"

/* STACK: the stack pointer of an LWP that stands still.  Errors: FOUND's. */
struct mt_error *mt_interrupted_each(struct mt_target *target, pid_t pid, uint64_t stack,
				     struct mt_error *(*found)(void *context, uint64_t pc),
				     void *context);
/* Whether a thread of the process, all of which stand still, is in the SIZE bytes of code at START,
 * or returns there.  True, too: it is not known. */
bool mt_interrupted_is_inside(struct mt_target *target, pid_t pid, uint64_t start, size_t size);

#endif
