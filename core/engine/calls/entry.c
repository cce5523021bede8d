/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that we write into the ring of a thread that stands still at an entry, as its trampoline
 * would. */
#include "engine/calls/private.h"

void mt_calls_write_entry(const struct mt_calls_engine *engine,
			  const struct mt_calls_thread *thread, const struct mt_calls_place *place,
			  size_t patch, uint64_t tsc, const struct user_regs_struct *registers)
{
	const struct mt_calls_rings *rings = thread->rings;
	struct mt_call_event event = {
	    .tsc = tsc,
	    .site = place->module->site_base + place->module->file->plan->patches.items[patch].site,
	    .stack = (uint32_t)registers->rsp - mt_ring_pushed(engine->options.stamps, false)};

	if (!rings || registers->gs_base != mt_calls_slot_address(rings, thread->ring) ||
	    engine->target->ops->read(engine->target, thread->pid, registers->rsp,
				      &event.return_address,
				      sizeof(event.return_address)) != sizeof(event.return_address))
		return;
	mt_calls_unwrite(thread, mt_ring_put_entry(mt_calls_ring_here(rings, thread->ring),
						   rings->ring_bytes, mt_calls_written(thread),
						   engine->options.stamps, &event));
}

struct mt_error *mt_calls_enter_function(const struct mt_calls_engine *engine,
					 const struct mt_calls_thread *thread,
					 const struct mt_calls_break *one, uint64_t next,
					 uint64_t *pc)
{
	const struct mt_calls_place *place = mt_calls_place_at(thread->space, one->address);
	const ssize_t patch = place ? mt_calls_patch_at(place, one->address) : -1;
	struct user_regs_struct registers;

	*pc = 0;
	if (patch < 0 || !place->written[patch] || one->hook ||
	    mt_calls_patch_address(place->module, (size_t)patch) != one->address ||
	    !(place->module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY) ||
	    next != place->module->room + place->module->offsets[patch])
		return NULL;
	const uint64_t copy = mt_calls_module_copy_of(place->module, (size_t)patch, one->address);
	if (!copy)
		return NULL;
	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	mt_calls_write_entry(engine, thread, place, (size_t)patch,
			     thread->held_tsc ? thread->held_tsc : mt_clock_tsc(), &registers);
	registers.rip = *pc = copy;
	return engine->target->ops->set_registers(engine->target, thread->lwp, &registers);
}
