/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A window at a time, or several.
 *
 *	pieces ──► windows ──► lanes ──► shards ──► portions ──► batches
 *	           (decode_window)       (decode_shard)
 *
 * A window begins where the one before it left control and time.  Lanes that decode ahead cannot
 * know that yet, so at a cut they take it from the PSB+ there: tracing goes on if that has an
 * address, and nothing is pending.  So that this is right as a rule, nothing else that a flow knows
 * crosses a cut, for nobody: jumps that were no events come out in front of it, no place counts
 * behind it, and no time before it is later than that of the PSB+.  Where the window before left
 * something else, what was decoded ahead is thrown away, and decoded again from there.
 *
 * Lanes take the windows in turn, and the owner takes from the lanes in turn.  A lane stops when
 * its portion is full, and goes on once the owner has taken that: so what is decoded ahead is
 * bounded, however much comes of a few bytes.  Without a pool there is one lane, which the owner
 * runs a batch at a time. */
#include "pt/decoder.h"

#include "base/array.h"
#include "base/large.h"
#include "base/log.h"
#include "pt/decode_shard.h"

#include <emmintrin.h>
#include <stdalign.h>
#include <string.h>

#define CACHE_LINE 64
/* What a lane decodes ahead, where it shares with nobody. */
#define PORTION_BATCHES 32

struct batch {
	size_t count;
	struct mt_pt_decoder_stats stats; /* of its window so far */
	struct mt_log_kept kept;          /* lines */
};

struct portion {
	struct mt_event *events; /* of all batches, each from a multiple of batch_events on */
	struct batch *batches;
	size_t count;
	struct mt_error *error; /* behind them */
	bool ended;             /* the window */
};

struct lane {
	const struct mt_pt_decoder *decoder;
	struct mt_pt_shard *shard;
	struct mt_pt_window window;
	bool waits;     /* nothing was done with it */
	uint8_t *bytes; /* of the window, if it is decoded ahead */
	uint8_t *copy;  /* of these, which the shard overwrites: they may be needed again */
	size_t capacity, copy_capacity;
	bool has_begun; /* the shard, ... */
	bool keeps;     /* ...but the bytes stay as they are */
	bool is_guess;  /* `begun` is not known to be so */
	struct mt_pt_carried begun;
	struct portion portion;
	struct mt_event *made; /* a batch in the making */
	struct mt_task *task;
};

struct mt_pt_decoder {
	struct mt_pt_decoder_config config;
	struct pt_config packets;
	struct mt_pt_mask mask;
	struct mt_pt_windows windows;
	bool no_windows; /* any more */

	struct lane *lanes; /* a ring */
	size_t lane_count, portion_batches;
	size_t first, used;

	struct portion taken;
	size_t next;                       /* batch of it */
	struct mt_pt_carried carried;      /* by the last window that was taken as a whole */
	struct mt_pt_decoder_stats before; /* the window */
	struct mt_pt_decoder_stats stats;
	struct mt_event last; /* the gap at the end */
};

/* ---- portions ---- */

static int portion_init(struct portion *portion, const struct mt_pt_decoder *decoder)
{
	const size_t count = decoder->portion_batches;

	portion->events =
	    mt_large_alloc(count * decoder->config.batch_events * sizeof(struct mt_event));
	portion->batches = calloc(count, sizeof(*portion->batches));
	return portion->events && portion->batches ? 0 : -1;
}

static void portion_clear(struct portion *portion)
{
	for (size_t i = 0; i < portion->count; i++)
		mt_log_forget(&portion->batches[i].kept);
	portion->count = 0;
	mt_error_destroy(portion->error);
	portion->error = NULL;
	portion->ended = false;
}

static void portion_deinit(struct portion *portion)
{
	portion_clear(portion);
	free(portion->events);
	free(portion->batches);
}

/* Past the caches: the owner's still has the lines that it read when they were another batch's.  To
 * take them from it one by one costs more than decoding, where the two processors share no cache.
 */
static void hand_over(const struct mt_event *events, size_t count, struct mt_event *out)
{
	const size_t pieces = count * sizeof(*events) / sizeof(__m128i);
	const __m128i *from = (const __m128i *)events;
	__m128i *to = (__m128i *)out;

	for (size_t i = 0; i < pieces; i++)
		_mm_stream_si128(&to[i], _mm_load_si128(&from[i]));
	_mm_sfence();
}

/* ---- lanes ---- */

static int lane_init(struct lane *lane, struct mt_pt_decoder *decoder)
{
	const size_t bytes = decoder->config.batch_events * sizeof(struct mt_event);

	if (lane->decoder)
		return 0;
	if (!lane->portion.events && portion_init(&lane->portion, decoder))
		return -1;
	if (decoder->config.pool && !lane->made)
		lane->made =
		    aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1));
	if (decoder->config.pool && !lane->made)
		return -1;
	lane->decoder = decoder;
	return 0;
}

static void lane_deinit(struct lane *lane)
{
	mt_pt_shard_destroy(lane->shard);
	portion_deinit(&lane->portion);
	free(lane->made);
	free(lane->bytes);
	free(lane->copy);
}

static struct mt_error *decode_batch(struct lane *lane, bool is_ahead)
{
	struct portion *portion = &lane->portion;
	struct batch *batch = &portion->batches[portion->count];
	struct mt_event *events =
	    &portion->events[portion->count * lane->decoder->config.batch_events];

	*batch = (struct batch){0};
	portion->count++;
	if (is_ahead)
		mt_log_keep(&batch->kept);
	struct mt_error *error =
	    mt_pt_shard_next(lane->shard, is_ahead ? lane->made : events,
			     lane->decoder->config.batch_events, &batch->count, &portion->ended);
	if (is_ahead)
		mt_log_keep(NULL);
	batch->stats = mt_pt_shard_stats(lane->shard);
	if (is_ahead)
		hand_over(lane->made, batch->count, events);
	return error;
}

static struct mt_error *begin_shard(struct lane *lane)
{
	struct mt_pt_window window = lane->window;

	if (lane->keeps) {
		if (mt_array_grow((void **)&lane->copy, &lane->copy_capacity, 1, window.size))
			return mt_error_no_memory();
		memcpy(lane->copy, window.bytes, window.size);
		window.bytes = lane->copy;
	}
	if (!lane->shard)
		mt_try(mt_pt_shard_create(&lane->decoder->config, &lane->shard));
	mt_pt_shard_begin(lane->shard, &window, &lane->begun);
	lane->has_begun = true;
	return NULL;
}

/* A task, or for the owner right here; then TASK is NULL. */
static struct mt_error *decode(const struct mt_task *task, const void *input, void **result)
{
	struct lane *lane = (struct lane *)input;
	struct portion *portion = &lane->portion;
	const size_t wanted = task ? lane->decoder->portion_batches : 1;

	(void)result;
	if (!lane->has_begun)
		portion->error = begin_shard(lane);
	while (!portion->error && !portion->ended && portion->count < wanted &&
	       !(task && mt_task_is_cancelled(task)))
		portion->error = decode_batch(lane, task != NULL);
	return NULL;
}

/* With a pool the lane goes on by itself, until its portion is full. */
static struct mt_error *set_off(struct lane *lane)
{
	struct mt_pool *pool = lane->decoder->config.pool;

	return pool ? mt_pool_submit(pool, decode, lane, &lane->task) : NULL;
}

static void stop(struct lane *lane)
{
	if (!lane->task)
		return;
	mt_task_cancel(lane->task);
	mt_error_destroy(mt_task_wait(lane->task, NULL));
	lane->task = NULL;
}

/* ---- from window to window ---- */

/* What counts of it at WINDOW's beginning.  At a cut the time goes on right before that of the
 * PSB+, so that what comes first has it for its own. */
static struct mt_pt_carried at_begin(const struct mt_pt_decoder *decoder,
				     const struct mt_pt_window *window,
				     struct mt_pt_carried carried)
{
	const struct mt_pt_position *here = &window->here;
	const uint64_t before = here->tsc - MT_PT_TICKS_BEFORE;
	uint64_t time_ns;

	if (!window->continued)
		return carried;
	carried.image = NULL;
	carried.places = NULL;
	carried.is_later = true;
	if (here->has_tsc && here->tsc > MT_PT_TICKS_BEFORE && carried.tsc <= before) {
		carried.tsc = before;
		time_ns = mt_tsc_to_ns(&decoder->config.conversion, before);
		carried.time_ns = time_ns > carried.time_ns ? time_ns : carried.time_ns;
	}
	return carried;
}

/* Whether that is what at_begin() makes of it, too. */
static bool is_as_guessed(const struct mt_pt_carried *guess, const struct mt_pt_carried *carried)
{
	return guess->tracing == carried->tracing && guess->tsc == carried->tsc &&
	       guess->time_ns == carried->time_ns && !carried->unseen_kernel &&
	       !carried->in_transaction && !carried->shows_transaction && !carried->aborted &&
	       !carried->has_gap;
}

static struct mt_error *begin(struct lane *lane, const struct mt_pt_carried *carried)
{
	lane->is_guess = lane->keeps = !carried;
	lane->has_begun = lane->waits = false;
	lane->begun = at_begin(lane->decoder, &lane->window,
			       carried ? *carried
				       : (struct mt_pt_carried){
					     .tracing = lane->window.here.tracing,
					 });
	return set_off(lane);
}

/* The window's bytes are lent until the next one. */
static int keep_bytes(struct lane *lane)
{
	struct mt_pt_window *window = &lane->window;

	if (!lane->decoder->config.pool || !window->size)
		return 0;
	if (mt_array_grow((void **)&lane->bytes, &lane->capacity, 1, window->size))
		return -1;
	memcpy(lane->bytes, window->bytes, window->size);
	window->bytes = lane->bytes;
	return 0;
}

static struct lane *lane_of(struct mt_pt_decoder *decoder, size_t index)
{
	return &decoder->lanes[(decoder->first + index) % decoder->lane_count];
}

/* Give windows to all lanes that have none.  One that follows no cut waits for those before it. */
static struct mt_error *fill(struct mt_pt_decoder *decoder)
{
	while (!decoder->no_windows && decoder->used < decoder->lane_count) {
		struct lane *lane = lane_of(decoder, decoder->used);
		if (lane_init(lane, decoder))
			return mt_error_no_memory();
		int status = mt_pt_windows_next(&decoder->windows, &lane->window);

		decoder->no_windows = status != 1;
		if (status < 0 || (status && keep_bytes(lane)))
			return mt_error_no_memory();
		if (!status)
			break;
		lane->waits = !lane->window.continued || !decoder->used;
		if (decoder->used++ && !lane->waits)
			mt_try(begin(lane, NULL));
	}
	if (decoder->used && lane_of(decoder, 0)->waits)
		return begin(lane_of(decoder, 0), &decoder->carried);
	return NULL;
}

/* The first lane's window is the next one: see to it that it began with what is so. */
static struct mt_error *settle(struct mt_pt_decoder *decoder, struct lane *lane)
{
	const struct mt_pt_carried carried = at_begin(decoder, &lane->window, decoder->carried);

	if (!lane->is_guess || is_as_guessed(&lane->begun, &carried)) {
		lane->is_guess = false;
		return NULL;
	}
	stop(lane);
	/* What was found out once is not said again. */
	for (size_t i = 0; i < lane->portion.count; i++)
		mt_log_tell(&lane->portion.batches[i].kept);
	portion_clear(&lane->portion);
	return begin(lane, &decoder->carried);
}

/* Returns the lane's portion, which is full, or the window's last one. */
static struct mt_error *take(struct mt_pt_decoder *decoder)
{
	struct lane *lane = lane_of(decoder, 0);
	const struct portion empty = decoder->taken;

	mt_try(settle(decoder, lane));
	if (lane->task)
		mt_error_destroy(mt_task_wait(lane->task, NULL));
	else
		decode(NULL, lane, NULL);
	lane->task = NULL;
	decoder->taken = lane->portion;
	decoder->next = 0;
	lane->portion = empty;
	if (!decoder->taken.ended)
		return decoder->taken.error ? NULL : set_off(lane);
	decoder->carried = mt_pt_shard_carry(lane->shard);
	decoder->first = (decoder->first + 1) % decoder->lane_count;
	decoder->used--;
	return fill(decoder);
}

/* ---- batches ---- */

static struct mt_pt_decoder_stats sum(struct mt_pt_decoder_stats a, struct mt_pt_decoder_stats b)
{
	return (struct mt_pt_decoder_stats){
	    .bytes = a.bytes + b.bytes,
	    .blocks = a.blocks + b.blocks,
	    .instructions = a.instructions + b.instructions,
	    .events = a.events + b.events,
	    .gaps = a.gaps + b.gaps,
	};
}

/* Of a portion that was taken.  Returns how many events it has. */
static size_t give(struct mt_pt_decoder *decoder, struct mt_event **events)
{
	const size_t at = decoder->next++;
	struct batch *batch = &decoder->taken.batches[at];

	*events = &decoder->taken.events[at * decoder->config.batch_events];
	mt_log_tell(&batch->kept);
	decoder->stats = sum(decoder->before, batch->stats);
	if (decoder->taken.ended && decoder->next == decoder->taken.count)
		decoder->before = decoder->stats;
	return batch->count;
}

/* What was lost at the very end.  Returns how many events that is. */
static size_t give_end(struct mt_pt_decoder *decoder, struct mt_event **events)
{
	struct mt_pt_carried *carried = &decoder->carried;

	if (!carried->has_gap)
		return 0;
	decoder->last = (struct mt_event){
	    .time_ns = carried->time_ns,
	    .from = carried->bytes_lost,
	    .kind = MT_EVENT_GAP,
	    .flags = MT_EVENT_TIME_IS_ESTIMATE,
	    .detail = carried->gap_cause,
	};
	*events = &decoder->last;
	carried->has_gap = false;
	decoder->stats.events++;
	decoder->stats.gaps++;
	return 1;
}

struct mt_error *mt_pt_decoder_next(struct mt_pt_decoder *decoder, struct mt_event **events,
				    size_t *count)
{
	*count = 0;
	while (!*count) {
		if (decoder->next < decoder->taken.count) {
			*count = give(decoder, events);
			continue;
		}
		struct mt_error *error = decoder->taken.error;

		decoder->taken.error = NULL;
		portion_clear(&decoder->taken);
		decoder->next = 0;
		if (error)
			return error;
		mt_try(fill(decoder));
		if (!decoder->used) {
			*count = give_end(decoder, events);
			break;
		}
		mt_try(take(decoder));
	}
	return NULL;
}

struct mt_pt_decoder_stats mt_pt_decoder_stats(const struct mt_pt_decoder *decoder)
{
	return decoder->stats;
}

/* ---- making ---- */

/* As many windows as there are workers, and the one that is taken from. */
static void share_pool(struct mt_pt_decoder *decoder)
{
	const struct mt_pt_decoder_config *config = &decoder->config;
	const size_t sharers = config->sharers ? config->sharers : 1;
	size_t workers = config->pool ? mt_pool_thread_count(config->pool) : 0;

	decoder->lane_count = 1 + workers / sharers;
	decoder->portion_batches = config->pool ? 1 + PORTION_BATCHES / sharers : 1;
}

struct mt_error *mt_pt_decoder_create(const struct mt_pt_decoder_config *config,
				      struct mt_pt_decoder **out)
{
	struct mt_pt_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return mt_error_no_memory();
	decoder->config = *config;
	if (!config->batch_events)
		decoder->config.batch_events = MT_PT_BATCH_EVENTS;
	mt_pt_libipt_config(&decoder->packets, &config->cpu, &config->timing, &decoder->mask);
	decoder->mask.for_libipt = config->by_libipt;
	decoder->windows.source = config->source;
	decoder->windows.config = &decoder->packets;
	decoder->windows.bytes = config->window_bytes ? config->window_bytes : MT_PT_WINDOW_BYTES;
	share_pool(decoder);
	decoder->lanes = calloc(decoder->lane_count, sizeof(*decoder->lanes));
	if (!decoder->lanes || portion_init(&decoder->taken, decoder)) {
		mt_pt_decoder_destroy(decoder);
		return mt_error_no_memory();
	}
	*out = decoder;
	return NULL;
}

void mt_pt_decoder_destroy(struct mt_pt_decoder *decoder)
{
	if (!decoder)
		return;
	for (size_t i = 0; decoder->lanes && i < decoder->lane_count; i++)
		if (decoder->lanes[i].task)
			mt_task_cancel(decoder->lanes[i].task);
	for (size_t i = 0; decoder->lanes && i < decoder->lane_count; i++) {
		stop(&decoder->lanes[i]);
		lane_deinit(&decoder->lanes[i]);
	}
	free(decoder->lanes);
	portion_deinit(&decoder->taken);
	mt_pt_windows_deinit(&decoder->windows);
	free(decoder);
}
