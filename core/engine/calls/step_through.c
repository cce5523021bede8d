/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that a debugger steps into although it was to step over calls: a function that is on
 * the stack ends with a jump to another one, in which `next 3` goes on.  Nobody can know that
 * before, so its patches leave the text when the thread is about to be stepped at its entry. */
#include "engine/calls/private.h"

static struct mt_error *see_standing(void *context, pid_t lwp)
{
	const struct mt_calls_engine *engine = context;
	struct user_regs_struct registers;

	return engine->target->ops->get_registers(engine->target, lwp, &registers);
}

/* Whether some of them are in the text, and none is a trigger's, which would be lost. */
static bool has_patches(const struct mt_calls_space *space, const struct mt_calls_place *place,
			const struct mt_plan_function *function)
{
	const struct mt_plan *plan = place->module->file->plan;
	bool is_written = false;

	mt_array_each (one, &space->breaks)
		if (one->address - place->module->bias - function->start <
		    function->end - function->start)
			return false;
	for (size_t i = mt_calls_first_patch(plan, function->start);
	     i < plan->patches.count && plan->patches.items[i].address < function->end; i++)
		is_written |= place->written[i];
	return is_written;
}

static void hold_patches(struct mt_calls_place *place, const struct mt_plan_function *function)
{
	const struct mt_plan *plan = place->module->file->plan;

	for (size_t i = mt_calls_first_patch(plan, function->start);
	     i < plan->patches.count && plan->patches.items[i].address < function->end; i++)
		mt_calls_patch_hold(place, i);
}

struct mt_error *mt_calls_step_through(struct mt_engine *base, pid_t lwp)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);
	struct mt_target *target = engine->target;
	struct user_regs_struct registers;

	if (!thread || thread->space->hidden)
		return NULL;
	mt_try(target->ops->get_registers(target, lwp, &registers));
	struct mt_calls_place *place = mt_calls_place_at(thread->space, registers.rip);
	const struct mt_plan *plan = place ? place->module->file->plan : NULL;
	const uint32_t index =
	    plan ? mt_plan_function_at(plan, registers.rip - place->module->bias) : MT_PLAN_NOWHERE;
	if (index == MT_PLAN_NOWHERE ||
	    !has_patches(thread->space, place, &plan->functions.items[index]))
		return NULL;
	struct mt_error *error =
	    target->ops->each_thread(target, thread->space->pid, see_standing, engine);
	if (error) { /* others run: the text must stay as it is */
		mt_error_destroy(error);
		return NULL;
	}
	hold_patches(place, &plan->functions.items[index]);
	mt_try(mt_calls_text_write(engine, thread->space, place));
	return mt_calls_record_missed(base, lwp);
}
