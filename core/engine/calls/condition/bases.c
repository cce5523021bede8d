/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members, and those of virtual bases, whose place the object itself tells: its first word leads to
 * the vtable, before whose functions the base's offset stands (Itanium C++ ABI, 2.5.2).
 *
 * A member is looked up once, in an object that is nowhere: what is found lies so many bytes from
 * there, or from a virtual base, each of which is taken to begin at an address of its own. */
#include "engine/calls/condition/code.h"

#include <string.h>

#define PLACE_SHIFT 56 /* no object begins there */
#define NOWHERE     (1ull << PLACE_SHIFT)
#define FIRST_BASE  2u /* << PLACE_SHIFT */

/* An object has one virtual base of a class, whichever way leads there. */
static struct mt_error *find_virtual_base(struct mt_eval *eval, const struct mt_value *value,
					  const struct mt_member *member, int64_t at,
					  uint64_t *address)
{
	struct mt_compiler *compiler = eval->virtual_context;
	unsigned number = 0;

	while (number < compiler->base_count &&
	       !mt_type_same(compiler->bases[number].type, member->type))
		number++;
	if (number == MT_MOST_VIRTUAL_BASES)
		return mt_too_complex();
	if (number == compiler->base_count)
		compiler->bases[compiler->base_count++] =
		    (struct mt_virtual_base){member->type, value->address, at};
	*address = (uint64_t)(FIRST_BASE + number) << PLACE_SHIFT;
	return NULL;
}

static void add_to_rax(struct mt_asm *code, uint64_t number)
{
	mt_asm_set(code, MT_ASM_RCX, number);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
}

/* rax: where the part of WHOLE is that was found at ADDRESS. */
static struct mt_error *find_part(struct mt_compiler *compiler, const struct mt_operand *whole,
				  uint64_t address)
{
	const unsigned number = (unsigned)(address >> PLACE_SHIFT);
	const uint64_t offset = address & (NOWHERE - 1);
	struct mt_asm *code = &compiler->code;
	unsigned object;

	if (number < FIRST_BASE) {
		struct mt_operand part = *whole;

		part.value.address += offset;
		mt_operand_address(compiler, &part);
		return NULL;
	}
	const struct mt_virtual_base *base = &compiler->bases[number - FIRST_BASE];
	mt_try(find_part(compiler, whole, base->object));
	mt_try(mt_asm_save(code, &object));
	mt_asm_read(code, sizeof(uint64_t), false);
	add_to_rax(code, -(uint64_t)base->at);
	mt_asm_read(code, sizeof(uint64_t), false);
	mt_asm_restore(code, MT_ASM_RCX, object);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
	if (offset)
		add_to_rax(code, offset);
	return NULL;
}

/* What is found by ADDRESS is found in an object that is nowhere. */
static void begin_finding(struct mt_compiler *compiler)
{
	compiler->base_count = 0;
	compiler->eval.virtual_base = find_virtual_base;
	compiler->eval.virtual_context = compiler;
}

struct mt_error *mt_compile_class_move(struct mt_compiler *compiler, struct mt_type *from,
				       struct mt_type *to)
{
	const struct mt_operand whole = mt_operand_at_rax(from);
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label null = {0};
	uint64_t address = NOWHERE;

	begin_finding(compiler);
	mt_try(mt_class_adjust(&compiler->eval, from, to, &address));
	if (address == NOWHERE)
		return NULL;
	mt_asm(code, 0x48, 0x85, 0xc0); /* test rax, rax */
	mt_asm_jump(code, MT_ASM_EQUAL, &null);
	if (address >> PLACE_SHIFT >= FIRST_BASE)
		mt_try(find_part(compiler, &whole, address));
	else
		add_to_rax(code, address - NOWHERE);
	mt_asm_bind(code, &null);
	return NULL;
}

struct mt_error *mt_compile_member_of(struct mt_compiler *compiler, const struct mt_node *node,
				      struct mt_operand *whole, struct mt_operand *out)
{
	struct mt_value value = mt_value_at(whole->value.type, NOWHERE), part;

	begin_finding(compiler);
	mt_try(mt_eval_member_of(&compiler->eval, node, &value, &part));
	if (part.lval != MT_LVAL_MEMORY)
		return mt_cannot_compile("%s is optimized out", node->name);
	const uint64_t place = part.address >> PLACE_SHIFT;
	if (!place) { /* of the class */
		*out = (struct mt_operand){.kind = MT_OPERAND_MEMORY, .value = part};
		return NULL;
	}
	if (whole->kind != MT_OPERAND_MEMORY && whole->kind != MT_OPERAND_REGISTERS)
		return mt_cannot_compile("%s is a member of a computed value", node->name);
	if (place >= FIRST_BASE) {
		if (whole->kind != MT_OPERAND_MEMORY)
			return mt_cannot_compile("%s is in a virtual base", node->name);
		mt_try(find_part(compiler, whole, part.address));
		*out = mt_operand_at_rax(part.type);
		part.address = 0;
		out->value = part;
		return NULL;
	}
	part.address += whole->value.address - NOWHERE;
	*out = *whole;
	out->value = part;
	return NULL;
}
