/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inlined calls that begin where a thread is: they are shown as calls that are still to come, and
 * stepped into without running anything.  At a breakpoint in one, the thread is in it. */
#include "private.h"

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
