/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_flow.h"

#include "pt/decode_emit.h"

/* As far as libipt looks (in instructions) for where a transaction was aborted. */
#define AHEAD_BLOCKS 256

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

void mt_pt_flow_mark_snapshot(struct mt_pt_flow *flow, uint32_t number)
{
	mt_pt_emit(flow, MT_EVENT_MARK, 0, number, MT_MARK_SNAPSHOT, flow->tsc);
}

void mt_pt_flow_lose(struct mt_pt_flow *flow, enum mt_gap_cause cause, uint64_t bytes_lost)
{
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

/* ---- time ---- */

static uint64_t now(struct mt_pt_flow *flow)
{
	uint64_t tsc;
	uint32_t lost_mtc, lost_cyc;

	return pt_qry_time(flow->query, &tsc, &lost_mtc, &lost_cyc) < 0 ? flow->tsc : tsc;
}

/* ---- return compression ---- */

static inline void push_return(struct mt_pt_flow *flow, const struct mt_pt_code_block *block,
			       uint64_t to)
{
	/* A direct call to the next instruction only asks for the address. */
	if (block->class == MT_INSN_CALL && to == block->after)
		return;
	flow->return_top = (flow->return_top + 1) % MT_PT_RETURNS;
	flow->returns[flow->return_top] = block->after;
	flow->return_count += flow->return_count < MT_PT_RETURNS;
}

static inline int pop_return(struct mt_pt_flow *flow, uint64_t *to)
{
	if (!flow->return_count)
		return -pte_retstack_empty;
	*to = flow->returns[flow->return_top];
	flow->return_top = (flow->return_top - 1) % MT_PT_RETURNS;
	flow->return_count--;
	return 0;
}

/* ---- blocks ---- */

static inline bool needs_packet(const struct mt_pt_code_block *block)
{
	return block->class != MT_INSN_OTHER && block->class != MT_INSN_CALL &&
	       block->class != MT_INSN_JUMP;
}

static inline void count_block(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	flow->stats.blocks++;
	flow->stats.instructions += block->instructions;
}

/* Over a block whose end needs no packet. */
static inline void run_direct(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	count_block(flow, block);
	if (block->class == MT_INSN_OTHER) {
		flow->ip = block->after;
		return;
	}
	if (block->class == MT_INSN_CALL)
		push_return(flow, block, block->target);
	mt_pt_emit(flow, block->kind, mt_pt_code_end(block), block->target, 0,
		   flow->is_later ? now(flow) : flow->tsc);
	flow->is_later = false;
	flow->ip = block->target;
}

static inline void run_branch(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	int taken, status = pt_qry_cond_branch(flow->query, &taken);

	flow->status = status;
	if (status < 0)
		return;
	count_block(flow, block);
	flow->ip = block->after;
	flow->is_later = !taken;
	if (!taken)
		return;
	mt_pt_emit(flow, MT_EVENT_JUMP, mt_pt_code_end(block), block->target, 0, now(flow));
	flow->ip = block->target;
}

static void ask_image(struct mt_pt_flow *flow, uint64_t tsc)
{
	uint64_t time_ns = tsc > flow->tsc ? mt_tsc_to_ns(&flow->conversion, tsc) : flow->time_ns;

	flow->image = flow->source.image_at(flow->source.context, time_ns);
	bool is_known = flow->mode == ptem_64bit || flow->mode == ptem_32bit;
	if (!flow->error)
		flow->error = mt_pt_code_set_image(&flow->code, is_known ? flow->image : NULL,
						   flow->mode == ptem_32bit);
}

static void change_mode(struct mt_pt_flow *flow)
{
	if (flow->ip == flow->next_mode_ip)
		flow->mode = flow->next_mode;
	flow->next_mode = ptem_unknown;
	ask_image(flow, flow->tsc);
}

static inline void run_indirect(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	uint64_t to;
	int status = pt_qry_indirect_branch(flow->query, &to);

	if (status >= 0 && status & pts_ip_suppressed)
		status = -pte_noip;
	flow->status = status;
	if (status < 0)
		return;
	count_block(flow, block);
	if (block->class == MT_INSN_CALL_INDIRECT)
		push_return(flow, block, to);
	mt_pt_emit(flow, block->kind, mt_pt_code_end(block), to, 0, now(flow));
	flow->ip = to;
	if (__builtin_expect(flow->next_mode != ptem_unknown, 0))
		change_mode(flow);
}

static inline void run_return(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	uint64_t to;
	int taken, status = pt_qry_cond_branch(flow->query, &taken);

	if (status == -pte_bad_query) {
		run_indirect(flow, block);
		return;
	}
	if (status >= 0 && !taken)
		status = -pte_bad_retcomp;
	if (status >= 0 && pop_return(flow, &to) < 0)
		status = -pte_retstack_empty;
	flow->status = status;
	if (status < 0)
		return;
	count_block(flow, block);
	mt_pt_emit(flow, MT_EVENT_RETURN, mt_pt_code_end(block), to, 0, now(flow));
	flow->ip = to;
}

static inline void run_block(struct mt_pt_flow *flow)
{
	const struct mt_pt_code_block *block = mt_pt_code_at(&flow->code, flow->ip);

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
		run_direct(flow, block);
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

/* ---- libipt's events ---- */

static void start_trace(struct mt_pt_flow *flow, uint64_t ip, uint64_t tsc)
{
	ask_image(flow, tsc);
	flow->starting = false;
	flow->tracing = true;
	mt_pt_emit(flow, MT_EVENT_TRACE_START, 0, ip, 0, tsc);
}

/* From the kernel, of which nothing was seen; or to elsewhere in it. */
static void come_back(struct mt_pt_flow *flow, uint64_t ip, uint64_t tsc)
{
	flow->tracing = true;
	if (mt_address_is_kernel(ip))
		return;
	flow->unseen_kernel = false;
	ask_image(flow, tsc);
	mt_pt_emit(flow, MT_EVENT_SYSRET, flow->unseen_ip, ip, 0, tsc);
}

/* The part that repeats the last window ends with tracing switched off. */
static void unmute(struct mt_pt_flow *flow)
{
	uint64_t offset = 0;

	if (flow->muted && pt_qry_get_offset(flow->query, &offset) >= 0 &&
	    offset > flow->muted_until)
		flow->muted = false;
}

static void end_trace(struct mt_pt_flow *flow, enum mt_trace_end end, uint64_t from, uint64_t to,
		      uint64_t tsc)
{
	mt_pt_emit(flow, MT_EVENT_TRACE_END, from, to, end, tsc);
	flow->tracing = flow->enabled = false;
}

static bool goal_address(const struct pt_event *event, uint64_t *ip)
{
	switch (event->type) {
	case ptev_async_disabled:
		*ip = event->variant.async_disabled.at;
		return true;
	case ptev_async_branch:
		*ip = event->variant.async_branch.from;
		return true;
	case ptev_tsx:
		*ip = event->variant.tsx.ip;
		return true;
	default:
		return false;
	}
}

/* It comes before the far branch that it is about is taken. */
static void set_mode(struct mt_pt_flow *flow, const struct pt_event *event, uint64_t tsc)
{
	enum pt_exec_mode mode = event->variant.exec_mode.mode;

	if (mode == ptem_unknown)
		mode = ptem_64bit;
	if (event->ip_suppressed || event->status_update || !flow->enabled ||
	    event->variant.exec_mode.ip == flow->ip) {
		flow->mode = mode;
	} else {
		flow->next_mode = mode;
		flow->next_mode_ip = event->variant.exec_mode.ip;
	}
	ask_image(flow, tsc);
}

static void take_event(struct mt_pt_flow *flow, const struct pt_event *event)
{
	uint64_t tsc = mt_pt_event_time(flow, event);

	switch (event->type) {
	case ptev_enabled:
		unmute(flow);
		if (event->ip_suppressed) {
			flow->status = -pte_bad_context;
			break;
		}
		if (flow->enabled) { /* the packet that ended tracing was lost */
			mt_pt_flow_lose(flow, MT_GAP_BAD_TRACE, 0);
			flow->return_count = 0;
		}
		flow->enabled = true;
		flow->ip = event->variant.enabled.ip;
		if (flow->unseen_kernel)
			come_back(flow, flow->ip, tsc);
		else
			start_trace(flow, flow->ip, tsc);
		break;
	case ptev_overflow:
		unmute(flow);
		mt_pt_flow_lose(flow, MT_GAP_OVERFLOW, 0);
		flow->return_count = 0;
		flow->enabled = !event->ip_suppressed;
		if (!flow->enabled)
			break;
		flow->ip = event->variant.overflow.ip;
		mt_pt_advance_time(flow, tsc);
		mt_pt_put_gap(flow, flow->ip);
		flow->tracing = true;
		break;
	case ptev_exec_mode:
		/* Its status update is the one sign that a PSB was passed. */
		set_mode(flow, event, tsc);
		break;
	case ptev_paging:
	case ptev_async_paging:
		ask_image(flow, tsc);
		break;
	case ptev_tsx:
		flow->in_transaction = event->variant.tsx.speculative;
		break;
	default:
		break;
	}
}

/* A PSB's time comes with its first event.  Tracing did not begin there if the next packet enables
 * it (BDM70): that has the address. */
static void start_at_psb(struct mt_pt_flow *flow, const struct pt_event *event)
{
	if (event->type == ptev_enabled)
		flow->starting = flow->tracing = flow->enabled = false;
	else if (event->status_update && !flow->start_tsc)
		flow->start_tsc = mt_pt_event_time(flow, event);
	else if (!event->status_update)
		start_trace(flow, flow->ip,
			    flow->start_tsc ? flow->start_tsc : mt_pt_event_time(flow, event));
}

/* Whether control can get from here to TARGET without a packet. */
static bool is_ahead(struct mt_pt_flow *flow, uint64_t target)
{
	uint64_t ip = flow->ip;

	for (int i = 0; i < AHEAD_BLOCKS; i++) {
		const struct mt_pt_code_block *block = mt_pt_code_at(&flow->code, ip);

		if (ip <= target && target <= mt_pt_code_end(block))
			return true;
		if (needs_packet(block))
			return false;
		ip = block->class == MT_INSN_OTHER ? block->after : block->target;
	}
	return false;
}

static void set_goal(struct mt_pt_flow *flow, const struct pt_event *event)
{
	const uint64_t abort_ip = event->variant.tsx.ip;

	flow->has_goal = true;
	flow->goal = *event;
	/* BDM64: the branch right before an abort may have gone elsewhere than its packet says. */
	if (flow->errata.bdm64 && event->type == ptev_tsx && event->variant.tsx.aborted &&
	    !is_ahead(flow, abort_ip))
		flow->ip = abort_ip;
}

static void fetch_event(struct mt_pt_flow *flow)
{
	struct pt_event event;
	uint64_t ip;

	flow->status = pt_qry_event(flow->query, &event, sizeof(event));
	if (flow->status < 0)
		return;
	if (flow->starting)
		start_at_psb(flow, &event);
	bool is_goal = event.type == ptev_disabled || goal_address(&event, &ip);
	if (event.type == ptev_tsx && (event.status_update || event.ip_suppressed))
		is_goal = false;
	if (!is_goal)
		take_event(flow, &event);
	else if (!flow->enabled)
		flow->status = -pte_bad_context;
	else
		set_goal(flow, &event);
	if (flow->starting && !(flow->status >= 0 && flow->status & pts_event_pending))
		start_trace(flow, flow->ip, flow->start_tsc);
}

/* ---- goals: events with an address, which the walk has to come to first ---- */

static void arrive_disabled(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	uint64_t to = flow->goal.ip_suppressed ? 0 : flow->goal.variant.disabled.ip;
	bool far = block->class == MT_INSN_SYSCALL || block->class == MT_INSN_FAR;
	enum mt_trace_end end = far && block->kind == MT_EVENT_SYSCALL     ? MT_TRACE_END_SYSCALL
				: far && block->kind == MT_EVENT_INTERRUPT ? MT_TRACE_END_ASYNC
									   : MT_TRACE_END_FILTER;

	count_block(flow, block);
	flow->has_goal = false;
	end_trace(flow, end, mt_pt_code_end(block), to, mt_pt_event_time(flow, &flow->goal));
}

static void arrive(struct mt_pt_flow *flow)
{
	const struct pt_event *event = &flow->goal;
	uint64_t tsc = mt_pt_event_time(flow, event), to;
	uint8_t kind;

	flow->has_goal = false;
	if (event->type == ptev_async_disabled && flow->errata.skd022 &&
	    mt_pt_code_enters_vm(&flow->code, flow->ip)) {
		/* SKD022: not in front of the instruction that enters a virtual machine, by it. */
		arrive_disabled(flow, mt_pt_code_at(&flow->code, flow->ip));
		return;
	}
	if (event->type == ptev_tsx) {
		bool speculative = event->variant.tsx.speculative;
		bool changes = speculative != flow->in_transaction;

		flow->in_transaction = speculative;
		flow->aborted = event->variant.tsx.aborted;
		if (!flow->aborted && changes)
			mt_pt_emit(flow, speculative ? MT_EVENT_TX_BEGIN : MT_EVENT_TX_COMMIT,
				   flow->ip, flow->ip, 0, tsc);
	} else if (event->type == ptev_async_disabled) {
		to = event->ip_suppressed ? 0 : event->variant.async_disabled.ip;
		end_trace(flow, MT_TRACE_END_ASYNC, flow->ip, to, tsc);
	} else {
		to = event->variant.async_branch.to;
		kind = flow->aborted ? MT_EVENT_TX_ABORT : MT_EVENT_INTERRUPT;
		flow->aborted = false;
		mt_pt_emit(flow, kind, flow->ip, to, 0, tsc);
		flow->ip = to;
	}
}

/* Whether control comes to TARGET within the block; then it is there. */
static bool run_to(struct mt_pt_flow *flow, const struct mt_pt_code_block *block, uint64_t target)
{
	if (target == flow->ip)
		return true;
	if (block->class >= MT_PT_CODE_BAD || target < flow->ip || target > mt_pt_code_end(block))
		return false;

	int count = mt_pt_code_count(&flow->code, flow->ip, target);
	if (count < 0)
		return false;
	flow->stats.instructions += (uint64_t)count;
	flow->stats.blocks++;
	flow->ip = target;
	return true;
}

static void run_past(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	if (needs_packet(block))
		flow->status = block->class == MT_PT_CODE_NONE ? -pte_nomap : -pte_bad_query;
	else
		run_direct(flow, block);
}

static void run_to_goal(struct mt_pt_flow *flow)
{
	const struct mt_pt_code_block *block = mt_pt_code_at(&flow->code, flow->ip);
	uint64_t target;

	if (goal_address(&flow->goal, &target)) {
		if (run_to(flow, block, target))
			arrive(flow);
		else
			run_past(flow, block);
		return;
	}
	/* A branch that needs a packet ended the trace, or a direct one to where it ended. */
	if (block->class < MT_PT_CODE_BAD &&
	    (needs_packet(block) || (!flow->goal.ip_suppressed && block->class != MT_INSN_OTHER &&
				     block->target == flow->goal.variant.disabled.ip)))
		arrive_disabled(flow, block);
	else
		run_past(flow, block);
}

/* ---- running ---- */

void mt_pt_flow_enter(struct mt_pt_flow *flow, struct pt_query_decoder *query, int status,
		      uint64_t ip)
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
			come_back(flow, ip, now(flow));
		return;
	}
	if (flow->tracing && !tracing)
		mt_pt_flow_lose(flow, MT_GAP_BAD_TRACE, 0);
	flow->start_tsc = 0;
	flow->starting = !flow->tracing && tracing && (status & pts_event_pending);
	if (!flow->tracing && tracing && !flow->starting)
		start_trace(flow, ip, now(flow));
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
		run_to_goal(flow);
		return true;
	}
	if (flow->status < 0 || mt_pt_flow_at_end(flow))
		return false;
	if (flow->status & pts_event_pending)
		fetch_event(flow);
	else if (flow->enabled)
		run_block(flow);
	else
		flow->status = -pte_no_enable;
	return true;
}

bool mt_pt_flow_run(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	for (uint64_t i = 0; i < max_blocks && mt_pt_flow_has_room(flow); i++) {
		if (__builtin_expect(!flow->status && flow->enabled && !flow->has_goal, 1))
			run_block(flow);
		else if (!run_other(flow))
			return true;
	}
	return false;
}

int mt_pt_flow_walk(struct mt_pt_flow *flow, const struct mt_pt_position *target)
{
	if (!target) {
		end_trace(flow, MT_TRACE_END_STOP, flow->ip, 0, flow->tsc);
		return 1;
	}

	const struct mt_pt_code_block *block = mt_pt_code_at(&flow->code, flow->ip);
	if (target->tracing && run_to(flow, block, target->ip))
		return 1;
	if (needs_packet(block))
		return -1;
	run_direct(flow, block);
	return 0;
}
