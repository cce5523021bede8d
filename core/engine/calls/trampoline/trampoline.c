/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/trampoline/emit.h"

#include "base/search.h"

/* A trampoline that cannot be leaves nothing behind. */
static void drop_fixes(struct mt_fixes *fixes, size_t code_before)
{
	for (unsigned kind = 0; fixes && kind < MT_FIX_KINDS; kind++)
		while (fixes->at[kind].count && *mt_array_last(&fixes->at[kind]) >= code_before)
			fixes->at[kind].count--;
}

static void keep_reach(const struct mt_emitter *to)
{
	struct mt_fixes *fixes = to->config->fixes;

	if (!fixes || to->low > to->high)
		return;
	if (fixes->low > to->low || !fixes->high)
		fixes->low = to->low;
	if (fixes->high < to->high)
		fixes->high = to->high;
}

int mt_trampolines_share(struct mt_trampolines *trampolines,
			 const struct mt_trampoline_config *config)
{
	struct mt_emitter to = {.out = trampolines, .config = config};

	if (config->stamps == MT_RING_SAMPLED)
		mt_emit_shared(&to);
	return to.failed ? -1 : 0;
}

int mt_trampoline_append(struct mt_trampolines *trampolines,
			 const struct mt_trampoline_config *config, const struct mt_patch *patch,
			 const uint8_t *from, uint32_t site)
{
	struct mt_emitter to = {.out = trampolines, .config = config, .low = UINT64_MAX};
	size_t code_before = trampolines->code.count, rows_before = trampolines->rows.count;

	if (patch->flags & MT_PATCH_ENTRY)
		mt_emit_event(&to, patch, patch->address + config->bias, site++, MT_RECORDED_ENTRY);
	mt_emit_displaced(&to, patch, from, site);
	if (patch->flags & MT_PATCH_RETURN)
		site++;
	mt_emit_redirected(&to, patch, site);
	for (size_t i = 0; i < to.stamp_count; i++)
		mt_emit_line_stamp(&to, i);
	if (!to.failed && !to.cannot_move) {
		keep_reach(&to);
		return 0;
	}
	drop_fixes(config->fixes, code_before);
	trampolines->code.count = code_before;
	trampolines->rows.count = rows_before;
	return to.failed ? -1 : -2;
}

void mt_fixes_deinit(struct mt_fixes *fixes)
{
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		mt_array_deinit(&fixes->at[kind]);
}

void mt_trampolines_deinit(struct mt_trampolines *trampolines)
{
	mt_array_deinit(&trampolines->code);
	mt_array_deinit(&trampolines->rows);
}

const struct mt_trampoline_row *mt_trampoline_row_at(const struct mt_trampolines *trampolines,
						     uint32_t offset)
{
	const size_t low = mt_partition_point(i, 0, trampolines->rows.count,
					      trampolines->rows.items[i].offset <= offset);
	return low ? &trampolines->rows.items[low - 1] : NULL;
}

uint64_t mt_trampoline_reserved_at(const struct mt_trampoline_row *row, uint64_t rax, uint64_t rcx,
				   uint64_t ring, uint64_t ring_bytes, uint64_t written)
{
	uint64_t at = row->slot == MT_SLOT_RCX ? rcx : rax;

	if (at - ring < ring_bytes)
		at -= ring;
	if (row->slot == MT_SLOT_BEFORE_RAX)
		at -= sizeof(struct mt_ring_event);
	/* It is less than a round ago. */
	return written - 1 - ((written - 1 - at) & (ring_bytes - 1));
}
