/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text as it would be without us, while people look at the program.
 *
 * A thread within a trampoline is put to where it stands in effect, with its registers: the rows of
 * the trampolines show how.  What it would record again on its way through the patch is taken out
 * of its ring.  When the patches come back, those stay out whose displaced bytes somebody may stand
 * in or come into. */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <string.h>

#define MOST_TAIL_SLOTS 6 /* an event, its stamp's halves, and a line's stamp or two */

static uint64_t slot_bytes(const struct mt_calls_engine *engine)
{
	return engine->options.stamps == MT_RING_FULL ? 16 : 8;
}

static uint32_t site_at(const struct mt_calls_thread *thread, uint64_t at)
{
	const struct mt_calls_rings *rings = thread->rings;
	uint32_t site;

	memcpy(&site,
	       rings->bytes + thread->ring * rings->ring_bytes + (at & (rings->ring_bytes - 1)),
	       sizeof(site));
	return site;
}

/* Where the newest event begins, if it is of SITE; else `written`. */
static uint64_t begin_of_event(const struct mt_calls_engine *engine,
			       const struct mt_calls_thread *thread, uint64_t written,
			       uint32_t site)
{
	uint64_t bytes = slot_bytes(engine);

	for (unsigned i = 1; i <= MOST_TAIL_SLOTS && i * bytes <= written; i++)
		if (site_at(thread, written - i * bytes) == site)
			return written - i * bytes;
	return written;
}

static void take_back_event(const struct mt_calls_engine *engine,
			    const struct mt_calls_thread *thread,
			    const struct mt_calls_module *module,
			    const struct mt_trampoline_row *row, uint64_t pc)
{
	const struct mt_patch *patch =
	    mt_plan_patch_at(module->file->plan, row->original - module->bias);
	uint64_t before, written;

	if (row->phase == MT_PHASE_DISPLACED || !thread->rings)
		return;
	before = written = mt_calls_written(thread);
	if (row->phase == MT_PHASE_RECORDING && mt_calls_is_half_written(module, pc))
		written -= slot_bytes(engine);
	else if (row->phase == MT_PHASE_RECORDED && patch &&
		 patch->address + module->bias == row->original)
		written = begin_of_event(engine, thread, written, module->site_base + patch->site);
	if (written != before && written >= thread->begin)
		mt_calls_unwrite(thread, written);
}

/* The skipped part of the stack need not exist: the first push may have faulted. */
static unsigned pushed_bytes(const struct mt_trampoline_row *row)
{
	return row->below - (row->below >= MT_RING_RED_ZONE ? MT_RING_RED_ZONE : 0);
}

struct mt_error *mt_calls_leave_trampoline(struct mt_calls_engine *engine,
					   struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	uint64_t stack[UINT8_MAX / sizeof(uint64_t)] = {0};

	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	const struct mt_calls_place *place =
	    mt_calls_place_of_trampoline(thread->space, registers.rip);
	if (!place)
		return NULL;
	const struct mt_trampoline_row *row = mt_trampoline_row_at(
	    &place->module->trampolines, (uint32_t)(registers.rip - place->module->room));
	if (!row || engine->target->ops->read(engine->target, thread->pid, registers.rsp, stack,
					      pushed_bytes(row)) != pushed_bytes(row))
		return NULL;
	take_back_event(engine, thread, place->module, row, registers.rip);
	/* Pushed in this order, the program's own values first. */
	unsigned pushes = pushed_bytes(row) / sizeof(uint64_t);
	if (row->saved & MT_SAVED_RAX && pushes >= 1)
		registers.rax = stack[pushes - 1];
	if (row->saved & MT_SAVED_RDX && pushes >= 2)
		registers.rdx = stack[pushes - 2];
	if (row->saved & MT_SAVED_RCX && pushes >= 3)
		registers.rcx = stack[pushes - 3];
	registers.rsp += row->below;
	registers.rip = row->original;
	return engine->target->ops->set_registers(engine->target, thread->lwp, &registers);
}

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
		struct mt_error *error =
		    thread->space == space ? mt_calls_leave_trampoline(engine, thread) : NULL;

		/* It ended meanwhile. */
		if (error && mt_error_code(error) != MT_ERROR_GONE)
			return error;
		mt_error_destroy(error);
	}
	return NULL;
}

/* Who looks at the program takes his time, and no event is to seem to have happened in it. */
static void anchor(const struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->space == space)
			mt_calls_anchor(thread, mt_clock_tsc());
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
	anchor(engine, space);
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
	anchor(engine, space);
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
