/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps by lines and instructions, by GDB's rules.
 *
 * The thread is single-stepped through the code of its line.  Where it calls a function that is not
 * stepped into, it runs to the return address; the stack pointer distinguishes the frame from other
 * calls of the same function.  Outside of the line's code it stops where a statement begins on
 * another line; in the middle of one it continues to the end of that. */
#include "dwarf/source.h"
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

bool mt_debug_is_by_instruction(const struct mt_debugger *debugger)
{
	return debugger->plan.kind == MT_DEBUG_PLAN_STEPI ||
	       debugger->plan.kind == MT_DEBUG_PLAN_NEXTI;
}

static void report_done(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			enum mt_debug_stop_kind kind)
{
	const struct mt_debug_plan *plan = &debugger->plan;
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (registers && mt_debug_is_by_instruction(debugger))
		mt_debug_enter_all(lwp, registers->rip);
	if (registers && plan->kind == MT_DEBUG_PLAN_RUN_TO)
		mt_debug_enter_asked(debugger, lwp, registers->rip);
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	const struct mt_function *function =
	    frame ? mt_space_function_at(debugger->code, frame->pc) : NULL;
	const struct mt_debug_stop stop = {
	    .kind = kind,
	    .returned_from = plan->returned_from,
	    .same_frame = frame && kind == MT_DEBUG_STEPPED && frame->cfa == plan->cfa &&
			  frame->instance == plan->instance &&
			  (function ? function->start : 0) == plan->first_function,
	};

	mt_debug_report(debugger, lwp, &stop);
}

/* Steps through this line from now on, in the thread's present frame. */
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

/* Code that only leads elsewhere: out of a signal handler, or into a library.  The dynamic linker's
 * code is not stepped through, as in GDB. */
static bool is_passage(struct mt_debugger *debugger, uint64_t pc)
{
	const struct mt_function *function = mt_space_function_at(debugger->code, pc);
	const struct mt_mapping *loader =
	    debugger->loader_break ? mt_space_find(debugger->code, debugger->loader_break) : NULL;

	if (debugger->plan.kind == MT_DEBUG_PLAN_STEP && loader &&
	    mt_space_find(debugger->code, pc) == loader)
		return true;
	return function &&
	       (function->flags & MT_FUNCTION_SIGNAL_RETURN || function->kind == MT_FUNCTION_PLT);
}

/* Where a step into a function stops, behind its prologue; 0: the function is stepped over. */
static uint64_t entry_to_show(struct mt_debugger *debugger, const struct mt_function *function)
{
	struct mt_line_range range;
	uint64_t behind;

	if (!function || function->kind == MT_FUNCTION_UNKNOWN)
		return 0;
	behind = mt_debug_frame_made(debugger, function->start);
	return mt_debug_line_at(debugger, behind, &range) ? behind : 0;
}

/* A function was called.  ENTRY: as of entry_to_show(). */
static void enter_or_pass(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc,
			  uint64_t entry)
{
	struct mt_debug_plan *plan = &debugger->plan;

	if (entry && entry == pc) {
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
	} else if (entry) {
		plan->back = entry;
		plan->into = true;
		debugger->sites_changed = true;
	} else {
		run_back(debugger, plan->returns, plan->returns_sp);
	}
}

static void on_call(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc,
		    uint64_t sp)
{
	const struct mt_function *function = mt_space_function_at(debugger->code, pc);
	struct mt_debug_plan *plan = &debugger->plan;

	if (plan->kind == MT_DEBUG_PLAN_STEPI) {
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
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

static bool is_same_line(const struct mt_debug_plan *plan, const struct mt_source *source)
{
	return plan->line == source->line && plan->file && source->file &&
	       strcmp(plan->file, source->file) == 0;
}

static const void *instance_of(const struct mt_debug_inlines *inlines)
{
	size_t depth = inlines->span.depth - inlines->hidden;

	return depth ? inlines->span.chain[depth - 1] : NULL;
}

/* Whether the innermost frame is inlined, at any depth, into the one that is stepped. */
static bool is_within(const struct mt_debug_plan *plan, const struct mt_debug_inlines *inlines)
{
	size_t depth = inlines->span.depth - inlines->hidden;

	for (size_t i = 0; i + 1 < depth; i++)
		if (inlines->span.chain[i] == plan->instance)
			return true;
	return !plan->instance && depth;
}

/* Handles inlined calls as GDB does.  False: there is nothing special. */
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
		size_t depth = inlines.span.depth - inlines.hidden;
		bool is_here = is_same_line(plan, &inlines.span.chain[depth]->call);

		if (is_here && plan->kind != MT_DEBUG_PLAN_STEP)
			return true;
		if (is_here)
			mt_debug_enter_next(lwp, pc);
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
		return true;
	}
	if (is_same || !is_within(plan, &inlines))
		return false;
	if (plan->kind == MT_DEBUG_PLAN_STEP)
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
	return true;
}

/* The thread left the line's code, but not by a call. */
static void leave_line(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc)
{
	struct mt_debug_plan *plan = &debugger->plan;
	struct mt_line_range range;

	if (is_passage(debugger, pc))
		return;
	if (!mt_debug_line_at(debugger, pc, &range)) {
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
		return;
	}
	if (at_inlined(debugger, lwp, pc))
		return;
	if (pc != range.start || is_same_line(plan, &range.source)) {
		take_line(debugger, lwp, &range);
		return;
	}
	if (range.statement) {
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
		return;
	}
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	if (frame && frame->cfa == plan->cfa && frame->instance == plan->instance) {
		plan->start = range.start;
		plan->end = range.end;
		return;
	}
	/* In another frame: without a line yet, so that it stops at the first statement. */
	take_line(debugger, lwp, &range);
	plan->line = 0;
}

struct mt_error *mt_debug_on_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	struct mt_debug_plan *plan = &debugger->plan;
	const struct mt_debug_site *site = mt_debug_site_at(debugger, plan->last_pc);
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn = {0};

	if (!registers)
		return NULL;
	uint64_t pc = registers->rip, sp = registers->rsp;
	size_t size = mt_debug_read(debugger, plan->last_pc, bytes, sizeof(bytes));
	if (size && site)
		bytes[0] = site->original;
	mt_insn_decode(bytes, size, plan->last_pc, &insn); /* that was executed */
	bool is_call = insn.class == MT_INSN_CALL || insn.class == MT_INSN_CALL_INDIRECT;
	/* At the same place again: a jump to itself, or a step that is not over yet. */
	bool is_done = pc != plan->last_pc || insn.flags & MT_INSN_REPEATED ||
		       (insn.class != MT_INSN_OTHER && insn.class != MT_INSN_SYSCALL);
	const struct mt_debug_inlines inlines = mt_debug_inlines_at(debugger, lwp, pc);
	if (is_call && pc != plan->last_pc + insn.length && pc != plan->last_pc) {
		on_call(debugger, lwp, pc, sp);
	} else if (plan->in_stub && !is_passage(debugger, pc)) {
		/* The stub led to a function; or the dynamic linker itself was called. */
		plan->in_stub = false;
		if (pc == plan->returns)
			leave_line(debugger, lwp, pc);
		else
			enter_or_pass(
			    debugger, lwp, pc,
			    entry_to_show(debugger, mt_space_function_at(debugger->code, pc)));
	} else if (plan->in_stub) {
		/* It is still on its way. */
	} else if (mt_debug_is_by_instruction(debugger) && is_done) {
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
	} else if (pc < plan->start || pc >= plan->end || instance_of(&inlines) != plan->instance) {
		leave_line(debugger, lwp, pc);
	}
	plan->last_pc = pc;
	return NULL;
}

/* Back from a call that was not stepped through, or at the entry of one. */
static struct mt_error *on_back(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				uint64_t address)
{
	struct mt_debug_plan *plan = &debugger->plan;
	bool into = plan->into;

	plan->back = 0;
	plan->last_pc = address;
	debugger->sites_changed = true;
	if (into || mt_debug_is_by_instruction(debugger))
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
	else if (!plan->in_stub && (address < plan->start || address >= plan->end))
		leave_line(debugger, lwp, address);
	return NULL;
}

struct mt_error *mt_debug_on_plan_location(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
					   uint64_t address)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	struct mt_debug_plan *plan = &debugger->plan;
	bool is_planned = false;

	if (!registers || plan->lwp != lwp)
		return NULL;
	if (plan->back == address && (plan->into || registers->rsp >= plan->back_sp))
		return on_back(debugger, lwp, address);
	mt_array_each (location, &plan->locations)
		is_planned |= location->address == address;
	if (!is_planned)
		return NULL;
	const struct mt_debug_frame *frame = plan->cfa ? mt_debug_frame_of(debugger, lwp, 0) : NULL;
	bool is_in_frame = !plan->cfa || (frame && frame->cfa == plan->cfa);
	bool is_back = address == plan->caller && registers->rsp >= plan->above;
	if (is_back && plan->kind == MT_DEBUG_PLAN_FINISH)
		report_done(debugger, lwp, MT_DEBUG_FINISHED);
	else if (is_back ||
		 (plan->kind == MT_DEBUG_PLAN_RUN_TO && address != plan->caller && is_in_frame))
		report_done(debugger, lwp, MT_DEBUG_STEPPED);
	return NULL;
}
