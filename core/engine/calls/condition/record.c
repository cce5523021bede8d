/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values into the thread's ring, each as an event of two slots, as trampolines write those of
 * entries (trampoline/record.c). */
#include "engine/calls/condition/code.h"

/* eax: a number of bytes from the ring's first beginning; rax becomes the address. */
static void locate(struct mt_asm *to)
{
	mt_asm(to, 0x25); /* and eax, size - 1 */
	mt_asm_imm32(to, to->place.ring_bytes - 1);
	mt_asm(to, 0x65, 0x48, 0x03, 0x04, 0x25); /* add rax, gs:[ring] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, ring));
}

/* rax: what had been written before. */
static void reserve(struct mt_asm *to)
{
	const uint8_t size = (uint8_t)mt_ring_event_bytes(to->place.stamps, true);

	mt_asm(to, 0xb8, size, 0, 0, 0);                /* mov eax, size */
	mt_asm(to, 0x65, 0x48, 0x0f, 0xc1, 0x04, 0x25); /* xadd gs:[written], rax */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, written));
	mt_asm_reserved(to, size / sizeof(struct mt_ring_event), MT_SLOT_RAX);
}

/* One of the two slots is a line's first, which takes a stamp; the other one is no event.  eax: the
 * second one. */
static void stamp_line(struct mt_asm *to)
{
	mt_asm(to, 0x89, 0xc2);             /* mov edx, eax */
	mt_asm(to, 0x83, 0xe2, 0x08);       /* and edx, 8 */
	mt_asm(to, 0x89, 0xc1);             /* mov ecx, eax */
	mt_asm(to, 0x29, 0xd1);             /* sub ecx, edx */
	mt_asm(to, 0x8d, 0x54, 0x10, 0xf8); /* lea edx, [rax+rdx-8] */
	mt_asm(to, 0x81, 0xe2);             /* and edx, size - 1 */
	mt_asm_imm32(to, to->place.ring_bytes - 1);
	mt_asm(to, 0x65, 0x48, 0x03, 0x14, 0x25); /* add rdx, gs:[ring] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, ring));
	mt_asm(to, 0x48, 0x83, 0x22, 0x00); /* and qword [rdx], 0 */
	mt_asm_reserved(to, 1, MT_SLOT_RCX);
	mt_asm(to, 0x89, 0xc8); /* mov eax, ecx */
	locate(to);
	mt_asm(to, 0x48, 0x89, 0xc1);       /* mov rcx, rax */
	mt_asm(to, 0x65, 0x83, 0x3c, 0x25); /* cmp dword gs:[stampless], 0 */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, stampless));
	mt_asm(to, 0, 0x75, 0x02);          /* jne over the next */
	mt_asm(to, 0x0f, 0x31);             /* rdtsc */
	mt_asm(to, 0x48, 0xc1, 0xe2, 0x20); /* shl rdx, 32 */
	mt_asm(to, 0x48, 0x09, 0xc2);       /* or rdx, rax */
	mt_asm(to, 0x48, 0x89, 0x11);       /* mov [rcx], rdx */
	mt_asm_reserved(to, 0, MT_SLOT_RCX);
}

/* The program's stack pointer to edx. */
static void get_stack(struct mt_asm *to)
{
	mt_asm_get_register(to, MT_ASM_RDX, MT_REGISTER_RSP);
}

static void put_sampled(struct mt_asm *to, uint32_t site, unsigned slot)
{
	struct mt_asm_label fits = {0};
	const uint32_t again = mt_asm_here(to);

	reserve(to);
	mt_asm(to, 0x83, 0xc0, 0x08); /* add eax, 8 */
	mt_asm_reserved(to, 2, MT_SLOT_BEFORE_RAX);
	mt_asm(to, 0xa8, MT_RING_LINE_BYTES - 16); /* test al, 240 */
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, &fits);
	stamp_line(to);
	mt_asm_jump_back(to, MT_ASM_ALWAYS, again);
	mt_asm_bind(to, &fits);
	mt_asm_reserved(to, 2, MT_SLOT_BEFORE_RAX);
	locate(to);
	mt_asm_restore(to, MT_ASM_RCX, slot);
	mt_asm(to, 0x48, 0x89, 0x08); /* mov [rax], rcx */
	mt_asm(to, 0xc7, 0x40, 0xf8); /* mov dword [rax-8], site */
	mt_asm_imm32(to, site);
	get_stack(to);
	mt_asm(to, 0x89, 0x50, 0xfc); /* mov [rax-4], edx */
	mt_asm_reserved(to, 0, MT_SLOT_RAX);
}

/* Its time is that of the event before. */
static void put_full(struct mt_asm *to, uint32_t site, unsigned slot)
{
	reserve(to);
	mt_asm(to, 0x89, 0xc1); /* mov ecx, eax */
	mt_asm_reserved(to, 4, MT_SLOT_RCX);
	locate(to);
	mt_asm(to, 0xc7, 0x00); /* mov dword [rax], site */
	mt_asm_imm32(to, site);
	get_stack(to);
	mt_asm(to, 0x89, 0x50, 0x04);                   /* mov [rax+4], edx */
	mt_asm(to, 0x48, 0xc7, 0x40, 0x08, 0, 0, 0, 0); /* mov qword [rax+8], 0 */
	mt_asm(to, 0x8d, 0x41, 0x10);                   /* lea eax, [rcx+16] */
	locate(to);
	mt_asm(to, 0xc7, 0x00); /* mov dword [rax], … */
	mt_asm_imm32(to, MT_RING_SITE_CALLER);
	mt_asm_restore(to, MT_ASM_RDX, slot);
	mt_asm(to, 0x48, 0x89, 0x50, 0x08); /* mov [rax+8], rdx */
	mt_asm_reserved(to, 0, MT_SLOT_RCX);
	mt_asm(to, 0x48, 0x89, 0xd1); /* mov rcx, rdx */
}

struct mt_error *mt_asm_record(struct mt_asm *to, uint32_t site)
{
	unsigned slot;

	mt_try(mt_asm_save(to, &slot));
	if (to->place.stamps == MT_RING_FULL)
		put_full(to, site, slot);
	else
		put_sampled(to, site, slot);
	return NULL;
}

struct mt_error *mt_compile_recorded(struct mt_compiler *compiler, struct mt_condition_value *value)
{
	struct mt_asm *code = &compiler->code;
	struct mt_operand operand;

	mt_try(mt_compile_value(compiler, value->expr->root, &operand));
	value->type = mt_type_strip(operand.value.type);
	mt_try(mt_compile_text(compiler, &operand, value));
	if (!value->text.is_text) {
		if (mt_type_is_aggregate(value->type) || value->type->kind == MT_TYPE_ARRAY)
			return mt_cannot_compile("it is a structure or a vector: name parts of it");
		if (mt_is_float_type(value->type))
			mt_try(mt_operand_to_bits(compiler, &operand));
		mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
		if (value->is_string)
			mt_try(mt_asm_save(code, &value->slot));
	}
	return mt_asm_record(code, value->site);
}
