/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/trampoline/image.h"

#include "base/search.h"
#include "engine/calls/trampoline/cfi.h"

#include <string.h>

#define PAGE 4096u
/* Of a trampoline, as a rule: for a first guess. */
#define USUAL_BYTES 96
#define USUAL_ROWS  15
#define REACH       0x7fffffffull
#define MOST_BYTES  (1ull << 31)

struct making {
	const struct mt_plan *plan;
	const struct mt_image_config *config;
	struct mt_image *image;
	struct mt_trampolines trampolines;
	struct mt_trampoline_config trampoline_config;
	MT_ARRAY(uint32_t) parts;
	MT_ARRAY(struct mt_cfi_hole) holes;
};

static void making_cleanup(struct making *making)
{
	mt_trampolines_deinit(&making->trampolines);
	mt_array_deinit(&making->parts);
	mt_array_deinit(&making->holes);
}

static struct mt_error *too_large(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "its trampolines would take more than 2 GiB");
}

static struct mt_error *make_trampoline(struct making *making, size_t index)
{
	const struct mt_patch *patch = &making->plan->patches.items[index];
	const struct mt_image_config *config = making->config;
	uint32_t *offset = &making->image->offsets.items[index];
	size_t before = making->trampolines.code.count;

	*offset = MT_TRAMPOLINE_NONE;
	if (patch->address < config->start || patch->address + patch->length > config->end)
		return NULL;
	if (before > MOST_BYTES)
		return too_large();
	switch (mt_trampoline_append(&making->trampolines, &making->trampoline_config, patch,
				     config->clean + (patch->address - config->start),
				     config->first_site + patch->site)) {
	case 0:
		*offset = (uint32_t)before;
		break;
	case -1:
		return mt_error_no_memory();
	}
	return NULL;
}

static struct mt_error *make_trampolines(struct making *making)
{
	size_t count = making->plan->patches.count;
	struct mt_image *image = making->image;

	if (mt_array_reserve(&making->trampolines.code, count * USUAL_BYTES) ||
	    mt_array_reserve(&making->trampolines.rows, count * USUAL_ROWS) ||
	    mt_array_reserve(&image->offsets, count + 1))
		return mt_error_no_memory();
	image->offsets.count = count;
	if (mt_trampolines_share(&making->trampolines, &making->trampoline_config))
		return mt_error_no_memory();
	image->shared_bytes = (uint32_t)making->trampolines.code.count;
	for (size_t i = 0; i < count; i++)
		mt_try(make_trampoline(making, i));
	if (mt_trampolines_link(&making->trampolines, &making->trampoline_config, making->plan,
				image->offsets.items))
		return mt_error_no_memory();
	return NULL;
}

static int compare_hole(const void *left, const void *right)
{
	const struct mt_cfi_hole *one = left, *other = right;

	return one->address < other->address ? -1 : one->address > other->address;
}

static int collect(struct making *making)
{
	if (making->image->shared_bytes && mt_array_push(&making->parts, 0u))
		return -1;
	for (size_t i = 0; i < making->plan->patches.count; i++) {
		const struct mt_patch *patch = &making->plan->patches.items[i];
		struct mt_cfi_hole hole = {patch->hole, patch->address};

		if (making->image->offsets.items[i] == MT_TRAMPOLINE_NONE)
			continue;
		if (mt_array_push(&making->parts, making->image->offsets.items[i]) ||
		    (patch->hole && mt_array_push(&making->holes, hole)))
			return -1;
	}
	if (making->holes.count)
		qsort(making->holes.items, making->holes.count, sizeof(*making->holes.items),
		      compare_hole);
	return 0;
}

/* The image's bytes, of its parts. */
static int join(struct making *making, const struct mt_cfi_image *cfi)
{
	struct mt_image *image = making->image;
	size_t size = image->holes + making->holes.count * sizeof(uint64_t);

	image->bytes = (__typeof__(image->bytes)){calloc(1, size), size, size};
	if (!image->bytes.items)
		return -1;
	memcpy(image->bytes.items, making->trampolines.code.items, image->code_bytes);
	memcpy(image->bytes.items + image->table, cfi->bytes.items, cfi->bytes.count);
	for (size_t i = 0; i < making->holes.count; i++) {
		uint32_t at = (uint32_t)(image->holes + i * sizeof(uint64_t));

		memcpy(image->bytes.items + at, &making->holes.items[i].address, sizeof(uint64_t));
		if (mt_array_push(&image->fixes.at[MT_FIX_ADDRESS], at))
			return -1;
	}
	return 0;
}

static struct mt_error *make(struct making *making)
{
	struct mt_image *image = making->image;
	struct mt_cfi_image cfi;

	mt_try(make_trampolines(making));
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		image->code_fixes[kind] = (uint32_t)image->fixes.at[kind].count;
	if (collect(making))
		return mt_error_no_memory();
	image->code_bytes = (uint32_t)making->trampolines.code.count;
	image->spare = (image->code_bytes + PAGE - 1) & ~(PAGE - 1);
	image->table = image->spare + MT_IMAGE_SPARE_BYTES;
	image->part_count = (uint32_t)making->parts.count;
	image->hole_count = (uint32_t)making->holes.count;
	const struct mt_cfi_config config = {
	    .code = making->config->base,
	    .address = making->config->base + image->table,
	    .parts = making->parts.items,
	    .part_count = making->parts.count,
	    .holes = making->holes.items,
	    .hole_count = making->holes.count,
	    .fixes = &image->fixes,
	};
	if (mt_cfi_build(&making->trampolines, &config, &cfi))
		return mt_error_no_memory();
	uint64_t holes = (image->table + cfi.bytes.count + 7) & ~7ull;
	image->holes = (uint32_t)holes;
	int failed = holes <= MOST_BYTES && join(making, &cfi);
	mt_cfi_image_deinit(&cfi);
	if (holes > MOST_BYTES)
		return too_large();
	return failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_image_make(const struct mt_plan *plan, const struct mt_image_config *config,
			       struct mt_image *image)
{
	__attribute__((cleanup(making_cleanup))) struct making making = {
	    .plan = plan,
	    .config = config,
	    .image = image,
	    .trampoline_config =
		{
		    .address = config->base,
		    .shared = config->base,
		    .ring_bytes = config->ring_bytes,
		    .alive = config->outlives_us,
		    .stamps = config->stamps,
		    .movable = config->movable,
		    .fixes = &image->fixes,
		},
	};

	*image = (struct mt_image){
	    .base = config->base,
	    .first_site = config->first_site,
	    .fixes = {.low = config->start, .high = config->end},
	};
	struct mt_error *error = make(&making);
	if (error)
		mt_image_deinit(image);
	return error;
}

bool mt_image_reaches(const struct mt_image *image, const struct mt_image_place *place)
{
	uint64_t low = image->fixes.low + place->bias, high = image->fixes.high + place->bias;
	uint64_t end = place->room + image->bytes.count;

	return (high > end ? high : end) - (low < place->room ? low : place->room) <= REACH;
}

static void add_u32(uint8_t *at, uint32_t more)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	value += more;
	memcpy(at, &value, sizeof(value));
}

static void add_u64(uint8_t *at, uint64_t more)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	value += more;
	memcpy(at, &value, sizeof(value));
}

static void add_pushed(uint8_t *at, uint64_t more)
{
	uint32_t low, high;

	memcpy(&low, at, sizeof(low));
	memcpy(&high, at + 8, sizeof(high));
	uint64_t value = ((uint64_t)high << 32 | low) + more;
	low = (uint32_t)value;
	high = (uint32_t)(value >> 32);
	memcpy(at, &low, sizeof(low));
	memcpy(at + 8, &high, sizeof(high));
}

static void fix_word(enum mt_fix kind, const struct mt_image *image,
		     const struct mt_image_place *place, uint8_t *word)
{
	switch (kind) {
	case MT_FIX_SITE:
		add_u32(word, place->first_site - image->first_site);
		break;
	case MT_FIX_TEXT:
		add_u32(word, (uint32_t)(place->bias - (place->room - image->base)));
		break;
	case MT_FIX_ADDRESS:
		add_u64(word, place->bias);
		break;
	case MT_FIX_PUSHED:
		add_pushed(word, place->bias);
		break;
	case MT_FIX_ALIVE:
		memcpy(word, &place->alive, sizeof(place->alive));
		break;
	case MT_FIX_KINDS:
		break;
	}
}

static bool is_needless(enum mt_fix kind, const struct mt_image *image,
			const struct mt_image_place *place)
{
	return (kind == MT_FIX_SITE && place->first_site == image->first_site) ||
	       (kind == MT_FIX_TEXT && place->bias == place->room - image->base);
}

/* The first one at OFFSET or behind. */
static uint32_t find_fix(const uint32_t *at, uint32_t count, uint32_t offset)
{
	return (uint32_t)mt_partition_point(i, 0, count, at[i] < offset);
}

/* Words may lie across both ends: what is beside the piece is copied with it. */
void mt_image_copy_code(const struct mt_image *image, const struct mt_image_place *place,
			uint32_t from, uint32_t end, uint8_t *bytes)
{
	const uint32_t before = from < MT_IMAGE_MARGIN ? from : MT_IMAGE_MARGIN;
	const uint8_t *start = image->bytes.items + from - before;
	const size_t size = before + end - from + MT_IMAGE_MARGIN;

	if (image->kept.memory)
		mt_kept_copy(&image->kept, start, bytes - before, size);
	else
		memcpy(bytes - before, start, size);
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++) {
		const uint32_t *at = image->fixes.at[kind].items;
		const uint32_t count = image->code_fixes[kind];

		if (is_needless(kind, image, place))
			continue;
		for (uint32_t i = find_fix(at, count, from - before); i < count && at[i] < end; i++)
			fix_word(kind, image, place, bytes + at[i] - from);
	}
}

void mt_image_fix_tables(struct mt_image *image, const struct mt_image_place *place)
{
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		for (uint32_t i = image->code_fixes[kind]; i < image->fixes.at[kind].count; i++)
			fix_word(kind, image, place,
				 image->bytes.items + image->fixes.at[kind].items[i]);
	if (place->room > image->fixes.low + place->bias)
		mt_cfi_holes_first(image->bytes.items + image->table, image->part_count,
				   image->hole_count);
}

void mt_image_deinit(struct mt_image *image)
{
	if (image->kept.memory) {
		mt_kept_unmap(&image->kept);
		*image = (struct mt_image){0};
		return;
	}
	mt_array_deinit(&image->bytes);
	mt_array_deinit(&image->offsets);
	mt_fixes_deinit(&image->fixes);
}
