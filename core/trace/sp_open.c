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

/* A frame's slice, and those of the inlined calls on it, lie on those of the frame before. */
struct mt_error *mt_sp_open_calls(struct mt_rebuild *rebuild, uint32_t snapshot,
				  struct mt_open_calls *out)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;
	const struct mt_recorded_open_call *calls[MT_RECORDED_OPEN_CALLS];
	const size_t count =
	    stack->lost ? 0
			: mt_recorded_values_open_calls(rebuild->options.values,
							rebuild->options.open_calls_of
							    ? rebuild->options.open_calls_of
							    : rebuild->options.thread.tid,
							snapshot, calls);
	uint32_t depth = 0;

	if (!mt_sp_keep_calls(stack))
		return mt_error_no_memory();
	out->is_lost = stack->lost;
	for (size_t layer = 0; layer < stack->layer_count; layer++) {
		const struct mt_sp_region *region = stack->layers[layer];

		for (size_t i = region->hidden; i < region->frames.count; i++) {
			const struct mt_sp_frame *frame = &region->frames.items[i];
			const struct mt_recorded_open_call *call = find(stack, calls, count, frame);
			const struct mt_open_call open = {
			    .depth = depth,
			    .function = frame->function,
			    .arguments = call ? call->arguments : NULL,
			    .call_id = frame->is_root ? 0 : frame->call_id,
			    .python = call ? call->python : NULL,
			    .python_count = call ? call->python_count : 0,
			};

			if ((open.arguments || open.call_id || open.python_count) &&
			    mt_array_push(&out->items, open))
				return mt_error_no_memory();
			depth += 1 + frame->inlines;
		}
	}
	return NULL;
}
