/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of displaced instructions, which do what the originals would have done in their place. */
#include "engine/calls/trampoline/emit.h"

#include "x86/layout.h"

static void jump(struct mt_emitter *to, uint64_t target)
{
	mt_emit(to, 0xe9);
	mt_emit_rel32(to, target);
}

/* A jump of ours alone: who stands before it is at its target already, in effect. */
static void go_on(struct mt_emitter *to, uint64_t target)
{
	to->row = (struct mt_trampoline_row){.original = target, .phase = MT_PHASE_DISPLACED};
	mt_emit_row(to);
	jump(to, target);
}

static void push_return_address(struct mt_emitter *to, uint64_t address)
{
	mt_emit(to, 0x68); /* push imm32, sign-extended */
	if (to->config->movable)
		mt_emit_fix(to, MT_FIX_PUSHED, 0);
	mt_emit_imm32(to, (uint32_t)address);
	to->row.below += 8;
	mt_emit_row(to);
	if (to->config->movable || (uint64_t)(int64_t)(int32_t)address != address) {
		mt_emit(to, 0xc7, 0x44, 0x24, 0x04); /* mov dword [rsp+4], the upper half */
		mt_emit_imm32(to, (uint32_t)(address >> 32));
	}
}

/* jcc: 0F 8x rel32.  loop and jrcxz have no long form: they jump over a jump. */
static void branch(struct mt_emitter *to, const uint8_t *from, uint64_t original,
		   const struct mt_insn *insn, const struct mt_insn_layout *layout)
{
	uint64_t target = insn->target + to->config->bias;

	if (layout->opcode >= 0xe0 && layout->opcode <= 0xe3) {
		mt_emit_bytes(to, from, insn->length - 1u);
		mt_emit(to, 0x02); /* over the next */
		to->row.original = original + insn->length;
		mt_emit_row(to);
		mt_emit(to, 0xeb, 0x05); /* jmp over the long one */
		go_on(to, target);
		return;
	}
	mt_emit(to, 0x0f, 0x80 | (layout->opcode & 0x0f));
	mt_emit_rel32(to, target);
}

/* A copy, whose rip-relative operand still means the same place. */
static void copy(struct mt_emitter *to, const uint8_t *from, uint64_t original,
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
		int64_t there = displacement + (int64_t)(original - mt_emit_here(to));

		if (there != (int32_t)there)
			to->cannot_move = true;
		displacement = (int32_t)there;
		mt_emit_fix_distance(to, mt_emit_here(to) + insn->length + (uint64_t)there,
				     layout->displacement_offset);
		memcpy(moved + layout->displacement_offset, &displacement, sizeof(displacement));
	}
	mt_emit_bytes(to, moved, insn->length);
}

/* ff /2 is an indirect call, ff /4 the jump. */
#define CALL_TO_JUMP ((2 ^ 4) << 3)

static void displaced(struct mt_emitter *to, const uint8_t *from, uint64_t original,
		      const struct mt_insn *insn)
{
	struct mt_insn_layout layout;

	mt_insn_layout(from, insn->length, &layout);
	to->row = (struct mt_trampoline_row){.original = original, .phase = MT_PHASE_DISPLACED};
	mt_emit_row(to);
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

static void redirected(struct mt_emitter *to, const uint8_t *from, uint64_t original,
		       const struct mt_insn *insn)
{
	struct mt_insn_layout layout;

	mt_insn_layout(from, insn->length, &layout);
	to->row = (struct mt_trampoline_row){.original = original, .phase = MT_PHASE_DISPLACED};
	mt_emit_row(to);
	if (insn->class == MT_INSN_JUMP)
		mt_emit(to, 0xe9);
	else
		mt_emit(to, 0x0f, 0x80 | (layout.opcode & 0x0f));
	to->branches[to->branch_count++] = to->out->code.count;
	mt_emit_imm32(to, 0);
}

void mt_emit_redirected(struct mt_emitter *to, const struct mt_patch *patch, uint32_t site)
{
	uint64_t original = patch->redirect + to->config->bias;

	if (to->branch_count == 0)
		return;
	for (size_t i = 0; i < to->branch_count; i++)
		mt_emit_link(to, to->branches[i], to->out->code.count);
	if (patch->flags & MT_PATCH_REDIRECT)
		mt_emit_event(to, patch, original, site,
			      patch->flags & MT_PATCH_AGAIN ? MT_RECORDED_AGAIN
							    : MT_RECORDED_RETURN);
	to->row = (struct mt_trampoline_row){.original = original, .phase = MT_PHASE_DISPLACED};
	mt_emit_row(to);
	if (patch->flags & MT_PATCH_AGAIN)
		jump(to, original);
	else
		mt_emit(to, 0xc3); /* ret */
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

void mt_emit_displaced(struct mt_emitter *to, const struct mt_patch *patch, const uint8_t *from,
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
			mt_emit_event(to, patch, original, site++, MT_RECORDED_RETURN);
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
