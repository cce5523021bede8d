/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/inject.h"

#include <stdbool.h>
#include <sys/syscall.h>

/* As the kernel has them, include/linux/errno.h. */
#define ERESTARTSYS           512
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

#define SYSCALL_BYTES 2

/* An instruction a line. */
#define DISTANCE(to, end) (uint8_t)((to) - (end)), (uint8_t)(((to) - (end)) >> 8), 0x00, 0x00
#define FRAME(field, end)                                                                          \
	DISTANCE(MT_INJECT_FRAME_AT + offsetof(struct mt_inject_frame, field), end)

/* Signals are blocked as long as the stack pointer is not the thread's: the tracer may have been
 * killed before it blocked them.  The flags are set before the mask, from where no stack is written
 * to, and not changed behind that. */
/* clang-format off */
const uint8_t mt_inject_code[MT_INJECT_BYTES] = {
    0x0f, 0x05,                                     /* syscall */
    0xb8, SYS_rt_sigprocmask, 0x00, 0x00, 0x00,     /* mov eax, rt_sigprocmask */
    0x31, 0xff,                                     /* xor edi, edi: SIG_BLOCK */
    0x48, 0x8d, 0x35, DISTANCE(160, 16),            /* lea rsi, [all] */
    0x31, 0xd2,                                     /* xor edx, edx */
    0x41, 0xba, 0x08, 0x00, 0x00, 0x00,             /* mov r10d, 8 */
    0x0f, 0x05,                                     /* syscall */
    0x48, 0x8d, 0x25, FRAME(r15, 33),               /* lea rsp, [frame.r15] */
    0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, /* pop r15, r14, r13, r12 */
    0x5d, 0x5b,                                     /* pop rbp, rbx */
    0x48, 0x8d, 0x25, FRAME(eflags, 50),            /* lea rsp, [frame.eflags] */
    0x9d,                                           /* popfq */
    0x48, 0x8b, 0x25, FRAME(rsp, 58),               /* mov rsp, [frame.rsp] */
    0xb8, SYS_rt_sigprocmask, 0x00, 0x00, 0x00,     /* mov eax, rt_sigprocmask */
    0xbf, 0x02, 0x00, 0x00, 0x00,                   /* mov edi, SIG_SETMASK */
    0x48, 0x8d, 0x35, FRAME(mask, 75),              /* lea rsi, [frame.mask] */
    0xba, 0x00, 0x00, 0x00, 0x00,                   /* mov edx, 0 */
    0x41, 0xba, 0x08, 0x00, 0x00, 0x00,             /* mov r10d, 8 */
    0x0f, 0x05,                                     /* syscall */
    0x4c, 0x8b, 0x1d, FRAME(r11, 95),               /* mov r11, [frame.r11] */
    0x4c, 0x8b, 0x15, FRAME(r10, 102),              /* mov r10, [frame.r10] */
    0x4c, 0x8b, 0x0d, FRAME(r9, 109),               /* mov r9, [frame.r9] */
    0x4c, 0x8b, 0x05, FRAME(r8, 116),               /* mov r8, [frame.r8] */
    0x48, 0x8b, 0x05, FRAME(rax, 123),              /* mov rax, [frame.rax] */
    0x48, 0x8b, 0x0d, FRAME(rcx, 130),              /* mov rcx, [frame.rcx] */
    0x48, 0x8b, 0x15, FRAME(rdx, 137),              /* mov rdx, [frame.rdx] */
    0x48, 0x8b, 0x35, FRAME(rsi, 144),              /* mov rsi, [frame.rsi] */
    0x48, 0x8b, 0x3d, FRAME(rdi, 151),              /* mov rdi, [frame.rdi] */
    0xff, 0x25, FRAME(rip, 157),                    /* jmp [frame.rip] */
    0xcc, 0xcc, 0xcc,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* all: of signals */
};

const uint8_t mt_inject_stack_code[MT_INJECT_STACK_BYTES] = {
    0x0f, 0x05,                                     /* syscall */
    0xb8, SYS_rt_sigprocmask, 0x00, 0x00, 0x00,     /* mov eax, rt_sigprocmask */
    0xbf, 0x02, 0x00, 0x00, 0x00,                   /* mov edi, SIG_SETMASK */
    0x48, 0x89, 0xe6,                               /* mov rsi, rsp: frame->mask */
    0x31, 0xd2,                                     /* xor edx, edx */
    0x41, 0xba, 0x08, 0x00, 0x00, 0x00,             /* mov r10d, 8 */
    0x0f, 0x05,                                     /* syscall */
    0x48, 0x8d, 0x64, 0x24, 0x08,                   /* lea rsp, [rsp+8] */
    0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, /* pop r15, r14, r13, r12 */
    0x5d, 0x5b,                                     /* pop rbp, rbx */
    0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, /* pop r11, r10, r9, r8 */
    0x58, 0x59, 0x5a, 0x5e, 0x5f,                   /* pop rax, rcx, rdx, rsi, rdi */
    0x9d,                                           /* popfq */
    0xc2, MT_INJECT_GAP & 0xff, MT_INJECT_GAP >> 8,     /* ret MT_INJECT_GAP */
};
/* clang-format on */

#define DONE_AT 66

/* r12: the list; r13d: how many of it are left; r14: the word whose low 30 bits are the tracer's
 * number, or 0; r15: the next result. */
/* clang-format off */
const uint8_t mt_inject_list_code[MT_INJECT_LIST_CODE_BYTES] = {
    0x45, 0x85, 0xed,                               /* next: test r13d, r13d */
    0x74, 0x3d,                                     /* jz done */
    0x41, 0xf7, 0x06, 0xff, 0xff, 0xff, 0x3f,       /* test dword [r14], 0x3fffffff */
    0x74, 0x4d,                                     /* jz over */
    0x49, 0x8b, 0x04, 0x24,                         /* mov rax, [r12] */
    0x49, 0x8b, 0x7c, 0x24, 0x08,                   /* mov rdi, [r12+8] */
    0x49, 0x8b, 0x74, 0x24, 0x10,                   /* mov rsi, [r12+16] */
    0x49, 0x8b, 0x54, 0x24, 0x18,                   /* mov rdx, [r12+24] */
    0x4d, 0x8b, 0x54, 0x24, 0x20,                   /* mov r10, [r12+32] */
    0x4d, 0x8b, 0x44, 0x24, 0x28,                   /* mov r8, [r12+40] */
    0x4d, 0x8b, 0x4c, 0x24, 0x30,                   /* mov r9, [r12+48] */
    0x0f, 0x05,                                     /* syscall */
    0x49, 0x89, 0x07,                               /* mov [r15], rax */
    0x49, 0x83, 0xc7, 0x08,                         /* add r15, 8 */
    0x49, 0x83, 0xc4, 0x38,                         /* add r12, 56 */
    0x41, 0xff, 0xcd,                               /* dec r13d */
    0xeb, 0xbe,                                     /* jmp next */
    0x49, 0xc7, 0x07, 0x01, 0x00, 0x00, 0x00,       /* done: mov qword [r15], 1 */
    0x41, 0xf7, 0x06, 0xff, 0xff, 0xff, 0x3f,       /* stay: test dword [r14], 0x3fffffff */
    0x74, 0x09,                                     /* jz over */
    0xb8, SYS_sched_yield, 0x00, 0x00, 0x00,        /* mov eax, sched_yield */
    0x0f, 0x05,                                     /* syscall */
    0xeb, 0xee,                                     /* jmp stay */
    0xe9, 0x62, 0xfe, 0xff, 0xff,                   /* over: jmp mt_inject_code + 2 */
};
/* clang-format on */

void mt_inject_list_enter(const struct mt_injected *injected, size_t count,
			  struct user_regs_struct *registers)
{
	registers->rip = injected->code + MT_INJECT_LIST_CODE_AT;
	registers->r12 = injected->code + MT_INJECT_LIST_AT;
	registers->r13 = count;
	registers->r14 = injected->alive;
	registers->r15 = injected->results;
}

bool mt_inject_list_waits(const struct mt_injected *injected, uint64_t pc)
{
	uint64_t at = pc - injected->code - MT_INJECT_LIST_CODE_AT;

	return at > DONE_AT && at < MT_INJECT_LIST_CODE_BYTES;
}

bool mt_inject_is_restarted(const struct user_regs_struct *registers)
{
	int64_t result = (int64_t)registers->rax;

	return (int64_t)registers->orig_rax >= 0 && result <= -ERESTARTSYS &&
	       result >= -ERESTART_RESTARTBLOCK;
}

/* Does what the kernel would do for an interrupted system call. */
static void do_again(const struct user_regs_struct *before, struct mt_inject_frame *frame)
{
	int64_t result = (int64_t)before->rax;
	bool again = result <= -ERESTARTSYS && result >= -ERESTARTNOHAND;

	if (!mt_inject_is_restarted(before) || (!again && result != -ERESTART_RESTARTBLOCK))
		return;
	frame->rip -= SYSCALL_BYTES;
	frame->rax = again ? before->orig_rax : SYS_restart_syscall;
}

void mt_inject_frame_make(const struct user_regs_struct *before, uint64_t mask,
			  struct mt_inject_frame *frame)
{
	*frame = (struct mt_inject_frame){
	    .mask = mask,
	    .r15 = before->r15,
	    .r14 = before->r14,
	    .r13 = before->r13,
	    .r12 = before->r12,
	    .rbp = before->rbp,
	    .rbx = before->rbx,
	    .r11 = before->r11,
	    .r10 = before->r10,
	    .r9 = before->r9,
	    .r8 = before->r8,
	    .rax = before->rax,
	    .rcx = before->rcx,
	    .rdx = before->rdx,
	    .rsi = before->rsi,
	    .rdi = before->rdi,
	    .eflags = before->eflags,
	    .rip = before->rip,
	    .rsp = before->rsp,
	};
	do_again(before, frame);
}

uint64_t mt_inject_stack_frame_at(const struct user_regs_struct *before)
{
	return before->rsp - MT_INJECT_GAP - offsetof(struct mt_inject_frame, rsp);
}

const uint8_t *mt_inject_code_of(const struct mt_injected *injected, size_t *size)
{
	*size = injected->frame ? MT_INJECT_BYTES : MT_INJECT_STACK_BYTES;
	return injected->frame ? mt_inject_code : mt_inject_stack_code;
}
