/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $_streq with a literal, and $_memeq with one and a number: a byte after the other, so that
 * nothing is read behind the first one that differs, nor behind the NUL. */
#include "engine/calls/condition/code.h"

#include <string.h>

#define MOST_BYTES 64u

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

static struct mt_error *streq(struct mt_compiler *compiler, const struct mt_node *node,
			      struct mt_asm_label *differ)
{
	const struct mt_node *literal, *string;
	struct mt_operand operand;
	uint64_t most;
	unsigned slot;

	if (!take_literal(node, &literal, &string))
		return mt_cannot_compile("$_streq is compiled with one literal alone");
	struct mt_value value = literal->value;
	const uint8_t *bytes = mt_value_bytes(&value);
	const uint64_t length = strnlen((const char *)bytes, mt_type_size(value.type));
	mt_try(mt_compile_node(compiler, string, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	mt_try(mt_check_string(operand.value.type, &most));
	if (length >= MOST_BYTES)
		return mt_cannot_compile("$_streq is compiled with up to %u bytes", MOST_BYTES - 1);
	mt_try(save_address(compiler, &operand, &slot));
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

	if (!take_literal(node, &literal, &memory) || number->kind != MT_NODE_VALUE)
		return mt_cannot_compile("$_memeq is compiled with one literal and a number alone");
	struct mt_value value = literal->value, count = number->value;
	mt_try(mt_value_get(&compiler->eval, &count, &size));
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

struct mt_error *mt_compile_function(struct mt_compiler *compiler, const struct mt_node *node,
				     bool wanted, struct mt_asm_label *label)
{
	const enum mt_named_function function = mt_named_function_of(node);
	struct mt_asm_label differ = {0};
	struct mt_error *error;

	mt_try(mt_check_arguments(node));
	error =
	    (function == MT_NAMED_STREQ ? streq : memeq)(compiler, node, wanted ? &differ : label);
	if (wanted)
		mt_asm_jump(&compiler->code, MT_ASM_ALWAYS, label);
	mt_asm_bind(&compiler->code, &differ);
	return error;
}
