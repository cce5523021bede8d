/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instruction encodings: Intel SDM vol. 2.  Each is written as it stands in a listing, with the
 * mnemonic beside it. */
#include "engine/calls/trampoline/trampoline.h"

#include "x86/layout.h"

#include <string.h>

#define MOST_SLOTS    9 /* of an entry and two returns, each an event and a stamp */
#define MOST_BRANCHES (MT_PATCH_MAX_BYTES / 2)

/* One trampoline while it is written.  `failed` stays set; it is looked at once, at the end. */
struct emitter {
	struct mt_trampolines *out;
	const struct mt_trampoline_config *config;
	struct mt_trampoline_row row; /* what holds for the code that comes next */
	bool failed;
	bool cannot_move;
	/* Jumps out of line that wait for their code. */
	struct {
		size_t at; /* of the rel32 */
		size_t back;
		bool two_slots;
		struct mt_trampoline_row row;
	} stamps[MOST_SLOTS];
	size_t stamp_count;
	size_t branches[MOST_BRANCHES]; /* rel32 of those that are redirected */
	size_t branch_count;
	uint64_t low, high; /* of what distances are to */
};

static void bytes(struct emitter *to, const void *code, size_t count)
{
	if (to->failed || mt_array_reserve(&to->out->code, to->out->code.count + count)) {
		to->failed = true;
		return;
	}
	memcpy(to->out->code.items + to->out->code.count, code, count);
	to->out->code.count += count;
}

#define code(to, ...)                                                                              \
	bytes((to), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void imm32(struct emitter *to, uint32_t value)
{
	bytes(to, &value, sizeof(value));
}

static uint64_t here(const struct emitter *to)
{
	return to->config->address + to->out->code.count;
}

/* A word AHEAD bytes from here is one to fix. */
static void fix(struct emitter *to, enum mt_fix kind, size_t ahead)
{
	struct mt_fixes *fixes = to->config->fixes;

	if (fixes && mt_array_push(&fixes->at[kind], (uint32_t)(to->out->code.count + ahead)))
		to->failed = true;
}

/* The same of a distance to TARGET. */
static void fix_distance(struct emitter *to, uint64_t target, size_t ahead)
{
	if (target < to->low)
		to->low = target;
	if (target > to->high)
		to->high = target;
	fix(to, MT_FIX_TEXT, ahead);
}

/* The displacement from the end of its own four bytes to TARGET, outside of the code. */
static void rel32(struct emitter *to, uint64_t target)
{
	int64_t distance = (int64_t)(target - (here(to) + 4));

	if (distance != (int32_t)distance)
		to->cannot_move = true;
	fix_distance(to, target, 0);
	imm32(to, (uint32_t)distance);
}

static void patch_rel32(struct emitter *to, size_t at, size_t target)
{
	uint32_t distance = (uint32_t)(target - (at + 4));

	if (!to->failed)
		memcpy(to->out->code.items + at, &distance, sizeof(distance));
}

static void begin_row(struct emitter *to)
{
	to->row.offset = (uint32_t)to->out->code.count;
	if (mt_array_push(&to->out->rows, to->row))
		to->failed = true;
}

static void move_stack(struct emitter *to, int below, uint8_t saved)
{
	to->row.below = (int16_t)(to->row.below + below);
	to->row.saved = saved & 7u;
	begin_row(to);
}

static void push_rax(struct emitter *to)
{
	code(to, 0x50);
	move_stack(to, 8, MT_SAVED_RAX);
}

/* In a line's stamp they may lie there already, with the program's values. */
static void push_rdx_rcx(struct emitter *to)
{
	uint8_t saved = to->row.saved;

	code(to, 0x52); /* push rdx */
	move_stack(to, 8, saved | MT_SAVED_RDX);
	code(to, 0x51); /* push rcx */
	move_stack(to, 8, saved | MT_SAVED_RDX | MT_SAVED_RCX);
}

static void pop_rcx_rdx(struct emitter *to, uint8_t saved)
{
	code(to, 0x59); /* pop rcx */
	move_stack(to, -8, saved | MT_SAVED_RDX);
	code(to, 0x5a); /* pop rdx */
	move_stack(to, -8, saved);
}

static void pop_rax(struct emitter *to)
{
	code(to, 0x58);
	move_stack(to, -8, 0);
}

/* eax: a slot's size; after it rax: the slot's number of bytes from the ring's first beginning. */
static void reserve(struct emitter *to)
{
	code(to, 0x65, 0x48, 0x0f, 0xc1, 0x04, 0x25); /* xadd gs:[written], rax */
	imm32(to, offsetof(struct mt_ring_position, written));
}

/* rax: a number of bytes; after it the slot's address. */
static void locate(struct emitter *to)
{
	code(to, 0x25); /* and eax, size - 1 */
	imm32(to, to->config->ring_bytes - 1);
	code(to, 0x65, 0x48, 0x03, 0x04, 0x25); /* add rax, gs:[ring] */
	imm32(to, offsetof(struct mt_ring_position, ring));
}

static void put_site(struct emitter *to, uint32_t site)
{
	code(to, 0xc7, 0x00); /* mov dword [rax], site */
	if (site < MT_RING_SITE_CALLER)
		fix(to, MT_FIX_SITE, 0);
	imm32(to, site);
}

/* Jumps to where a line's stamp is put; then a slot is tried to be had AGAIN. */
static void jump_to_stamp(struct emitter *to, size_t again, bool two_slots)
{
	code(to, 0x0f, 0x84); /* jz stamp */
	to->stamps[to->stamp_count].at = to->out->code.count;
	to->stamps[to->stamp_count].back = again;
	to->stamps[to->stamp_count].two_slots = two_slots;
	to->stamps[to->stamp_count++].row = to->row;
	imm32(to, 0);
}

/* A slot that is not a line's first; entering a line costs a stamp, out of line, and a second try.
 */
static void take_slot(struct emitter *to)
{
	size_t again = to->out->code.count;

	code(to, 0xb8, 0x08, 0x00, 0x00, 0x00); /* mov eax, 8 */
	reserve(to);
	code(to, 0xa8, MT_RING_LINE_BYTES - 8); /* test al, 248 */
	jump_to_stamp(to, again, false);
	locate(to);
}

/* Two slots of one line, neither of which is its first.  After it rax: the second one's address. */
static void take_two_slots(struct emitter *to)
{
	size_t again = to->out->code.count;

	code(to, 0xb8, 0x10, 0x00, 0x00, 0x00); /* mov eax, 16 */
	reserve(to);
	code(to, 0x83, 0xc0, 0x08);              /* add eax, 8 */
	code(to, 0xa8, MT_RING_LINE_BYTES - 16); /* test al, 240 */
	jump_to_stamp(to, again, true);
	locate(to);
}

/* Where nobody reads it any more, none: the program may forbid itself to read the counter, and only
 * a tracer can help it then. */
static void read_stamp(struct emitter *to)
{
	const uint8_t rest = to->config->alive ? 16 : 2;

	code(to, 0x65, 0x83, 0x3c, 0x25); /* cmp dword gs:[stampless], 0 */
	imm32(to, offsetof(struct mt_ring_position, stampless));
	code(to, 0, 0x75, rest); /* jne over the rest */
	if (to->config->alive) {
		code(to, 0xa1); /* mov eax, [alive] */
		fix(to, MT_FIX_ALIVE, 0);
		bytes(to, &to->config->alive, sizeof(to->config->alive));
		code(to, 0xc1, 0xe0, 0x02); /* shl eax, 2 */
		code(to, 0x74, 0x02);       /* jz over the next */
	}
	code(to, 0x0f, 0x31); /* rdtsc */
}

/* eax: where the second of two slots lies, one of which is a line's first: the second itself, or
 * the one before it.  After it eax: where that lies; the other one is no event. */
static void clear_other_slot(struct emitter *to)
{
	code(to, 0x89, 0xc2);             /* mov edx, eax */
	code(to, 0x83, 0xe2, 0x08);       /* and edx, 8 */
	code(to, 0x89, 0xc1);             /* mov ecx, eax */
	code(to, 0x29, 0xd1);             /* sub ecx, edx */
	code(to, 0x8d, 0x44, 0x10, 0xf8); /* lea eax, [rax+rdx-8] */
	locate(to);
	code(to, 0x48, 0x83, 0x20, 0x00); /* and qword [rax], 0 */
	code(to, 0x89, 0xc8);             /* mov eax, ecx */
}

static void put_line_stamp(struct emitter *to, size_t index)
{
	uint8_t saved = to->stamps[index].row.saved;

	to->row = to->stamps[index].row;
	begin_row(to);
	patch_rel32(to, to->stamps[index].at, to->out->code.count);
	push_rdx_rcx(to);
	if (to->stamps[index].two_slots)
		clear_other_slot(to);
	locate(to);
	code(to, 0x48, 0x89, 0xc1); /* mov rcx, rax */
	read_stamp(to);
	code(to, 0x48, 0xc1, 0xe2, 0x20); /* shl rdx, 32 */
	code(to, 0x48, 0x09, 0xc2);       /* or rdx, rax */
	code(to, 0x48, 0x89, 0x11);       /* mov [rcx], rdx */
	pop_rcx_rdx(to, saved);
	code(to, 0xe9); /* jmp again */
	imm32(to, 0);
	patch_rel32(to, to->out->code.count - 4, to->stamps[index].back);
}

static void record_sampled(struct emitter *to, uint32_t site)
{
	push_rax(to);
	take_slot(to);
	put_site(to, site);
	code(to, 0x89, 0x60, 0x04); /* mov [rax+4], esp */
}

/* Its return address is popped into the ring, since no other register is free.  Nothing more is
 * written below the stack pointer, where what a function finds in variables that it never set
 * lies; rax lies in the red zone meanwhile, which signals leave alone. */
static void record_sampled_entry(struct emitter *to, uint32_t site)
{
	push_rax(to);
	take_two_slots(to);
	code(to, 0x48, 0x8d, 0x64, 0x24, 0x08); /* lea rsp, [rsp+8] */
	move_stack(to, -8, MT_SAVED_RAX);
	code(to, 0x8f, 0x00); /* pop qword [rax] */
	move_stack(to, -8, MT_SAVED_RAX);
	code(to, 0x48, 0x8d, 0x64, 0x24, 0xf0); /* lea rsp, [rsp-16] */
	move_stack(to, 16, MT_SAVED_RAX);
	code(to, 0xc7, 0x40, 0xf8); /* mov dword [rax-8], site */
	fix(to, MT_FIX_SITE, 0);
	imm32(to, site | MT_RING_SITE_ENTRY);
	code(to, 0x89, 0x60, 0xfc); /* mov [rax-4], esp */
}

static void put_half(struct emitter *to, uint32_t site, uint8_t modrm)
{
	take_slot(to);
	put_site(to, site);
	code(to, 0x89, modrm, 0x04);
}

/* A whole stamp behind the event, in two slots of its own. */
static void record_stamp(struct emitter *to)
{
	push_rdx_rcx(to);
	read_stamp(to);
	code(to, 0x89, 0xc1);                        /* mov ecx, eax */
	put_half(to, MT_RING_SITE_STAMP_LOW, 0x48);  /* mov [rax+4], ecx */
	put_half(to, MT_RING_SITE_STAMP_HIGH, 0x50); /* mov [rax+4], edx */
	pop_rcx_rdx(to, MT_SAVED_RAX);
}

static void record_full(struct emitter *to, uint32_t site, bool is_entry)
{
	push_rax(to);
	push_rdx_rcx(to);
	read_stamp(to);
	code(to, 0x48, 0xc1, 0xe2, 0x20); /* shl rdx, 32 */
	code(to, 0x48, 0x09, 0xc2);       /* or rdx, rax */
	code(to, 0xb8);                   /* mov eax, 16 or 32 */
	imm32(to, mt_ring_event_bytes(MT_RING_FULL, is_entry));
	reserve(to);
	if (is_entry)
		code(to, 0x89, 0xc1); /* mov ecx, eax */
	locate(to);
	code(to, 0x48, 0x89, 0x50, 0x08); /* mov [rax+8], rdx */
	put_site(to, is_entry ? site | MT_RING_SITE_ENTRY : site);
	code(to, 0x89, 0x60, 0x04); /* mov [rax+4], esp */
	if (!is_entry)
		return;
	code(to, 0x8d, 0x41, 0x10); /* lea eax, [rcx+16] */
	locate(to);
	put_site(to, MT_RING_SITE_CALLER);
	code(to, 0x48, 0x8b, 0x54, 0x24, 0x18); /* mov rdx, [rsp+24] */
	code(to, 0x48, 0x89, 0x50, 0x08);       /* mov [rax+8], rdx */
}

enum recorded { ENTRY, RETURN, AGAIN };

static void record(struct emitter *to, const struct mt_patch *patch, uint64_t original,
		   uint32_t site, enum recorded what)
{
	to->row = (struct mt_trampoline_row){
	    .original = original,
	    .phase = MT_PHASE_RECORDING,
	    .event_bytes = (uint8_t)mt_ring_event_bytes(to->config->stamps, what == ENTRY),
	};
	begin_row(to);
	if (what == RETURN) {
		/* Below a return's stack pointer lies what -O0's CFI still points to: step over it.
		 */
		code(to, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp-128] */
		move_stack(to, MT_RING_RED_ZONE, 0);
	}
	if (to->config->stamps == MT_RING_FULL)
		record_full(to, site, what == ENTRY);
	else if (what == ENTRY)
		record_sampled_entry(to, site);
	else
		record_sampled(to, site);
	to->row.phase = MT_PHASE_RECORDED;
	begin_row(to);
	if (to->config->stamps == MT_RING_FULL)
		pop_rcx_rdx(to, MT_SAVED_RAX);
	else if (patch->flags & MT_PATCH_STAMP)
		record_stamp(to);
	pop_rax(to);
	if (what == RETURN) {
		code(to, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00); /* lea rsp, [rsp+128] */
		move_stack(to, -MT_RING_RED_ZONE, 0);
	}
}

static void jump(struct emitter *to, uint64_t target)
{
	code(to, 0xe9);
	rel32(to, target);
}

/* A jump of ours alone: who stands before it is at its target already, in effect. */
static void go_on(struct emitter *to, uint64_t target)
{
	to->row = (struct mt_trampoline_row){.original = target, .phase = MT_PHASE_DISPLACED};
	begin_row(to);
	jump(to, target);
}

static void push_return_address(struct emitter *to, uint64_t address)
{
	code(to, 0x68); /* push imm32, sign-extended */
	if (to->config->movable)
		fix(to, MT_FIX_PUSHED, 0);
	imm32(to, (uint32_t)address);
	to->row.below += 8;
	begin_row(to);
	if (to->config->movable || (uint64_t)(int64_t)(int32_t)address != address) {
		code(to, 0xc7, 0x44, 0x24, 0x04); /* mov dword [rsp+4], the upper half */
		imm32(to, (uint32_t)(address >> 32));
	}
}

/* jcc: 0F 8x rel32.  loop and jrcxz have no long form: they jump over a jump. */
static void branch(struct emitter *to, const uint8_t *from, uint64_t original,
		   const struct mt_insn *insn, const struct mt_insn_layout *layout)
{
	uint64_t target = insn->target + to->config->bias;

	if (layout->opcode >= 0xe0 && layout->opcode <= 0xe3) {
		bytes(to, from, insn->length - 1u);
		code(to, 0x02); /* over the next */
		to->row.original = original + insn->length;
		begin_row(to);
		code(to, 0xeb, 0x05); /* jmp over the long one */
		go_on(to, target);
		return;
	}
	code(to, 0x0f, 0x80 | (layout->opcode & 0x0f));
	rel32(to, target);
}

/* A copy, whose rip-relative operand still means the same place. */
static void copy(struct emitter *to, const uint8_t *from, uint64_t original,
		 const struct mt_insn *insn, const struct mt_insn_layout *layout,
		 uint8_t modrm_changed)
{
	uint8_t moved[MT_INSN_MAX_BYTES];
	int32_t displacement = 0;

	memcpy(moved, from, insn->length);
	if (layout->modrm_offset)
		moved[layout->modrm_offset] ^= modrm_changed;
	if (layout->displacement_offset) {
		memcpy(&displacement, from + layout->displacement_offset, sizeof(displacement));
		int64_t there = displacement + (int64_t)(original - here(to));

		if (there != (int32_t)there)
			to->cannot_move = true;
		displacement = (int32_t)there;
		fix_distance(to, here(to) + insn->length + (uint64_t)there,
			     layout->displacement_offset);
		memcpy(moved + layout->displacement_offset, &displacement, sizeof(displacement));
	}
	bytes(to, moved, insn->length);
}

/* ff /2 is an indirect call, ff /4 the jump. */
#define CALL_TO_JUMP ((2 ^ 4) << 3)

static void displaced(struct emitter *to, const uint8_t *from, uint64_t original,
		      const struct mt_insn *insn)
{
	struct mt_insn_layout layout;

	mt_insn_layout(from, insn->length, &layout);
	to->row = (struct mt_trampoline_row){.original = original, .phase = MT_PHASE_DISPLACED};
	begin_row(to);
	switch (insn->class) {
	case MT_INSN_CALL:
		push_return_address(to, original + insn->length);
		jump(to, insn->target + to->config->bias);
		break;
	case MT_INSN_CALL_INDIRECT:
		push_return_address(to, original + insn->length);
		copy(to, from, original, insn, &layout, CALL_TO_JUMP);
		break;
	case MT_INSN_JUMP:
		jump(to, insn->target + to->config->bias);
		break;
	case MT_INSN_BRANCH:
		branch(to, from, original, insn, &layout);
		break;
	default:
		copy(to, from, original, insn, &layout, 0);
	}
}

/* loop and jrcxz, which have a short form only, still go to the return itself. */
static bool is_redirected(const struct mt_patch *patch, const uint8_t *from,
			  const struct mt_insn *insn)
{
	struct mt_insn_layout layout;

	if (!(patch->flags & MT_PATCH_REDIRECT || !(patch->flags & MT_PATCH_AGAIN)) ||
	    !patch->redirect || insn->target != patch->redirect || insn->class == MT_INSN_CALL ||
	    mt_insn_layout(from, insn->length, &layout))
		return false;
	return insn->class == MT_INSN_JUMP || (layout.opcode & 0xfc) != 0xe0;
}

static void redirected(struct emitter *to, const uint8_t *from, uint64_t original,
		       const struct mt_insn *insn)
{
	struct mt_insn_layout layout;

	mt_insn_layout(from, insn->length, &layout);
	to->row = (struct mt_trampoline_row){.original = original, .phase = MT_PHASE_DISPLACED};
	begin_row(to);
	if (insn->class == MT_INSN_JUMP)
		code(to, 0xe9);
	else
		code(to, 0x0f, 0x80 | (layout.opcode & 0x0f));
	to->branches[to->branch_count++] = to->out->code.count;
	imm32(to, 0);
}

/* Where they lead: the return is recorded, and done; or where the function goes on. */
static void put_redirected(struct emitter *to, const struct mt_patch *patch, uint32_t site)
{
	uint64_t original = patch->redirect + to->config->bias;

	if (to->branch_count == 0)
		return;
	for (size_t i = 0; i < to->branch_count; i++)
		patch_rel32(to, to->branches[i], to->out->code.count);
	if (patch->flags & MT_PATCH_REDIRECT)
		record(to, patch, original, site, patch->flags & MT_PATCH_AGAIN ? AGAIN : RETURN);
	to->row = (struct mt_trampoline_row){.original = original, .phase = MT_PHASE_DISPLACED};
	begin_row(to);
	if (patch->flags & MT_PATCH_AGAIN)
		jump(to, original);
	else
		code(to, 0xc3); /* ret */
}

static bool falls_through(const struct mt_insn *insn)
{
	return insn->class == MT_INSN_OTHER || insn->class == MT_INSN_BRANCH;
}

/* Or what counts as one: see struct mt_plan_site. */
static bool is_return(const struct mt_insn *insn)
{
	return insn->class == MT_INSN_RETURN || insn->class == MT_INSN_JUMP_INDIRECT;
}

static void all_displaced(struct emitter *to, const struct mt_patch *patch, const uint8_t *from,
			  uint32_t site)
{
	struct mt_insn insn = {0};

	for (size_t at = 0; at < patch->length; at += insn.length) {
		uint64_t original = patch->address + to->config->bias + at;
		size_t left = patch->length - at;

		if (mt_insn_decode(from + at, left, patch->address + at, &insn) ||
		    !mt_plan_can_move(from + at, left, patch->address + at, insn.length == left)) {
			to->cannot_move = true;
			return;
		}
		if (is_return(&insn) && patch->flags & MT_PATCH_RETURN)
			record(to, patch, original, site++, RETURN);
		if (is_redirected(patch, from + at, &insn))
			redirected(to, from + at, original, &insn);
		else
			displaced(to, from + at, original, &insn);
		/* After a return or a jump there is padding. */
		if (!falls_through(&insn) && insn.class != MT_INSN_CALL &&
		    insn.class != MT_INSN_CALL_INDIRECT)
			return;
	}
	if (falls_through(&insn))
		go_on(to, patch->address + to->config->bias + patch->length);
}

/* A trampoline that cannot be leaves nothing behind. */
static void drop_fixes(struct mt_fixes *fixes, size_t code_before)
{
	for (unsigned kind = 0; fixes && kind < MT_FIX_KINDS; kind++)
		while (fixes->at[kind].count && *mt_array_last(&fixes->at[kind]) >= code_before)
			fixes->at[kind].count--;
}

static void keep_reach(const struct emitter *to)
{
	struct mt_fixes *fixes = to->config->fixes;

	if (!fixes || to->low > to->high)
		return;
	if (fixes->low > to->low || !fixes->high)
		fixes->low = to->low;
	if (fixes->high < to->high)
		fixes->high = to->high;
}

int mt_trampoline_append(struct mt_trampolines *trampolines,
			 const struct mt_trampoline_config *config, const struct mt_patch *patch,
			 const uint8_t *from, uint32_t site)
{
	struct emitter to = {.out = trampolines, .config = config, .low = UINT64_MAX};
	size_t code_before = trampolines->code.count, rows_before = trampolines->rows.count;

	if (patch->flags & MT_PATCH_ENTRY)
		record(&to, patch, patch->address + config->bias, site++, ENTRY);
	all_displaced(&to, patch, from, site);
	if (patch->flags & MT_PATCH_RETURN)
		site++;
	put_redirected(&to, patch, site);
	for (size_t i = 0; i < to.stamp_count; i++)
		put_line_stamp(&to, i);
	if (!to.failed && !to.cannot_move) {
		keep_reach(&to);
		return 0;
	}
	drop_fixes(config->fixes, code_before);
	trampolines->code.count = code_before;
	trampolines->rows.count = rows_before;
	return to.failed ? -1 : -2;
}

void mt_fixes_deinit(struct mt_fixes *fixes)
{
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		mt_array_deinit(&fixes->at[kind]);
}

void mt_trampolines_deinit(struct mt_trampolines *trampolines)
{
	mt_array_deinit(&trampolines->code);
	mt_array_deinit(&trampolines->rows);
}

const struct mt_trampoline_row *mt_trampoline_row_at(const struct mt_trampolines *trampolines,
						     uint32_t offset)
{
	size_t low = 0, high = trampolines->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trampolines->rows.items[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &trampolines->rows.items[low - 1] : NULL;
}
