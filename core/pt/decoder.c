/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A span at a time.
 *
 *	pieces ──► windows ──► spans ──► packets ──► blocks ──► events
 *	           (decode_window)       (decode_query)  (decode_flow)
 *
 * A span is what one query reads: a window from a PSB of it to its end, or, after an
 * error, a copy of what follows a point where control is known again (decode_scan), up to the next
 * PSB.  Spans and windows follow each other without a seam in the events: a query that
 * comes to its end has not yet taken the direct jumps and calls before the next span's first
 * instruction, so it walks on until it is there. */
#include "pt/decoder.h"

#include "base/array.h"
#include "pt/decode_flow.h"
#include "pt/decode_scan.h"
#include "pt/decode_window.h"
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

struct mt_pt_decoder {
	struct pt_config config;
	struct mt_pt_mask mask;
	struct mt_pt_windows windows;
	struct mt_pt_flow flow;
	bool ended;

	struct mt_pt_window window;
	bool has_window;
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

struct mt_error *mt_pt_decoder_create(const struct mt_pt_decoder_config *config,
				      struct mt_pt_decoder **out)
{
	struct mt_pt_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return mt_error_no_memory();
	mt_pt_libipt_config(&decoder->config, &config->cpu, &config->timing, &decoder->mask);
	/* libipt reads some packets otherwise, and ends at others without asking. */
	decoder->mask.needed = decoder->mask.for_libipt = config->by_libipt;
	decoder->windows.source = config->source;
	decoder->windows.config = &decoder->config;
	decoder->flow.source = config->source;
	decoder->flow.code.source = &decoder->flow.source;
	decoder->flow.conversion = config->conversion;
	decoder->flow.errata = decoder->config.errata;
	decoder->by_libipt = config->by_libipt;
	struct mt_error *error = mt_pt_flow_init(&decoder->flow);
	if (error) {
		mt_pt_decoder_destroy(decoder);
		return error;
	}
	*out = decoder;
	return NULL;
}

void mt_pt_decoder_destroy(struct mt_pt_decoder *decoder)
{
	if (!decoder)
		return;
	mt_pt_query_close(&decoder->query);
	mt_pt_flow_deinit(&decoder->flow);
	mt_pt_windows_deinit(&decoder->windows);
	free(decoder->copy);
	free(decoder);
}

/* ---- offsets ---- */

static size_t span_offset(const struct mt_pt_decoder *decoder)
{
	return decoder->has_span ? mt_pt_query_offset(&decoder->query) : 0;
}

static size_t to_window(const struct mt_pt_decoder *decoder, size_t offset)
{
	size_t in_copy = offset < decoder->prefix_bytes ? 0 : offset - decoder->prefix_bytes;

	return decoder->span_begin + in_copy;
}

static size_t window_offset(const struct mt_pt_decoder *decoder)
{
	return to_window(decoder, span_offset(decoder));
}

struct mt_pt_decoder_stats mt_pt_decoder_stats(const struct mt_pt_decoder *decoder)
{
	struct mt_pt_decoder_stats stats = decoder->flow.stats;

	stats.bytes = decoder->bytes_before;
	if (decoder->has_span)
		stats.bytes += window_offset(decoder) - decoder->span_begin;
	return stats;
}

/* ---- spans ---- */

static void close_span(struct mt_pt_decoder *decoder)
{
	decoder->bytes_before += decoder->span_end - decoder->span_begin;
	mt_pt_query_close(&decoder->query);
	decoder->has_span = false;
}

/* Give the trace up to here up, and find where to go on. */
static void resume(struct mt_pt_decoder *decoder, size_t from)
{
	struct mt_pt_flow *flow = &decoder->flow;

	if (from < decoder->resume_from)
		from = decoder->resume_from;
	if (from > decoder->window.size)
		from = decoder->window.size;
	decoder->next_kind = mt_pt_scan_point(&decoder->scan, from, flow->image);
	decoder->next_offset = decoder->scan.offset;
	decoder->resume_from = decoder->scan.offset + (decoder->next_kind == MT_PT_POINT_PSB);
	decoder->copy_bytes = COPY_MIN_BYTES;
	if (!flow->unseen_kernel)
		mt_pt_flow_lose(flow, MT_GAP_BAD_TRACE, decoder->scan.offset - from);
	decoder->bytes_before += decoder->scan.offset - from;
}

static void mask_window(struct mt_pt_decoder *decoder)
{
	if (!decoder->is_masked)
		mt_pt_mask_window(&decoder->mask, decoder->window.bytes, decoder->window.size);
	decoder->is_masked = true;
}

static void give_up_span(struct mt_pt_decoder *decoder)
{
	const struct mt_pt_flow *flow = &decoder->flow;
	/* Where control cannot get to, it came away from: the packets may say where to. */
	size_t from =
	    flow->has_goal ? to_window(decoder, flow->goal_offset) : window_offset(decoder);

	mt_pt_flow_fail(&decoder->flow);
	mask_window(decoder);
	if (!decoder->has_scan || decoder->span_begin > decoder->scan.offset)
		mt_pt_scan_start(&decoder->scan, &decoder->config, decoder->window.bytes,
				 decoder->window.size, decoder->span_begin);
	decoder->has_scan = true;
	decoder->span_end = from;
	close_span(decoder);
	resume(decoder, from);
}

/* The window from its PSB at next_offset to its end, in place. */
static struct pt_config plain_span(struct mt_pt_decoder *decoder)
{
	const struct mt_pt_window *window = &decoder->window;

	decoder->prefix_bytes = 0;
	decoder->span_end = window->size;
	decoder->next_kind = MT_PT_POINT_END;
	decoder->has_target = window->continues;
	decoder->target = window->next;
	return mt_pt_libipt_config_of(&decoder->config, window->bytes + decoder->span_begin,
				      window->size - decoder->span_begin);
}

/* Where a copy that begins at the scan ends: at the next PSB or the window's end if they are near,
 * else behind some branch, from where another copy goes on. */
static void end_copy(struct mt_pt_decoder *decoder)
{
	const struct mt_pt_window *window = &decoder->window;
	size_t left = window->size - decoder->span_begin;
	size_t limit =
	    decoder->span_begin + (left < decoder->copy_bytes ? left : decoder->copy_bytes);
	size_t psb = mt_pt_find_psb(window->bytes, limit, decoder->span_begin);

	decoder->span_end = psb;
	decoder->next_scan = decoder->scan;
	if (psb < limit) {
		decoder->next_kind = MT_PT_POINT_PSB;
		decoder->has_target = !mt_pt_position_at_psb(&decoder->config, window->bytes,
							     window->size, psb, &decoder->target);
	} else if (limit < window->size &&
		   mt_pt_scan_last_branch(&decoder->next_scan, limit, decoder->flow.image)) {
		decoder->next_kind = MT_PT_POINT_BRANCH;
		decoder->span_end = decoder->next_scan.offset;
		decoder->has_target = true;
		decoder->target = (struct mt_pt_position){true, decoder->next_scan.last_ip};
	} else if (limit < window->size) {
		decoder->copy_bytes *= 2;
		end_copy(decoder);
		return;
	} else {
		decoder->next_kind = MT_PT_POINT_END;
		decoder->has_target = window->continues;
		decoder->target = window->next;
	}
	if (decoder->copy_bytes < COPY_MAX_BYTES)
		decoder->copy_bytes *= 2;
}

/* Returns 0, or -1 without memory. */
static int copied_span(struct mt_pt_decoder *decoder, struct pt_config *config)
{
	uint8_t prefix[MT_PT_PREFIX_BYTES];

	decoder->prefix_bytes = mt_pt_scan_prefix(&decoder->scan, decoder->next_kind, prefix);
	end_copy(decoder);

	size_t count = decoder->span_end - decoder->span_begin;
	if (mt_array_grow((void **)&decoder->copy, &decoder->copy_capacity, 1,
			  decoder->prefix_bytes + count))
		return -1;
	memcpy(decoder->copy, prefix, decoder->prefix_bytes);
	memcpy(decoder->copy + decoder->prefix_bytes, decoder->window.bytes + decoder->span_begin,
	       count);
	*config =
	    mt_pt_libipt_config_of(&decoder->config, decoder->copy, decoder->prefix_bytes + count);
	return 0;
}

static struct mt_error *open_span(struct mt_pt_decoder *decoder)
{
	struct pt_config config;

	decoder->span_begin = decoder->next_offset;
	decoder->walked = 0;
	decoder->slow_blocks = 0;
	if (decoder->next_kind == MT_PT_POINT_PSB)
		config = plain_span(decoder);
	else if (copied_span(decoder, &config))
		return mt_error_no_memory();
	if (mt_pt_query_open(&decoder->query, &config, decoder->by_libipt))
		return mt_error_no_memory();
	decoder->has_span = true;
	decoder->flow.muted = decoder->span_begin < decoder->window.repeated;
	decoder->flow.muted_until =
	    decoder->prefix_bytes + decoder->window.repeated - decoder->span_begin;
	uint64_t ip = 0;
	int status = mt_pt_query_sync(&decoder->query, &ip);
	if (status >= 0) {
		mt_pt_flow_enter(&decoder->flow, &decoder->query, status, ip);
		return NULL;
	}
	decoder->flow.status = status;
	decoder->resume_from = decoder->span_begin + MT_PT_PSB_BYTES;
	give_up_span(decoder);
	return NULL;
}

/* The span's packets are used up: go to where the next span begins. */
static void walk_span(struct mt_pt_decoder *decoder)
{
	bool stream_ends = decoder->next_kind == MT_PT_POINT_END && !decoder->has_target;
	int arrived = -1;

	if (!decoder->flow.tracing)
		arrived = 1;
	else if (decoder->has_target || stream_ends)
		arrived =
		    mt_pt_flow_walk(&decoder->flow, decoder->has_target ? &decoder->target : NULL);
	if (!arrived && ++decoder->walked < STUCK_BLOCKS)
		return;
	if (arrived != 1)
		mt_pt_flow_lose(&decoder->flow, MT_GAP_BAD_TRACE, 0);
	decoder->next_offset = decoder->span_end;
	if (decoder->next_kind == MT_PT_POINT_BRANCH)
		decoder->scan = decoder->next_scan;
	close_span(decoder);
}

static void run_span(struct mt_pt_decoder *decoder)
{
	struct mt_pt_flow *flow = &decoder->flow;

	if (mt_pt_flow_run(flow, SLICE_BLOCKS)) {
		if (mt_pt_flow_at_end(flow))
			walk_span(decoder);
		else
			give_up_span(decoder);
		return;
	}
	uint64_t offset = span_offset(decoder);
	if (offset != decoder->slow_offset || !decoder->slow_blocks) {
		decoder->slow_offset = offset;
		decoder->slow_blocks = flow->stats.blocks;
	} else if (flow->stats.blocks - decoder->slow_blocks > STUCK_BLOCKS) {
		give_up_span(decoder);
	}
}

/* ---- windows ---- */

static struct mt_error *open_window(struct mt_pt_decoder *decoder)
{
	struct mt_pt_flow *flow = &decoder->flow;
	int status = mt_pt_windows_next(&decoder->windows, &decoder->window);

	if (status < 0)
		return mt_error_no_memory();
	decoder->has_window = status == 1;
	decoder->ended = !decoder->has_window;
	decoder->is_masked = false;
	decoder->has_scan = false;
	decoder->resume_from = 0;
	decoder->next_kind = MT_PT_POINT_END;
	if (decoder->ended)
		return NULL;
	if (decoder->mask.needed)
		mask_window(decoder);
	if (decoder->window.has_gap)
		mt_pt_flow_lose(flow, decoder->window.gap_cause, decoder->window.bytes_lost);
	if (decoder->window.size) {
		decoder->next_kind = MT_PT_POINT_PSB;
		decoder->next_offset = 0;
	}
	return NULL;
}

static struct mt_error *step(struct mt_pt_decoder *decoder)
{
	if (decoder->has_span) {
		run_span(decoder);
		return NULL;
	}
	if (!decoder->has_window)
		return open_window(decoder);
	if (decoder->next_kind != MT_PT_POINT_END)
		return open_span(decoder);
	decoder->flow.muted = false;
	if (decoder->window.snapshot)
		mt_pt_flow_mark_snapshot(&decoder->flow, decoder->window.snapshot);
	decoder->has_window = false;
	return NULL;
}

struct mt_error *mt_pt_decoder_next(struct mt_pt_decoder *decoder, struct mt_event *events,
				    size_t capacity, size_t *count)
{
	struct mt_pt_flow *flow = &decoder->flow;
	uint64_t first_block = flow->stats.blocks;

	flow->events = events;
	flow->capacity = capacity;
	flow->count = 0;
	while (!decoder->ended && mt_pt_flow_has_room(flow)) {
		mt_try(step(decoder));
		if (flow->error) {
			struct mt_error *error = flow->error;

			flow->error = NULL;
			return error;
		}
		if (flow->stats.blocks - first_block <= CALL_BLOCKS)
			continue;
		mt_pt_flow_flush_skipped(flow);
		if (flow->count)
			break;
	}
	if (decoder->ended)
		mt_pt_flow_flush_gap(flow);
	flow->stats.events += flow->count;
	*count = flow->count;
	return NULL;
}
