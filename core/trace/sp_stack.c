/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries and rets: the short way for those on the stack where control was, next to the frame that
 * it was in; the long way for the rest. */
#include "trace/sp_internal.h"

#include <string.h>

enum {
	CREDIT_PER_EVENT = 8,
	CREDIT_MAX = 1 << 26,
	/* A new stack is switched to by a ret to its first function, whose own return address
	 * lies above, perhaps with some words between. */
	START_SLACK = 64,
	/* The red zone, and the least that the kernel puts on the stack for a handler: a signal
	 * frame with the FXSAVE area (arch/x86/include/uapi/asm/sigcontext.h). */
	HANDLER_DISTANCE = 128 + 8 + 432 + 512,
};

struct mt_error *mt_sp_stack_create(const struct mt_sp_stack_options *options,
				    struct mt_sp_stack **out)
{
	struct mt_sp_stack *stack = calloc(1, sizeof(*stack));
	struct mt_error *error;

	if (!stack)
		return mt_error_no_memory();
	stack->options = *options;
	stack->symbolizer = &mt_symbolizer_without_names;
	error = mt_segment_log_init(&stack->log, options->log_memory_bytes);
	stack->functions = calloc(MT_SP_FUNCTIONS, sizeof(*stack->functions));
	stack->sites = calloc(MT_SP_SITES, sizeof(*stack->sites));
	if (!error && (!stack->functions || !stack->sites))
		error = mt_error_no_memory();
	if (error) {
		mt_sp_stack_destroy(stack);
		return error;
	}
	*out = stack;
	return NULL;
}

void mt_sp_stack_destroy(struct mt_sp_stack *stack)
{
	if (!stack)
		return;
	mt_segment_log_deinit(&stack->log);
	mt_sp_forget_regions(stack);
	mt_array_deinit(&stack->regions);
	mt_array_deinit(&stack->roots);
	free(stack->functions);
	free(stack->sites);
	free(stack);
}

void mt_sp_fail(struct mt_sp_stack *stack, struct mt_error *error)
{
	if (stack->log.error)
		mt_error_destroy(error);
	else
		stack->log.error = error;
}

void mt_sp_stack_set_symbolizer(struct mt_sp_stack *stack, const struct mt_symbolizer *symbolizer)
{
	stack->symbolizer = symbolizer ? symbolizer : &mt_symbolizer_without_names;
	stack->log.symbolizer = stack->symbolizer;
	for (size_t i = 0; i < MT_SP_FUNCTIONS; i++)
		stack->functions[i].function = NULL;
	memset(stack->sites, 0, MT_SP_SITES * sizeof(*stack->sites));
}

/* The current stack's innermost frame ends. */
void mt_sp_pop(struct mt_sp_stack *stack, uint8_t end_flags)
{
	struct mt_sp_region *region = stack->current;

	if (stack->estimated)
		end_flags |= MT_SLICE_END_TIME_ESTIMATED;
	if (--region->frames.count >= region->hidden)
		mt_segment_log_end(&stack->log, stack->now_ns, false, end_flags);
	else
		region->hidden = region->frames.count;
}

/* One alone by a ret that does not report, more at once by an exception or the like. */
void mt_sp_unwind(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *region = stack->current;
	size_t count = region->frames.count, kept = count;

	while (kept > 0 && region->frames.items[kept - 1].sp < sp)
		kept--;
	for (size_t i = kept; i < count; i++)
		mt_sp_pop(stack,
			  count - kept > 1 ? MT_SLICE_END_UNWOUND : MT_SLICE_END_TIME_ESTIMATED);
}

/* An event tells who was called, not from where. */
static const struct mt_sp_cached_site *call_site(struct mt_sp_stack *stack,
						 const struct mt_function *caller,
						 const struct mt_function *callee)
{
	const struct mt_symbolizer *symbolizer = stack->symbolizer;
	uint64_t key = (uintptr_t)caller * 3 + (uintptr_t)callee;
	struct mt_sp_cached_site *cached = &stack->sites[(key * 0x9e3779b97f4a7c15u) >> 52];

	if (cached->caller == caller && cached->callee == callee)
		return cached;
	*cached = (struct mt_sp_cached_site){.caller = caller, .callee = callee};
	if (symbolizer->call_site)
		cached->address = symbolizer->call_site(symbolizer->context, caller, callee);
	if (cached->address)
		cached->inlined = mt_sp_inlined_at(stack, cached->address);
	return cached;
}

/* An entry at the innermost frame's place: by a jump of that frame, or by a call of the one below
 * it, when the ret between was not seen. */
static bool is_called_from_below(struct mt_sp_stack *stack, uint64_t address)
{
	const struct mt_sp_region *region = stack->current;
	const struct mt_function *callee = mt_sp_function_at(stack, address);
	const struct mt_sp_frame *top = mt_sp_top(region);

	return region->frames.count > 1 && !call_site(stack, top->function, callee)->address &&
	       call_site(stack, top[-1].function, callee)->address;
}

/* CALLER: the frame that called, or jumped; NULL: not known. */
static inline void begin(struct mt_sp_stack *stack, const struct mt_event *event, uint8_t flags,
			 const struct mt_function *caller)
{
	struct mt_sp_region *region = stack->current;
	struct mt_sp_frame frame = {mt_sp_function_at(stack, event->to), event->from};
	struct mt_log_slice slice = {
	    .function = frame.function,
	    .address = event->to,
	    .kind = MT_SLICE_CALL,
	    .flags = flags,
	};

	if (mt_array_push(&region->frames, frame)) {
		mt_sp_fail(stack, mt_error_no_memory());
		return;
	}
	if (caller) {
		const struct mt_sp_cached_site *site = call_site(stack, caller, frame.function);

		slice.call_site = site->address;
		slice.inlined = site->inlined;
	}
	mt_segment_log_begin_settled(&stack->log, stack->now_ns, stack->estimated, &slice);
}

/* A thread's first stack has frames above a handler's that a signal needs room for. */
static void note_handlers_stack(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *region = stack->current;

	if (mt_sp_is_first(stack, region) && !region->frames.count && sp >= region->base)
		region->handler = true;
}

static bool is_handler(struct mt_sp_stack *stack, uint64_t sp)
{
	const struct mt_sp_frame *top = mt_sp_top(stack->current);
	bool handler = top && sp < top->sp && top->sp - sp >= HANDLER_DISTANCE;

	if (handler)
		stack->signal = 0;
	else
		mt_sp_wait_for_handler(stack);
	return handler;
}

/* Control is on the current stack, and enters a function at SP. */
static void enter(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_frame *top = mt_sp_top(stack->current);
	uint8_t flags = 0;

	if (top && top->sp < event->from) {
		mt_sp_unwind(stack, event->from);
		top = mt_sp_top(stack->current);
	}
	if (stack->signal) {
		note_handlers_stack(stack, event->from);
		flags = is_handler(stack, event->from) ? MT_SLICE_HANDLER : 0;
	}
	const struct mt_function *caller = top && !flags ? top->function : NULL;
	if (top && top->sp == event->from) {
		bool called = is_called_from_below(stack, event->to);

		mt_sp_pop(stack, called ? MT_SLICE_END_TIME_ESTIMATED : 0);
		if (called)
			caller = mt_sp_top(stack->current)->function;
		else
			flags |= MT_SLICE_TAIL_CALL;
	}
	begin(stack, event, flags, caller);
}

/* A first entry on a stack that nobody showed. */
static void enter_elsewhere(struct mt_sp_stack *stack, struct mt_sp_region *region,
			    const struct mt_event *event)
{
	bool handler = stack->signal && stack->layer_count;

	mt_sp_switch(stack, region, event->from, true);
	stack->signal = 0;
	if (!stack->log.error)
		begin(stack, event, handler ? MT_SLICE_HANDLER : 0, NULL);
}

static void enter_far(struct mt_sp_stack *stack, const struct mt_event *event)
{
	uint64_t sp = event->from;
	struct mt_sp_region *current = stack->current;
	struct mt_sp_region *region = mt_sp_owner(stack, sp);

	if (!region || !mt_sp_fits(region, sp)) {
		region = current && sp > current->base && sp - current->base <= MT_SP_FAR
			     ? current
			     : mt_sp_region_create(stack, sp);
		if (!region)
			return;
	}
	mt_sp_raise_base(stack, region, sp);
	if (!mt_sp_is_shown(stack, region)) {
		enter_elsewhere(stack, region, event);
		return;
	}
	mt_sp_switch(stack, region, sp, false);
	enter(stack, event);
}

static inline void entry(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_sp_region *region = stack->current;
	const struct mt_sp_frame *top = region ? mt_sp_top(region) : NULL;

	if (top && top->sp - event->from <= MT_SP_FAR && event->from > stack->floor)
		enter(stack, event);
	else
		enter_far(stack, event);
}

/* The innermost frame returns.  What a handler on a stack of its own interrupted goes on then, and
 * a coroutine that comes to its end switches to another stack. */
static inline void end_top(struct mt_sp_stack *stack)
{
	mt_sp_pop(stack, 0);
	if (!stack->current->frames.count)
		mt_sp_drop_layer(stack);
}

/* Control is on the current stack, and returns at SP, where no frame is. */
static void leave_unseen(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *region = stack->current;

	mt_sp_unwind(stack, event->from);
	if (event->from <= region->base)
		return;
	if (mt_sp_is_first(stack, region)) {
		mt_sp_add_root(stack, mt_sp_function_at(stack, event->to), 0);
		mt_segment_log_end(&stack->log, stack->now_ns, false,
				   stack->estimated ? MT_SLICE_END_TIME_ESTIMATED : 0);
	}
	mt_sp_raise_base(stack, region, event->from);
}

/* A function that switches stacks reports its entry on one and its ret on another.  Its frame
 * stays where it is: that is where the other stack will go on.  Had OWNER been left in the same
 * way, it would have a frame at SP: so it is left to an outer frame, or another stack begins. */
static void leave_by_switch(struct mt_sp_stack *stack, struct mt_sp_region *owner, uint64_t sp)
{
	const struct mt_sp_frame *top = owner ? mt_sp_top(owner) : NULL;

	if (owner && !mt_sp_is_shown(stack, owner) && owner->base - sp <= START_SLACK)
		owner->frames.count = 0;
	else if (!top || sp < top->sp)
		owner = mt_sp_region_create(stack, sp + START_SLACK);
	if (!owner)
		return;
	mt_sp_switch(stack, owner, sp, false);
	mt_sp_unwind(stack, sp);
}

/* Is SP rather that of an outer frame of the current stack than one of OWNER's? */
static bool is_root(const struct mt_sp_stack *stack, const struct mt_sp_region *owner, uint64_t sp)
{
	const struct mt_sp_region *current = stack->current;
	const struct mt_sp_frame *top = owner ? mt_sp_top(owner) : NULL;
	uint64_t end = top ? top->sp : owner ? owner->base : UINT64_MAX;

	if (sp <= current->base || sp - current->base > MT_SP_REACH || sp >= end)
		return false;
	return sp - current->base < end - sp;
}

/* The frame at SP ends.  Where its stack was not shown, it was only waiting to do so. */
static void return_to(struct mt_sp_stack *stack, struct mt_sp_region *owner, uint64_t sp)
{
	bool shown = mt_sp_is_shown(stack, owner);

	mt_sp_switch(stack, owner, sp, true);
	if (!shown)
		return;
	mt_sp_unwind(stack, sp);
	end_top(stack);
}

static void leave_far(struct mt_sp_stack *stack, const struct mt_event *event)
{
	uint64_t sp = event->from;
	struct mt_sp_region *owner = mt_sp_owner(stack, sp);
	const struct mt_sp_frame *top = stack->current ? mt_sp_top(stack->current) : NULL;

	if (stack->signal)
		mt_sp_wait_for_handler(stack);
	if (owner && mt_sp_find(owner, sp) >= 0) {
		return_to(stack, owner, sp);
	} else if (top && top->function == mt_sp_function_at(stack, event->to)) {
		leave_by_switch(stack, owner, sp);
	} else if (!stack->current) {
		owner = mt_sp_region_create(stack, 0);
		if (owner)
			mt_sp_switch(stack, owner, sp, false);
		if (stack->current)
			leave_unseen(stack, event);
	} else if (owner == stack->current || is_root(stack, owner, sp)) {
		leave_unseen(stack, event);
	} else if (owner && mt_sp_fits(owner, sp)) {
		mt_sp_switch(stack, owner, sp, false);
		mt_sp_unwind(stack, sp);
	}
}

static inline void leave(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_sp_region *region = stack->current;
	const struct mt_sp_frame *top = region ? mt_sp_top(region) : NULL;

	if (top && top->sp == event->from && !stack->signal)
		end_top(stack);
	else
		leave_far(stack, event);
}

static void call_event(struct mt_sp_stack *stack, const struct mt_event *event)
{
	if (stack->lost)
		mt_sp_end_gap(stack);
	mt_sp_open_segment(stack);
	if (event->kind == MT_EVENT_ENTRY)
		entry(stack, event);
	else if (event->kind == MT_EVENT_LEAVE)
		leave(stack, event);
	else
		mt_sp_again(stack, event);
}

static void handle(struct mt_sp_stack *stack, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_EVENT_ENTRY:
	case MT_EVENT_LEAVE:
	case MT_EVENT_AGAIN:
		call_event(stack, event);
		break;
	case MT_EVENT_SIGNAL:
		mt_sp_signal(stack, event);
		break;
	case MT_EVENT_MARK:
		mt_sp_mark(stack, event);
		break;
	case MT_EVENT_GAP:
		mt_sp_gap(stack, event);
		break;
	}
}

static inline void advance(struct mt_sp_stack *stack, const struct mt_event *event)
{
	stack->before_ns = stack->now_ns;
	if (event->time_ns > stack->now_ns)
		stack->now_ns = event->time_ns;
	stack->estimated = event->flags & MT_EVENT_TIME_IS_ESTIMATE;
}

static struct mt_error *take_error(struct mt_sp_stack *stack)
{
	struct mt_error *error = stack->log.error;

	stack->log.error = NULL;
	stack->failed = error != NULL;
	return error;
}

static void earn(struct mt_sp_stack *stack, size_t events)
{
	stack->credit +=
	    events < CREDIT_MAX / CREDIT_PER_EVENT ? events * CREDIT_PER_EVENT : CREDIT_MAX;
	if (stack->credit > CREDIT_MAX)
		stack->credit = CREDIT_MAX;
}

static size_t frames_in_a_row(const struct mt_event *events, size_t count)
{
	size_t frames = 0;

	while (frames < count && events[frames].kind == MT_EVENT_FRAME)
		frames++;
	return frames;
}

struct mt_error *mt_sp_stack_push(struct mt_sp_stack *stack, const struct mt_event *events,
				  size_t count)
{
	if (stack->failed)
		return NULL;
	earn(stack, count);
	for (size_t i = 0; i < count; i++) {
		advance(stack, &events[i]);
		if (events[i].kind == MT_EVENT_FRAME) {
			size_t frames = frames_in_a_row(&events[i], count - i);

			mt_sp_take_frames(stack, &events[i], frames);
			i += frames - 1;
			stack->frames_up_to = events[i].from;
		} else {
			stack->frames_up_to = 0;
			handle(stack, &events[i]);
		}
		if (stack->log.error)
			return take_error(stack);
	}
	return NULL;
}

struct mt_error *mt_sp_stack_finish(struct mt_sp_stack *stack)
{
	if (stack->failed)
		return NULL;
	stack->estimated = false;
	mt_sp_close_segment(stack, 0);
	return take_error(stack);
}
