/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $_streq, $_memeq, $_strlen, $_regex and $_mtrace_python_hash: a byte after the other, so that
 * nothing is read behind the first one that differs, nor behind the NUL.  What is compared with a
 * literal has no loop; loops end behind as many bytes as core/expr reads. */
#include "base/hash.h"
#include "engine/calls/condition/code.h"
#include "expr/regex.h"
#include "runtime/python_text.h"

#include <string.h>

#define MOST_BYTES       64u
#define MOST_TRANSITIONS 4096u
#define CONTINUATION     0x80 /* of a character in UTF-8: the highest two bits */

/* Bytes that a loop goes through. */
struct walk {
	unsigned at, end; /* slots: the next one, and what is behind the last */
};

static bool is_literal(const struct mt_node *node)
{
	return node->kind == MT_NODE_VALUE &&
	       mt_type_strip(node->value.type)->kind == MT_TYPE_ARRAY;
}

/* Those at the address in the slot.  Jumps if one differs. */
static void compare_bytes(struct mt_asm *code, unsigned address, const uint8_t *bytes,
			  uint64_t count, struct mt_asm_label *differ)
{
	for (uint64_t i = 0; i < count; i++) {
		mt_asm_peek(code, MT_ASM_RAX, address);
		if (i)
			mt_asm(code, 0x48, 0x83, 0xc0, (uint8_t)i); /* add rax, i */
		mt_asm_read(code, 1, false);
		mt_asm(code, 0x3c, bytes[i]); /* cmp al, … */
		mt_asm_jump(code, MT_ASM_NOT_EQUAL, differ);
	}
}

/* Of a call's first two arguments the one that is a literal, if one alone is, and the other. */
static bool take_literal(const struct mt_node *call, const struct mt_node **literal,
			 const struct mt_node **other)
{
	const struct mt_node *first = call->right, *second = first->next;
	const bool is_second = is_literal(second);

	*literal = is_second ? second : first;
	*other = is_second ? first : second;
	return is_literal(*literal) && !is_literal(*other);
}

/* The operand's address into a slot. */
static struct mt_error *save_address(struct mt_compiler *compiler, struct mt_operand *operand,
				     unsigned *slot)
{
	mt_try(mt_operand_decay(compiler, operand));
	mt_try(mt_operand_load(compiler, operand, MT_ASM_RAX));
	return mt_asm_save(&compiler->code, slot);
}

static struct mt_error *save_string(struct mt_compiler *compiler, const struct mt_node *node,
				    unsigned *slot, uint64_t *most)
{
	struct mt_operand operand;

	mt_try(mt_compile_node(compiler, node, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	mt_try(mt_check_string(operand.value.type, most));
	return save_address(compiler, &operand, slot);
}

/* ---- Loops ---- */

/* COUNT bytes from rax on, which is in the slot `at`. */
static struct mt_error *begin_walk(struct mt_asm *code, uint64_t count, struct walk *walk)
{
	mt_asm_set(code, MT_ASM_RCX, count);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
	return mt_asm_save(code, &walk->end);
}

/* The next byte, to rax.  Jumps if there is none. */
static void walk_on(struct mt_asm *code, const struct walk *walk, struct mt_asm_label *end)
{
	mt_asm_peek(code, MT_ASM_RAX, walk->at);
	mt_asm_peek(code, MT_ASM_RCX, walk->end);
	mt_asm(code, 0x48, 0x39, 0xc8); /* cmp rax, rcx */
	mt_asm_jump(code, MT_ASM_EQUAL, end);
	mt_asm_increment(code, walk->at);
	mt_asm_read(code, 1, false);
	mt_asm_extend(code, MT_ASM_RAX, 1, false);
}

/* The same; a NUL behind the last one. */
static void walk_to_nul(struct mt_asm *code, const struct walk *walk)
{
	struct mt_asm_label end = {0}, done = {0};

	walk_on(code, walk, &end);
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &end);
	mt_asm_set(code, MT_ASM_RAX, 0);
	mt_asm_bind(code, &done);
}

static struct mt_error *compare_strings(struct mt_compiler *compiler, const struct mt_node *call,
					struct mt_asm_label *differ)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label same = {0};
	struct walk left, right;
	unsigned byte;
	uint64_t most;

	mt_try(save_string(compiler, call->right, &left.at, &most));
	mt_try(begin_walk(code, most, &left));
	mt_try(save_string(compiler, call->right->next, &right.at, &most));
	mt_try(begin_walk(code, most, &right));
	const uint32_t again = mt_asm_here(code);
	walk_to_nul(code, &left);
	mt_try(mt_asm_save(code, &byte));
	walk_to_nul(code, &right);
	mt_asm_restore(code, MT_ASM_RCX, byte);
	mt_asm(code, 0x48, 0x39, 0xc8); /* cmp rax, rcx */
	mt_asm_jump(code, MT_ASM_NOT_EQUAL, differ);
	mt_asm(code, 0x85, 0xc0); /* test eax, eax */
	mt_asm_jump(code, MT_ASM_EQUAL, &same);
	mt_asm_jump_back(code, MT_ASM_ALWAYS, again);
	mt_asm_bind(code, &same);
	code->slots = left.at;
	return NULL;
}

static struct mt_error *compare_memory(struct mt_compiler *compiler, const struct mt_node *call,
				       uint64_t size, struct mt_asm_label *differ)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label same = {0};
	struct mt_operand operand;
	struct walk left, right;
	unsigned byte;

	mt_try(mt_compile_value(compiler, call->right, &operand));
	mt_try(save_address(compiler, &operand, &left.at));
	mt_try(begin_walk(code, size, &left));
	mt_try(mt_compile_value(compiler, call->right->next, &operand));
	mt_try(save_address(compiler, &operand, &right.at));
	mt_try(begin_walk(code, size, &right));
	const uint32_t again = mt_asm_here(code);
	walk_on(code, &left, &same);
	mt_try(mt_asm_save(code, &byte));
	walk_on(code, &right, &same);
	mt_asm_restore(code, MT_ASM_RCX, byte);
	mt_asm(code, 0x48, 0x39, 0xc8); /* cmp rax, rcx */
	mt_asm_jump(code, MT_ASM_NOT_EQUAL, differ);
	mt_asm_jump_back(code, MT_ASM_ALWAYS, again);
	mt_asm_bind(code, &same);
	code->slots = left.at;
	return NULL;
}

static struct mt_error *string_length(struct mt_compiler *compiler, const struct mt_node *call,
				      struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label done = {0};
	struct walk walk;
	unsigned length;
	uint64_t most;

	if (is_literal(call->right)) {
		*out = (struct mt_operand){.kind = MT_OPERAND_CONSTANT};
		return mt_eval(&compiler->eval, call, &out->value);
	}
	mt_try(save_string(compiler, call->right, &walk.at, &most));
	mt_try(begin_walk(code, most, &walk));
	mt_asm_set(code, MT_ASM_RAX, 0);
	mt_try(mt_asm_save(code, &length));
	const uint32_t again = mt_asm_here(code);
	walk_to_nul(code, &walk);
	mt_asm(code, 0x85, 0xc0); /* test eax, eax */
	mt_asm_jump(code, MT_ASM_EQUAL, &done);
	mt_asm(code, 0x24, 0xc0);         /* and al, 0xc0 */
	mt_asm(code, 0x3c, CONTINUATION); /* cmp al, … */
	mt_asm_jump_back(code, MT_ASM_EQUAL, again);
	mt_asm_increment(code, length);
	mt_asm_jump_back(code, MT_ASM_ALWAYS, again);
	mt_asm_bind(code, &done);
	mt_asm_peek(code, MT_ASM_RAX, length);
	code->slots = walk.at;
	*out = mt_operand_in_rax(mt_type_builtin(compiler->eval.program, MT_BUILTIN_INT));
	return NULL;
}

/* rax: the next word, or byte. */
static void mix(struct mt_asm *code, unsigned sum)
{
	mt_asm_peek(code, MT_ASM_RCX, sum);
	mt_asm(code, 0x48, 0x31, 0xc8); /* xor rax, rcx */
	mt_asm_set(code, MT_ASM_RCX, MT_TEXT_HASH_FACTOR);
	mt_asm(code, 0x48, 0x0f, 0xaf, 0xc1);                /* imul rax, rcx */
	mt_asm(code, 0x48, 0xc1, 0xc0, MT_TEXT_HASH_ROTATE); /* rol rax, … */
	mt_asm_keep(code, sum);
}

/* As long as there are as many bytes. */
static void walk_words(struct mt_asm *code, const struct walk *walk, unsigned sum)
{
	struct mt_asm_label end = {0};
	const uint32_t again = mt_asm_here(code);

	mt_asm_peek(code, MT_ASM_RAX, walk->at);
	mt_asm_peek(code, MT_ASM_RCX, walk->end);
	mt_asm(code, 0x48, 0x29, 0xc1);                   /* sub rcx, rax */
	mt_asm(code, 0x48, 0x83, 0xf9, sizeof(uint64_t)); /* cmp rcx, 8 */
	mt_asm_jump(code, MT_ASM_BELOW, &end);
	mt_asm_read(code, sizeof(uint64_t), false);
	mix(code, sum);
	mt_asm_peek(code, MT_ASM_RAX, walk->at);
	mt_asm(code, 0x48, 0x83, 0xc0, sizeof(uint64_t)); /* add rax, 8 */
	mt_asm_keep(code, walk->at);
	mt_asm_jump_back(code, MT_ASM_ALWAYS, again);
	mt_asm_bind(code, &end);
}

/* rax: what lies so many bytes behind the address in the slot. */
static void read_behind(struct mt_asm *code, unsigned slot, uint8_t offset, uint8_t size)
{
	mt_asm_peek(code, MT_ASM_RAX, slot);
	mt_asm(code, 0x48, 0x83, 0xc0, offset); /* add rax, offset */
	mt_asm_read(code, size, false);
}

/* The str at `walk->at` becomes its characters; *SUM: how many bytes there are. */
static struct mt_error *begin_python(struct mt_asm *code, struct walk *walk, unsigned *sum)
{
	const uint8_t difference = MT_PYTHON_TEXT_OTHER - MT_PYTHON_TEXT_ASCII;
	struct mt_asm_label fits = {0};
	unsigned state;

	read_behind(code, walk->at, MT_PYTHON_TEXT_STATE, 1);
	mt_try(mt_asm_save(code, &state));
	read_behind(code, walk->at, MT_PYTHON_TEXT_LENGTH, sizeof(uint64_t));
	mt_asm_restore(code, MT_ASM_RCX, state);
	mt_asm(code, 0x89, 0xca);                             /* mov edx, ecx */
	mt_asm(code, 0xc1, 0xe9, MT_PYTHON_TEXT_KIND_BIT);    /* shr ecx, … */
	mt_asm(code, 0x83, 0xe1, MT_PYTHON_TEXT_KIND_MASK);   /* and ecx, … */
	mt_asm(code, 0x48, 0x0f, 0xaf, 0xc1);                 /* imul rax, rcx */
	mt_asm(code, 0xc1, 0xea, MT_PYTHON_TEXT_ASCII_BIT);   /* shr edx, … */
	mt_asm(code, 0x83, 0xe2, 0x01);                       /* and edx, 1 */
	mt_asm(code, 0x48, 0x6b, 0xd2, (uint8_t)-difference); /* imul rdx, rdx, … */
	mt_asm_peek(code, MT_ASM_RCX, walk->at);
	mt_asm(code, 0x48, 0x8d, 0x4c, 0x11, MT_PYTHON_TEXT_OTHER); /* lea rcx, [rcx+rdx+…] */
	mt_try(mt_asm_save(code, sum));
	mt_asm(code, 0x48, 0x3d); /* cmp rax, … */
	mt_asm_imm32(code, MT_TEXT_HASH_BYTES);
	mt_asm_jump(code, MT_ASM_BELOW, &fits);
	mt_asm_set(code, MT_ASM_RAX, MT_TEXT_HASH_BYTES);
	mt_asm_bind(code, &fits);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
	mt_try(mt_asm_save(code, &walk->end));
	mt_asm(code, 0x48, 0x89, 0xc8); /* mov rax, rcx */
	mt_asm_keep(code, walk->at);
	return NULL;
}

static struct mt_error *python_hash(struct mt_compiler *compiler, const struct mt_node *call,
				    struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label end = {0};
	struct mt_operand operand;
	struct walk walk;
	unsigned sum;

	mt_try(mt_compile_value(compiler, call->right, &operand));
	mt_try(save_address(compiler, &operand, &walk.at));
	mt_try(begin_python(code, &walk, &sum));
	walk_words(code, &walk, sum);
	const uint32_t again = mt_asm_here(code);
	walk_on(code, &walk, &end);
	mix(code, sum);
	mt_asm_jump_back(code, MT_ASM_ALWAYS, again);
	mt_asm_bind(code, &end);
	mt_asm_peek(code, MT_ASM_RAX, sum);
	code->slots = walk.at;
	*out = mt_operand_in_rax(mt_type_builtin(compiler->eval.program, MT_BUILTIN_ULONG));
	return NULL;
}

struct mt_error *mt_compile_number_of(struct mt_compiler *compiler, const struct mt_node *call,
				      struct mt_operand *out)
{
	mt_try(mt_check_arguments(call));
	return (mt_named_function_of(call) == MT_NAMED_PYTHON_HASH ? python_hash : string_length)(
	    compiler, call, out);
}

/* ---- What decides ---- */

static struct mt_error *streq(struct mt_compiler *compiler, const struct mt_node *node,
			      struct mt_asm_label *differ)
{
	const struct mt_node *literal, *string;
	uint64_t most;
	unsigned slot;

	if (!take_literal(node, &literal, &string)) {
		if (is_literal(literal))
			return mt_cannot_compile("$_streq is not compiled with two literals");
		return compare_strings(compiler, node, differ);
	}
	struct mt_value value = literal->value;
	const uint8_t *bytes = mt_value_bytes(&value);
	const uint64_t length = strnlen((const char *)bytes, mt_type_size(value.type));
	if (length >= MOST_BYTES)
		return mt_cannot_compile("$_streq is compiled with literals of up to %u bytes",
					 MOST_BYTES - 1);
	mt_try(save_string(compiler, string, &slot, &most));
	if (length > most)
		mt_asm_jump(&compiler->code, MT_ASM_ALWAYS, differ);
	else /* an array may be full of it, without a NUL */
		compare_bytes(&compiler->code, slot, bytes, length + (length < most), differ);
	compiler->code.slots = slot;
	return NULL;
}

static struct mt_error *memeq(struct mt_compiler *compiler, const struct mt_node *node,
			      struct mt_asm_label *differ)
{
	const struct mt_node *literal, *memory, *number = node->right->next->next;
	struct mt_operand operand;
	uint64_t size;
	unsigned slot;

	const bool has_literal = take_literal(node, &literal, &memory);
	if (number->kind != MT_NODE_VALUE || (!has_literal && is_literal(literal)))
		return mt_cannot_compile("$_memeq is compiled with one literal at most, and with a "
					 "number");
	struct mt_value value = literal->value, count = number->value;
	mt_try(mt_value_get(&compiler->eval, &count, &size));
	if (!has_literal && size <= MT_MOST_STRING_BYTES)
		return compare_memory(compiler, node, size, differ);
	if (size > MOST_BYTES || size > mt_type_size(value.type))
		return mt_cannot_compile("$_memeq is compiled for up to %u bytes of the literal",
					 MOST_BYTES);
	mt_try(mt_compile_node(compiler, memory, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	mt_try(save_address(compiler, &operand, &slot));
	compare_bytes(&compiler->code, slot, mt_value_bytes(&value), size, differ);
	compiler->code.slots = slot;
	return NULL;
}

/* ---- Patterns ---- */

/* lea rcx, [rip+…]: what is to be put at AT. */
static void put_table_address(struct mt_asm *code, uint32_t at)
{
	mt_asm(code, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+…] */
	mt_asm_imm32(code, at - (mt_asm_here(code) + 4));
}

/* The tables of REGEX, each state as the index of its first transition. */
static void put_tables(struct mt_asm *code, const struct mt_regex *regex)
{
	mt_asm_bytes(code, regex->classes, sizeof(regex->classes));
	for (size_t i = 0; i < (size_t)regex->state_count * regex->class_count; i++) {
		const uint16_t index = (uint16_t)(regex->transitions[i] * regex->class_count);

		mt_asm_bytes(code, &index, sizeof(index));
	}
}

/* From the string's first byte up to the one that leads to an answer: the NUL does. */
static struct mt_error *match(struct mt_asm *code, const struct mt_regex *regex,
			      const struct walk *walk, struct mt_asm_label *differ)
{
	struct mt_asm_label begin = {0};
	unsigned state;

	mt_asm_set(code, MT_ASM_RAX, regex->start * regex->class_count);
	mt_try(mt_asm_save(code, &state));
	mt_asm_jump(code, MT_ASM_ALWAYS, &begin);
	const uint32_t classes = mt_asm_here(code);
	const uint32_t transitions = classes + (uint32_t)sizeof(regex->classes);
	put_tables(code, regex);
	mt_asm_bind(code, &begin);
	const uint32_t again = mt_asm_here(code);
	walk_to_nul(code, walk);
	put_table_address(code, classes);
	mt_asm(code, 0x0f, 0xb6, 0x04, 0x01); /* movzx eax, byte [rcx+rax] */
	mt_asm_peek(code, MT_ASM_RCX, state);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
	put_table_address(code, transitions);
	mt_asm(code, 0x0f, 0xb7, 0x04, 0x41); /* movzx eax, word [rcx+rax*2] */
	mt_asm_keep(code, state);
	mt_asm(code, 0x3d); /* cmp eax, … */
	mt_asm_imm32(code, MT_REGEX_ANSWERS * regex->class_count);
	mt_asm_jump_back(code, MT_ASM_ABOVE_EQUAL, again);
	mt_asm(code, 0x3d); /* cmp eax, … */
	mt_asm_imm32(code, MT_REGEX_YES * regex->class_count);
	mt_asm_jump(code, MT_ASM_ABOVE, &code->undecided);
	mt_asm_jump(code, MT_ASM_BELOW, differ);
	return NULL;
}

static struct mt_error *regex(struct mt_compiler *compiler, const struct mt_node *node,
			      struct mt_asm_label *differ)
{
	mt_auto(mt_regex) struct mt_regex regex = {0};
	const struct mt_node *string = node->right, *pattern = string->next;
	struct walk walk;
	uint64_t most;

	if (is_literal(string) || !is_literal(pattern))
		return mt_cannot_compile("$_regex is compiled with a literal as its pattern alone");
	mt_try(mt_literal_pattern(pattern, &regex));
	if ((size_t)regex.state_count * regex.class_count > MOST_TRANSITIONS)
		return mt_cannot_compile("$_regex is compiled with patterns of up to %u "
					 "transitions",
					 MOST_TRANSITIONS);
	mt_try(save_string(compiler, string, &walk.at, &most));
	mt_try(begin_walk(&compiler->code, most, &walk));
	mt_try(match(&compiler->code, &regex, &walk, differ));
	compiler->code.slots = walk.at;
	return NULL;
}

/* ---- All ---- */

struct mt_error *mt_compile_function(struct mt_compiler *compiler, const struct mt_node *node,
				     bool wanted, struct mt_asm_label *label)
{
	const enum mt_named_function function = mt_named_function_of(node);
	struct mt_asm_label differ = {0};
	struct mt_error *error;

	mt_try(mt_check_arguments(node));
	error = (function == MT_NAMED_STREQ   ? streq
		 : function == MT_NAMED_MEMEQ ? memeq
					      : regex)(compiler, node, wanted ? &differ : label);
	if (wanted)
		mt_asm_jump(&compiler->code, MT_ASM_ALWAYS, label);
	mt_asm_bind(&compiler->code, &differ);
	return error;
}
