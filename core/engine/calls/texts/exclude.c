/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patches that stay out of a text: their bytes are not the file's, a breakpoint stands among them,
 * somebody asked for it, or one that they need stays out. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/modules/modules.h"

#include <string.h>

#define JUMP       0xe9
#define SHORT_JUMP 0xeb
#define INT3       0xcc

static bool is_same(const struct mt_calls_module *module, const uint8_t *memory, uint64_t start,
		    uint64_t length)
{
	size_t at = start - module->start;

	return !memory || memcmp(memory + at, module->clean + at, length) == 0;
}

/* The file's, but for breakpoints that may go again. */
static bool is_broken(const struct mt_calls_module *module, const uint8_t *memory,
		      const struct mt_patch *patch)
{
	size_t at = patch->address + module->bias - module->start;

	for (size_t i = at; i < at + patch->length; i++)
		if (memory[i] != module->clean[i] && memory[i] != INT3)
			return false;
	return true;
}

/* Somebody else's breakpoint, or a text relocation: not ours to change. */
static bool is_foreign(const struct mt_calls_module *module, const struct mt_patch *patch,
		       const uint8_t *memory)
{
	uint64_t hole = patch->hole + module->bias;

	if (!is_same(module, memory, patch->address + module->bias, patch->length))
		return true;
	return patch->hole &&
	       (!(hole >= module->start && hole + MT_PATCH_JUMP_BYTES <= module->end) ||
		!is_same(module, memory, hole, MT_PATCH_JUMP_BYTES));
}

/* The breakpoints of a child that was followed may be half made. */
static enum mt_calls_cover cover_of(const struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_module *module,
				    const struct mt_patch *patch, const uint8_t *memory)
{
	if (!is_broken(module, memory, patch))
		return MT_CALLS_COVER_NONE;
	return engine->options.is_clean ? MT_CALLS_COVER_INSIDE
					: mt_calls_covered(engine, space, module, patch, memory);
}

static bool is_inside(const struct mt_calls_break *one, const struct mt_calls_module *module,
		      const struct mt_patch *patch)
{
	uint64_t start = patch->address + module->bias, hole = patch->hole + module->bias;
	uint64_t end = one->address + one->length;

	if (one->address == start ? one->length > 1
				  : one->address < start + patch->length && end > start)
		return true;
	return patch->hole && one->address < hole + MT_PATCH_JUMP_BYTES && end > hole;
}

/* Most modules have none, and some have a hundred thousand patches. */
static bool has_break(const struct mt_calls_space *space, const struct mt_calls_module *module)
{
	mt_array_each (one, &space->breaks)
		if (!one->hook && one->address < module->end &&
		    one->address + one->length > module->start)
			return true;
	return false;
}

static bool has_break_inside(const struct mt_calls_space *space,
			     const struct mt_calls_module *module, const struct mt_patch *patch)
{
	mt_array_each (one, &space->breaks)
		if (!one->hook && is_inside(one, module, patch))
			return true;
	return false;
}

bool mt_calls_break_disturbs(const struct mt_calls_place *place, const struct mt_calls_break *one)
{
	const struct mt_plan *plan = place->module->file->plan;

	for (size_t i = 0; i < plan->patches.count; i++)
		if (place->written[i] && is_inside(one, place->module, &plan->patches.items[i]))
			return true;
	return false;
}

struct taking_out {
	const struct mt_plan *plan;
	uint8_t *marks;
	enum mt_calls_off why;
	size_t from, end; /* of those that were */
};

static void take_out(void *context, size_t patch)
{
	struct taking_out *taking = context;

	if (taking->marks[patch])
		return;
	taking->marks[patch] = (uint8_t)taking->why;
	taking->why = MT_CALLS_OFF_NEEDS;
	if (patch < taking->from)
		taking->from = patch;
	if (patch >= taking->end)
		taking->end = patch + 1;
	mt_plan_each_dependent(taking->plan, patch, take_out, context);
}

void mt_calls_patch_off(struct mt_calls_place *place, size_t patch, enum mt_calls_off why)
{
	struct taking_out taking = {
	    .plan = place->module->file->plan, .marks = place->off, .why = why};

	place->is_current = false;
	take_out(&taking, patch);
}

void mt_calls_patch_hold(struct mt_calls_place *place, size_t patch)
{
	struct taking_out taking = {
	    .plan = place->module->file->plan,
	    .marks = place->held,
	    .why = MT_CALLS_OFF_BREAK,
	    .from = place->held_end ? place->held_from : patch,
	    .end = place->held_end,
	};

	place->is_current = false;
	take_out(&taking, patch);
	place->held_from = taking.from;
	place->held_end = taking.end;
}

size_t mt_calls_next_held(const struct mt_calls_place *place, size_t from)
{
	if (from < place->held_from)
		from = place->held_from;
	while (from < place->held_end && !place->held[from])
		from++;
	return from < place->held_end ? from : place->module->file->plan->patches.count;
}

void mt_calls_patches_release(struct mt_calls_place *place)
{
	if (!place->held_end)
		return;
	place->is_current = false;
	memset(place->held + place->held_from, 0, place->held_end - place->held_from);
	place->held_from = place->held_end = 0;
}

/* So many bytes differ that it is another file's code, or that another tool is at work in it: what
 * is the same by chance must stay out as well. */
#define MOST_FOREIGN_PART 8
#define SOME_FOREIGN      16

/* Where a jump stands, it may be one that a tracer of ours left when it was killed. */
static bool may_be_ours(const struct mt_calls_module *module, const struct mt_patch *patch,
			const uint8_t *memory)
{
	uint8_t first = memory[patch->address + module->bias - module->start];

	return first == JUMP || first == SHORT_JUMP;
}

bool mt_calls_is_another(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			 const struct mt_calls_module *module, const uint8_t *memory)
{
	size_t count = module->file->plan->patches.count, all = 0, foreign = 0;

	for (size_t i = 0; i < count; i++) {
		const struct mt_patch *patch = &module->file->plan->patches.items[i];

		if (module->offsets[i] == MT_CALLS_NONE)
			continue;
		all++;
		foreign += is_foreign(module, patch, memory) &&
			   !(space->inherited && may_be_ours(module, patch, memory)) &&
			   !cover_of(engine, space, module, patch, memory);
	}
	return foreign &&
	       (foreign == all || (foreign > SOME_FOREIGN && foreign > all / MOST_FOREIGN_PART));
}

void mt_calls_leave_alone(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			  struct mt_calls_place *place)
{
	size_t count = place->module->file->plan->patches.count;

	place->another = true;
	memset(place->written, 0, count * sizeof(*place->written));
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "calls in %s are not recorded: its code in process %d differs from the file, which "
	       "may have been replaced while the program ran; restart the program (without other "
	       "tools that change its code)",
	       place->module->file->path, space->pid);
}

static bool is_among(const mt_calls_entries *entries, uint64_t address)
{
	mt_array_each (entry, entries)
		if (*entry == address)
			return true;
	return false;
}

/* 0, or -1 without memory. */
static int add_entry(const struct mt_calls_place *place, size_t patch, mt_calls_entries *entries)
{
	const struct mt_calls_module *module = place->module;

	if (!(module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY) ||
	    place->off[patch] || module->offsets[patch] == MT_CALLS_NONE)
		return 0;
	const uint64_t entry = mt_calls_patch_address(module, patch);
	return is_among(entries, entry) ? 0 : mt_array_push(entries, entry);
}

int mt_calls_miss(struct mt_calls_space *space, const struct mt_calls_place *place, size_t patch)
{
	return add_entry(place, patch, &space->missed);
}

int mt_calls_cover(struct mt_calls_space *space, const struct mt_calls_place *place, size_t patch)
{
	return add_entry(place, patch, &space->covered);
}

bool mt_calls_is_missed(const struct mt_calls_space *space, uint64_t address)
{
	return is_among(&space->missed, address);
}

bool mt_calls_is_covered(const struct mt_calls_space *space, uint64_t address)
{
	return is_among(&space->covered, address);
}

static bool meets(const struct mt_calls_module *module, uint64_t start, uint64_t end)
{
	return start + module->bias < module->end && end + module->bias > module->start;
}

/* Neither it nor what depends on it (mt_plan_each_dependent()) lies in the mapping: a file may have
 * several with code. */
static bool is_apart(const struct mt_calls_module *module, const struct mt_patch *patch)
{
	const struct mt_plan_function *function =
	    &module->file->plan->functions.items[patch->function];

	return !meets(module, patch->address - MT_CALLS_NEAR,
		      patch->address + patch->length + MT_CALLS_NEAR) &&
	       !meets(module, function->start, function->end) &&
	       !(patch->redirect && meets(module, patch->redirect, patch->redirect + 1));
}

int mt_calls_leave_out(const struct mt_calls_engine *engine, struct mt_calls_space *space,
		       struct mt_calls_place *place, const uint8_t *memory, bool first)
{
	const struct mt_calls_module *module = place->module;
	const bool is_broken_into = has_break(space, module);

	for (size_t i = 0; i < module->file->plan->patches.count; i++) {
		const struct mt_patch *patch = &module->file->plan->patches.items[i];
		/* One that is not of this module's segment has no trampoline in it. */
		bool is_ours = module->offsets[i] != MT_CALLS_NONE;
		bool is_off =
		    is_ours && (first || !place->written[i]) && is_foreign(module, patch, memory);
		enum mt_calls_cover cover = MT_CALLS_COVER_NONE;

		if (!is_ours && !place->off[i] && is_apart(module, patch))
			place->off[i] = MT_CALLS_OFF_ROOM;
		if (is_off && memory)
			cover = cover_of(engine, space, module, patch, memory);
		if (cover == MT_CALLS_COVER_FIRST && mt_calls_cover(space, place, i))
			return -1;
		if (cover == MT_CALLS_COVER_FIRST)
			continue;
		if (cover == MT_CALLS_COVER_INSIDE) {
			mt_calls_patch_hold(place, i);
			if (mt_calls_miss(space, place, i))
				return -1;
		} else if (!is_ours) {
			mt_calls_patch_off(place, i, MT_CALLS_OFF_ROOM);
		} else if (is_off || place->another) {
			mt_calls_patch_off(place, i, MT_CALLS_OFF_FOREIGN);
		} else if (is_broken_into && has_break_inside(space, module, patch)) {
			mt_calls_patch_off(place, i, MT_CALLS_OFF_BREAK);
		}
	}
	return 0;
}
