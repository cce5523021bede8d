/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: what a flow does at every block.  Inline, as decode_emit.h is. */
#ifndef MT_PT_DECODE_STEP_H
#define MT_PT_DECODE_STEP_H

#include "pt/decode_emit.h"

/* ---- time ---- */

static inline uint64_t mt_pt_now(const struct mt_pt_flow *flow)
{
	const uint64_t tsc = flow->query->has_tsc ? flow->query->tsc : flow->tsc;

	return tsc < flow->latest ? tsc : flow->latest;
}

/* ---- return compression ---- */

static inline void mt_pt_push_return(struct mt_pt_flow *flow, struct mt_pt_code_block *block,
				     uint64_t to)
{
	/* A direct call to the next instruction only asks for the address. */
	if (block->class == MT_INSN_CALL && to == block->after)
		return;
	flow->return_top = (flow->return_top + 1) % MT_PT_RETURNS;
	flow->returns[flow->return_top] =
	    (struct mt_pt_return){block->after, block, flow->code.epoch};
	flow->return_count += flow->return_count < MT_PT_RETURNS;
}

/* NULL: there is none. */
static inline const struct mt_pt_return *mt_pt_last_return(const struct mt_pt_flow *flow)
{
	return flow->return_count ? &flow->returns[flow->return_top] : NULL;
}

static inline void mt_pt_drop_return(struct mt_pt_flow *flow)
{
	flow->return_top = (flow->return_top - 1) % MT_PT_RETURNS;
	flow->return_count--;
}

/* ---- blocks ---- */

static inline bool mt_pt_needs_packet(const struct mt_pt_code_block *block)
{
	return block->class != MT_INSN_OTHER && block->class != MT_INSN_CALL &&
	       block->class != MT_INSN_JUMP;
}

static inline void mt_pt_count_block(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	flow->stats.blocks++;
	flow->stats.instructions += block->instructions;
}

/* Control goes from a block to IP. */
static inline void mt_pt_go(struct mt_pt_flow *flow, struct mt_pt_code_block *block, int way,
			    uint64_t ip)
{
	flow->ip = ip;
	mt_pt_code_go(&flow->code, block, way, ip);
}

/* BLOCK ends with a jump. */
static inline void mt_pt_jump(struct mt_pt_flow *flow, const struct mt_pt_code_block *block,
			      uint64_t to, uint64_t tsc)
{
	uint64_t from = mt_pt_code_end(block);
	bool stays = from - flow->place < flow->place_size && to - flow->place < flow->place_size &&
		     !flow->muted && !flow->has_gap;

	if (!stays || (flow->unsettled && tsc > flow->tsc)) {
		mt_pt_emit(flow, MT_EVENT_JUMP, from, to, 0, tsc);
		return;
	}
	flow->skipped_flags = mt_pt_advance_time(flow, tsc);
	flow->skipped_from = from;
	flow->skipped_to = to;
}

/* Control is at a block. */
static inline void mt_pt_arrive(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	if (!flow->arrived)
		return;
	flow->arrived = false;
	flow->place = block->place;
	flow->place_size = block->place_size;
}

/* What comes of the end of a block that needs no packet. */
static inline void mt_pt_leave_direct(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	uint64_t tsc = flow->is_later ? mt_pt_now(flow) : flow->tsc;

	if (block->class == MT_INSN_OTHER)
		return;
	flow->is_later = false;
	if (block->class == MT_INSN_JUMP) {
		mt_pt_jump(flow, block, block->target, tsc);
		return;
	}
	mt_pt_push_return(flow, block, block->target);
	mt_pt_emit(flow, block->kind, mt_pt_code_end(block), block->target, 0, tsc);
}

/* Over a block whose end needs no packet. */
static inline void mt_pt_run_direct(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	bool goes_on = block->class == MT_INSN_OTHER;

	mt_pt_count_block(flow, block);
	mt_pt_leave_direct(flow, block);
	mt_pt_go(flow, block, goes_on ? MT_PT_CODE_ON : MT_PT_CODE_AWAY,
		 goes_on ? block->after : block->target);
}

#endif
