/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads, and what handlers of signals return to, out of bytes that change: what stands in those
 * that a patch or a line's breakpoint displaces goes on in their copies. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "process/proc.h"
#include "process/sigframe.h"

uint64_t mt_calls_copy_of(struct mt_calls_space *space, uint64_t address)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, address);
	ssize_t patch = place ? mt_calls_patch_at(place, address) : -1;

	if (patch < 0)
		return mt_calls_line_copy_of(space, address);
	if (mt_calls_patch_address(place->module, (size_t)patch) == address)
		return 0;
	return mt_calls_module_copy_of(place->module, (size_t)patch, address);
}

static struct mt_error *move_to_copy(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, bool is_written)
{
	struct user_regs_struct registers;
	const struct mt_calls_place *place;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	place = mt_calls_place_at(space, registers.rip);
	uint64_t copy = mt_calls_copy_of(space, registers.rip);
	if (!copy || (is_written && mt_calls_patch_of_hole(place, registers.rip) >= 0))
		return NULL;
	registers.rip = copy;
	return engine->target->ops->set_registers(engine->target, lwp, &registers);
}

struct mt_error *mt_calls_displace_thread(struct mt_calls_engine *engine,
					  struct mt_calls_space *space, pid_t lwp)
{
	return move_to_copy(engine, space, lwp, false);
}

struct mt_error *mt_calls_move_thread(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp)
{
	return move_to_copy(engine, space, lwp, true);
}

struct mt_error *mt_calls_leave_hole(struct mt_calls_engine *engine,
				     const struct mt_calls_place *place, pid_t lwp)
{
	struct user_regs_struct registers;
	ssize_t patch;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	patch = mt_calls_patch_of_hole(place, registers.rip);
	if (patch < 0)
		return NULL;
	registers.rip = place->module->room + place->module->offsets[patch];
	return engine->target->ops->set_registers(engine->target, lwp, &registers);
}

struct walk {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	mt_calls_move *move;
	void *context;
	struct mt_stacks stacks;
	bool is_whole;
};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct walk *walk = context;

	return mt_stacks_add(&walk->stacks, map) ? mt_error_no_memory() : NULL;
}

static struct mt_error *see_frame(void *context, uint64_t address, const struct mt_sigframe *frame)
{
	struct walk *walk = context;
	struct mt_target *target = walk->engine->target;
	struct mt_sigframe changed = *frame;
	struct user_regs_struct registers = {.rip = frame->rip,
					     .rsp = frame->rsp,
					     .rax = frame->rax,
					     .rcx = frame->rcx,
					     .rdx = frame->rdx,
					     .rdi = frame->rdi,
					     .rsi = frame->rsi,
					     .r10 = frame->r10,
					     .r11 = frame->r11,
					     .eflags = frame->eflags};

	if (!walk->move(walk->context, &registers))
		return NULL;
	changed.rip = registers.rip;
	changed.rsp = registers.rsp;
	changed.rax = registers.rax;
	changed.rcx = registers.rcx;
	changed.rdx = registers.rdx;
	changed.rdi = registers.rdi;
	changed.rsi = registers.rsi;
	changed.r10 = registers.r10;
	changed.r11 = registers.r11;
	changed.eflags = registers.eflags;
	return target->ops->write(target, walk->space->pid, address, &changed, sizeof(changed));
}

static struct mt_error *see_thread(void *context, pid_t lwp)
{
	struct walk *walk = context;
	struct mt_target *target = walk->engine->target;
	struct user_regs_struct registers;
	struct mt_error *error = target->ops->get_registers(target, lwp, &registers);

	/* It ended, or vfork() holds it: then it may stand anywhere. */
	if (error) {
		walk->is_whole &= mt_proc_has_ended(lwp);
		mt_error_destroy(error);
		return NULL;
	}
	if (walk->move(walk->context, &registers))
		mt_try(target->ops->set_registers(target, lwp, &registers));
	return mt_sigframe_each(target, walk->space->pid, &walk->stacks, registers.rsp, see_frame,
				walk);
}

struct mt_error *mt_calls_move_all(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   mt_calls_move *move, void *context, bool *is_whole)
{
	struct walk walk = {
	    .engine = engine, .space = space, .move = move, .context = context, .is_whole = true};
	struct mt_target *target = engine->target;
	struct mt_error *error = mt_target_each_map(target, space->pid, see_map, &walk);

	if (!error)
		error = target->ops->each_thread(target, space->pid, see_thread, &walk);
	mt_array_deinit(&walk.stacks);
	*is_whole = walk.is_whole;
	return error;
}

static bool leave_hole(void *context, struct user_regs_struct *registers)
{
	struct mt_calls_space *space = context;
	const struct mt_calls_place *place = mt_calls_place_at(space, registers->rip);
	ssize_t patch = place ? mt_calls_patch_of_hole(place, registers->rip) : -1;

	if (patch < 0)
		return false;
	registers->rip = place->module->room + place->module->offsets[patch];
	return true;
}

struct displacing {
	struct mt_calls_space *space;
	const struct mt_calls_swap *due;
};

/* In a text whose patches came earlier nobody stands amid one, but perhaps at a jump that has its
 * place in bytes of another. */
static bool displace(void *context, struct user_regs_struct *registers)
{
	const struct displacing *displacing = context;
	const struct mt_calls_place *place = mt_calls_place_at(displacing->space, registers->rip);

	if (place && displacing->due &&
	    !mt_calls_swap_is_due(displacing->due, place->module->start))
		return false;
	uint64_t copy = mt_calls_copy_of(displacing->space, registers->rip);

	if (copy)
		registers->rip = copy;
	return copy;
}

struct mt_error *mt_calls_displace_all(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       const struct mt_calls_swap *due)
{
	struct displacing displacing = {space, due};
	bool is_whole;

	return mt_calls_move_all(engine, space, displace, &displacing, &is_whole);
}

struct mt_error *mt_calls_leave_holes(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	bool is_whole;

	return mt_calls_move_all(engine, space, leave_hole, space, &is_whole);
}
