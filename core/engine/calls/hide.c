/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text as it would be without us, while people look at the program.  When the patches come
 * back, those stay out whose displaced bytes somebody may stand in or come into. */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <string.h>

struct mt_error *mt_calls_clean(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t child)
{
	if (mt_proc_share_memory(space->pid, child) > 0)
		return NULL;
	struct mt_calls_space *copy = mt_calls_space_copy(space, child);
	struct mt_error *error = copy ? NULL : mt_error_no_memory();

	for (size_t i = 0; !error && !space->hidden && i < copy->places.count; i++)
		error = mt_calls_text_clean(engine, copy, &copy->places.items[i]);
	mt_calls_space_unref(copy);
	return error;
}

static struct mt_error *leave_trampolines(struct mt_calls_engine *engine,
					  const struct mt_calls_space *space)
{
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		struct mt_error *error = NULL;

		if (thread->space == space)
			error = mt_calls_leave_trampoline(engine, thread);
		if (!error && thread->space == space)
			error = mt_calls_stub_retreat(engine, thread);
		/* It ended meanwhile. */
		if (error && mt_error_code(error) != MT_ERROR_GONE)
			return error;
		mt_error_destroy(error);
	}
	return NULL;
}

/* Who looks at the program takes his time, and no event is to seem to have happened in it. */
static void anchor(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		   void (*note)(struct mt_calls_thread *thread, uint64_t tsc))
{
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->space == space)
			note(thread, mt_clock_tsc());
}

struct mt_error *mt_calls_hide(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	if (space->hidden)
		return NULL;
	space->hidden = true;
	space->hidden_tsc = mt_clock_tsc();
	mt_array_each (place, &space->places)
		mt_try(mt_calls_text_clean(engine, space, place));
	mt_try(leave_trampolines(engine, space));
	anchor(engine, space, mt_calls_anchor);
	return NULL;
}

/* Whether one of the addresses lies in [start, end). */
static bool lies_in(const uint64_t *addresses, size_t count, uint64_t start, uint64_t end)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && addresses[low] < end;
}

/* At a patch's first byte one stands well: the whole jump lies ahead. */
static bool is_in_the_way(const struct mt_calls_module *module, const struct mt_patch *patch,
			  const struct mt_engine_alone *alone)
{
	const struct mt_plan_function *function =
	    &module->file->plan->functions.items[patch->function];
	uint64_t start = patch->address + module->bias, hole = patch->hole + module->bias;

	return lies_in(alone->places, alone->place_count, start + 1, start + patch->length) ||
	       (patch->hole &&
		lies_in(alone->places, alone->place_count, hole, hole + MT_PATCH_JUMP_BYTES)) ||
	       lies_in(alone->functions, alone->function_count, function->start + module->bias,
		       function->end + module->bias);
}

struct mt_error *mt_calls_show(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       const struct mt_engine_alone *alone)
{
	if (!space->hidden)
		return NULL;
	space->hidden = false;
	anchor(engine, space, mt_calls_note_resumed);
	mt_array_each (place, &space->places) {
		const struct mt_plan *plan = place->module->file->plan;
		memset(place->held, 0, plan->patches.count);
		for (size_t i = 0; i < plan->patches.count; i++)
			if (is_in_the_way(place->module, &plan->patches.items[i], alone))
				mt_calls_patch_hold(place, i);
		mt_try(mt_calls_text_write(engine, space, place));
	}
	return NULL;
}
