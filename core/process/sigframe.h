/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal frames: what the kernel lays on a stack when a handler runs, with the registers that the
 * interrupted code goes on with.
 *
 * They are found by what no other data looks like: the code and stack segments that user space has,
 * where a frame has them, and the address of a restorer where it has that.  So no unwind tables are
 * needed, and the stacks of languages that have none are searched as well.
 *
 * Source: struct rt_sigframe in the kernel's arch/x86/include/asm/sigframe.h; struct sigcontext. */
#ifndef MT_PROCESS_SIGFRAME_H
#define MT_PROCESS_SIGFRAME_H

#include "base/array.h"
#include "process/target.h"

/* Its first words. */
struct mt_sigframe {
	uint64_t restorer, flags, link, stack[3];
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
	    eflags;
	uint64_t segments; /* cs, gs, fs, ss: 16 bits each */
};

/* The process's writable mappings, by address: all that can hold a stack. */
struct mt_stacks {
	struct mt_stack_range {
		uint64_t start, end;
	} * items;
	size_t count, capacity;
};

/* Adds a mapping, if it can hold one: for each_map().  0, or -1 without memory. */
int mt_stacks_add(struct mt_stacks *stacks, const struct mt_map *map);

/* Calls `found` for the frames on the stack that begins at SP, innermost first, and for those on
 * the stacks that they interrupted; ADDRESS is the frame's.  The thread stands still.  A stack is
 * searched up to its mapping's end, but of a mapping that is too large for a stack alone (a heap
 * that holds many) the next 256 KiB.  Errors: those of `found`; the target's. */
struct mt_error *mt_sigframe_each(struct mt_target *target, pid_t pid,
				  const struct mt_stacks *stacks, uint64_t sp,
				  struct mt_error *(*found)(void *context, uint64_t address,
							    const struct mt_sigframe *frame),
				  void *context);

#endif
