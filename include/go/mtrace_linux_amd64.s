// SPDX-License-Identifier: GPL-3.0-or-later OR MIT

#include "textflag.h"

// The functions of mtrace.h, by their names there, which mtdb looks for, with their arguments where
// C has them.  Each has room for a jump, and does nothing.
#define SAID(name) \
	TEXT name(SB), NOSPLIT, $0-0 \
	BYTE $0x0f; BYTE $0x1f; BYTE $0x44; BYTE $0x00; BYTE $0x00 \
	BYTE $0x0f; BYTE $0x1f; BYTE $0x44; BYTE $0x00; BYTE $0x00 \
	RET

SAID(mtrace_mark)
SAID(mtrace_mark_string)
SAID(mtrace_begin)
SAID(mtrace_begin_string)
SAID(mtrace_end)
SAID(mtrace_number_text)
SAID(mtrace_number_string)
SAID(mtrace_snapshot)

// Go passes arguments to assembly on the stack.

// func mark(text *byte)
TEXT ·mark(SB), NOSPLIT, $0-8
	MOVQ text+0(FP), DI
	JMP  mtrace_mark(SB)

// func markString(text *byte, length int)
TEXT ·markString(SB), NOSPLIT, $0-16
	MOVQ text+0(FP), DI
	MOVQ length+8(FP), SI
	JMP  mtrace_mark_string(SB)

// func begin(name *byte)
TEXT ·begin(SB), NOSPLIT, $0-8
	MOVQ name+0(FP), DI
	JMP  mtrace_begin(SB)

// func beginString(name *byte, length int)
TEXT ·beginString(SB), NOSPLIT, $0-16
	MOVQ name+0(FP), DI
	MOVQ length+8(FP), SI
	JMP  mtrace_begin_string(SB)

// func end()
TEXT ·end(SB), NOSPLIT, $0-0
	JMP mtrace_end(SB)

// func number(name *byte, bits uint64)
TEXT ·number(SB), NOSPLIT, $0-16
	MOVQ name+0(FP), DI
	MOVQ bits+8(FP), SI
	JMP  mtrace_number_text(SB)

// func numberString(name *byte, bits uint64, length int)
TEXT ·numberString(SB), NOSPLIT, $0-24
	MOVQ name+0(FP), DI
	MOVQ bits+8(FP), SI
	MOVQ length+16(FP), DX
	JMP  mtrace_number_string(SB)

// func snapshot(reason *byte)
TEXT ·snapshot(SB), NOSPLIT, $0-8
	MOVQ reason+0(FP), DI
	JMP  mtrace_snapshot(SB)

// func isConstant(data *byte) bool
TEXT ·isConstant(SB), NOSPLIT, $0-9
	MOVQ data+0(FP), AX
	MOVB $0, ret+8(FP)
	LEAQ runtime·rodata(SB), CX
	CMPQ AX, CX
	JCS  other
	LEAQ runtime·erodata(SB), CX
	CMPQ AX, CX
	JCC  other
	MOVB $1, ret+8(FP)
other:
	RET
