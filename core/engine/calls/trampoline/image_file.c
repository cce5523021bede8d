/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/trampoline/image.h"

#include <string.h>

enum { BYTES, OFFSETS, NUMBERS, FIXES, PARTS = FIXES + MT_FIX_KINDS };

/* Of trampolines: of fewer the file need not stay open, one of hundreds. */
#define LEAST_READ (64u << 10)

_Static_assert(PARTS <= MT_KEPT_MOST_PARTS, "kept.h");

/* What is not an array. */
struct numbers {
	uint32_t code_bytes, spare, table, holes, part_count, hole_count, first_site;
	uint32_t code_fixes[MT_FIX_KINDS];
	uint64_t base, low, high, shared_bytes;
};

struct mt_error *mt_image_store(const struct mt_image *image, const struct mt_kept_key *key,
				const char *path)
{
	struct numbers numbers = {
	    .code_bytes = image->code_bytes,
	    .shared_bytes = image->shared_bytes,
	    .spare = image->spare,
	    .table = image->table,
	    .holes = image->holes,
	    .part_count = image->part_count,
	    .hole_count = image->hole_count,
	    .first_site = image->first_site,
	    .base = image->base,
	    .low = image->fixes.low,
	    .high = image->fixes.high,
	};
	struct mt_kept_part parts[PARTS] = {
	    [BYTES] = {image->bytes.items, image->bytes.count, 1},
	    [OFFSETS] = {image->offsets.items, image->offsets.count, sizeof(uint32_t)},
	    [NUMBERS] = {&numbers, 1, sizeof(numbers)},
	};

	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++) {
		numbers.code_fixes[kind] = image->code_fixes[kind];
		parts[FIXES + kind] = (struct mt_kept_part){
		    image->fixes.at[kind].items, image->fixes.at[kind].count, sizeof(uint32_t)};
	}
	return mt_kept_store(key, parts, PARTS, path);
}

/* All that is fixed lies within the image, and what belongs to trampolines among them, by
 * offset. */
static bool are_fixes_sound(const struct mt_image *image)
{
	static const uint8_t sizes[MT_FIX_KINDS] = {[MT_FIX_SITE] = 4,
						    [MT_FIX_TEXT] = 4,
						    [MT_FIX_ADDRESS] = 8,
						    [MT_FIX_PUSHED] = 12,
						    [MT_FIX_ALIVE] = 8};

	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++) {
		const uint32_t *at = image->fixes.at[kind].items;
		size_t count = image->fixes.at[kind].count;

		if (image->code_fixes[kind] > count)
			return false;
		for (size_t i = 0; i < count; i++)
			if ((uint64_t)at[i] + sizes[kind] > (i < image->code_fixes[kind]
								 ? image->code_bytes
								 : image->bytes.count) ||
			    (i && i < image->code_fixes[kind] && at[i] < at[i - 1]))
				return false;
	}
	return true;
}

/* As mt_image_make() leaves it: trampolines in the order of their patches, behind what they share.
 */
static bool is_whole(const struct mt_image *image)
{
	uint64_t table_bytes = 12 + 8 * ((uint64_t)image->part_count + image->hole_count);
	uint64_t next = image->shared_bytes, parts = image->shared_bytes != 0;

	if (image->code_bytes > image->spare || image->spare % 4096 ||
	    image->table != (uint64_t)image->spare + MT_IMAGE_SPARE_BYTES ||
	    image->table + table_bytes > image->holes || image->holes % 8 ||
	    image->holes + image->hole_count * (uint64_t)8 != image->bytes.count)
		return false;
	mt_array_each (offset, &image->offsets) {
		if (*offset == MT_TRAMPOLINE_NONE)
			continue;
		if (*offset < next || *offset >= image->code_bytes)
			return false;
		next = *offset + (uint64_t)1;
		parts++;
	}
	return parts == image->part_count && are_fixes_sound(image);
}

/* Of the file's; the mapping is the image's. */
#define lend(array, part)                                                                          \
	((array)->items = (part)->items, (array)->count = (array)->capacity = (part)->count)

static void fill(struct mt_image *image, const struct mt_kept_part *parts)
{
	struct numbers numbers;

	memcpy(&numbers, parts[NUMBERS].items, sizeof(numbers));
	*image = (struct mt_image){
	    .code_bytes = numbers.code_bytes,
	    .shared_bytes = (uint32_t)numbers.shared_bytes,
	    .spare = numbers.spare,
	    .table = numbers.table,
	    .holes = numbers.holes,
	    .part_count = numbers.part_count,
	    .hole_count = numbers.hole_count,
	    .first_site = numbers.first_site,
	    .base = numbers.base,
	    .fixes = {.low = numbers.low, .high = numbers.high},
	};
	lend(&image->bytes, &parts[BYTES]);
	lend(&image->offsets, &parts[OFFSETS]);
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++) {
		lend(&image->fixes.at[kind], &parts[FIXES + kind]);
		image->code_fixes[kind] = numbers.code_fixes[kind];
	}
}

static bool is_sound(const void *context, const struct mt_kept_part *parts)
{
	struct mt_image image;

	(void)context;
	/* Else words would not begin with one. */
	if (parts[NUMBERS].count != 1 || parts[BYTES].count % sizeof(uint32_t) != 0)
		return false;
	fill(&image, parts);
	return image.bytes.count && is_whole(&image);
}

bool mt_image_load(const struct mt_plan *plan, const struct mt_kept_key *key, const char *path,
		   struct mt_image *image)
{
	const struct mt_kept_check check = {.is_sound = is_sound};
	struct mt_kept_part parts[PARTS] = {[BYTES] = {.size = 1},
					    [OFFSETS] = {.size = sizeof(uint32_t)},
					    [NUMBERS] = {.size = sizeof(struct numbers)}};
	struct mt_kept_map kept;

	*image = (struct mt_image){0};
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		parts[FIXES + kind].size = sizeof(uint32_t);
	if (!mt_kept_map(key, parts, PARTS, path, &check, &kept))
		return false;
	fill(image, parts);
	if (image->code_bytes < LEAST_READ)
		mt_kept_close(&kept);
	image->kept = kept;
	/* The plan may have been made anew since. */
	if (image->offsets.count == plan->patches.count)
		return true;
	mt_image_deinit(image);
	return false;
}
