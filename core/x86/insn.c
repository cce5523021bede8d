/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions that common.h does not know go to Zydis, which in its minimal mode gives mnemonic,
 * length and the raw fields: enough for what tracing needs, at a third of the price of a full
 * decode.  A decoder is a few bytes on the stack, so that nothing is shared between threads. */
#include "x86/insn.h"

#include "x86/common.h"

#include <Zydis/Zydis.h>

#include <string.h>

static enum mt_insn_class call_or_jump(const ZydisDecodedInstruction *insn,
				       enum mt_insn_class direct, enum mt_insn_class indirect)
{
	if (insn->opcode == 0x9a || insn->opcode == 0xea) /* IA-32 alone: far */
		return MT_INSN_FAR;
	if (insn->opcode != 0xff)
		return direct;
	/* ff /2 call, /3 far call, /4 jump, /5 far jump. */
	return insn->raw.modrm.reg & 1 ? MT_INSN_FAR : indirect;
}

static enum mt_insn_class classify(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return call_or_jump(insn, MT_INSN_CALL, MT_INSN_CALL_INDIRECT);
	case ZYDIS_MNEMONIC_JMP:
		return call_or_jump(insn, MT_INSN_JUMP, MT_INSN_JUMP_INDIRECT);
	case ZYDIS_MNEMONIC_RET:
		return insn->opcode < 0xca ? MT_INSN_RETURN : MT_INSN_FAR;
	case ZYDIS_MNEMONIC_JB:
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JL:
	case ZYDIS_MNEMONIC_JLE:
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_JNBE:
	case ZYDIS_MNEMONIC_JNL:
	case ZYDIS_MNEMONIC_JNLE:
	case ZYDIS_MNEMONIC_JNO:
	case ZYDIS_MNEMONIC_JNP:
	case ZYDIS_MNEMONIC_JNS:
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JO:
	case ZYDIS_MNEMONIC_JP:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JS:
	case ZYDIS_MNEMONIC_JZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return MT_INSN_BRANCH;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
		return MT_INSN_SYSCALL;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_RSM:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_VMCALL:
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
		return MT_INSN_FAR;
	default:
		return MT_INSN_OTHER;
	}
}

static bool is_string_opcode(const ZydisDecodedInstruction *insn)
{
	ZyanU8 opcode = insn->opcode;

	return insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	       insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       ((opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
		(opcode >= 0xaa && opcode <= 0xaf));
}

static bool has_rep_prefix(const ZydisDecodedInstruction *insn)
{
	for (ZyanU8 i = 0; i < insn->raw.prefix_count; i++) {
		if (insn->raw.prefixes[i].value == 0xf2 || insn->raw.prefixes[i].value == 0xf3)
			return true;
	}
	return false;
}

static bool has_gs_prefix(const ZydisDecodedInstruction *insn)
{
	for (ZyanU8 i = 0; i < insn->raw.prefix_count; i++)
		if (insn->raw.prefixes[i].value == 0x65)
			return true;
	return false;
}

/* A prefix alone may be there to fill space, and in data it stands anywhere: what compilers and
 * people write are moves, and operands without a register. */
static bool is_gs_operand(const ZydisDecodedInstruction *insn)
{
	bool has_memory = insn->attributes & ZYDIS_ATTRIB_HAS_MODRM && insn->raw.modrm.mod != 3;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_LEA:
		return false;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVZX:
		return has_memory || (insn->opcode >= 0xa0 && insn->opcode <= 0xa3);
	default: /* of SIB: no index, no base */
		return has_memory && insn->raw.modrm.mod == 0 && insn->raw.modrm.rm == 4 &&
		       insn->raw.sib.index == 4 && insn->raw.sib.base == 5;
	}
}

static bool uses_gs(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_LGS:
		return true;
	case ZYDIS_MNEMONIC_MOV:
		if (insn->opcode == 0x8e && insn->raw.modrm.reg == 5)
			return true;
		break;
	case ZYDIS_MNEMONIC_POP:
		if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F && insn->opcode == 0xa9)
			return true;
		break;
	default:
		break;
	}
	return has_gs_prefix(insn) && is_gs_operand(insn);
}

static uint8_t flags_of(const ZydisDecodedInstruction *insn)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		return MT_INSN_ENDBR;
	if (uses_gs(insn))
		return MT_INSN_GS;
	return is_string_opcode(insn) && has_rep_prefix(insn) ? MT_INSN_REPEATED : 0;
}

int mt_insn_decode_32(const void *bytes, size_t size, uint64_t pc, struct mt_insn *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &insn)))
		return -1;
	*out = (struct mt_insn){.length = insn.length, .class = (uint8_t)classify(&insn)};
	if (out->class == MT_INSN_CALL || out->class == MT_INSN_JUMP ||
	    out->class == MT_INSN_BRANCH)
		out->target = (uint32_t)(pc + insn.length + (uint64_t)insn.raw.imm[0].value.s);
	return 0;
}

static int decode_rare(const void *bytes, size_t size, uint64_t pc, struct mt_insn *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &insn)))
		return -1;
	*out = (struct mt_insn){
	    .length = insn.length, .class = (uint8_t)classify(&insn), .flags = flags_of(&insn)};
	if (out->class == MT_INSN_CALL || out->class == MT_INSN_JUMP ||
	    out->class == MT_INSN_BRANCH)
		out->target = pc + insn.length + (uint64_t)insn.raw.imm[0].value.s;
	return 0;
}

/* Branches that Zydis 4.0 does not know; SDM vol. 2, and of JMPABS Intel's APX specification.  For
 * a trace the latter is an indirect jump: its target comes in a packet. */
static bool decode_new(const uint8_t *bytes, size_t size, struct mt_insn *out)
{
	static const uint8_t jmpabs[] = {0xd5, 0x00, 0xa1};

	if (size >= 11 && memcmp(bytes, jmpabs, sizeof(jmpabs)) == 0)
		*out = (struct mt_insn){.class = MT_INSN_JUMP_INDIRECT, .length = 11};
	else if (size >= 4 && (bytes[0] == 0xf2 || bytes[0] == 0xf3) &&
		 memcmp(bytes + 1, "\x0f\x01\xca", 3) == 0) /* erets, eretu */
		*out = (struct mt_insn){.class = MT_INSN_FAR, .length = 4};
	else
		return false;
	return true;
}

int mt_insn_decode(const void *bytes, size_t size, uint64_t pc, struct mt_insn *out)
{
	struct mt_insn_common common;

	if (!mt_insn_common(bytes, size, &common)) {
		if (decode_new(bytes, size, out))
			return 0;
		return decode_rare(bytes, size, pc, out);
	}
	*out = (struct mt_insn){.length = common.length, .class = common.class};
	if (out->class == MT_INSN_CALL || out->class == MT_INSN_JUMP ||
	    out->class == MT_INSN_BRANCH)
		out->target = pc + common.length + (uint64_t)(int64_t)common.distance;
	return 0;
}
