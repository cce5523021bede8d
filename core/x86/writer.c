/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/writer.h"

#include <Zydis/Zydis.h>

#define WORD_BITS 64

static bool decode(const void *bytes, size_t size, ZydisDecodedInstruction *insn,
		   ZydisDecodedOperand *operands)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, insn, operands));
}

static int number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		   ? (int)(whole - ZYDIS_REGISTER_RAX)
		   : -1;
}

int mt_insn_jump_register(const void *bytes, size_t size)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!decode(bytes, size, &insn, operands) || insn.mnemonic != ZYDIS_MNEMONIC_JMP ||
	    operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return -1;
	return number_of(operands[0].reg.value);
}

static bool is_copy(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_POP:
		return true;
	case ZYDIS_MNEMONIC_LEA: /* of a place in the file */
		return insn->raw.modrm.mod == 0 && insn->raw.modrm.rm == 5;
	default:
		return insn->meta.category == ZYDIS_CATEGORY_CMOV;
	}
}

enum mt_write mt_insn_write(const void *bytes, size_t size, int number)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!decode(bytes, size, &insn, operands))
		return MT_WRITE_OTHER;
	for (int i = 0; i < insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
		    number_of(operand->reg.value) != number)
			continue;
		if (operand->size != WORD_BITS)
			return MT_WRITE_OTHER;
		if (is_copy(&insn))
			return MT_WRITE_COPY;
		return insn.mnemonic == ZYDIS_MNEMONIC_ADD ? MT_WRITE_ADD : MT_WRITE_OTHER;
	}
	return MT_WRITE_NONE;
}
