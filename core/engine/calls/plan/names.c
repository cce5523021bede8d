/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people read of a plan. */
#include "engine/calls/plan/plan.h"

const char *mt_plan_tactic_name(enum mt_plan_tactic tactic)
{
	static const char *const names[MT_TACTIC_COUNT] = {
	    [MT_TACTIC_ENTRY] = "over its first instructions",
	    [MT_TACTIC_PADDING] = "over the padding after it",
	    [MT_TACTIC_BLOCK] = "over the instructions before it",
	    [MT_TACTIC_MERGED] = "entry and return in one patch",
	    [MT_TACTIC_SHORT] = "by a short jump to a hole",
	    [MT_TACTIC_EVICTED] = "by a short jump to a hole made for it",
	    [MT_TACTIC_REDIRECT] = "by redirecting branches",
	    [MT_TACTIC_HOLE] = "only to make a hole for others",
	};

	return (unsigned)tactic < MT_TACTIC_COUNT ? names[tactic] : "?";
}

const char *mt_plan_reason_name(enum mt_plan_reason reason)
{
	static const char *const names[MT_LEFT_REASONS] = {
	    [MT_LEFT_NOT_DECODED] = "bytes that do not decode",
	    [MT_LEFT_TARGET] = "a branch goes into the bytes to overwrite",
	    [MT_LEFT_NO_ROOM] = "too short, and no hole in reach",
	    [MT_LEFT_INDIRECT] = "indirect jump with unknown targets",
	    [MT_LEFT_NOT_MOVABLE] = "instruction that cannot be displaced",
	    [MT_LEFT_UNREACHED] = "not reached by known code",
	    [MT_LEFT_LOOP] = "the function jumps back to its entry",
	    [MT_LEFT_SIGNAL_RETURN] = "signal return trampoline",
	    [MT_LEFT_FLAGS] = "its callers' flags are in use",
	    [MT_LEFT_FENCED] = "an emulated program runs it",
	    [MT_LEFT_CHECKED] = "the program checks its code",
	    [MT_LEFT_START] = "entry point of the program",
	    [MT_LEFT_CHOSEN] = "not selected",
	};

	return (unsigned)reason < MT_LEFT_REASONS ? names[reason] : "?";
}
