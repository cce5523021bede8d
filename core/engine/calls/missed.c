/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A debugger's breakpoints at entries, and right behind them.
 *
 * One within the bytes that an entry's jump would take keeps that out.  The function's calls are
 * recorded nevertheless: the debugger has threads stop at the entry as well, and says so, and we
 * write into the ring in their name.
 *
 * One on the first byte of the jump stays there.  A thread that was let over it may stand in the
 * trampoline yet when the program stops, with the function's first instruction ahead: put back to
 * the entry, it would come to the breakpoint a second time.  So it runs that instruction. */
#include "engine/calls/private.h"

#include "x86/insn.h"

#include <string.h>

const uint64_t *mt_calls_missed(struct mt_engine *base, pid_t pid, size_t *count)
{
	const struct mt_calls_space *space =
	    mt_calls_find_space((struct mt_calls_engine *)base, pid);

	*count = space && !space->hidden ? space->missed.count : 0;
	return *count ? space->missed.items : NULL;
}

struct mt_error *mt_calls_record_missed(struct mt_engine *base, pid_t lwp)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);
	struct user_regs_struct registers;

	if (!thread || !thread->rings || thread->space->hidden)
		return NULL;
	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	const struct mt_calls_place *place = mt_calls_place_at(thread->space, registers.rip);
	const ssize_t patch = place ? mt_calls_planned_at(place, registers.rip) : -1;
	if (patch < 0 || place->written[patch] ||
	    !(place->module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY))
		return NULL;
	mt_calls_write_entry(engine, thread, place, (size_t)patch, mt_clock_tsc(), &registers);
	thread->entered = registers.rip;
	thread->entered_sp = registers.rsp;
	thread->entered_written = mt_calls_written(thread);
	return NULL;
}

bool mt_calls_has_entered(const struct mt_calls_thread *thread,
			  const struct user_regs_struct *registers)
{
	return thread && thread->rings && thread->entered == registers->rip &&
	       thread->entered_sp == registers->rsp &&
	       thread->entered_written == mt_calls_written(thread);
}

/* Behind an instruction that goes on there; 0: it may not. */
static uint64_t behind(const struct mt_calls_module *module, uint64_t address)
{
	const size_t left = module->end - address;
	struct mt_insn insn;

	if (mt_insn_decode(module->clean + (address - module->start),
			   left < MT_INSN_MAX_BYTES ? left : MT_INSN_MAX_BYTES, address, &insn) ||
	    insn.class != MT_INSN_OTHER || insn.flags & MT_INSN_REPEATED)
		return 0;
	return address + insn.length;
}

/* A debugger's breakpoint may be in the text also while people look. */
static bool is_clean(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		     const struct mt_calls_module *module, uint64_t start, uint64_t end)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];
	const size_t size = end - start;

	return engine->target->ops->read(engine->target, space->pid, start, bytes, size) == size &&
	       memcmp(bytes, module->clean + (start - module->start), size) == 0;
}

/* The text is the program's own. */
struct mt_error *mt_calls_leave_covered(struct mt_calls_engine *engine,
					struct mt_calls_thread *thread)
{
	const struct mt_target_ops *ops = engine->target->ops;
	struct user_regs_struct registers;
	bool arrived = false;

	mt_try(ops->get_registers(engine->target, thread->lwp, &registers));
	const uint64_t before = registers.rip;
	mt_try(mt_calls_leave_trampoline(engine, thread));
	mt_try(ops->get_registers(engine->target, thread->lwp, &registers));
	if (registers.rip == before || !mt_calls_is_covered(thread->space, registers.rip))
		return NULL;
	const struct mt_calls_place *place = mt_calls_place_at(thread->space, registers.rip);
	const ssize_t patch = place ? mt_calls_planned_at(place, registers.rip) : -1;
	const uint64_t goal = patch >= 0 ? behind(place->module, registers.rip) : 0;
	if (!goal || !is_clean(engine, thread->space, place->module, registers.rip, goal))
		return NULL;
	const uint64_t written = thread->rings ? mt_calls_written(thread) : 0;
	mt_calls_write_entry(engine, thread, place, (size_t)patch, mt_clock_tsc(), &registers);
	mt_try(ops->run_to(engine->target, thread->lwp, goal, &arrived));
	/* A fault or a signal, after which it comes here again. */
	if (!arrived && thread->rings)
		mt_calls_unwrite(thread, written);
	return NULL;
}
