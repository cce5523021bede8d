/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine code that a patch jumps to.
 *
 * A trampoline keeps every register (with -fipa-ra a caller may know that its callee leaves even
 * scratch registers alone); flags are dead at a function's entry and at its return, and only there
 * does it record.  It never leaves a return address of its own on the stack for the program's code:
 * a displaced call pushes the address that the original would have pushed, and jumps.  What is rare
 * is shared by the trampolines of a module, which call it: each would be twice as long. */
#ifndef MT_ENGINE_CALLS_TRAMPOLINE_TRAMPOLINE_H
#define MT_ENGINE_CALLS_TRAMPOLINE_TRAMPOLINE_H

#include "base/array.h"
#include "engine/calls/plan/plan.h"
#include "engine/calls/ring/ring.h"

/* Describes the code from `offset` on, up to the next row, for unwinders and for a tracer that
 * moves a thread out. */
struct mt_trampoline_row {
	uint32_t offset; /* into the code */
	/* How far the stack pointer lies below the program's own; less than 0: above it. */
	int16_t below : 10;
	uint16_t
	    saved : 4; /* MT_SAVED_…: registers that lie on the stack, where they were pushed */
	uint16_t phase : 2;  /* enum mt_trampoline_phase */
	uint8_t event_bytes; /* MT_PHASE_RECORDING: what it reserves in the ring */
	/* Slots of the ring that are reserved, and not whole: the first of them lies where a
	 * register says, as an address or as a number of bytes (enum mt_slot_place). */
	uint8_t reserved : 4;
	uint8_t slot : 4;
	uint64_t original; /* the address in the text that a thread here stands at, in effect */
};

/* Pushed in this order: rax, rdx, rcx, and the flags as `lahf; seto al` leaves them in rax.  When
 * `below` counts more pushes than registers are named here (the stamp of a line, inside the stamp
 * of an event), the first ones hold the program's. */
#define MT_SAVED_RAX   0x1
#define MT_SAVED_RDX   0x2
#define MT_SAVED_RCX   0x4
#define MT_SAVED_FLAGS 0x8

enum mt_trampoline_phase {
	MT_PHASE_RECORDING, /* the event at `original` is not yet whole in the ring */
	MT_PHASE_RECORDED,  /* it is; registers are still to be restored */
	MT_PHASE_DISPLACED, /* a copy of the instruction at `original` */
	/* In the code that trampolines share, which one of them has called: `below` and `saved` are
	 * from the call on, and the address that it returns to lies where rax would. */
	MT_PHASE_SHARED,
};

enum mt_slot_place {
	MT_SLOT_RAX,
	MT_SLOT_BEFORE_RAX, /* 8 bytes before that */
	MT_SLOT_RCX,
};

struct mt_trampolines {
	MT_ARRAY(uint8_t) code;
	MT_ARRAY(struct mt_trampoline_row) rows; /* by offset */
};

/* Words of the code that change with the place where it lies, and with who uses it. */
enum mt_fix {
	MT_FIX_SITE,    /* 32 bits: the number of a site */
	MT_FIX_TEXT,    /* 32 bits: the distance from the next byte to something in the text or its
			 * data */
	MT_FIX_ADDRESS, /* 64 bits: an address in the text */
	MT_FIX_PUSHED,  /* the same: the upper 32 bits stand 8 bytes behind the lower ones */
	MT_FIX_ALIVE,   /* 64 bits: the alive word's address */
	MT_FIX_KINDS
};

struct mt_fixes {
	MT_ARRAY(uint32_t) at[MT_FIX_KINDS]; /* offsets of such words, by offset */
	uint64_t low, high;                  /* of all that distances are to: [low, high] */
};

struct mt_trampoline_config {
	uint64_t address;    /* where code[0] will lie in the process */
	uint64_t shared;     /* where the code that trampolines share does */
	uint64_t bias;       /* process address of the text = plan's address + bias */
	uint32_t ring_bytes; /* 2^n, 4 KiB to 1 GiB */
	uint64_t alive;      /* of a word whose low 30 bits are 0 when nobody reads the ring any
			      * more; 0: somebody does as long as the program lives */
	enum mt_ring_stamps stamps;
	bool movable;           /* code that is as long with any bias */
	struct mt_fixes *fixes; /* to be added to; NULL: they are not needed */
};

/* Appends the code that trampolines share, if there is any: the stamp of a ring's line, which one
 * event in twenty takes.  Returns 0; -1 without memory. */
int mt_trampolines_share(struct mt_trampolines *trampolines,
			 const struct mt_trampoline_config *config);
/* Append the trampoline of a patch.  `bytes` are the patch's original ones; `site` is the number of
 * its first event: an entry's, then its returns' in their order.  Returns 0; -1 without memory; -2
 * when a displaced instruction cannot run elsewhere (nothing was appended). */
int mt_trampoline_append(struct mt_trampolines *trampolines,
			 const struct mt_trampoline_config *config, const struct mt_patch *patch,
			 const uint8_t *bytes, uint32_t site);
/* Leads branches back to an entry (MT_PATCH_AGAIN) past its recording.  `offsets`: where each
 * patch's trampoline begins, in their order; MT_TRAMPOLINE_NONE: it has none.  Returns 0; -1
 * without memory. */
#define MT_TRAMPOLINE_NONE UINT32_MAX
int mt_trampolines_link(struct mt_trampolines *trampolines,
			const struct mt_trampoline_config *config, const struct mt_plan *plan,
			const uint32_t *offsets);
/* Where the code in [begin, end) has its copy of the instruction at an address of the process;
 * MT_TRAMPOLINE_NONE: it has none. */
uint32_t mt_trampoline_copy_of(const struct mt_trampolines *trampolines, uint32_t begin,
			       uint32_t end, uint64_t original);
void mt_fixes_deinit(struct mt_fixes *fixes);
void mt_trampolines_deinit(struct mt_trampolines *trampolines);

/* Bytes that keep a trampoline from recording.  They may be written, all at once, while threads
 * stand anywhere in it. */
struct mt_trampoline_mute {
	uint32_t offset; /* into the code */
	uint8_t code[5];
};
/* Calls `found` for each event that the code in [begin, end) records. */
void mt_trampoline_each_mute(const struct mt_trampolines *trampolines, uint32_t begin, uint32_t end,
			     void (*found)(void *context, const struct mt_trampoline_mute *mute),
			     void *context);

/* Where the slots lie that a thread has reserved and not filled, with ROW's place and these
 * registers: a number of bytes from the ring's first beginning.  They need not be the newest: a
 * signal's handler may have written behind them.  Valid if row->reserved. */
uint64_t mt_trampoline_reserved_at(const struct mt_trampoline_row *row, uint64_t rax, uint64_t rcx,
				   uint64_t ring, uint64_t ring_bytes, uint64_t written);

/* The row that holds OFFSET; NULL: none. */
const struct mt_trampoline_row *mt_trampoline_row_at(const struct mt_trampolines *trampolines,
						     uint32_t offset);

#endif
