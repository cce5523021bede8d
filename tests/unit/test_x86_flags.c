/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/flags.h"

#include "unit.h"

#define CF  0x001
#define ZF  0x040
#define OF  0x800
#define ALL MT_STATUS_FLAGS

struct flags_case {
	const char *what;
	uint8_t bytes[8];
	size_t size;
	uint16_t read, written;
};

/* Intel SDM vol. 1, table A-1. */
static const struct flags_case cases[] = {
    {"mov eax, ebx", {0x89, 0xd8}, 2, 0, 0},
    {"lea rdi, [rdi+64]", {0x48, 0x8d, 0x7f, 0x40}, 4, 0, 0},
    {"movups [rdi], xmm15", {0x44, 0x0f, 0x11, 0x3f}, 4, 0, 0},
    {"not eax", {0xf7, 0xd0}, 2, 0, 0},
    {"nop", {0x90}, 1, 0, 0},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, 4, 0, 0},
    {"cmp eax, ebx", {0x39, 0xd8}, 2, 0, ALL},
    {"xor eax, eax", {0x31, 0xc0}, 2, 0, ALL},
    {"add eax, 1", {0x05, 1, 0, 0, 0}, 5, 0, ALL},
    {"inc eax", {0xff, 0xc0}, 2, 0, ALL & ~CF},
    {"adc eax, edi", {0x11, 0xf8}, 2, CF, ALL},
    {"sbb eax, eax", {0x19, 0xc0}, 2, CF, ALL},
    {"adcx rax, rbx", {0x66, 0x48, 0x0f, 0x38, 0xf6, 0xc3}, 6, CF, CF},
    {"adox rax, rbx", {0xf3, 0x48, 0x0f, 0x38, 0xf6, 0xc3}, 6, OF, OF},
    {"mulx rax, r8, [rsi]", {0xc4, 0x62, 0xfb, 0xf6, 0x06}, 5, 0, 0},
    {"ja", {0x77, 0}, 2, CF | ZF, 0},
    {"jc", {0x0f, 0x82, 0, 0, 0, 0}, 6, CF, 0},
    {"jrcxz", {0xe3, 0}, 2, 0, 0},
    {"setc al", {0x0f, 0x92, 0xc0}, 3, CF, 0},
    {"cmove eax, ebx", {0x0f, 0x44, 0xc3}, 3, ZF, 0},
    {"repe cmpsb", {0xf3, 0xa6}, 2, 0, ALL},
    {"repne scasb", {0xf2, 0xae}, 2, 0, ALL},
    {"pushf", {0x9c}, 1, ALL, 0},
    {"popf", {0x9d}, 1, 0, ALL},
    {"push es, which is none", {0x06}, 1, 0, ALL},
    {"half an add", {0x05, 1}, 2, 0, ALL},
};

static void test_reads_and_writes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mt_insn_flags flags =
		    mt_insn_status_flags(cases[i].bytes, cases[i].size);

		if (flags.read != cases[i].read || flags.written != cases[i].written)
			fail_msg("%s: reads %#x, writes %#x", cases[i].what, flags.read,
				 flags.written);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reads_and_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
