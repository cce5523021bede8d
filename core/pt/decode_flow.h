/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: from packets and code to control-flow events.
 *
 * Control goes from block to block of the code (decode_code); where it needs to know more, the
 * packets are asked (decode_query). */
#ifndef MT_PT_DECODE_FLOW_H
#define MT_PT_DECODE_FLOW_H

#include "pt/decode_code.h"
#include "pt/decode_query.h"

#define MT_PT_RETURNS 64 /* return compression's depth: SDM vol. 3C, 33.4.2.2 */

struct mt_pt_return {
	uint64_t to;
	struct mt_pt_code_block *call; /* in its epoch; after that gone */
	uint64_t epoch;
};

/* What a window leaves to the next one, of the flow's. */
struct mt_pt_carried {
	uint64_t tsc, time_ns;
	bool is_later;
	bool tracing;
	bool unseen_kernel;
	bool in_transaction, shows_transaction, aborted;
	bool has_gap;
	enum mt_gap_cause gap_cause; /* if has_gap */
	uint64_t unseen_ip;          /* if unseen_kernel */
	uint64_t bytes_lost;
	struct mt_pt_image *image;
	void *places;
};

struct mt_pt_flow {
	struct mt_pt_source source;
	struct mt_time_conversion conversion;
	struct pt_errata errata;

	struct mt_event *events; /* the caller's batch */
	size_t capacity;
	size_t count;
	bool muted;           /* what happens came out before, */
	uint64_t muted_until; /* up to this offset of the span */

	struct mt_pt_query *query;   /* of the current span */
	int status;                  /* its last answer */
	uint64_t ip;                 /* where control is, if enabled */
	bool enabled;                /* the packets trace */
	enum pt_exec_mode mode;      /* of 64 or 32 bits; all else cannot be decoded */
	enum pt_exec_mode next_mode; /* once control is at next_mode_ip; unknown: none */
	uint64_t next_mode_ip;
	bool starting;      /* TRACE_START waits for what comes behind the PSB */
	uint64_t start_tsc; /* its time, if known by then */
	bool has_goal;      /* `goal` happens at an address that is still ahead */
	struct pt_event goal;
	size_t goal_offset;                         /* in the span: what tells of it begins there */
	struct mt_pt_return returns[MT_PT_RETURNS]; /* a ring */
	uint32_t return_top;
	uint32_t return_count;

	bool tracing; /* events so far say that control is known */
	/* Control went into the kernel, whose code is not available: what it does there is not
	 * shown, and is no gap. */
	bool unseen_kernel;
	uint64_t unseen_ip; /* where it went in */
	bool in_transaction;
	bool shows_transaction; /* as far as events say */
	bool aborted;           /* a transaction; the jump that goes with it comes next */

	/* Where control came to by the last event, and the last jump within that place since, which
	 * was no event; skipped_from 0: none. */
	uint64_t place;
	uint32_t place_size; /* 0: in no place */
	bool arrived;        /* the place is that of the next block */
	bool unsettled;      /* the last event's time is not its own */
	uint8_t skipped_flags;
	uint64_t skipped_from, skipped_to; /* its time: time_ns */

	uint64_t latest; /* TSC of anything */
	uint64_t tsc;    /* of the last event */
	bool is_later;   /* packets were read since */
	uint64_t time_ns;

	bool has_gap; /* that did not come out yet */
	enum mt_gap_cause gap_cause;
	uint64_t bytes_lost;

	struct mt_pt_image *image;
	void *places; /* that the source gave with it */
	struct mt_pt_code code;

	struct mt_pt_decoder_stats stats;
	struct mt_error *error; /* for the next call to return */
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_pt_flow_init(struct mt_pt_flow *flow);
void mt_pt_flow_deinit(struct mt_pt_flow *flow);

#define MT_PT_STEP_EVENTS 6 /* at most */
/* Whether one more step's events fit into the batch. */
static inline bool mt_pt_flow_has_room(const struct mt_pt_flow *flow)
{
	return flow->count + MT_PT_STEP_EVENTS <= flow->capacity;
}

/* A window begins, CONTINUED or not, with what the last one left. */
void mt_pt_flow_begin(struct mt_pt_flow *flow, const struct mt_pt_carried *carried, bool continued);
/* It has ended. */
struct mt_pt_carried mt_pt_flow_carry(const struct mt_pt_flow *flow);

/* `query` was just synchronised with this status and address. */
void mt_pt_flow_enter(struct mt_pt_flow *flow, struct mt_pt_query *query, int status, uint64_t ip);
/* Decode MAX_BLOCKS, if there is room for their events.  True: the trace ended or failed, see
 * `status` and mt_pt_flow_at_end. */
bool mt_pt_flow_run(struct mt_pt_flow *flow, uint64_t max_blocks);
bool mt_pt_flow_at_end(const struct mt_pt_flow *flow);

/* Behind the last packet: one block further on the way that needs no trace, towards TARGET, where
 * control was seen next, or just to see where control is if TARGET is NULL.  Returns 1 when it is
 * reached, 0 to go on, -1 when control cannot get there. */
int mt_pt_flow_walk(struct mt_pt_flow *flow, const struct mt_pt_position *target);

/* decode_run.c.  Up to so many blocks by the short way. */
void mt_pt_flow_run_linked(struct mt_pt_flow *flow, uint64_t max_blocks);

/* Of decode_event.c.  The code that is mapped at a time, in the mode that control is in. */
void mt_pt_flow_ask_image(struct mt_pt_flow *flow, uint64_t tsc);
/* Blocks are those of the flow's image. */
void mt_pt_flow_use_image(struct mt_pt_flow *flow);
void mt_pt_flow_start_trace(struct mt_pt_flow *flow, uint64_t ip, uint64_t tsc);
/* From the kernel, of which nothing was seen; or to elsewhere in it. */
void mt_pt_flow_come_back(struct mt_pt_flow *flow, uint64_t ip, uint64_t tsc);
void mt_pt_flow_end_trace(struct mt_pt_flow *flow, enum mt_trace_end end, uint64_t from,
			  uint64_t to, uint64_t tsc);
/* Take the next event; one that happens ahead becomes the goal. */
void mt_pt_flow_fetch_event(struct mt_pt_flow *flow);
/* A block further on the way to the goal, which happens once control is there. */
void mt_pt_flow_run_to_goal(struct mt_pt_flow *flow);
/* Whether control comes to TARGET within the block; then it is there. */
bool mt_pt_flow_run_to(struct mt_pt_flow *flow, const struct mt_pt_code_block *block,
		       uint64_t target);

/* Something was lost; it comes out as a gap with the next event.  Control is not known afterwards.
 */
void mt_pt_flow_lose(struct mt_pt_flow *flow, enum mt_gap_cause cause, uint64_t bytes_lost);
/* The same after a failure, whose cause is `status`.  In the kernel, where
 * there is no code, nothing is lost. */
void mt_pt_flow_fail(struct mt_pt_flow *flow);
/* A jump that was no event becomes one. */
void mt_pt_flow_flush_skipped(struct mt_pt_flow *flow);
void mt_pt_flow_mark_snapshot(struct mt_pt_flow *flow, uint32_t number);

#endif
