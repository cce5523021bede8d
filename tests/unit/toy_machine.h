/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine that runs the toy program at random and knows the truth: it gives the events that a
 * tracer would see, and the slices that they have to become.  What events alone cannot tell (which
 * of two open frames of one function caught an exception) it does not do. */
#ifndef MT_TESTS_TOY_MACHINE_H
#define MT_TESTS_TOY_MACHINE_H

#include "base/array.h"
#include "toy_program.h"
#include "trace/slice.h"

/* A begin, an end or a segment's border, as the truth or as a sink saw it. */
struct toy_record {
	enum { TOY_SEGMENT, TOY_BEGIN, TOY_END } what;
	uint8_t kind; /* BEGIN */
	uint8_t flags;
	const struct mt_function *function;
	uint64_t time_ns;
};

typedef MT_ARRAY(struct toy_record) toy_records;

struct toy_frame {
	size_t function;
	bool cold;         /* control is in its cold part */
	uint64_t position; /* while on top: where control is; below: the return address */
	size_t inlines;    /* open */
	bool handler, restorer;
};

struct toy_machine {
	struct toy_program *toy;
	uint64_t random;
	MT_ARRAY(struct toy_frame) frames;
	size_t seen; /* frames from here on were seen in this segment */
	MT_ARRAY(struct mt_event) events;
	toy_records truth; /* of the segments that are over */
	toy_records roots; /* of this one, innermost first */
	toy_records body;
	uint64_t begin_ns, now_ns;
	bool estimates;
};

static inline uint64_t toy_random(struct toy_machine *m, uint64_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 11) % below;
}

static inline struct toy_frame *toy_top(struct toy_machine *m)
{
	return mt_array_last(&m->frames);
}

static inline void toy_record(struct toy_machine *m, struct toy_record record)
{
	record.time_ns = m->now_ns;
	(void)mt_array_push(&m->body, record);
}

static inline void toy_begin(struct toy_machine *m, uint8_t kind,
			     const struct mt_function *function, uint8_t flags)
{
	toy_record(m, (struct toy_record){
			  .what = TOY_BEGIN, .kind = kind, .flags = flags, .function = function});
}

static inline void toy_end(struct toy_machine *m, uint8_t flags)
{
	toy_record(m, (struct toy_record){.what = TOY_END, .flags = flags});
}

/* Byte by byte, so that it shares no thought with the code that it checks. */
static inline void toy_step_to(struct toy_machine *m, uint64_t address)
{
	struct toy_frame *top = toy_top(m);
	size_t depth = toy_inline_depth(address);

	while (top->inlines > depth) {
		toy_end(m, 0);
		top->inlines--;
	}
	while (top->inlines < depth)
		toy_begin(m, MT_SLICE_INLINED, &m->toy->inlined[top->inlines++], 0);
	top->position = address;
}

static inline uint64_t toy_base(const struct toy_frame *frame)
{
	return toy_address(frame->cold ? frame->function + TOY_USERS + TOY_STUBS : frame->function);
}

static inline void toy_event(struct toy_machine *m, struct mt_event event)
{
	bool estimated = m->estimates && toy_random(m, 3) == 0;

	if (!estimated)
		m->now_ns += toy_random(m, 50);
	event.time_ns = m->now_ns;
	event.flags = estimated ? MT_EVENT_TIME_IS_ESTIMATE : 0;
	(void)mt_array_push(&m->events, event);
}

/* Straight on to a branch below offset 0xc0; what lies behind is for landing pads. */
static inline uint64_t toy_run(struct toy_machine *m)
{
	struct toy_frame *top = toy_top(m);
	uint64_t offset = top->position - toy_base(top), to;

	if (offset >= 0xb0) {
		toy_event(m, (struct mt_event){.kind = MT_EVENT_JUMP,
					       .from = top->position,
					       .to = toy_base(top) + 8});
		toy_step_to(m, toy_base(top) + 8);
		offset = 8;
	}
	to = toy_base(top) + offset + toy_random(m, 0xc0 - offset);
	for (uint64_t at = top->position; at <= to; at++)
		toy_step_to(m, at);
	return to;
}

static inline void toy_branch(struct toy_machine *m, uint8_t kind, uint64_t from, uint64_t to)
{
	toy_event(m, (struct mt_event){.kind = kind, .from = from, .to = to});
}

/* A branch that changes nothing: what was run to get there was seen by it. */
static inline void toy_jump_back(struct toy_machine *m, uint64_t from)
{
	uint64_t to = toy_base(toy_top(m)) + 8;

	toy_branch(m, MT_EVENT_JUMP, from, to);
	toy_step_to(m, to);
}

static inline void toy_enter(struct toy_machine *m, struct toy_frame frame, uint8_t flags)
{
	frame.position = toy_address(frame.function);
	toy_begin(m, MT_SLICE_CALL, &m->toy->functions[frame.function], flags);
	(void)mt_array_push(&m->frames, frame);
	toy_step_to(m, frame.position);
}

static inline void toy_pop(struct toy_machine *m, uint8_t flags)
{
	for (size_t i = 0; i <= toy_top(m)->inlines; i++)
		toy_end(m, flags);
	m->frames.count--;
}

static inline void toy_note_root(struct toy_machine *m, uint64_t inside)
{
	struct toy_frame *top = toy_top(m);
	const struct mt_function *function =
	    &m->toy->functions[top->cold ? top->function + TOY_USERS + TOY_STUBS : top->function];

	top->inlines = toy_inline_depth(inside);
	for (size_t i = top->inlines; i-- > 0;)
		(void)mt_array_push(&m->roots,
				    ((struct toy_record){.what = TOY_BEGIN,
							 .kind = MT_SLICE_INLINED,
							 .flags = MT_SLICE_INFERRED,
							 .function = &m->toy->inlined[i]}));
	(void)mt_array_push(&m->roots, ((struct toy_record){.what = TOY_BEGIN,
							    .kind = MT_SLICE_CALL,
							    .flags = MT_SLICE_INFERRED,
							    .function = function}));
	m->seen = m->frames.count - 1;
}

/* Down to COUNT frames, the top one of which goes on at its address. */
static inline void toy_unwind(struct toy_machine *m, size_t count, uint64_t address, uint8_t flags)
{
	while (m->frames.count > count) {
		if (m->frames.count > m->seen)
			toy_pop(m, flags);
		else
			m->frames.count--;
	}
	if (count <= m->seen)
		toy_note_root(m, address - 1);
	toy_step_to(m, address);
}

static inline void toy_segment_end(struct toy_machine *m)
{
	size_t open = 0;

	(void)mt_array_push(&m->truth, ((struct toy_record){.what = TOY_SEGMENT}));
	for (size_t i = m->roots.count; i-- > 0; open++) {
		m->roots.items[i].time_ns = m->begin_ns;
		(void)mt_array_push(&m->truth, m->roots.items[i]);
	}
	mt_array_each (record, &m->body) {
		(void)mt_array_push(&m->truth, *record);
		open = record->what == TOY_BEGIN ? open + 1 : open - 1;
	}
	for (; open > 0; open--)
		(void)mt_array_push(&m->truth, ((struct toy_record){.what = TOY_END,
								    .flags = MT_SLICE_END_OPEN,
								    .time_ns = m->now_ns}));
	m->roots.count = m->body.count = 0;
	m->seen = m->frames.count;
}

static inline void toy_segment_begin(struct toy_machine *m)
{
	m->begin_ns = m->now_ns;
	toy_note_root(m, toy_top(m)->position);
}

static inline size_t toy_user(struct toy_machine *m)
{
	return (size_t)toy_random(m, TOY_USERS);
}

static inline void toy_do_call(struct toy_machine *m)
{
	uint64_t from = toy_run(m);
	size_t callee = toy_user(m), stub = TOY_USERS + (size_t)toy_random(m, 3 * TOY_STUBS);

	toy_top(m)->position = from + 5;
	if (stub < TOY_USERS + TOY_STUBS) {
		toy_branch(m, MT_EVENT_CALL, from, toy_address(stub));
		from = toy_address(stub) + 4;
		toy_branch(m, MT_EVENT_JUMP, from, toy_address(callee));
	} else {
		toy_branch(m, MT_EVENT_CALL, from, toy_address(callee));
	}
	toy_enter(m, (struct toy_frame){.function = callee}, 0);
}

static inline void toy_sigreturn(struct toy_machine *m, uint64_t from)
{
	struct toy_frame frame = {.function = TOY_RESTORER, .restorer = true};

	toy_branch(m, MT_EVENT_RETURN, from, toy_address(TOY_RESTORER));
	toy_pop(m, 0);
	toy_enter(m, frame, 0);
	toy_event(m, (struct mt_event){.kind = MT_EVENT_TRACE_END,
				       .detail = MT_TRACE_END_SYSCALL,
				       .from = toy_address(TOY_RESTORER) + 7});
	toy_begin(m, MT_SLICE_SYSCALL, NULL, 0);
	toy_event(m, (struct mt_event){.kind = MT_EVENT_TRACE_START,
				       .to = m->frames.items[m->frames.count - 2].position});
	toy_end(m, 0);
	toy_pop(m, 0);
	toy_step_to(m, toy_top(m)->position);
}

static inline void toy_do_return(struct toy_machine *m)
{
	uint64_t from, to;

	if (m->frames.count < 2)
		return;
	from = toy_run(m);
	to = m->frames.items[m->frames.count - 2].position;
	if (toy_top(m)->handler) {
		toy_sigreturn(m, from);
		return;
	}
	toy_branch(m, MT_EVENT_RETURN, from, to);
	toy_unwind(m, m->frames.count - 1, to, 0);
}

static inline void toy_do_tail_call(struct toy_machine *m)
{
	struct toy_frame frame = {.function = toy_user(m)};
	uint64_t from;

	if (frame.function == toy_top(m)->function)
		return;
	from = toy_run(m);
	frame.handler = toy_top(m)->handler;
	toy_branch(m, MT_EVENT_JUMP, from, toy_address(frame.function));
	toy_pop(m, 0);
	toy_enter(m, frame, MT_SLICE_TAIL_CALL);
}

static inline void toy_do_jump(struct toy_machine *m)
{
	struct toy_frame *top = toy_top(m);
	uint64_t from = toy_run(m), to;

	if (top->function < TOY_COLDS && toy_random(m, 4) == 0)
		top->cold = !top->cold;
	to = toy_base(top) + 1 + toy_random(m, 0xbf);
	toy_branch(m, MT_EVENT_JUMP, from, to);
	toy_step_to(m, to);
}

/* The nearest frame below LIMIT of the function; 0: none that was seen. */
static inline size_t toy_nearest(const struct toy_machine *m, size_t limit, size_t function)
{
	for (size_t i = limit; i > m->seen; i--)
		if (m->frames.items[i - 1].function == function)
			return i;
	return 0;
}

static inline uint64_t toy_landing_pad(struct toy_machine *m, size_t count)
{
	struct toy_frame *frame = &m->frames.items[count - 1];

	frame->cold = frame->function < TOY_COLDS && toy_random(m, 2);
	return toy_base(frame) + 0xd0 + toy_random(m, 0x10);
}

static inline bool toy_handler_between(const struct toy_machine *m, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (m->frames.items[i].handler)
			return true;
	return false;
}

/* Which of the frames an exception may go to so that there is no doubt; 0: none. */
static inline size_t toy_catcher(struct toy_machine *m)
{
	size_t count = m->frames.count;
	size_t target = count < 2 ? 0 : 1 + (size_t)toy_random(m, count - 1);

	if (target > m->seen)
		target = toy_nearest(m, count - 1, m->frames.items[target - 1].function);
	else if (target && (toy_nearest(m, count, m->frames.items[target - 1].function) ||
			    toy_handler_between(m, target, m->seen) || toy_top(m)->handler))
		target = 0;
	return target && !m->frames.items[target - 1].restorer ? target : 0;
}

static inline void toy_do_throw(struct toy_machine *m)
{
	uint64_t from = toy_run(m), to;
	size_t target = toy_catcher(m), popped;

	if (!target) {
		toy_jump_back(m, from);
		return;
	}
	to = toy_landing_pad(m, target);
	toy_branch(m, MT_EVENT_RETURN, from, to);
	popped = m->frames.count - (target > m->seen ? target : m->seen);
	toy_unwind(m, target, to, popped > 1 ? MT_SLICE_END_UNWOUND : 0);
}

static inline void toy_do_longjmp(struct toy_machine *m)
{
	size_t count = m->frames.count, target;
	uint64_t to, from;

	if (count < m->seen + 2)
		return;
	target = m->seen + 1 + (size_t)toy_random(m, count - 1 - m->seen);
	target = toy_nearest(m, count - 1, m->frames.items[target - 1].function);
	if (toy_top(m)->function == m->frames.items[target - 1].function)
		return;
	from = toy_run(m);
	to = toy_landing_pad(m, target);
	toy_branch(m, MT_EVENT_JUMP, from, to);
	toy_unwind(m, target, to, MT_SLICE_END_UNWOUND);
}

static inline void toy_do_kernel(struct toy_machine *m)
{
	uint64_t from = toy_run(m);
	bool syscall = toy_random(m, 2), restart = toy_random(m, 4) == 0;
	size_t handler = toy_user(m);
	bool signal = toy_random(m, 3) == 0, announced = toy_random(m, 4) != 0;

	toy_event(m,
		  (struct mt_event){.kind = MT_EVENT_TRACE_END,
				    .detail = syscall ? MT_TRACE_END_SYSCALL : MT_TRACE_END_ASYNC,
				    .from = from});
	toy_begin(m, syscall ? MT_SLICE_SYSCALL : MT_SLICE_UNTRACED, NULL, 0);
	toy_top(m)->position = from + (syscall && !restart ? 2 : 0);
	if (toy_address(handler) == from || toy_address(handler) == toy_top(m)->position ||
	    (handler == toy_top(m)->function && !announced))
		signal = false;
	if (signal && announced)
		toy_event(m,
			  (struct mt_event){.kind = MT_EVENT_SIGNAL, .detail = 10, .from = from});
	toy_event(m, (struct mt_event){.kind = MT_EVENT_TRACE_START,
				       .to = signal ? toy_address(handler) : toy_top(m)->position});
	toy_end(m, 0);
	if (signal)
		toy_enter(m, (struct toy_frame){.function = handler, .handler = true},
			  MT_SLICE_HANDLER);
	else
		toy_step_to(m, toy_top(m)->position);
}

static inline bool toy_in_handler(const struct toy_machine *m)
{
	mt_array_each (frame, &m->frames)
		if (frame->handler)
			return true;
	return false;
}

/* Some frames return unseen, and control is found in the middle of one that was seen. */
static inline void toy_do_gap(struct toy_machine *m)
{
	size_t count = m->frames.count, target;
	uint64_t before = m->now_ns, after, to;

	target = m->seen + 1 + (size_t)toy_random(m, count - m->seen);
	target = toy_nearest(m, count, m->frames.items[target - 1].function);
	if (m->frames.items[target - 1].restorer)
		return;
	to = toy_landing_pad(m, target);
	toy_event(m, (struct mt_event){.kind = MT_EVENT_GAP, .detail = MT_GAP_OVERFLOW});
	toy_event(m, (struct mt_event){.kind = MT_EVENT_TRACE_START, .to = to});
	after = m->now_ns;
	m->now_ns = before;
	while (m->frames.count > target)
		toy_pop(m, MT_SLICE_END_LOST);
	toy_begin(m, MT_SLICE_GAP, NULL, 0);
	m->now_ns = after;
	toy_end(m, 0);
	toy_step_to(m, to);
}

static inline void toy_do_snapshot(struct toy_machine *m)
{
	if (toy_in_handler(m))
		return;
	toy_event(m, (struct mt_event){.kind = MT_EVENT_TRACE_END,
				       .detail = MT_TRACE_END_STOP,
				       .from = toy_top(m)->position});
	toy_event(m, (struct mt_event){.kind = MT_EVENT_MARK, .detail = MT_MARK_SNAPSHOT, .to = 1});
	toy_segment_end(m);
	if (toy_top(m)->position == toy_base(toy_top(m)))
		toy_top(m)->position++;
	toy_event(m, (struct mt_event){.kind = MT_EVENT_TRACE_START, .to = toy_top(m)->position});
	toy_segment_begin(m);
}

static inline void toy_do_something(struct toy_machine *m)
{
	uint64_t what = toy_random(m, 100);

	if (what < 30 && m->frames.count < 60)
		toy_do_call(m);
	else if (what < 55)
		toy_do_return(m);
	else if (what < 62)
		toy_do_tail_call(m);
	else if (what < 80)
		toy_do_jump(m);
	else if (what < 84)
		toy_do_throw(m);
	else if (what < 88)
		toy_do_longjmp(m);
	else if (what < 96)
		toy_do_kernel(m);
	else if (what < 98)
		toy_do_gap(m);
	else if (what < 99)
		toy_do_snapshot(m);
}

/* STEPS random things, from the middle of a run on. */
static inline void toy_machine_run(struct toy_machine *m, struct toy_program *toy, uint64_t seed,
				   bool estimates, size_t steps)
{
	*m = (struct toy_machine){.toy = toy, .random = seed * 2 + 1, .now_ns = 1000};
	m->estimates = estimates;
	for (int i = 0; i < 5; i++)
		(void)toy_random(m, 2);
	for (size_t i = 1 + (size_t)toy_random(m, 8); i > 0; i--) {
		struct toy_frame frame = {.function = toy_user(m)};

		frame.position = toy_address(frame.function) + 0xe8 + toy_random(m, 0x10);
		(void)mt_array_push(&m->frames, frame);
	}
	m->seen = m->frames.count;
	(void)mt_array_push(&m->events, ((struct mt_event){.kind = MT_EVENT_TRACE_START,
							   .time_ns = m->now_ns,
							   .to = toy_top(m)->position}));
	toy_segment_begin(m);
	while (steps-- > 0)
		toy_do_something(m);
	toy_segment_end(m);
}

static inline void toy_machine_deinit(struct toy_machine *m)
{
	mt_array_deinit(&m->frames);
	mt_array_deinit(&m->events);
	mt_array_deinit(&m->truth);
	mt_array_deinit(&m->roots);
	mt_array_deinit(&m->body);
}

#endif
