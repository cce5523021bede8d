/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A span at a time.
 *
 *	windows ──► spans ──► packets ──► blocks ──► events
 *	            (decode_query)  (decode_flow)
 *
 * A span is what one query reads: a window from a PSB of it to its end, or, after an error, a copy
 * of what follows a point where control is known again (decode_scan), up to the next PSB.  Spans
 * and windows follow each other without a seam in the events: a query that comes to its end has not
 * yet taken the direct jumps and calls before the next span's first instruction, so it walks on
 * until it is there. */
#include "pt/decode_shard.h"

#include "base/array.h"
#include "pt/decode_scan.h"
#include "pt/packet.h"

#include <string.h>

/* The most that a call does, if it has an event to show. */
#define CALL_BLOCKS 65536
/* Blocks between two looks at whether there is progress. */
#define SLICE_BLOCKS 4096
/* So many blocks without a packet are an endless loop that the trace did not take. */
#define STUCK_BLOCKS 16384
/* How much of a window is copied to go on after an error; doubles while it goes well. */
#define COPY_MIN_BYTES (16u << 10)
#define COPY_MAX_BYTES (8u << 20)

struct mt_pt_shard {
	struct pt_config config;
	struct mt_pt_mask mask;
	struct mt_pt_flow flow;

	struct mt_pt_window window;
	bool ended;
	bool is_masked; /* the window */
	struct mt_pt_scan scan;
	bool has_scan;
	struct mt_pt_scan next_scan; /* where a copy ends behind a branch */
	size_t resume_from;          /* points before this were tried */

	/* Where the next span begins; END: the window is done. */
	enum mt_pt_point_kind next_kind;
	size_t next_offset;

	struct mt_pt_query query; /* of the open span */
	bool has_span;
	bool by_libipt;
	size_t span_begin; /* in the window */
	size_t span_end;
	size_t prefix_bytes; /* made up, before the window's bytes */
	uint8_t *copy;
	size_t copy_capacity;
	size_t copy_bytes;
	struct mt_pt_position target; /* where control is at the span's end */
	bool has_target;
	size_t walked;

	uint64_t slow_offset; /* where the span was when blocks were last counted */
	uint64_t slow_blocks;
	uint64_t bytes_before; /* of trace before the open span */
};

struct mt_error *mt_pt_shard_create(const struct mt_pt_decoder_config *config,
				    struct mt_pt_shard **out)
{
	struct mt_pt_shard *shard = calloc(1, sizeof(*shard));

	if (!shard)
		return mt_error_no_memory();
	mt_pt_libipt_config(&shard->config, &config->cpu, &config->timing, &shard->mask);
	shard->mask.for_libipt = config->by_libipt;
	shard->flow.source = config->source;
	shard->flow.code.source = &shard->flow.source;
	shard->flow.conversion = config->conversion;
	shard->flow.errata = shard->config.errata;
	shard->by_libipt = config->by_libipt;
	shard->ended = true;
	struct mt_error *error = mt_pt_flow_init(&shard->flow);
	if (error) {
		mt_pt_shard_destroy(shard);
		return error;
	}
	*out = shard;
	return NULL;
}

void mt_pt_shard_destroy(struct mt_pt_shard *shard)
{
	if (!shard)
		return;
	mt_pt_query_close(&shard->query);
	mt_pt_flow_deinit(&shard->flow);
	free(shard->copy);
	free(shard);
}

/* ---- offsets ---- */

static size_t span_offset(const struct mt_pt_shard *shard)
{
	return shard->has_span ? mt_pt_query_offset(&shard->query) : 0;
}

static size_t to_window(const struct mt_pt_shard *shard, size_t offset)
{
	size_t in_copy = offset < shard->prefix_bytes ? 0 : offset - shard->prefix_bytes;

	return shard->span_begin + in_copy;
}

static size_t window_offset(const struct mt_pt_shard *shard)
{
	return to_window(shard, span_offset(shard));
}

struct mt_pt_decoder_stats mt_pt_shard_stats(const struct mt_pt_shard *shard)
{
	struct mt_pt_decoder_stats stats = shard->flow.stats;

	stats.bytes = shard->bytes_before;
	if (shard->has_span)
		stats.bytes += window_offset(shard) - shard->span_begin;
	return stats;
}

/* ---- spans ---- */

static void close_span(struct mt_pt_shard *shard)
{
	shard->bytes_before += shard->span_end - shard->span_begin;
	mt_pt_query_close(&shard->query);
	shard->has_span = false;
}

/* Give the trace up to here up, and find where to go on. */
static void resume(struct mt_pt_shard *shard, size_t from)
{
	struct mt_pt_flow *flow = &shard->flow;

	if (from < shard->resume_from)
		from = shard->resume_from;
	if (from > shard->window.size)
		from = shard->window.size;
	shard->next_kind = mt_pt_scan_point(&shard->scan, from, flow->image);
	shard->next_offset = shard->scan.offset;
	shard->resume_from = shard->scan.offset + (shard->next_kind == MT_PT_POINT_PSB);
	shard->copy_bytes = COPY_MIN_BYTES;
	if (!flow->unseen_kernel)
		mt_pt_flow_lose(flow, MT_GAP_BAD_TRACE, shard->scan.offset - from);
	shard->bytes_before += shard->scan.offset - from;
}

static void mask_window(struct mt_pt_shard *shard)
{
	if (!shard->is_masked)
		mt_pt_mask_window(&shard->mask, shard->window.bytes, shard->window.size);
	shard->is_masked = true;
}

static void give_up_span(struct mt_pt_shard *shard)
{
	const struct mt_pt_flow *flow = &shard->flow;
	/* Where control cannot get to, it came away from: the packets may say where to. */
	size_t from = flow->has_goal ? to_window(shard, flow->goal_offset) : window_offset(shard);

	mt_pt_flow_fail(&shard->flow);
	mask_window(shard);
	if (!shard->has_scan || shard->span_begin > shard->scan.offset)
		mt_pt_scan_start(&shard->scan, &shard->config, shard->window.bytes,
				 shard->window.size, shard->span_begin);
	shard->has_scan = true;
	shard->span_end = from;
	close_span(shard);
	resume(shard, from);
}

/* The window from its PSB at next_offset to its end, in place. */
static struct pt_config plain_span(struct mt_pt_shard *shard)
{
	const struct mt_pt_window *window = &shard->window;

	shard->prefix_bytes = 0;
	shard->span_end = window->size;
	shard->next_kind = MT_PT_POINT_END;
	shard->has_target = window->continues;
	shard->target = window->next;
	return mt_pt_libipt_config_of(&shard->config, window->bytes + shard->span_begin,
				      window->size - shard->span_begin);
}

/* Where a copy that begins at the scan ends: at the next PSB or the window's end if they are near,
 * else behind some branch, from where another copy goes on. */
static void end_copy(struct mt_pt_shard *shard)
{
	const struct mt_pt_window *window = &shard->window;
	size_t left = window->size - shard->span_begin;
	size_t limit = shard->span_begin + (left < shard->copy_bytes ? left : shard->copy_bytes);
	size_t psb = mt_pt_find_psb(window->bytes, limit, shard->span_begin);

	shard->span_end = psb;
	shard->next_scan = shard->scan;
	if (psb < limit) {
		shard->next_kind = MT_PT_POINT_PSB;
		shard->has_target = !mt_pt_position_at_psb(&shard->config, window->bytes,
							   window->size, psb, &shard->target);
	} else if (limit < window->size &&
		   mt_pt_scan_last_branch(&shard->next_scan, limit, shard->flow.image)) {
		shard->next_kind = MT_PT_POINT_BRANCH;
		shard->span_end = shard->next_scan.offset;
		shard->has_target = true;
		shard->target =
		    (struct mt_pt_position){.tracing = true, .ip = shard->next_scan.last_ip};
	} else if (limit < window->size) {
		shard->copy_bytes *= 2;
		end_copy(shard);
		return;
	} else {
		shard->next_kind = MT_PT_POINT_END;
		shard->has_target = window->continues;
		shard->target = window->next;
	}
	if (shard->copy_bytes < COPY_MAX_BYTES)
		shard->copy_bytes *= 2;
}

/* Returns 0, or -1 without memory. */
static int copied_span(struct mt_pt_shard *shard, struct pt_config *config)
{
	uint8_t prefix[MT_PT_PREFIX_BYTES];

	shard->prefix_bytes = mt_pt_scan_prefix(&shard->scan, shard->next_kind, prefix);
	end_copy(shard);

	size_t count = shard->span_end - shard->span_begin;
	if (mt_array_grow((void **)&shard->copy, &shard->copy_capacity, 1,
			  shard->prefix_bytes + count))
		return -1;
	memcpy(shard->copy, prefix, shard->prefix_bytes);
	memcpy(shard->copy + shard->prefix_bytes, shard->window.bytes + shard->span_begin, count);
	*config = mt_pt_libipt_config_of(&shard->config, shard->copy, shard->prefix_bytes + count);
	return 0;
}

static struct mt_error *open_span(struct mt_pt_shard *shard)
{
	struct pt_config config;

	shard->span_begin = shard->next_offset;
	shard->walked = 0;
	shard->slow_blocks = 0;
	if (shard->next_kind == MT_PT_POINT_PSB)
		config = plain_span(shard);
	else if (copied_span(shard, &config))
		return mt_error_no_memory();
	if (mt_pt_query_open(&shard->query, &config, shard->by_libipt))
		return mt_error_no_memory();
	shard->has_span = true;
	shard->flow.muted = shard->span_begin < shard->window.repeated;
	shard->flow.muted_until = shard->prefix_bytes + shard->window.repeated - shard->span_begin;
	uint64_t ip = 0;
	int status = mt_pt_query_sync(&shard->query, &ip);
	if (status >= 0) {
		mt_pt_flow_enter(&shard->flow, &shard->query, status, ip);
		return NULL;
	}
	shard->flow.status = status;
	shard->resume_from = shard->span_begin + MT_PT_PSB_BYTES;
	give_up_span(shard);
	return NULL;
}

/* The span's packets are used up: go to where the next span begins. */
static void walk_span(struct mt_pt_shard *shard)
{
	bool stream_ends = shard->next_kind == MT_PT_POINT_END && !shard->has_target;
	int arrived = -1;

	if (!shard->flow.tracing)
		arrived = 1;
	else if (shard->has_target || stream_ends)
		arrived = mt_pt_flow_walk(&shard->flow, shard->has_target ? &shard->target : NULL);
	if (!arrived && ++shard->walked < STUCK_BLOCKS)
		return;
	if (arrived != 1)
		mt_pt_flow_lose(&shard->flow, MT_GAP_BAD_TRACE, 0);
	shard->next_offset = shard->span_end;
	if (shard->next_kind == MT_PT_POINT_BRANCH)
		shard->scan = shard->next_scan;
	close_span(shard);
}

static void run_span(struct mt_pt_shard *shard)
{
	struct mt_pt_flow *flow = &shard->flow;

	if (mt_pt_flow_run(flow, SLICE_BLOCKS)) {
		if (mt_pt_flow_at_end(flow))
			walk_span(shard);
		else
			give_up_span(shard);
		return;
	}
	uint64_t offset = span_offset(shard);
	if (offset != shard->slow_offset || !shard->slow_blocks) {
		shard->slow_offset = offset;
		shard->slow_blocks = flow->stats.blocks;
	} else if (flow->stats.blocks - shard->slow_blocks > STUCK_BLOCKS) {
		give_up_span(shard);
	}
}

/* ---- windows ---- */

void mt_pt_shard_begin(struct mt_pt_shard *shard, const struct mt_pt_window *window,
		       const struct mt_pt_carried *carried)
{
	struct mt_pt_flow *flow = &shard->flow;

	mt_pt_query_close(&shard->query);
	shard->window = *window;
	shard->ended = shard->has_span = shard->is_masked = shard->has_scan = false;
	shard->resume_from = 0;
	shard->bytes_before = 0;
	shard->span_begin = shard->span_end = 0;
	shard->next_kind = window->size ? MT_PT_POINT_PSB : MT_PT_POINT_END;
	shard->next_offset = 0;
	mt_pt_flow_begin(flow, carried, window->continued);
	flow->latest = mt_pt_window_latest(window);
	if (window->continued && window->here.tracing)
		mt_pt_flow_ask_image(flow, window->here.has_tsc ? window->here.tsc : flow->tsc);
	/* libipt reads some packets otherwise, and ends at others without asking. */
	shard->mask.needed = shard->by_libipt;
	if (shard->mask.needed)
		mask_window(shard);
	if (window->has_gap)
		mt_pt_flow_lose(flow, window->gap_cause, window->bytes_lost);
}

static struct mt_error *step(struct mt_pt_shard *shard)
{
	if (shard->has_span) {
		run_span(shard);
		return NULL;
	}
	if (shard->next_kind != MT_PT_POINT_END)
		return open_span(shard);
	shard->flow.muted = false;
	if (shard->window.continues)
		mt_pt_flow_flush_skipped(&shard->flow);
	if (shard->window.snapshot)
		mt_pt_flow_mark_snapshot(&shard->flow, shard->window.snapshot);
	shard->ended = true;
	return NULL;
}

struct mt_error *mt_pt_shard_next(struct mt_pt_shard *shard, struct mt_event *events,
				  size_t capacity, size_t *count, bool *ended)
{
	struct mt_pt_flow *flow = &shard->flow;
	uint64_t first_block = flow->stats.blocks;

	flow->events = events;
	flow->capacity = capacity;
	flow->count = 0;
	while (!shard->ended && mt_pt_flow_has_room(flow)) {
		mt_try(step(shard));
		if (flow->error) {
			struct mt_error *error = flow->error;

			flow->error = NULL;
			return error;
		}
		if (flow->stats.blocks - first_block < CALL_BLOCKS)
			continue;
		mt_pt_flow_flush_skipped(flow);
		break;
	}
	flow->stats.events += flow->count;
	*count = flow->count;
	*ended = shard->ended;
	return NULL;
}

struct mt_pt_carried mt_pt_shard_carry(const struct mt_pt_shard *shard)
{
	return mt_pt_flow_carry(&shard->flow);
}
