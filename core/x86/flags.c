/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/flags.h"

#include <Zydis/Zydis.h>

#include <stdbool.h>

/* cmps, scas: what repe and repne test, they have written themselves. */
static bool is_string_comparison(const ZydisDecodedInstruction *insn)
{
	return insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	       insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       (insn->opcode == 0xa6 || insn->opcode == 0xa7 || insn->opcode == 0xae ||
		insn->opcode == 0xaf);
}

struct mt_insn_flags mt_insn_status_flags(const uint8_t *bytes, size_t size)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &insn)))
		return (struct mt_insn_flags){.written = MT_STATUS_FLAGS};
	if (!insn.cpu_flags)
		return (struct mt_insn_flags){0};

	const ZydisAccessedFlags *flags = insn.cpu_flags;
	return (struct mt_insn_flags){
	    .read = is_string_comparison(&insn) ? 0 : flags->tested & MT_STATUS_FLAGS,
	    .written = (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
		       MT_STATUS_FLAGS};
}
