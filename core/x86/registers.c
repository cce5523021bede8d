/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/registers.h"

#include <string.h>

#define FAMILY(wide, dword, word, low, number)                                                     \
	{wide, number, 8, 0, MT_SHAPE_INTEGER}, {dword, number, 4, 0, MT_SHAPE_INTEGER},           \
	    {word, number, 2, 0, MT_SHAPE_INTEGER},                                                \
	{                                                                                          \
		low, number, 1, 0, MT_SHAPE_INTEGER                                                \
	}
#define NUMBERED(text, number) FAMILY(text, text "d", text "w", text "l", number)
#define VECTOR(text, index)                                                                        \
	{                                                                                          \
		text, MT_REGISTER_XMM0 + index, 16, 0, MT_SHAPE_VECTOR                             \
	}
#define X87(text, index)                                                                           \
	{                                                                                          \
		text, MT_REGISTER_ST0 + index, 10, 0, MT_SHAPE_X87                                 \
	}

static const struct mt_register_name names[] = {
    FAMILY("rax", "eax", "ax", "al", 0),
    FAMILY("rdx", "edx", "dx", "dl", 1),
    FAMILY("rcx", "ecx", "cx", "cl", 2),
    FAMILY("rbx", "ebx", "bx", "bl", 3),
    FAMILY("rsi", "esi", "si", "sil", 4),
    FAMILY("rdi", "edi", "di", "dil", 5),
    {"rbp", MT_REGISTER_RBP, 8, 0, MT_SHAPE_DATA_POINTER},
    {"ebp", 6, 4, 0, MT_SHAPE_INTEGER},
    {"rsp", 7, 8, 0, MT_SHAPE_DATA_POINTER},
    {"esp", 7, 4, 0, MT_SHAPE_INTEGER},
    {"fp", 6, 8, 0, MT_SHAPE_DATA_POINTER},
    {"sp", 7, 8, 0, MT_SHAPE_DATA_POINTER},
    {"rip", 16, 8, 0, MT_SHAPE_CODE_POINTER},
    {"pc", 16, 8, 0, MT_SHAPE_CODE_POINTER},
    {"ah", 0, 1, 1, MT_SHAPE_INTEGER},
    {"dh", 1, 1, 1, MT_SHAPE_INTEGER},
    {"ch", 2, 1, 1, MT_SHAPE_INTEGER},
    {"bh", 3, 1, 1, MT_SHAPE_INTEGER},
    NUMBERED("r8", 8),
    NUMBERED("r9", 9),
    NUMBERED("r10", 10),
    NUMBERED("r11", 11),
    NUMBERED("r12", 12),
    NUMBERED("r13", 13),
    NUMBERED("r14", 14),
    NUMBERED("r15", 15),
    {"eflags", MT_REGISTER_EFLAGS, 4, 0, MT_SHAPE_FLAGS},
    {"ps", MT_REGISTER_EFLAGS, 4, 0, MT_SHAPE_FLAGS},
    {"cs", MT_REGISTER_CS, 4, 0, MT_SHAPE_INTEGER},
    {"ds", MT_REGISTER_DS, 4, 0, MT_SHAPE_INTEGER},
    {"es", MT_REGISTER_ES, 4, 0, MT_SHAPE_INTEGER},
    {"fs", MT_REGISTER_FS, 4, 0, MT_SHAPE_INTEGER},
    {"gs", MT_REGISTER_GS, 4, 0, MT_SHAPE_INTEGER},
    {"ss", MT_REGISTER_SS, 4, 0, MT_SHAPE_INTEGER},
    {"fs_base", MT_REGISTER_FS_BASE, 8, 0, MT_SHAPE_INTEGER},
    {"gs_base", MT_REGISTER_GS_BASE, 8, 0, MT_SHAPE_INTEGER},
    {"orig_rax", MT_REGISTER_ORIG_RAX, 8, 0, MT_SHAPE_INTEGER},
    {"mxcsr", MT_REGISTER_MXCSR, 4, 0, MT_SHAPE_MXCSR},
    VECTOR("xmm0", 0),
    VECTOR("xmm1", 1),
    VECTOR("xmm2", 2),
    VECTOR("xmm3", 3),
    VECTOR("xmm4", 4),
    VECTOR("xmm5", 5),
    VECTOR("xmm6", 6),
    VECTOR("xmm7", 7),
    VECTOR("xmm8", 8),
    VECTOR("xmm9", 9),
    VECTOR("xmm10", 10),
    VECTOR("xmm11", 11),
    VECTOR("xmm12", 12),
    VECTOR("xmm13", 13),
    VECTOR("xmm14", 14),
    VECTOR("xmm15", 15),
    X87("st0", 0),
    X87("st1", 1),
    X87("st2", 2),
    X87("st3", 3),
    X87("st4", 4),
    X87("st5", 5),
    X87("st6", 6),
    X87("st7", 7),
};

const struct mt_register_name *mt_register_named(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, name) == 0)
			return &names[i];
	return NULL;
}

#define AT(field) offsetof(struct user_regs_struct, field) + 1

/* Where each lies in struct user_regs_struct, and one byte more; 0: elsewhere. */
static const uint8_t offsets[] = {
    [MT_REGISTER_RAX] = AT(rax),
    [MT_REGISTER_RDX] = AT(rdx),
    [MT_REGISTER_RCX] = AT(rcx),
    [MT_REGISTER_RBX] = AT(rbx),
    [MT_REGISTER_RSI] = AT(rsi),
    [MT_REGISTER_RDI] = AT(rdi),
    [MT_REGISTER_RBP] = AT(rbp),
    [MT_REGISTER_RSP] = AT(rsp),
    [MT_REGISTER_R8] = AT(r8),
    [MT_REGISTER_R9] = AT(r9),
    [MT_REGISTER_R10] = AT(r10),
    [MT_REGISTER_R11] = AT(r11),
    [MT_REGISTER_R12] = AT(r12),
    [MT_REGISTER_R13] = AT(r13),
    [MT_REGISTER_R14] = AT(r14),
    [MT_REGISTER_R15] = AT(r15),
    [MT_REGISTER_RIP] = AT(rip),
    [MT_REGISTER_EFLAGS] = AT(eflags),
    [MT_REGISTER_ES] = AT(es),
    [MT_REGISTER_CS] = AT(cs),
    [MT_REGISTER_SS] = AT(ss),
    [MT_REGISTER_DS] = AT(ds),
    [MT_REGISTER_FS] = AT(fs),
    [MT_REGISTER_GS] = AT(gs),
    [MT_REGISTER_FS_BASE] = AT(fs_base),
    [MT_REGISTER_GS_BASE] = AT(gs_base),
    [MT_REGISTER_ORIG_RAX] = AT(orig_rax),
};

int mt_register_offset(unsigned number)
{
	return number < sizeof(offsets) ? offsets[number] - 1 : -1;
}

void *mt_register_in_float(struct user_fpregs_struct *user, unsigned number, size_t *size)
{
	*size = 16;
	if (number >= MT_REGISTER_XMM0 && number < MT_REGISTER_XMM0 + 16)
		return &user->xmm_space[(number - MT_REGISTER_XMM0) * 4];
	*size = 10;
	if (number >= MT_REGISTER_ST0 && number < MT_REGISTER_ST0 + 8)
		return &user->st_space[(number - MT_REGISTER_ST0) * 4];
	*size = 4;
	return number == MT_REGISTER_MXCSR ? &user->mxcsr : NULL;
}
