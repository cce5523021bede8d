/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: from libipt's blocks and events to control-flow events.
 *
 * A block ends at every branch; where the branch went is where the next block begins.  So a branch
 * is kept as `pending` until the next block, or an event of libipt, tells. */
#ifndef MT_PT_DECODE_FLOW_H
#define MT_PT_DECODE_FLOW_H

#include "pt/decode_libipt.h"
#include "pt/image.h"

/* Kinds beside enum mt_event_kind. */
#define MT_PT_KIND_NONE        0xff
#define MT_PT_KIND_CONDITIONAL 0xfe /* a jump if it was taken */

/* What instructions are that libipt does not tell, by address: a direct-mapped cache. */
struct mt_pt_known_insn {
	uint64_t ip;
	uint32_t generation;
	uint8_t kind;
	uint8_t length; /* 0: not known */
};

struct mt_pt_flow {
	struct mt_pt_source source;
	struct mt_time_conversion conversion;

	struct mt_event *events; /* the caller's batch */
	size_t capacity;
	size_t count;

	struct pt_block_decoder *blocks; /* of the current span */
	int status;                      /* libipt's last answer */
	struct pt_block block;

	uint64_t from; /* of the pending branch, and the last block's end */
	uint64_t from_tsc;
	uint8_t pending; /* its kind */
	bool tracing;    /* events so far say that control is known */
	bool in_transaction;
	bool aborted; /* a transaction; the jump that goes with it comes next */

	uint64_t tsc; /* of the last event */
	uint64_t time_ns;

	bool has_gap; /* not told yet */
	enum mt_gap_cause gap_cause;
	uint64_t bytes_lost;

	struct mt_pt_image *image;
	struct mt_pt_known_insn *known;
	uint32_t generation; /* of the image */

	struct mt_pt_decoder_stats stats;
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_pt_flow_init(struct mt_pt_flow *flow);
void mt_pt_flow_deinit(struct mt_pt_flow *flow);

/* Whether one more step's events fit into the batch. */
static inline bool mt_pt_flow_has_room(const struct mt_pt_flow *flow)
{
	return flow->count + 4 <= flow->capacity;
}

/* `blocks` was just synchronised with this status. */
void mt_pt_flow_enter(struct mt_pt_flow *flow, struct pt_block_decoder *blocks, int status);
/* Decode up to MAX_BLOCKS.  True: the trace ended or failed, see `status` and mt_pt_flow_at_end. */
bool mt_pt_flow_run(struct mt_pt_flow *flow, uint64_t max_blocks);
bool mt_pt_flow_at_end(const struct mt_pt_flow *flow);

/* Behind the last packet: one block further on the way that needs no trace, towards TARGET, where
 * control was seen next, or just to see where control is if TARGET is NULL.  Returns 1 when it is
 * reached, 0 to go on, -1 when control cannot get there. */
int mt_pt_flow_walk(struct mt_pt_flow *flow, const struct mt_pt_place *target);

/* Something was lost; told as a gap with the next event.  Control is not known afterwards. */
void mt_pt_flow_lose(struct mt_pt_flow *flow, enum mt_gap_cause cause, uint64_t bytes_lost);
/* The same after a failure of libipt, for which `status` tells the cause. */
void mt_pt_flow_fail(struct mt_pt_flow *flow);
void mt_pt_flow_tell_gap(struct mt_pt_flow *flow);
void mt_pt_flow_mark_snapshot(struct mt_pt_flow *flow, uint32_t number);

#endif
