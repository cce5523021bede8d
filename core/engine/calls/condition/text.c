/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first bytes of strings, which end with a NUL, or after so many characters, into the thread's
 * ring: the aligned words that hold them, so that no word lies in two pages. */
#include "values/text.h"
#include "engine/calls/condition/code.h"
#include "trace/recorded_values.h"

#include <dwarf.h>

/* No object begins there, so what is found by it is relative to it. */
#define NOWHERE     (1ull << 56)
#define NULL_BYTES  4096u /* a null pointer is no failure */
#define PAGE_BYTES  4096u
#define WORDS_BYTES (MT_RECORDED_STRING_WORDS * (unsigned)sizeof(uint64_t))

/* ---- Strings of libraries ---- */

/* Where the parts of TYPE's objects lie.  False: it is none, or its characters are no bytes. */
static bool find_parts(struct mt_compiler *compiler, struct mt_type *type,
		       struct mt_condition_text *text)
{
	struct mt_value whole = mt_value_at(type, NOWHERE), start, count;

	if (!mt_text_parts(&compiler->eval, &whole, &start, &count) ||
	    mt_type_size(mt_text_element(&compiler->eval, &start)) != 1 ||
	    mt_type_size(start.type) != sizeof(uint64_t) ||
	    mt_type_size(count.type) != sizeof(uint64_t))
		return false;
	text->start = start.address - NOWHERE;
	text->count = count.address - NOWHERE;
	return true;
}

/* OFFSET bytes into OPERAND: 8 bytes to rax. */
static struct mt_error *load_word(struct mt_compiler *compiler, const struct mt_operand *operand,
				  uint64_t offset)
{
	struct mt_operand part = *operand;

	part.value.type = mt_type_builtin(compiler->eval.program, MT_BUILTIN_ULONG);
	part.value.address += offset;
	return mt_operand_load(compiler, &part, MT_ASM_RAX);
}

/* It lies in registers: both parts are kept. */
static struct mt_error *text_in_registers(struct mt_compiler *compiler,
					  const struct mt_operand *operand,
					  struct mt_condition_value *value)
{
	unsigned count;

	mt_try(load_word(compiler, operand, value->text.start));
	if (!value->is_string)
		return NULL;
	mt_try(mt_asm_save(&compiler->code, &value->slot));
	mt_try(load_word(compiler, operand, value->text.count));
	mt_try(mt_asm_save(&compiler->code, &count));
	mt_asm_peek(&compiler->code, MT_ASM_RAX, value->slot);
	return NULL;
}

struct mt_error *mt_compile_text(struct mt_compiler *compiler, struct mt_operand *operand,
				 struct mt_condition_value *value)
{
	struct mt_type *type = mt_type_strip(operand->value.type);
	const struct mt_node *root = value->expr->root;
	/* `this` of the string's own functions may be none yet. */
	const bool is_this =
	    root->kind == MT_NODE_VARIABLE && mt_die_flag(&root->variable->die, DW_AT_artificial);
	const bool is_pointer = type->kind == MT_TYPE_POINTER && !is_this;

	value->text.is_text =
	    find_parts(compiler, is_pointer ? mt_type_target(type) : type, &value->text);
	value->text.in_memory = is_pointer || operand->kind == MT_OPERAND_MEMORY;
	if (!value->text.is_text)
		return NULL;
	if (!value->text.in_memory)
		return text_in_registers(compiler, operand, value);
	if (is_pointer)
		mt_try(mt_operand_load(compiler, operand, MT_ASM_RAX));
	else
		mt_operand_address(compiler, operand);
	return value->is_string ? mt_asm_save(&compiler->code, &value->slot) : NULL;
}

/* ---- Bytes ---- */

/* The word at OFFSET from the address in SLOT, to rax. */
static void read_word(struct mt_asm *to, unsigned slot, uint64_t offset)
{
	mt_asm_peek(to, MT_ASM_RAX, slot);
	if (offset) {
		mt_asm(to, 0x48, 0x05); /* add rax, offset */
		mt_asm_imm32(to, (uint32_t)offset);
	}
	mt_asm_read(to, sizeof(uint64_t), false);
}

/* rax: an address, below which nothing lies. */
static void jump_if_null(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_asm(to, 0x48, 0x3d); /* cmp rax, 4096 */
	mt_asm_imm32(to, NULL_BYTES);
	mt_asm_jump(to, MT_ASM_BELOW, label);
}

/* rax: a word of a string, at whose address's slot the string begins.  The bytes before it are none
 * of its own. */
static void hide_bytes_before(struct mt_asm *to, unsigned string)
{
	mt_asm_peek(to, MT_ASM_RCX, string);
	mt_asm(to, 0xc1, 0xe1, 0x03); /* shl ecx, 3: counts modulo 64 */
	mt_asm_set(to, MT_ASM_RDX, UINT64_MAX);
	mt_asm(to, 0x48, 0xd3, 0xe2); /* shl rdx, cl */
	mt_asm(to, 0x48, 0xf7, 0xd2); /* not rdx */
	mt_asm(to, 0x48, 0x09, 0xd0); /* or rax, rdx */
}

/* rcx: a word.  Source: Bit Twiddling Hacks, "Determine if a word has a zero byte". */
static void jump_if_it_has_a_nul(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_asm_set(to, MT_ASM_RDX, 0x0101010101010101);
	mt_asm(to, 0x48, 0x89, 0xc8); /* mov rax, rcx */
	mt_asm(to, 0x48, 0x29, 0xd0); /* sub rax, rdx */
	mt_asm(to, 0x48, 0xf7, 0xd1); /* not rcx */
	mt_asm(to, 0x48, 0x21, 0xc8); /* and rax, rcx */
	mt_asm_set(to, MT_ASM_RDX, 0x8080808080808080);
	mt_asm(to, 0x48, 0x85, 0xd0); /* test rax, rdx */
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, label);
}

/* Up to the word with a NUL. */
static struct mt_error *record_to_nul(struct mt_asm *code, const struct mt_condition_value *value,
				      struct mt_asm_label *end)
{
	unsigned words;

	mt_asm_peek(code, MT_ASM_RAX, value->slot);
	jump_if_null(code, end);
	mt_asm(code, 0x48, 0x83, 0xe0, 0xf8); /* and rax, -8 */
	mt_try(mt_asm_save(code, &words));
	for (uint32_t i = 0; i < MT_RECORDED_STRING_WORDS; i++) {
		read_word(code, words, i * sizeof(uint64_t));
		if (i == 0)
			hide_bytes_before(code, value->slot);
		mt_try(mt_asm_record(code, value->site + 1 + i));
		if (i + 1 < MT_RECORDED_STRING_WORDS)
			jump_if_it_has_a_nul(code, end);
	}
	return NULL;
}

/* START, COUNT: slots with these. */
static struct mt_error *record_counted(struct mt_asm *code, const struct mt_condition_value *value,
				       unsigned start, unsigned count, struct mt_asm_label *end)
{
	struct mt_asm_label is_short = {0};
	unsigned words, bytes;

	mt_asm_peek(code, MT_ASM_RCX, count);
	mt_asm_peek(code, MT_ASM_RAX, start);
	mt_asm(code, 0x83, 0xe0, 0x07);       /* and eax, 7 */
	mt_asm(code, 0x48, 0x8d, 0x04, 0xc8); /* lea rax, [rax+rcx*8] */
	mt_try(mt_asm_record(code, value->site + 1));
	mt_asm_peek(code, MT_ASM_RCX, count);
	mt_asm(code, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	mt_asm_jump(code, MT_ASM_EQUAL, end);
	mt_asm(code, 0x48, 0x83, 0xf9, MT_RECORDED_STRING_BYTES); /* cmp rcx, 32 */
	mt_asm_jump(code, MT_ASM_BELOW_EQUAL, &is_short);
	mt_asm_set(code, MT_ASM_RCX, MT_RECORDED_STRING_BYTES);
	mt_asm_bind(code, &is_short);
	mt_asm_peek(code, MT_ASM_RAX, start);
	mt_asm(code, 0x83, 0xe0, 0x07);    /* and eax, 7 */
	mt_asm(code, 0x48, 0x01, 0xc8);    /* add rax, rcx */
	mt_try(mt_asm_save(code, &bytes)); /* from the first word on */
	mt_asm_peek(code, MT_ASM_RAX, start);
	mt_asm(code, 0x48, 0x83, 0xe0, 0xf8); /* and rax, -8 */
	mt_try(mt_asm_save(code, &words));
	for (uint32_t i = 0; i < MT_RECORDED_STRING_WORDS; i++) {
		const uint8_t offset = (uint8_t)(i * sizeof(uint64_t));

		mt_asm_peek(code, MT_ASM_RCX, bytes);
		mt_asm(code, 0x83, 0xf9, offset); /* cmp ecx, … */
		mt_asm_jump(code, MT_ASM_BELOW_EQUAL, end);
		read_word(code, words, offset);
		mt_try(mt_asm_record(code, value->site + 2 + i));
	}
	return NULL;
}

static struct mt_error *record_text(struct mt_asm *code, const struct mt_condition_value *value,
				    struct mt_asm_label *end)
{
	unsigned start, count;

	if (!value->text.in_memory)
		return record_counted(code, value, value->slot, value->slot + 1, end);
	mt_asm_peek(code, MT_ASM_RAX, value->slot);
	jump_if_null(code, end);
	read_word(code, value->slot, value->text.start);
	mt_try(mt_asm_save(code, &start));
	read_word(code, value->slot, value->text.count);
	mt_try(mt_asm_save(code, &count));
	return record_counted(code, value, start, count, end);
}

struct mt_error *mt_compile_string(struct mt_compiler *compiler,
				   const struct mt_condition_value *value)
{
	struct mt_asm *code = &compiler->code;
	const unsigned slots = code->slots;
	struct mt_asm_label end = {0};

	struct mt_error *error =
	    value->text.is_text ? record_text(code, value, &end) : record_to_nul(code, value, &end);
	mt_asm_bind(code, &end);
	if (!error)
		code->slots = slots;
	return error;
}

/* rax: where the first word of a string lies. */
static void jump_unless_in_a_noted_page(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_asm(to, 0x89, 0xc1); /* mov ecx, eax */
	mt_asm(to, 0x81, 0xe1); /* and ecx, 4095 */
	mt_asm_imm32(to, PAGE_BYTES - 1);
	mt_asm(to, 0x81, 0xf9); /* cmp ecx, … */
	mt_asm_imm32(to, PAGE_BYTES - WORDS_BYTES);
	mt_asm_jump(to, MT_ASM_ABOVE, label);
	mt_asm_jump_unless_noted(to, label);
}

/* What waits, the words up to the one with a NUL, and the function's entry.  Nothing is done yet
 * for who goes to OTHER. */
static struct mt_error *record_with_entry(struct mt_compiler *compiler,
					  const struct mt_condition_value *value,
					  struct mt_asm_label *other)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label ends[MT_RECORDED_STRING_WORDS + 1] = {0}, whole = {0};
	struct mt_asm_recorded all[MT_ASM_MOST_TOGETHER];
	const unsigned before = compiler->waiting_count;
	unsigned address;

	memcpy(all, compiler->waiting, before * sizeof(all[0]));
	mt_asm_jump_unless_recording(code, other);
	mt_asm_peek(code, MT_ASM_RAX, value->slot);
	jump_if_null(code, &ends[0]);
	mt_asm(code, 0x48, 0x83, 0xe0, 0xf8); /* and rax, -8 */
	mt_try(mt_asm_save(code, &address));
	jump_unless_in_a_noted_page(code, other);
	for (uint32_t i = 0; i < MT_RECORDED_STRING_WORDS; i++) {
		struct mt_asm_recorded *word = &all[before + i];

		word->site = value->site + 1 + i;
		mt_asm_peek(code, MT_ASM_RAX, address);
		/* mov rax, [rax+…] */
		mt_asm(code, 0x48, 0x8b, 0x40, (uint8_t)(i * sizeof(uint64_t)));
		if (i == 0)
			hide_bytes_before(code, value->slot);
		mt_try(mt_asm_save(code, &word->slot));
		mt_asm(code, 0x48, 0x89, 0xc1); /* mov rcx, rax */
		if (i + 1 < MT_RECORDED_STRING_WORDS)
			jump_if_it_has_a_nul(code, &ends[i + 1]);
	}
	for (unsigned words = MT_RECORDED_STRING_WORDS + 1; words-- > 0;) {
		mt_asm_bind(code, &ends[words]);
		mt_asm_record_with_entry(code, all, before + words);
		if (words)
			mt_asm_jump(code, MT_ASM_ALWAYS, &whole);
	}
	mt_asm_bind(code, &whole);
	mt_asm_go_behind(code);
	return NULL;
}

struct mt_error *mt_compile_last_string(struct mt_compiler *compiler,
					const struct mt_condition_value *value)
{
	struct mt_asm *code = &compiler->code;
	const unsigned slots = code->slots;
	struct mt_asm_label other = {0};

	if (compiler->waiting_count + MT_RECORDED_STRING_WORDS >= MT_ASM_MOST_TOGETHER)
		mt_compile_waiting(compiler);
	if (value == compiler->last_string && !value->text.is_text) {
		mt_try(record_with_entry(compiler, value, &other));
		mt_asm_bind(code, &other);
		code->slots = slots;
	}
	mt_compile_waiting(compiler);
	return mt_compile_string(compiler, value);
}
