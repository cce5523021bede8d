/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the calls engine puts into a program for the program's own unwinder, as bytes: code that
 * comes before the loader's _dl_find_object(rdi: address, rsi: result), and behind it, from the
 * next page on, the list that it looks through (MT_AGENT_… in types.h).
 *
 * It says which object an address is of that an unwinder met: it knows trampolines, and the long
 * jumps of short ones.  Neither lock nor memory is taken, so it can be asked in a signal handler. */
#define LIST    4096
#define REST    4104

/* Of struct mt_calls_entry.  Entries stay where they are when a library goes: somebody may be on a
 * walk over them. */
#define NEXT         0
#define CODE         8
#define CODE_BYTES   16
#define MODULE       24
#define MODULE_BYTES 32
#define SEARCH_TABLE 40
#define OBJECT       48
#define HOLES        56
#define HOLE_COUNT   64

/* Of struct dl_find_object, dlfcn.h. */
#define RESULT_FLAGS    0
#define RESULT_START    8
#define RESULT_END      16
#define RESULT_OBJECT   24
#define RESULT_EH_FRAME 32

	.section .rodata
	.balign	16
	.globl	mt_agent_code, mt_agent_code_end
	.hidden	mt_agent_code, mt_agent_code_end
mt_agent_code:
	movq	mt_agent_code+LIST(%rip), %rcx
.Lentry:
	testq	%rcx, %rcx
	jz	.Lrest
	movq	%rdi, %rdx
	subq	CODE(%rcx), %rdx
	cmpq	CODE_BYTES(%rcx), %rdx
	jb	.Lfound
	movq	%rdi, %rdx
	subq	MODULE(%rcx), %rdx
	cmpq	MODULE_BYTES(%rcx), %rdx
	jae	.Lnext
	movq	HOLES(%rcx), %r8
	movq	HOLE_COUNT(%rcx), %r9
.Lhalve:
	testq	%r9, %r9
	jz	.Lrest
	movq	%r9, %r10
	shrq	%r10
	cmpq	%rdi, (%r8, %r10, 8)
	je	.Lfound
	ja	.Llower
	leaq	8(%r8, %r10, 8), %r8
	notq	%r10
	addq	%r10, %r9
	jmp	.Lhalve
.Llower:
	movq	%r10, %r9
	jmp	.Lhalve
.Lnext:
	movq	NEXT(%rcx), %rcx
	jmp	.Lentry
.Lrest:
	jmp	*mt_agent_code+REST(%rip)
.Lfound:
	movq	$0, RESULT_FLAGS(%rsi)
	movq	CODE(%rcx), %rax
	movq	%rax, RESULT_START(%rsi)
	addq	CODE_BYTES(%rcx), %rax
	movq	%rax, RESULT_END(%rsi)
	movq	OBJECT(%rcx), %rax
	movq	%rax, RESULT_OBJECT(%rsi)
	movq	SEARCH_TABLE(%rcx), %rax
	movq	%rax, RESULT_EH_FRAME(%rsi)
	xorl	%eax, %eax
	ret
mt_agent_code_end:

	.section .note.GNU-stack, "", @progbits
