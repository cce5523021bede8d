/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A debugger's breakpoints that come while the program runs: a script of the user's sets one at the
 * hit of another, or an indirect function is resolved.  An instruction amid displaced bytes is run
 * in a trampoline, where nobody comes to a breakpoint, and its byte would become a part of our
 * jump.  So the patch leaves the text up to the next stop, as show() would have left it out, and
 * threads that are about to come there by its trampoline come there by the text.
 *
 * On the first byte of a patch a breakpoint does no harm: what it covers is the whole jump
 * (beneath.c). */
#include "engine/calls/private.h"

/* Threads stop at its entry, if a condition holds. */
static bool has_trigger(const struct mt_calls_space *space, uint64_t entry)
{
	mt_array_each (one, &space->breaks)
		if (one->gate && mt_calls_break_is_at(one, entry))
			return true;
	return false;
}

/* Which patches are about to go. */
static void tell(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		 const struct mt_calls_place *place)
{
	const struct mt_calls_file *file = place->module->file;
	const size_t count = file->plan->patches.count;

	for (size_t i = 0; (i = mt_calls_next_held(place, i)) < count; i++) {
		const struct mt_patch *patch = &file->plan->patches.items[i];
		const uint64_t start = file->plan->functions.items[patch->function].start;
		const struct mt_symbol *symbol = mt_objfile_symbol_at(file->objfile, start);

		if (!place->written[i])
			continue;
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "%s of %s are not recorded up to the next stop%s: a breakpoint was set "
		       "amid their code while the program ran",
		       patch->flags & MT_PATCH_ENTRY ? "calls" : "returns",
		       symbol ? mt_objfile_symbol_name(file->objfile, symbol)
			      : "an unnamed function",
		       has_trigger(space, mt_calls_patch_address(place->module, i))
			   ? ", and triggers there not met"
			   : "");
	}
}

struct coming {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	const struct mt_calls_module *module;
	size_t patch;
	uint64_t address;
};

/* Where a thread runs the instruction at the address yet; 0: it does not, by a trampoline. */
static uint64_t copy_ahead(const struct coming *coming, struct user_regs_struct registers)
{
	mt_calls_leave_shared(coming->engine, coming->space, &registers);
	const uint64_t pc = registers.rip;
	const struct mt_calls_place *place = mt_calls_place_of_trampoline(coming->space, pc);
	const struct mt_trampoline_row *row = place ? mt_calls_row_at(place->module, pc) : NULL;

	if (!row || place->module != coming->module || row->original > coming->address ||
	    row->original < mt_calls_patch_address(coming->module, coming->patch))
		return 0;
	return mt_calls_module_copy_of(coming->module, coming->patch, coming->address);
}

static struct mt_error *come_by_text(void *context, pid_t lwp)
{
	const struct coming *coming = context;
	struct mt_target *target = coming->engine->target;
	struct user_regs_struct registers;
	bool arrived = false;
	struct mt_error *error = target->ops->get_registers(target, lwp, &registers);
	const uint64_t copy = error ? 0 : copy_ahead(coming, registers);

	if (copy)
		error = target->ops->run_to(target, lwp, copy, &arrived);
	if (!error && arrived)
		error = target->ops->get_registers(target, lwp, &registers);
	if (!error && arrived) {
		registers.rip = coming->address;
		error = target->ops->set_registers(target, lwp, &registers);
	}
	if (error && mt_error_code(error) != MT_ERROR_GONE)
		return error;
	mt_error_destroy(error); /* it ended, or vfork() holds it */
	return NULL;
}

static struct mt_error *take_out(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 struct mt_calls_place *place, size_t patch, uint64_t address)
{
	struct mt_target *target = engine->target;
	struct coming coming = {engine, space, place->module, patch, address};

	mt_calls_patch_hold(place, patch);
	tell(engine, space, place);
	/* Not by pages: there may be a breakpoint on the patch's first byte. */
	mt_try(mt_calls_text_write(engine, space, place));
	return target->ops->each_thread(target, space->pid, come_by_text, &coming);
}

/* The jump of a line's condition, which is none of the plan's patches. */
static struct mt_error *take_out_lines(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       uint64_t address)
{
	mt_array_each (one, &space->breaks) {
		if (!mt_calls_break_is_line(one) || !one->written ||
		    address - one->address >= one->length)
			continue;
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "the trigger %s is not met up to the next stop: a breakpoint was set amid "
		       "its code while the program ran",
		       one->condition->given.text);
		one->held = true;
		one->written = false;
		mt_try(mt_calls_break_put_back(engine, space->pid, one));
	}
	return NULL;
}

struct mt_error *mt_calls_give_way(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_calls_place *place =
	    space && !space->hidden ? mt_calls_place_at(space, address) : NULL;

	if (!place || address - place->module->start >= place->module->end - place->module->start)
		return NULL;
	mt_try(take_out_lines(engine, space, address));
	const ssize_t patch = mt_calls_patch_at(place, address);
	if (patch < 0 || mt_calls_patch_address(place->module, (size_t)patch) == address)
		return NULL;
	return take_out(engine, space, place, (size_t)patch, address);
}
