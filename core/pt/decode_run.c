/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The short way from block to block: what decode_flow.c does at each, with all that changes in
 * registers, for as long as the blocks are linked, and TNTs, TIPs and the return stack tell all
 * that has to be known.  Whatever else there is ends it, and is left to the long way. */
#include "pt/decode_step.h"

/* So that all of it is in registers. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

struct run {
	struct mt_pt_flow *flow;
	struct mt_pt_query *query;
	struct mt_pt_code_block *block; /* where control is */
	int status;                     /* of the last answer */

	uint64_t tnt; /* as the query has it */
	uint32_t left;

	/* Events: where the next one goes, as long as there is room, and its time. */
	struct mt_event *event;
	const struct mt_event *last;
	uint64_t time_ns;
	uint64_t now;   /* the TSC by the last answer */
	bool is_fresh;  /* ... which is later than the last event's */
	bool is_later;  /* as in the flow */
	bool unsettled; /* as in the flow */

	uint64_t place; /* as in the flow */
	uint32_t place_size;
	const struct mt_pt_code_block *skipped; /* whose jump was no event; NULL: as in the flow */
	uint8_t skipped_flags;

	uint64_t blocks, instructions; /* run over */
	uint64_t max_blocks;
};

/* ---- time ---- */

static ALWAYS_INLINE void tell_time(struct run *run)
{
	run->now = mt_pt_now(run->flow);
	run->is_fresh = run->now > run->flow->tsc;
}

/* Returns the flags of what happens now. */
static ALWAYS_INLINE uint8_t advance(struct run *run)
{
	if (__builtin_expect(!run->is_fresh, 1))
		return MT_EVENT_TIME_IS_ESTIMATE;

	uint8_t flags = mt_pt_advance_time(run->flow, run->now);
	run->time_ns = run->flow->time_ns;
	run->is_fresh = false;
	return flags;
}

/* ---- events ---- */

static ALWAYS_INLINE void put(struct run *run, uint8_t kind, uint8_t flags, uint64_t from,
			      uint64_t to)
{
	*run->event++ = (struct mt_event){
	    .time_ns = run->time_ns, .from = from, .to = to, .kind = kind, .flags = flags};
}

/* The flow knows what was skipped. */
static inline void tell_skipped(struct mt_pt_flow *flow, const struct mt_pt_code_block *block,
				uint64_t to, uint8_t flags)
{
	flow->skipped_from = mt_pt_code_end(block);
	flow->skipped_to = to;
	flow->skipped_flags = flags;
}

/* Returns where the next event goes. */
static struct mt_event *put_skipped(const struct mt_pt_flow *flow, struct mt_event *event,
				    uint64_t time_ns)
{
	if (flow->skipped_from)
		*event++ = (struct mt_event){.time_ns = time_ns,
					     .from = flow->skipped_from,
					     .to = flow->skipped_to,
					     .kind = MT_EVENT_JUMP,
					     .flags = flow->skipped_flags};
	return event;
}

static ALWAYS_INLINE void settle_skipped(struct run *run)
{
	if (run->skipped)
		tell_skipped(run->flow, run->skipped, run->skipped->target, run->skipped_flags);
	run->skipped = NULL;
}

static ALWAYS_INLINE void emit(struct run *run, uint8_t kind, uint64_t from, uint64_t to)
{
	if (__builtin_expect(from - run->place >= run->place_size, 0)) {
		settle_skipped(run);
		run->event = put_skipped(run->flow, run->event, run->time_ns);
	}
	run->skipped = NULL;
	run->flow->skipped_from = 0;
	run->unsettled = advance(run);
	put(run, kind, run->unsettled, from, to);
}

/* The jump at the end of the block.  False: it was no event. */
static ALWAYS_INLINE bool tell_jump(struct run *run, uint64_t to)
{
	const uint64_t from = mt_pt_code_end(run->block);

	if (from - run->place < run->place_size && to - run->place < run->place_size &&
	    !(run->unsettled && run->is_fresh)) {
		run->skipped = NULL;
		tell_skipped(run->flow, run->block, to, advance(run));
		return false;
	}
	emit(run, MT_EVENT_JUMP, from, to);
	return true;
}

/* ---- going on ---- */

static ALWAYS_INLINE void leave_block(struct run *run)
{
	run->blocks++;
	run->instructions += run->block->instructions;
}

/* BY_EVENT: that led to there. */
static ALWAYS_INLINE void arrive(struct run *run, struct mt_pt_code_block *next, bool by_event)
{
	run->block = next;
	if (by_event) {
		run->place = next->place;
		run->place_size = next->place_size;
	}
}

static ALWAYS_INLINE void go(struct run *run, struct mt_pt_code_block *next, bool by_event)
{
	leave_block(run);
	arrive(run, next, by_event);
}

/* ---- answers ---- */

static ALWAYS_INLINE void take_bit(struct run *run)
{
	run->tnt <<= 1;
	run->status = --run->left ? 0 : run->query->behind;
}

/* False: there is none. */
static ALWAYS_INLINE bool need_bit(struct run *run)
{
	if (__builtin_expect(run->left, 1))
		return true;
	run->query->tnt_left = 0;
	if (run->query->ahead != MT_PT_AHEAD_TNT && !run->query->libipt)
		return false;
	run->status = mt_pt_query_read_tnt(run->query);
	run->tnt = run->query->tnt;
	run->left = run->query->tnt_left;
	if (run->status < 0)
		return false;
	tell_time(run);
	return true;
}

/* ---- branches within a place ---- */

/* Over conditional branches, one at least, that stay in the place where control is, as far as one
 * TNT has bits: none is an event, and all have the time of that TNT, so all that counts is how many
 * were taken, and which one was the last.  Chance has no branch of ours to be wrong about. */
static ALWAYS_INLINE void run_silent(struct run *run)
{
	struct mt_pt_code_block *block = run->block;
	const struct mt_pt_code_block *skipped = run->skipped;
	uint64_t tnt = run->tnt, bit = 0, taken = 0, instructions = 0;
	uint32_t left = run->left;

	do {
		bit = tnt >> 63;
		taken += bit;
		skipped = bit ? block : skipped;
		instructions += block->instructions;
		tnt <<= 1;
		left--;
		block = block->next[bit];
	} while (left && block->stays[tnt >> 63]);
	run->skipped = skipped;
	if (taken) {
		const uint8_t first_flags = advance(run);

		run->skipped_flags = taken > 1 ? MT_EVENT_TIME_IS_ESTIMATE : first_flags;
	}
	run->is_later = !bit;
	run->blocks += run->left - left;
	run->instructions += instructions;
	run->block = block;
	run->tnt = tnt;
	run->left = left;
	run->status = left ? 0 : run->query->behind;
}

static ALWAYS_INLINE bool may_run_silent(const struct run *run)
{
	const struct mt_pt_code_block *block = run->block;

	return block->stays[run->tnt >> 63] && block->place == run->place &&
	       block->place_size == run->place_size && !(run->unsettled && run->is_fresh) &&
	       run->blocks + run->left <= run->max_blocks;
}

/* ---- ends of blocks ----
 * Each goes over one, or more; false: over none, or there was an error. */

static ALWAYS_INLINE bool run_branch(struct run *run)
{
	struct mt_pt_code_block *block = run->block, *next;
	bool taken;

	if (!need_bit(run))
		return false;
	taken = run->tnt >> 63;
	next = block->next[taken ? MT_PT_CODE_AWAY : MT_PT_CODE_ON];
	if (!next)
		return false;
	if (may_run_silent(run)) {
		run_silent(run);
		return true;
	}
	go(run, next, taken && tell_jump(run, block->target));
	run->is_later = !taken;
	take_bit(run);
	return true;
}

static ALWAYS_INLINE bool run_direct(struct run *run)
{
	struct mt_pt_code_block *block = run->block;
	struct mt_pt_code_block *next =
	    block->next[block->class == MT_INSN_OTHER ? MT_PT_CODE_ON : MT_PT_CODE_AWAY];

	if (!next)
		return false;
	if (block->class == MT_INSN_OTHER) {
		go(run, next, false);
		return true;
	}
	/* What was read for an event is not the time of a direct branch behind it. */
	if (run->is_fresh && !run->is_later)
		return false;
	run->is_later = false;
	if (block->class == MT_INSN_JUMP) {
		go(run, next, tell_jump(run, block->target));
		return true;
	}
	mt_pt_push_return(run->flow, block, block->target);
	emit(run, block->kind, mt_pt_code_end(block), block->target);
	go(run, next, true);
	return true;
}

/* The block that control came to, by another way than the last time; NULL without memory. */
static struct mt_pt_code_block *find_next(struct mt_pt_flow *flow, struct mt_pt_code_block *block,
					  uint64_t to)
{
	mt_pt_code_link(&flow->code, block, MT_PT_CODE_AWAY, to);
	flow->ip = to;
	return flow->code.at;
}

/* Where a TIP says. */
static ALWAYS_INLINE bool run_indirect(struct run *run)
{
	struct mt_pt_flow *flow = run->flow;
	struct mt_pt_code_block *block = run->block, *next = block->next[MT_PT_CODE_AWAY];
	bool by_event = true;
	uint64_t to = 0;

	if (run->query->ahead != MT_PT_AHEAD_TIP || run->query->libipt ||
	    flow->next_mode != ptem_unknown)
		return false;
	run->query->tnt_left = run->left;
	run->status = mt_pt_query_indirect(run->query, &to);
	if (run->status < 0)
		return false;
	if (run->status & pts_ip_suppressed) {
		run->status = -pte_noip;
		return false;
	}
	tell_time(run);
	if (block->class == MT_INSN_JUMP_INDIRECT) {
		by_event = tell_jump(run, to);
	} else {
		if (block->class == MT_INSN_CALL_INDIRECT)
			mt_pt_push_return(flow, block, to);
		emit(run, block->kind, mt_pt_code_end(block), to);
	}
	leave_block(run);
	if (__builtin_expect(!next || next->ip != to, 0)) {
		settle_skipped(run);
		next = find_next(flow, block, to);
	}
	if (next) {
		arrive(run, next, by_event);
		return true;
	}
	flow->arrived = by_event;
	run->block = NULL;
	return false;
}

static ALWAYS_INLINE bool run_return(struct run *run)
{
	const struct mt_pt_return *back = mt_pt_last_return(run->flow);
	struct mt_pt_code_block *next;

	if (!run->left && run->query->libipt) /* by a TIP, for all that is known */
		return false;
	if (!run->left && run->query->ahead == MT_PT_AHEAD_TIP)
		return run_indirect(run);
	if (!need_bit(run) || !(run->tnt >> 63) || !back || back->epoch != run->flow->code.epoch)
		return false;
	next = back->call->next[MT_PT_CODE_ON];
	if (!next || next->ip != back->to)
		return false;
	mt_pt_drop_return(run->flow);
	emit(run, MT_EVENT_RETURN, mt_pt_code_end(run->block), next->ip);
	go(run, next, true);
	take_bit(run);
	return true;
}

static ALWAYS_INLINE bool run_block(struct run *run)
{
	switch (run->block->class) {
	case MT_INSN_BRANCH:
		return run_branch(run);
	case MT_INSN_RETURN:
		return run_return(run);
	case MT_INSN_CALL:
	case MT_INSN_JUMP:
	case MT_INSN_OTHER:
		return run_direct(run);
	case MT_INSN_CALL_INDIRECT:
	case MT_INSN_JUMP_INDIRECT:
		return run_indirect(run);
	default:
		return false;
	}
}

/* ---- from the flow and back ---- */

static inline struct run begin(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	struct run run = {
	    .flow = flow,
	    .query = flow->query,
	    .block = flow->code.at,
	    .tnt = flow->query->tnt,
	    .left = flow->query->tnt_left,
	    .event = flow->events + flow->count,
	    .last = flow->events + flow->capacity - MT_PT_STEP_EVENTS,
	    .time_ns = flow->time_ns,
	    .is_later = flow->is_later,
	    .unsettled = flow->unsettled,
	    .place = flow->arrived ? flow->code.at->place : flow->place,
	    .place_size = flow->arrived ? flow->code.at->place_size : flow->place_size,
	    .max_blocks = max_blocks,
	};

	tell_time(&run);
	return run;
}

static inline void end(const struct run *run)
{
	struct mt_pt_flow *flow = run->flow;

	flow->query->tnt = run->tnt;
	flow->query->tnt_left = run->left;
	flow->status = run->status;
	flow->is_later = run->is_later;
	flow->count = (size_t)(run->event - flow->events);
	flow->unsettled = run->unsettled;
	flow->place = run->place;
	flow->place_size = run->place_size;
	flow->stats.blocks += run->blocks;
	flow->stats.instructions += run->instructions;
	if (!run->block)
		return;
	flow->arrived = false;
	flow->code.at = run->block;
	flow->ip = run->block->ip;
}

void mt_pt_flow_run_linked(struct mt_pt_flow *flow, uint64_t max_blocks)
{
	struct mt_pt_code_block *at = flow->code.at;

	if (!at || at->ip != flow->ip || flow->muted || flow->has_gap || !mt_pt_flow_has_room(flow))
		return;

	struct run run = begin(flow, max_blocks);
	while (!run.status && run.blocks < run.max_blocks && run.event <= run.last &&
	       run_block(&run))
		;
	settle_skipped(&run);
	end(&run);
}
