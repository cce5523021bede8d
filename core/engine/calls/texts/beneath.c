/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patches beneath a debugger's breakpoints.  A breakpoint instruction that stands on a patch's
 * first byte may stay there: what it covers, and comes to be run when a thread goes on from it, is
 * the patch's jump. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/modules/modules.h"

#include <string.h>

#define INT3 0xcc

enum mt_calls_cover mt_calls_covered(const struct mt_calls_engine *engine,
				     const struct mt_calls_space *space,
				     const struct mt_calls_module *module,
				     const struct mt_patch *patch, const uint8_t *memory)
{
	const struct mt_target_ops *ops = engine->target->ops;
	uint64_t address = patch->address + module->bias;
	const uint8_t *clean = module->clean + (address - module->start);
	uint8_t beneath[UINT8_MAX];

	if (!ops->read_beneath ||
	    ops->read_beneath(engine->target, space->pid, address, beneath, patch->length) !=
		patch->length ||
	    memcmp(beneath, clean, patch->length) != 0)
		return MT_CALLS_COVER_NONE;
	return memcmp(memory + (address - module->start) + 1, clean + 1, patch->length - 1) == 0
		   ? MT_CALLS_COVER_FIRST
		   : MT_CALLS_COVER_INSIDE;
}

struct mt_error *mt_calls_write_beneath(const struct mt_calls_engine *engine,
					const struct mt_calls_space *space,
					const struct mt_calls_module *module, const uint8_t *memory,
					uint8_t *text)
{
	const struct mt_target_ops *ops = engine->target->ops;
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; ops->write_beneath && i < plan->patches.count; i++) {
		uint64_t address = mt_calls_patch_address(module, i);
		size_t at = address - module->start;

		if (module->offsets[i] == MT_CALLS_NONE || memory[at] != INT3 || text[at] == INT3)
			continue;
		mt_try(ops->write_beneath(engine->target, space->pid, address, text[at]));
		text[at] = INT3;
	}
	return NULL;
}
