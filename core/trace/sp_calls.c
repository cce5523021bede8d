/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a call comes from: an entry's return address names the call, and the inlined calls that
 * hold it.  Of a tail call, whose return address is that of the frame that jumped, and of
 * recordings that have none, the code shows it where it is certain. */
#include "trace/segment_log_format.h"
#include "trace/sp_internal.h"

#include "elf/objfile.h"

#include <string.h>

static const struct mt_sp_cached_site *site_of(struct mt_sp_stack *stack,
					       const struct mt_function *caller,
					       const struct mt_function *callee, bool is_jump)
{
	const struct mt_symbolizer *symbolizer = stack->base.symbolizer;
	uint64_t key = (uintptr_t)caller * 3 + (uintptr_t)callee + is_jump;
	struct mt_sp_cached_site *cached =
	    &stack->sites[mt_rebuild_place(stack->base.table_bits, key)];

	if (cached->caller == caller && cached->callee == callee && cached->is_jump == is_jump)
		return cached;
	*cached =
	    (struct mt_sp_cached_site){.caller = caller, .callee = callee, .is_jump = is_jump};
	if (symbolizer->call_site)
		cached->address =
		    symbolizer->call_site(symbolizer->context, caller, callee, is_jump);
	cached->span = mt_sp_span_at(stack, cached->address);
	return cached;
}

static struct mt_sp_cached_call *call_before(struct mt_sp_stack *stack, uint64_t return_address)
{
	const struct mt_symbolizer *symbolizer = stack->base.symbolizer;
	struct mt_sp_cached_call *cached =
	    &stack->calls[mt_rebuild_place(stack->base.table_bits, return_address)];

	if (cached->return_address == return_address)
		return cached;
	*cached = (struct mt_sp_cached_call){.return_address = return_address,
					     .call = {.address = return_address - 1}};
	if (symbolizer->call_before)
		cached->call = symbolizer->call_before(symbolizer->context, return_address);
	cached->caller = mt_rebuild_function_at(&stack->base, return_address - 1);
	cached->role = mt_sp_role_of(cached->caller);
	/* A handler returns to what no call lies before, as does what begins a stack. */
	if (cached->caller->flags & MT_FUNCTION_SIGNAL_RETURN || cached->role == MT_SP_BEGINS_STACK)
		cached->call = (struct mt_call_before){0};
	cached->made = symbolizer->made_at
			   ? symbolizer->made_at(symbolizer->context, return_address - 1)
			   : NULL;
	cached->span = mt_sp_span_at(stack, cached->call.address);
	return cached;
}

/* Where there are no symbols its name is not known, but that it is a part. */
static bool is_cold_part(const struct mt_function *part, const struct mt_function *whole)
{
	size_t length = mt_name_without_cold(part->name);

	if (!(part->flags & MT_FUNCTION_COLD) || strcmp(part->module, whole->module) != 0)
		return false;
	return part->kind == MT_FUNCTION_FDE ||
	       (strncmp(part->name, whole->name, length) == 0 && !whole->name[length]);
}

/* A part or a copy that the compiler made of a function has the function's name and more. */
bool mt_sp_is_same(const struct mt_function *one, const struct mt_function *other)
{
	if (one == other || !one || !other || is_cold_part(one, other) || is_cold_part(other, one))
		return true;
	const size_t length = mt_name_without_clone(one->name);

	return length == mt_name_without_clone(other->name) &&
	       strncmp(one->name, other->name, length) == 0;
}

bool mt_sp_is_called_from_below(struct mt_sp_stack *stack, const struct mt_event *event,
				const struct mt_sp_frame *top)
{
	const struct mt_function *callee = mt_rebuild_function_at(&stack->base, event->to);
	uint64_t return_address = mt_event_return_address(event);
	bool has_below = top > stack->current->frames.items;
	const struct mt_function *target;

	if (!return_address)
		return has_below && !site_of(stack, top->function, callee, false)->address &&
		       site_of(stack, top[-1].function, callee, false)->address;
	if (top->return_address && top->return_address != return_address)
		return true;
	/* By the same call, as far as it is known: a direct one leads to one function alone. */
	target = call_before(stack, return_address)->call.target;
	if (target == callee || callee == top->function)
		return !site_of(stack, top->function, callee, true)->address;
	return false;
}

/* Control came from TOP, the innermost frame, to what MADE stands for. */
static void begin_made(struct mt_sp_stack *stack, struct mt_sp_frame *top,
		       const struct mt_function *made)
{
	const struct mt_symbolizer *symbolizer = stack->base.symbolizer;

	/* Frames that an unwinder found have their own names. */
	if (top->made || symbolizer->made_at(symbolizer->context, top->function->start))
		return;
	mt_segment_log_begin_settled(&stack->base.log, stack->base.now_ns, true,
				     &(struct mt_log_slice){.function = made,
							    .kind = MT_SLICE_CALL,
							    .flags = MT_SLICE_INFERRED});
	top->made = true;
	top->inlines++;
}

bool mt_sp_is_called_by(struct mt_sp_stack *stack, const struct mt_event *event,
			const struct mt_sp_frame *top)
{
	const uint64_t return_address = mt_event_return_address(event);

	return return_address && event->from < top->sp &&
	       call_before(stack, return_address)->caller == top->function;
}

#define OF_GO "runtime."

bool mt_sp_is_of_go(const struct mt_function *function)
{
	return strncmp(function->name, OF_GO, sizeof(OF_GO) - 1) == 0;
}

/* musl's has no mark. */
bool mt_sp_is_restorer(const struct mt_function *function)
{
	return function->flags & MT_FUNCTION_SIGNAL_RETURN ||
	       strcmp(function->name, "__restore_rt") == 0;
}

bool mt_sp_is_handler(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const uint64_t return_address = mt_event_return_address(event);

	return return_address &&
	       (mt_sp_is_restorer(mt_rebuild_function_at(&stack->base, return_address)) ||
		mt_sp_is_restorer(call_before(stack, return_address)->caller));
}

/* Control has just been switched to it; or it is called on another stack than the thread's own, in
 * the middle of none that is in use. */
static bool is_start_without_return(const struct mt_sp_stack *stack, const struct mt_event *event,
				    const struct mt_function *function)
{
	const struct mt_sp_region *owner = mt_sp_owner(stack, event->from);

	if (!stack->has_returns || !stack->current)
		return false;
	if (stack->current->fiber && stack->current->arrival.kind)
		return true;
	return stack->own_stack && !stack->base.signal && !mt_sp_is_of_go(function) &&
	       !(owner && owner->base - event->from > MT_SP_START_SLACK &&
		 mt_sp_fits(owner, event->from));
}

bool mt_sp_is_start(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const uint64_t return_address = mt_event_return_address(event);

	if (!stack->base.options.fibers.take || !stack->has_begun)
		return false;
	if (stack->own_stack && !mt_sp_is_elsewhere(stack, event->from))
		return false;
	if (!return_address)
		return is_start_without_return(stack, event,
					       mt_rebuild_function_at(&stack->base, event->to));
	const struct mt_sp_cached_call *call = call_before(stack, return_address);
	if (call->role == MT_SP_BEGINS_STACK) {
		/* The first function may jump to another one, also when it goes on. */
		const struct mt_sp_region *owner = mt_sp_owner(stack, event->from);
		const bool goes_on =
		    owner && (mt_sp_find(owner, event->from) >= 0 ||
			      (owner == stack->current && owner->base == event->from));

		return stack->own_stack && !goes_on;
	}
	if (call->call.address || call->made)
		return false;
	const struct mt_function *target = mt_rebuild_function_at(&stack->base, return_address);
	/* Go's runtime begins goroutines so, which are no thread's. */
	return target->kind != MT_FUNCTION_UNKNOWN && !mt_sp_is_restorer(target) &&
	       !mt_sp_is_restorer(call->caller) && !mt_sp_is_of_go(target);
}

void mt_sp_set_inlines(struct mt_sp_stack *stack, struct mt_sp_frame *frame,
		       const struct mt_inline_span *span)
{
	uint64_t now_ns = stack->base.now_ns;
	size_t same = 0;

	if (frame->made) {
		mt_segment_log_end(&stack->base.log, now_ns, false, MT_SLICE_END_TIME_ESTIMATED);
		frame->made = false;
		frame->inlines--;
	}
	if (!stack->base.options.inlines)
		return;
	while (same < frame->inlines && same < span->depth &&
	       frame->chain[same] == span->chain[same])
		same++;
	for (; frame->inlines > same; frame->inlines--)
		mt_segment_log_end(&stack->base.log, now_ns, false, MT_SLICE_END_TIME_ESTIMATED);
	frame->chain = span->chain;
	for (; frame->inlines < span->depth; frame->inlines++) {
		const struct mt_inline *inlined = span->chain[frame->inlines];

		mt_segment_log_begin_settled(&stack->base.log, now_ns, true,
					     &(struct mt_log_slice){.function = inlined->function,
								    .inlined = inlined,
								    .kind = MT_SLICE_INLINED});
	}
}

/* The innermost frame, if there is one, calls by CALL. */
static void leave_by(struct mt_sp_stack *stack, const struct mt_sp_cached_call *call)
{
	const struct mt_sp_region *region = stack->current;
	struct mt_sp_frame *top = mt_sp_top(region);

	/* Else a function between them is not recorded. */
	if (!top || region->frames.count <= region->hidden)
		return;
	if (call->made)
		begin_made(stack, top, call->made);
	else if ((top->inlines || call->span.depth) && mt_sp_is_same(top->function, call->caller))
		mt_sp_set_inlines(stack, top, &call->span);
}

void mt_sp_wait_at(struct mt_sp_stack *stack, uint64_t return_address)
{
	leave_by(stack, call_before(stack, return_address));
}

const struct mt_sp_cached_call *mt_sp_call_before(struct mt_sp_stack *stack,
						  uint64_t return_address)
{
	return call_before(stack, return_address);
}

/* CALL led here without more ado, so it may be seen again. */
static void begin_seen(struct mt_sp_stack *stack, const struct mt_sp_cached_call *call,
		       const struct mt_log_slice *slice)
{
	struct mt_segment_log *log = &stack->base.log;
	struct mt_sp_seen *seen = &stack->seen[mt_sp_seen_place(
	    stack->base.table_bits, call->return_address, slice->address)];
	const bool shows_inlines = stack->base.options.inlines;

	if (mt_sp_is_seen(seen, log->slices.generation, call->return_address, slice->address)) {
		mt_log_put_begin(log, stack->base.now_ns, stack->base.estimated, seen->number);
		return;
	}
	const uint32_t number =
	    mt_segment_log_begin_settled(log, stack->base.now_ns, stack->base.estimated, slice);
	*seen = (struct mt_sp_seen){
	    .return_address = call->return_address,
	    .to = slice->address,
	    .function = slice->function,
	    .chain = call->span.chain,
	    .inlines = shows_inlines ? (uint32_t)call->span.depth : 0,
	    .number = number,
	    .generation = number != MT_LOG_SLICES_NONE ? log->slices.generation : 0,
	};
}

bool mt_sp_begin(struct mt_sp_stack *stack, const struct mt_event *event, uint8_t flags,
		 bool is_called, const struct mt_function *jumped)
{
	struct mt_segment_log *log = &stack->base.log;
	const struct mt_function *function = mt_rebuild_function_at(&stack->base, event->to);
	const uint64_t return_address = mt_event_return_address(event);
	const struct mt_sp_cached_site *site = NULL;
	const struct mt_sp_cached_call *call = NULL;

	if (jumped) {
		site = site_of(stack, jumped, function, return_address != 0);
	} else if (is_called) {
		const struct mt_sp_frame *top = mt_sp_top(stack->current);

		if (return_address) {
			call = call_before(stack, return_address);
			stack->has_returns = true;
		}
		if (!(call && call->call.address) && mt_sp_is_start(stack, event))
			return false;
		if (call)
			leave_by(stack, call);
		else if (top)
			site = site_of(stack, top->function, function, false);
	}
	struct mt_sp_frame *frame = mt_sp_push(stack, function, event->from, return_address);
	if (!frame)
		return true;
	const char *arguments =
	    stack->values.count ? mt_sp_values_of(stack, event->from, function, false) : NULL;
	if (arguments)
		mt_segment_log_text(log, arguments);
	const struct mt_inline_span *span = call ? &call->span : site ? &site->span : NULL;
	const struct mt_log_slice slice = {
	    .function = function,
	    .inlined = span ? mt_sp_outermost(stack, span) : NULL,
	    .address = event->to,
	    .call_site = call   ? call->call.address
			 : site ? site->address
				: 0,
	    .kind = MT_SLICE_CALL,
	    .flags = flags,
	};
	if (call && call->call.address && !call->made)
		begin_seen(stack, call, &slice);
	else
		mt_segment_log_begin_settled(log, stack->base.now_ns, stack->base.estimated,
					     &slice);
	if (stack->values.count)
		mt_sp_begin_python(stack, frame);
	return true;
}
