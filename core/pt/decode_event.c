/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens beside branches: tracing begins and ends, the processor's buffer overflows, modes
 * and address spaces change.  Some of it happens at an address that control has to come to first.
 */
#include "pt/decode_step.h"
#include "pt/image.h"

/* As far as libipt looks (in instructions) for where a transaction was aborted. */
#define AHEAD_BLOCKS 256

void mt_pt_flow_use_image(struct mt_pt_flow *flow)
{
	bool is_known = flow->mode == ptem_64bit || flow->mode == ptem_32bit;

	flow->code.places = flow->places;
	if (!flow->error)
		flow->error = mt_pt_code_set_image(&flow->code, is_known ? flow->image : NULL,
						   flow->mode == ptem_32bit);
}

void mt_pt_flow_ask_image(struct mt_pt_flow *flow, uint64_t tsc)
{
	uint64_t time_ns = tsc > flow->tsc ? mt_tsc_to_ns(&flow->conversion, tsc) : flow->time_ns;
	struct mt_pt_image *before = flow->image;

	flow->places = NULL;
	flow->image = flow->source.image_at(flow->source.context, time_ns, &flow->places);
	if (flow->image && flow->image != before && flow->source.begins)
		flow->source.begins(flow->source.context, flow->places);
	mt_pt_flow_use_image(flow);
}

/* ---- transactions ---- */

/* Where control is, it is in one or not: an event, if that is news. */
static void show_transaction(struct mt_pt_flow *flow, uint64_t tsc)
{
	if (flow->shows_transaction == flow->in_transaction)
		return;
	flow->shows_transaction = flow->in_transaction;
	mt_pt_emit(flow, flow->in_transaction ? MT_EVENT_TX_BEGIN : MT_EVENT_TX_COMMIT, flow->ip,
		   flow->ip, 0, tsc);
}

static void abort_transaction(struct mt_pt_flow *flow, uint64_t from, uint64_t to, uint64_t tsc)
{
	flow->aborted = flow->in_transaction = flow->shows_transaction = false;
	mt_pt_emit(flow, MT_EVENT_TX_ABORT, from, to, 0, tsc);
}

/* The packets tell of it without an address. */
static void take_transaction(struct mt_pt_flow *flow, const struct pt_event *event, uint64_t tsc)
{
	flow->in_transaction = event->variant.tsx.speculative;
	if (flow->tracing && !flow->starting && event->status_update)
		show_transaction(flow, tsc);
	if (event->status_update || !event->variant.tsx.aborted || !flow->shows_transaction)
		return;
	abort_transaction(flow, 0, 0, tsc);
	mt_pt_flow_end_trace(flow, MT_TRACE_END_ASYNC, 0, 0, tsc);
}

/* ---- tracing ---- */

void mt_pt_flow_start_trace(struct mt_pt_flow *flow, uint64_t ip, uint64_t tsc)
{
	mt_pt_flow_ask_image(flow, tsc);
	flow->starting = false;
	flow->tracing = true;
	mt_pt_emit(flow, MT_EVENT_TRACE_START, 0, ip, 0, tsc);
	show_transaction(flow, tsc);
}

void mt_pt_flow_come_back(struct mt_pt_flow *flow, uint64_t ip, uint64_t tsc)
{
	flow->tracing = true;
	if (mt_address_is_kernel(ip))
		return;
	flow->unseen_kernel = false;
	mt_pt_flow_ask_image(flow, tsc);
	mt_pt_emit(flow, MT_EVENT_SYSRET, flow->unseen_ip, ip, 0, tsc);
	show_transaction(flow, tsc);
}

/* The part that repeats the last window ends with tracing switched off. */
static void unmute(struct mt_pt_flow *flow)
{
	if (flow->muted && mt_pt_query_offset(flow->query) > flow->muted_until)
		flow->muted = false;
}

void mt_pt_flow_end_trace(struct mt_pt_flow *flow, enum mt_trace_end end, uint64_t from,
			  uint64_t to, uint64_t tsc)
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
	mt_pt_flow_ask_image(flow, tsc);
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
			mt_pt_flow_come_back(flow, flow->ip, tsc);
		else
			mt_pt_flow_start_trace(flow, flow->ip, tsc);
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
		mt_pt_flow_ask_image(flow, tsc);
		break;
	case ptev_tsx:
		take_transaction(flow, event, tsc);
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
		mt_pt_flow_start_trace(flow, flow->ip,
				       flow->start_tsc ? flow->start_tsc
						       : mt_pt_event_time(flow, event));
}

/* Whether control can get from here to TARGET without a packet. */
static bool is_ahead(struct mt_pt_flow *flow, uint64_t target)
{
	uint64_t ip = flow->ip;

	for (int i = 0; i < AHEAD_BLOCKS; i++) {
		const struct mt_pt_code_block *block = mt_pt_code_at(&flow->code, ip);

		if (ip <= target && target <= mt_pt_code_end(block))
			return true;
		if (mt_pt_needs_packet(block))
			return false;
		ip = block->class == MT_INSN_OTHER ? block->after : block->target;
	}
	return false;
}

static void set_goal(struct mt_pt_flow *flow, const struct pt_event *event, size_t offset)
{
	const uint64_t abort_ip = event->variant.tsx.ip;

	flow->has_goal = true;
	flow->goal = *event;
	flow->goal_offset = offset;
	/* BDM64: the branch right before an abort may have gone elsewhere than its packet says. */
	if (flow->errata.bdm64 && event->type == ptev_tsx && event->variant.tsx.aborted &&
	    !is_ahead(flow, abort_ip))
		flow->ip = abort_ip;
}

void mt_pt_flow_fetch_event(struct mt_pt_flow *flow)
{
	size_t offset = mt_pt_query_offset(flow->query);
	struct pt_event event;
	uint64_t ip;

	flow->status = mt_pt_query_event(flow->query, &event);
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
		set_goal(flow, &event, offset);
	if (flow->starting && !(flow->status >= 0 && flow->status & pts_event_pending))
		mt_pt_flow_start_trace(flow, flow->ip, flow->start_tsc);
}

/* ---- goals: events with an address, which the walk has to come to first ---- */

static bool is_direct(const struct mt_pt_code_block *block)
{
	return block->class == MT_INSN_CALL || block->class == MT_INSN_JUMP;
}

static void arrive_disabled(struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	uint64_t to = !flow->goal.ip_suppressed ? flow->goal.variant.disabled.ip
		      : is_direct(block)        ? block->target
						: 0;
	bool far = block->class == MT_INSN_SYSCALL || block->class == MT_INSN_FAR;
	enum mt_trace_end end = far && block->kind == MT_EVENT_SYSCALL     ? MT_TRACE_END_SYSCALL
				: far && block->kind == MT_EVENT_INTERRUPT ? MT_TRACE_END_ASYNC
									   : MT_TRACE_END_FILTER;

	mt_pt_count_block(flow, block);
	flow->has_goal = false;
	mt_pt_flow_end_trace(flow, end, mt_pt_code_end(block), to,
			     mt_pt_event_time(flow, &flow->goal));
}

static void arrive(struct mt_pt_flow *flow)
{
	const struct pt_event *event = &flow->goal;
	uint64_t tsc = mt_pt_event_time(flow, event), to;

	flow->has_goal = false;
	if (event->type == ptev_async_disabled && flow->errata.skd022 &&
	    mt_pt_code_enters_vm(&flow->code, flow->ip)) {
		/* SKD022: not in front of the instruction that enters a virtual machine, by it. */
		arrive_disabled(flow, mt_pt_code_at(&flow->code, flow->ip));
		return;
	}
	if (event->type == ptev_tsx) {
		flow->in_transaction = event->variant.tsx.speculative;
		flow->aborted = event->variant.tsx.aborted;
		if (!flow->aborted)
			show_transaction(flow, tsc);
	} else if (event->type == ptev_async_disabled) {
		to = event->ip_suppressed ? 0 : event->variant.async_disabled.ip;
		if (flow->aborted) { /* its handler is not traced */
			abort_transaction(flow, flow->ip, to, tsc);
			mt_pt_flow_end_trace(flow, to ? MT_TRACE_END_FILTER : MT_TRACE_END_ASYNC,
					     to, to, tsc);
		} else {
			mt_pt_flow_end_trace(flow, MT_TRACE_END_ASYNC, flow->ip, to, tsc);
		}
	} else {
		to = event->variant.async_branch.to;
		if (flow->aborted)
			abort_transaction(flow, flow->ip, to, tsc);
		else
			mt_pt_emit(flow, MT_EVENT_INTERRUPT, flow->ip, to, 0, tsc);
		flow->ip = to;
	}
}

bool mt_pt_flow_run_to(struct mt_pt_flow *flow, const struct mt_pt_code_block *block,
		       uint64_t target)
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

static void run_past(struct mt_pt_flow *flow, struct mt_pt_code_block *block)
{
	if (mt_pt_needs_packet(block))
		flow->status = block->class == MT_PT_CODE_NONE ? -pte_nomap : -pte_bad_query;
	else
		mt_pt_run_direct(flow, block);
}

/* Whether it was the branch at the block's end that ended tracing: the first one that needs a
 * packet, or a direct one to where tracing ended.  SKL014: of a direct one out of what the filters
 * let be traced that address may not be told. */
static bool ends_trace(const struct mt_pt_flow *flow, const struct mt_pt_code_block *block)
{
	const struct mt_pt_image *image = flow->code.table->image;

	if (!is_direct(block))
		return block->class < MT_PT_CODE_BAD && mt_pt_needs_packet(block);
	if (!flow->goal.ip_suppressed)
		return block->target == flow->goal.variant.disabled.ip;
	return flow->errata.skl014 && mt_pt_image_is_traced(image, mt_pt_code_end(block)) &&
	       !mt_pt_image_is_traced(image, block->target);
}

void mt_pt_flow_run_to_goal(struct mt_pt_flow *flow)
{
	struct mt_pt_code_block *block = mt_pt_code_at(&flow->code, flow->ip);
	uint64_t target;

	mt_pt_arrive(flow, block);

	if (goal_address(&flow->goal, &target)) {
		if (mt_pt_flow_run_to(flow, block, target))
			arrive(flow);
		else
			run_past(flow, block);
		return;
	}
	if (ends_trace(flow, block))
		arrive_disabled(flow, block);
	else
		run_past(flow, block);
}
