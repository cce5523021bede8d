/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: the pieces of a source put together into windows, each a run of adjacent
 * bytes that can be decoded by itself because it begins with a PSB.
 *
 * Pieces join at any byte, a query needs adjacent bytes, and memory is bounded.  So a piece is
 * taken so many bytes at a time; what follows the last PSB of these is carried over and put before
 * what comes next.  Where windows are cut depends on the pieces alone.  A window that is cut at a
 * PSB says where control is there (`next`), since the decoder of the window cannot know how far
 * along direct jumps and calls control went before the PSB. */
#ifndef MT_PT_DECODE_WINDOW_H
#define MT_PT_DECODE_WINDOW_H

#include "pt/decode_query.h"

struct mt_pt_window {
	uint8_t *bytes; /* lent until the next call */
	size_t size;    /* 0: nothing to decode here, but see the rest */
	bool continued; /* the last window went on to here, */
	struct mt_pt_position here;
	bool continues; /* and this one goes on to the next */
	struct mt_pt_position next;
	bool has_gap; /* before it */
	enum mt_gap_cause gap_cause;
	uint64_t bytes_lost;
	uint32_t snapshot; /* that it ends; 0: none */
	size_t repeated;   /* bytes at its beginning, that were in the last window too */
};

struct mt_pt_windows {
	struct mt_pt_source source;
	const struct pt_config *config;
	size_t bytes; /* so many at a time */

	struct mt_pt_piece piece;
	bool has_piece;
	size_t piece_taken; /* bytes of it that went into windows or the carry */

	uint8_t *carry; /* holds [begin, end) */
	size_t carry_begin;
	size_t carry_end;
	size_t carry_capacity;
	bool is_synced;    /* the carry begins with a PSB */
	bool is_continued; /* and the last window goes on there, */
	struct mt_pt_position next;
	uint32_t snapshot; /* ends with the carry */
	size_t repeated;   /* bytes from where the next window begins */

	bool has_gap; /* before the next window */
	enum mt_gap_cause gap_cause;
	uint64_t bytes_lost;
};

/* A nanosecond at least. */
#define MT_PT_TICKS_BEFORE 8

/* The TSC of what comes last before the PSB that it is cut at: that one's is no estimate, as those
 * by cycles are. */
uint64_t mt_pt_window_latest(const struct mt_pt_window *window);

/* Zeroed storage with source, config and bytes set is ready. */
void mt_pt_windows_deinit(struct mt_pt_windows *windows);
/* Returns 1 and a window, 0 at the end, -1 without memory. */
int mt_pt_windows_next(struct mt_pt_windows *windows, struct mt_pt_window *out);

#endif
