/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: what a flow does at every block.  Inline, as decode_emit.h is. */
#ifndef MT_PT_DECODE_STEP_H
#define MT_PT_DECODE_STEP_H

#include "pt/decode_emit.h"

/* ---- time ---- */

static inline uint64_t mt_pt_now(const struct mt_pt_flow *flow)
{
	return flow->query->has_tsc ? flow->query->tsc : flow->tsc;
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
static inline const struct mt_pt_return *mt_pt_pop_return(struct mt_pt_flow *flow)
{
	const struct mt_pt_return *top = &flow->returns[flow->return_top];

	if (!flow->return_count)
		return NULL;
	flow->return_top = (flow->return_top - 1) % MT_PT_RETURNS;
	flow->return_count--;
	return top;
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

/* Over a block whose end needs no packet. */
static inline void mt_pt_run_direct(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	mt_pt_count_block(flow, block);
	if (block->class == MT_INSN_OTHER) {
		mt_pt_go(flow, block, MT_PT_CODE_ON, block->after);
		return;
	}
	if (block->class == MT_INSN_CALL)
		mt_pt_push_return(flow, block, block->target);
	mt_pt_emit(flow, block->kind, mt_pt_code_end(block), block->target, 0,
		   flow->is_later ? mt_pt_now(flow) : flow->tsc);
	flow->is_later = false;
	mt_pt_go(flow, block, MT_PT_CODE_AWAY, block->target);
}

#endif
