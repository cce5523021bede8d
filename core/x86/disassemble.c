/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "x86/disassemble.h"

#include <Zydis/Zydis.h>

#include <stdio.h>
#include <string.h>

#define MNEMONIC_WIDTH 6

static void set_up(ZydisFormatter *formatter, bool intel)
{
	static const ZydisFormatterProperty off[] = {
	    ZYDIS_FORMATTER_PROP_HEX_UPPERCASE,         ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
	    ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_FORMATTER_PROP_DISP_PADDING,
	    ZYDIS_FORMATTER_PROP_IMM_PADDING,
	};

	ZydisFormatterInit(formatter,
			   intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		ZydisFormatterSetProperty(formatter, off[i], 0);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS,
				  ZYDIS_SIGNEDNESS_UNSIGNED);
}

/* Mnemonics that GNU's tools name differently. */
struct synonym {
	const char *zydis;
	const char *gnu;
};

static const struct synonym conditions[] = {
    {"z", "e"}, {"nz", "ne"}, {"nbe", "a"}, {"nb", "ae"}, {"nle", "g"}, {"nl", "ge"},
};
static const struct synonym in_att[] = {
    {"cdqe", "cltq"}, {"cdq", "cltd"}, {"cqo", "cqto"},
    {"cwde", "cwtl"}, {"cwd", "cwtd"}, {"cbw", "cbtw"},
};

static const char *look_up(const struct synonym *table, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(table[i].zydis, name) == 0)
			return table[i].gnu;
	return NULL;
}

#define LOOK_UP(table, name) look_up(table, sizeof(table) / sizeof((table)[0]), name)

/* jz, setnbe, cmovnl */
static void name_condition(char *name, size_t size)
{
	static const char *const prefixes[] = {"j", "set", "cmov"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);
		const char *gnu = strncmp(name, prefixes[i], length) == 0
				      ? LOOK_UP(conditions, name + length)
				      : NULL;

		if (gnu)
			snprintf(name + length, size - length, "%s", gnu);
	}
}

static char width_letter(unsigned bits)
{
	return bits == 8 ? 'b' : bits == 16 ? 'w' : bits == 32 ? 'l' : 'q';
}

static void name_in_att(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			char *name, size_t size)
{
	const char *gnu = LOOK_UP(in_att, name);

	if (gnu)
		snprintf(name, size, "%s", gnu);
	else if (insn->mnemonic == ZYDIS_MNEMONIC_MOVZX || insn->mnemonic == ZYDIS_MNEMONIC_MOVSX)
		snprintf(name + 4, size - 4, "%c%c", width_letter(operands[1].size),
			 width_letter(operands[0].size));
	else if (insn->mnemonic == ZYDIS_MNEMONIC_MOVSXD)
		snprintf(name, size, "movslq");
	else if (insn->mnemonic == ZYDIS_MNEMONIC_NOP && insn->operand_count_visible)
		snprintf(name, size, "nop%c", width_letter(insn->operand_width));
	else if (insn->mnemonic == ZYDIS_MNEMONIC_MOV && insn->raw.imm[0].size == 64)
		snprintf(name, size, "movabs");
}

struct cursor {
	char *at, *end;
};

static void put(struct cursor *cursor, const char *text, size_t length)
{
	for (; length && cursor->at < cursor->end; length--)
		*cursor->at++ = *text++;
}

/* Zydis leaves it out. */
static bool has_zero_displacement(const ZydisDecodedInstruction *insn)
{
	return insn->raw.disp.size && !insn->raw.disp.value &&
	       insn->attributes & ZYDIS_ATTRIB_HAS_MODRM;
}

static bool is_indirect_branch(const ZydisDecodedInstruction *insn,
			       const ZydisDecodedOperand *operands)
{
	return (insn->mnemonic == ZYDIS_MNEMONIC_CALL || insn->mnemonic == ZYDIS_MNEMONIC_JMP) &&
	       operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* "%rax, (%rbx)" to "%rax,0x0(%rbx)". */
static void put_operands(struct cursor *cursor, const char *text, bool zero)
{
	for (const char *at = text; *at; at++) {
		if (*at == ' ' && (at[-1] == ',' || at[1] == '{'))
			continue;
		if (*at == '(' && zero)
			put(cursor, "0x0", 3);
		put(cursor, at, 1);
	}
}

/* TEXT: "mnemonic operands", behind prefixes such as "lock". */
static void word(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		 bool intel, const char *text, struct mt_insn_text *out)
{
	struct cursor cursor = {out->text, out->text + sizeof(out->text) - 1};
	char name[48];
	const char *mnemonic = ZydisMnemonicGetString(insn->mnemonic);
	const char *at = mnemonic ? strstr(text, mnemonic) : NULL;
	size_t length = at ? (size_t)(at - text) + strcspn(at, " ") : strcspn(text, " ");

	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	name_condition(name, sizeof(name));
	if (!intel)
		name_in_att(insn, operands, name, sizeof(name));
	put(&cursor, name, strlen(name));
	if (!text[length])
		return;
	do
		put(&cursor, " ", 1);
	while (cursor.at <= out->text + MNEMONIC_WIDTH);
	if (!intel && is_indirect_branch(insn, operands))
		put(&cursor, "*", 1);
	text += length + 1;
	/* A nop's register means nothing. */
	if (!intel && insn->mnemonic == ZYDIS_MNEMONIC_NOP && strstr(text, ", "))
		text = strstr(text, ", ") + 2;
	put_operands(&cursor, text, !intel && has_zero_displacement(insn));
}

static void take_addresses(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			   uint64_t pc, struct mt_insn_text *out)
{
	for (size_t i = 0; i < insn->operand_count_visible; i++) {
		ZyanU64 address = 0;
		const ZydisDecodedOperand *operand = &operands[i];
		bool branch =
		    operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative;
		bool memory = operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			      operand->mem.base == ZYDIS_REGISTER_RIP;

		if (!branch && !memory)
			continue;
		if (ZYAN_FAILED(ZydisCalcAbsoluteAddress(insn, operand, pc, &address)))
			continue;
		if (branch)
			out->target = address;
		else
			out->address = address;
	}
}

int mt_insn_disassemble(const void *bytes, size_t size, uint64_t pc, bool intel,
			struct mt_insn_text *out)
{
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	char text[256];

	*out = (struct mt_insn_text){.length = 0};
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	set_up(&formatter, intel);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn, operands)))
		return -1;
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &insn, operands,
							insn.operand_count_visible, text,
							sizeof(text), pc, NULL)))
		return -1;
	out->length = insn.length;
	take_addresses(&insn, operands, pc, out);
	word(&insn, operands, intel, text, out);
	return 0;
}
