/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where tracing leaves the program's own code and comes back: syscalls, interrupts, signals, and
 * the kernel when it is traced too.
 *
 * A handler's frame lies on the interrupted one.  It returns to the restorer (__restore_rt), whose
 * syscall (sigreturn) goes back to the interrupted address. */
#include "trace/callstack_internal.h"

/* A syscall shows at once: it may never end.  The rest shows when it is over: a crash does not end
 * in "[untraced]". */
void mt_cs_trace_end(struct mt_callstack *cs, const struct mt_event *event)
{
	bool syscall = event->detail == MT_TRACE_END_SYSCALL;
	struct mt_log_slice slice = {
	    .kind = syscall ? MT_SLICE_SYSCALL : MT_SLICE_UNTRACED,
	    .call_site = event->from,
	};

	if (!syscall)
		mt_segment_log_hold(&cs->base.log);
	mt_cs_begin(cs, &slice);
	cs->mode = MT_CS_AWAY;
	cs->away_from = event->from;
	cs->away_detail = event->detail;
}

void mt_cs_end_away(struct mt_callstack *cs, bool came_back, uint8_t end_flags)
{
	if (mt_segment_log_release(&cs->base.log, came_back))
		mt_cs_end(cs, end_flags);
}

/* Control left at SITE (0: not known) and is at ADDRESS now. */
static void come_back(struct mt_callstack *cs, uint64_t address, uint64_t site, uint32_t detail)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, address);
	const struct mt_frame *top = mt_cs_top(cs);
	bool at_entry = address == function->start;
	bool goes_on = site && (address == site || address - site == MT_SYSCALL_BYTES);
	bool signal = cs->base.signal && (at_entry || function->kind == MT_FUNCTION_UNKNOWN);

	/* The restorer is left by its sigreturn. */
	if (top && top->flags & MT_FRAME_RESTORER && !mt_function_holds(top->function, address)) {
		mt_cs_pop(cs, 0);
		goes_on = false;
	}
	cs->base.signal = 0;
	if (cs->frames.count == 0) {
		mt_cs_add_root(cs, address);
		mt_cs_arrive(cs, address);
	} else if (mt_cs_frame_is(cs, mt_cs_top(cs), function) && (goes_on || !signal)) {
		mt_cs_arrive(cs, address);
	} else if (detail == MT_TRACE_END_STOP) {
		/* Nobody knows what ran meanwhile. */
		if (at_entry || !mt_cs_land(cs, address, MT_SLICE_END_LOST))
			mt_cs_restart(cs, address);
	} else if (at_entry || signal) {
		/* A handler; or code outside of the traced range called back into it. */
		bool callback = at_entry && detail == MT_TRACE_END_FILTER;

		mt_cs_enter(cs, &(struct mt_entry){
				    .function = function,
				    .address = address,
				    .frame_flags = callback ? 0 : MT_FRAME_HANDLER,
				    .slice_flags = callback ? 0 : MT_SLICE_HANDLER,
				});
		mt_cs_arrive(cs, address);
	} else if (!mt_cs_land(cs, address,
			       detail == MT_TRACE_END_FILTER ? 0 : MT_SLICE_END_UNWOUND)) {
		mt_cs_lose_track(cs, address);
	}
}

void mt_cs_trace_start(struct mt_callstack *cs, uint64_t address)
{
	switch (cs->mode) {
	case MT_CS_BLANK:
		mt_rebuild_open_calls(&cs->base);
		mt_cs_add_root(cs, address);
		mt_cs_arrive(cs, address);
		cs->mode = MT_CS_RUNNING;
		cs->base.signal = 0;
		break;
	case MT_CS_LOST:
		mt_cs_resume(cs, address);
		break;
	case MT_CS_AWAY:
		mt_cs_end_away(cs, true, 0);
		cs->mode = MT_CS_RUNNING;
		come_back(cs, address, cs->away_from, cs->away_detail);
		break;
	default:
		come_back(cs, address, cs->ip, MT_TRACE_END_ASYNC);
	}
}

void mt_cs_kernel_entry(struct mt_callstack *cs, const struct mt_event *event)
{
	mt_cs_enter(cs, &(struct mt_entry){.function = mt_rebuild_function_at(&cs->base, event->to),
					   .address = event->to,
					   .call_site = event->from,
					   .return_site = event->from,
					   .frame_flags = MT_FRAME_ENTRY});
	mt_cs_arrive(cs, event->to);
}

/* Interrupts nest: one that interrupted the kernel goes back to the kernel. */
static size_t frames_below_kernel(const struct mt_callstack *cs, bool to_kernel)
{
	size_t i = cs->frames.count;

	while (i > 0 && mt_address_is_kernel(cs->frames.items[i - 1].function->start)) {
		i--;
		if (to_kernel && cs->frames.items[i].flags & MT_FRAME_ENTRY)
			break;
	}
	return i;
}

void mt_cs_kernel_exit(struct mt_callstack *cs, const struct mt_event *event)
{
	size_t below = frames_below_kernel(cs, mt_address_is_kernel(event->to));
	const struct mt_frame *entry;
	uint64_t site = 0;

	if (below < cs->frames.count) {
		entry = &cs->frames.items[below];
		site = entry->flags & MT_FRAME_ENTRY ? entry->return_site : 0;
	}
	mt_cs_pop_to(cs, below, 0);
	come_back(cs, event->to, site, MT_TRACE_END_ASYNC);
}
