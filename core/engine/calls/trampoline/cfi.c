/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/trampoline/cfi.h"

#include <dwarf.h>
#include <string.h>

/* Not in dwarf.h under these names: LSB Core, "DWARF Exception Header Encoding". */
#define PCREL_SDATA4   (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define DATAREL_SDATA4 (DW_EH_PE_datarel | DW_EH_PE_sdata4)

/* System V ABI, AMD64 supplement, "DWARF Register Number Mapping". */
enum { RAX, RDX, RCX, RSP = 7, RETURN_ADDRESS = 16 };

#define WORD 8
/* The search table: a head of three words, and then pairs of distances from its beginning. */
#define TABLE_HEAD_BYTES 12
#define TABLE_ITEM_BYTES 8

/* Of the search table: where an FDE's code begins, and where the FDE stands. */
struct found {
	uint64_t code, frame;
	bool is_hole;
};

struct builder {
	const struct mt_trampolines *trampolines;
	const struct mt_cfi_config *config;
	struct mt_cfi_image *out;
	MT_ARRAY(struct found) found;
	uint64_t cie;
	bool failed;
};

static void put(struct builder *to, const void *bytes, size_t size)
{
	if (to->failed || mt_array_reserve(&to->out->bytes, to->out->bytes.count + size)) {
		to->failed = true;
		return;
	}
	memcpy(to->out->bytes.items + to->out->bytes.count, bytes, size);
	to->out->bytes.count += size;
}

#define put_bytes(to, ...)                                                                         \
	put((to), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_u32(struct builder *to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

/* All values are below 2^14. */
static void put_uleb(struct builder *to, uint32_t value)
{
	if (value >= 0x80) {
		put_bytes(to, (uint8_t)(value | 0x80), (uint8_t)(value >> 7));
		return;
	}
	put_bytes(to, (uint8_t)value);
}

static uint64_t here(const struct builder *to)
{
	return to->config->address + to->out->bytes.count;
}

/* The word that comes next. */
static void fix(struct builder *to, enum mt_fix kind)
{
	struct mt_fixes *fixes = to->config->fixes;

	if (fixes && mt_array_push(&fixes->at[kind], (uint32_t)(here(to) - to->config->code)))
		to->failed = true;
}

static void put_distance(struct builder *to, uint64_t target, uint64_t from)
{
	int64_t distance = (int64_t)(target - from);

	if (distance != (int32_t)distance)
		to->failed = true;
	put_u32(to, (uint32_t)distance);
}

static void set_u32(struct builder *to, size_t at, uint32_t value)
{
	if (!to->failed)
		memcpy(to->out->bytes.items + at, &value, sizeof(value));
}

static void align(struct builder *to, size_t to_bytes, uint8_t with)
{
	while (!to->failed && to->out->bytes.count % to_bytes)
		put(to, &with, 1);
}

/* Lengths are those of what follows them, filled up to whole words. */
static size_t begin_entry(struct builder *to)
{
	put_u32(to, 0);
	return to->out->bytes.count;
}

static void end_entry(struct builder *to, size_t start)
{
	align(to, WORD, DW_CFA_nop);
	set_u32(to, start - sizeof(uint32_t), (uint32_t)(to->out->bytes.count - start));
}

static void put_cie(struct builder *to)
{
	to->cie = here(to);
	size_t start = begin_entry(to);

	put_u32(to, 0);
	put_bytes(to, 1, 'z', 'R', 'S', 0);
	put_bytes(to, 1, (uint8_t)-WORD & 0x7f, RETURN_ADDRESS); /* factors, as LEB128 */
	put_bytes(to, 1, PCREL_SDATA4);
	put_bytes(to, DW_CFA_def_cfa, RSP, 0);
	end_entry(to, start);
}

static size_t begin_fde(struct builder *to, uint64_t code, uint32_t size, bool is_hole)
{
	struct found found = {.code = code, .frame = here(to), .is_hole = is_hole};
	size_t start = begin_entry(to);

	put_u32(to, (uint32_t)(here(to) - to->cie));
	if (is_hole)
		fix(to, MT_FIX_TEXT);
	put_distance(to, code, here(to));
	put_u32(to, size);
	put_bytes(to, 0);
	if (mt_array_push(&to->found, found))
		to->failed = true;
	return start;
}

static void put_advance(struct builder *to, uint32_t bytes)
{
	uint16_t wide = (uint16_t)bytes;

	if (bytes == 0)
		return;
	if (bytes < 0x40) {
		put_bytes(to, (uint8_t)(DW_CFA_advance_loc | bytes));
	} else if (bytes <= UINT8_MAX) {
		put_bytes(to, DW_CFA_advance_loc1, (uint8_t)bytes);
	} else {
		put_bytes(to, DW_CFA_advance_loc2);
		put(to, &wide, sizeof(wide));
		to->failed |= bytes > UINT16_MAX;
	}
}

static int compare_hole(const void *left, const void *right)
{
	const struct mt_cfi_hole *one = left, *other = right;

	return one->address < other->address ? -1 : one->address > other->address;
}

/* A displaced instruction may have stood where a hole is now.  A byte further on its own function's
 * call frame information says the same, and the hole's is not meant. */
static uint64_t beside_hole(const struct builder *to, uint64_t original)
{
	const struct mt_cfi_hole wanted = {.address = original};

	return to->config->hole_count && bsearch(&wanted, to->config->holes, to->config->hole_count,
						 sizeof(wanted), compare_hole)
		   ? original + 1
		   : original;
}

static void put_original(struct builder *to, uint64_t original)
{
	original = beside_hole(to, original);
	put_bytes(to, DW_CFA_val_expression, RETURN_ADDRESS, 1 + sizeof(original), DW_OP_addr);
	fix(to, MT_FIX_ADDRESS);
	put(to, &original, sizeof(original));
}

/* The code that trampolines share was called. */
static void put_returned(struct builder *to)
{
	put_bytes(to, DW_CFA_offset | RETURN_ADDRESS, 1);
}

/* The pushes begin below the red zone, if it was stepped over. */
static void put_saved(struct builder *to, const struct mt_trampoline_row *row, uint8_t before)
{
	static const uint8_t order[] = {RAX, RDX, RCX}; /* as MT_SAVED_… has them */
	uint32_t above = row->below >= MT_RING_RED_ZONE ? MT_RING_RED_ZONE / WORD : 0;

	for (unsigned i = 0; i < sizeof(order); i++) {
		uint8_t bit = (uint8_t)(1u << i);

		if (!((row->saved ^ before) & bit))
			continue;
		if (row->saved & bit) {
			put_bytes(to, DW_CFA_offset | order[i]);
			put_uleb(to, above + i + 1);
		} else {
			put_bytes(to, DW_CFA_same_value, order[i]);
		}
	}
}

static void put_cfa(struct builder *to, int below)
{
	if (below >= 0) {
		put_bytes(to, DW_CFA_def_cfa_offset);
		put_uleb(to, (uint32_t)below);
	} else {
		put_bytes(to, DW_CFA_def_cfa_offset_sf);
		put_uleb(to, (uint32_t)-below / WORD); /* of a factor less than 0 */
	}
}

static uint32_t part_end(const struct builder *to, size_t index)
{
	return index + 1 < to->config->part_count ? to->config->parts[index + 1]
						  : (uint32_t)to->trampolines->code.count;
}

static void put_trampoline(struct builder *to, uint32_t offset, uint32_t end)
{
	const struct mt_trampoline_row *row = mt_trampoline_row_at(to->trampolines, offset);
	const struct mt_trampoline_row *last = mt_array_last(&to->trampolines->rows);
	struct mt_trampoline_row before = {.offset = offset};
	size_t start = begin_fde(to, to->config->code + offset, end - offset, false);

	if (row && row->phase == MT_PHASE_SHARED)
		put_returned(to);
	for (; row && row <= last && row->offset < end; row++) {
		/* Of several at one place the last one holds. */
		if (row < last && row[1].offset == row->offset)
			continue;
		if (row->below == before.below && row->saved == before.saved &&
		    row->original == before.original)
			continue;
		put_advance(to, row->offset - before.offset);
		if (row->below != before.below)
			put_cfa(to, row->below);
		put_saved(to, row, before.saved);
		if (row->original != before.original)
			put_original(to, row->original);
		before = *row;
	}
	end_entry(to, start);
}

static void put_frames(struct builder *to)
{
	put_cie(to);
	for (size_t i = 0; i < to->config->part_count; i++)
		put_trampoline(to, to->config->parts[i], part_end(to, i));
	for (size_t i = 0; i < to->config->hole_count; i++) {
		const struct mt_cfi_hole *hole = &to->config->holes[i];
		size_t start = begin_fde(to, hole->address, MT_PATCH_JUMP_BYTES, true);

		put_original(to, hole->original);
		end_entry(to, start);
	}
	put_u32(to, 0); /* the end, for those who walk */
}

static void fill_search_table(struct builder *to)
{
	const uint64_t table = to->config->address;
	uint64_t end = to->out->bytes.count;

	if (to->failed)
		return;
	to->out->bytes.count = sizeof(uint32_t);
	put_distance(to, to->cie, here(to));
	put_u32(to, (uint32_t)to->found.count);
	mt_array_each (found, &to->found) {
		if (found->is_hole)
			fix(to, MT_FIX_TEXT);
		put_distance(to, found->code, table);
		put_distance(to, found->frame, table);
	}
	to->out->bytes.count = end;
}

int mt_cfi_build(const struct mt_trampolines *trampolines, const struct mt_cfi_config *config,
		 struct mt_cfi_image *image)
{
	struct builder to = {.trampolines = trampolines, .config = config, .out = image};

	*image = (struct mt_cfi_image){0};
	put_bytes(&to, 1, PCREL_SDATA4, DW_EH_PE_udata4, DATAREL_SDATA4);
	for (size_t i = 0; i < 2 + 2 * (config->part_count + config->hole_count); i++)
		put_u32(&to, 0);
	align(&to, WORD, 0);
	put_frames(&to);
	fill_search_table(&to);
	mt_array_deinit(&to.found);
	if (!to.failed)
		return 0;
	mt_cfi_image_deinit(image);
	return -1;
}

static void reverse(uint8_t *items, size_t first, size_t end)
{
	uint64_t one, other;

	for (; first + 1 < end; first++, end--) {
		memcpy(&one, items + first * TABLE_ITEM_BYTES, TABLE_ITEM_BYTES);
		memcpy(&other, items + (end - 1) * TABLE_ITEM_BYTES, TABLE_ITEM_BYTES);
		memcpy(items + first * TABLE_ITEM_BYTES, &other, TABLE_ITEM_BYTES);
		memcpy(items + (end - 1) * TABLE_ITEM_BYTES, &one, TABLE_ITEM_BYTES);
	}
}

/* Each half turned round, and then the whole. */
void mt_cfi_holes_first(uint8_t *image, size_t part_count, size_t hole_count)
{
	uint8_t *items = image + TABLE_HEAD_BYTES;

	reverse(items, 0, part_count);
	reverse(items, part_count, part_count + hole_count);
	reverse(items, 0, part_count + hole_count);
}

void mt_cfi_image_deinit(struct mt_cfi_image *image)
{
	mt_array_deinit(&image->bytes);
}
