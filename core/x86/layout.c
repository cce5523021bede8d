/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/layout.h"

#include "x86/common.h"

#include <Zydis/Zydis.h>

#define RSP_NUMBER 4

/* ModRM.mod 3 names a register; rm 4 otherwise says that a SIB byte has the base. */
static bool uses_stack_pointer(const ZydisDecodedInstruction *insn)
{
	bool extended = insn->raw.rex.B;

	if (insn->raw.modrm.mod == 3)
		return insn->raw.modrm.rm == RSP_NUMBER && !extended;
	return insn->raw.modrm.rm == RSP_NUMBER && insn->raw.sib.base == RSP_NUMBER && !extended;
}

static int layout_of_rare(const void *bytes, size_t size, struct mt_insn_layout *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &insn)))
		return -1;
	*out =
	    (struct mt_insn_layout){.opcode = insn.opcode, .address_bytes = insn.address_width / 8};
	if (!(insn.attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return 0;
	out->modrm_offset = insn.raw.modrm.offset;
	out->uses_stack_pointer = uses_stack_pointer(&insn);
	if (insn.raw.modrm.mod == 0 && insn.raw.modrm.rm == 5)
		out->displacement_offset = insn.raw.disp.offset;
	return 0;
}

static void layout_of_common(const uint8_t *bytes, const struct mt_insn_common *common,
			     struct mt_insn_layout *out)
{
	const uint8_t *modrm = bytes + common->modrm_offset;
	bool has_stack_pointer;

	*out = (struct mt_insn_layout){.opcode = common->opcode, .address_bytes = 8};
	if (!common->modrm_offset)
		return;
	has_stack_pointer =
	    (modrm[0] & 7) == RSP_NUMBER && (modrm[0] >> 6 == 3 || (modrm[1] & 7) == RSP_NUMBER);
	out->modrm_offset = common->modrm_offset;
	out->displacement_offset = common->displacement_offset;
	out->uses_stack_pointer = has_stack_pointer && !common->rex_b;
}

int mt_insn_layout(const void *bytes, size_t size, struct mt_insn_layout *out)
{
	struct mt_insn_common common;

	if (!mt_insn_common(bytes, size, &common))
		return layout_of_rare(bytes, size, out);
	layout_of_common(bytes, &common, out);
	return 0;
}
