/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code in the program that a thread of it runs for its tracer: a system call, or a list of them.
 * When that is done, the tracer puts the thread back to where it was; but should the tracer be
 * killed meanwhile, the code does so by itself, from a frame that the tracer has written.  So a
 * remote call never puts the thread in danger.
 *
 * A list is run without a stop in between, so before each of its calls the code looks whether the
 * tracer lives: what a call does is meant for a program whose other threads stand still, or hold
 * what the tracer saw.  It looks at the word of a robust lock that the tracer holds, which the
 * kernel clears before it lets go of any thread.
 *
 * Source: System V ABI, AMD64 supplement. */
#ifndef MT_PROCESS_INJECT_H
#define MT_PROCESS_INJECT_H

#include "process/target.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

struct mt_inject_frame {
	uint64_t mask; /* of blocked signals */
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	uint64_t eflags, rip, rsp;
};
/* Behind the code stands the frame of the one thread that may be in it. */
#define MT_INJECT_BYTES      168
#define MT_INJECT_FRAME_AT   MT_INJECT_BYTES
#define MT_INJECT_WITH_FRAME (MT_INJECT_FRAME_AT + sizeof(struct mt_inject_frame))
extern const uint8_t mt_inject_code[MT_INJECT_BYTES];

/* Likewise, where there is less room: the frame is at the stack pointer when it is entered.  Where
 * stacks are small parts of other memory, that may be another thread's, so all must stand still. */
#define MT_INJECT_STACK_BYTES 57
extern const uint8_t mt_inject_stack_code[MT_INJECT_STACK_BYTES];
/* Between the frame and the thread's own stack pointer: no less than its red zone. */
#define MT_INJECT_GAP 512
uint64_t mt_inject_stack_frame_at(const struct user_regs_struct *before);

/* What INJECTED says is there, of *SIZE bytes. */
const uint8_t *mt_inject_code_of(const struct mt_injected *injected, size_t *size);

/* Behind mt_inject_code in a page: a list's code, and the list. */
#define MT_INJECT_LIST_CODE_AT    320
#define MT_INJECT_LIST_CODE_BYTES 96
#define MT_INJECT_LIST_AT         416
#define MT_INJECT_LIST_MOST       64
extern const uint8_t mt_inject_list_code[MT_INJECT_LIST_CODE_BYTES];

struct mt_inject_call {
	uint64_t number, arguments[6];
};
#define MT_INJECT_LIST_BYTES (MT_INJECT_LIST_MOST * sizeof(struct mt_inject_call))

/* In memory that the program can write to: a result a call, and behind the last one a word that is
 * not 0 when all are done. */
#define MT_INJECT_RESULTS_BYTES ((MT_INJECT_LIST_MOST + 1) * 8)

/* It begins with the first of COUNT calls. */
void mt_inject_list_enter(const struct mt_injected *injected, size_t count,
			  struct user_regs_struct *registers);
/* Whether a thread that stands there is done with its list, and waits for its tracer. */
bool mt_inject_list_waits(const struct mt_injected *injected, uint64_t pc);

/* BEFORE: of a thread that stands still, perhaps within a system call that is to be done again. */
void mt_inject_frame_make(const struct user_regs_struct *before, uint64_t mask,
			  struct mt_inject_frame *frame);

/* Whether it has left a system call that the kernel takes it back into, when it goes on: to the
 * instruction before its PC, wherever that is by then.  So it must not be moved. */
bool mt_inject_is_restarted(const struct user_regs_struct *registers);

/* Where it stands while no memory was mapped for it. */
struct mt_inject_padding {
	uint64_t code;  /* 0: nowhere */
	uint64_t frame; /* 0: on the thread's stack */
	bool was_there; /* a tracer of ours was killed that had put it there */
};

/* Put it there, and set_injected().  All threads stand still, until mt_inject_padding_end().
 * Errors: UNSUPPORTED (there is no room); the target's. */
struct mt_error *mt_inject_padding_begin(struct mt_target *target, pid_t pid,
					 struct mt_inject_padding *out);
/* Whether it still is: its file may have been unloaded since, as long as threads ran. */
bool mt_inject_padding_is_there(struct mt_target *target, pid_t pid,
				const struct mt_inject_padding *padding);
/* Take it away again, if it is there and no thread is in it; set_injected() is the caller's to
 * undo.  Errors: the target's. */
struct mt_error *mt_inject_padding_end(struct mt_target *target, pid_t pid,
				       const struct mt_inject_padding *padding);

#endif
