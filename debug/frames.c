/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's frames: those that are unwound, and the calls that were inlined into each of them.
 *
 * Inlined calls that begin where a thread is: they are shown as calls that are still to come, and
 * stepped into without running anything.  At a breakpoint in one, the thread is in it. */
#include "dwarf/source.h"
#include "elf/jit_object.h"
#include "private.h"
#include "values/call_site.h"

#include <string.h>

#define MOST_TAIL_CALLS 64

/* ---- Inlined calls ---- */

static bool is_among(const struct mt_inline *call, const struct mt_inline_span *span)
{
	for (size_t i = 0; i < span->depth; i++)
		if (span->chain[i] == call)
			return true;
	return false;
}

struct mt_debug_inlines mt_debug_inlines_at(struct mt_debugger *debugger,
					    const struct mt_debug_lwp *lwp, uint64_t pc)
{
	struct mt_debug_inlines inlines = {0};
	struct mt_inline_span before = {0};
	unsigned entered = lwp->entered_pc == pc ? lwp->entered : 0;

	mt_space_inlines_at(debugger->code, pc, &inlines.span);
	if (!inlines.span.depth)
		return inlines;
	mt_space_inlines_at(debugger->code, pc - 1, &before);
	for (size_t i = inlines.span.depth; i-- > 0; inlines.hidden++)
		if (is_among(inlines.span.chain[i], &before))
			break;
	inlines.hidden -= entered < inlines.hidden ? entered : inlines.hidden;
	return inlines;
}

static void enter(struct mt_debug_lwp *lwp, uint64_t pc, unsigned count)
{
	lwp->entered = count;
	lwp->entered_pc = pc;
	mt_debug_forget_frames(lwp);
}

void mt_debug_enter_next(struct mt_debug_lwp *lwp, uint64_t pc)
{
	enter(lwp, pc, lwp->entered_pc == pc ? lwp->entered + 1 : 1);
}

void mt_debug_enter_all(struct mt_debug_lwp *lwp, uint64_t pc)
{
	enter(lwp, pc, UINT32_MAX);
}

/* Whether a breakpoint at PC is in CALL. */
static bool is_asked_for(const struct mt_debugger *debugger, const struct mt_inline *call,
			 uint64_t pc)
{
	mt_array_each (one, &debugger->breakpoints) {
		if (!(*one)->public.enabled || (*one)->public.silent || (*one)->watched)
			continue;
		mt_array_each (location, &(*one)->locations)
			if (location->enabled && location->address == pc &&
			    location->instance == call)
				return true;
	}
	mt_array_each (location, &debugger->plan.locations)
		if (location->address == pc && location->instance == call)
			return true;
	return false;
}

void mt_debug_enter_asked(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t pc)
{
	const struct mt_debug_inlines inlines = mt_debug_inlines_at(debugger, lwp, pc);

	for (unsigned i = 0; i < inlines.hidden; i++)
		if (is_asked_for(debugger, inlines.span.chain[inlines.span.depth - 1 - i], pc)) {
			enter(lwp, pc, inlines.hidden - i);
			return;
		}
}

/* ---- Frames ---- */

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	return mt_debug_read_cancellably(context, address, buffer, size);
}

static bool start(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		  struct mt_unwinder *unwinder)
{
	const struct user_regs_struct *user = mt_debug_registers(debugger, lwp);

	if (!user)
		return false;
	const struct mt_registers registers = mt_registers_of(user);
	const struct mt_unwind_source source = {
	    .space = debugger->code, .read = read_memory, .context = debugger};
	mt_unwind_start(unwinder, &source, &registers);
	return true;
}

static void name_frame(struct mt_debug_frame *frame, const struct mt_function *function)
{
	bool is_named = function->kind == MT_FUNCTION_SYMBOL || function->kind == MT_FUNCTION_PLT ||
			function->kind == MT_FUNCTION_INLINED;

	frame->function = is_named ? function->name : NULL;
	frame->function_start = function->start;
	frame->module = function->module;
}

static void set_source(struct mt_debugger *debugger, struct mt_debug_frame *frame,
		       const struct mt_source *source)
{
	frame->source = *source;
	frame->file = mt_debug_file_name(debugger, frame->inside, source->file);
}

/* The frame of the function itself, into which others may be inlined. */
static struct mt_debug_frame physical(struct mt_debugger *debugger,
				      const struct mt_unwind_frame *unwound)
{
	struct mt_debug_frame frame = {
	    .registers = unwound->registers,
	    .pc = unwound->pc,
	    .inside = mt_unwind_inside(unwound),
	    .cfa = unwound->cfa,
	    .type = unwound->signal ? MT_DEBUG_SIGNAL_FRAME : MT_DEBUG_NORMAL_FRAME,
	    .shows_pc = true,
	};
	const struct mt_function *function = mt_space_function_at(debugger->code, frame.inside);
	struct mt_line_range range;

	if (function)
		name_frame(&frame, function);
	if (!mt_debug_line_at(debugger, frame.inside, &range))
		return frame;
	frame.has_debug = true;
	frame.shows_pc = frame.pc != range.start || !range.statement;
	set_source(debugger, &frame, &range.source);
	return frame;
}

static int add_frame(struct mt_debug_lwp *lwp, struct mt_debug_frame *frame)
{
	if (lwp->frame_count == lwp->frames.count) {
		struct mt_debug_frame *room = malloc(sizeof(*room));

		if (!room || mt_array_push(&lwp->frames, room)) {
			free(room);
			return -1;
		}
	}
	frame->level = (unsigned)lwp->frame_count;
	*lwp->frames.items[lwp->frame_count++] = *frame;
	return 0;
}

/* The innermost inlined call has the line of the code; each other function the line of the call. */
static int add_all(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		   struct mt_debug_frame frame)
{
	const struct mt_debug_frame outer = frame;
	struct mt_debug_inlines inlines = {0};

	if (frame.type == MT_DEBUG_NORMAL_FRAME && !lwp->frame_count)
		inlines = mt_debug_inlines_at(debugger, lwp, frame.pc);
	else if (frame.type == MT_DEBUG_NORMAL_FRAME)
		mt_space_inlines_at(debugger->code, frame.inside, &inlines.span);
	for (size_t i = inlines.span.depth; i-- > 0; frame.inner++) {
		frame.type = MT_DEBUG_INLINE_FRAME;
		frame.instance = inlines.span.chain[i];
		name_frame(&frame, inlines.span.chain[i]->function);
		if (frame.inner >= inlines.hidden && add_frame(lwp, &frame))
			return -1;
		frame.shows_pc = false;
		set_source(debugger, &frame, &inlines.span.chain[i]->call);
	}
	frame.type = outer.type;
	frame.instance = NULL;
	frame.function = outer.function;
	frame.function_start = outer.function_start;
	frame.module = outer.module;
	return add_frame(lwp, &frame);
}

/* GDB's outermost frame: the main function of the program's language. */
static bool is_main(struct mt_debugger *debugger, const struct mt_debug_frame *frame)
{
	const struct mt_mapping *mapping;

	if (!frame->function)
		return false;
	if (strcmp(frame->function, "main.main") == 0) /* Go */
		return true;
	if (strcmp(frame->function, "main") != 0)
		return false;
	mapping = mt_space_find(debugger->code, frame->inside);
	/* Of what a JIT compiler runs: its own is behind that. */
	if (mapping && strcmp(mapping->path, MT_JIT_OBJECT_PATH) == 0)
		return false;
	return !mapping || !mapping->objfile || !mt_objfile_is_rust(mapping->objfile);
}

/* Functions that were left by a jump between CALLER and the last frame that is known. */
static int add_tail_calls(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			  const struct mt_unwind_frame *caller)
{
	const struct mt_debug_frame *callee =
	    lwp->frame_count ? lwp->frames.items[lwp->frame_count - 1] : NULL;
	uint64_t pcs[MOST_TAIL_CALLS];

	if (!callee || callee->type == MT_DEBUG_SIGNAL_FRAME || caller->exact || !callee->has_debug)
		return 0;
	size_t count = mt_expr_tail_calls(debugger->expressions, caller->pc, callee->function_start,
					  pcs, MOST_TAIL_CALLS);
	for (size_t i = 0; i < count; i++) {
		const struct mt_unwind_frame jumped = {
		    .registers = caller->registers, .pc = pcs[i], .cfa = callee->cfa};
		struct mt_debug_frame frame = physical(debugger, &jumped);
		struct mt_inline_span span;

		/* Of inlined calls there only the innermost is shown, as GDB does. */
		mt_space_inlines_at(debugger->code, frame.inside, &span);
		if (span.depth)
			name_frame(&frame, span.chain[span.depth - 1]->function);
		frame.type = MT_DEBUG_TAIL_CALL_FRAME;
		frame.registers.values[MT_REGISTER_RIP] = pcs[i];
		if (add_frame(lwp, &frame))
			return -1;
	}
	return 0;
}

/* UNWOUND is in code of no file, or, NULL, nobody knows how to go on: perhaps it is code that was
 * made since.  True: it is, and the walk begins anew. */
static bool leads_elsewhere(struct mt_debugger *debugger, const struct mt_debug_lwp *lwp,
			    const struct mt_unwind_frame *unwound)
{
	if (!unwound && lwp->unwinder.end == MT_UNWIND_OUTERMOST)
		return false;
	return mt_debug_see_objects(debugger, unwound ? mt_unwind_inside(unwound) : 0);
}

const struct mt_debug_frame *mt_debug_frame_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level)
{
	struct mt_unwind_frame unwound;

	if (!lwp->unwinding) {
		if (!start(debugger, lwp, &lwp->unwinder))
			return NULL;
		lwp->frame_count = 0;
		lwp->unwinding = true;
	}
	while (level >= lwp->frame_count) {
		const bool is_there = mt_unwind_next(&lwp->unwinder, &unwound);
		if (leads_elsewhere(debugger, lwp, is_there ? &unwound : NULL))
			return mt_debug_frame_of(debugger, lwp, level);
		if (!is_there || add_tail_calls(debugger, lwp, &unwound) ||
		    add_all(debugger, lwp, physical(debugger, &unwound)))
			return NULL;
		if (is_main(debugger, lwp->frames.items[lwp->frame_count - 1]))
			lwp->unwinder.end = MT_UNWIND_OUTERMOST;
	}
	return lwp->frames.items[level];
}

const struct mt_debug_frame *mt_debug_outer_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level)
{
	const struct mt_debug_frame *frame;

	while ((frame = mt_debug_frame_of(debugger, lwp, level)) &&
	       frame->type == MT_DEBUG_INLINE_FRAME)
		level++;
	return frame ? mt_debug_frame_of(debugger, lwp, level + 1) : NULL;
}

const struct mt_debug_frame *mt_debug_caller_of(struct mt_debugger *debugger,
						struct mt_debug_lwp *lwp, unsigned level)
{
	const struct mt_debug_frame *frame = mt_debug_outer_of(debugger, lwp, level);

	while (frame && frame->type == MT_DEBUG_TAIL_CALL_FRAME)
		frame = mt_debug_outer_of(debugger, lwp, frame->level);
	return frame;
}

bool mt_debugger_saved_registers(struct mt_debugger *debugger, const struct mt_debug_frame *frame,
				 uint64_t saved[MT_REGISTER_COUNT])
{
	struct mt_unwinder unwinder;
	struct mt_unwind_frame unwound;

	if (!debugger->selected || !start(debugger, debugger->selected, &unwinder))
		return false;
	do {
		/* An inline frame has the registers of the one that it is inlined into. */
		memcpy(saved, unwinder.saved_at, sizeof(unwinder.saved_at));
		if (!mt_unwind_next(&unwinder, &unwound))
			return false;
	} while (unwound.cfa != frame->cfa || unwinder.end == MT_UNWIND_BAD_STACK);
	if (frame->type != MT_DEBUG_INLINE_FRAME)
		memcpy(saved, unwinder.saved_at, sizeof(unwinder.saved_at));
	return frame->type == MT_DEBUG_INLINE_FRAME || unwinder.end == MT_UNWIND_GOES_ON;
}

const struct mt_debug_frame *mt_debugger_frame(struct mt_debugger *debugger, unsigned level)
{
	return debugger->selected ? mt_debug_frame_of(debugger, debugger->selected, level) : NULL;
}

const struct mt_debug_frame *mt_debugger_selected_frame(struct mt_debugger *debugger)
{
	return mt_debugger_frame(debugger, debugger->selected_frame);
}

void mt_debugger_select_frame(struct mt_debugger *debugger, unsigned level)
{
	debugger->selected_frame = level;
}

const char *mt_debugger_frames_end(struct mt_debugger *debugger)
{
	const struct mt_debug_lwp *lwp = debugger->selected;

	if (!lwp || !lwp->unwinding || lwp->unwinder.end != MT_UNWIND_BAD_STACK)
		return NULL;
	return "previous frame inner to this frame (corrupt stack?)";
}

void mt_debugger_forget_frames(struct mt_debugger *debugger)
{
	mt_array_each (lwp, &debugger->lwps)
		mt_debug_forget_frames(*lwp);
}
