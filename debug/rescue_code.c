/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rescue_code.h"

/* Offsets in struct mt_rescue_data, for the assembly. */
#define FORMER 0
#define NONE   64
#define COUNT  96
#define MEMORY 104
#define PAUSE  120
#define SITES  136

#define CHECK(offset, member)                                                                      \
	_Static_assert((offset) == offsetof(struct mt_rescue_data, member), #member)
CHECK(FORMER, former);
CHECK(NONE, none);
CHECK(COUNT, count);
CHECK(MEMORY, memory);
CHECK(PAUSE, pause);
CHECK(SITES, sites);

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* rsi: siginfo_t, with si_code at 8 and si_addr at 16; rdx: ucontext_t, with rip at 168.  Every
 * register but the stack pointer is put back by the kernel in the end. */
/* clang-format off */
__asm__(
"	.pushsection .rodata.mt_rescue, \"a\", @progbits\n"
"	.globl	mt_rescue_code, mt_rescue_restorer, mt_rescue_code_end\n"
"	.balign	16\n"
"mt_rescue_code:\n"
"	lea	mt_rescue_code+4096(%rip), %r8\n"
"	mov	168(%rdx), %r10\n"
"	mov	8(%rsi), %eax\n"
"	cmp	$0x80, %eax\n"			/* SI_KERNEL: int3 */
"	je	.Lbreakpoint\n"
"	cmp	$1, %eax\n"			/* TRAP_BRKPT */
"	jl	.Lforeign\n"
"	jg	.Ldone\n"
"	mov	16(%rsi), %r10\n"
"	mov	%r10, 168(%rdx)\n"
".Ldone:\n"
"	ret\n"

".Lbreakpoint:\n"
"	dec	%r10\n"
"	mov	" TEXT(COUNT) "(%r8), %rcx\n"
".Lsearch:\n"
"	dec	%rcx\n"
"	js	.Lforeign\n"
"	lea	" TEXT(SITES) "(%r8,%rcx,8), %r13\n"
"	mov	(%r13), %rax\n"
"	shl	$8, %rax\n"
"	shr	$8, %rax\n"
"	cmp	%r10, %rax\n"
"	jne	.Lsearch\n"
"	mov	%r10, 168(%rdx)\n"
".Lheal:\n"
"	cmpb	$0xcc, (%r10)\n"
"	jne	.Ldone\n"
"	mov	$2, %eax\n"			/* open(memory, O_RDWR | O_CLOEXEC) */
"	lea	" TEXT(MEMORY) "(%r8), %rdi\n"
"	mov	$0x80002, %esi\n"
"	xor	%edx, %edx\n"
"	syscall\n"
"	test	%eax, %eax\n"
"	js	.Lwait\n"
"	mov	%eax, %r14d\n"
"	mov	%eax, %edi\n"			/* pwrite(fd, its byte, 1, address) */
"	mov	$18, %eax\n"
"	lea	7(%r13), %rsi\n"
"	mov	$1, %edx\n"
"	syscall\n"
"	mov	$3, %eax\n"			/* close(fd) */
"	mov	%r14d, %edi\n"
"	syscall\n"
"	cmpb	$0xcc, (%r10)\n"
"	jne	.Ldone\n"
".Lwait:\n"
"	mov	$35, %eax\n"			/* nanosleep(pause, NULL) */
"	lea	" TEXT(PAUSE) "(%r8), %rdi\n"
"	xor	%esi, %esi\n"
"	syscall\n"
"	jmp	.Lheal\n"

".Lforeign:\n"
"	mov	" TEXT(FORMER) "(%r8), %r9\n"
"	cmp	$1, %r9\n"			/* SIG_IGN */
"	jb	.Ldie\n"
"	je	.Lignored\n"
"	jmp	*%r9\n"
".Lignored:\n"
"	cmpl	$0, 8(%rsi)\n"			/* sent by a process */
"	jle	.Ldone\n"
".Ldie:\n"					/* of it, as soon as this handler is done */
"	mov	$13, %eax\n"			/* rt_sigaction(SIGTRAP, none, NULL, 8) */
"	mov	$5, %edi\n"
"	lea	" TEXT(NONE) "(%r8), %rsi\n"
"	xor	%edx, %edx\n"
"	mov	$8, %r10d\n"
"	syscall\n"
"	mov	$39, %eax\n"			/* tgkill(getpid(), gettid(), SIGTRAP) */
"	syscall\n"
"	mov	%eax, %r12d\n"
"	mov	$186, %eax\n"
"	syscall\n"
"	mov	%r12d, %edi\n"
"	mov	%eax, %esi\n"
"	mov	$5, %edx\n"
"	mov	$234, %eax\n"
"	syscall\n"
"	ret\n"

"mt_rescue_restorer:\n"
"	mov	$15, %rax\n"			/* rt_sigreturn() */
"	syscall\n"
"mt_rescue_code_end:\n"
"	.popsection\n"
);
/* clang-format on */
