/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic of doubles in whole registers, as code that is put behind a condition: it is position
 * independent, and comes back by the address at BACK(%rsp).  Neither a vector register nor the
 * program's MXCSR is touched, so its rounding does not count, and no exception is raised.
 *
 * rax, and rdx where there are two, are doubles, and rax becomes the result, rounded to the nearest
 * one, and of two to the even one.  The program's other registers lie at the stack pointer (read.c),
 * and are taken from there at the end.  Source: IEEE 754; of what is no number, Intel SDM vol. 1,
 * table 4-7. */
#define RDI	0x00
#define RSI	0x08
#define R8	0x10
#define R9	0x18
#define R10	0x20
#define R11	0x28
#define BACK	0x50

#define INFINITE	0x7ff0000000000000
#define NO_NUMBER	0xfff8000000000000
#define QUIET		51
#define BIAS		1023
#define LAST		0x7ff	/* exponent: that of infinities */
#define FLOAT_BIAS	127
#define FLOAT_LAST	0xff
#define DROPPED		11	/* bits of 64 that a double has no room for */
#define FLOAT_DROPPED	40	/* and a float */

/* \bits is infinite, or no number. */
.macro special bits, to
	movabsq	$INFINITE, %rdi
	movq	\bits, %rcx
	andq	%rdi, %rcx
	cmpq	%rdi, %rcx
	je	\to
.endm

/* \bits is \mantissa, whose highest bit is set, times 2^(\exponent - BIAS - 63). */
.macro unpack bits, mantissa, exponent, zero
	movq	\bits, \mantissa
	movq	\bits, %rcx
	shrq	$52, %rcx
	andl	$LAST, %ecx
	shlq	$DROPPED, \mantissa
	testl	%ecx, %ecx
	jz	1f
	btsq	$63, \mantissa
	movl	%ecx, \exponent
	jmp	2f
1:	testq	\mantissa, \mantissa
	jz	\zero
	bsrq	\mantissa, %rcx
	xorl	$63, %ecx
	shlq	%cl, \mantissa
	movl	$1, \exponent
	subl	%ecx, \exponent
2:
.endm

/* Down by ecx, more than 0; the lowest bit tells of those that are gone, which \other has. */
.macro shift_down mantissa, mantissa32, other, other8, other32
	cmpl	$63, %ecx
	ja	1f
	movq	\mantissa, \other
	shrq	%cl, \mantissa
	negl	%ecx
	shlq	%cl, \other
	testq	\other, \other
	setne	\other8
	movzbl	\other8, \other32
	orq	\other, \mantissa
	jmp	2f
1:	movl	$1, \mantissa32
2:
.endm

	.section .rodata
	.balign	16
	.globl	mt_float_code, mt_float_add, mt_float_subtract, mt_float_multiply, mt_float_divide
	.globl	mt_float_narrow, mt_float_to_single, mt_float_to_whole, mt_float_code_end
	.hidden	mt_float_code, mt_float_add, mt_float_subtract, mt_float_multiply, mt_float_divide
	.hidden	mt_float_narrow, mt_float_to_single, mt_float_to_whole, mt_float_code_end
mt_float_code:

/* rax - rdx.  What is no number keeps its sign. */
mt_float_subtract:
	leaq	(%rdx, %rdx), %rcx
	movabsq	$INFINITE << 1, %rdi
	cmpq	%rdi, %rcx
	ja	.Ladd_special
	btcq	$63, %rdx

/* rax + rdx. */
mt_float_add:
	special	%rax, .Ladd_special
	special	%rdx, .Ladd_special
	leaq	(%rax, %rax), %rcx
	leaq	(%rdx, %rdx), %rsi
	cmpq	%rsi, %rcx
	jae	.Llarger_first
	xchgq	%rax, %rdx
.Llarger_first:
	movq	%rax, %r8
	movq	%rax, %rdi
	xorq	%rdx, %rdi
	unpack	%rax, %r10, %r9d, .Ladd_zeros
	unpack	%rdx, %rsi, %r11d, .Lout
	shrq	%r10
	shrq	%rsi
	movl	%r9d, %ecx
	subl	%r11d, %ecx
	jz	.Laligned
	shift_down %rsi, %esi, %rax, %al, %eax
.Laligned:
	movq	%r10, %rax
	testq	%rdi, %rdi
	js	.Lsigns_differ
	addq	%rsi, %rax
	jmp	.Lround
.Lsigns_differ:
	subq	%rsi, %rax
	jnz	.Lround
	jmp	.Lout
.Ladd_zeros:
	andq	%rdx, %rax
	jmp	.Lout
.Ladd_special:
	leaq	(%rax, %rax), %rcx
	movabsq	$INFINITE << 1, %rdi
	cmpq	%rdi, %rcx
	ja	.Lquiet
	leaq	(%rdx, %rdx), %rsi
	cmpq	%rdi, %rsi
	ja	.Lquiet_second
	jb	.Lout			/* the first one is infinite, the second one is not */
	cmpq	%rdi, %rcx
	jb	.Lsecond
	cmpq	%rax, %rdx
	je	.Lout
	jmp	.Lno_number
.Lsecond:
	movq	%rdx, %rax
	jmp	.Lout

/* rax * rdx. */
mt_float_multiply:
	movq	%rax, %r8
	xorq	%rdx, %r8
	special	%rax, .Lmultiply_special
	special	%rdx, .Lmultiply_special
	unpack	%rax, %r10, %r9d, .Lzero
	unpack	%rdx, %rsi, %r11d, .Lzero
	movq	%r10, %rax
	mulq	%rsi
	testq	%rax, %rax
	setne	%al
	movzbl	%al, %eax
	orq	%rdx, %rax
	leal	-BIAS(%r9, %r11), %r9d
	jmp	.Lround
.Lmultiply_special:
	leaq	(%rax, %rax), %rcx
	movabsq	$INFINITE << 1, %rdi
	cmpq	%rdi, %rcx
	ja	.Lquiet
	leaq	(%rdx, %rdx), %rsi
	cmpq	%rdi, %rsi
	ja	.Lquiet_second
	testq	%rcx, %rcx
	jz	.Lno_number
	testq	%rsi, %rsi
	jz	.Lno_number
	jmp	.Linfinite

/* rax / rdx. */
mt_float_divide:
	movq	%rax, %r8
	xorq	%rdx, %r8
	special	%rax, .Ldivide_special
	special	%rdx, .Ldivide_special
	unpack	%rdx, %rsi, %r11d, .Ldivide_by_zero
	unpack	%rax, %r10, %r9d, .Lzero
	movq	%r10, %rdx
	shrq	%rdx			/* below the divisor */
	xorl	%eax, %eax
	divq	%rsi
	testq	%rdx, %rdx
	setne	%dl
	movzbl	%dl, %edx
	orq	%rdx, %rax
	subl	%r11d, %r9d
	addl	$BIAS-1, %r9d
	jmp	.Lround
.Ldivide_by_zero:
	leaq	(%rax, %rax), %rcx
	testq	%rcx, %rcx
	jz	.Lno_number
	jmp	.Linfinite
.Ldivide_special:
	leaq	(%rax, %rax), %rcx
	movabsq	$INFINITE << 1, %rdi
	cmpq	%rdi, %rcx
	ja	.Lquiet
	leaq	(%rdx, %rdx), %rsi
	cmpq	%rdi, %rsi
	ja	.Lquiet_second
	cmpq	%rdi, %rcx
	jb	.Lzero
	cmpq	%rdi, %rsi
	jb	.Linfinite
	jmp	.Lno_number

/* rax becomes the nearest double that a float can be. */
mt_float_narrow:
	movq	%rax, %r8
	special	%rax, .Lout
	unpack	%rax, %r10, %r9d, .Lout
	movl	$BIAS-FLOAT_BIAS+1, %ecx
	subl	%r9d, %ecx
	jle	.Lnarrow_round
	addl	%ecx, %r9d
	shift_down %r10, %r10d, %rdx, %dl, %edx
.Lnarrow_round:
	movq	%r10, %rax
	shrq	$FLOAT_DROPPED, %rax
	andl	$1, %eax
	movabsq	$(1 << (FLOAT_DROPPED - 1)) - 1, %rdx
	addq	%rdx, %rax
	addq	%r10, %rax
	jnc	.Lnarrow_drop
	rcrq	%rax
	incl	%r9d
.Lnarrow_drop:
	shrq	$FLOAT_DROPPED, %rax
	shlq	$FLOAT_DROPPED, %rax
	jz	.Lzero
	cmpl	$FLOAT_LAST+BIAS-FLOAT_BIAS, %r9d
	jge	.Linfinite
	decl	%r9d
	jmp	.Lround

/* rax, which a float can be, becomes its bits. */
mt_float_to_single:
	movq	%rax, %r8
	shrq	$32, %r8
	andl	$0x80000000, %r8d
	special	%rax, .Lsingle_special
	unpack	%rax, %r10, %r9d, .Lsingle_sign
	movl	$BIAS-FLOAT_BIAS+1, %ecx
	subl	%r9d, %ecx
	jg	.Lsingle_small
	negl	%ecx			/* its exponent, less 1 */
	shll	$23, %ecx
	shrq	$FLOAT_DROPPED, %r10
	leal	(%r10, %rcx), %eax
	jmp	.Lsingle_sign
.Lsingle_small:
	addl	$FLOAT_DROPPED, %ecx
	shrq	%cl, %r10
	movl	%r10d, %eax
	jmp	.Lsingle_sign
.Lsingle_special:
	shrq	$29, %rax
	andl	$0x007fffff, %eax
	orl	$0x7f800000, %eax
.Lsingle_sign:
	orl	%r8d, %eax
	jmp	.Lout

/* rax becomes a whole number, towards 0; beyond them the last one, and so is what is no number. */
mt_float_to_whole:
	movq	%rax, %r8
	movq	%rax, %rcx
	shrq	$52, %rcx
	andl	$LAST, %ecx
	negl	%ecx
	addl	$BIAS+63, %ecx
	jle	.Lwhole_beyond
	shlq	$DROPPED, %rax
	btsq	$63, %rax
	cmpl	$63, %ecx
	ja	.Lwhole_none
	shrq	%cl, %rax
	testq	%r8, %r8
	jns	.Lout
	negq	%rax
	jmp	.Lout
.Lwhole_none:
	xorl	%eax, %eax
	jmp	.Lout
.Lwhole_beyond:
	movabsq	$0x7fffffffffffffff, %rax
	leaq	(%r8, %r8), %rcx
	movabsq	$INFINITE << 1, %rdi
	cmpq	%rdi, %rcx
	ja	.Lout
	testq	%r8, %r8
	jns	.Lout
	notq	%rax
	jmp	.Lout

/* rax, which is not 0, times 2^(r9d - BIAS - 62), with the sign of r8, becomes a double. */
.Lround:
	bsrq	%rax, %rcx
	xorl	$63, %ecx
	shlq	%cl, %rax
	subl	%ecx, %r9d
	incl	%r9d
	cmpl	$LAST, %r9d
	jge	.Linfinite
	movl	$1, %ecx
	subl	%r9d, %ecx
	jle	.Lround_last
	shift_down %rax, %eax, %rdx, %dl, %edx
	movl	$1, %r9d
.Lround_last:
	decl	%r9d
	movq	%rax, %rcx
	shrq	$DROPPED, %rcx
	andl	$1, %ecx
	addq	$(1 << (DROPPED - 1)) - 1, %rcx
	addq	%rcx, %rax
	jnc	.Lround_drop
	rcrq	%rax
	incl	%r9d
.Lround_drop:
	shrq	$DROPPED, %rax
	shlq	$52, %r9
	addq	%r9, %rax		/* the highest bit is implied, and adds 1 to the exponent */
	jmp	.Lsign
.Lzero:
	xorl	%eax, %eax
	jmp	.Lsign
.Linfinite:
	movabsq	$INFINITE, %rax
.Lsign:
	shrq	$63, %r8
	shlq	$63, %r8
	orq	%r8, %rax
	jmp	.Lout
.Lquiet_second:
	movq	%rdx, %rax
.Lquiet:
	btsq	$QUIET, %rax
	jmp	.Lout
.Lno_number:
	movabsq	$NO_NUMBER, %rax
.Lout:
	movq	RDI(%rsp), %rdi
	movq	RSI(%rsp), %rsi
	movq	R8(%rsp), %r8
	movq	R9(%rsp), %r9
	movq	R10(%rsp), %r10
	movq	R11(%rsp), %r11
	jmp	*BACK(%rsp)
mt_float_code_end:
	.section .note.GNU-stack, "", @progbits
