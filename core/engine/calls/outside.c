/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads out of trampolines: one is put to where it stands in effect, with its registers; the rows
 * of the trampolines show how.  What it would record again on its way through the patch is taken
 * out of its ring.
 *
 * The same holds for what a signal handler returns to: trampolines leave no address on the stack,
 * but the kernel does when it interrupts one, in the signal's frame. */
#include "engine/calls/private.h"

#include "process/interrupted.h"

#include <string.h>

#define MOST_PUSHES     64u /* what a row can tell */
#define MOST_TAIL_SLOTS 8   /* an event's two, its stamp's halves, and lines' stamps beside them */

static uint32_t site_at(const struct mt_calls_thread *thread, uint64_t at)
{
	const struct mt_calls_rings *rings = thread->rings;
	uint32_t site;

	memcpy(&site, mt_calls_ring_here(rings, thread->ring) + (at & (rings->ring_bytes - 1)),
	       sizeof(site));
	return site;
}

/* Where the newest event begins, if it is of SITE, a site as the ring has it; else `written`. */
static uint64_t begin_of_event(const struct mt_calls_engine *engine,
			       const struct mt_calls_thread *thread, uint64_t written,
			       uint32_t site)
{
	uint64_t bytes = mt_ring_event_bytes(engine->options.stamps, false);

	for (unsigned i = mt_ring_is_entry(site) ? 2 : 1;
	     i <= MOST_TAIL_SLOTS && i * bytes <= written; i++)
		if (site_at(thread, written - i * bytes) == site)
			return written - i * bytes;
	return written;
}

/* The event, and perhaps the line's stamp, that is reserved and not whole: a handler's events may
 * lie behind it. */
static void take_back_slots(const struct mt_calls_thread *thread,
			    const struct mt_calls_unwritten *unwritten)
{
	if (unwritten->at + unwritten->bytes < mt_calls_written(thread))
		mt_calls_clear_unwritten(thread, unwritten);
	else if (unwritten->at >= thread->begin)
		mt_calls_unwrite(thread, unwritten->at);
}

static void take_back_event(const struct mt_calls_engine *engine,
			    const struct mt_calls_thread *thread,
			    const struct mt_calls_module *module,
			    const struct mt_trampoline_row *row)
{
	const struct mt_patch *patch =
	    mt_plan_patch_at(module->file->plan, row->original - module->bias);
	uint64_t before, written;

	if (row->phase != MT_PHASE_RECORDED)
		return;
	before = written = mt_calls_written(thread);
	if (patch && patch->address + module->bias == row->original)
		written =
		    begin_of_event(engine, thread, written,
				   (module->site_base + patch->site) |
				       (patch->flags & MT_PATCH_ENTRY ? MT_RING_SITE_ENTRY : 0));
	if (written != before && written >= thread->begin)
		mt_calls_unwrite(thread, written);
}

/* The skipped part of the stack need not exist: the first push may have faulted. */
static int skipped_bytes(const struct mt_trampoline_row *row)
{
	return row->below >= MT_RING_RED_ZONE ? MT_RING_RED_ZONE : 0;
}

/* What was pushed stays, also while the stack pointer lies above it. */
static unsigned pushes_of(const struct mt_trampoline_row *row)
{
	int bytes = row->below - skipped_bytes(row);

	return bytes > 0 ? (unsigned)bytes / sizeof(uint64_t) : row->saved & MT_SAVED_RAX;
}

#define ARITHMETIC_FLAGS 0xd5u /* that lahf has */
#define OVERFLOW_BIT     11

/* What `lahf; seto al` left. */
static unsigned long long flags_with(unsigned long long flags, uint64_t kept)
{
	flags &= ~(unsigned long long)(ARITHMETIC_FLAGS | 1u << OVERFLOW_BIT);
	return flags | (kept >> 8 & ARITHMETIC_FLAGS) | (kept & 1) << OVERFLOW_BIT;
}

/* False: the registers are as they were. */
static bool put_back(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		     const struct mt_trampoline_row *row, struct user_regs_struct *registers)
{
	uint64_t stack[MOST_PUSHES] = {0};
	unsigned pushes = pushes_of(row);
	uint64_t bytes = pushes * sizeof(uint64_t);
	uint64_t at = registers->rsp + (uint64_t)(row->below - skipped_bytes(row)) - bytes;

	if (pushes > MOST_PUSHES ||
	    engine->target->ops->read(engine->target, space->pid, at, stack, bytes) != bytes)
		return false;
	mt_calls_condition_end_probe(engine, space, registers);
	/* Pushed in this order, the program's own values first. */
	if (row->saved & MT_SAVED_RAX && pushes >= 1)
		registers->rax = stack[pushes - 1];
	if (row->saved & MT_SAVED_RDX && pushes >= 2)
		registers->rdx = stack[pushes - 2];
	if (row->saved & MT_SAVED_RCX && pushes >= 3)
		registers->rcx = stack[pushes - 3];
	if (row->saved & MT_SAVED_FLAGS && pushes >= 4)
		registers->eflags = flags_with(registers->eflags, stack[pushes - 4]);
	registers->rsp += (uint64_t)row->below;
	registers->rip = row->phase == MT_PHASE_SHARED ? stack[pushes - 1] : row->original;
	return true;
}

static const struct mt_trampoline_row *row_at(struct mt_calls_space *space, uint64_t pc,
					      const struct mt_calls_place **place)
{
	*place = mt_calls_place_of_trampoline(space, pc);
	return *place ? mt_calls_row_at((*place)->module, pc) : mt_calls_condition_row(space, pc);
}

/* Of a thread with REGISTERS, which come back to the trampoline from what such share.  NULL: it is
 * not known. */
static const struct mt_trampoline_row *row_of(struct mt_calls_engine *engine,
					      struct mt_calls_space *space,
					      struct user_regs_struct *registers,
					      const struct mt_calls_place **place)
{
	const struct mt_trampoline_row *row = row_at(space, registers->rip, place);

	if (!row || row->phase != MT_PHASE_SHARED)
		return row;
	if (!put_back(engine, space, row, registers))
		return NULL;
	row = row_at(space, registers->rip, place);
	return row && row->phase != MT_PHASE_SHARED ? row : NULL;
}

void mt_calls_leave_shared(struct mt_calls_engine *engine, struct mt_calls_space *space,
			   struct user_regs_struct *registers)
{
	struct user_regs_struct outside = *registers;
	const struct mt_calls_place *place;

	if (row_of(engine, space, &outside, &place))
		*registers = outside;
}

struct mt_error *mt_calls_leave_trampoline(struct mt_calls_engine *engine,
					   struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	const struct mt_calls_place *place;

	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	struct mt_calls_unwritten unwritten;
	const bool is_writing =
	    thread->rings && mt_calls_find_unwritten(thread, registers.rip, registers.rax,
						     registers.rcx, &unwritten);
	const struct mt_trampoline_row *row = row_of(engine, thread->space, &registers, &place);
	const uint64_t pc = registers.rip;
	if (!row || !put_back(engine, thread->space, row, &registers))
		return NULL;
	if (is_writing)
		take_back_slots(thread, &unwritten);
	if (!place && mt_calls_condition_records_entry(thread->space, pc))
		place = mt_calls_place_at(thread->space, row->original);
	if (place && thread->rings)
		take_back_event(engine, thread, place->module, row);
	return engine->target->ops->set_registers(engine->target, thread->lwp, &registers);
}

struct outside {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	bool inside, in_left;
};

static bool leave(void *context, struct user_regs_struct *registers)
{
	struct outside *outside = context;
	const struct mt_calls_place *place;
	const struct mt_trampoline_row *row;

	outside->in_left |=
	    mt_calls_left_holds(outside->space->left, MT_CALLS_LEFT_CODE, registers->rip);
	if (!mt_calls_is_ours(outside->space, registers->rip))
		return false;
	row = row_of(outside->engine, outside->space, registers, &place);
	if (row && put_back(outside->engine, outside->space, row, registers))
		return true;
	outside->inside = true;
	return false;
}

struct mt_error *mt_calls_leave_trampolines(struct mt_calls_engine *engine,
					    struct mt_calls_space *space, bool *inside,
					    bool *in_left)
{
	struct outside outside = {.engine = engine, .space = space};
	bool is_whole = false;
	struct mt_error *error = mt_calls_move_all(engine, space, leave, &outside, &is_whole);

	*inside = outside.inside || !is_whole;
	*in_left = outside.in_left;
	return error;
}

/* Where it goes on in the text as it would have in the copy.  A patch stays out while a handler is
 * to return into its bytes, but for the first of them: then it records nothing twice. */
static bool goes_on_alike(const struct mt_calls_module *module, uint64_t pc,
			  const struct mt_trampoline_row *row)
{
	const struct mt_patch *patch =
	    mt_plan_patch_at(module->file->plan, row->original - module->bias);
	uint32_t at;
	const struct mt_trampolines *one = mt_calls_trampoline_at(module, pc, &at);

	if (!patch || !one || row->phase == MT_PHASE_RECORDING)
		return false;
	return row->original > patch->address + module->bias ||
	       (row->phase == MT_PHASE_DISPLACED && one->rows.items[0].phase == MT_PHASE_DISPLACED);
}

struct interrupted {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	bool seen;
};

static bool leave_copy(void *context, struct user_regs_struct *registers)
{
	const struct interrupted *interrupted = context;
	const struct mt_calls_place *place;
	const struct mt_trampoline_row *row =
	    row_of(interrupted->engine, interrupted->space, registers, &place);

	return row && place && goes_on_alike(place->module, registers->rip, row) &&
	       put_back(interrupted->engine, interrupted->space, row, registers);
}

static struct mt_error *see_interrupted(void *context, uint64_t pc)
{
	struct interrupted *interrupted = context;

	interrupted->seen |= mt_calls_place_of_trampoline(interrupted->space, pc) != NULL;
	return NULL;
}

struct mt_error *mt_calls_leave_interrupted(struct mt_calls_engine *engine,
					    struct mt_calls_space *space)
{
	struct interrupted interrupted = {.engine = engine, .space = space};
	struct user_regs_struct registers;
	bool is_whole;

	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		struct mt_error *error = thread->space == space
					     ? engine->target->ops->get_registers(
						   engine->target, thread->lwp, &registers)
					     : NULL;

		if (!error && thread->space == space)
			error = mt_interrupted_each(engine->target, space->pid, registers.rsp,
						    see_interrupted, &interrupted);
		/* It ended meanwhile. */
		if (error && mt_error_code(error) != MT_ERROR_GONE)
			return error;
		mt_error_destroy(error);
	}
	return interrupted.seen
		   ? mt_calls_move_all(engine, space, leave_copy, &interrupted, &is_whole)
		   : NULL;
}
