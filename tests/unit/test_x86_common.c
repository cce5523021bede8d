/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever the tables take apart, Zydis takes apart in the same way: each pair of prefixes, each
 * opcode and each ModRM byte, with random bytes behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "x86/common.h"
#include "x86/insn.h"

static bool by_zydis(const uint8_t *bytes, size_t size, ZydisDecodedInstruction *insn)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, insn));
}

static enum mt_insn_class class_of(const ZydisDecodedInstruction *insn)
{
	bool is_direct = insn->raw.imm[0].is_relative;

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return MT_INSN_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_direct ? MT_INSN_JUMP : MT_INSN_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return is_direct ? MT_INSN_CALL : MT_INSN_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return MT_INSN_RETURN;
	default:
		return MT_INSN_OTHER;
	}
}

static void check(const uint8_t *bytes)
{
	struct mt_insn_common common;
	ZydisDecodedInstruction insn;
	bool has_modrm;

	if (!mt_insn_common(bytes, MT_INSN_MAX_BYTES, &common))
		return;
	if (!by_zydis(bytes, MT_INSN_MAX_BYTES, &insn))
		fail_msg("%02x %02x %02x %02x is no instruction", bytes[0], bytes[1], bytes[2],
			 bytes[3]);
	has_modrm = insn.attributes & ZYDIS_ATTRIB_HAS_MODRM;
	if (common.length != insn.length || common.class != class_of(&insn))
		fail_msg("%02x %02x %02x %02x: length %d, class %d; not %d, %d", bytes[0], bytes[1],
			 bytes[2], bytes[3], insn.length, class_of(&insn), common.length,
			 common.class);
	assert_int_equal(common.opcode, insn.opcode);
	assert_int_equal(common.modrm_offset, has_modrm ? insn.raw.modrm.offset : 0);
	assert_int_equal(common.rex_b, insn.raw.rex.B);
	if (has_modrm && insn.raw.modrm.mod == 0 && insn.raw.modrm.rm == 5)
		assert_int_equal(common.displacement_offset, insn.raw.disp.offset);
	else
		assert_int_equal(common.displacement_offset, 0);
	if (insn.raw.imm[0].is_relative)
		assert_int_equal(common.distance, insn.raw.imm[0].value.s);
	assert_int_equal(insn.address_width, 64);
	assert_false(mt_insn_common(bytes, common.length - 1u, &common));
}

static void check_opcodes(uint8_t *bytes, size_t at)
{
	for (int i = 0; i < 256 * 256; i++) {
		bytes[at] = (uint8_t)(i >> 8);
		bytes[at + 1] = (uint8_t)i;
		for (size_t k = at + 2; k < MT_INSN_MAX_BYTES; k++)
			bytes[k] = (uint8_t)(rand() >> 8);
		check(bytes);
	}
}

static void test_all_opcodes(void **state)
{
	static const uint8_t firsts[] = {0, 0x66, 0xf2, 0xf3};
	uint8_t bytes[MT_INSN_MAX_BYTES];

	(void)state;
	srand(1);
	for (size_t first = 0; first < sizeof(firsts); first++) {
		for (int rex = 0x3f; rex <= 0x4f; rex += rex < 0x48 ? 3 : 1) {
			size_t at = 0;

			if (firsts[first])
				bytes[at++] = firsts[first];
			if (rex >= 0x40)
				bytes[at++] = (uint8_t)rex;
			check_opcodes(bytes, at);
			bytes[at] = 0x0f;
			check_opcodes(bytes, at + 1);
		}
	}
}

/* It is worth having only if it takes what compilers write. */
static void test_takes_what_is_usual(void **state)
{
	static const uint8_t usual[][MT_INSN_MAX_BYTES] = {
	    {0x55},                                  /* push rbp */
	    {0x48, 0x89, 0xe5},                      /* mov rbp, rsp */
	    {0x48, 0x83, 0xec, 0x18},                /* sub rsp, 24 */
	    {0x48, 0x8b, 0x05, 1, 2, 3, 4},          /* mov rax, [rip + …] */
	    {0x0f, 0x84, 1, 2, 3, 4},                /* je */
	    {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},    /* mov rax, imm64 */
	    {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, /* nop */
	    {0xf3, 0x0f, 0x6f, 0x07},                /* movdqu: not taken */
	    {0xc3},
	};
	struct mt_insn_common common;
	size_t taken = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		taken += mt_insn_common(usual[i], MT_INSN_MAX_BYTES, &common);
	assert_int_equal(taken, sizeof(usual) / sizeof(usual[0]) - 1);
	assert_false(mt_insn_common(usual[0], 0, &common));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_opcodes),
	    cmocka_unit_test(test_takes_what_is_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
