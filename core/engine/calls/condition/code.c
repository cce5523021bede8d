/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/condition/code.h"

#include <string.h>

#define READ_SLOTS  11u /* below those for values, if there is room for registers */
#define SAVED_BYTES 24u /* but for the flags */

void mt_asm_bytes(struct mt_asm *to, const void *bytes, size_t count)
{
	if (to->failed ||
	    mt_array_reserve(&to->out->trampolines.code, to->out->trampolines.code.count + count)) {
		to->failed = true;
		return;
	}
	memcpy(to->out->trampolines.code.items + to->out->trampolines.code.count, bytes, count);
	to->out->trampolines.code.count += count;
}

void mt_asm_imm32(struct mt_asm *to, uint32_t value)
{
	mt_asm_bytes(to, &value, sizeof(value));
}

void mt_asm_imm64(struct mt_asm *to, uint64_t value)
{
	mt_asm_bytes(to, &value, sizeof(value));
}

/* ---- Jumps ---- */

void mt_asm_link(struct mt_asm *to, uint32_t at, uint32_t target)
{
	uint32_t distance = target - (at + (uint32_t)sizeof(distance));

	if (!to->failed)
		memcpy(to->out->trampolines.code.items + at, &distance, sizeof(distance));
}

static uint32_t put_jump(struct mt_asm *to, enum mt_asm_jump when)
{
	if (when != MT_ASM_ALWAYS)
		mt_asm(to, 0x0f);
	mt_asm(to, (uint8_t)when);
	mt_asm_imm32(to, 0);
	return mt_asm_here(to) - (uint32_t)sizeof(uint32_t);
}

void mt_asm_jump(struct mt_asm *to, enum mt_asm_jump when, struct mt_asm_label *label)
{
	if (mt_array_push(&label->jumps, put_jump(to, when)))
		to->failed = true;
}

void mt_asm_jump_back(struct mt_asm *to, enum mt_asm_jump when, uint32_t target)
{
	mt_asm_link(to, put_jump(to, when), target);
}

void mt_asm_bind(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_array_each (jump, &label->jumps)
		mt_asm_link(to, *jump, mt_asm_here(to));
	mt_array_deinit(&label->jumps);
}

/* ---- The frame ---- */

static uint32_t locals_bytes(const struct mt_asm *to)
{
	return ((to->has_room ? READ_SLOTS : 0) + to->frame_slots) * (uint32_t)sizeof(uint64_t);
}

static uint32_t flags_bytes(const struct mt_asm *to)
{
	return to->place.at_line ? (uint32_t)sizeof(uint64_t) : 0;
}

/* From the stack pointer up to the program's registers. */
static uint32_t below_saved(const struct mt_asm *to)
{
	return locals_bytes(to) + flags_bytes(to);
}

static void put_row(struct mt_asm *to, uint32_t below, uint8_t saved)
{
	const struct mt_trampoline_row row = {
	    .offset = mt_asm_here(to),
	    .below = (int16_t)below,
	    .saved = saved & 15u,
	    .phase =
		(uint16_t)(to->place.measure.at_return || to->has_entered ? MT_PHASE_RECORDED
									  : MT_PHASE_DISPLACED) &
		3u,
	    .original = to->place.entry,
	};

	if (mt_array_push(&to->out->trampolines.rows, row))
		to->failed = true;
}

#define ALL_SAVED (MT_SAVED_RAX | MT_SAVED_RDX | MT_SAVED_RCX)

static uint8_t all_saved(const struct mt_asm *to)
{
	return ALL_SAVED | (to->place.at_line ? MT_SAVED_FLAGS : 0);
}

void mt_asm_enter(struct mt_asm *to)
{
	if (to->place.measure.at_return) {
		put_row(to, MT_RING_RED_ZONE, 0);
		mt_asm(to, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp+128] */
	}
	put_row(to, 0, 0);
	mt_asm(to, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp-128] */
	put_row(to, MT_RING_RED_ZONE, 0);
	mt_asm(to, 0x50); /* push rax */
	put_row(to, MT_RING_RED_ZONE + 8, MT_SAVED_RAX);
	mt_asm(to, 0x52); /* push rdx */
	put_row(to, MT_RING_RED_ZONE + 16, MT_SAVED_RAX | MT_SAVED_RDX);
	mt_asm(to, 0x51); /* push rcx */
	put_row(to, MT_RING_RED_ZONE + SAVED_BYTES, ALL_SAVED);
	if (to->place.at_line) {
		mt_asm(to, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
		mt_asm(to, 0x50);                   /* push rax */
		put_row(to, MT_RING_RED_ZONE + SAVED_BYTES + flags_bytes(to), all_saved(to));
	}
	if (locals_bytes(to)) {
		mt_asm(to, 0x48, 0x81, 0xec); /* sub rsp, locals */
		mt_asm_imm32(to, locals_bytes(to));
		mt_asm_go_on(to);
	}
}

void mt_asm_go_on(struct mt_asm *to)
{
	put_row(to, MT_RING_RED_ZONE + SAVED_BYTES + below_saved(to), all_saved(to));
}

void mt_asm_reserved(struct mt_asm *to, unsigned slots, enum mt_slot_place place)
{
	mt_asm_go_on(to);
	if (to->failed)
		return;
	struct mt_trampoline_row *row = mt_array_last(&to->out->trampolines.rows);

	row->reserved = slots & 15u;
	row->slot = place & 15u;
}

void mt_asm_leave(struct mt_asm *to)
{
	mt_asm_go_on(to);
	if (locals_bytes(to)) {
		mt_asm(to, 0x48, 0x81, 0xc4); /* add rsp, locals */
		mt_asm_imm32(to, locals_bytes(to));
		put_row(to, MT_RING_RED_ZONE + SAVED_BYTES + flags_bytes(to), all_saved(to));
	}
	if (to->place.at_line) {
		mt_asm(to, 0x48, 0x8b, 0x04, 0x24); /* mov rax, [rsp] */
		mt_asm(to, 0x04, 0x7f);             /* add al, 127: overflows if it was 1 */
		mt_asm(to, 0x9e);                   /* sahf */
		put_row(to, MT_RING_RED_ZONE + SAVED_BYTES + flags_bytes(to), ALL_SAVED);
		mt_asm(to, 0x48, 0x8d, 0x64, 0x24, 0x08); /* lea rsp, [rsp+8] */
		put_row(to, MT_RING_RED_ZONE + SAVED_BYTES, ALL_SAVED);
	}
	mt_asm(to, 0x59); /* pop rcx */
	put_row(to, MT_RING_RED_ZONE + 16, MT_SAVED_RAX | MT_SAVED_RDX);
	mt_asm(to, 0x5a); /* pop rdx */
	put_row(to, MT_RING_RED_ZONE + 8, MT_SAVED_RAX);
	mt_asm(to, 0x58); /* pop rax */
	put_row(to, MT_RING_RED_ZONE, 0);
	mt_asm(to, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp+128] */
	put_row(to, 0, 0);
}

static void slot_operand(struct mt_asm *to, unsigned slot)
{
	mt_asm_imm32(to, ((to->has_room ? READ_SLOTS : 0) + slot) * (uint32_t)sizeof(uint64_t));
}

struct mt_error *mt_asm_save(struct mt_asm *to, unsigned *slot)
{
	if (to->slots == MT_ASM_MOST_SLOTS)
		return mt_too_complex();
	*slot = to->slots++;
	if (to->most < to->slots)
		to->most = to->slots;
	mt_asm_keep(to, *slot);
	return NULL;
}

void mt_asm_keep(struct mt_asm *to, unsigned slot)
{
	mt_asm(to, 0x48, 0x89, 0x84, 0x24); /* mov [rsp+slot], rax */
	slot_operand(to, slot);
}

void mt_asm_peek(struct mt_asm *to, enum mt_asm_register reg, unsigned slot)
{
	mt_asm(to, 0x48, 0x8b, (uint8_t)(0x84 | reg << 3), 0x24); /* mov reg, [rsp+slot] */
	slot_operand(to, slot);
}

void mt_asm_increment(struct mt_asm *to, unsigned slot)
{
	mt_asm(to, 0x48, 0xff, 0x84, 0x24); /* inc qword [rsp+slot] */
	slot_operand(to, slot);
}

void mt_asm_restore(struct mt_asm *to, enum mt_asm_register reg, unsigned slot)
{
	mt_asm_peek(to, reg, slot);
	to->slots = slot;
}

/* ---- Values ---- */

void mt_asm_set(struct mt_asm *to, enum mt_asm_register reg, uint64_t value)
{
	if (value <= UINT32_MAX) {
		mt_asm(to, (uint8_t)(0xb8 | reg)); /* mov reg32, value */
		mt_asm_imm32(to, (uint32_t)value);
	} else if ((uint64_t)(int64_t)(int32_t)value == value) {
		mt_asm(to, 0x48, 0xc7, (uint8_t)(0xc0 | reg)); /* mov reg, value, sign-extended */
		mt_asm_imm32(to, (uint32_t)value);
	} else {
		mt_asm(to, 0x48, (uint8_t)(0xb8 | reg)); /* mov reg, value */
		mt_asm_imm64(to, value);
	}
}

void mt_asm_extend(struct mt_asm *to, enum mt_asm_register reg, uint64_t size, bool is_signed)
{
	const uint8_t both = (uint8_t)(0xc0 | reg << 3 | reg);

	if (size == 1 && is_signed)
		mt_asm(to, 0x48, 0x0f, 0xbe, both); /* movsx reg, reg8 */
	else if (size == 1)
		mt_asm(to, 0x0f, 0xb6, both); /* movzx reg32, reg8 */
	else if (size == 2 && is_signed)
		mt_asm(to, 0x48, 0x0f, 0xbf, both); /* movsx reg, reg16 */
	else if (size == 2)
		mt_asm(to, 0x0f, 0xb7, both); /* movzx reg32, reg16 */
	else if (size == 4 && is_signed)
		mt_asm(to, 0x48, 0x63, both); /* movsxd reg, reg32 */
	else if (size == 4)
		mt_asm(to, 0x89, both); /* mov reg32, reg32 */
}

void mt_asm_extract(struct mt_asm *to, unsigned bit_offset, unsigned bit_size, bool is_signed)
{
	mt_asm(to, 0x48, 0xc1, 0xe0, (uint8_t)(64 - bit_offset - bit_size)); /* shl rax, … */
	/* sar or shr rax, … */
	mt_asm(to, 0x48, 0xc1, is_signed ? 0xf8 : 0xe8, (uint8_t)(64 - bit_size));
}

/* ---- The program's registers ---- */

void mt_asm_stack_address(struct mt_asm *to, uint64_t offset)
{
	mt_asm(to, 0x48, 0x8d, 0x84, 0x24); /* lea rax, [rsp+…] */
	mt_asm_imm32(to, (uint32_t)offset + MT_RING_RED_ZONE + SAVED_BYTES + below_saved(to));
}

/* A vector register is known by its number among them. */
static void get_vector(struct mt_asm *to, enum mt_asm_register reg, unsigned vector)
{
	/* movq reg, xmm */
	mt_asm(to, 0x66, (uint8_t)(0x48 | (vector >= 8 ? 4 : 0)), 0x0f, 0x7e,
	       (uint8_t)(0xc0 | (vector & 7) << 3 | reg));
}

/* By way of the stack: pextrq is SSE4.1. */
static void get_upper(struct mt_asm *to, enum mt_asm_register reg, unsigned vector)
{
	mt_asm(to, 0x48, 0x8d, 0x64, 0x24, 0xf8); /* lea rsp, [rsp-8] */
	put_row(to, MT_RING_RED_ZONE + SAVED_BYTES + below_saved(to) + 8, all_saved(to));
	/* movhps [rsp], xmm */
	mt_asm(to, (uint8_t)(0x40 | (vector >= 8 ? 4 : 0)), 0x0f, 0x17,
	       (uint8_t)(0x04 | (vector & 7) << 3), 0x24);
	mt_asm(to, (uint8_t)(0x58 | reg)); /* pop reg */
	mt_asm_go_on(to);
}

void mt_asm_get_register(struct mt_asm *to, enum mt_asm_register reg, unsigned number)
{
	/* By DWARF's numbers. */
	static const uint8_t numbers[] = {0, 2, 1, 3, 6, 7, 5, 4};
	static const uint8_t saved_at[] = {16, 8, 0}; /* rax, rdx, rcx */
	unsigned from = number < sizeof(numbers) ? numbers[number] : number;

	if (number & MT_ASM_UPPER) {
		get_upper(to, reg, (number & ~MT_ASM_UPPER) - MT_REGISTER_XMM0);
	} else if (number >= MT_REGISTER_XMM0) {
		get_vector(to, reg, number - MT_REGISTER_XMM0);
	} else if (number == MT_REGISTER_RIP) {
		mt_asm_set(to, reg, to->place.entry);
	} else if (number == MT_REGISTER_RSP) {
		mt_asm(to, 0x48, 0x8d, (uint8_t)(0x84 | reg << 3), 0x24); /* lea reg, [rsp+…] */
		mt_asm_imm32(to, MT_RING_RED_ZONE + SAVED_BYTES + below_saved(to));
	} else if (number < sizeof(saved_at)) {
		mt_asm(to, 0x48, 0x8b, (uint8_t)(0x84 | reg << 3), 0x24); /* mov reg, [rsp+…] */
		mt_asm_imm32(to, below_saved(to) + saved_at[number]);
	} else {
		/* mov reg, from */
		mt_asm(to, (uint8_t)(0x48 | (from >= 8 ? 4 : 0)), 0x89,
		       (uint8_t)(0xc0 | (from & 7) << 3 | reg));
	}
}

void mt_asm_get_return_address(struct mt_asm *to, enum mt_asm_register reg)
{
	mt_asm(to, 0x48, 0x8b, (uint8_t)(0x84 | reg << 3), 0x24); /* mov reg, [rsp+…] */
	mt_asm_imm32(to, MT_RING_RED_ZONE + SAVED_BYTES + below_saved(to));
}

void mt_asm_thread_number(struct mt_asm *to)
{
	mt_asm(to, 0x65, 0x48, 0x8b, 0x04, 0x25); /* mov rax, gs:[number] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, number));
}

/* ---- Time ---- */

void mt_asm_read_time(struct mt_asm *to)
{
	mt_asm(to, 0x0f, 0x31);             /* rdtsc */
	mt_asm(to, 0x48, 0xc1, 0xe2, 0x20); /* shl rdx, 32 */
	mt_asm(to, 0x48, 0x09, 0xc2);       /* or rdx, rax */
}

void mt_asm_read_own_time(struct mt_asm *to)
{
	const uint32_t again = mt_asm_here(to);

	mt_asm(to, 0x65, 0xff, 0x34, 0x25); /* push qword gs:[held] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, held));
	put_row(to, MT_RING_RED_ZONE + SAVED_BYTES + below_saved(to) + 8, all_saved(to));
	mt_asm_read_time(to);
	mt_asm(to, 0x58); /* pop rax */
	mt_asm_go_on(to);
	mt_asm(to, 0x48, 0x29, 0xc2);             /* sub rdx, rax */
	mt_asm(to, 0x65, 0x48, 0x3b, 0x04, 0x25); /* cmp rax, gs:[held] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, held));
	mt_asm_jump_back(to, MT_ASM_NOT_EQUAL, again); /* stopped meanwhile */
}

void mt_asm_jump_if_stampless(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_asm(to, 0x65, 0x83, 0x3c, 0x25); /* cmp dword gs:[stampless], 0 */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, stampless));
	mt_asm(to, 0);
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, label);
}
