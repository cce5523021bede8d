/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an object file's text may be overwritten so that each function's entry and each of its
 * returns tells of itself: the plan of the `calls` engine.
 *
 * A patch overwrites a stretch of whole instructions with a jump to a trampoline, which records,
 * runs what was displaced, and jumps back.  No address strictly inside of a patch may be reached in
 * any other way than by falling through from its start: no branch, no table, no return from a call,
 * no landing pad goes there.  What cannot be proved so is left out, with the reason. */
#ifndef MT_CALLS_PLAN_H
#define MT_CALLS_PLAN_H

#include "elf/objfile.h"

#define MT_PATCH_JUMP_BYTES  5 /* jmp rel32 */
#define MT_PATCH_SHORT_BYTES 2 /* jmp rel8 */
#define MT_PATCH_MAX_BYTES   32

/* How room was found. */
enum mt_plan_tactic {
	MT_TACTIC_ENTRY,    /* an entry, over the function's first instructions */
	MT_TACTIC_PADDING,  /* a return, and the padding behind it */
	MT_TACTIC_BLOCK,    /* a return, and the instructions before it in its block */
	MT_TACTIC_MERGED,   /* an entry and a return in one patch */
	MT_TACTIC_SHORT,    /* a short jump to a hole that holds the long one */
	MT_TACTIC_EVICTED,  /* a neighbour was displaced to make room */
	MT_TACTIC_REDIRECT, /* the branches to a lone return go to its trampoline */
	MT_TACTIC_HOLE,     /* nothing is recorded: displaced to make a hole for others */
	MT_TACTIC_COUNT
};

enum mt_plan_reason {
	MT_LEFT_NOT_DECODED,   /* bytes that are no instruction */
	MT_LEFT_TARGET,        /* a branch goes into what would be displaced */
	MT_LEFT_NO_ROOM,       /* too short, and no hole within reach */
	MT_LEFT_INDIRECT,      /* an indirect jump whose table is not understood */
	MT_LEFT_NOT_MOVABLE,   /* an instruction that cannot run elsewhere */
	MT_LEFT_SIGNAL_RETURN, /* __restore_rt: unwinders know it by its bytes */
	MT_LEFT_START,         /* _start: there is nobody to return to */
	MT_LEFT_CHOSEN,        /* by --functions, --modules or the throttle */
	MT_LEFT_REASONS
};

#define MT_PATCH_ENTRY  0x1 /* record an entry before the first displaced instruction */
#define MT_PATCH_RETURN 0x2 /* a return among the displaced instructions is recorded */
/* The function enters the kernel itself: its events carry a time stamp of their own. */
#define MT_PATCH_STAMP 0x4

struct mt_patch {
	uint64_t address;  /* of the first displaced byte */
	uint64_t hole;     /* where the long jump of a short one stands; 0: no short jump */
	uint32_t function; /* index into the plan's functions */
	uint8_t length;    /* bytes displaced: whole instructions, and padding behind a return */
	uint8_t flags;     /* MT_PATCH_… */
	uint8_t tactic;    /* enum mt_plan_tactic */
};

#endif
