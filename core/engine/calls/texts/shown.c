/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text as it was when it was shown last, beside the file's own one: as long as the same patches
 * are in it, what people look at and what runs are two images that take turns. */
#include "engine/calls/texts/texts.h"

#include <string.h>

#define MOST_BYTES ((size_t)16 << 20) /* of a text that is kept */

static size_t text_bytes(const struct mt_calls_place *place)
{
	return place->module->end - place->module->start;
}

static size_t patch_count(const struct mt_calls_place *place)
{
	return place->module->file->plan->patches.count;
}

/* What is there for them changes with their conditions. */
static bool has_breaks(const struct mt_calls_space *space, const struct mt_calls_place *place)
{
	mt_array_each (one, &space->breaks)
		if (one->address - place->module->start < text_bytes(place))
			return true;
	return false;
}

void mt_calls_shown_forget(struct mt_calls_place *place)
{
	free(place->shown);
	place->shown = NULL;
}

void mt_calls_shown_keep(const struct mt_calls_space *space, struct mt_calls_place *place,
			 const uint8_t *text)
{
	const size_t size = text_bytes(place), count = patch_count(place);

	if (size > MOST_BYTES || has_breaks(space, place)) {
		mt_calls_shown_forget(place);
		return;
	}
	if (!place->shown)
		place->shown = malloc(size + 2 * count);
	if (!place->shown)
		return; /* it is composed again */
	memcpy(place->shown, text, size);
	memcpy(place->shown + size, place->held, count);
	memcpy(place->shown + size + count, place->off, count);
}

const uint8_t *mt_calls_shown_again(const struct mt_calls_space *space,
				    const struct mt_calls_place *place, const uint8_t *memory)
{
	const size_t size = text_bytes(place), count = patch_count(place);

	return place->shown && memcmp(place->shown + size, place->held, count) == 0 &&
		       memcmp(place->shown + size + count, place->off, count) == 0 &&
		       !has_breaks(space, place) && memcmp(memory, place->module->clean, size) == 0
		   ? place->shown
		   : NULL;
}

const uint8_t *mt_calls_shown_clean(const struct mt_calls_space *space,
				    const struct mt_calls_place *place, const uint8_t *memory)
{
	return place->shown && !has_breaks(space, place) &&
		       memcmp(memory, place->shown, text_bytes(place)) == 0
		   ? place->module->clean
		   : NULL;
}
