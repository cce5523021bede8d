/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_flow.h"

#include "pt/decode_step.h"

struct mt_error *mt_pt_flow_init(struct mt_pt_flow *flow)
{
	return mt_pt_code_set_image(&flow->code, NULL, false);
}

void mt_pt_flow_deinit(struct mt_pt_flow *flow)
{
	mt_error_destroy(flow->error);
	mt_pt_code_deinit(&flow->code);
}

/* ---- from window to window ---- */

void mt_pt_flow_begin(struct mt_pt_flow *flow, const struct mt_pt_carried *carried, bool continued)
{
	flow->tsc = carried->tsc;
	flow->time_ns = carried->time_ns;
	flow->is_later = carried->is_later;
	flow->tracing = carried->tracing;
	flow->unseen_kernel = carried->unseen_kernel;
	flow->unseen_ip = carried->unseen_ip;
	flow->in_transaction = carried->in_transaction;
	flow->shows_transaction = carried->shows_transaction;
	flow->aborted = carried->aborted;
	flow->has_gap = carried->has_gap;
	flow->gap_cause = carried->gap_cause;
	flow->bytes_lost = carried->bytes_lost;
	flow->image = carried->image;
	flow->places = carried->places;

	flow->stats = (struct mt_pt_decoder_stats){0};
	flow->muted = flow->has_goal = flow->starting = false;
	flow->arrived = flow->unsettled = false;
	flow->place_size = 0;
	flow->skipped_from = 0;
	flow->mode = ptem_64bit;
	flow->code.at = NULL;
	if (!continued)
		mt_pt_flow_use_image(flow);
}

struct mt_pt_carried mt_pt_flow_carry(const struct mt_pt_flow *flow)
{
	return (struct mt_pt_carried){
	    .tsc = flow->tsc,
	    .time_ns = flow->time_ns,
	    .is_later = flow->is_later,
	    .tracing = flow->tracing,
	    .unseen_kernel = flow->unseen_kernel,
	    .unseen_ip = flow->unseen_kernel ? flow->unseen_ip : 0,
	    .in_transaction = flow->in_transaction,
	    .shows_transaction = flow->shows_transaction,
	    .aborted = flow->aborted,
	    .has_gap = flow->has_gap,
	    .gap_cause = flow->has_gap ? flow->gap_cause : 0,
	    .bytes_lost = flow->bytes_lost,
	    .image = flow->image,
	    .places = flow->places,
	};
}

/* ---- gaps ---- */

void mt_pt_flow_flush_skipped(struct mt_pt_flow *flow)
{
	mt_pt_put_skipped(flow);
}

void mt_pt_flow_mark_snapshot(struct mt_pt_flow *flow, uint32_t number)
{
	mt_pt_emit(flow, MT_EVENT_MARK, 0, number, MT_MARK_SNAPSHOT, flow->tsc);
}

void mt_pt_flow_lose(struct mt_pt_flow *flow, enum mt_gap_cause cause, uint64_t bytes_lost)
{
	mt_pt_put_skipped(flow);
	if (!flow->has_gap)
		flow->gap_cause = cause;
	flow->has_gap = true;
	flow->bytes_lost += bytes_lost;
	flow->tracing = false;
	flow->unseen_kernel = false;
	flow->in_transaction = flow->shows_transaction = false;
	flow->aborted = false;
	flow->has_goal = false;
	flow->starting = false;
}

void mt_pt_flow_fail(struct mt_pt_flow *flow)
{
	if (flow->status == -pte_nomap && mt_address_is_kernel(flow->ip) && !flow->has_gap) {
		flow->unseen_ip = flow->unseen_kernel ? flow->unseen_ip : flow->ip;
		flow->unseen_kernel = true;
		flow->tracing = flow->starting = flow->has_goal = false;
		return;
	}
	mt_pt_flow_lose(flow, flow->status == -pte_nomap ? MT_GAP_NO_CODE : MT_GAP_BAD_TRACE, 0);
}

/* ---- blocks ---- */

static inline void run_branch(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	bool taken;
	int status = mt_pt_query_branch(flow->query, &taken);

	flow->status = status;
	if (status < 0)
		return;
	mt_pt_count_block(flow, block);
	flow->is_later = !taken;
	if (!taken) {
		mt_pt_go(flow, block, MT_PT_CODE_ON, block->after);
		return;
	}
	mt_pt_jump(flow, block, block->target, mt_pt_now(flow));
	mt_pt_go(flow, block, MT_PT_CODE_AWAY, block->target);
}

static void change_mode(struct mt_pt_flow *flow)
{
	if (flow->ip == flow->next_mode_ip)
		flow->mode = flow->next_mode;
	flow->next_mode = ptem_unknown;
	mt_pt_flow_ask_image(flow, flow->tsc);
}

static inline void run_indirect(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	uint64_t to;
	int status = mt_pt_query_indirect(flow->query, &to);

	if (status >= 0 && status & pts_ip_suppressed)
		status = -pte_noip;
	flow->status = status;
	if (status < 0)
		return;
	mt_pt_count_block(flow, block);
	if (block->class == MT_INSN_CALL_INDIRECT)
		mt_pt_push_return(flow, block, to);
	if (block->class == MT_INSN_JUMP_INDIRECT)
		mt_pt_jump(flow, block, to, mt_pt_now(flow));
	else
		mt_pt_emit(flow, block->kind, mt_pt_code_end(block), to, 0, mt_pt_now(flow));
	mt_pt_go(flow, block, MT_PT_CODE_AWAY, to);
	if (__builtin_expect(flow->next_mode != ptem_unknown, 0))
		change_mode(flow);
}

static inline void run_return(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	const struct mt_pt_return *back = mt_pt_last_return(flow);
	bool taken;
	int status = mt_pt_query_branch(flow->query, &taken);

	if (status == -pte_bad_query) {
		run_indirect(flow, block);
		return;
	}
	if (status >= 0 && !taken)
		status = -pte_bad_retcomp;
	if (status >= 0 && !back)
		status = -pte_retstack_empty;
	flow->status = status;
	if (status < 0)
		return;
	mt_pt_drop_return(flow);
	mt_pt_count_block(flow, block);
	mt_pt_emit(flow, MT_EVENT_RETURN, mt_pt_code_end(block), back->to, 0, mt_pt_now(flow));
	if (back->epoch == flow->code.epoch)
		mt_pt_go(flow, back->call, MT_PT_CODE_ON, back->to);
	else
		mt_pt_go(flow, block, MT_PT_CODE_AWAY, back->to);
}

static inline void run_block(struct mt_pt_flow *flow)
{
	struct mt_pt_code_block *block = mt_pt_code_here(&flow->code, flow->ip);

	mt_pt_arrive(flow, block);
	switch (block->class) {
	case MT_INSN_BRANCH:
		run_branch(flow, block);
		break;
	case MT_INSN_RETURN:
		run_return(flow, block);
		break;
	case MT_INSN_OTHER:
	case MT_INSN_CALL:
	case MT_INSN_JUMP:
		mt_pt_run_direct(flow, block);
		break;
	case MT_PT_CODE_NONE:
		flow->status = -pte_nomap;
		break;
	case MT_PT_CODE_BAD:
		flow->status = -pte_bad_insn;
		break;
	default:
		run_indirect(flow, block);
		break;
	}
}

/* ---- running ---- */

void mt_pt_flow_enter(struct mt_pt_flow *flow, struct mt_pt_query *query, int status, uint64_t ip)
{
	bool tracing = !(status & pts_ip_suppressed);

	flow->query = query;
	flow->status = status;
	flow->ip = ip;
	flow->enabled = tracing;
	flow->has_goal = false;
	flow->starting = false;
	flow->mode = ptem_64bit;
	flow->next_mode = ptem_unknown;
	flow->return_count = 0;
	if (flow->unseen_kernel) {
		if (tracing)
			mt_pt_flow_come_back(flow, ip, mt_pt_now(flow));
		return;
	}
	if (flow->tracing && !tracing)
		mt_pt_flow_lose(flow, MT_GAP_BAD_TRACE, 0);
	flow->start_tsc = 0;
	flow->starting = !flow->tracing && tracing && (status & pts_event_pending);
	if (!flow->tracing && tracing && !flow->starting)
		mt_pt_flow_start_trace(flow, ip, mt_pt_now(flow));
	flow->tracing = tracing;
}

bool mt_pt_flow_at_end(const struct mt_pt_flow *flow)
{
	if (flow->has_goal)
		return false;
	return flow->status == -pte_eos || (flow->status >= 0 && (flow->status & pts_eos) &&
					    !(flow->status & pts_event_pending));
}

/* Everything but the plain run from block to block.  False: it ended or failed. */
static bool run_other(struct mt_pt_flow *flow)
{
	if (flow->has_goal && flow->status >= 0) {
		mt_pt_flow_run_to_goal(flow);
		return true;
	}
	if (flow->status < 0 || mt_pt_flow_at_end(flow))
		return false;
	if (flow->status & pts_event_pending)
		mt_pt_flow_fetch_event(flow);
	else if (flow->enabled)
		run_block(flow);
	else
		flow->status = -pte_no_enable;
	return true;
}

/* How far a call comes must not depend on which blocks are linked, which depends on what else was
 * decoded before. */
bool mt_pt_flow_run(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	const uint64_t until = flow->stats.blocks + max_blocks;

	while (flow->stats.blocks < until && mt_pt_flow_has_room(flow)) {
		if (__builtin_expect(!flow->status && flow->enabled && !flow->has_goal, 1)) {
			mt_pt_flow_run_linked(flow, until - flow->stats.blocks);
			if (!flow->status && flow->stats.blocks < until &&
			    mt_pt_flow_has_room(flow))
				run_block(flow);
		} else if (!run_other(flow)) {
			return true;
		}
	}
	return false;
}

int mt_pt_flow_walk(struct mt_pt_flow *flow, const struct mt_pt_position *target)
{
	if (!target) {
		mt_pt_flow_end_trace(flow, MT_TRACE_END_STOP, flow->ip, 0, flow->tsc);
		return 1;
	}

	struct mt_pt_code_block *block = mt_pt_code_here(&flow->code, flow->ip);
	mt_pt_arrive(flow, block);
	if (target->tracing && mt_pt_flow_run_to(flow, block, target->ip))
		return 1;
	if (mt_pt_needs_packet(block))
		return -1;
	mt_pt_run_direct(flow, block);
	return 0;
}
