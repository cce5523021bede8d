/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inlined functions: which of them control is in on top of the stack.
 *
 * The symbolizer knows, for an address, the chain of inlined functions and the span in which it
 * stays the same.  While control stays in the span (cut to the function) nothing is to be done:
 * that is `range`.  A block that runs on into the next span is walked, span by span. */
#include "trace/callstack_internal.h"

enum { WALK_STEPS = 4096 }; /* spans of one block; more is no sane debug information */

struct mt_cs_span *mt_cs_span_at(struct mt_callstack *cs, uint64_t address)
{
	struct mt_cs_span *known = &cs->spans[(address * 0x9e3779b97f4a7c15u) >> 53];

	if (known->address != address || !known->span.end)
		*known = (struct mt_cs_span){
		    .address = address,
		    .span = mt_symbolizer_span_at(cs->base.symbolizer, address),
		    .number = MT_LOG_SLICES_NONE,
		};
	return known;
}

/* The call of number I in the chain where control came to. */
static uint32_t begin_inlined(struct mt_callstack *cs, const struct mt_cs_span *known, size_t i)
{
	const struct mt_inline *inlined = known->span.chain[i];

	return mt_cs_begin(cs, &(struct mt_log_slice){
				   .function = inlined->function,
				   .inlined = inlined,
				   .address = known->address,
				   .kind = MT_SLICE_INLINED,
			       });
}

/* The innermost one, which is nearly always the only one. */
static void begin_innermost(struct mt_callstack *cs, struct mt_cs_span *known)
{
	struct mt_segment_log *log = &cs->base.log;

	if (known->number != MT_LOG_SLICES_NONE && known->generation == log->slices.generation) {
		mt_segment_log_begin_again(log, cs->time_ns, cs->base.estimated, known->number);
		return;
	}
	known->number = begin_inlined(cs, known, known->span.depth - 1);
	known->generation = log->slices.generation;
}

static void change_chain(struct mt_callstack *cs, struct mt_frame *top, struct mt_cs_span *known)
{
	const struct mt_inline_span *span = &known->span;
	size_t same = 0;

	while (same < top->inlines && same < span->depth && top->chain[same] == span->chain[same])
		same++;
	while (top->inlines > same) {
		mt_cs_end(cs, 0);
		top->inlines--;
	}
	for (; same + 1 < span->depth; same++)
		begin_inlined(cs, known, same);
	if (same < span->depth)
		begin_innermost(cs, known);
	top->chain = span->chain;
	top->inlines = (uint32_t)span->depth;
}

/* The function that holds ADDRESS: the top frame's, or its cold part. */
static const struct mt_function *function_on_top(struct mt_callstack *cs, struct mt_frame *top,
						 uint64_t address)
{
	const struct mt_function *function = top->function;

	if (mt_function_holds(function, address))
		return function;
	if (top->part && mt_function_holds(top->part, address))
		return top->part;
	function = mt_rebuild_function_at(&cs->base, address);
	if (function != top->function && mt_cs_frame_is(cs, top, function))
		top->part = function;
	return function;
}

void mt_cs_arrive(struct mt_callstack *cs, uint64_t address)
{
	struct mt_frame *top = mt_cs_top(cs);
	const struct mt_function *function;
	struct mt_cs_span *known;

	cs->ip = address;
	cs->range_size = 0;
	if (!top)
		return;
	function = function_on_top(cs, top, address);
	if (mt_function_holds(function, address)) {
		cs->range_start = function->start;
		cs->range_size = function->end - function->start;
	}
	if (!cs->inlines || top->flags & MT_FRAME_HIDDEN)
		return;
	known = mt_cs_span_at(cs, address);
	if (known->span.depth != top->inlines || known->span.chain != top->chain)
		change_chain(cs, top, known);
	if (cs->range_size) {
		uint64_t end = cs->range_start + cs->range_size;

		if (known->span.start > cs->range_start)
			cs->range_start = known->span.start;
		if (known->span.end < end)
			end = known->span.end;
		cs->range_size = end - cs->range_start;
	}
}

void mt_cs_arrive_again(struct mt_callstack *cs, struct mt_cs_call *call)
{
	if (call->range_size) {
		cs->ip = cs->range_start = call->to;
		cs->range_size = call->range_size;
		return;
	}
	mt_cs_arrive(cs, call->to);
	if (cs->range_size && cs->range_size <= UINT32_MAX && cs->range_start == call->to &&
	    !mt_cs_top(cs)->inlines)
		call->range_size = (uint32_t)cs->range_size;
}

void mt_cs_walk(struct mt_callstack *cs, uint64_t address)
{
	bool estimated = cs->base.estimated;

	if (mt_cs_in_range(cs, address))
		return;
	/* It happened on the way here: some time since the event before. */
	cs->time_ns = cs->base.before_ns;
	cs->base.estimated = true;
	for (int i = 0; i < WALK_STEPS && cs->inlines && !mt_cs_in_range(cs, address); i++) {
		uint64_t next = cs->range_start + cs->range_size;

		if (!cs->range_size || address < cs->ip || next > address)
			break;
		mt_cs_arrive(cs, next);
	}
	if (!mt_cs_in_range(cs, address))
		mt_cs_arrive(cs, address);
	cs->time_ns = cs->base.now_ns;
	cs->base.estimated = estimated;
	if (!estimated)
		mt_segment_log_settle(&cs->base.log, cs->base.now_ns);
}
