/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that are open at a segment's end: their numbers; and their arguments, if somebody read them
 * then, which are found by their stack pointers. */
#include "trace/sp_internal.h"

/* Rings have the lower halves of stack pointers: the upper one is that of the thread's own stack,
 * be it true of another one or not. */
static const struct mt_recorded_open_call *find(struct mt_sp_stack *stack,
						const struct mt_recorded_open_call *const *calls,
						size_t count, const struct mt_sp_frame *frame)
{
	for (size_t i = 0; i < count; i++)
		if ((uint32_t)calls[i]->sp == (uint32_t)frame->sp &&
		    mt_sp_is_same(frame->function,
				  mt_rebuild_function_at(&stack->base, calls[i]->function)))
			return calls[i];
	return NULL;
}

struct finding {
	struct mt_sp_stack *stack;
	const struct mt_recorded_open_call *calls[MT_RECORDED_OPEN_CALLS];
	size_t count;
	uint32_t depth; /* of the next slice */
	struct mt_open_calls *out;
};

/* With the function in Python that FRAME began with, of which CALL, NULL if there is none, tells
 * where it stands.  0, or -1 without memory. */
static int add_python(struct finding *finding, const struct mt_sp_frame *frame,
		      const struct mt_recorded_open_call *call)
{
	struct mt_open_call open = {
	    .depth = finding->depth + 1,
	    .function = frame->python,
	    .python = call ? call->python : NULL,
	    .python_count = call ? call->python_count : 0,
	};

	if (open.python_count && open.python->function == frame->python) {
		open.arguments = open.python->where;
		open.at = open.python->at;
		open.python++;
		open.python_count--;
	}
	return (open.at.file || open.python_count) && mt_array_push(&finding->out->items, open) ? -1
												: 0;
}

/* From the frame FROM on.  A frame's slice, and those of the inlined calls on it, lie on those of
 * the frame before.  0, or -1 without memory. */
static int add_frames(struct finding *finding, const struct mt_sp_region *region, size_t from)
{
	for (size_t i = from; i < region->frames.count; i++) {
		const struct mt_sp_frame *frame = &region->frames.items[i];
		const struct mt_recorded_open_call *call =
		    find(finding->stack, finding->calls, finding->count, frame);
		const struct mt_open_call open = {
		    .depth = finding->depth,
		    .function = frame->function,
		    .arguments = call ? call->arguments : NULL,
		    .call_id = frame->is_root ? 0 : frame->call_id,
		    .python = call && !frame->python ? call->python : NULL,
		    .python_count = call && !frame->python ? call->python_count : 0,
		};

		if ((open.arguments || open.call_id || open.python_count) &&
		    mt_array_push(&finding->out->items, open))
			return -1;
		if (frame->python && add_python(finding, frame, call))
			return -1;
		finding->depth += mt_sp_slices_of(frame);
	}
	return 0;
}

/* Where a segment began in a handler on another stack, which is the first layer then, roots of the
 * thread's own stack lie outside of all layers.  NULL: they do not. */
static const struct mt_sp_region *outside(const struct mt_sp_stack *stack)
{
	mt_array_each (region, &stack->regions)
		if ((*region)->frames.count && (*region)->frames.items[0].is_root &&
		    !(*region)->is_shown)
			return *region;
	return NULL;
}

struct mt_error *mt_sp_open_calls(struct mt_rebuild *rebuild, uint32_t snapshot,
				  struct mt_open_calls *out)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;
	struct finding finding = {.stack = stack, .out = out};
	const struct mt_sp_region *region = outside(stack);

	if (!stack->lost)
		finding.count = mt_recorded_values_open_calls(rebuild->options.values,
							      rebuild->options.open_calls_of
								  ? rebuild->options.open_calls_of
								  : rebuild->options.thread.tid,
							      snapshot, finding.calls);
	if (!mt_sp_keep_calls(stack))
		return mt_error_no_memory();
	out->is_lost = stack->lost;
	if (region && add_frames(&finding, region, 0))
		return mt_error_no_memory();
	for (size_t layer = 0; layer < stack->layers.count; layer++)
		if (add_frames(&finding, stack->layers.items[layer],
			       stack->layers.items[layer]->hidden))
			return mt_error_no_memory();
	return NULL;
}
