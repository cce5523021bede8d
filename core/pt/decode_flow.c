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

/* ---- gaps ---- */

void mt_pt_flow_flush_gap(struct mt_pt_flow *flow)
{
	if (flow->has_gap)
		mt_pt_put_gap(flow, 0);
}

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
	flow->in_transaction = false;
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

/* Where a run over linked blocks is, and what it has counted. */
struct mt_pt_run {
	struct mt_pt_code_block *block;
	uint64_t tnt; /* as a query has it */
	uint32_t left;
	uint64_t count;
	uint64_t instructions;
};

/* Over conditional branches that stay in the place where control is, as far as one TNT has bits:
 * none is an event, and all have the time of that TNT, so all that counts is how many were taken,
 * and which one was the last.  Chance has no branch of ours to be wrong about. */
static inline void run_silent(struct mt_pt_flow *flow, struct mt_pt_run *run)
{
	struct mt_pt_code_block *block = run->block, *next, *last = block;
	const uint64_t place = flow->place;
	uint64_t tnt = run->tnt, bit = 0;
	uint32_t left = run->left, taken = 0;

	while (left && block->class == MT_INSN_BRANCH && block->stays && block->place == place &&
	       (next = block->next[tnt >> 63])) {
		bit = tnt >> 63;
		taken += (uint32_t)bit;
		last = bit ? block : last;
		run->instructions += block->instructions;
		tnt <<= 1;
		left--;
		block = next;
	}
	if (taken) {
		const uint8_t first_flags = mt_pt_advance_time(flow, mt_pt_now(flow));

		flow->skipped_flags = taken > 1 ? MT_EVENT_TIME_IS_ESTIMATE : first_flags;
		flow->skipped_from = mt_pt_code_end(last);
		flow->skipped_to = last->target;
	}
	if (left != run->left)
		flow->is_later = !bit;
	run->count += run->left - left;
	run->block = block;
	run->tnt = tnt;
	run->left = left;
}

static inline bool may_run_silent(const struct mt_pt_flow *flow,
				  const struct mt_pt_code_block *block)
{
	return block->stays && block->place == flow->place &&
	       block->place_size == flow->place_size && !flow->muted && !flow->has_gap &&
	       !(flow->unsettled && mt_pt_now(flow) > flow->tsc);
}

/* Over blocks that are linked, as long as bits of TNTs and the return stack tell all that has to be
 * known: what run_block() does there, with what changes at each block in registers.  Returns how
 * many. */
static uint64_t run_linked(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	struct mt_pt_query *query = flow->query;
	struct mt_pt_run run = {.block = flow->code.at, .tnt = query->tnt, .left = query->tnt_left};
	const struct mt_pt_return *back;
	int status = 0;

	if (!run.block || run.block->ip != flow->ip)
		return 0;
	while (!status && run.count < max_blocks && mt_pt_flow_has_room(flow)) {
		struct mt_pt_code_block *block = run.block, *next = NULL;
		bool taken;

		mt_pt_arrive(flow, block);
		switch (block->class) {
		case MT_INSN_BRANCH:
			if (!run.left) {
				query->tnt_left = 0;
				status = mt_pt_query_read_tnt(query);
				run.tnt = query->tnt;
				run.left = query->tnt_left;
				if (status < 0)
					goto out;
			}
			taken = run.tnt >> 63;
			next = block->next[taken ? MT_PT_CODE_AWAY : MT_PT_CODE_ON];
			if (!next)
				goto out;
			if (may_run_silent(flow, block)) {
				run_silent(flow, &run);
				status = run.left ? 0 : query->behind;
				continue;
			}
			if (taken)
				mt_pt_jump(flow, block, block->target, mt_pt_now(flow));
			flow->is_later = !taken;
			run.tnt <<= 1;
			status = --run.left ? 0 : query->behind;
			break;
		case MT_INSN_RETURN:
			back = mt_pt_last_return(flow);
			if (run.left && run.tnt >> 63 && back && back->epoch == flow->code.epoch)
				next = back->call->next[MT_PT_CODE_ON];
			if (!next)
				goto out;
			mt_pt_drop_return(flow);
			mt_pt_emit(flow, MT_EVENT_RETURN, mt_pt_code_end(block), next->ip, 0,
				   mt_pt_now(flow));
			run.tnt <<= 1;
			status = --run.left ? 0 : query->behind;
			break;
		case MT_INSN_CALL:
		case MT_INSN_JUMP:
		case MT_INSN_OTHER:
			next = block->next[block->class == MT_INSN_OTHER ? MT_PT_CODE_ON
									 : MT_PT_CODE_AWAY];
			if (!next)
				goto out;
			mt_pt_leave_direct(flow, block);
			break;
		default:
			goto out;
		}
		run.count++;
		run.instructions += block->instructions;
		run.block = next;
	}
out:
	query->tnt = run.tnt;
	query->tnt_left = run.left;
	flow->status = status;
	flow->code.at = run.block;
	flow->ip = run.block->ip;
	flow->stats.blocks += run.count;
	flow->stats.instructions += run.instructions;
	return run.count;
}

bool mt_pt_flow_run(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	for (uint64_t i = 0; i < max_blocks && mt_pt_flow_has_room(flow); i++) {
		if (__builtin_expect(!flow->status && flow->enabled && !flow->has_goal, 1)) {
			i += run_linked(flow, max_blocks - i);
			if (!flow->status && mt_pt_flow_has_room(flow))
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
