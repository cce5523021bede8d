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

/* Room for COUNT values.  rax: what had been written before. */
static void reserve(struct mt_asm *to, unsigned count)
{
	const unsigned bytes = count * mt_ring_event_bytes(to->place.stamps, true);

	mt_asm(to, 0xb8, (uint8_t)bytes, 0, 0, 0);      /* mov eax, bytes */
	mt_asm(to, 0x65, 0x48, 0x0f, 0xc1, 0x04, 0x25); /* xadd gs:[written], rax */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, written));
	mt_asm_reserved(to, bytes / sizeof(struct mt_ring_event), MT_SLOT_RAX);
}

/* One of COUNT slots is a line's first, which takes a stamp; the other ones are no events.  eax:
 * the second one. */
static void stamp_line(struct mt_asm *to, unsigned count)
{
	const uint8_t last = (uint8_t)((count - 1) * sizeof(struct mt_ring_event));

	mt_asm(to, 0x8d, 0x48, 0xf8); /* lea ecx, [rax-8] */
	mt_asm_reserved(to, count, MT_SLOT_RCX);
	mt_asm(to, 0xba, (uint8_t)count, 0, 0, 0); /* mov edx, count */
	const uint32_t next = mt_asm_here(to);
	mt_asm(to, 0x8d, 0x44, 0xd1, 0xf8); /* lea eax, [rcx+rdx*8-8] */
	locate(to);
	mt_asm(to, 0x48, 0x83, 0x20, 0x00); /* and qword [rax], 0 */
	mt_asm(to, 0xff, 0xca);             /* dec edx */
	mt_asm_jump_back(to, MT_ASM_NOT_EQUAL, next);
	mt_asm(to, 0x8d, 0x41, last); /* lea eax, [rcx+last] */
	mt_asm(to, 0x25);             /* and eax, -256 */
	mt_asm_imm32(to, -(uint32_t)MT_RING_LINE_BYTES);
	locate(to);
	mt_asm(to, 0x48, 0x89, 0xc1); /* mov rcx, rax */
	mt_asm_reserved(to, 1, MT_SLOT_RCX);
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

/* An event of two slots, of which rax is the second one's address: rcx, and the stack pointer edx.
 */
static void put_event(struct mt_asm *to, uint32_t site)
{
	mt_asm(to, 0x48, 0x89, 0x08); /* mov [rax], rcx */
	mt_asm(to, 0xc7, 0x40, 0xf8); /* mov dword [rax-8], site */
	mt_asm_imm32(to, site);
	mt_asm(to, 0x89, 0x50, 0xfc); /* mov [rax-4], edx */
}

/* What the trampoline would put there, by whose stack pointer it goes. */
static void put_entry(struct mt_asm *to)
{
	mt_asm_get_return_address(to, MT_ASM_RCX);
	mt_asm(to, 0x83, 0xea, (uint8_t)mt_ring_pushed(MT_RING_SAMPLED, false)); /* sub edx, … */
	put_event(to, to->place.entry_site | MT_RING_SITE_ENTRY);
	to->has_entered = true;
	mt_asm_reserved(to, 0, MT_SLOT_RAX);
}

/* All in one line, behind its first slot; and the function's entry, if IS_WHOLE. */
static void put_sampled(struct mt_asm *to, const struct mt_asm_recorded *values, unsigned count,
			bool is_whole)
{
	const unsigned events = count + is_whole, slots = 2 * events;
	const unsigned bytes = slots * sizeof(struct mt_ring_event);
	struct mt_asm_label fits = {0};
	const uint32_t again = mt_asm_here(to);

	reserve(to, events);
	mt_asm(to, 0x83, 0xc0, 0x08); /* add eax, 8 */
	mt_asm_reserved(to, slots, MT_SLOT_BEFORE_RAX);
	mt_asm(to, 0x89, 0xc1);       /* mov ecx, eax */
	mt_asm(to, 0x80, 0xe9, 0x10); /* sub cl, 16: where it begins, from the second slot on */
	/* cmp cl, … */
	mt_asm(to, 0x80, 0xf9,
	       (uint8_t)(MT_RING_LINE_BYTES - sizeof(struct mt_ring_event) - bytes));
	mt_asm_jump(to, MT_ASM_BELOW_EQUAL, &fits);
	stamp_line(to, slots);
	mt_asm_jump_back(to, MT_ASM_ALWAYS, again);
	mt_asm_bind(to, &fits);
	mt_asm_reserved(to, slots, MT_SLOT_BEFORE_RAX);
	locate(to);
	get_stack(to);
	for (unsigned i = 0; i < count; i++) {
		mt_asm_peek(to, MT_ASM_RCX, values[i].slot);
		put_event(to, values[i].site);
		mt_asm(to, 0x48, 0x83, 0xc0, 0x10); /* add rax, 16 */
		mt_asm_reserved(to, slots - 2 * (i + 1), MT_SLOT_BEFORE_RAX);
	}
	if (is_whole)
		put_entry(to);
}

/* Its time is that of the event before. */
static void put_full(struct mt_asm *to, const struct mt_asm_recorded *value)
{
	reserve(to, 1);
	mt_asm(to, 0x89, 0xc1); /* mov ecx, eax */
	mt_asm_reserved(to, 4, MT_SLOT_RCX);
	locate(to);
	mt_asm(to, 0xc7, 0x00); /* mov dword [rax], site */
	mt_asm_imm32(to, value->site);
	get_stack(to);
	mt_asm(to, 0x89, 0x50, 0x04);                   /* mov [rax+4], edx */
	mt_asm(to, 0x48, 0xc7, 0x40, 0x08, 0, 0, 0, 0); /* mov qword [rax+8], 0 */
	mt_asm(to, 0x8d, 0x41, 0x10);                   /* lea eax, [rcx+16] */
	locate(to);
	mt_asm(to, 0xc7, 0x00); /* mov dword [rax], … */
	mt_asm_imm32(to, MT_RING_SITE_CALLER);
	mt_asm_peek(to, MT_ASM_RDX, value->slot);
	mt_asm(to, 0x48, 0x89, 0x50, 0x08); /* mov [rax+8], rdx */
	mt_asm_reserved(to, 0, MT_SLOT_RCX);
	mt_asm(to, 0x48, 0x89, 0xd1); /* mov rcx, rdx */
}

static void put(struct mt_asm *to, const struct mt_asm_recorded *values, unsigned count)
{
	if (!count)
		return;
	if (to->place.stamps == MT_RING_FULL)
		for (unsigned i = 0; i < count; i++)
			put_full(to, &values[i]);
	else
		put_sampled(to, values, count, false);
	to->slots = values[0].slot > to->kept ? values[0].slot : to->kept;
}

struct mt_error *mt_asm_record(struct mt_asm *to, uint32_t site)
{
	struct mt_asm_recorded value = {.site = site};

	mt_try(mt_asm_save(to, &value.slot));
	put(to, &value, 1);
	return NULL;
}

void mt_compile_waiting(struct mt_compiler *compiler)
{
	put(&compiler->code, compiler->waiting, compiler->waiting_count);
	compiler->waiting_count = 0;
}

void mt_asm_jump_unless_recording(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_asm(to, 0x80, 0x3d); /* cmp byte [rip+…], 0xb8: of mov eax, … */
	to->out->recording = mt_asm_here(to);
	mt_asm_imm32(to, 0);
	mt_asm(to, MT_CONDITION_RECORDS);
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, label);
}

void mt_asm_record_with_entry(struct mt_asm *to, const struct mt_asm_recorded *values,
			      unsigned count)
{
	if (to->has_entered) { /* of another way, which has left the code before */
		to->has_entered = false;
		mt_asm_go_on(to);
	}
	put_sampled(to, values, count, true);
}

void mt_asm_go_behind(struct mt_asm *to)
{
	mt_asm_leave(to);
	mt_asm(to, 0xe9); /* jmp … */
	to->out->behind = mt_asm_here(to);
	mt_asm_imm32(to, 0);
	to->has_entered = false;
	mt_asm_go_on(to);
}

void mt_compile_entry(struct mt_compiler *compiler)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label muted = {0};

	if (code->place.entry_site && compiler->waiting_count) {
		mt_asm_jump_unless_recording(code, &muted);
		mt_asm_record_with_entry(code, compiler->waiting, compiler->waiting_count);
		mt_asm_go_behind(code);
		mt_asm_bind(code, &muted);
	}
	mt_compile_waiting(compiler);
}

/* How many jumps out of the value's code there are: what cannot be read, and the like. */
static size_t ways_out(const struct mt_asm *code)
{
	return code->read_sites.count + code->miss.jumps.count + code->division.jumps.count +
	       code->unset.jumps.count + code->undecided.jumps.count;
}

/* Code that leaves what is computed in rax; a string's pointer has its slot besides. */
static struct mt_error *compile_number(struct mt_compiler *compiler,
				       struct mt_condition_value *value)
{
	struct mt_operand operand;

	mt_try(mt_compile_value(compiler, value->expr->root, &operand));
	value->type = mt_type_strip(operand.value.type);
	mt_try(mt_compile_text(compiler, &operand, value));
	if (value->text.is_text)
		return NULL;
	if (mt_type_is_aggregate(value->type) || value->type->kind == MT_TYPE_ARRAY)
		return mt_cannot_compile("it is a structure or a vector: name parts of it");
	if (mt_is_float_type(value->type))
		mt_try(mt_operand_to_bits(compiler, &operand));
	mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
	return value->is_string ? mt_asm_save(&compiler->code, &value->slot) : NULL;
}

/* A reservation has to wait until the places of the one before it are known, as all loads do for
 * addresses of stores: hence one for as many values as can be had.  Those before a value that may
 * not be had are safe in the ring by then. */
struct mt_error *mt_compile_recorded(struct mt_compiler *compiler, struct mt_condition_value *value)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_recorded *waits;

	if (value->may_miss || value->is_string || compiler->waiting_count == MT_ASM_MOST_WAITING)
		mt_compile_waiting(compiler);
	const size_t ways = ways_out(code);
	mt_try(compile_number(compiler, value));
	value->may_miss = ways_out(code) != ways;
	if (value->is_string)
		code->kept = code->slots;
	if (value->is_string && (value->text.is_text || value != compiler->last_string))
		return mt_asm_record(code, value->site);
	waits = &compiler->waiting[compiler->waiting_count];
	*waits = (struct mt_asm_recorded){value->site, value->slot};
	if (!value->is_string)
		mt_try(mt_asm_save(code, &waits->slot));
	compiler->waiting_count++;
	return NULL;
}
