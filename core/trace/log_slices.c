/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/log_slices.h"

#include <string.h>

struct mt_error *mt_log_slices_init(struct mt_log_slices *slices)
{
	*slices = (struct mt_log_slices){.capacity = MT_LOG_SLICES_LEAST, .generation = 1};
	slices->slots = calloc(slices->capacity, sizeof(*slices->slots));
	return slices->slots ? NULL : mt_error_no_memory();
}

void mt_log_slices_deinit(struct mt_log_slices *slices)
{
	mt_array_deinit(&slices->items);
	free(slices->slots);
	slices->slots = NULL;
}

void mt_log_slices_forget(struct mt_log_slices *slices)
{
	slices->used = 0;
	if (++slices->generation)
		return;
	/* Once around: slots of an old generation must not look like those of this one. */
	memset(slices->slots, 0, slices->capacity * sizeof(*slices->slots));
	slices->generation = 1;
}

void mt_log_slices_clear(struct mt_log_slices *slices)
{
	mt_log_slices_forget(slices);
	slices->items.count = 0;
}

static void put(struct mt_log_slices *slices, uint32_t number)
{
	size_t at = mt_log_slices_hash(&slices->items.items[number]);

	for (size_t i = 0; i < MT_LOG_SLICES_PROBES; i++) {
		struct mt_log_slices_slot *slot = &slices->slots[(at + i) & (slices->capacity - 1)];

		if (slot->generation == slices->generation)
			continue;
		*slot = (struct mt_log_slices_slot){number, slices->generation};
		slices->used++;
		return;
	}
}

/* Twice as many slots.  Returns 0, or -1 without memory. */
static int grow(struct mt_log_slices *slices)
{
	struct mt_log_slices_slot *old = slices->slots;
	size_t count = slices->capacity;
	struct mt_log_slices_slot *slots = calloc(2 * count, sizeof(*slots));

	if (!slots)
		return -1;
	slices->slots = slots;
	slices->capacity = 2 * count;
	slices->used = 0;
	for (size_t i = 0; i < count; i++)
		if (old[i].generation == slices->generation)
			put(slices, old[i].number);
	free(old);
	return 0;
}

uint32_t mt_log_slices_add(struct mt_log_slices *slices, const struct mt_log_slice *slice)
{
	if ((2 * slices->used >= slices->capacity && grow(slices)) ||
	    slices->items.count >= MT_LOG_SLICES_NONE || mt_array_push(&slices->items, *slice))
		return MT_LOG_SLICES_NONE;

	uint32_t number = (uint32_t)slices->items.count - 1;

	put(slices, number);
	return number;
}
