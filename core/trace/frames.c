/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stack of frames: entering, leaving, replacing, and the search for the frame that an address
 * belongs to. */
#include "elf/objfile.h"
#include "trace/callstack_internal.h"

#include <string.h>

enum {
	FREE_STEPS = 64,  /* of a search, that cost nothing */
	EXACT_STEPS = 256 /* to look on for the very call once some frame would do */
};

uint32_t mt_cs_begin(struct mt_callstack *cs, const struct mt_log_slice *slice)
{
	return mt_segment_log_begin(&cs->base.log, cs->time_ns, cs->base.estimated, slice);
}

void mt_cs_end(struct mt_callstack *cs, uint8_t end_flags)
{
	mt_segment_log_end(&cs->base.log, cs->time_ns, cs->base.estimated, end_flags);
}

static bool push(struct mt_callstack *cs, const struct mt_frame *frame)
{
	struct mt_frame *caller = mt_cs_top(cs);

	if (caller) {
		caller->range_start = cs->range_start;
		caller->range_size = cs->range_size;
	}
	cs->range_size = 0;
	if (!mt_array_push(&cs->frames, *frame))
		return true;
	mt_rebuild_out_of_memory(&cs->base);
	return false;
}

static uint32_t begin_call(struct mt_callstack *cs, const struct mt_entry *entry)
{
	struct mt_log_slice slice = {
	    .function = entry->function,
	    .address = entry->address,
	    .call_site = entry->call_site,
	    .kind = MT_SLICE_CALL,
	    .flags = entry->slice_flags,
	};

	return mt_cs_begin(cs, &slice);
}

/* Something happens in a PLT stub after all. */
void mt_cs_show_hidden(struct mt_callstack *cs)
{
	struct mt_frame *top = mt_cs_top(cs);

	if (!top || !(top->flags & MT_FRAME_HIDDEN))
		return;
	begin_call(cs, &(struct mt_entry){
			   .function = top->function,
			   .address = top->function->start,
			   .call_site = cs->hidden_site,
			   .slice_flags = top->flags & MT_FRAME_JUMPED ? MT_SLICE_TAIL_CALL : 0,
		       });
	top->flags &= (uint8_t) ~(MT_FRAME_HIDDEN | MT_FRAME_JUMPED);
	cs->range_size = 0; /* was of the whole stub */
}

void mt_cs_enter_again(struct mt_callstack *cs, const struct mt_cs_call *call)
{
	const bool stub = call->number == MT_LOG_SLICES_NONE;
	const struct mt_frame frame = {
	    .function = call->function,
	    .return_site = call->from,
	    .flags = stub ? MT_FRAME_HIDDEN : 0,
	};

	mt_cs_show_hidden(cs);
	if (stub)
		cs->hidden_site = call->from;
	if (push(cs, &frame) && !stub)
		mt_segment_log_begin_again(&cs->base.log, cs->time_ns, cs->base.estimated,
					   call->number);
}

uint32_t mt_cs_enter(struct mt_callstack *cs, const struct mt_entry *entry)
{
	struct mt_frame frame = {
	    .function = entry->function,
	    .return_site = entry->return_site,
	    .flags = entry->frame_flags,
	};
	bool stub = entry->function->kind == MT_FUNCTION_PLT && !entry->slice_flags;

	mt_cs_show_hidden(cs);
	if (stub) {
		frame.flags |= MT_FRAME_HIDDEN;
		cs->hidden_site = entry->call_site;
	}
	if (push(cs, &frame) && !stub)
		return begin_call(cs, entry);
	return MT_LOG_SLICES_NONE;
}

static void end_slices(struct mt_callstack *cs, const struct mt_frame *frame, uint8_t end_flags)
{
	uint32_t slices = mt_frame_slices(frame);

	while (slices-- > 0)
		mt_cs_end(cs, end_flags);
}

void mt_cs_pop(struct mt_callstack *cs, uint8_t end_flags)
{
	end_slices(cs, mt_array_last(&cs->frames), end_flags);
	cs->frames.count--;
	cs->range_size = 0;
	if (cs->transaction)
		mt_cs_touch_top(cs);
}

void mt_cs_pop_to(struct mt_callstack *cs, size_t count, uint8_t end_flags)
{
	if (end_flags == 0 && cs->frames.count > count + 1)
		end_flags = MT_SLICE_END_UNWOUND;
	while (cs->frames.count > count)
		mt_cs_pop(cs, end_flags);
}

/* What remains of a frame whose function jumps on to another. */
static struct mt_frame replaced(const struct mt_frame *frame, const struct mt_function *function)
{
	return (struct mt_frame){
	    .function = function,
	    .return_site = frame->return_site,
	    .flags = frame->flags & (MT_FRAME_HANDLER | MT_FRAME_ENTRY | MT_FRAME_FIBER),
	};
}

static bool is_called_stub(const struct mt_frame *frame)
{
	return (frame->flags & (MT_FRAME_HIDDEN | MT_FRAME_JUMPED)) == MT_FRAME_HIDDEN;
}

struct mt_cs_call *mt_cs_replace_again(struct mt_callstack *cs, uint64_t to)
{
	struct mt_frame *top = mt_cs_top(cs);
	struct mt_cs_call *known = mt_cs_call_place(cs, cs->hidden_site, to);

	if (!is_called_stub(top) || known->number == MT_LOG_SLICES_NONE ||
	    !mt_cs_call_is(cs, known, cs->hidden_site, to))
		return NULL;
	*top = replaced(top, known->function);
	mt_segment_log_begin_again(&cs->base.log, cs->time_ns, cs->base.estimated, known->number);
	return known;
}

/* A stub's jump, and that of the resolver behind it, complete the call that led there. */
void mt_cs_replace(struct mt_callstack *cs, const struct mt_function *function, uint64_t from,
		   uint64_t to)
{
	struct mt_frame *top = mt_cs_top(cs);
	struct mt_entry entry = {.function = function, .address = to, .call_site = from};

	if (top->flags & MT_FRAME_HIDDEN) {
		entry.call_site = cs->hidden_site;
		entry.slice_flags = top->flags & MT_FRAME_JUMPED ? MT_SLICE_TAIL_CALL : 0;
	} else if (top->function->flags & MT_FUNCTION_RESOLVER && top->return_site) {
		entry.call_site = top->return_site;
	} else {
		entry.slice_flags = MT_SLICE_TAIL_CALL;
	}
	const bool by_stub = is_called_stub(top) && to == function->start;

	end_slices(cs, top, 0);
	*top = replaced(top, function);
	if (function->kind != MT_FUNCTION_PLT) {
		uint32_t number = begin_call(cs, &entry);

		if (by_stub && number != MT_LOG_SLICES_NONE)
			mt_cs_keep_call(cs, cs->hidden_site, to, function, number);
		return;
	}
	cs->hidden_site = entry.call_site;
	top->flags |= MT_FRAME_HIDDEN;
	if (entry.slice_flags & MT_SLICE_TAIL_CALL)
		top->flags |= MT_FRAME_JUMPED;
}

static void push_inlined_roots(struct mt_callstack *cs, const struct mt_inline *const *chain,
			       size_t depth)
{
	for (size_t i = depth; i-- > 0;)
		mt_rebuild_add_root(&cs->base, &(struct mt_slice){
						   .kind = MT_SLICE_INLINED,
						   .flags = MT_SLICE_INFERRED,
						   .function = chain[i]->function,
						   .call_source = chain[i]->call,
					       });
}

void mt_cs_add_root(struct mt_callstack *cs, uint64_t inside)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, inside);
	bool at_entry = inside == function->start;
	struct mt_inline_span span = {0};

	if (cs->inlines)
		span = mt_cs_span_at(cs, inside)->span;
	push_inlined_roots(cs, span.chain, span.depth);
	mt_rebuild_add_root(&cs->base, &(struct mt_slice){
					   .kind = MT_SLICE_CALL,
					   .flags = at_entry ? 0 : MT_SLICE_INFERRED,
					   .function = function,
					   .address = at_entry ? inside : 0,
				       });
	push(cs, &(struct mt_frame){
		     .function = function,
		     .chain = span.chain,
		     .inlines = (uint32_t)span.depth,
		 });
}

void mt_cs_note_call_of_root(struct mt_callstack *cs, uint64_t address)
{
	if (cs->base.roots.count)
		mt_array_last(&cs->base.roots)->call_source =
		    mt_rebuild_source_at(&cs->base, address - 1);
}

static bool is_cold_part(struct mt_callstack *cs, const struct mt_function *cold,
			 const struct mt_function *whole)
{
	size_t length;

	if (!(cold->flags & MT_FUNCTION_COLD))
		return false;
	if (cs->cold_part == cold && cs->cold_whole == whole)
		return true;
	length = strlen(whole->name);
	if (strncmp(cold->name, whole->name, length) != 0 ||
	    strcmp(cold->module, whole->module) != 0)
		return false;
	if (mt_name_without_cold(cold->name) != length)
		return false;
	cs->cold_part = cold;
	cs->cold_whole = whole;
	return true;
}

bool mt_cs_frame_is(struct mt_callstack *cs, const struct mt_frame *frame,
		    const struct mt_function *function)
{
	return frame->function == function || frame->part == function ||
	       is_cold_part(cs, function, frame->function) ||
	       is_cold_part(cs, frame->function, function);
}

static bool may_step(struct mt_callstack *cs, size_t steps)
{
	if (steps < FREE_STEPS)
		return true;
	if (cs->base.credit == 0)
		return false;
	cs->base.credit--;
	return true;
}

size_t mt_cs_find(struct mt_callstack *cs, const struct mt_function *function, size_t limit)
{
	size_t steps = 0;

	for (size_t i = limit; i > 0 && may_step(cs, steps++); i--)
		if (mt_cs_frame_is(cs, &cs->frames.items[i - 1], function))
			return i;
	return 0;
}

/* _Unwind_Resume is called at the end of a frame's own landing pad, and goes on with the frames
 * outside of that one: Itanium C++ ABI, exception handling, 1.3. */
size_t mt_cs_frames_to_unwind_to(struct mt_callstack *cs)
{
	size_t count = cs->frames.count;
	bool resume = count && strcmp(mt_cs_top(cs)->function->name, "_Unwind_Resume") == 0;
	size_t left = resume ? 2 : 1;

	return count > left ? count - left : 0;
}

size_t mt_cs_find_return(struct mt_callstack *cs, const struct mt_function *function,
			 uint64_t address)
{
	size_t near = 0, steps = 0, last = SIZE_MAX, count = cs->frames.count;
	size_t nearest = mt_cs_frames_to_unwind_to(cs);

	if (count == 0)
		return 0;
	for (size_t i = count - 1; i > 0 && steps < last && may_step(cs, steps++); i--) {
		const struct mt_frame *callee = &cs->frames.items[i];

		if (!(callee->flags & MT_FRAME_ENTRY) && callee->return_site &&
		    mt_is_next_of(address, callee->return_site))
			return i;
		if (!near && i <= nearest &&
		    mt_cs_frame_is(cs, &cs->frames.items[i - 1], function)) {
			near = i;
			last = steps + EXACT_STEPS;
		}
	}
	return near;
}
