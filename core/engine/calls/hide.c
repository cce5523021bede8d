/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text as it would be without us, while people look at the program.  When the patches come
 * back, those stay out whose displaced bytes somebody may come into: a debugger's breakpoints, and
 * what it steps through.  A debugger may let threads go on one by one: while some run, which may
 * be in any of them, none comes back. */
#include "engine/calls/private.h"

#include "base/search.h"
#include "process/inject.h"
#include "process/interrupted.h"
#include "process/proc.h"

#include <stdlib.h>
#include <string.h>

/* Of thousands of patches few are in a part of the text where somebody is. */
#define PART 1024u

struct mt_error *mt_calls_clean(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t child)
{
	if (mt_proc_share_memory(space->pid, child) > 0)
		return NULL;
	struct mt_calls_space *copy = mt_calls_space_copy(space, child);
	struct mt_error *error = copy ? NULL : mt_error_no_memory();

	const bool is_patched = !space->hidden || space->masked;

	for (size_t i = 0; !error && is_patched && i < copy->places.count; i++)
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
			error = mt_calls_leave_covered(engine, thread);
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
	bool is_aside;

	if (space->hidden)
		return NULL;
	space->hidden = true;
	anchor(engine, space, mt_calls_anchor);
	space->hidden_tsc = mt_clock_tsc();
	mt_try(mt_calls_mask(engine, space, &is_aside));
	if (!space->masked)
		mt_array_each (place, &space->places)
			mt_try(mt_calls_text_clean(engine, space, place));
	if (!is_aside) {
		mt_try(leave_trampolines(engine, space));
		mt_try(mt_calls_leave_interrupted(engine, space));
	}
	anchor(engine, space, mt_calls_anchor);
	return NULL;
}

/* Whether one of the addresses lies in [start, end). */
static bool lies_in(const uint64_t *addresses, size_t count, uint64_t start, uint64_t end)
{
	const size_t low = mt_partition_point(i, 0, count, addresses[i] < start);
	return low < count && addresses[low] < end;
}

enum way { CLEAR, BY_PLACE, BY_OTHER };

struct showing {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	const struct mt_engine_alone *alone;
	bool was_masked;
	bool runs;                   /* a thread of the program's already */
	MT_ARRAY(uint64_t) standing; /* where threads do, or will when a signal handler returns */
};

/* At a patch's first byte one stands well: the whole jump lies ahead. */
static bool is_among(const uint64_t *addresses, size_t count, const struct mt_calls_module *module,
		     const struct mt_patch *patch)
{
	uint64_t start = patch->address + module->bias, hole = patch->hole + module->bias;

	return lies_in(addresses, count, start + 1, start + patch->length) ||
	       (patch->hole && lies_in(addresses, count, hole, hole + MT_PATCH_JUMP_BYTES));
}

static bool is_alone(const struct mt_engine_alone *alone, const struct mt_calls_module *module,
		     uint32_t index)
{
	const struct mt_plan_function *function = &module->file->plan->functions.items[index];

	return lies_in(alone->functions, alone->function_count, function->start + module->bias,
		       function->end + module->bias);
}

static enum way find_way(const struct mt_engine_alone *alone, const struct mt_calls_module *module,
			 const struct mt_patch *patch)
{
	if (is_alone(alone, module, patch->function))
		return BY_OTHER;
	return is_among(alone->places, alone->place_count, module, patch) ? BY_PLACE : CLEAR;
}

/* Of a line's condition, if nobody stands in its bytes.  At the first of them none of the
 * debugger's breakpoints can be, either: the thread that stops there goes on in the copy. */
static bool is_line_clear(const struct showing *showing, const struct mt_calls_break *one)
{
	const struct mt_engine_alone *alone = showing->alone;
	const struct mt_calls_place *place = mt_calls_place_at(showing->space, one->address);
	const struct mt_calls_module *module = place ? place->module : NULL;
	const uint32_t function =
	    module ? mt_plan_function_at(module->file->plan, one->address - module->bias)
		   : MT_PLAN_NOWHERE;

	return function != MT_PLAN_NOWHERE && !is_alone(alone, module, function) &&
	       !lies_in(alone->places, alone->place_count, one->address,
			one->address + one->length);
}

static struct mt_error *add_standing(void *context, uint64_t address)
{
	struct showing *showing = context;

	return mt_array_push(&showing->standing, address) ? mt_error_no_memory() : NULL;
}

/* In the displaced bytes of a patch that comes back a thread goes on in their copy; at the first
 * one if its call was recorded. */
static uint64_t copy_for(const struct showing *showing, pid_t lwp,
			 const struct user_regs_struct *registers)
{
	const struct mt_calls_place *place = mt_calls_place_at(showing->space, registers->rip);
	const struct mt_plan *plan = place ? place->module->file->plan : NULL;
	const struct mt_patch *patch =
	    plan ? mt_plan_patch_at(plan, registers->rip - place->module->bias) : NULL;
	size_t index = patch ? (size_t)(patch - plan->patches.items) : 0;

	if (!patch ||
	    (patch->address + place->module->bias == registers->rip &&
	     !mt_calls_has_entered(mt_calls_find_thread(showing->engine, lwp), registers)) ||
	    place->off[index] || place->module->offsets[index] == MT_CALLS_NONE ||
	    find_way(showing->alone, place->module, patch) != CLEAR ||
	    mt_inject_is_restarted(registers))
		return 0;
	return mt_calls_module_copy_of(place->module, index, registers->rip);
}

static uint64_t line_copy_for(const struct showing *showing,
			      const struct user_regs_struct *registers)
{
	uint64_t copy = 0;

	if (mt_inject_is_restarted(registers))
		return 0;
	mt_array_each (one, &showing->space->breaks)
		if (!copy && (copy = mt_calls_line_copy_in(one, registers->rip)) &&
		    !is_line_clear(showing, one))
			return 0;
	return copy;
}

static struct mt_error *settle_thread(void *context, pid_t lwp)
{
	struct showing *showing = context;
	struct mt_target *target = showing->engine->target;
	struct user_regs_struct registers;
	struct mt_error *error = target->ops->get_registers(target, lwp, &registers);

	if (error) {
		showing->runs |= !mt_proc_has_ended(lwp);
		mt_error_destroy(error);
		return NULL;
	}
	uint64_t copy = copy_for(showing, lwp, &registers);
	if (!copy)
		copy = line_copy_for(showing, &registers);
	if (copy) {
		registers.rip = copy;
		mt_try(target->ops->set_registers(target, lwp, &registers));
	}
	mt_try(add_standing(showing, registers.rip));
	const struct mt_calls_thread *thread =
	    showing->was_masked ? mt_calls_find_thread(showing->engine, lwp) : NULL;
	if (thread && thread->quiet_sp == registers.rsp)
		return NULL;
	return mt_interrupted_each(target, showing->space->pid, registers.rsp, add_standing,
				   showing);
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

static enum way way_of(const struct showing *showing, const struct mt_calls_module *module,
		       const struct mt_patch *patch)
{
	const enum way way = find_way(showing->alone, module, patch);

	return way == CLEAR &&
		       is_among(showing->standing.items, showing->standing.count, module, patch)
		   ? BY_OTHER
		   : way;
}

static void mark_parts(const struct mt_calls_module *module, const uint64_t *addresses,
		       size_t count, bool *parts)
{
	for (size_t i = 0; i < count; i++)
		if (addresses[i] >= module->start && addresses[i] < module->end)
			parts[(addresses[i] - module->start) / PART] = true;
}

static bool touches(const struct mt_calls_module *module, uint64_t address, size_t length,
		    const bool *parts)
{
	const uint64_t at = address + module->bias - module->start;

	return parts[at / PART] || parts[(at + length - 1) / PART];
}

/* PARTS: of the module's text. */
static bool is_aside(const struct mt_calls_module *module, const struct mt_patch *patch,
		     const bool *parts)
{
	return !touches(module, patch->address, patch->length, parts) &&
	       !(patch->hole && touches(module, patch->hole, MT_PATCH_JUMP_BYTES, parts));
}

/* Where the patches of functions are that are stepped through. */
static void mark_functions(const struct mt_calls_module *module,
			   const struct mt_engine_alone *alone, bool *parts)
{
	const struct mt_plan *plan = module->file->plan;
	const uint64_t size = module->end - module->start;

	for (size_t i = 0; i < alone->function_count; i++) {
		const uint64_t address = alone->functions[i];
		const uint32_t index = address - module->start < size
					   ? mt_plan_function_at(plan, address - module->bias)
					   : MT_PLAN_NOWHERE;

		if (index == MT_PLAN_NOWHERE)
			continue;
		const struct mt_plan_function *function = &plan->functions.items[index];
		const uint64_t start = function->start + module->bias - module->start;
		const uint64_t end = function->end + module->bias - module->start + MT_CALLS_NEAR;
		uint64_t at = start > MT_CALLS_NEAR ? start - MT_CALLS_NEAR : 0;

		for (at /= PART; at <= (end < size ? end : size - 1) / PART; at++)
			parts[at] = true;
	}
}

static struct mt_error *hold_patch(const struct showing *showing, struct mt_calls_place *place,
				   size_t index)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_patch *patch = &module->file->plan->patches.items[index];
	const uint64_t start = patch->address + module->bias;

	if (way_of(showing, module, patch) != CLEAR)
		mt_calls_patch_hold(place, index);
	else if (lies_in(showing->alone->places, showing->alone->place_count, start, start + 1) &&
		 mt_calls_cover(showing->space, place, index))
		return mt_error_no_memory();
	return NULL;
}

/* Those in whose parts somebody is. */
static struct mt_error *hold_near(const struct showing *showing, struct mt_calls_place *place,
				  const bool *parts)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const size_t count = (module->end - module->start) / PART + 1;
	const bool *part = parts;
	size_t next = 0;

	while ((part = memchr(part, 1, count - (size_t)(part - parts)))) {
		const uint64_t start =
		    module->start - module->bias + (uint64_t)(part++ - parts) * PART;
		const size_t first =
		    mt_calls_first_patch(plan, start > MT_CALLS_NEAR ? start - MT_CALLS_NEAR : 0);
		const size_t end = mt_calls_first_patch(plan, start + PART + MT_CALLS_NEAR);

		for (next = next > first ? next : first; next < end; next++)
			if (!is_aside(module, &plan->patches.items[next], parts))
				mt_try(hold_patch(showing, place, next));
	}
	return NULL;
}

/* Those that need one that stays out do as well. */
static struct mt_error *hold_anew(const struct showing *showing, struct mt_calls_place *place,
				  const bool *parts)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const size_t count = plan->patches.count;

	mt_calls_patches_release(place);
	mt_try(hold_near(showing, place, parts));
	for (size_t i = 0; (i = mt_calls_next_held(place, i)) < count; i++)
		if (way_of(showing, module, &plan->patches.items[i]) != BY_OTHER &&
		    mt_calls_miss(showing->space, place, i))
			return mt_error_no_memory();
	for (size_t i = 0; showing->runs && i < count; i++)
		if (!place->written[i] && mt_calls_is_on(place, i))
			mt_calls_patch_hold(place, i);
	return NULL;
}

/* From one stop to the next they are mostly the same. */
static struct mt_error *hold_patches_at(const struct showing *showing, struct mt_calls_place *place,
					const bool *parts)
{
	const bool was_current = place->is_current;
	const size_t from = place->held_from, size = place->held_end - from;
	uint8_t *before = malloc(size + 1);

	if (before)
		memcpy(before, place->held + from, size);
	struct mt_error *error = hold_anew(showing, place, parts);
	if (before && !error && place->held_from == from && place->held_end - from == size &&
	    memcmp(before, place->held + from, size) == 0)
		place->is_current = was_current;
	free(before);
	return error;
}

static struct mt_error *hold_patches(const struct showing *showing, struct mt_calls_place *place)
{
	const struct mt_calls_module *module = place->module;
	bool *parts = calloc((module->end - module->start) / PART + 1, sizeof(*parts));

	if (!parts)
		return mt_error_no_memory();
	mark_parts(module, showing->alone->places, showing->alone->place_count, parts);
	mark_parts(module, showing->standing.items, showing->standing.count, parts);
	mark_functions(module, showing->alone, parts);
	struct mt_error *error = hold_patches_at(showing, place, parts);
	free(parts);
	return error;
}

static void hold_lines(const struct showing *showing)
{
	mt_array_each (one, &showing->space->breaks)
		one->held = mt_calls_break_is_line(one) &&
			    (!is_line_clear(showing, one) || (showing->runs && !one->written) ||
			     lies_in(showing->standing.items, showing->standing.count,
				     one->address + 1, one->address + one->length));
}

/* Is to be recorded, but not by its patch, which is left out. */
static bool is_left_out(struct mt_calls_space *space, uint64_t address)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, address);
	const ssize_t patch = place ? mt_calls_planned_at(place, address) : -1;

	return patch >= 0 && !place->off[patch] && place->module->offsets[patch] != MT_CALLS_NONE &&
	       !place->written[patch];
}

/* The debugger has a breakpoint there in the patch's place, and the thread comes to it. */
static bool comes_to_breakpoint(const struct showing *showing, pid_t lwp, uint64_t address)
{
	const struct mt_engine_alone *alone = showing->alone;

	for (size_t i = 0; i < alone->told_count; i++)
		if (alone->told[i] == lwp)
			return false;
	return mt_calls_is_missed(showing->space, address);
}

/* Who stands at such an entry enters the function now. */
static struct mt_error *record_standing(const struct showing *showing)
{
	struct mt_calls_engine *engine = showing->engine;

	for (const struct mt_calls_thread *thread = engine->threads; thread;
	     thread = thread->hh.next) {
		struct user_regs_struct registers;

		if (thread->space != showing->space)
			continue;
		struct mt_error *error =
		    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);
		if (error) { /* it runs, or ended */
			mt_error_destroy(error);
			continue;
		}
		if (is_left_out(showing->space, registers.rip) &&
		    !comes_to_breakpoint(showing, thread->lwp, registers.rip) &&
		    !mt_calls_has_entered(thread, &registers))
			mt_try(mt_calls_record_missed(&engine->base, thread->lwp));
	}
	return NULL;
}

static struct mt_error *show(struct showing *showing)
{
	struct mt_calls_space *space = showing->space;
	struct mt_target *target = showing->engine->target;

	mt_try(target->ops->each_thread(target, space->pid, settle_thread, showing));
	if (showing->standing.count)
		qsort(showing->standing.items, showing->standing.count, sizeof(uint64_t), compare);
	hold_lines(showing);
	mt_array_each (place, &space->places) {
		bool done = false;

		mt_try(hold_patches(showing, place));
		if (showing->was_masked)
			mt_try(mt_calls_text_update(showing->engine, space, place, &done));
		if (!done)
			mt_try(mt_calls_text_write(showing->engine, space, place));
	}
	return record_standing(showing);
}

struct mt_error *mt_calls_show(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       const struct mt_engine_alone *alone)
{
	struct showing showing = {
	    .engine = engine, .space = space, .alone = alone, .was_masked = space->masked};

	if (!space->hidden)
		return NULL;
	space->hidden = space->masked = false;
	space->missed.count = space->covered.count = 0;
	anchor(engine, space, mt_calls_note_resumed);
	for (const struct mt_calls_thread *thread = engine->threads; thread;
	     thread = thread->hh.next)
		if (thread->space == space && space->hidden_tsc)
			mt_calls_hold(thread, mt_clock_tsc() - space->hidden_tsc);
	struct mt_error *error = show(&showing);
	mt_array_deinit(&showing.standing);
	return error;
}
