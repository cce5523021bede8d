/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What puts an event into the thread's ring, or a time stamp. */
#include "engine/calls/trampoline/emit.h"

static void move_stack(struct mt_emitter *to, int below, uint8_t saved)
{
	to->row.below = (int16_t)(to->row.below + below);
	to->row.saved = saved & 15u;
	mt_emit_row(to);
}

static void push_rax(struct mt_emitter *to)
{
	mt_emit(to, 0x50);
	move_stack(to, 8, MT_SAVED_RAX);
}

/* Where a line is stamped they may lie there already, with the program's values. */
static void push_rdx_rcx(struct mt_emitter *to)
{
	uint8_t saved = to->row.saved;

	mt_emit(to, 0x52); /* push rdx */
	move_stack(to, 8, saved | MT_SAVED_RDX);
	mt_emit(to, 0x51); /* push rcx */
	move_stack(to, 8, saved | MT_SAVED_RDX | MT_SAVED_RCX);
}

static void pop_rcx_rdx(struct mt_emitter *to, uint8_t saved)
{
	mt_emit(to, 0x59); /* pop rcx */
	move_stack(to, -8, saved | MT_SAVED_RDX);
	mt_emit(to, 0x5a); /* pop rdx */
	move_stack(to, -8, saved);
}

static void pop_rax(struct mt_emitter *to)
{
	mt_emit(to, 0x58);
	move_stack(to, -8, 0);
}

/* COUNT slots lie where PLACE says from here on, and are not whole. */
static void move_slots(struct mt_emitter *to, unsigned count, enum mt_slot_place place)
{
	to->row.reserved = count & 15u;
	to->row.slot = place & 15u;
	mt_emit_row(to);
}

/* eax: the size of COUNT slots; after it rax: their number of bytes from the ring's first
 * beginning. */
static void reserve(struct mt_emitter *to, unsigned count)
{
	mt_emit(to, 0x65, 0x48, 0x0f, 0xc1, 0x04, 0x25); /* xadd gs:[written], rax */
	mt_emit_imm32(to, offsetof(struct mt_ring_position, written));
	move_slots(to, count, MT_SLOT_RAX);
}

/* rax: a number of bytes; after it the slot's address. */
static void locate(struct mt_emitter *to)
{
	mt_emit(to, 0x25); /* and eax, size - 1 */
	mt_emit_imm32(to, to->config->ring_bytes - 1);
	mt_emit(to, 0x65, 0x48, 0x03, 0x04, 0x25); /* add rax, gs:[ring] */
	mt_emit_imm32(to, offsetof(struct mt_ring_position, ring));
}

static void put_site(struct mt_emitter *to, uint32_t site)
{
	mt_emit(to, 0xc7, 0x00); /* mov dword [rax], site */
	if (site < MT_RING_SITE_CALLER)
		mt_emit_fix(to, MT_FIX_SITE, 0);
	mt_emit_imm32(to, site);
}

/* Jumps to where a line's stamp is put; then a slot is tried to be had AGAIN. */
static void jump_to_stamp(struct mt_emitter *to, size_t again, bool two_slots)
{
	mt_emit(to, 0x0f, 0x84); /* jz stamp */
	to->stamps[to->stamp_count].at = to->out->code.count;
	to->stamps[to->stamp_count].back = again;
	to->stamps[to->stamp_count].two_slots = two_slots;
	to->stamps[to->stamp_count++].row = to->row;
	mt_emit_imm32(to, 0);
}

/* A slot that is not a line's first; entering a line costs a stamp, out of line, and a second try.
 */
static void take_slot(struct mt_emitter *to)
{
	size_t again = to->out->code.count;

	mt_emit(to, 0xb8, 0x08, 0x00, 0x00, 0x00); /* mov eax, 8 */
	reserve(to, 1);
	mt_emit(to, 0xa8, MT_RING_LINE_BYTES - 8); /* test al, 248 */
	jump_to_stamp(to, again, false);
	locate(to);
}

/* Two slots of one line, neither of which is its first.  After it rax: the second one's address. */
static void take_two_slots(struct mt_emitter *to)
{
	size_t again = to->out->code.count;

	mt_emit(to, 0xb8, 0x10, 0x00, 0x00, 0x00); /* mov eax, 16 */
	reserve(to, 2);
	mt_emit(to, 0x83, 0xc0, 0x08); /* add eax, 8 */
	move_slots(to, 2, MT_SLOT_BEFORE_RAX);
	mt_emit(to, 0xa8, MT_RING_LINE_BYTES - 16); /* test al, 240 */
	jump_to_stamp(to, again, true);
	locate(to);
}

/* Where nobody reads it any more, none: the program may forbid itself to read the counter, and only
 * a tracer can help it then. */
static void read_stamp(struct mt_emitter *to)
{
	const uint8_t rest = to->config->alive ? 16 : 2;

	mt_emit(to, 0x65, 0x83, 0x3c, 0x25); /* cmp dword gs:[stampless], 0 */
	mt_emit_imm32(to, offsetof(struct mt_ring_position, stampless));
	mt_emit(to, 0, 0x75, rest); /* jne over the rest */
	if (to->config->alive) {
		mt_emit(to, 0xa1); /* mov eax, [alive] */
		mt_emit_fix(to, MT_FIX_ALIVE, 0);
		mt_emit_bytes(to, &to->config->alive, sizeof(to->config->alive));
		mt_emit(to, 0xc1, 0xe0, 0x02); /* shl eax, 2 */
		mt_emit(to, 0x74, 0x02);       /* jz over the next */
	}
	mt_emit(to, 0x0f, 0x31); /* rdtsc */
}

/* eax: where the second of two slots lies, one of which is a line's first: the second itself, or
 * the one before it.  After it eax: where that lies; the other one is no event. */
static void clear_other_slot(struct mt_emitter *to)
{
	mt_emit(to, 0x89, 0xc2);             /* mov edx, eax */
	mt_emit(to, 0x83, 0xe2, 0x08);       /* and edx, 8 */
	mt_emit(to, 0x89, 0xc1);             /* mov ecx, eax */
	mt_emit(to, 0x29, 0xd1);             /* sub ecx, edx */
	mt_emit(to, 0x8d, 0x54, 0x10, 0xf8); /* lea edx, [rax+rdx-8] */
	mt_emit(to, 0x81, 0xe2);             /* and edx, size - 1 */
	mt_emit_imm32(to, to->config->ring_bytes - 1);
	mt_emit(to, 0x65, 0x48, 0x03, 0x14, 0x25); /* add rdx, gs:[ring] */
	mt_emit_imm32(to, offsetof(struct mt_ring_position, ring));
	mt_emit(to, 0x48, 0x83, 0x22, 0x00); /* and qword [rdx], 0 */
	move_slots(to, 1, MT_SLOT_RCX);
	mt_emit(to, 0x89, 0xc8); /* mov eax, ecx */
}

/* Who has two slots calls it so far behind its beginning. */
#define SHARED_TWO_SLOTS 4

/* A call rather than a jump: no register is free for the way back. */
void mt_emit_line_stamp(struct mt_emitter *to, size_t index)
{
	const uint64_t shared =
	    to->config->shared + (to->stamps[index].two_slots ? SHARED_TWO_SLOTS : 0);

	to->row = to->stamps[index].row;
	mt_emit_row(to);
	mt_emit_link(to, to->stamps[index].at, to->out->code.count);
	mt_emit(to, 0xe8); /* call shared */
	mt_emit_imm32(to, (uint32_t)(shared - (mt_emit_here(to) + 4)));
	move_slots(to, 0, MT_SLOT_RAX);
	mt_emit(to, 0xe9); /* jmp again */
	mt_emit_imm32(to, 0);
	mt_emit_link(to, to->out->code.count - 4, to->stamps[index].back);
}

/* One instruction more, or none as a rule, by what is in rax by chance.  Who steps through this
 * with a handler that records would else put the same number of slots into the ring between each
 * stamp and the next try, and might come to the beginning of a line every time.  (One whose calls
 * fill whole lines does, whatever is varied.) */
static void vary(struct mt_emitter *to)
{
	mt_emit(to, 0xf6, 0xc4, 0x3f); /* test ah, 63 */
	mt_emit(to, 0x75, 0x01);       /* jnz over the next */
	mt_emit(to, 0x90);             /* nop */
}

void mt_emit_shared(struct mt_emitter *to)
{
	to->row = (struct mt_trampoline_row){
	    .phase = MT_PHASE_SHARED, .below = 8, .reserved = 1, .slot = MT_SLOT_RAX};
	mt_emit_row(to);
	push_rdx_rcx(to);
	mt_emit(to, 0xeb, 0); /* jmp stamp */
	const size_t ahead = to->out->code.count;
	to->row.below = 8;
	to->row.saved = 0;
	move_slots(to, 2, MT_SLOT_BEFORE_RAX);
	push_rdx_rcx(to);
	clear_other_slot(to);
	move_slots(to, 1, MT_SLOT_RAX);
	if (!to->failed)
		to->out->code.items[ahead - 1] = (uint8_t)(to->out->code.count - ahead);
	locate(to);
	mt_emit(to, 0x48, 0x89, 0xc1); /* mov rcx, rax */
	move_slots(to, 1, MT_SLOT_RCX);
	read_stamp(to);
	vary(to);
	mt_emit(to, 0x48, 0xc1, 0xe2, 0x20); /* shl rdx, 32 */
	mt_emit(to, 0x48, 0x09, 0xc2);       /* or rdx, rax */
	mt_emit(to, 0x48, 0x89, 0x11);       /* mov [rcx], rdx */
	move_slots(to, 0, MT_SLOT_RCX);
	pop_rcx_rdx(to, 0);
	mt_emit(to, 0xc3); /* ret */
}

static void record_sampled(struct mt_emitter *to, uint32_t site)
{
	push_rax(to);
	take_slot(to);
	put_site(to, site);
	mt_emit(to, 0x89, 0x60, 0x04); /* mov [rax+4], esp */
}

/* Its return address is popped into the ring, since no other register is free.  Nothing more is
 * written below the stack pointer, where what a function finds in variables that it never set
 * lies; rax lies in the red zone meanwhile, which signals leave alone. */
static void record_sampled_entry(struct mt_emitter *to, uint32_t site)
{
	push_rax(to);
	take_two_slots(to);
	mt_emit(to, 0x48, 0x8d, 0x64, 0x24, 0x08); /* lea rsp, [rsp+8] */
	move_stack(to, -8, MT_SAVED_RAX);
	mt_emit(to, 0x8f, 0x00); /* pop qword [rax] */
	move_stack(to, -8, MT_SAVED_RAX);
	mt_emit(to, 0x48, 0x8d, 0x64, 0x24, 0xf0); /* lea rsp, [rsp-16] */
	move_stack(to, 16, MT_SAVED_RAX);
	mt_emit(to, 0xc7, 0x40, 0xf8); /* mov dword [rax-8], site */
	mt_emit_fix(to, MT_FIX_SITE, 0);
	mt_emit_imm32(to, site | MT_RING_SITE_ENTRY);
	mt_emit(to, 0x89, 0x60, 0xfc); /* mov [rax-4], esp */
}

static void put_half(struct mt_emitter *to, uint32_t site, uint8_t modrm)
{
	take_slot(to);
	put_site(to, site);
	mt_emit(to, 0x89, modrm, 0x04);
	move_slots(to, 0, MT_SLOT_RAX);
}

/* A whole stamp behind the event, in two slots of its own. */
static void record_stamp(struct mt_emitter *to)
{
	push_rdx_rcx(to);
	read_stamp(to);
	mt_emit(to, 0x89, 0xc1);                     /* mov ecx, eax */
	put_half(to, MT_RING_SITE_STAMP_LOW, 0x48);  /* mov [rax+4], ecx */
	put_half(to, MT_RING_SITE_STAMP_HIGH, 0x50); /* mov [rax+4], edx */
	pop_rcx_rdx(to, MT_SAVED_RAX);
}

static void record_full(struct mt_emitter *to, uint32_t site, bool is_entry)
{
	push_rax(to);
	push_rdx_rcx(to);
	read_stamp(to);
	mt_emit(to, 0x48, 0xc1, 0xe2, 0x20); /* shl rdx, 32 */
	mt_emit(to, 0x48, 0x09, 0xc2);       /* or rdx, rax */
	mt_emit(to, 0xb8);                   /* mov eax, 16 or 32 */
	mt_emit_imm32(to, mt_ring_event_bytes(MT_RING_FULL, is_entry));
	reserve(to, is_entry ? 4 : 2);
	if (is_entry) {
		mt_emit(to, 0x89, 0xc1); /* mov ecx, eax */
		move_slots(to, 4, MT_SLOT_RCX);
	}
	locate(to);
	mt_emit(to, 0x48, 0x89, 0x50, 0x08); /* mov [rax+8], rdx */
	put_site(to, is_entry ? site | MT_RING_SITE_ENTRY : site);
	mt_emit(to, 0x89, 0x60, 0x04); /* mov [rax+4], esp */
	if (!is_entry)
		return;
	mt_emit(to, 0x8d, 0x41, 0x10); /* lea eax, [rcx+16] */
	locate(to);
	put_site(to, MT_RING_SITE_CALLER);
	mt_emit(to, 0x48, 0x8b, 0x54, 0x24, 0x18); /* mov rdx, [rsp+24] */
	mt_emit(to, 0x48, 0x89, 0x50, 0x08);       /* mov [rax+8], rdx */
}

void mt_emit_event(struct mt_emitter *to, const struct mt_patch *patch, uint64_t original,
		   uint32_t site, enum mt_recorded what)
{
	to->row = (struct mt_trampoline_row){
	    .original = original,
	    .phase = MT_PHASE_RECORDING,
	    .event_bytes =
		(uint8_t)mt_ring_event_bytes(to->config->stamps, what == MT_RECORDED_ENTRY),
	};
	mt_emit_row(to);
	if (what == MT_RECORDED_RETURN) {
		/* Below a return's stack pointer lies what -O0's CFI still points to: step over it.
		 */
		mt_emit(to, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp-128] */
		move_stack(to, MT_RING_RED_ZONE, 0);
	}
	if (to->config->stamps == MT_RING_FULL)
		record_full(to, site, what == MT_RECORDED_ENTRY);
	else if (what == MT_RECORDED_ENTRY)
		record_sampled_entry(to, site);
	else
		record_sampled(to, site);
	to->row.phase = MT_PHASE_RECORDED;
	move_slots(to, 0, MT_SLOT_RAX);
	if (to->config->stamps == MT_RING_FULL)
		pop_rcx_rdx(to, MT_SAVED_RAX);
	else if (patch->flags & MT_PATCH_STAMP)
		record_stamp(to);
	pop_rax(to);
	if (what == MT_RECORDED_RETURN) {
		mt_emit(to, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00,
			0x00); /* lea rsp, [rsp+128] */
		move_stack(to, -MT_RING_RED_ZONE, 0);
	}
}
