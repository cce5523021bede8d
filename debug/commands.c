/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands that run the program: each makes a plan, which run.c carries out. */
#include "dwarf/source.h"
#include "private.h"

static struct mt_error *check_running(const struct mt_debugger *debugger)
{
	if (mt_debugger_has_process(debugger) && debugger->selected)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
}

struct mt_error *mt_debugger_continue(struct mt_debugger *debugger, struct mt_debug_stop *stop)
{
	mt_try(check_running(debugger));
	mt_debug_plan_clear(debugger);
	return mt_debug_run(debugger, stop);
}

struct mt_error *mt_debugger_step(struct mt_debugger *debugger, enum mt_debug_step how,
				  struct mt_debug_stop *stop)
{
	static const enum mt_debug_plan_kind kinds[] = {
	    [MT_DEBUG_STEP] = MT_DEBUG_PLAN_STEP,   [MT_DEBUG_NEXT] = MT_DEBUG_PLAN_NEXT,
	    [MT_DEBUG_STEPI] = MT_DEBUG_PLAN_STEPI, [MT_DEBUG_NEXTI] = MT_DEBUG_PLAN_NEXTI,
	    [MT_DEBUG_UNTIL] = MT_DEBUG_PLAN_UNTIL,
	};
	struct mt_debug_lwp *lwp = debugger->selected;
	struct mt_line_range range = {0};

	mt_try(check_running(debugger));
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	/* Into a call that was inlined here: nothing has to run for that. */
	if (how == MT_DEBUG_STEP && registers &&
	    mt_debug_inlines_at(debugger, lwp, registers->rip).hidden) {
		mt_debug_enter_next(lwp, registers->rip);
		debugger->selected_frame = 0;
		*stop = (struct mt_debug_stop){.kind = MT_DEBUG_STEPPED, .pid = debugger->pid};
		return NULL;
	}
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	mt_debug_plan_clear(debugger);
	if (!frame)
		return mt_error_new(MT_ERROR_GONE, "thread %d is gone", lwp->thread.lwp);
	const struct mt_function *function = mt_space_function_at(debugger->code, frame->pc);
	/* The code of the line; without line numbers, of the function. */
	if (how != MT_DEBUG_STEPI && how != MT_DEBUG_NEXTI &&
	    !mt_debug_line_at(debugger, frame->pc, &range)) {
		if (!function || function->kind == MT_FUNCTION_UNKNOWN)
			return mt_error_new(MT_ERROR_USAGE,
					    "Cannot find bounds of current function");
		range.start = function->start;
		range.end = function->end;
	}
	if (how == MT_DEBUG_UNTIL && frame->function_start)
		range.start = frame->function_start;
	debugger->plan = (struct mt_debug_plan){
	    .kind = kinds[how],
	    .lwp = lwp,
	    .start = range.start,
	    .end = range.end,
	    .line = frame->source.line,
	    .file = frame->source.file,
	    .cfa = frame->cfa,
	    .instance = frame->instance,
	    .first_function = function ? function->start : 0,
	    .last_pc = frame->pc,
	};
	return mt_debug_run(debugger, stop);
}

/* Until the frame at LEVEL returns. */
static struct mt_error *plan_return(struct mt_debugger *debugger, unsigned level)
{
	struct mt_debug_lwp *lwp = debugger->selected;
	const struct mt_debug_frame *caller = mt_debug_caller_of(debugger, lwp, level);
	/* The array of frames may have moved. */
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, level);

	if (!caller || !frame->cfa)
		return mt_error_new(MT_ERROR_USAGE,
				    "\"finish\" not meaningful in the outermost frame.");
	debugger->plan.lwp = lwp;
	debugger->plan.caller = caller->pc;
	debugger->plan.above = frame->cfa;
	debugger->plan.returned_from = frame->inside;
	const struct mt_debug_location location = {.address = caller->pc};
	return mt_array_push(&debugger->plan.locations, location) ? mt_error_no_memory() : NULL;
}

/* Out of an inlined call: past the rest of its code, and of a function that it called. */
static void plan_inlined_return(struct mt_debugger *debugger)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	const struct mt_debug_frame *caller = mt_debugger_frame(debugger, frame->level + 1);
	const struct mt_debug_frame *callee = NULL;

	debugger->plan = (struct mt_debug_plan){
	    .kind = MT_DEBUG_PLAN_NEXT,
	    .lwp = debugger->selected,
	    .cfa = caller->cfa,
	    .instance = caller->instance,
	    .last_pc = caller->pc,
	};
	for (unsigned level = frame->level; level-- > 0 && !callee;) {
		callee = mt_debugger_frame(debugger, level);
		if (!callee)
			return;
		if (callee->type == MT_DEBUG_INLINE_FRAME)
			callee = NULL;
	}
	if (!callee)
		return;
	debugger->plan.back = frame->pc;
	debugger->plan.back_sp = callee->cfa;
}

struct mt_error *mt_debugger_finish(struct mt_debugger *debugger, struct mt_debug_stop *stop)
{
	mt_try(check_running(debugger));
	mt_debug_plan_clear(debugger);
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	if (frame && frame->type == MT_DEBUG_INLINE_FRAME) {
		plan_inlined_return(debugger);
		return mt_debug_run(debugger, stop);
	}
	mt_try(plan_return(debugger, debugger->selected_frame));
	debugger->plan.kind = MT_DEBUG_PLAN_FINISH;
	return mt_debug_run(debugger, stop);
}

static struct mt_error *add_location(void *context, const struct mt_location *location)
{
	struct mt_debugger *debugger = context;
	const struct mt_debug_location found = {.address = location->address,
						.instance = location->instance};

	return mt_array_push(&debugger->plan.locations, found) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_debugger_run_to(struct mt_debugger *debugger, const char *location,
				    bool in_frame, struct mt_debug_stop *stop)
{
	struct mt_debug_location caller = {0};
	const struct mt_debug_frame *frame;

	mt_try(check_running(debugger));
	mt_debug_plan_clear(debugger);
	mt_try(mt_debugger_locate(debugger, location, add_location, debugger));
	/* The frame's return ends it as well, also that of main, whose caller is no frame. */
	struct mt_error *error = plan_return(debugger, debugger->selected_frame);
	frame = mt_debugger_selected_frame(debugger);
	caller.address = error && frame && frame->cfa
			     ? mt_debug_word(debugger, frame->cfa - sizeof(uint64_t))
			     : 0;
	mt_error_destroy(error);
	if (caller.address && mt_space_find(debugger->code, caller.address)) {
		debugger->plan.caller = caller.address;
		debugger->plan.above = frame->cfa;
		if (mt_array_push(&debugger->plan.locations, caller))
			return mt_error_no_memory();
	}
	debugger->plan.lwp = debugger->selected;
	debugger->plan.kind = MT_DEBUG_PLAN_RUN_TO;
	debugger->plan.cfa = in_frame && frame ? frame->cfa : 0;
	return mt_debug_run(debugger, stop);
}

int mt_debugger_signal(const struct mt_debugger *debugger, unsigned thread)
{
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->thread.number == thread)
			return (*lwp)->signal;
	return 0;
}

void mt_debugger_set_signal(struct mt_debugger *debugger, int signal)
{
	if (debugger->selected && signal >= 0)
		debugger->selected->signal = signal;
}
