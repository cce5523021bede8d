/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_emit.h"

void mt_pt_flow_tell_gap(struct mt_pt_flow *flow)
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
