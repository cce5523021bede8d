/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine that calls at random, on a stack of its own and on those of coroutines, and knows at
 * each event what is open.
 *
 * A frame calls from one place of its stack always, as compiled code does.  Where something went
 * unseen on a stack and no event came since, the machine neither switches stacks nor takes signals:
 * nobody could tell then what is open. */
#ifndef SP_MACHINE_H
#define SP_MACHINE_H

#include "sp_text.h"

#include "base/array.h"

enum {
	SP_COROUTINES = 6,
	SP_STACKS = SP_COROUTINES + 2, /* the first stack, coroutines, the alternate one */
	SP_ALTERNATE = SP_STACKS - 1,
	SP_DEPTH = 64,
};

#define SP_FIRST_BASE 0x7ffc00000000ull
#define SP_HEAP       0x555500000000ull
#define SP_SWITCH     's' /* the function that switches stacks, where it reports */

struct sp_sim_frame {
	char function;
	uint64_t sp;
	uint64_t low; /* the stack pointer of what it calls */
};

struct sp_sim_stack {
	uint64_t base;
	struct sp_sim_frame frames[SP_DEPTH];
	size_t count;
	bool stale; /* frames went away unseen, or control came back unseen */
};

/* After an event. */
struct sp_truth {
	uint64_t hash; /* of the functions that are open, outermost first */
	uint32_t depth;
	bool handler; /* the event is a handler's entry */
};

struct sp_machine {
	uint64_t seed;
	/* What it does. */
	bool misses, throws, tails, coroutines, signals;
	bool switch_reports;
	struct sp_sim_stack stacks[SP_STACKS];
	size_t current;
	size_t interrupted; /* by a handler on the alternate stack */
	MT_ARRAY(struct mt_event) events;
	MT_ARRAY(struct sp_truth) truth;
};

static inline uint64_t sp_random(struct sp_machine *m, uint64_t below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return m->seed % below;
}

static inline struct sp_sim_stack *sp_current(struct sp_machine *m)
{
	return &m->stacks[m->current];
}

static inline void sp_machine_init(struct sp_machine *m, uint64_t seed, uint64_t stack_size)
{
	*m = (struct sp_machine){.seed = seed * 0x9e3779b97f4a7c15u + 1};
	m->stacks[0].base = SP_FIRST_BASE;
	for (uint64_t i = 1; i < SP_STACKS; i++)
		m->stacks[i].base = SP_HEAP + i * stack_size - 8;
}

static inline void sp_machine_deinit(struct sp_machine *m)
{
	mt_array_deinit(&m->events);
	mt_array_deinit(&m->truth);
}

static inline uint64_t sp_hash(uint64_t hash, char function)
{
	return (hash ^ (uint64_t)(unsigned char)function) * 0x100000001b3u;
}

static inline void sp_add_stack(const struct sp_sim_stack *stack, struct sp_truth *truth)
{
	for (size_t i = 0; i < stack->count; i++)
		truth->hash = sp_hash(truth->hash, stack->frames[i].function);
	truth->depth += (uint32_t)stack->count;
}

/* What lies on top of what: see trace/sp_internal.h. */
static inline struct sp_truth sp_truth_now(const struct sp_machine *m)
{
	size_t below = m->current == SP_ALTERNATE ? m->interrupted : m->current;
	struct sp_truth truth = {0};

	sp_add_stack(&m->stacks[0], &truth);
	if (below != 0)
		sp_add_stack(&m->stacks[below], &truth);
	if (m->current == SP_ALTERNATE)
		sp_add_stack(&m->stacks[SP_ALTERNATE], &truth);
	return truth;
}

static inline void sp_emit(struct sp_machine *m, uint8_t kind, char function, uint64_t sp)
{
	struct mt_event event = {
	    .time_ns = 1000 + m->events.count,
	    .kind = kind,
	    .from = sp,
	    .to = kind == MT_EVENT_SIGNAL ? 0 : sp_address(function) + (kind != MT_EVENT_ENTRY),
	    .detail = kind == MT_EVENT_SIGNAL ? 10 : 0,
	};

	if (kind == MT_EVENT_SIGNAL)
		event.from = 0;
	assert_int_equal(mt_array_push(&m->events, event), 0);
	assert_int_equal(mt_array_push(&m->truth, sp_truth_now(m)), 0);
}

static inline void sp_enter(struct sp_machine *m, char function, uint64_t sp)
{
	struct sp_sim_stack *stack = sp_current(m);
	uint64_t size = 16 * (1 + sp_random(m, 6));

	if (sp_random(m, 50) == 0)
		size = 16 * (1 + sp_random(m, m->current ? 30 : 500));
	stack->frames[stack->count++] =
	    (struct sp_sim_frame){.function = function, .sp = sp, .low = sp - size};
	stack->stale = false;
	sp_emit(m, MT_EVENT_ENTRY, function, sp);
}

static inline bool sp_has_room(struct sp_machine *m, uint64_t bytes)
{
	const struct sp_sim_stack *stack = sp_current(m);
	uint64_t size = m->stacks[2].base - m->stacks[1].base;

	if (stack->count == SP_DEPTH - 2)
		return false;
	return !m->current || !stack->count ||
	       stack->base - stack->frames[stack->count - 1].low + bytes < size - 1024;
}

static inline uint64_t sp_low(struct sp_machine *m)
{
	const struct sp_sim_stack *stack = sp_current(m);

	return stack->count ? stack->frames[stack->count - 1].low : stack->base;
}

static inline void sp_call(struct sp_machine *m)
{
	if (sp_has_room(m, 0))
		sp_enter(m, (char)('a' + sp_random(m, 12)), sp_low(m));
}

static inline void sp_tail_call(struct sp_machine *m)
{
	struct sp_sim_stack *stack = sp_current(m);

	if (!stack->count || stack->stale)
		return;
	stack->count--;
	sp_enter(m, (char)('a' + sp_random(m, 12)), stack->frames[stack->count].sp);
}

/* The top frame's ret reports. */
static inline void sp_leave(struct sp_machine *m)
{
	struct sp_sim_stack *stack = sp_current(m);
	struct sp_sim_frame frame = stack->frames[--stack->count];

	stack->stale = false;
	sp_emit(m, MT_EVENT_LEAVE, frame.function, frame.sp);
}

/* Control goes on, on STACK. */
static inline void sp_go_on(struct sp_machine *m, size_t stack)
{
	m->current = stack;
	if (!m->switch_reports)
		sp_current(m)->stale = true;
	else if (sp_current(m)->count)
		sp_leave(m);
}

static inline void sp_return(struct sp_machine *m)
{
	struct sp_sim_stack *stack = sp_current(m);

	if (!stack->count)
		return;
	if (m->current == SP_ALTERNATE && stack->count == 1) {
		sp_leave(m); /* the handler's own: the restorer follows */
		m->current = m->interrupted;
		return;
	}
	if (m->misses && stack->count > 1 && sp_random(m, 8) == 0) {
		stack->count--;
		stack->stale = true;
		return;
	}
	sp_leave(m);
	if (!stack->count && m->current)
		sp_go_on(m, 0);
}

static inline void sp_throw(struct sp_machine *m)
{
	struct sp_sim_stack *stack = sp_current(m);

	if (stack->count < 2)
		return;
	stack->count -= 1 + sp_random(m, stack->count - 1);
	stack->stale = true;
}

/* A coroutine that was never finished is forgotten now and then, and its stack used anew. */
static inline void sp_start(struct sp_machine *m, size_t target)
{
	uint64_t base = m->stacks[target].base;

	m->stacks[target].count = 0;
	m->current = target;
	if (m->switch_reports)
		sp_emit(m, MT_EVENT_LEAVE, SP_SWITCH, base - 8);
	sp_enter(m, (char)('m' + target % 6), base);
}

static inline void sp_switch(struct sp_machine *m)
{
	size_t target = sp_random(m, SP_COROUTINES + 1);

	if (target == m->current || m->current == SP_ALTERNATE || sp_current(m)->stale ||
	    !sp_has_room(m, 256))
		return;
	if (m->switch_reports)
		sp_enter(m, SP_SWITCH, sp_low(m));
	if (target && (!m->stacks[target].count || sp_random(m, 10) == 0))
		sp_start(m, target);
	else
		sp_go_on(m, target);
}

static inline void sp_handle(struct sp_machine *m)
{
	uint64_t sp = (sp_low(m) - 1400 - sp_random(m, 4) * 64) & ~(uint64_t)0xf;
	bool alternate = sp_random(m, 2);

	if (m->current == SP_ALTERNATE || sp_current(m)->stale || !sp_current(m)->count ||
	    (!alternate && !sp_has_room(m, 2048)))
		return;
	sp_emit(m, MT_EVENT_SIGNAL, 'h', 0);
	if (alternate) {
		m->interrupted = m->current;
		m->current = SP_ALTERNATE;
		m->stacks[SP_ALTERNATE].count = 0;
		sp = m->stacks[SP_ALTERNATE].base;
	}
	sp_enter(m, 'h', sp - 8);
	mt_array_last(&m->truth)->handler = true;
}

/* siglongjmp out of a handler on the alternate stack. */
static inline void sp_jump_out(struct sp_machine *m)
{
	if (m->current != SP_ALTERNATE)
		return;
	m->current = m->interrupted;
	sp_current(m)->stale = true;
	sp_throw(m);
}

static inline void sp_step(struct sp_machine *m)
{
	uint64_t what = sp_random(m, 100);

	if (what < 45)
		sp_call(m);
	else if (what < 82)
		sp_return(m);
	else if (what < 86 && m->tails)
		sp_tail_call(m);
	else if (what < 89 && m->throws)
		sp_throw(m);
	else if (what < 95 && m->coroutines)
		sp_switch(m);
	else if (what < 98 && m->signals)
		sp_handle(m);
	else if (what < 99 && m->signals && m->throws)
		sp_jump_out(m);
}

static inline void sp_run(struct sp_machine *m, size_t events)
{
	sp_enter(m, 'z', SP_FIRST_BASE);
	while (m->events.count < events) {
		if (m->current == 0 && sp_current(m)->count < 2)
			sp_call(m);
		sp_step(m);
	}
}

#endif
