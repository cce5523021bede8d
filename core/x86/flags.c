/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/flags.h"

#include <Zydis/Zydis.h>

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
	    .read = flags->tested & MT_STATUS_FLAGS,
	    .written = (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
		       MT_STATUS_FLAGS};
}
