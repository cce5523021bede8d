/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files that write trampolines:
 *
 *	trampoline.c  a trampoline, of its parts
 *	record.c      what puts an event into the ring
 *	displaced.c   copies of the displaced instructions
 *
 * Instruction encodings: Intel SDM vol. 2.  Each is written as it stands in a listing, with the
 * mnemonic beside it. */
#ifndef MT_ENGINE_CALLS_TRAMPOLINE_EMIT_H
#define MT_ENGINE_CALLS_TRAMPOLINE_EMIT_H

#include "engine/calls/trampoline/trampoline.h"

#include <string.h>

#define MT_EMIT_MOST_SLOTS    9 /* of an entry and two returns, each an event and a stamp */
#define MT_EMIT_MOST_BRANCHES (MT_PATCH_MAX_BYTES / 2)

/* One trampoline while it is written.  `failed` stays set; it is looked at once, at the end. */
struct mt_emitter {
	struct mt_trampolines *out;
	const struct mt_trampoline_config *config;
	struct mt_trampoline_row row; /* what holds for the code that comes next */
	bool failed;
	bool cannot_move;
	/* Jumps out of line that wait for their call of what is shared. */
	struct {
		size_t at; /* of the rel32 */
		size_t back;
		bool two_slots;
		struct mt_trampoline_row row;
	} stamps[MT_EMIT_MOST_SLOTS];
	size_t stamp_count;
	size_t branches[MT_EMIT_MOST_BRANCHES]; /* rel32 of those that are redirected */
	size_t branch_count;
	uint64_t low, high; /* of what distances are to */
};

static inline void mt_emit_bytes(struct mt_emitter *to, const void *code, size_t count)
{
	if (to->failed || mt_array_reserve(&to->out->code, to->out->code.count + count)) {
		to->failed = true;
		return;
	}
	memcpy(to->out->code.items + to->out->code.count, code, count);
	to->out->code.count += count;
}

#define mt_emit(to, ...)                                                                           \
	mt_emit_bytes((to), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void mt_emit_imm32(struct mt_emitter *to, uint32_t value)
{
	mt_emit_bytes(to, &value, sizeof(value));
}

static inline uint64_t mt_emit_here(const struct mt_emitter *to)
{
	return to->config->address + to->out->code.count;
}

/* A word AHEAD bytes from here is one to fix. */
static inline void mt_emit_fix(struct mt_emitter *to, enum mt_fix kind, size_t ahead)
{
	struct mt_fixes *fixes = to->config->fixes;

	if (fixes && mt_array_push(&fixes->at[kind], (uint32_t)(to->out->code.count + ahead)))
		to->failed = true;
}

/* The same of a distance to TARGET. */
static inline void mt_emit_fix_distance(struct mt_emitter *to, uint64_t target, size_t ahead)
{
	if (target < to->low)
		to->low = target;
	if (target > to->high)
		to->high = target;
	mt_emit_fix(to, MT_FIX_TEXT, ahead);
}

/* The displacement from the end of its own four bytes to TARGET, outside of the code. */
static inline void mt_emit_rel32(struct mt_emitter *to, uint64_t target)
{
	int64_t distance = (int64_t)(target - (mt_emit_here(to) + 4));

	if (distance != (int32_t)distance)
		to->cannot_move = true;
	mt_emit_fix_distance(to, target, 0);
	mt_emit_imm32(to, (uint32_t)distance);
}

static inline void mt_emit_link(struct mt_emitter *to, size_t at, size_t target)
{
	uint32_t distance = (uint32_t)(target - (at + 4));

	if (!to->failed)
		memcpy(to->out->code.items + at, &distance, sizeof(distance));
}

static inline void mt_emit_row(struct mt_emitter *to)
{
	to->row.offset = (uint32_t)to->out->code.count;
	if (mt_array_push(&to->out->rows, to->row))
		to->failed = true;
}

enum mt_recorded { MT_RECORDED_ENTRY, MT_RECORDED_RETURN, MT_RECORDED_AGAIN };

/* record.c */
/* An event at an ORIGINAL address; no register is changed by it. */
void mt_emit_event(struct mt_emitter *to, const struct mt_patch *patch, uint64_t original,
		   uint32_t site, enum mt_recorded what);
/* Out of line: what a slot jumps to that would have been a line's first. */
void mt_emit_line_stamp(struct mt_emitter *to, size_t index);
/* What that calls. */
void mt_emit_shared(struct mt_emitter *to);

/* displaced.c */
/* The patch's own bytes FROM, and the events of returns among them, of which the first is SITE; and
 * the way back. */
void mt_emit_displaced(struct mt_emitter *to, const struct mt_patch *patch, const uint8_t *from,
		       uint32_t site);
/* Where redirected branches among them lead: the return SITE is recorded, and done; or where the
 * function goes on. */
void mt_emit_redirected(struct mt_emitter *to, const struct mt_patch *patch, uint32_t site);

#endif
