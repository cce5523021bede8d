/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_flow.h"

#include "x86/insn.h"

#include <stdlib.h>

#define KNOWN_INSNS 4096 /* a power of two */

/* Shortest conditional branch, and one more than the longest. */
#define BRANCH_MIN_BYTES 2
#define BRANCH_END_BYTES (MT_INSN_MAX_BYTES + 1)

struct mt_error *mt_pt_flow_init(struct mt_pt_flow *flow)
{
	flow->known = calloc(KNOWN_INSNS, sizeof(*flow->known));
	flow->pending = MT_PT_KIND_NONE;
	flow->generation = 1;
	return flow->known ? NULL : mt_error_no_memory();
}

void mt_pt_flow_deinit(struct mt_pt_flow *flow)
{
	free(flow->known);
	flow->known = NULL;
}

/* ---- time ---- */

static uint64_t now(struct mt_pt_flow *flow)
{
	uint64_t tsc;
	uint32_t lost_mtc, lost_cyc;

	return pt_blk_time(flow->blocks, &tsc, &lost_mtc, &lost_cyc) < 0 ? flow->tsc : tsc;
}

static uint64_t event_time(const struct mt_pt_flow *flow, const struct pt_event *event)
{
	return event->has_tsc ? event->tsc : flow->tsc;
}

/* Returns the event's flags. */
static uint8_t advance_time(struct mt_pt_flow *flow, uint64_t tsc)
{
	if (tsc <= flow->tsc)
		return MT_EVENT_TIME_IS_ESTIMATE;

	uint64_t time_ns = mt_tsc_to_ns(&flow->conversion, tsc);
	flow->tsc = tsc;
	if (time_ns <= flow->time_ns)
		return MT_EVENT_TIME_IS_ESTIMATE;
	flow->time_ns = time_ns;
	return 0;
}

/* ---- events out ---- */

static void put(struct mt_pt_flow *flow, uint8_t kind, uint8_t flags, uint64_t from, uint64_t to,
		uint32_t detail)
{
	flow->events[flow->count++] = (struct mt_event){
	    .time_ns = flow->time_ns,
	    .from = from,
	    .to = to,
	    .kind = kind,
	    .flags = flags,
	    .detail = detail,
	};
}

static void put_gap(struct mt_pt_flow *flow, uint64_t to)
{
	put(flow, MT_EVENT_GAP, MT_EVENT_TIME_IS_ESTIMATE, flow->bytes_lost, to, flow->gap_cause);
	flow->has_gap = false;
	flow->bytes_lost = 0;
	flow->stats.gaps++;
}

void mt_pt_flow_tell_gap(struct mt_pt_flow *flow)
{
	if (flow->has_gap)
		put_gap(flow, 0);
}

static void emit(struct mt_pt_flow *flow, uint8_t kind, uint64_t from, uint64_t to, uint32_t detail,
		 uint64_t tsc)
{
	if (flow->has_gap) {
		/* A gap before anything else has the time of what follows. */
		if (!flow->time_ns)
			advance_time(flow, tsc);
		put_gap(flow, 0);
	}
	uint8_t flags = advance_time(flow, tsc);
	put(flow, kind, flags, from, to, detail);
}

void mt_pt_flow_mark_snapshot(struct mt_pt_flow *flow, uint32_t number)
{
	emit(flow, MT_EVENT_MARK, 0, number, MT_MARK_SNAPSHOT, flow->tsc);
}

void mt_pt_flow_lose(struct mt_pt_flow *flow, enum mt_gap_cause cause, uint64_t bytes_lost)
{
	if (!flow->has_gap)
		flow->gap_cause = cause;
	flow->has_gap = true;
	flow->bytes_lost += bytes_lost;
	flow->tracing = false;
	flow->in_transaction = false;
	flow->aborted = false;
	flow->pending = MT_PT_KIND_NONE;
}

void mt_pt_flow_fail(struct mt_pt_flow *flow)
{
	mt_pt_flow_lose(flow, flow->status == -pte_nomap ? MT_GAP_NO_CODE : MT_GAP_BAD_TRACE, 0);
}

/* ---- instructions that libipt does not tell about ---- */

static const uint8_t *skip_prefixes(const uint8_t *at, const uint8_t *end)
{
	while (at < end && (*at == 0x66 || *at == 0x67 || *at == 0xf2 || *at == 0xf3 ||
			    *at == 0x2e || *at == 0x3e || (*at & 0xf0) == 0x40))
		at++;
	return at;
}

/* Branches into and out of the kernel, and far ones, by opcode (SDM vol. 2). */
static uint8_t far_kind(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	const uint8_t *at = skip_prefixes(bytes, end);
	uint8_t opcode = at < end ? at[0] : 0;
	uint8_t second = at + 1 < end ? at[1] : 0;

	if (opcode == 0x0f)
		return second == 0x05 || second == 0x34   ? MT_EVENT_SYSCALL
		       : second == 0x07 || second == 0x35 ? MT_EVENT_SYSRET
							  : MT_EVENT_JUMP;
	if (opcode == 0xcf)
		return MT_EVENT_IRET;
	if (opcode == 0xcd && second == 0x80)
		return MT_EVENT_SYSCALL;
	if (opcode == 0xcc || opcode == 0xcd || opcode == 0xce || opcode == 0xf1)
		return MT_EVENT_INTERRUPT;
	if (opcode == 0x9a || (opcode == 0xff && (second & 0x38) == 0x18))
		return MT_EVENT_CALL;
	if (opcode == 0xca || opcode == 0xcb)
		return MT_EVENT_RETURN;
	return MT_EVENT_JUMP;
}

static uint8_t insn_kind(const struct mt_insn *insn, const uint8_t *bytes)
{
	static const uint8_t kinds[] = {
	    [MT_INSN_OTHER] = MT_PT_KIND_NONE,       [MT_INSN_CALL] = MT_EVENT_CALL,
	    [MT_INSN_CALL_INDIRECT] = MT_EVENT_CALL, [MT_INSN_JUMP] = MT_EVENT_JUMP,
	    [MT_INSN_JUMP_INDIRECT] = MT_EVENT_JUMP, [MT_INSN_BRANCH] = MT_PT_KIND_CONDITIONAL,
	    [MT_INSN_RETURN] = MT_EVENT_RETURN,
	};

	return insn->class < sizeof(kinds) ? kinds[insn->class] : far_kind(bytes, insn->length);
}

static void learn_insn(struct mt_pt_known_insn *known, const uint8_t *bytes, size_t size)
{
	struct mt_insn insn;

	/* libipt found a branch there, whatever the bytes at hand say. */
	known->kind = MT_EVENT_JUMP;
	known->length = 0;
	if (mt_insn_decode(bytes, size, known->ip, &insn))
		return;
	known->length = insn.length;
	known->kind = insn_kind(&insn, bytes);
}

static const struct mt_pt_known_insn *insn_at(struct mt_pt_flow *flow, uint64_t ip)
{
	struct mt_pt_known_insn *known = &flow->known[(ip ^ ip >> 12) & (KNOWN_INSNS - 1)];
	uint8_t bytes[MT_INSN_MAX_BYTES];

	if (known->ip == ip && known->generation == flow->generation)
		return known;
	known->ip = ip;
	known->generation = flow->generation;
	learn_insn(known, bytes,
		   flow->image ? mt_pt_image_read(flow->image, ip, bytes, sizeof(bytes)) : 0);
	return known;
}

static void know_truncated(struct mt_pt_flow *flow, const struct pt_block *block)
{
	uint64_t ip = block->end_ip;
	struct mt_pt_known_insn *known = &flow->known[(ip ^ ip >> 12) & (KNOWN_INSNS - 1)];

	known->ip = ip;
	known->generation = flow->generation;
	learn_insn(known, block->raw, block->size);
}

/* A branch to the very next instruction looks the same and shows nothing of interest. */
static bool falls_through(struct mt_pt_flow *flow, uint64_t from, uint64_t to)
{
	uint64_t distance = to - from;

	if (distance == BRANCH_MIN_BYTES)
		return true;
	return distance < BRANCH_END_BYTES && distance == insn_at(flow, from)->length;
}

/* ---- blocks ---- */

#define KIND_ASK 0xfd /* to be classified by the instruction's bytes */

static const uint8_t kind_of_class[] = {
    [ptic_error] = KIND_ASK,     [ptic_other] = MT_PT_KIND_NONE,
    [ptic_call] = MT_EVENT_CALL, [ptic_return] = MT_EVENT_RETURN,
    [ptic_jump] = MT_EVENT_JUMP, [ptic_cond_jump] = MT_PT_KIND_CONDITIONAL,
    [ptic_far_call] = KIND_ASK,  [ptic_far_return] = KIND_ASK,
    [ptic_far_jump] = KIND_ASK,  [ptic_ptwrite] = MT_PT_KIND_NONE,
};

static inline void resolve_pending(struct mt_pt_flow *flow, uint64_t to)
{
	uint8_t kind = flow->pending;

	if (kind == MT_PT_KIND_NONE)
		return;
	flow->pending = MT_PT_KIND_NONE;
	if (kind == MT_PT_KIND_CONDITIONAL) {
		if (falls_through(flow, flow->from, to))
			return;
		kind = MT_EVENT_JUMP;
	}
	emit(flow, kind, flow->from, to, 0, flow->from_tsc);
}

static inline void take_block(struct mt_pt_flow *flow, const struct pt_block *block)
{
	resolve_pending(flow, block->ip);
	flow->stats.blocks++;
	flow->stats.instructions += block->ninsn;
	if (!block->ninsn)
		return;

	uint8_t kind = kind_of_class[block->iclass];
	flow->from = block->end_ip;
	if (kind == MT_PT_KIND_NONE)
		return;
	if (block->truncated)
		know_truncated(flow, block);
	flow->pending = kind == KIND_ASK ? insn_at(flow, block->end_ip)->kind : kind;
	flow->from_tsc = now(flow);
}

/* ---- libipt's events ---- */

static void ask_image(struct mt_pt_flow *flow, uint64_t tsc)
{
	uint64_t time_ns = tsc > flow->tsc ? mt_tsc_to_ns(&flow->conversion, tsc) : flow->time_ns;
	struct mt_pt_image *image = flow->source.image_at(flow->source.context, time_ns);

	if (image != flow->image)
		flow->generation++;
	flow->image = image;
	pt_blk_set_image(flow->blocks, image ? mt_pt_image_libipt(image) : NULL);
}

static void take_enabled(struct mt_pt_flow *flow, const struct pt_event *event)
{
	ask_image(flow, event_time(flow, event));
	flow->tracing = true;
	emit(flow, MT_EVENT_TRACE_START, 0, event->variant.enabled.ip, 0, event_time(flow, event));
}

static void end_trace(struct mt_pt_flow *flow, enum mt_trace_end end, uint64_t from, uint64_t to,
		      uint64_t tsc)
{
	emit(flow, MT_EVENT_TRACE_END, from, to, end, tsc);
	flow->tracing = false;
	flow->pending = MT_PT_KIND_NONE;
}

static void take_disabled(struct mt_pt_flow *flow, const struct pt_event *event)
{
	uint64_t to = event->ip_suppressed ? 0 : event->variant.disabled.ip;
	enum mt_trace_end end = flow->pending == MT_EVENT_SYSCALL     ? MT_TRACE_END_SYSCALL
				: flow->pending == MT_EVENT_INTERRUPT ? MT_TRACE_END_ASYNC
								      : MT_TRACE_END_FILTER;

	end_trace(flow, end, flow->from, to, event_time(flow, event));
}

static void take_async_disabled(struct mt_pt_flow *flow, const struct pt_event *event)
{
	uint64_t at = event->variant.async_disabled.at;
	uint64_t to = event->ip_suppressed ? 0 : event->variant.async_disabled.ip;

	resolve_pending(flow, at);
	end_trace(flow, MT_TRACE_END_ASYNC, at, to, event_time(flow, event));
}

static void take_async_branch(struct mt_pt_flow *flow, const struct pt_event *event)
{
	uint64_t from = event->variant.async_branch.from;
	uint8_t kind = flow->aborted ? MT_EVENT_TX_ABORT : MT_EVENT_INTERRUPT;

	flow->aborted = false;
	resolve_pending(flow, from);
	emit(flow, kind, from, event->variant.async_branch.to, 0, event_time(flow, event));
}

static void take_overflow(struct mt_pt_flow *flow, const struct pt_event *event)
{
	mt_pt_flow_lose(flow, MT_GAP_OVERFLOW, 0);
	if (event->ip_suppressed)
		return;
	advance_time(flow, event_time(flow, event));
	put_gap(flow, event->variant.overflow.ip);
	flow->tracing = true;
}

static void take_tsx(struct mt_pt_flow *flow, const struct pt_event *event)
{
	uint64_t ip = event->variant.tsx.ip;
	bool speculative = event->variant.tsx.speculative;
	bool was_speculative = flow->in_transaction;

	flow->in_transaction = speculative;
	if (event->status_update || event->ip_suppressed)
		return;
	flow->aborted = event->variant.tsx.aborted;
	if (flow->aborted || speculative == was_speculative)
		return;
	resolve_pending(flow, ip);
	emit(flow, speculative ? MT_EVENT_TX_BEGIN : MT_EVENT_TX_COMMIT, ip, ip, 0,
	     event_time(flow, event));
}

static void take_event(struct mt_pt_flow *flow, const struct pt_event *event)
{
	switch (event->type) {
	case ptev_enabled:
		take_enabled(flow, event);
		break;
	case ptev_disabled:
		take_disabled(flow, event);
		break;
	case ptev_async_disabled:
		take_async_disabled(flow, event);
		break;
	case ptev_async_branch:
		take_async_branch(flow, event);
		break;
	case ptev_overflow:
		take_overflow(flow, event);
		break;
	case ptev_tsx:
		take_tsx(flow, event);
		break;
	case ptev_exec_mode:
		/* Its status update is the one sign that a PSB was passed. */
		if (!event->status_update)
			break;
		ask_image(flow, event_time(flow, event));
		break;
	case ptev_paging:
	case ptev_async_paging:
		ask_image(flow, event_time(flow, event));
		break;
	default:
		break;
	}
}

/* ---- running ---- */

void mt_pt_flow_enter(struct mt_pt_flow *flow, struct pt_block_decoder *blocks, int status)
{
	bool tracing = !(status & pts_ip_suppressed);

	flow->blocks = blocks;
	flow->status = status;
	ask_image(flow, now(flow));
	if (flow->tracing && !tracing)
		mt_pt_flow_lose(flow, MT_GAP_BAD_TRACE, 0);
	if (!flow->tracing && tracing) {
		flow->pending = MT_EVENT_TRACE_START;
		flow->from = 0;
		flow->from_tsc = now(flow);
	}
	flow->tracing = tracing;
}

static void run_event(struct mt_pt_flow *flow)
{
	struct pt_event event = {.type = ptev_mnt};

	/* An error may be about what comes after the event; then the event was filled in. */
	flow->status = pt_blk_event(flow->blocks, &event, sizeof(event));
	take_event(flow, &event);
	if (flow->status == -pte_eos)
		flow->status = pts_eos;
}

bool mt_pt_flow_at_end(const struct mt_pt_flow *flow)
{
	return flow->status == -pte_eos || (flow->status >= 0 && (flow->status & pts_eos) &&
					    !(flow->status & pts_event_pending));
}

bool mt_pt_flow_run(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	for (uint64_t i = 0; i < max_blocks && mt_pt_flow_has_room(flow); i++) {
		if (__builtin_expect(flow->status, 0)) {
			if (flow->status < 0 || mt_pt_flow_at_end(flow))
				return true;
			if (flow->status & pts_event_pending) {
				run_event(flow);
				continue;
			}
		}
		flow->status = pt_blk_next(flow->blocks, &flow->block, sizeof(flow->block));
		/* After an error the block holds what could be decoded before it. */
		take_block(flow, &flow->block);
	}
	return false;
}

static bool reached(const struct pt_block *block, const struct mt_pt_place *target)
{
	if (block->ip == target->ip)
		return true;
	return block->ninsn && block->ip <= target->ip && target->ip <= block->end_ip;
}

int mt_pt_flow_walk(struct mt_pt_flow *flow, const struct mt_pt_place *target)
{
	bool needs_packet = flow->status < 0;

	if (!needs_packet)
		flow->status = pt_blk_next(flow->blocks, &flow->block, sizeof(flow->block));
	if (!needs_packet)
		resolve_pending(flow, flow->block.ip);
	if (!target) {
		end_trace(flow, MT_TRACE_END_STOP, flow->block.ip, 0, flow->tsc);
		return 1;
	}
	if (target->tracing && reached(&flow->block, target)) {
		flow->pending = MT_PT_KIND_NONE;
		return 1;
	}
	if (flow->status < 0)
		return -1;
	take_block(flow, &flow->block);
	return 0;
}
