/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs that let the program run: each makes a plan, and run.c sees to it. */
#include "private.h"

static struct mt_error *check_running(const struct mt_debugger *debugger)
{
	if (debugger->pid && debugger->selected)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
}

struct mt_error *mt_debugger_continue(struct mt_debugger *debugger, struct mt_debug_stop *stop)
{
	mt_try(check_running(debugger));
	mt_debug_plan_clear(debugger);
	return mt_debug_run(debugger, stop);
}

/* The line that the thread is in; without line numbers, the function. */
static struct mt_error *find_range(struct mt_debugger *debugger, uint64_t pc,
				   struct mt_line_range *range)
{
	const struct mt_function *function;

	if (mt_debug_line_at(debugger, pc, range))
		return NULL;
	function = mt_space_function_at(debugger->code, pc);
	if (!function || function->kind == MT_FUNCTION_UNKNOWN)
		return mt_error_new(MT_ERROR_USAGE, "Cannot find bounds of current function");
	range->start = function->start;
	range->end = function->end;
	return NULL;
}

static struct mt_error *plan_step(struct mt_debugger *debugger, enum mt_debug_plan_kind kind)
{
	struct mt_debug_lwp *lwp = debugger->selected;
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, lwp, 0);
	const struct mt_function *function =
	    frame ? mt_space_function_at(debugger->code, frame->pc) : NULL;
	struct mt_line_range range = {0};

	mt_debug_plan_clear(debugger);
	if (!frame)
		return mt_error_new(MT_ERROR_GONE, "thread %d is gone", lwp->thread.lwp);
	if (kind != MT_DEBUG_PLAN_STEPI && kind != MT_DEBUG_PLAN_NEXTI)
		mt_try(find_range(debugger, frame->pc, &range));
	if (kind == MT_DEBUG_PLAN_UNTIL && frame->function_start)
		range.start = frame->function_start;
	debugger->plan = (struct mt_debug_plan){
	    .kind = kind,
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
	return NULL;
}

/* Into a call that was inlined where the thread stands: nothing has to run for that. */
static bool enter_inlined(struct mt_debugger *debugger, struct mt_debug_stop *stop)
{
	struct mt_debug_lwp *lwp = debugger->selected;
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!registers || !mt_debug_inlines_at(debugger, lwp, registers->rip).hidden)
		return false;
	mt_debug_enter_next(lwp, registers->rip);
	debugger->selected_frame = 0;
	*stop = (struct mt_debug_stop){.kind = MT_DEBUG_STEPPED, .pid = debugger->pid};
	return true;
}

struct mt_error *mt_debugger_step(struct mt_debugger *debugger, enum mt_debug_step how,
				  struct mt_debug_stop *stop)
{
	static const enum mt_debug_plan_kind kinds[] = {
	    [MT_DEBUG_STEP] = MT_DEBUG_PLAN_STEP,   [MT_DEBUG_NEXT] = MT_DEBUG_PLAN_NEXT,
	    [MT_DEBUG_STEPI] = MT_DEBUG_PLAN_STEPI, [MT_DEBUG_NEXTI] = MT_DEBUG_PLAN_NEXTI,
	    [MT_DEBUG_UNTIL] = MT_DEBUG_PLAN_UNTIL,
	};

	mt_try(check_running(debugger));
	if (how == MT_DEBUG_STEP && enter_inlined(debugger, stop))
		return NULL;
	mt_try(plan_step(debugger, kinds[how]));
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
	const struct mt_debug_location place = {.address = caller->pc};
	return mt_array_push(&debugger->plan.locations, place) ? mt_error_no_memory() : NULL;
}

/* The function that was called out of a frame, or out of what is inlined into it; NULL: none. */
static const struct mt_debug_frame *callee_of(struct mt_debugger *debugger, unsigned level)
{
	const struct mt_debug_frame *inner = NULL;

	while (level-- > 0 && (inner = mt_debugger_frame(debugger, level)) &&
	       inner->type == MT_DEBUG_INLINE_FRAME)
		inner = NULL;
	return inner;
}

/* Out of an inlined call: past what is left of its code, and of what it called. */
static void plan_inlined_return(struct mt_debugger *debugger)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	const struct mt_debug_frame *caller = mt_debugger_frame(debugger, frame->level + 1);

	debugger->plan = (struct mt_debug_plan){
	    .kind = MT_DEBUG_PLAN_NEXT,
	    .lwp = debugger->selected,
	    .cfa = caller->cfa,
	    .instance = caller->instance,
	    .last_pc = caller->pc,
	};
	const struct mt_debug_frame *callee = callee_of(debugger, frame->level);
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

static struct mt_error *add_place(void *context, const struct mt_location *place)
{
	struct mt_debugger *debugger = context;
	const struct mt_debug_location found = {.address = place->address,
						.instance = place->instance};

	return mt_array_push(&debugger->plan.locations, found) ? mt_error_no_memory() : NULL;
}

/* Out of main, too, whose caller is nobody's frame. */
static struct mt_error *plan_way_out(struct mt_debugger *debugger)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	struct mt_error *error = plan_return(debugger, debugger->selected_frame);
	uint64_t caller =
	    frame && frame->cfa ? mt_debug_word(debugger, frame->cfa - sizeof(uint64_t)) : 0;
	const struct mt_debug_location place = {.address = caller};

	if (!error || !caller || !mt_space_find(debugger->code, caller)) {
		mt_error_destroy(error);
		return NULL;
	}
	mt_error_destroy(error);
	debugger->plan.caller = caller;
	debugger->plan.above = frame->cfa;
	return mt_array_push(&debugger->plan.locations, place) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_debugger_run_to(struct mt_debugger *debugger, const char *location,
				    bool in_frame, struct mt_debug_stop *stop)
{
	const struct mt_debug_frame *frame;

	mt_try(check_running(debugger));
	mt_debug_plan_clear(debugger);
	mt_try(mt_debugger_locate(debugger, location, add_place, debugger));
	mt_try(plan_way_out(debugger));
	frame = mt_debugger_selected_frame(debugger);
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
