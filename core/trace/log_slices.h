/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slices of a segment's log, each kept once and known by its number: calls come from the same
 * few sites again and again. */
#ifndef MT_TRACE_LOG_SLICES_H
#define MT_TRACE_LOG_SLICES_H

#include "base/array.h"
#include "trace/slice.h"

/* A slice, apart from its time and depth. */
struct mt_log_slice {
	const struct mt_function *function;
	const struct mt_inline *inlined; /* has the call site's source; NULL: the site itself has */
	uint64_t address;
	uint64_t call_site;
	uint64_t bytes_lost;
	uint8_t kind;
	uint8_t flags;
	uint16_t cause;
};

enum {
	MT_LOG_SLICES = 1 << 17,     /* so many, and it is full */
	MT_LOG_SLICES_LEAST = 1024,  /* slots */
	MT_LOG_SLICES_PROBES = 16,   /* a slice that is not found in so many slots is kept twice */
	MT_LOG_SLICES_NONE = 1 << 24 /* is no number */
};

struct mt_log_slices_slot {
	uint32_t number;
	uint32_t generation; /* another than the table's: the slot is free */
};

struct mt_log_slices {
	MT_ARRAY(struct mt_log_slice) items; /* by number */
	struct mt_log_slices_slot *slots;    /* open addressing, at most half full */
	size_t capacity;                     /* a power of two */
	size_t used;
	uint32_t generation;
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_log_slices_init(struct mt_log_slices *slices);
void mt_log_slices_deinit(struct mt_log_slices *slices);

/* What was numbered so far is not found any more, as GENERATION tells; its numbers count on. */
void mt_log_slices_forget(struct mt_log_slices *slices);
/* No number counts any more. */
void mt_log_slices_clear(struct mt_log_slices *slices);

static inline bool mt_log_slices_is_full(const struct mt_log_slices *slices)
{
	return slices->items.count >= MT_LOG_SLICES;
}

/* The number of a slice that was not found.  MT_LOG_SLICES_NONE without memory. */
uint32_t mt_log_slices_add(struct mt_log_slices *slices, const struct mt_log_slice *slice);

static inline size_t mt_log_slices_hash(const struct mt_log_slice *slice)
{
	/* An inlined call has no address, and may have no other distinction than where it is from.
	 */
	const uint64_t others = (uintptr_t)slice->inlined + slice->bytes_lost;
	uint64_t what = slice->address ^ slice->call_site << 21 ^ (uint64_t)slice->flags << 56 ^
			others * 0xff51afd7ed558ccdu;

	return (what * 0x9e3779b97f4a7c15u) >> 32;
}

static inline bool mt_log_slice_is(const struct mt_log_slice *slice,
				   const struct mt_log_slice *other)
{
	return slice->call_site == other->call_site && slice->address == other->address &&
	       slice->function == other->function && slice->kind == other->kind &&
	       slice->flags == other->flags && slice->inlined == other->inlined &&
	       slice->bytes_lost == other->bytes_lost && slice->cause == other->cause;
}

static inline uint32_t mt_log_slices_number(struct mt_log_slices *slices,
					    const struct mt_log_slice *slice)
{
	size_t at = mt_log_slices_hash(slice);

	for (size_t i = 0; i < MT_LOG_SLICES_PROBES; i++) {
		const struct mt_log_slices_slot *slot =
		    &slices->slots[(at + i) & (slices->capacity - 1)];

		if (slot->generation != slices->generation)
			break;
		if (mt_log_slice_is(&slices->items.items[slot->number], slice))
			return slot->number;
	}
	return mt_log_slices_add(slices, slice);
}

#endif
