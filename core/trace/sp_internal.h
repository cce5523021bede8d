/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The insides of trace/sp_stack.h, shared by
 *
 *	sp_stack.c    takes events; entries and rets
 *	sp_region.c   the stacks of a thread, and which one an event is on
 *	sp_again.c    functions that begin anew, on a stack that moved
 *	sp_segment.c  segments, gaps, marks, and frames from an unwinder */
#ifndef MT_TRACE_SP_INTERNAL_H
#define MT_TRACE_SP_INTERNAL_H

#include "trace/segment_log.h"
#include "trace/sp_stack.h"

enum {
	MT_SP_FUNCTIONS = 4096,
	MT_SP_SITES = 4096,
	MT_SP_REGIONS = 1024,
	MT_SP_LAYERS = 8,
	MT_SP_RESUMED = 256, /* frames of a stack that are shown again at the most */
};

/* A call further below the frame before it than this is on another stack, as far as anybody can
 * tell: few frames are as large as the smallest stacks.  Where it is not, nothing is lost on a
 * thread's first stack, since what is on another one lies on top of it in just the same way. */
#define MT_SP_FAR (16 << 10)
/* A ret as far above all that is known may be that of a frame from before the segment. */
#define MT_SP_REACH (8 << 20)

struct mt_sp_frame {
	const struct mt_function *function;
	uint64_t sp; /* where its return address lies */
};

/* One stack. */
struct mt_sp_region {
	uint64_t base;                       /* the highest stack pointer seen on it */
	MT_ARRAY(struct mt_sp_frame) frames; /* outermost first: sp falls */
	size_t hidden;                       /* that many of them have no slice */
	bool handler;                        /* a signal's handler runs on it */
	uint64_t left;                       /* the larger, the later control left it */
};

struct mt_sp_cached_function {
	uint64_t address;
	const struct mt_function *function;
};

struct mt_sp_cached_site {
	const struct mt_function *caller, *callee; /* NULL: nothing is cached here */
	uint64_t address;
	const struct mt_inline *inlined; /* the call of CALLER's own code that holds it */
};

struct mt_sp_stack {
	struct mt_sp_region *current; /* the top layer; NULL: nothing is known */
	uint64_t floor;               /* the next lower stack's base */
	uint64_t now_ns;
	uint64_t before_ns; /* of the event before */
	bool estimated;
	bool segment_open;
	uint64_t frames_up_to;  /* the last event was FRAME, of that stack pointer; 0: it was not */
	uint32_t signal;        /* said to be delivered; 0: none */
	unsigned int signal_by; /* that many more events may come before its handler */
	struct mt_segment_log log;
	struct mt_sp_cached_function *functions; /* MT_SP_FUNCTIONS, by address */
	struct mt_sp_cached_site *sites;         /* MT_SP_SITES, by caller and callee */
	const struct mt_symbolizer *symbolizer;

	MT_ARRAY(struct mt_sp_region *) regions; /* by base, rising */
	size_t next_victim;
	uint64_t switches; /* away from a stack */
	/* What is shown, each on top of the one before. */
	struct mt_sp_region *layers[MT_SP_LAYERS];
	size_t layer_count;
	/* Showing a stack again is paid for by the events before, so that no input makes the work
	 * quadratic. */
	uint64_t credit;

	MT_ARRAY(struct mt_slice) roots; /* innermost first */
	struct mt_segment segment;
	bool lost; /* GAP was seen, and nothing since */
	uint64_t gap_begin_ns;
	uint64_t gap_bytes;
	uint32_t gap_cause;

	struct mt_sp_stack_options options;
	bool failed;
};

static inline const struct mt_function *mt_sp_function_at(struct mt_sp_stack *stack,
							  uint64_t address)
{
	struct mt_sp_cached_function *cached =
	    &stack->functions[(address * 0x9e3779b97f4a7c15u) >> 52];

	if (cached->address != address || !cached->function) {
		cached->address = address;
		cached->function =
		    stack->symbolizer->function_at(stack->symbolizer->context, address);
	}
	return cached->function;
}

static inline struct mt_sp_frame *mt_sp_top(const struct mt_sp_region *region)
{
	return region->frames.count ? mt_array_last(&region->frames) : NULL;
}

static inline bool mt_sp_is_first(const struct mt_sp_stack *stack,
				  const struct mt_sp_region *region)
{
	return stack->layer_count && stack->layers[0] == region;
}

/* A signal's note stands as exactly among the events as their times are known, and those of so many
 * at once are estimates. */
enum { MT_SP_SIGNAL_EVENTS = 8 };

static inline void mt_sp_wait_for_handler(struct mt_sp_stack *stack)
{
	if (!stack->estimated || --stack->signal_by == 0)
		stack->signal = 0;
}

/* Inlined calls have no slices here, so a place within one is told as the call of the function's
 * own code that leads there.  NULL: it is in the function's own code. */
static inline const struct mt_inline *mt_sp_inlined_at(const struct mt_sp_stack *stack,
						       uint64_t address)
{
	const struct mt_symbolizer *symbolizer = stack->symbolizer;
	struct mt_inline_span span = {0};

	if (symbolizer->inlines_at)
		symbolizer->inlines_at(symbolizer->context, address, &span);
	return span.depth ? span.chain[0] : NULL;
}

/* Ends the rebuild: the error stays in the log until push or finish returns it. */
void mt_sp_fail(struct mt_sp_stack *stack, struct mt_error *error);

/* sp_stack.c */
void mt_sp_pop(struct mt_sp_stack *stack, uint8_t end_flags);
/* The frames below SP ended, nobody saw when. */
void mt_sp_unwind(struct mt_sp_stack *stack, uint64_t sp);

/* sp_region.c */
/* The known stack that holds SP, or could have grown to there; NULL: none. */
struct mt_sp_region *mt_sp_owner(const struct mt_sp_stack *stack, uint64_t sp);
bool mt_sp_is_shown(const struct mt_sp_stack *stack, const struct mt_sp_region *region);
bool mt_sp_fits(const struct mt_sp_region *region, uint64_t sp);
/* The index of the frame at SP; -1: none. */
ptrdiff_t mt_sp_find(const struct mt_sp_region *region, uint64_t sp);
/* A new one; NULL: no memory, and the rebuild has failed. */
struct mt_sp_region *mt_sp_region_create(struct mt_sp_stack *stack, uint64_t base);
void mt_sp_raise_base(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t base);
/* Control is on REGION now, at SP: what lies below (or at it, where AT) is gone. */
void mt_sp_switch(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp, bool at);
/* All frames of REGION, the top layer, none of which is shown yet. */
void mt_sp_show(struct mt_sp_stack *stack, struct mt_sp_region *region);
/* Control is on the layer below, if there is one. */
void mt_sp_drop_layer(struct mt_sp_stack *stack);
void mt_sp_forget_regions(struct mt_sp_stack *stack);

/* sp_again.c */
void mt_sp_again(struct mt_sp_stack *stack, const struct mt_event *event);

/* sp_segment.c */
void mt_sp_open_segment(struct mt_sp_stack *stack);
void mt_sp_close_segment(struct mt_sp_stack *stack, uint32_t snapshot);
/* The frame is open since before the segment, outside of everything. */
void mt_sp_add_root(struct mt_sp_stack *stack, const struct mt_function *function,
		    uint64_t call_site);
/* COUNT FRAME events. */
void mt_sp_take_frames(struct mt_sp_stack *stack, const struct mt_event *events, size_t count);
void mt_sp_signal(struct mt_sp_stack *stack, const struct mt_event *event);
void mt_sp_mark(struct mt_sp_stack *stack, const struct mt_event *event);
void mt_sp_gap(struct mt_sp_stack *stack, const struct mt_event *event);
/* The first event after a gap is here. */
void mt_sp_end_gap(struct mt_sp_stack *stack);

#endif
