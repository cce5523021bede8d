/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A single breakpoint that comes or goes: where its bytes, or those of the jump that leads to it,
 * are all that changes in a text, the rest is not looked at. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/state/state.h"

#include <string.h>

#define PAGE 4096u

/* The patch whose jump led to FORMER is turned to what is before it now. */
static struct mt_error *turn_jump(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space,
				  const struct mt_calls_place *place,
				  const struct mt_calls_break *one, uint64_t former, bool *done)
{
	const struct mt_calls_module *module = place->module;
	ssize_t index = mt_calls_patch_at(place, one->address);
	const struct mt_patch *patch =
	    index >= 0 ? &module->file->plan->patches.items[index] : NULL;
	uint8_t before[MT_PATCH_JUMP_BYTES], after[MT_PATCH_JUMP_BYTES], there[MT_PATCH_JUMP_BYTES];

	if (!patch || patch->address + module->bias != one->address ||
	    !mt_calls_is_on(place, (size_t)index))
		return NULL;
	uint64_t at = patch->hole ? patch->hole + module->bias : one->address;
	uint64_t trampoline = module->room + module->offsets[index];
	mt_calls_make_jump(before, at, former);
	mt_calls_make_jump(after, at, mt_calls_stub_before(space, one->address, trampoline));
	if (engine->target->ops->read(engine->target, space->pid, at, there, sizeof(there)) !=
		sizeof(there) ||
	    memcmp(there, before, sizeof(there)) != 0)
		return NULL;
	*done = true;
	return engine->target->ops->write(engine->target, space->pid, at, after, sizeof(after));
}

/* One in bytes of the program's own, in one page. */
static struct mt_error *put_break(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space,
				  const struct mt_calls_place *place,
				  const struct mt_calls_break *one, bool *done)
{
	uint8_t bytes[MT_CALLS_BREAK_BYTES], there[MT_CALLS_BREAK_BYTES];

	if (one->address / PAGE != (one->address + one->length - 1) / PAGE ||
	    mt_calls_break_disturbs(place, one) ||
	    engine->target->ops->read(engine->target, space->pid, one->address, there,
				      one->length) != one->length ||
	    memcmp(there, one->original, one->length) != 0)
		return NULL;
	*done = true;
	mt_calls_break_bytes(one, bytes);
	return engine->target->ops->write(engine->target, space->pid, one->address, bytes,
					  one->length);
}

struct mt_error *mt_calls_text_write_break(struct mt_calls_engine *engine,
					   struct mt_calls_space *space,
					   struct mt_calls_place *place,
					   const struct mt_calls_break *one)
{
	bool done = false;

	if (one->held)
		return NULL;
	if (!space->hidden && !space->is_left && place->checked)
		mt_try(one->length ? put_break(engine, space, place, one, &done)
				   : turn_jump(engine, space, place, one, one->next, &done));
	return done ? NULL : mt_calls_text_write(engine, space, place);
}

struct mt_error *mt_calls_text_turn_from(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, struct mt_calls_place *place,
					 const struct mt_calls_break *one)
{
	bool done = false;

	if (!space->hidden && place->checked)
		mt_try(turn_jump(engine, space, place, one, mt_calls_stub_entry(one), &done));
	return done ? NULL : mt_calls_text_write(engine, space, place);
}
