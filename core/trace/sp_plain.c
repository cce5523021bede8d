/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The short way of entries and rets, which nearly all of them go: a call that was seen before, from
 * where the innermost frame stands, and the ret of that frame.  It does what the long way of
 * sp_stack.c would do, and leaves alone whatever that would have to ask about. */
#include "trace/segment_log_format.h"
#include "trace/sp_internal.h"

/* Nothing but the frames of the current stack bears on the next call.  Calls that go the short way
 * do not change that. */
static bool is_plain(const struct mt_sp_stack *stack)
{
	const struct mt_sp_region *region = stack->current;

	return region && !region->fiber && !region->hidden && !stack->base.signal &&
	       !stack->base.snapshot && !stack->lost && !stack->values.count &&
	       !stack->frames_up_to;
}

/* What each event changes, and what it is compared with.  Nothing else is read again for it: the
 * log's bytes might be anything's, as far as the compiler knows. */
struct walk {
	uint64_t now_ns, before_ns; /* of struct mt_rebuild */
	bool estimated;
	struct mt_sp_frame *frames;
	size_t count, capacity;
	uint8_t *at, *full_at; /* the log's end, and where it has to make room */
	uint64_t log_ns;
	const struct mt_sp_seen *seen;
	unsigned table_bits;
	uint32_t generation;
	uint64_t floor, base;
	bool ends_layer; /* the last frame ends the stack, which was called into */
};

static inline struct walk walk_on(const struct mt_sp_stack *stack)
{
	const struct mt_rebuild *rebuild = &stack->base;
	const struct mt_sp_region *region = stack->current;
	const struct mt_segment_log *log = &rebuild->log;

	return (struct walk){
	    .now_ns = rebuild->now_ns,
	    .before_ns = rebuild->before_ns,
	    .estimated = rebuild->estimated,
	    .frames = region->frames.items,
	    .count = region->frames.count,
	    .capacity = region->frames.capacity,
	    .at = mt_log_record_start(log),
	    .full_at = log->bytes.items + log->full_at,
	    .log_ns = log->time_ns,
	    .seen = stack->seen,
	    .table_bits = rebuild->table_bits,
	    .generation = log->slices.generation,
	    .floor = stack->floor,
	    .base = region->base,
	    .ends_layer = stack->layers.count > 1,
	};
}

static inline void walk_to_here(struct mt_sp_stack *stack, const struct walk *walk)
{
	struct mt_rebuild *rebuild = &stack->base;

	rebuild->now_ns = walk->now_ns;
	rebuild->before_ns = walk->before_ns;
	rebuild->estimated = walk->estimated;
	stack->current->frames.count = walk->count;
	rebuild->log.time_ns = walk->log_ns;
	mt_log_record_end(&rebuild->log, walk->at);
}

/* An entry at SP is that of a call that the innermost frame made, or, where no frame is known, one
 * outside of them: with the inlined calls around it that lie on that frame already. */
static inline bool waits_at(const struct walk *walk, const struct mt_sp_seen *seen, uint64_t sp)
{
	if (sp <= walk->floor)
		return false;
	if (!walk->count)
		return walk->base - sp <= MT_SP_FAR;
	const struct mt_sp_frame *top = &walk->frames[walk->count - 1];
	return top->sp - sp - 1 < MT_SP_FAR && !top->made && top->inlines == seen->inlines &&
	       (!top->inlines || top->chain == seen->chain);
}

static inline void advance(struct walk *walk, const struct mt_event *event)
{
	walk->before_ns = walk->now_ns;
	walk->now_ns = mt_rebuild_time(walk->now_ns, event);
	walk->estimated = event->flags & MT_EVENT_TIME_IS_ESTIMATE;
}

static inline bool enter(struct walk *walk, const struct mt_event *event)
{
	const uint64_t return_address = mt_event_return_address(event);
	const struct mt_sp_seen *seen =
	    &walk->seen[mt_sp_seen_place(walk->table_bits, return_address, event->to)];

	if (!mt_sp_is_seen(seen, walk->generation, return_address, event->to) ||
	    !waits_at(walk, seen, event->from) || walk->count == walk->capacity)
		return false;
	advance(walk, event);
	mt_sp_frame_init(&walk->frames[walk->count++], seen->function, event->from, return_address);
	walk->at = mt_log_write_begin(walk->at, &walk->log_ns, walk->now_ns, walk->estimated,
				      seen->number);
	return true;
}

/* The innermost frame at the end of a stack that was called into ends that, too. */
static inline bool leave(struct mt_sp_stack *stack, struct walk *walk, const struct mt_event *event)
{
	const struct mt_sp_frame *top = walk->count ? &walk->frames[walk->count - 1] : NULL;

	if (!top || top->sp != event->from || (walk->count == 1 && walk->ends_layer))
		return false;
	advance(walk, event);
	if (__builtin_expect(top->inlines || top->python, 0)) {
		walk_to_here(stack, walk);
		mt_sp_pop(stack, 0);
		*walk = walk_on(stack);
		return true;
	}
	walk->count--;
	walk->at = mt_log_write_end(walk->at, &walk->log_ns, walk->now_ns, walk->estimated, 0);
	return true;
}

const struct mt_event *mt_sp_take_plain(struct mt_sp_stack *stack, const struct mt_event *event,
					const struct mt_event *end)
{
	if (!is_plain(stack))
		return event;
	struct walk walk = walk_on(stack);
	for (; event < end; event++) {
		if (!(event->kind == MT_EVENT_ENTRY   ? enter(&walk, event)
		      : event->kind == MT_EVENT_LEAVE ? leave(stack, &walk, event)
						      : false))
			break;
		if (__builtin_expect(walk.at >= walk.full_at, 0)) {
			walk_to_here(stack, &walk);
			walk = walk_on(stack);
		}
	}
	walk_to_here(stack, &walk);
	return event;
}
