/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_window.h"

#include "base/array.h"
#include "pt/packet.h"

#include <string.h>

/* A carry that grows beyond this without a PSB is decoded as it is; the join is lost. */
#define CARRY_LIMIT_BYTES (64u << 20)
#define PSB_TRIES         4

void mt_pt_windows_deinit(struct mt_pt_windows *windows)
{
	free(windows->carry);
	windows->carry = NULL;
}

static void add_gap(struct mt_pt_windows *windows, enum mt_gap_cause cause, uint64_t bytes_lost)
{
	if (!windows->has_gap)
		windows->gap_cause = cause;
	windows->has_gap = true;
	windows->bytes_lost += bytes_lost;
}

/* The last PSB after the first byte that can be read.  Returns its offset, 0 if there is none. */
static size_t last_cut(const struct mt_pt_windows *windows, const uint8_t *bytes, size_t size,
		       struct mt_pt_position *position)
{
	size_t end = size;

	for (int i = 0; i < PSB_TRIES; i++) {
		size_t psb = mt_pt_find_last_psb(bytes, end);

		if (psb == 0 || psb == end)
			return 0;
		if (!mt_pt_position_at_psb(windows->config, bytes, size, psb, position))
			return psb;
		end = psb + MT_PT_PSB_BYTES - 1;
	}
	return 0;
}

static int give(struct mt_pt_windows *windows, uint8_t *bytes, size_t size, bool continues,
		struct mt_pt_window *out)
{
	out->bytes = bytes;
	out->size = size;
	out->continued = windows->is_continued;
	out->here = windows->next;
	out->continues = continues;
	windows->next = out->next;
	out->has_gap = windows->has_gap;
	out->gap_cause = windows->gap_cause;
	out->bytes_lost = windows->bytes_lost;
	out->repeated = windows->repeated < size ? windows->repeated : size;
	windows->repeated -= out->repeated;
	windows->has_gap = false;
	windows->bytes_lost = 0;
	windows->is_continued = continues;
	return 1;
}

/* The carry to its end, after which nothing joins.  Returns 0 when there is nothing to say. */
static int give_rest(struct mt_pt_windows *windows, struct mt_pt_window *out)
{
	uint8_t *bytes = windows->carry ? windows->carry + windows->carry_begin : NULL;
	size_t size = windows->carry_end - windows->carry_begin;

	if (!windows->is_synced && size) {
		add_gap(windows, MT_GAP_BAD_TRACE, size);
		size = 0;
	}
	out->snapshot = windows->snapshot;
	windows->snapshot = 0;
	windows->is_synced = false;
	windows->carry_begin = windows->carry_end = 0;
	if (!size && !out->snapshot)
		return 0;
	return give(windows, bytes, size, false, out);
}

/* An empty piece is there for its gap. */
static void finish_piece(struct mt_pt_windows *windows)
{
	if (windows->piece_taken < windows->piece.size || windows->piece.has_gap)
		return;
	windows->snapshot = windows->piece.snapshot;
	windows->has_piece = false;
}

/* As much as a window still needs; where no PSB was found, twice as much as there was. */
static int append(struct mt_pt_windows *windows)
{
	size_t held = windows->carry_end - windows->carry_begin;
	size_t count = windows->piece.size - windows->piece_taken;
	size_t wanted = held < windows->bytes ? windows->bytes - held : held;

	if (count > wanted)
		count = wanted;
	if (mt_array_grow((void **)&windows->carry, &windows->carry_capacity, 1, held + count + 1))
		return -1;
	memmove(windows->carry, windows->carry + windows->carry_begin, held);
	if (count)
		memcpy(windows->carry + held, windows->piece.bytes + windows->piece_taken, count);
	windows->carry_begin = 0;
	windows->carry_end = held + count;
	windows->piece_taken += count;
	finish_piece(windows);
	return 0;
}

static int give_from_carry(struct mt_pt_windows *windows, struct mt_pt_window *out)
{
	uint8_t *bytes = windows->carry + windows->carry_begin;
	size_t size = windows->carry_end - windows->carry_begin;
	size_t cut = last_cut(windows, bytes, size, &out->next);

	if (cut) {
		windows->carry_begin += cut;
		return give(windows, bytes, cut, true, out);
	}
	return size > CARRY_LIMIT_BYTES ? give_rest(windows, out) : 0;
}

/* One step.  Returns 1 with a window, 0 to go on, -1 without memory. */
static int take_piece(struct mt_pt_windows *windows, struct mt_pt_window *out)
{
	struct mt_pt_piece *piece = &windows->piece;

	bool stands_alone = !windows->piece_taken && (!piece->joined || piece->has_gap);

	if (stands_alone || windows->snapshot) {
		if (give_rest(windows, out))
			return 1;
		if (piece->has_gap)
			add_gap(windows, piece->gap_cause, piece->bytes_lost);
		piece->has_gap = false;
		windows->repeated = piece->repeated;
		piece->repeated = 0;
		piece->joined = true;
	}
	if (append(windows))
		return -1;
	if (!windows->is_synced) {
		/* Let go of what stands before the first PSB, but for what may be a part of it. */
		size_t psb = mt_pt_find_psb(windows->carry, windows->carry_end, 0);

		windows->is_synced = psb < windows->carry_end;
		if (windows->is_synced) {
			windows->carry_begin = psb;
		} else if (windows->carry_end >= MT_PT_PSB_BYTES) {
			windows->carry_begin = windows->carry_end - (MT_PT_PSB_BYTES - 1);
			add_gap(windows, MT_GAP_BAD_TRACE, windows->carry_begin);
		}
	}
	return windows->is_synced ? give_from_carry(windows, out) : 0;
}

int mt_pt_windows_next(struct mt_pt_windows *windows, struct mt_pt_window *out)
{
	*out = (struct mt_pt_window){0};
	for (;;) {
		if (!windows->has_piece) {
			windows->piece = (struct mt_pt_piece){0};
			windows->piece_taken = 0;
			windows->has_piece = windows->source.next_piece(windows->source.context,
									&windows->piece) == 1;
		}
		if (!windows->has_piece)
			break;
		int status = take_piece(windows, out);
		if (status)
			return status;
	}
	if (give_rest(windows, out))
		return 1;
	return windows->has_gap ? give(windows, NULL, 0, false, out) : 0;
}

/* 0: there is none in its first PSB+. */
static uint64_t first_tsc(const struct mt_pt_window *window)
{
	struct mt_pt_packet packet = {.kind = MT_PT_PSB};
	size_t at = 0;

	do {
		int size = mt_pt_packet_decode(window->bytes + at, window->size - at, &packet);

		if (size <= 0)
			return 0;
		at += (size_t)size;
	} while (packet.kind != MT_PT_TSC && mt_pt_packet_leaves_in_psb(&packet, true));
	return packet.kind == MT_PT_TSC ? packet.payload : 0;
}

/* A PSB that is earlier than the window's first one is garbled. */
uint64_t mt_pt_window_latest(const struct mt_pt_window *window)
{
	const uint64_t next = window->next.tsc;
	bool is_known = window->continues && window->next.has_tsc && next > MT_PT_TICKS_BEFORE &&
			next > first_tsc(window);

	return is_known ? next - MT_PT_TICKS_BEFORE : UINT64_MAX;
}
