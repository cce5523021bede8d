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
/* clang-format off */
const uint8_t mt_inject_code[MT_INJECT_BYTES] = {
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

uint64_t mt_inject_frame_make(const struct user_regs_struct *before, uint64_t mask,
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
	};
	do_again(before, frame);
	return before->rsp - MT_INJECT_GAP - sizeof(*frame);
}
