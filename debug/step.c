/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps by lines and instructions, by GDB's rules.
 *
 * The thread goes an instruction at a time through its line's code.  Where it calls a function that
 * is not to be stepped into, it runs to where that returns to; a frame is told from another call of
 * the same function by its stack pointer.  Out of its line's code it stops where a statement begins
 * on another line; in the middle of one it goes on to that one's end. */
#include "private.h"
#include "x86/insn.h"

#include <string.h>

void mt_debug_plan_clear(struct mt_debugger *debugger)
{
	mt_array_deinit(&debugger->plan.locations);
	debugger->plan = (struct mt_debug_plan){0};
	debugger->sites_changed = true;
}

static void leave_line(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc);

static uint64_t function_at(struct mt_debugger *debugger, uint64_t pc)
{
	const struct mt_function *function = mt_space_function_at(debugger->code, pc);

	return function ? function->start : 0;
}

bool mt_debug_is_by_instruction(const struct mt_debugger *debugger)
{
	return debugger->plan.kind == MT_DEBUG_PLAN_STEPI ||
	       debugger->plan.kind == MT_DEBUG_PLAN_NEXTI;
}

static void tell_done(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		      enum mt_debug_stop_kind kind)
{
	const struct mt_debug_plan *plan = &debugger->plan;
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (registers && mt_debug_is_by_instruction(debugger))
		mt_debug_enter_all(lwp, registers->rip);
	if (registers && plan->kind == MT_DEBUG_PLAN_RUN_TO)
		mt_debug_enter_asked(debugger, lwp, registers->rip);
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	const struct mt_debug_stop told = {
	    .kind = kind,
	    .returned_from = plan->returned_from,
	    .same_frame = frame && kind == MT_DEBUG_STEPPED && frame->cfa == plan->cfa &&
			  frame->instance == plan->instance &&
			  function_at(debugger, frame->pc) == plan->first_function,
	};

	mt_debug_report(debugger, lwp, &told);
}

/* It is stepped through this line from now on, in the frame in which it is. */
static void take_line(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		      const struct mt_line_range *range)
{
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	struct mt_debug_plan *plan = &debugger->plan;

	plan->start = range->start;
	plan->end = range->end;
	plan->line = range->source.line;
	plan->file = range->source.file;
	plan->cfa = frame ? frame->cfa : 0;
	plan->instance = frame ? frame->instance : NULL;
}

static void run_back(struct mt_debugger *debugger, uint64_t address, uint64_t sp)
{
	debugger->plan.back = address;
	debugger->plan.back_sp = sp;
	debugger->plan.into = false;
	debugger->sites_changed = true;
}

static void run_into(struct mt_debugger *debugger, uint64_t address)
{
	debugger->plan.back = address;
	debugger->plan.into = true;
	debugger->sites_changed = true;
}

/* Whoever steps does not mean the dynamic linker's code, as GDB has it. */
static bool is_in_loader(const struct mt_debugger *debugger, uint64_t pc)
{
	const struct mt_mapping *loader =
	    debugger->loader_break ? mt_space_find(debugger->code, debugger->loader_break) : NULL;

	return loader && mt_space_find(debugger->code, pc) == loader;
}

/* Code that only leads somewhere: out of a signal handler, or into a library. */
static bool is_passage(struct mt_debugger *debugger, uint64_t pc)
{
	const struct mt_function *function = mt_space_function_at(debugger->code, pc);

	if (debugger->plan.kind == MT_DEBUG_PLAN_STEP && is_in_loader(debugger, pc))
		return true;
	return function &&
	       (function->flags & MT_FUNCTION_SIGNAL_RETURN || function->kind == MT_FUNCTION_PLT);
}

/* Behind the prologue of a function that a step goes into; 0: it is stepped over. */
static uint64_t entry_to_show(struct mt_debugger *debugger, const struct mt_function *function)
{
	struct mt_line_range range;
	uint64_t behind;

	if (!function || function->kind == MT_FUNCTION_UNKNOWN)
		return 0;
	behind = mt_debug_frame_made(debugger, function->start);
	return mt_debug_line_at(debugger, behind, &range) ? behind : 0;
}

/* A function was called that begins at PC; 0: one that is stepped over. */
static void enter_or_pass(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc,
			  uint64_t entry)
{
	const struct mt_debug_plan *plan = &debugger->plan;

	if (entry && entry == pc)
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
	else if (entry)
		run_into(debugger, entry);
	else
		run_back(debugger, plan->returns, plan->returns_sp);
}

/* The linker's stub, and what it asks for the function at the first call, lead to one; or the
 * dynamic linker itself was called. */
static void follow_stub(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc)
{
	struct mt_debug_plan *plan = &debugger->plan;

	if (is_passage(debugger, pc))
		return;
	plan->in_stub = false;
	if (pc == plan->returns)
		leave_line(debugger, lwp, pc);
	else
		enter_or_pass(debugger, lwp, pc,
			      entry_to_show(debugger, mt_space_function_at(debugger->code, pc)));
}

static void on_call(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc,
		    uint64_t sp)
{
	const struct mt_function *function = mt_space_function_at(debugger->code, pc);
	struct mt_debug_plan *plan = &debugger->plan;

	if (plan->kind == MT_DEBUG_PLAN_STEPI) {
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
	} else if (plan->in_stub) {
		run_back(debugger, mt_debug_word(debugger, sp), sp + sizeof(uint64_t));
	} else {
		plan->returns = mt_debug_word(debugger, sp);
		plan->returns_sp = sp + sizeof(uint64_t);
		if (plan->kind == MT_DEBUG_PLAN_STEP && is_passage(debugger, pc))
			plan->in_stub = function && function->kind == MT_FUNCTION_PLT;
		else
			enter_or_pass(debugger, lwp, pc,
				      plan->kind == MT_DEBUG_PLAN_STEP
					  ? entry_to_show(debugger, function)
					  : 0);
	}
}

/* What the thread has just done. */
static struct mt_insn last_instruction(struct mt_debugger *debugger)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn = {0};
	size_t size = mt_debug_read(debugger, debugger->plan.last_pc, bytes, sizeof(bytes));
	const struct mt_debug_site *site = mt_debug_site_at(debugger, debugger->plan.last_pc);

	if (size && site)
		bytes[0] = site->original;
	mt_insn_decode(bytes, size, debugger->plan.last_pc, &insn);
	return insn;
}

static bool is_same_line(const struct mt_debug_plan *plan, const struct mt_line_range *range)
{
	return plan->line == range->source.line && plan->file && range->source.file &&
	       strcmp(plan->file, range->source.file) == 0;
}

static const void *instance_of(const struct mt_debug_inlines *inlines)
{
	size_t depth = inlines->span.depth - inlines->hidden;

	return depth ? inlines->span.chain[depth - 1] : NULL;
}

static bool is_line_of_call(const struct mt_debug_plan *plan,
			    const struct mt_debug_inlines *inlines)
{
	const struct mt_source *call =
	    &inlines->span.chain[inlines->span.depth - inlines->hidden]->call;

	return call->line == plan->line && call->file && plan->file &&
	       strcmp(call->file, plan->file) == 0;
}

/* Whether the frame that is stepped holds the innermost one that is seen, by inlining alone. */
static bool is_within(const struct mt_debug_plan *plan, const struct mt_debug_inlines *inlines)
{
	size_t depth = inlines->span.depth - inlines->hidden;

	for (size_t i = 0; i + 1 < depth; i++)
		if (inlines->span.chain[i] == plan->instance)
			return true;
	return !plan->instance && depth;
}

/* What to do where inlined calls are, as GDB does.  False: nothing special. */
static bool at_inlined(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc)
{
	const struct mt_debug_plan *plan = &debugger->plan;
	const struct mt_debug_inlines inlines = mt_debug_inlines_at(debugger, lwp, pc);
	const struct mt_debug_frame *frame =
	    inlines.span.depth ? mt_debug_frame_of(debugger, lwp, 0) : NULL;
	bool is_same = instance_of(&inlines) == plan->instance;

	if (!frame || frame->cfa != plan->cfa)
		return false;
	if (is_same && inlines.hidden) {
		bool is_here = is_line_of_call(plan, &inlines);

		if (is_here && plan->kind != MT_DEBUG_PLAN_STEP)
			return true;
		if (is_here)
			mt_debug_enter_next(lwp, pc);
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
		return true;
	}
	if (is_same || !is_within(plan, &inlines))
		return false;
	if (plan->kind == MT_DEBUG_PLAN_STEP)
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
	return true;
}

/* In the frame that is stepped, as far as inlining goes. */
static bool is_in_frame(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc)
{
	const struct mt_debug_inlines inlines = mt_debug_inlines_at(debugger, lwp, pc);

	return instance_of(&inlines) == debugger->plan.instance;
}

/* It left the line's code, without calling anything. */
static void leave_line(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc)
{
	struct mt_debug_plan *plan = &debugger->plan;
	struct mt_line_range range;

	if (is_passage(debugger, pc))
		return;
	if (!mt_debug_line_at(debugger, pc, &range)) {
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
		return;
	}
	if (at_inlined(debugger, lwp, pc))
		return;
	if (pc != range.start || is_same_line(plan, &range)) {
		take_line(debugger, lwp, &range);
		return;
	}
	if (range.statement) {
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
		return;
	}
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	if (frame && frame->cfa == plan->cfa && frame->instance == plan->instance) {
		plan->start = range.start;
		plan->end = range.end;
		return;
	}
	/* In another frame: its line is none yet, so that the first statement is news. */
	take_line(debugger, lwp, &range);
	plan->line = 0;
}

struct mt_error *mt_debug_on_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	struct mt_debug_plan *plan = &debugger->plan;

	if (!registers)
		return NULL;
	uint64_t pc = registers->rip, sp = registers->rsp;
	struct mt_insn insn = last_instruction(debugger);
	bool is_call = insn.class == MT_INSN_CALL || insn.class == MT_INSN_CALL_INDIRECT;
	bool is_done = pc != plan->last_pc || insn.flags & MT_INSN_REPEATED;
	if (is_call && pc != plan->last_pc + insn.length && pc != plan->last_pc)
		on_call(debugger, lwp, pc, sp);
	else if (plan->in_stub)
		follow_stub(debugger, lwp, pc);
	else if (mt_debug_is_by_instruction(debugger) && is_done)
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
	else if (pc < plan->start || pc >= plan->end || !is_in_frame(debugger, lwp, pc))
		leave_line(debugger, lwp, pc);
	plan->last_pc = pc;
	return NULL;
}

/* Back from what was not stepped. */
static struct mt_error *on_back(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				uint64_t address)
{
	struct mt_debug_plan *plan = &debugger->plan;
	bool into = plan->into;

	plan->back = 0;
	plan->last_pc = address;
	debugger->sites_changed = true;
	if (into || mt_debug_is_by_instruction(debugger))
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
	else if (!plan->in_stub && (address < plan->start || address >= plan->end))
		leave_line(debugger, lwp, address);
	return NULL;
}

static bool is_place(const struct mt_debug_plan *plan, uint64_t address)
{
	mt_array_each (place, &plan->locations)
		if (place->address == address)
			return true;
	return false;
}

static bool is_planned_frame(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	uint64_t cfa = debugger->plan.cfa;
	const struct mt_debug_frame *frame = cfa ? mt_debug_frame_of(debugger, lwp, 0) : NULL;

	return !cfa || (frame && frame->cfa == cfa);
}

struct mt_error *mt_debug_on_plan_location(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
					   uint64_t address)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	struct mt_debug_plan *plan = &debugger->plan;

	if (!registers || plan->lwp != lwp)
		return NULL;
	if (plan->back == address && (plan->into || registers->rsp >= plan->back_sp))
		return on_back(debugger, lwp, address);
	if (!is_place(plan, address))
		return NULL;
	bool is_back = address == plan->caller && registers->rsp >= plan->above;
	if (is_back && plan->kind == MT_DEBUG_PLAN_FINISH)
		tell_done(debugger, lwp, MT_DEBUG_FINISHED);
	else if (is_back || (plan->kind == MT_DEBUG_PLAN_RUN_TO && address != plan->caller &&
			     is_planned_frame(debugger, lwp)))
		tell_done(debugger, lwp, MT_DEBUG_STEPPED);
	return NULL;
}
