/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions by hand, and all of libc's code against objdump. */
#include "x86/disassemble.h"
#include "x86/insn.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct hand_case {
	const char *what;
	uint8_t bytes[16];
	size_t size;
	enum mt_insn_class class;
	uint8_t flags;
	uint64_t target;
};

/* Encodings from the SDM, vol. 2; all at 0x1000. */
static const struct hand_case hand_cases[] = {
    {"nop", {0x90}, 1, MT_INSN_OTHER, 0, 0},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, 4, MT_INSN_OTHER, MT_INSN_ENDBR, 0},
    {"call +0", {0xe8, 0, 0, 0, 0}, 5, MT_INSN_CALL, 0, 0x1005},
    {"call back", {0xe8, 0xfb, 0xff, 0xff, 0xff}, 5, MT_INSN_CALL, 0, 0x1000},
    {"data16 rex.w call", {0x66, 0x66, 0x48, 0xe8, 1, 0, 0, 0}, 8, MT_INSN_CALL, 0, 0x1009},
    {"call rax", {0xff, 0xd0}, 2, MT_INSN_CALL_INDIRECT, 0, 0},
    {"call [rip+4]", {0xff, 0x15, 4, 0, 0, 0}, 6, MT_INSN_CALL_INDIRECT, 0, 0},
    {"addr32 call", {0x67, 0xe8, 1, 0, 0, 0}, 6, MT_INSN_CALL, 0, 0x1007},
    {"jmp short", {0xeb, 0xfe}, 2, MT_INSN_JUMP, 0, 0x1000},
    {"jmp near", {0xe9, 0, 1, 0, 0}, 5, MT_INSN_JUMP, 0, 0x1105},
    {"jmp rax", {0xff, 0xe0}, 2, MT_INSN_JUMP_INDIRECT, 0, 0},
    {"notrack jmp rax", {0x3e, 0xff, 0xe0}, 3, MT_INSN_JUMP_INDIRECT, 0, 0},
    {"bnd jmp [rip]", {0xf2, 0xff, 0x25, 0, 0, 0, 0}, 7, MT_INSN_JUMP_INDIRECT, 0, 0},
    {"far call", {0xff, 0x18}, 2, MT_INSN_FAR, 0, 0},
    {"far jmp", {0x48, 0xff, 0x28}, 3, MT_INSN_FAR, 0, 0},
    {"je short", {0x74, 0x7f}, 2, MT_INSN_BRANCH, 0, 0x1081},
    {"jne near", {0x0f, 0x85, 0xfa, 0xff, 0xff, 0xff}, 6, MT_INSN_BRANCH, 0, 0x1000},
    {"jrcxz", {0xe3, 0}, 2, MT_INSN_BRANCH, 0, 0x1002},
    {"jecxz", {0x67, 0xe3, 0}, 3, MT_INSN_BRANCH, 0, 0x1003},
    {"loop", {0xe2, 0xfe}, 2, MT_INSN_BRANCH, 0, 0x1000},
    {"loopne", {0xe0, 0xfe}, 2, MT_INSN_BRANCH, 0, 0x1000},
    {"ret", {0xc3}, 1, MT_INSN_RETURN, 0, 0},
    {"repz ret", {0xf3, 0xc3}, 2, MT_INSN_RETURN, 0, 0},
    {"ret 8", {0xc2, 8, 0}, 3, MT_INSN_RETURN, 0, 0},
    {"retf", {0xcb}, 1, MT_INSN_FAR, 0, 0},
    {"jmpabs", {0xd5, 0, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 11, MT_INSN_JUMP_INDIRECT, 0, 0},
    {"eretu", {0xf3, 0x0f, 0x01, 0xca}, 4, MT_INSN_FAR, 0, 0},
    {"erets", {0xf2, 0x0f, 0x01, 0xca}, 4, MT_INSN_FAR, 0, 0},
    {"clac", {0x0f, 0x01, 0xca}, 3, MT_INSN_OTHER, 0, 0},
    {"retf 8", {0xca, 8, 0}, 3, MT_INSN_FAR, 0, 0},
    {"iretq", {0x48, 0xcf}, 2, MT_INSN_FAR, 0, 0},
    {"sysretq", {0x48, 0x0f, 0x07}, 3, MT_INSN_FAR, 0, 0},
    {"syscall", {0x0f, 0x05}, 2, MT_INSN_SYSCALL, 0, 0},
    {"sysenter", {0x0f, 0x34}, 2, MT_INSN_SYSCALL, 0, 0},
    {"int 0x80", {0xcd, 0x80}, 2, MT_INSN_SYSCALL, 0, 0},
    {"int3", {0xcc}, 1, MT_INSN_SYSCALL, 0, 0},
    {"int1", {0xf1}, 1, MT_INSN_SYSCALL, 0, 0},
    {"rep movsb", {0xf3, 0xa4}, 2, MT_INSN_OTHER, MT_INSN_REPEATED, 0},
    {"movsb", {0xa4}, 1, MT_INSN_OTHER, 0, 0},
    {"rep stosq", {0xf3, 0x48, 0xab}, 3, MT_INSN_OTHER, MT_INSN_REPEATED, 0},
    {"repnz scasb", {0xf2, 0xae}, 2, MT_INSN_OTHER, MT_INSN_REPEATED, 0},
    {"movsd xmm (f2 0f 10)", {0xf2, 0x0f, 0x10, 0xc1}, 4, MT_INSN_OTHER, 0, 0},
    {"cmpps (f3 0f a4 is none)", {0xf3, 0x0f, 0xae, 0xc0}, 4, MT_INSN_OTHER, 0, 0},
    {"ud2", {0x0f, 0x0b}, 2, MT_INSN_OTHER, 0, 0},
    {"hlt", {0xf4}, 1, MT_INSN_OTHER, 0, 0},
    {"xbegin", {0xc7, 0xf8, 0, 0, 0, 0}, 6, MT_INSN_OTHER, 0, 0},
    {"vzeroupper", {0xc5, 0xf8, 0x77}, 3, MT_INSN_OTHER, 0, 0},
    {"wrgsbase rax", {0xf3, 0x48, 0x0f, 0xae, 0xd8}, 5, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"wrgsbase eax", {0xf3, 0x0f, 0xae, 0xd8}, 4, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"rdgsbase rax", {0xf3, 0x48, 0x0f, 0xae, 0xc8}, 5, MT_INSN_OTHER, 0, 0},
    {"wrfsbase rax", {0xf3, 0x48, 0x0f, 0xae, 0xd0}, 5, MT_INSN_OTHER, 0, 0},
    {"mov gs, eax", {0x8e, 0xe8}, 2, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"mov fs, eax", {0x8e, 0xe0}, 2, MT_INSN_OTHER, 0, 0},
    {"mov eax, gs", {0x8c, 0xe8}, 2, MT_INSN_OTHER, 0, 0},
    {"pop gs", {0x0f, 0xa9}, 2, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"lgs eax, [rax]", {0x0f, 0xb5, 0x00}, 3, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"mov rax, gs:[0]",
     {0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0},
     9,
     MT_INSN_OTHER,
     MT_INSN_GS,
     0},
    {"mov rax, fs:[0]", {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, 9, MT_INSN_OTHER, 0, 0},
    {"movabs al, gs:[0]", {0x65, 0xa0, 0, 0, 0, 0, 0, 0, 0, 0}, 10, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"call gs:[16]",
     {0x65, 0xff, 0x14, 0x25, 16, 0, 0, 0},
     8,
     MT_INSN_CALL_INDIRECT,
     MT_INSN_GS,
     0},
    {"mov gs:[rdi], eax", {0x65, 0x89, 0x07}, 3, MT_INSN_OTHER, MT_INSN_GS, 0},
    {"add gs:[rax], al", {0x65, 0x00, 0x00}, 3, MT_INSN_OTHER, 0, 0},
    {"gs nop", {0x65, 0x0f, 0x1f, 0x00}, 4, MT_INSN_OTHER, 0, 0},
    {"gs mov eax, eax", {0x65, 0x89, 0xc0}, 3, MT_INSN_OTHER, 0, 0},
    {"movabs", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10, MT_INSN_OTHER, 0, 0},
};

/* In a segment of 32 bits; all at 0x1000. */
static const struct hand_case hand_cases_32[] = {
    {"dec eax", {0x48}, 1, MT_INSN_OTHER, 0, 0},
    {"push es", {0x06}, 1, MT_INSN_OTHER, 0, 0},
    {"call back", {0xe8, 0xfb, 0xff, 0xff, 0xff}, 5, MT_INSN_CALL, 0, 0x1000},
    {"call around", {0xe8, 0, 0, 0, 0xf0}, 5, MT_INSN_CALL, 0, 0xf0001005},
    {"call eax", {0xff, 0xd0}, 2, MT_INSN_CALL_INDIRECT, 0, 0},
    {"far call", {0x9a, 1, 2, 3, 4, 0x33, 0}, 7, MT_INSN_FAR, 0, 0},
    {"far jmp", {0xea, 1, 2, 3, 4, 0x33, 0}, 7, MT_INSN_FAR, 0, 0},
    {"jmp [disp32]", {0xff, 0x25, 1, 2, 3, 4}, 6, MT_INSN_JUMP_INDIRECT, 0, 0},
    {"jcxz", {0x67, 0xe3, 0}, 3, MT_INSN_BRANCH, 0, 0x1003},
    {"jecxz", {0xe3, 0}, 2, MT_INSN_BRANCH, 0, 0x1002},
    {"je near", {0x0f, 0x84, 1, 0, 0, 0}, 6, MT_INSN_BRANCH, 0, 0x1007},
    {"into", {0xce}, 1, MT_INSN_SYSCALL, 0, 0},
    {"sysenter", {0x0f, 0x34}, 2, MT_INSN_SYSCALL, 0, 0},
    {"ret", {0xc3}, 1, MT_INSN_RETURN, 0, 0},
    {"iret", {0xcf}, 1, MT_INSN_FAR, 0, 0},
};

static void test_32_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hand_cases_32) / sizeof(hand_cases_32[0]); i++) {
		const struct hand_case *c = &hand_cases_32[i];
		struct mt_insn insn;

		if (mt_insn_decode_32(c->bytes, sizeof(c->bytes), 0x1000, &insn))
			fail_msg("%s: no instruction", c->what);
		if (insn.length != c->size || insn.class != c->class || insn.target != c->target)
			fail_msg("%s: %d bytes, class %d", c->what, insn.length, insn.class);
		for (size_t size = 0; size < c->size; size++)
			assert_int_equal(mt_insn_decode_32(c->bytes, size, 0x1000, &insn), -1);
	}
}

static void test_hand_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hand_cases) / sizeof(hand_cases[0]); i++) {
		const struct hand_case *c = &hand_cases[i];
		struct mt_insn insn;

		if (mt_insn_decode(c->bytes, sizeof(c->bytes), 0x1000, &insn))
			fail_msg("%s: not decoded", c->what);
		if (insn.length != c->size || insn.class != c->class || insn.flags != c->flags ||
		    insn.target != c->target)
			fail_msg("%s: length %u class %u flags %u target %#lx", c->what,
				 insn.length, insn.class, insn.flags, (unsigned long)insn.target);
		/* With a byte less it is no instruction; reading past the end shows under ASan. */
		uint8_t *cut = malloc(c->size - 1 ? c->size - 1 : 1);
		memcpy(cut, c->bytes, c->size - 1);
		assert_int_equal(mt_insn_decode(cut, c->size - 1, 0x1000, &insn), -1);
		free(cut);
	}
}

static void test_no_instruction(void **state)
{
	static const uint8_t invalid[] = {0x06, 0, 0, 0, 0, 0, 0, 0};
	static const uint8_t too_long[] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
					   0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90};
	struct mt_insn insn;

	(void)state;
	assert_int_equal(mt_insn_decode(invalid, sizeof(invalid), 0, &insn), -1);
	assert_int_equal(mt_insn_decode(too_long, sizeof(too_long), 0, &insn), -1);
	assert_int_equal(mt_insn_decode(invalid, 0, 0, &insn), -1);
}

static void check_text(const uint8_t *bytes, size_t size, bool intel, const char *text)
{
	struct mt_insn_text insn;

	assert_int_equal(mt_insn_disassemble(bytes, size, 0x401000, intel, &insn), 0);
	assert_string_equal(insn.text, text);
	assert_int_equal(insn.length, size);
}

static void test_text(void **state)
{
	static const uint8_t call[] = {0xe8, 0xfb, 0xff, 0xff, 0xff};
	static const uint8_t mov[] = {0x8b, 0x05, 0x10, 0, 0, 0};
	static const uint8_t jump[] = {0x75, 0x02};
	static const uint8_t extend[] = {0x0f, 0xb6, 0x45, 0x00};
	static const uint8_t through[] = {0xff, 0x50, 0x08};
	struct mt_insn_text insn;

	(void)state;
	check_text(call, sizeof(call), false, "call   0x401000");
	check_text(call, sizeof(call), true, "call   0x401000");
	check_text(mov, sizeof(mov), false, "mov    0x10(%rip),%eax");
	check_text(mov, sizeof(mov), true, "mov    eax,[rip+0x10]");
	check_text(jump, sizeof(jump), false, "jne    0x401004");
	check_text(extend, sizeof(extend), false, "movzbl 0x0(%rbp),%eax");
	check_text(through, sizeof(through), false, "call   *0x8(%rax)");
	assert_int_equal(mt_insn_disassemble(mov, sizeof(mov), 0x401000, false, &insn), 0);
	assert_true(insn.address == 0x401016 && insn.target == 0);
	assert_int_equal(mt_insn_disassemble(call, sizeof(call), 0x401000, false, &insn), 0);
	assert_true(insn.address == 0 && insn.target == 0x401000);
	assert_int_equal(mt_insn_disassemble(call, 3, 0x401000, false, &insn), -1);
}

/* What objdump prints on a line: "  address:\tbytes\tmnemonic operands". */
struct dump_line {
	uint64_t address;
	uint8_t bytes[16];
	size_t size;
	char text[128];
};

static bool parse_dump_line(const char *line, struct dump_line *out)
{
	char *end;

	out->address = strtoull(line, &end, 16);
	if (end == line || strncmp(end, ":\t", 2) != 0)
		return false;
	end += 2;
	for (out->size = 0; out->size < sizeof(out->bytes) && *end != '\t'; out->size++) {
		out->bytes[out->size] = (uint8_t)strtoul(end, &end, 16);
		while (*end == ' ')
			end++;
	}
	if (*end != '\t')
		return false;
	snprintf(out->text, sizeof(out->text), "%s", end + 1);
	out->text[strcspn(out->text, "\n")] = '\0';
	return true;
}

static bool starts(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* Behind the prefixes that objdump prints as words. */
static const char *mnemonic_of(const char *text)
{
	static const char *const prefixes[] = {"rep ",  "repz ",  "repnz ", "bnd ",    "notrack ",
					       "lock ", "data16", "rex",    "addr32 ", "cs ",
					       "ds ",   "es ",    "ss ",    "fs ",     "gs "};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (starts(text, prefixes[i])) {
			text += strcspn(text, " ");
			text += strspn(text, " ");
			i = (size_t)-1;
		}
	}
	return text;
}

static enum mt_insn_class class_of_mnemonic(const char *m)
{
	const char *operand = m + strcspn(m, " ");
	bool indirect = operand[strspn(operand, " ")] == '*';

	if (starts(m, "lcall") || starts(m, "ljmp") || starts(m, "lret") || starts(m, "iret") ||
	    starts(m, "sysret") || starts(m, "sysexit") || starts(m, "vmcall") || starts(m, "rsm"))
		return MT_INSN_FAR;
	if (starts(m, "call"))
		return indirect ? MT_INSN_CALL_INDIRECT : MT_INSN_CALL;
	if (starts(m, "jmp"))
		return indirect ? MT_INSN_JUMP_INDIRECT : MT_INSN_JUMP;
	if (starts(m, "ret"))
		return MT_INSN_RETURN;
	if (starts(m, "syscall") || starts(m, "sysenter") || starts(m, "int"))
		return MT_INSN_SYSCALL;
	return m[0] == 'j' || starts(m, "loop") ? MT_INSN_BRANCH : MT_INSN_OTHER;
}

static void check_dump_line(const struct dump_line *line)
{
	struct mt_insn insn;
	const char *mnemonic = mnemonic_of(line->text);
	enum mt_insn_class class = class_of_mnemonic(mnemonic);
	uint64_t target = 0;

	if (mt_insn_decode(line->bytes, line->size, line->address, &insn))
		fail_msg("%#lx: %s: not decoded", (unsigned long)line->address, line->text);
	if (class == MT_INSN_CALL || class == MT_INSN_JUMP || class == MT_INSN_BRANCH) {
		const char *operand = mnemonic + strcspn(mnemonic, " ");
		target = strtoull(operand, NULL, 16);
	}
	bool repeated =
	    starts(line->text, "rep") && class != MT_INSN_RETURN && !starts(line->text, "repz ret");
	if (insn.length != line->size || insn.class != class || insn.target != target ||
	    !!(insn.flags & MT_INSN_REPEATED) != repeated ||
	    !!(insn.flags & MT_INSN_ENDBR) != starts(mnemonic, "endbr64"))
		fail_msg("%#lx: %s: length %u class %u flags %u target %#lx",
			 (unsigned long)line->address, line->text, insn.length, insn.class,
			 insn.flags, (unsigned long)insn.target);
}

/* "call   1149 <f+0x4>" without the symbol; objdump prints branches' targets without 0x. */
static bool is_same_text(const struct dump_line *line)
{
	struct mt_insn_text insn;
	char theirs[128], ours[192];
	char *hex;

	if (mt_insn_disassemble(line->bytes, line->size, line->address, false, &insn) ||
	    insn.length != line->size)
		return false;
	snprintf(theirs, sizeof(theirs), "%s", line->text);
	theirs[strcspn(theirs, "<#")] = '\0';
	while (*theirs && theirs[strlen(theirs) - 1] == ' ')
		theirs[strlen(theirs) - 1] = '\0';
	snprintf(ours, sizeof(ours), "%s", insn.text);
	hex = insn.target ? strstr(ours, "0x") : NULL;
	if (hex)
		memmove(hex, hex + 2, strlen(hex + 2) + 1);
	return strcmp(theirs, ours) == 0;
}

struct counts {
	size_t compared;
	size_t same_text;
};

/* All of FILE's .text. */
static struct counts compare_with_objdump(const char *file)
{
	char command[1024];
	char *text = NULL;
	struct counts counts = {0};
	size_t capacity = 0;
	struct dump_line line;

	snprintf(command, sizeof(command), "objdump -d -w -j .text --insn-width=16 '%s' 2>&1",
		 file);
	FILE *dump = popen(command, "r");
	assert_non_null(dump);
	while (getline(&text, &capacity, dump) > 0) {
		if (!parse_dump_line(text, &line) || strstr(line.text, "(bad)"))
			continue;
		check_dump_line(&line);
		counts.compared++;
		counts.same_text += is_same_text(&line);
	}
	free(text);
	pclose(dump);
	return counts;
}

static void test_libc_as_objdump(void **state)
{
	Dl_info info;

	(void)state;
	if (system("objdump --version >/dev/null 2>&1")) {
		print_message("skipped: objdump (package binutils) is not installed\n");
		skip();
	}
	assert_true(dladdr((void *)strtoull, &info) != 0);
	struct counts counts = compare_with_objdump(info.dli_fname);
	print_message("%s: %zu instructions as objdump says, %zu of them word for word\n",
		      info.dli_fname, counts.compared, counts.same_text);
	assert_true(counts.compared > 100000);
	/* Not those of AVX-512 and the x87, and prefixes that mean nothing. */
	assert_true(counts.same_text > counts.compared * 95 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_32_bits),         cmocka_unit_test(test_hand_cases),
	    cmocka_unit_test(test_no_instruction),  cmocka_unit_test(test_text),
	    cmocka_unit_test(test_libc_as_objdump),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
