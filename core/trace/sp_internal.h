/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rebuild of call stacks from call events (trace/rebuild.h), by the stack pointer:
 *
 *	sp_stack.c    takes events; entries and rets
 *	sp_plain.c    those of them that are like others before
 *	sp_calls.c    where calls come from: call sites, tail calls, inlined calls around them
 *	sp_region.c   the stacks of a thread, and which one an event is on
 *	sp_fibers.c   stacks of coroutines, which have tracks of their own
 *	sp_again.c    functions that begin anew, on a stack that moved
 *	sp_across.c   calls from one stack to another, and OCaml's stacks
 *	sp_frames.c   frames from an unwinder
 *	sp_values.c   arguments and results, and what loops begin with in Python
 *	sp_results.c  results of calls that end with a jump
 *	sp_open.c     arguments of what is open at the end
 *	sp_kept.c     numbers of calls that are open where data is lost
 *
 * An entry at stack pointer S closes every frame that lies at or below S: the one at S made a tail
 * call, those below were unwound (an exception, longjmp) or their ret was not seen.  A ret at S
 * closes down to S.  So no event that is missing does harm beyond its own slice.
 *
 * An entry says where it returns to, and so which call it came by.  Where inlined calls are shown,
 * those around that call begin with it, and lie on the caller's frame until a call comes from
 * elsewhere.
 *
 * Code that was made at run time reports nothing.  What it calls tells of it: one slice stands for
 * all of it that the innermost frame has called, in the way of an inlined call, from the first call
 * that comes from there to the first one that comes from the frame's own code, or its end.
 *
 * A thread may run on several stacks: coroutines, signal handlers on an alternate stack.  Each is
 * known by where it lies.  The first stack stays shown; another shows its frames on top of it, and
 * when control leaves it for a third they are ended (UNWOUND) and begun again (INFERRED) when it
 * goes on.  A handler's stack lies on top of whatever it interrupted.
 *
 * Where coroutines are wanted apart, a stack is one's if control came to it by a switch: the ret of
 * a function that was entered on another stack, or the entry of a function that no call leads back
 * from.  Of such a stack the thread keeps only which functions are open, to know the next switch.
 *
 * A stack may move: Go copies one that is too small, and the function that asked for more of it
 * begins anew (AGAIN).  Its frames go with it.
 *
 * What was open since before the segment becomes known by its ret, or from an unwinder (FRAME
 * events: at any moment, best at the segment's end, when no ring can have lost what they name). */
#ifndef MT_TRACE_SP_INTERNAL_H
#define MT_TRACE_SP_INTERNAL_H

#include "trace/rebuild_private.h"

enum {
	MT_SP_REGIONS = 1024,
	MT_SP_RESUMED = 256, /* frames of a stack that are shown again at the most */
	MT_SP_VALUES = 128,  /* of a call at the most */
	MT_SP_KEPT = 1024,   /* calls that may go on behind a loss: the outermost */
};

/* A call further below the frame before it than this is on another stack, as far as anybody can
 * tell: few frames are as large as the smallest stacks.  Where it is not, nothing is lost on a
 * thread's first stack, since what is on another one lies on top of it in just the same way. */
#define MT_SP_FAR (16 << 10)
/* A ret as far above all that is known may be that of a frame from before the segment. */
#define MT_SP_REACH (8 << 20)

/* The place in the log for the result of the last call that jumped on the way to a frame. */
struct mt_sp_late {
	uint64_t place; /* 0: none did */
	uint32_t epoch; /* of the log, in which it counts */
};

struct mt_sp_frame {
	const struct mt_function *function;
	uint64_t sp;             /* where its return address lies */
	uint64_t return_address; /* 0: not known */
	const struct mt_inline *const *chain;
	uint32_t inlines; /* slices of `chain`, outermost first, that lie on its own; and `made` */
	/* What a call of CPython's loop began with; NULL: nothing is known.  It has a slice on the
	 * frame's own, below those. */
	const struct mt_function *python;
	bool made;     /* the last of them is of code that was made at run time */
	bool at_entry; /* an unwinder found it at its first instruction: its ENTRY may follow */
	bool is_root;
	struct mt_sp_late late;
	uint64_t call_site; /* where its caller stands, as an unwinder says; 0: not known */
	uint64_t call_id;   /* of struct mt_slice */
};

struct mt_sp_place {
	uint64_t sp;        /* where the return address lies; 0: nowhere, it is inlined */
	uint64_t call_site; /* or the address behind it; 0: not known */
};

/* A call that may go on behind a loss. */
struct mt_sp_kept_call {
	struct mt_sp_place place;
	const struct mt_function *function;
	uint64_t call_id;
};
struct mt_sp_kept_calls {
	struct mt_sp_kept_call *items;
	size_t count;
	size_t capacity;
};

/* A stack that coroutines run on, one after the other perhaps: known until the program ends,
 * however much is lost in between. */
struct mt_sp_fiber {
	uint64_t base, lowest; /* of the stack pointers seen on it */
	uint32_t number;
	const struct mt_function *start; /* the last coroutine's; NULL: it was not seen */
	bool is_known;                   /* among the thread's `fibers` */
	bool is_freed; /* when the coroutine is over, or by a collector when nobody can resume it */
};

/* One stack. */
struct mt_sp_region {
	uint64_t base;                       /* the highest stack pointer seen on it */
	MT_ARRAY(struct mt_sp_frame) frames; /* outermost first: sp falls */
	size_t hidden;                       /* that many of them have no slice */
	bool is_shown;                       /* it is a layer */
	bool handler;                        /* a signal's handler runs on it */
	struct mt_sp_region *caller; /* control came from there by a call; NULL: it did not */
	size_t called;               /* of how many it is the caller */
	bool is_part;                /* of a stack that is in use further up: what was called */
	struct mt_sp_fiber *fiber;   /* who takes what lies on it; NULL: the thread */
	/* By which control came to it: the event is the fiber's, unless a coroutine begins then.
	 * `kind` 0: none. */
	struct mt_event arrival;
	uint64_t left; /* the larger, the later control left it */
};

struct mt_sp_cached_site {
	const struct mt_function *caller, *callee; /* NULL: nothing is cached here */
	bool is_jump;
	uint64_t address;
	struct mt_inline_span span; /* of the address */
};

/* What functions of OCaml's runtime do with its stacks. */
enum mt_sp_role {
	MT_SP_NO_ROLE,
	MT_SP_CALLS_ACROSS, /* C, from OCaml, whatever has jumped to it meanwhile */
	MT_SP_CALLS_BACK,   /* OCaml, from C, likewise */
	MT_SP_BEGINS_STACK, /* calls the first function on it, and what gives it back */
	MT_SP_RESUMES_STACK,
	MT_SP_MOVES_STACK,
};

struct mt_sp_cached_call {
	uint64_t return_address; /* 0: nothing is cached here */
	struct mt_call_before call;
	const struct mt_function *caller; /* whose code it is in */
	const struct mt_function *made;   /* what stands for that; NULL: it was in a file */
	enum mt_sp_role role;             /* the caller's */
	struct mt_inline_span span;
};

/* A call whose slice is in the log: it was made at the call before `return_address`, and led to the
 * function at `to` without more ado. */
struct mt_sp_seen {
	uint64_t return_address, to;
	const struct mt_function *function;
	const struct mt_inline *const *chain; /* that is shown around the call... */
	uint32_t inlines;                     /* ...of so many */
	uint32_t number;                      /* of the slice */
	uint32_t generation; /* of the log's slices, in which that counts; 0: nothing was seen */
};

/* VALUE events whose ENTRY or LEAVE is about to come. */
struct mt_sp_values {
	uint64_t sp;
	size_t count;
	uint32_t numbers[MT_SP_VALUES];
	uint64_t bits[MT_SP_VALUES];
};

struct mt_sp_stack {
	struct mt_rebuild base;
	struct mt_sp_region *current;             /* the top layer; NULL: nothing is known */
	uint64_t floor;                           /* the next lower stack's base */
	const struct mt_event *ahead, *ahead_end; /* from the one that is taken on */
	uint64_t frames_up_to;  /* the last event was FRAME, of that stack pointer; 0: it was not */
	uint64_t frames_from;   /* that of the first one of those */
	bool frames_are_across; /* they are on stacks of which one has called into the other */
	unsigned int signal_by; /* that many more events may come before the signal's handler */
	bool lost;              /* GAP was seen, and nothing since */
	struct mt_sp_values values;
	const char *result;      /* of the innermost frame, which ends; NULL: it is not known */
	struct mt_sp_late *jump; /* the innermost frame ends with a jump, after this; NULL: no */
	/* By the numbers of results; NULL: it is none. */
	MT_ARRAY(const struct mt_function *) owners;
	/* Of the rebuild's table_bits. */
	struct mt_sp_cached_site *sites; /* by caller and callee */
	struct mt_sp_cached_call *calls; /* by return address */
	struct mt_sp_seen *seen;         /* by return address and callee */

	MT_ARRAY(struct mt_sp_place) root_places; /* of each of the roots */
	struct mt_sp_kept_calls kept;             /* since the segment before; sp falls */

	MT_ARRAY(struct mt_sp_region *) regions; /* by base, rising */
	size_t next_victim;
	uint64_t switches; /* away from a stack */
	/* The stacks that are shown, each on top of the one before. */
	MT_ARRAY(struct mt_sp_region *) layers;

	MT_ARRAY(struct mt_sp_fiber *) fibers; /* by base, rising */
	MT_ARRAY(struct mt_sp_fiber *) ended;  /* their numbers may be had again */
	uint32_t fiber_count;
	uint64_t own_stack;                 /* right above the thread's own stack; 0: not known */
	uint64_t own_bytes;                 /* that may be so large */
	const struct mt_function *switcher; /* has switched, for certain */
	bool has_begun;                     /* the thread was seen before */
	bool has_returns;                   /* entries have return addresses */
};

/* A new stack is switched to by a ret to its first function, whose own return address lies above,
 * perhaps with some words between. */
enum { MT_SP_START_SLACK = 64 };

static inline struct mt_sp_frame *mt_sp_top(const struct mt_sp_region *region)
{
	return region->frames.count ? mt_array_last(&region->frames) : NULL;
}

static inline void mt_sp_frame_init(struct mt_sp_frame *frame, const struct mt_function *function,
				    uint64_t sp, uint64_t return_address)
{
	/* One by one: of a whole struct GCC makes a `rep stos`, which takes as long as all else. */
	frame->function = function;
	frame->sp = sp;
	frame->return_address = return_address;
	frame->chain = NULL;
	frame->inlines = 0;
	frame->python = NULL;
	frame->made = frame->at_entry = frame->is_root = false;
	frame->late.place = 0;
	frame->late.epoch = 0;
	frame->call_site = 0;
	frame->call_id = 0;
}

/* A frame on the current stack.  NULL: no memory, and the rebuild has failed. */
static inline struct mt_sp_frame *mt_sp_push(struct mt_sp_stack *stack,
					     const struct mt_function *function, uint64_t sp,
					     uint64_t return_address)
{
	struct mt_sp_region *region = stack->current;

	if (region->frames.count == region->frames.capacity &&
	    mt_array_reserve(&region->frames, region->frames.count + 1)) {
		mt_rebuild_out_of_memory(&stack->base);
		return NULL;
	}
	struct mt_sp_frame *frame = &region->frames.items[region->frames.count++];
	mt_sp_frame_init(frame, function, sp, return_address);
	return frame;
}

/* A frame's slice, and those on it that are no frame's. */
static inline uint32_t mt_sp_slices_of(const struct mt_sp_frame *frame)
{
	return 1 + (frame->python != NULL) + frame->inlines;
}

static inline size_t mt_sp_shown_slices(const struct mt_sp_region *region)
{
	size_t count = 0;

	for (size_t i = region->hidden; i < region->frames.count; i++)
		count += mt_sp_slices_of(&region->frames.items[i]);
	return count;
}

static inline bool mt_sp_is_first(const struct mt_sp_stack *stack,
				  const struct mt_sp_region *region)
{
	return stack->layers.count && stack->layers.items[0] == region;
}

/* A signal's note stands as exactly among the events as their times are known, and those of so many
 * at once are estimates. */
enum { MT_SP_SIGNAL_EVENTS = 8 };

static inline void mt_sp_wait_for_handler(struct mt_sp_stack *stack)
{
	if (!stack->base.estimated || --stack->signal_by == 0)
		stack->base.signal = 0;
}

/* The inlined calls around an address. */
static inline struct mt_inline_span mt_sp_span_at(const struct mt_sp_stack *stack, uint64_t address)
{
	const struct mt_symbolizer *symbolizer = stack->base.symbolizer;
	struct mt_inline_span span = {0};

	if (address && symbolizer->inlines_at)
		symbolizer->inlines_at(symbolizer->context, address, &span);
	return span;
}

/* Where inlined calls are not shown, an address within one is that of the call of the function's
 * own code that leads there.  NULL: it is in the function's own code, or they are shown. */
static inline const struct mt_inline *mt_sp_outermost(const struct mt_sp_stack *stack,
						      const struct mt_inline_span *span)
{
	return span->depth && !stack->base.options.inlines ? span->chain[0] : NULL;
}

/* Which of a table's places is that of such a call. */
static inline size_t mt_sp_seen_place(unsigned table_bits, uint64_t return_address, uint64_t to)
{
	return mt_rebuild_place(table_bits, return_address ^ to << 16);
}

/* GENERATION: of the log's slices. */
static inline bool mt_sp_is_seen(const struct mt_sp_seen *seen, uint32_t generation,
				 uint64_t return_address, uint64_t to)
{
	return seen->return_address == return_address && seen->to == to &&
	       seen->generation == generation;
}

/* sp_plain.c */
/* Takes what is plain of the events up to END; returns the first one that is not. */
const struct mt_event *mt_sp_take_plain(struct mt_sp_stack *stack, const struct mt_event *event,
					const struct mt_event *end);

/* sp_stack.c */
void mt_sp_pop(struct mt_sp_stack *stack, uint8_t end_flags);
/* The frames below SP ended, at unknown times. */
void mt_sp_unwind(struct mt_sp_stack *stack, uint64_t sp);

/* sp_calls.c */
/* ENTRY, at the stack pointer of TOP, the innermost frame: whether the frame below TOP called, as
 * TOP's ret was not seen; else TOP jumped. */
bool mt_sp_is_called_from_below(struct mt_sp_stack *stack, const struct mt_event *event,
				const struct mt_sp_frame *top);
/* A frame for an ENTRY on the current stack, and its slice.  IS_CALLED: by the innermost frame, if
 * there is one.  JUMPED: the function that made a tail call; NULL: none did.  False, and nothing is
 * done: it was called by none, but begins a stack. */
bool mt_sp_begin(struct mt_sp_stack *stack, const struct mt_event *event, uint8_t flags,
		 bool is_called, const struct mt_function *jumped);
/* FRAME, which is shown, the innermost, stands within these inlined calls. */
void mt_sp_set_inlines(struct mt_sp_stack *stack, struct mt_sp_frame *frame,
		       const struct mt_inline_span *span);
/* Is it the same function, or a part of it that the compiler put elsewhere? */
bool mt_sp_is_same(const struct mt_function *one, const struct mt_function *other);

/* ENTRY: did TOP's own code call? */
bool mt_sp_is_called_by(struct mt_sp_stack *stack, const struct mt_event *event,
			const struct mt_sp_frame *top);
/* The innermost frame, if there is one, has called and waits: with the inlined calls around that.
 */
void mt_sp_wait_at(struct mt_sp_stack *stack, uint64_t return_address);
const struct mt_sp_cached_call *mt_sp_call_before(struct mt_sp_stack *stack,
						  uint64_t return_address);
/* Do signals' handlers return to it? */
bool mt_sp_is_restorer(const struct mt_function *function);
/* ENTRY: does it return there? */
bool mt_sp_is_handler(struct mt_sp_stack *stack, const struct mt_event *event);
/* Go's runtime switches between goroutines, whose stacks move, and which move between threads: a
 * stack does not stand for one. */
bool mt_sp_is_of_go(const struct mt_function *function);
/* Does ENTRY enter the first function of a stack, to which it was jumped: one that returns to no
 * call? */
bool mt_sp_is_start(struct mt_sp_stack *stack, const struct mt_event *event);

/* sp_fibers.c: all but the first only where options.fibers are taken. */
void mt_sp_give_to_all(struct mt_sp_stack *stack, const struct mt_event *event); /* or not */
/* Also VALUE events that wait for it. */
void mt_sp_give(struct mt_sp_stack *stack, const struct mt_sp_fiber *fiber,
		const struct mt_event *event);
/* ENTRY, and is_start(). */
void mt_sp_start_fiber(struct mt_sp_stack *stack, const struct mt_event *event);
/* ENTRY on a stack that is a fiber's. */
void mt_sp_enter_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
		       const struct mt_event *event, bool is_start);
/* LEAVE by which control is switched to it, where nothing is known of it. */
void mt_sp_arrive_at_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
			   const struct mt_event *event);
/* LEAVE, or AGAIN, likewise. */
void mt_sp_leave_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
		       const struct mt_event *event);
/* FRAME events, likewise. */
void mt_sp_frames_of_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
			   const struct mt_event *events, size_t count);
/* FUNCTION was entered on the current stack, and leaves at SP on another: is that a switch, and no
 * longjmp() to an outer frame that was not seen? */
bool mt_sp_is_switch(struct mt_sp_stack *stack, const struct mt_function *function, uint64_t sp);
/* Control was switched to REGION: it is a fiber's, unless it is the thread's own. */
void mt_sp_switch_to_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp);
/* Does SP lie where the thread's own stack is not?  Not if that is not known. */
bool mt_sp_is_elsewhere(const struct mt_sp_stack *stack, uint64_t sp);
/* It is the first stack that is seen in this segment: whose? */
void mt_sp_begin_on_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp);
/* ENTRY on REGION: a handler's belongs to what it interrupted, and so does what nothing is known
 * of. */
void mt_sp_join_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp,
		      bool is_new);
/* It lies DISTANCE higher from now on. */
void mt_sp_move_fiber(struct mt_sp_stack *stack, struct mt_sp_fiber *fiber, uint64_t distance);
/* It is at its end, and another one may have its track. */
void mt_sp_end_fiber(struct mt_sp_stack *stack, struct mt_sp_fiber *fiber);
/* The known one that SP is on; NULL: none. */
struct mt_sp_fiber *mt_sp_known_fiber(const struct mt_sp_stack *stack, uint64_t sp);
void mt_sp_forget_fibers(struct mt_sp_stack *stack);

/* sp_region.c */
/* The known stack that holds SP, or could have grown to there; NULL: none. */
struct mt_sp_region *mt_sp_owner(const struct mt_sp_stack *stack, uint64_t sp);
bool mt_sp_fits(const struct mt_sp_region *region, uint64_t sp);
/* The index of the frame at SP; -1: none. */
ptrdiff_t mt_sp_find(const struct mt_sp_region *region, uint64_t sp);
/* A new one; NULL: no memory, and the rebuild has failed. */
struct mt_sp_region *mt_sp_region_create(struct mt_sp_stack *stack, uint64_t base);
void mt_sp_raise_base(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t base);
/* Control is on REGION now, at SP: what lies below (or at it, where AT) is gone. */
void mt_sp_switch(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp, bool at);
/* REGION, which is not shown and has nothing open, lies on top of the others, and is current. */
void mt_sp_lay_on(struct mt_sp_stack *stack, struct mt_sp_region *region);
/* It lies DISTANCE higher from now on. */
void mt_sp_move_region(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t distance);
/* Is control there, or does it come back by a return? */
bool mt_sp_is_awaited(const struct mt_sp_stack *stack, const struct mt_sp_region *region);
/* NULL: none. */
void mt_sp_set_caller(struct mt_sp_region *region, struct mt_sp_region *caller);
void mt_sp_region_destroy(struct mt_sp_stack *stack, struct mt_sp_region *region);
/* All frames of REGION, the top layer, none of which is shown yet. */
void mt_sp_show(struct mt_sp_stack *stack, struct mt_sp_region *region);
/* Control is on the layer below, if there is one. */
void mt_sp_drop_layer(struct mt_sp_stack *stack);
/* It is the current one, whatever is shown. */
void mt_sp_go_to(struct mt_sp_stack *stack, struct mt_sp_region *region);
/* Those from REGION on, if it is one, are no layers any more. */
void mt_sp_hide(struct mt_sp_stack *stack, const struct mt_sp_region *region);
/* The one with the nearest base below SP; NULL: none. */
struct mt_sp_region *mt_sp_below(const struct mt_sp_stack *stack, uint64_t sp);
void mt_sp_forget_regions(struct mt_sp_stack *stack);

/* sp_across.c */
/* ENTRY, far from where control was: if it was called from there, it lies on its caller, and true
 * is returned. */
bool mt_sp_enter_across(struct mt_sp_stack *stack, const struct mt_event *event);
/* ENTRY, far from where control was.  If TOP, the innermost frame, has called it on its own stack,
 * none of the stacks that were there before is any more. */
void mt_sp_bury(struct mt_sp_stack *stack, const struct mt_event *event,
		const struct mt_sp_frame *top);
/* LEAVE, to no known frame, on OWNER's stack: if an exception left the current stack so, for what
 * the runtime has right above its first function, or for what called into a part, that is unwound,
 * and true is returned. */
bool mt_sp_leave_part(struct mt_sp_stack *stack, struct mt_sp_region *owner,
		      const struct mt_event *event);
/* LEAVE of FUNCTION, the innermost frame's, at SP: if the stack has moved meanwhile, all of it is
 * there now. */
void mt_sp_follow_stack(struct mt_sp_stack *stack, const struct mt_function *function, uint64_t sp);
enum mt_sp_role mt_sp_role_of(const struct mt_function *function);

/* sp_again.c */
void mt_sp_again(struct mt_sp_stack *stack, const struct mt_event *event);

/* sp_values.c */
void mt_sp_take_value(struct mt_sp_stack *stack, const struct mt_event *event);
/* What waits for an ENTRY, or with RESULT for a LEAVE, of FUNCTION at SP, as text; NULL: nothing.
 */
const char *mt_sp_values_of(struct mt_sp_stack *stack, uint64_t sp,
			    const struct mt_function *function, bool result);

/* The frame has begun: so has what it runs in Python, if that waits for its ENTRY. */
void mt_sp_begin_python(struct mt_sp_stack *stack, struct mt_sp_frame *frame);

/* sp_results.c */
/* A call of FUNCTION is about to end with a jump, after LATE, which goes on with it. */
void mt_sp_await_result(struct mt_sp_stack *stack, const struct mt_function *function,
			struct mt_sp_late *late);
/* FRAME returns, and so do the calls that jumped on the way to it. */
void mt_sp_give_results(struct mt_sp_stack *stack, const struct mt_sp_frame *frame);

/* sp_open.c: see struct mt_rebuild_ops. */
struct mt_error *mt_sp_open_calls(struct mt_rebuild *rebuild, uint32_t snapshot,
				  struct mt_open_calls *out);

/* sp_kept.c */
/* The segment ends: the calls that are open get numbers, and roots those of the calls that they go
 * on with.  False: no memory. */
bool mt_sp_keep_calls(struct mt_sp_stack *stack);

/* sp_frames.c */
/* The function's frame is open since before the segment, outside of everything. */
void mt_sp_add_root(struct mt_sp_stack *stack, const struct mt_function *function,
		    struct mt_sp_place place);
/* COUNT FRAME events. */
void mt_sp_take_frames(struct mt_sp_stack *stack, const struct mt_event *events, size_t count);

#endif
