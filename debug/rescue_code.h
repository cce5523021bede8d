/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A handler for SIGTRAP that is installed in an attached program, should it lose its tracer.  Until
 * then the tracer suppresses every SIGTRAP that we caused.
 *
 *	a step was done, or a debug register hit   the thread continues
 *	TRAP_BRKPT                                 it continues at the siginfo's address
 *	an int3 at a known address                 the handler restores the byte, or waits until the
 *	                                           guardian has; it continues at that address
 *	anything else                              as without us
 *
 * Source: the kernel's arch/x86/kernel/traps.c for si_code; sigaction(2), "struct sigaction" of the
 * system call; asm/sigcontext.h. */
#ifndef MT_DEBUG_RESCUE_CODE_H
#define MT_DEBUG_RESCUE_CODE_H

#include "ptrace/guardian.h"

#include <stddef.h>
#include <stdint.h>

/* As the kernel has it. */
struct mt_rescue_action {
	uint64_t handler, flags, restorer, mask;
};

/* A page behind the code. */
struct mt_rescue_data {
	struct mt_rescue_action former; /* the program's own */
	struct mt_rescue_action action; /* ours */
	struct mt_rescue_action none;   /* SIG_DFL */
	uint64_t count;                 /* of sites */
	char memory[16];                /* "/proc/self/mem" */
	uint64_t pause[2];              /* a struct timespec */
	mt_guardian_site sites[MT_GUARDIAN_SITES];
};

/* The handler is the first of it, the restorer the last. */
extern const uint8_t mt_rescue_code[], mt_rescue_restorer[], mt_rescue_code_end[];
#define MT_RESCUE_DATA_AT 4096
#define MT_RESCUE_BYTES   (MT_RESCUE_DATA_AT + sizeof(struct mt_rescue_data))

#endif
