/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's frames: what is unwound, and what was inlined into each of them. */
#include "private.h"
#include "values/call_site.h"

#include <string.h>

#define MOST_TAIL_CALLS 64

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	return mt_debug_look(context, address, buffer, size);
}

static bool start(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		  struct mt_unwinder *unwinder)
{
	const struct user_regs_struct *user = mt_debug_registers(debugger, lwp);

	if (!user || !debugger->code)
		return false;
	const struct mt_registers registers = mt_registers_of(user);
	const struct mt_unwind_source source = {
	    .space = debugger->code, .read = read_memory, .context = debugger};
	mt_unwind_start(unwinder, &source, &registers);
	return true;
}

static bool begin(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (lwp->unwinding)
		return true;
	if (!start(debugger, lwp, &lwp->unwinder))
		return false;
	lwp->frame_count = 0;
	lwp->unwinding = true;
	return true;
}

static bool is_named(const struct mt_function *function)
{
	return function->kind == MT_FUNCTION_SYMBOL || function->kind == MT_FUNCTION_PLT ||
	       function->kind == MT_FUNCTION_INLINED;
}

static void name_frame(struct mt_debug_frame *frame, const struct mt_function *function)
{
	frame->function = is_named(function) ? function->name : NULL;
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
	    .signal = unwound->signal,
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

	if (!frame.signal && !lwp->frame_count)
		inlines = mt_debug_inlines_at(debugger, lwp, frame.pc);
	else if (!frame.signal)
		mt_space_inlines_at(debugger->code, frame.inside, &inlines.span);
	for (size_t i = inlines.span.depth; i-- > 0; frame.inner++) {
		frame.inlined = true;
		frame.instance = inlines.span.chain[i];
		name_frame(&frame, inlines.span.chain[i]->function);
		if (frame.inner >= inlines.hidden && add_frame(lwp, &frame))
			return -1;
		frame.shows_pc = false;
		set_source(debugger, &frame, &inlines.span.chain[i]->call);
	}
	frame.inlined = false;
	frame.instance = NULL;
	frame.function = outer.function;
	frame.function_start = outer.function_start;
	frame.module = outer.module;
	return add_frame(lwp, &frame);
}

/* GDB's idea of the outermost frame: the program's main function, as its language has it. */
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
	return !mapping || !mapping->objfile || !mt_objfile_is_rust(mapping->objfile);
}

/* Of what is inlined at a tail call only the innermost is shown, as GDB has it. */
static int add_tail_call(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			 const struct mt_unwind_frame *jumped)
{
	struct mt_debug_frame frame = physical(debugger, jumped);
	struct mt_inline_span span;

	mt_space_inlines_at(debugger->code, frame.inside, &span);
	if (span.depth)
		name_frame(&frame, span.chain[span.depth - 1]->function);
	frame.tail = true;
	frame.registers.values[MT_REGISTER_RIP] = jumped->pc;
	return add_frame(lwp, &frame);
}

/* Functions that were left by a jump on the way to the one that the innermost known frame is of. */
static int add_tail_calls(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			  const struct mt_unwind_frame *caller)
{
	const struct mt_debug_frame *callee =
	    lwp->frame_count ? lwp->frames.items[lwp->frame_count - 1] : NULL;
	uint64_t pcs[MOST_TAIL_CALLS];
	struct mt_expr_program *program;
	size_t count = 0;

	if (!callee || callee->signal || caller->exact || !callee->has_debug)
		return 0;
	struct mt_error *error = mt_debugger_expressions(debugger, &program);
	if (!error)
		count = mt_expr_tail_calls(program, caller->pc, callee->function_start, pcs,
					   MOST_TAIL_CALLS);
	mt_error_destroy(error);
	for (size_t i = 0; i < count; i++) {
		const struct mt_unwind_frame jumped = {
		    .registers = caller->registers, .pc = pcs[i], .cfa = callee->cfa};
		if (add_tail_call(debugger, lwp, &jumped))
			return -1;
	}
	return 0;
}

const struct mt_debug_frame *mt_debug_frame_of(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, unsigned level)
{
	struct mt_unwind_frame unwound;

	if (!begin(debugger, lwp))
		return NULL;
	while (level >= lwp->frame_count) {
		if (!mt_unwind_next(&lwp->unwinder, &unwound) ||
		    add_tail_calls(debugger, lwp, &unwound) ||
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

	while ((frame = mt_debug_frame_of(debugger, lwp, level)) && frame->inlined)
		level++;
	return frame ? mt_debug_frame_of(debugger, lwp, level + 1) : NULL;
}

const struct mt_debug_frame *mt_debug_caller_of(struct mt_debugger *debugger,
						struct mt_debug_lwp *lwp, unsigned level)
{
	const struct mt_debug_frame *frame = mt_debug_outer_of(debugger, lwp, level);

	while (frame && frame->tail)
		frame = mt_debug_outer_of(debugger, lwp, frame->level);
	return frame;
}

bool mt_debugger_saved_registers(struct mt_debugger *debugger, const struct mt_debug_frame *frame,
				 uint64_t places[MT_REGISTER_COUNT])
{
	struct mt_unwinder unwinder;
	struct mt_unwind_frame unwound;

	if (!debugger->selected || !start(debugger, debugger->selected, &unwinder))
		return false;
	do {
		/* What is inlined has the registers of who it is inlined into. */
		memcpy(places, unwinder.places, sizeof(unwinder.places));
		if (!mt_unwind_next(&unwinder, &unwound))
			return false;
	} while (unwound.cfa != frame->cfa || unwinder.end == MT_UNWIND_BAD_STACK);
	if (!frame->inlined)
		memcpy(places, unwinder.places, sizeof(unwinder.places));
	return frame->inlined || unwinder.end == MT_UNWIND_GOES_ON;
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

void mt_debugger_look_anew(struct mt_debugger *debugger)
{
	mt_array_each (lwp, &debugger->lwps)
		mt_debug_forget_frames(*lwp);
}
