/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of the engine `calls`: where an object file's code can be patched so that each entry and
 * each return of a function records itself.
 *
 * A patch overwrites a stretch of whole instructions with a jump to a trampoline, which records,
 * runs what was displaced, and jumps back.  No address strictly inside of a patch may be reached in
 * any other way than by falling through from its start: no branch, no table, no return from a call,
 * no landing pad goes there.  What cannot be proved so is left out, with the reason. */
#ifndef MT_ENGINE_CALLS_PLAN_PLAN_H
#define MT_ENGINE_CALLS_PLAN_PLAN_H

#include "base/array.h"
#include "elf/kept.h"
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
	MT_TACTIC_EVICTED,  /* the same, and a neighbour was displaced to make the hole */
	MT_TACTIC_REDIRECT, /* the branches to a lone return go to its trampoline */
	MT_TACTIC_HOLE,     /* nothing is recorded: displaced to make holes for others */
	MT_TACTIC_COUNT
};

enum mt_plan_reason {
	MT_LEFT_NOT_DECODED,   /* bytes that are no instruction */
	MT_LEFT_TARGET,        /* a branch goes into what would be displaced */
	MT_LEFT_NO_ROOM,       /* too short, and no hole within reach */
	MT_LEFT_INDIRECT,      /* an indirect jump whose table is not understood */
	MT_LEFT_NOT_MOVABLE,   /* an instruction that cannot run elsewhere */
	MT_LEFT_UNREACHED,     /* a return that nothing known leads to: perhaps data */
	MT_LEFT_LOOP,          /* an entry that the function itself jumps back to */
	MT_LEFT_SIGNAL_RETURN, /* __restore_rt: unwinders know it by its bytes */
	MT_LEFT_FLAGS,         /* flags are in use where it is entered, or returns */
	MT_LEFT_FENCED,        /* between pages of ud2: a program that it emulates runs it */
	MT_LEFT_CHECKED,       /* the program computes a checksum of it */
	MT_LEFT_START,         /* _start: there is nobody to return to */
	MT_LEFT_CHOSEN,        /* by --functions, --modules or the throttle */
	MT_LEFT_REASONS
};

#define MT_PATCH_ENTRY  0x1 /* record an entry before the first displaced instruction */
#define MT_PATCH_RETURN 0x2 /* a return among the displaced instructions is recorded */
/* The function enters the kernel itself, or switches between goroutines, behind which the thread
 * may wait or be another's: its events carry a time stamp of their own. */
#define MT_PATCH_STAMP 0x4
/* The return that branches are redirected from is recorded. */
#define MT_PATCH_REDIRECT 0x8
/* `redirect` is no return, but what another patch (or this one) displaces: its function jumps back
 * to its entry.  The branch goes on in that one's trampoline, behind the recording.  With
 * MT_PATCH_REDIRECT that is recorded, as the stack may lie elsewhere by then. */
#define MT_PATCH_AGAIN 0x10

/* Bytes that are displaced and not needed for the patch's own jump are dead; holes may lie there,
 * or in dead padding.  Who leaves out a patch has to leave out those whose `hole` lies in it, and
 * the one that displaces its `redirect`; who only wants no events of it clears its flags. */
struct mt_patch {
	uint64_t address; /* of the first displaced byte */
	uint64_t hole;    /* where the long jump of a short one stands; 0: no short jump */
	/* A lone return, 0: none.  Direct branches to it among the displaced instructions (not
	 * loop, jrcxz) record it if MT_PATCH_REDIRECT says so, and return themselves: its place may
	 * be displaced.  See also MT_PATCH_AGAIN. */
	uint64_t redirect;
	uint32_t function; /* index into the plan's functions; of a HOLE's: any */
	/* Of its first event: index into sites.  An entry's comes first, then that of the return in
	 * it, then that of the one that branches are redirected from. */
	uint32_t site;
	uint8_t length;    /* bytes displaced: whole instructions, and padding behind a return */
	uint8_t flags;     /* MT_PATCH_… */
	uint8_t tactic;    /* enum mt_plan_tactic */
	uint8_t unused[5]; /* plans are kept in files: no byte of them is left undefined */
};

/* The meaning of an event's site number.  A jump counts as a return when it goes where the stack
 * pointer was set to right before, as longjmp() and unwinders do: what lies below is over.  The
 * engine numbers the sites of all modules together, so that a site of the trampolines is a module's
 * base and an index in here. */
struct mt_plan_site {
	uint64_t address; /* the function's, or the return instruction's */
	uint32_t function;
	bool is_return;
	bool is_landing; /* such a jump: it pops no return address */
	bool is_again;   /* a jump back to the entry: the function goes on */
	uint8_t unused[1];
};

#define MT_PLAN_PART   0x1 /* a cold part of another: it has returns, but nobody calls it */
#define MT_PLAN_KERNEL 0x2 /* it enters the kernel itself */
#define MT_PLAN_SWITCH                                                                             \
	0x4 /* Go's runtime comes to a goroutine by it, leaves, wakes or makes one                 \
	     */

struct mt_plan_function {
	uint64_t start; /* [start, end) */
	uint64_t end;
	uint32_t symbol; /* while it is planned: index into mt_objfile_symbols() */
	uint8_t flags;   /* MT_PLAN_… */
	uint8_t unused[3];
};

/* An entry or a return that is not recorded. */
struct mt_plan_left {
	uint64_t address;
	uint32_t function;
	uint8_t reason; /* enum mt_plan_reason */
	bool is_return;
	uint8_t unused[2];
};

struct mt_plan {
	MT_ARRAY(struct mt_patch) patches;           /* by address; they do not overlap */
	MT_ARRAY(struct mt_plan_function) functions; /* by address */
	MT_ARRAY(struct mt_plan_site) sites;
	MT_ARRAY(struct mt_plan_left) left; /* by address */
	size_t redirected;       /* returns that only branches record which led to them */
	uint64_t gs_user;        /* of an instruction that sets GS or uses it; 0: none was found */
	struct mt_kept_map kept; /* what the arrays lie in; else they are its own */
};

/* How many entries, and how many returns, by tactic and by reason. */
struct mt_plan_coverage {
	size_t all;
	size_t done;
	size_t by_tactic[MT_TACTIC_COUNT];
	size_t by_reason[MT_LEFT_REASONS];
};

struct mt_plan_options {
	/* Whether a function is to be recorded; NULL: all are. */
	bool (*wanted)(void *context, const struct mt_symbol *symbol);
	void *context;
	/* Asked now and then: whether it is not needed any more.  NULL: it is. */
	bool (*cancelled)(const void *context);
	const void *cancelled_context;
};

/* Addresses are the file's own; OBJFILE is not needed afterwards, but for the names.  options may
 * be NULL.
 * Errors: UNSUPPORTED (relocations in its code, or no sections to find the code by);
 * INTERRUPTED (cancelled); NO_MEMORY. */
struct mt_error *mt_plan_create(struct mt_objfile *objfile, const struct mt_plan_options *options,
				struct mt_plan **out);
void mt_plan_destroy(struct mt_plan *plan); /* NULL is fine */
/* How many bytes of whole instructions from ADDRESS on, the first one of an instruction, may be
 * displaced together to make room for a jump; 0: none may.  Patches are not looked at.  It reads
 * all of the file's code.  Errors: NO_MEMORY. */
struct mt_error *mt_plan_stretch_at(struct mt_objfile *objfile, uint64_t address, size_t *length);

/* The index of the function that holds ADDRESS. */
#define MT_PLAN_NOWHERE UINT32_MAX
uint32_t mt_plan_function_at(const struct mt_plan *plan, uint64_t address);
/* The patch that displaces ADDRESS; NULL: none. */
const struct mt_patch *mt_plan_patch_at(const struct mt_plan *plan, uint64_t address);
/* Whether ONE may stand only as long as OTHER does: its hole lies in there, or it displaces a
 * return that branches in there would otherwise still jump to. */
bool mt_patch_depends(const struct mt_patch *one, const struct mt_patch *other);
/* Calls `found` for each patch that depends on that one. */
void mt_plan_each_dependent(const struct mt_plan *plan, size_t patch,
			    void (*found)(void *context, size_t dependent), void *context);
void mt_plan_count(const struct mt_plan *plan, struct mt_plan_coverage *entries,
		   struct mt_plan_coverage *returns);
/* Whether an instruction is there to fill space. */
bool mt_plan_is_nop(const uint8_t *bytes, size_t length);
/* For people; lent for ever. */
const char *mt_plan_tactic_name(enum mt_plan_tactic tactic);
const char *mt_plan_reason_name(enum mt_plan_reason reason);

/* True if an instruction can be displaced.  IS_LAST: it is the patch's last one, as a call has to
 * be.  What mt_trampoline_append() takes is what this allows. */
bool mt_plan_can_move(const uint8_t *bytes, size_t size, uint64_t address, bool is_last);

#endif
