/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rebuild of call stacks from branches (trace/rebuild.h):
 *
 *	callstack.c	takes events and gives each to who knows what it means
 *	callstack_plain.c	the short way of calls, returns and jumps that are known
 *	sync.c		calls, returns, jumps, and what to do when they do not fit
 *	away.c		where tracing leaves and comes back: syscalls, signals, the kernel
 *	gap.c		gaps, and what lives through a snapshot
 *	transaction.c	what an abort takes back
 *	fibers.c	stacks that the program switches between
 *	frames.c	the stack of frames and the search in it
 *	frames_open.c	arguments of those that are open at the end
 *	inlines.c	the chain of inlined functions on top
 *
 * A frame is a function that was called and has not returned; it shows as a slice, with a slice
 * for each inlined function that control is in.  All state is the thread's. */
#ifndef MT_TRACE_CALLSTACK_INTERNAL_H
#define MT_TRACE_CALLSTACK_INTERNAL_H

#include "trace/rebuild_private.h"

enum {
	MT_CS_SPANS = 2048,
	MT_CS_CALLS = 16384,
	MT_CS_PARKED = 16,
	MT_CS_PARKED_FRAMES = 256, /* more is left to be found anew */
};

enum {
	MT_FRAME_HANDLER = 0x01,  /* a signal's handler: returns to the restorer */
	MT_FRAME_RESTORER = 0x02, /* __restore_rt: its syscall goes to the interrupted frame */
	MT_FRAME_ENTRY = 0x04,    /* the kernel's first function on the user's stack */
	MT_FRAME_HIDDEN = 0x08,   /* a PLT stub: shows no slice while it only jumps on */
	MT_FRAME_FIBER = 0x20,    /* the outermost of a fiber's */
	MT_FRAME_JUMPED = 0x10,   /* HIDDEN: came by a tail call */
};

struct mt_frame {
	const struct mt_function *function;
	const struct mt_function *part; /* its cold part, once seen; or NULL */
	/* The call whose next instruction the frame returns to; ENTRY: what was interrupted;
	 * 0: not known. */
	uint64_t return_site;
	const struct mt_inline *const *chain;
	uint32_t inlines; /* open slices of chain */
	uint8_t flags;
	/* The callstack's range when this frame called the one above it: nothing has changed in
	 * here when that returns. */
	uint64_t range_start;
	uint64_t range_size;
};

/* How many show it. */
static inline uint32_t mt_frame_slices(const struct mt_frame *frame)
{
	return frame->inlines + !(frame->flags & MT_FRAME_HIDDEN);
}

struct mt_cs_span {
	uint64_t address;
	struct mt_inline_span span; /* around it; its end is 0: not looked up yet */
	/* Of the slice of its innermost call where that begins here, and the generation of the
	 * log's slices in which it counts; MT_LOG_SLICES_NONE: not known. */
	uint32_t number;
	uint32_t generation;
};

/* A call as it was made before, be it by way of a PLT stub. */
struct mt_cs_call {
	uint64_t from;
	uint64_t to;
	const struct mt_function *function;
	uint32_t number;     /* of its slice in the log; MT_LOG_SLICES_NONE: a stub has none */
	uint32_t generation; /* of the log's slices, in which that counts */
	uint32_t
	    range_size; /* of the callstack's, from `to` on, without inlined calls; 0: not so */
};

/* A fiber that does not run. */
struct mt_parked {
	uint64_t site;                      /* the call that it waits in */
	const struct mt_function *switcher; /* ... of this */
	MT_ARRAY(struct mt_frame) frames;
};

enum { MT_SYSCALL_BYTES = 2 }; /* syscall, sysenter and int 0x80 alike */

enum mt_cs_mode {
	MT_CS_BLANK,   /* nothing is known: a segment begins where control turns up */
	MT_CS_RUNNING, /* control is at ip, in the top frame's function */
	MT_CS_AWAY,    /* TRACE_END was seen */
	MT_CS_LOST,    /* GAP was seen, without where control is now */
};

struct mt_callstack {
	struct mt_rebuild base;
	/* Around ip, in the top frame's function and one chain of inlined functions: as long as
	 * control stays in here nothing needs to be done.  Empty: the top frame is another now. */
	uint64_t range_start;
	uint64_t range_size;
	uint64_t ip;      /* the last event's `to` */
	uint64_t time_ns; /* when what is shown next happened */
	uint8_t mode;     /* enum mt_cs_mode */
	bool inlines;
	MT_ARRAY(struct mt_frame) frames; /* outermost first */

	struct mt_cs_span *spans;                         /* MT_CS_SPANS, by address */
	struct mt_cs_call *calls;                         /* MT_CS_CALLS, by `from` and `to` */
	const struct mt_function *cold_part, *cold_whole; /* a pair that was found to match */

	uint64_t hidden_site; /* the branch to a HIDDEN top frame */

	uint64_t away_from; /* AWAY: the event's from and detail */
	uint32_t away_detail;

	struct mt_parked parked[MT_CS_PARKED];
	size_t next_parked;

	/* A transaction: what an abort brings back. */
	bool transaction;
	size_t kept_frames;              /* that it left untouched */
	MT_ARRAY(struct mt_frame) saved; /* that it popped, topmost first */
	size_t saved_roots;
};

static inline bool mt_cs_in_range(const struct mt_callstack *cs, uint64_t address)
{
	return address - cs->range_start < cs->range_size;
}

/* Where a call is kept. */
static inline struct mt_cs_call *mt_cs_call_place(const struct mt_callstack *cs, uint64_t from,
						  uint64_t to)
{
	return &cs->calls[((from ^ to << 24) * 0x9e3779b97f4a7c15u) >> 50];
}

static inline bool mt_cs_call_is(const struct mt_callstack *cs, const struct mt_cs_call *call,
				 uint64_t from, uint64_t to)
{
	return call->from == from && call->to == to &&
	       call->generation == cs->base.log.slices.generation;
}

static inline void mt_cs_keep_call(struct mt_callstack *cs, uint64_t from, uint64_t to,
				   const struct mt_function *function, uint32_t number)
{
	*mt_cs_call_place(cs, from, to) =
	    (struct mt_cs_call){from, to, function, number, cs->base.log.slices.generation, 0};
}

static inline bool mt_function_holds(const struct mt_function *function, uint64_t address)
{
	return address - function->start < function->end - function->start;
}

static inline struct mt_frame *mt_cs_top(struct mt_callstack *cs)
{
	return cs->frames.count ? mt_array_last(&cs->frames) : NULL;
}

/* A call instruction has 15 bytes at the most (Intel SDM vol. 2, 2.3.11). */
static inline bool mt_is_next_of(uint64_t address, uint64_t site)
{
	return address - site - 1 < 15;
}

/* callstack_plain.c: returns the first event that it leaves to the long way; END: there is none. */
const struct mt_event *mt_cs_take_plain(struct mt_callstack *cs, const struct mt_event *event,
					const struct mt_event *end);

/* frames.c */
struct mt_entry {
	const struct mt_function *function;
	uint64_t address;
	uint64_t call_site;
	uint64_t return_site;
	uint8_t frame_flags;
	uint8_t slice_flags;
};
/* Returns the number of its slice in the log; MT_LOG_SLICES_NONE: it shows none yet. */
uint32_t mt_cs_enter(struct mt_callstack *cs, const struct mt_entry *entry);
/* The same for one that was entered before, by the same call. */
void mt_cs_enter_again(struct mt_callstack *cs, const struct mt_cs_call *call);
/* The stub on top jumped on to where it did before.  NULL: it did not, or there is none. */
struct mt_cs_call *mt_cs_replace_again(struct mt_callstack *cs, uint64_t to);
void mt_cs_pop(struct mt_callstack *cs, uint8_t end_flags);
/* Until COUNT are left.  More than one at once were unwound. */
void mt_cs_pop_to(struct mt_callstack *cs, size_t count, uint8_t end_flags);
/* The top frame's function jumped on to another. */
void mt_cs_replace(struct mt_callstack *cs, const struct mt_function *function, uint64_t from,
		   uint64_t to);
/* A frame that was open since before the segment, outside everything: no frame may be open.
 * INSIDE is an address that control was at in it. */
void mt_cs_add_root(struct mt_callstack *cs, uint64_t inside);
/* The last root that was found was called from the call before ADDRESS. */
void mt_cs_note_call_of_root(struct mt_callstack *cs, uint64_t address);
/* Is FUNCTION what the frame runs, or its cold part? */
bool mt_cs_frame_is(struct mt_callstack *cs, const struct mt_frame *frame,
		    const struct mt_function *function);
/* How many of the frames, from the outermost on, may be where the top one unwinds to. */
size_t mt_cs_frames_to_unwind_to(struct mt_callstack *cs);
/* The nearest frame below LIMIT that runs FUNCTION: its index + 1; 0: none. */
size_t mt_cs_find(struct mt_callstack *cs, const struct mt_function *function, size_t limit);
/* Likewise, but rather the frame that called, from right before ADDRESS, the one above it. */
size_t mt_cs_find_return(struct mt_callstack *cs, const struct mt_function *function,
			 uint64_t address);
void mt_cs_show_hidden(struct mt_callstack *cs);
uint32_t mt_cs_begin(struct mt_callstack *cs, const struct mt_log_slice *slice);
void mt_cs_end(struct mt_callstack *cs, uint8_t end_flags);

/* frames_open.c: a rebuild's open_calls(). */
struct mt_error *mt_cs_open_calls(struct mt_rebuild *rebuild, uint32_t snapshot,
				  struct mt_open_calls *out);

/* inlines.c: control is at ADDRESS now, in the top frame. */
void mt_cs_arrive(struct mt_callstack *cs, uint64_t address);
/* The same where a call leads that was made before. */
void mt_cs_arrive_again(struct mt_callstack *cs, struct mt_cs_call *call);
/* It ran straight on from ip to ADDRESS. */
void mt_cs_walk(struct mt_callstack *cs, uint64_t address);
/* Lent until the next call. */
struct mt_cs_span *mt_cs_span_at(struct mt_callstack *cs, uint64_t address);

/* sync.c */
/* The top frame shall be the one that runs the code at ADDRESS. */
void mt_cs_sync(struct mt_callstack *cs, uint64_t address);
void mt_cs_return(struct mt_callstack *cs, const struct mt_event *event);
void mt_cs_jump(struct mt_callstack *cs, uint64_t from, uint64_t to);
/* Control turned up at ADDRESS by a way that says nothing of the stack. */
bool mt_cs_land(struct mt_callstack *cs, uint64_t address, uint8_t end_flags);

/* fibers.c */
/* The frames from KEPT on are about to be left by a return past them. */
void mt_cs_park(struct mt_callstack *cs, size_t kept);
/* Is ADDRESS where a parked fiber goes on?  Then it runs. */
bool mt_cs_switch(struct mt_callstack *cs, uint64_t address);
void mt_cs_forget_parked(struct mt_callstack *cs);

/* away.c */
void mt_cs_trace_end(struct mt_callstack *cs, const struct mt_event *event);
void mt_cs_trace_start(struct mt_callstack *cs, uint64_t address);
void mt_cs_kernel_entry(struct mt_callstack *cs, const struct mt_event *event);
void mt_cs_kernel_exit(struct mt_callstack *cs, const struct mt_event *event);
/* The slice of the time away ends, if it is to be shown at all. */
void mt_cs_end_away(struct mt_callstack *cs, bool came_back, uint8_t end_flags);

/* gap.c */
void mt_cs_gap(struct mt_callstack *cs, const struct mt_event *event);
/* The gap's slice, which the outermost KEPT frames live through. */
void mt_cs_show_gap(struct mt_callstack *cs, size_t kept);
/* Control is at ADDRESS after a gap. */
void mt_cs_resume(struct mt_callstack *cs, uint64_t address);
/* Control is where it cannot be: a gap, and a new segment from here. */
void mt_cs_lose_track(struct mt_callstack *cs, uint64_t address);
void mt_cs_restart(struct mt_callstack *cs, uint64_t address);

/* transaction.c */
void mt_cs_transaction(struct mt_callstack *cs, const struct mt_event *event);
/* The top frame may change from now on. */
void mt_cs_touch_top(struct mt_callstack *cs);
void mt_cs_end_transaction(struct mt_callstack *cs);

#endif
