/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of the rebuild by the stack pointer, one by one. */
#include "sp_text.h"

#define FAR_AWAY 0x10000000 /* another stack */

static void calls_nest(void **state)
{
	(void)state;
	EXPECT("a(b(c())b())|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 700), LEAVE('c', 700),
	       LEAVE('b', 800), ENTER('b', 800), LEAVE('b', 800), LEAVE('a', 900));
}

static void what_is_open_at_the_end_stays_open(void **state)
{
	(void)state;
	EXPECT("a(b()o)o|", ENTER('a', 900), ENTER('b', 800));
}

static void recursion_survives(void **state)
{
	(void)state;
	EXPECT("a(a(a()))|", ENTER('a', 900), ENTER('a', 800), ENTER('a', 700), LEAVE('a', 700),
	       LEAVE('a', 800), LEAVE('a', 900));
}

static void an_equal_stack_pointer_is_a_tail_call(void **state)
{
	(void)state;
	EXPECT("a(b()ct()dt())|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 800),
	       ENTER('d', 800), LEAVE('d', 800), LEAVE('a', 900));
}

/* Else its return address would be another. */
static void a_tail_call_returns_where_its_caller_does(void **state)
{
	(void)state;
	EXPECT("a(b()ct()dt())|", ENTER('a', 900), ENTER_FROM('b', 800, 'a', 0x10),
	       ENTER_FROM('c', 800, 'a', 0x10), ENTER_FROM('d', 800, 'a', 0x10), LEAVE('d', 800),
	       LEAVE('a', 900));
	EXPECT("a(b()ec()ec())|", ENTER('a', 900), ENTER_FROM('b', 800, 'a', 0x10),
	       ENTER_FROM('c', 800, 'a', 0x20), ENTER_FROM('c', 800, 'a', 0x20), LEAVE('c', 800),
	       LEAVE('a', 900));
}

/* An unwinder that found it at its first instruction told of the same call. */
static void a_call_is_told_once(void **state)
{
	const struct mt_event at_entry = {
	    .kind = MT_EVENT_FRAME, .from = 800, .to = sp_address('b')};

	(void)state;
	EXPECT("ai(bi(c()))|", at_entry, FRAME('a', 900), ENTER_FROM('b', 800, 'a', 0x20),
	       ENTER_FROM('c', 700, 'b', 0x10), LEAVE('c', 700), LEAVE('b', 800), LEAVE('a', 900));
	EXPECT("ai(bi()ct())|", FRAME('b', 800), FRAME('a', 900), ENTER_FROM('c', 800, 'a', 0x20),
	       LEAVE('c', 800), LEAVE('a', 900));
}

static void inlined_calls_lie_around_the_calls_in_them(void **state)
{
	(void)state;
	EXPECT("a(b()Ie(b()Je(c()d())ec())eb())|", ENTER('a', 900), ENTER_FROM('b', 800, 'a', 0x10),
	       LEAVE('b', 800), ENTER_FROM('b', 800, 'a', SP_INLINED), LEAVE('b', 800),
	       ENTER_FROM('c', 800, 'a', SP_INLINED_TWICE), LEAVE('c', 800),
	       ENTER_FROM('d', 800, 'a', SP_INLINED_TWICE + 4), LEAVE('d', 800),
	       ENTER_FROM('c', 800, 'a', SP_INLINED + 4), LEAVE('c', 800),
	       ENTER_FROM('b', 800, 'a', 0x90), LEAVE('b', 800), LEAVE('a', 900));
	/* They end with their function, however it ends. */
	EXPECT("a(b(Ie(Je(c())))d())|", ENTER('a', 900), ENTER('b', 800),
	       ENTER_FROM('c', 700, 'b', SP_INLINED_TWICE), LEAVE('c', 700), LEAVE('b', 800),
	       ENTER('d', 800), LEAVE('d', 800), LEAVE('a', 900));
	EXPECT("a(b(Ie(c()u)u)ud())|", ENTER('a', 900), ENTER('b', 800),
	       ENTER_FROM('c', 700, 'b', SP_INLINED), ENTER('d', 850), LEAVE('d', 850),
	       LEAVE('a', 900));
	EXPECT("a(Ie(b()o)o)o|", ENTER('a', 900), ENTER_FROM('b', 800, 'a', SP_INLINED));
	/* The caller is one that is not recorded. */
	EXPECT("a(b())|", ENTER('a', 900), ENTER_FROM('b', 800, 'x', SP_INLINED), LEAVE('b', 800),
	       LEAVE('a', 900));
	/* On a stack that control leaves. */
	EXPECT("a(b(x(Ie(y()u)u)ud()))|", ENTER('a', FAR_AWAY), ENTER('b', FAR_AWAY - 100),
	       ENTER('x', 900), ENTER_FROM('y', 800, 'x', SP_INLINED), ENTER('d', FAR_AWAY - 200),
	       LEAVE('d', FAR_AWAY - 200), LEAVE('b', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

static void inlined_calls_of_roots_are_roots(void **state)
{
	const struct mt_event inside = {
	    .kind = MT_EVENT_FRAME, .from = 900, .to = sp_address('a') + SP_INLINED};

	(void)state;
	EXPECT("ai(Ii(bi()c())ed())|", FRAME('b', 800), inside, LEAVE('b', 800),
	       ENTER_FROM('c', 800, 'a', SP_INLINED + 2), LEAVE('c', 800),
	       ENTER_FROM('d', 800, 'a', 0x90), LEAVE('d', 800), LEAVE('a', 900));
}

static void a_missed_ret_costs_an_end(void **state)
{
	(void)state;
	EXPECT("a(b()ec())|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 850), LEAVE('c', 850),
	       LEAVE('a', 900));
	EXPECT("a(b()e)|", ENTER('a', 900), ENTER('b', 800), LEAVE('a', 900));
}

static void an_exception_unwinds(void **state)
{
	(void)state;
	EXPECT("a(b(c(d()u)u)ue())|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 700),
	       ENTER('d', 600), ENTER('e', 850), LEAVE('e', 850), LEAVE('a', 900));
	EXPECT("a(b(c()u)u)|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 700), LEAVE('a', 900));
}

static void longjmp_goes_on_in_the_middle(void **state)
{
	(void)state;
	EXPECT("a(b(c(d()u)ue()))|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 700),
	       ENTER('d', 600), ENTER('e', 750), LEAVE('e', 750), LEAVE('b', 800), LEAVE('a', 900));
}

static void a_missed_entry_costs_a_slice(void **state)
{
	(void)state;
	EXPECT("a(c())|", ENTER('a', 900), ENTER('c', 700), LEAVE('c', 700), LEAVE('b', 800),
	       LEAVE('a', 900));
}

static void roots_are_known_by_their_rets(void **state)
{
	(void)state;
	EXPECT("ai(bi(ci(d())))|", ENTER('d', 600), LEAVE('d', 600), LEAVE('c', 700),
	       LEAVE('b', 800), LEAVE('a', 900));
	EXPECT("bi(ai(d())c()o)o|", ENTER('d', 600), LEAVE('d', 600), LEAVE('a', 700),
	       ENTER('c', 650), FRAME('c', 650), FRAME('b', 800));
}

static void an_attach_begins_with_a_ret(void **state)
{
	(void)state;
	EXPECT("ai(bi())c()|", LEAVE('b', 800), LEAVE('a', 900), ENTER('c', 900), LEAVE('c', 900));
}

static void a_root_is_outside_of_all(void **state)
{
	(void)state;
	EXPECT("ri(a()b()c())|", ENTER('a', 800), LEAVE('a', 800), ENTER('b', 850), LEAVE('b', 850),
	       ENTER('c', 800), LEAVE('c', 800), LEAVE('r', 900));
}

static void frames_at_the_start_are_roots(void **state)
{
	(void)state;
	EXPECT("ai(bi(ci()d()))|", FRAME('c', 700), FRAME('b', 800), FRAME('a', 900),
	       LEAVE('c', 700), ENTER('d', 700), LEAVE('d', 700), LEAVE('b', 800), LEAVE('a', 900));
}

static void frames_at_the_end_are_roots(void **state)
{
	(void)state;
	EXPECT("ai(bi(c()d(xie()o)o)o)o|", ENTER('c', 700), LEAVE('c', 700), ENTER('d', 700),
	       FRAME('x', 650), FRAME('d', 700), FRAME('b', 800), FRAME('a', 900));
	EXPECT("ai(bi()o)o|", FRAME('b', 800), FRAME('a', 900));
}

/* The ring begins in a handler, on a stack of its own: what that interrupted lies outside. */
static void frames_lie_outside_of_a_handler_that_began_the_segment(void **state)
{
	(void)state;
	EXPECT("ai(bi(xi()c()d()o)o)o|", LEAVE('x', FAR_AWAY), ENTER('c', 700), LEAVE('c', 700),
	       ENTER('d', 700), FRAME('d', 700), FRAME('b', 800), FRAME('a', 900));
	EXPECT("ai(bi(xi(y()o)o)o)o|", ENTER('y', FAR_AWAY), FRAME('y', FAR_AWAY),
	       FRAME('x', FAR_AWAY + 100), FRAME('b', 800), FRAME('a', 900));
	/* It holds nothing else, and the last ret on the handler's stack was not seen. */
	EXPECT("ai(bi(ci(d()!signalx()!signalx()e)o)o)o|", ENTER('d', FAR_AWAY - 50),
	       LEAVE('d', FAR_AWAY - 50), SIGNAL(10), ENTER('x', FAR_AWAY), LEAVE('x', FAR_AWAY),
	       SIGNAL(10), ENTER('x', FAR_AWAY), FRAME('c', 700), FRAME('b', 800), FRAME('a', 900));
	/* One that came later on a stack below. */
	EXPECT("ai(bi(c()!signalxh()e)o)o|", ENTER('c', FAR_AWAY), LEAVE('c', FAR_AWAY), SIGNAL(10),
	       ENTER('x', 7000), FRAME('b', FAR_AWAY + 50), FRAME('a', FAR_AWAY + 100));
	/* A coroutine's frames are not, whatever signals came on the thread's first stack. */
	EXPECT("a(b()!signalxh())o|", ENTER('a', 9900), ENTER('b', 9800), LEAVE('b', 9800),
	       SIGNAL(10), ENTER('x', 7800), LEAVE('x', 7800), FRAME('c', FAR_AWAY));
}

static struct mt_error *take_line(void *self, const struct mt_slice *slice)
{
	uint32_t **line = self;

	*(*line)++ = slice->call_source.line;
	return NULL;
}

static struct mt_error *pass_end(void *self, const struct mt_slice_end *end)
{
	(void)self;
	(void)end;
	return NULL;
}

static void an_unwinder_knows_the_call_sites(void **state)
{
	const struct mt_slice_sink_ops ops = {
	    .thread = sp_thread,
	    .segment_begin = sp_segment_begin,
	    .begin = take_line,
	    .end = pass_end,
	    .segment_end = sp_segment_begin,
	};
	const struct mt_event events[] = {FRAME('c', 700), FRAME('b', 800), FRAME('a', 900)};
	uint32_t lines[3] = {9, 9, 9}, *line = lines;

	(void)state;
	sp_rebuild(events, 3, 3, (struct mt_slice_sink){&ops, &line});
	assert_int_equal(lines[0], 0);
	assert_int_equal(lines[1], sp_address('a') + 0x20);
	assert_int_equal(lines[2], sp_address('b') + 0x20);
}

/* A switch that does not report: control is just elsewhere. */
static void a_coroutine_lies_on_the_first_stack(void **state)
{
	(void)state;
	EXPECT("a(b(x(y()u)ud()xi(z())u))|", ENTER('a', FAR_AWAY), ENTER('b', FAR_AWAY - 100),
	       ENTER('x', 900), ENTER('y', 800), ENTER('d', FAR_AWAY - 200),
	       LEAVE('d', FAR_AWAY - 200), LEAVE('y', 800), ENTER('z', 800), LEAVE('z', 800),
	       LEAVE('b', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

static void a_coroutine_takes_the_place_of_another(void **state)
{
	(void)state;
	EXPECT("a(x()uy()u)|", ENTER('a', FAR_AWAY), ENTER('x', 0x10000), ENTER('y', 0x30000),
	       LEAVE('x', 0x10000), LEAVE('y', 0x30000), LEAVE('a', FAR_AWAY));
}

/* swapcontext: its entry on the one stack, its ret on the other. */
static void a_function_that_switches_waits(void **state)
{
	(void)state;
	EXPECT("a(s(x(s()u)u)b(s(xi())))|", ENTER('a', FAR_AWAY), ENTER('s', FAR_AWAY - 100),
	       LEAVE('s', 992), ENTER('x', 1000), ENTER('s', 900), LEAVE('s', FAR_AWAY - 100),
	       ENTER('b', FAR_AWAY - 80), ENTER('s', FAR_AWAY - 200), LEAVE('s', 900),
	       LEAVE('x', 1000), LEAVE('s', FAR_AWAY - 200), LEAVE('b', FAR_AWAY - 80),
	       LEAVE('a', FAR_AWAY));
}

/* Stacks of 4 KiB, one right below the other. */
static void stacks_may_be_neighbours(void **state)
{
	(void)state;
	EXPECT("a(s(x(s()u)uy(s()u)u))|", ENTER('a', FAR_AWAY), ENTER('s', FAR_AWAY - 100),
	       LEAVE('s', 0x8ff0), ENTER('x', 0x8ff8), ENTER('s', 0x8f00), LEAVE('s', 0x7ff0),
	       ENTER('y', 0x7ff8), ENTER('s', 0x7f00), LEAVE('s', FAR_AWAY - 100),
	       LEAVE('a', FAR_AWAY));
	EXPECT("a(s(x(s()u)uy(s()u)uxi(b())uyi(c())))|", ENTER('a', FAR_AWAY),
	       ENTER('s', FAR_AWAY - 100), LEAVE('s', 0x8ff0), ENTER('x', 0x8ff8),
	       ENTER('s', 0x8f00), LEAVE('s', 0x7ff0), ENTER('y', 0x7ff8), ENTER('s', 0x7f00),
	       LEAVE('s', 0x8f00), ENTER('b', 0x8f00), LEAVE('b', 0x8f00), LEAVE('s', 0x7f00),
	       ENTER('c', 0x7f00), LEAVE('c', 0x7f00), LEAVE('y', 0x7ff8),
	       LEAVE('s', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

/* Control goes from the lowest frame of a stack to the neighbour below, unseen. */
static void a_known_neighbour_keeps_its_own(void **state)
{
	(void)state;
	EXPECT("a(x()uy()uxi(b(c()u)u)uyi(d()))|", ENTER('a', FAR_AWAY), ENTER('x', 0x19ff8),
	       ENTER('y', 0x14ff8), ENTER('b', 0x17000), ENTER('c', 0x15800), ENTER('d', 0x14f00),
	       LEAVE('d', 0x14f00), LEAVE('y', 0x14ff8), LEAVE('a', FAR_AWAY));
}

/* A ret of a function whose entry nobody saw is on the stack that it is nearer to. */
static void a_ret_belongs_to_the_nearer_stack(void **state)
{
	(void)state;
	EXPECT("a(x()ub())|", ENTER('a', 0x50000), ENTER('x', 0x40000), LEAVE('q', 0x4ff00),
	       ENTER('b', 0x4ff80), LEAVE('b', 0x4ff80), LEAVE('a', 0x50000));
	EXPECT("a(x()eb())|", ENTER('a', 0x50000), ENTER('x', 0x40000), LEAVE('q', 0x40100),
	       ENTER('b', 0x4ff80), LEAVE('b', 0x4ff80), LEAVE('a', 0x50000));
}

static void a_jump_back_to_the_entry_is_no_call(void **state)
{
	(void)state;
	EXPECT("a(b(c()b()))|", ENTER('a', 900), ENTER('b', 800), AGAIN('b', 800), ENTER('c', 700),
	       LEAVE('c', 700), AGAIN('b', 800), ENTER('b', 700), AGAIN('b', 700), LEAVE('b', 700),
	       LEAVE('b', 800), LEAVE('a', 900));
	EXPECT("a(b(c()e))|", ENTER('a', 900), ENTER('b', 800), ENTER('c', 700), AGAIN('b', 800),
	       LEAVE('b', 800), LEAVE('a', 900));
}

/* Code on the first stack, g, copies the other one for y, which m waits for. */
static void a_stack_may_move(void **state)
{
	(void)state;
	EXPECT("a(x(y(m()u)u)ug(xi(yi(z()))))|", ENTER('a', FAR_AWAY), ENTER('x', 0x10000),
	       ENTER('y', 0xff00), ENTER('m', 0xfef8), ENTER('g', FAR_AWAY - 100),
	       LEAVE('g', 0x4feff), AGAIN('y', 0x4ff00), ENTER('z', 0x4fe00), LEAVE('z', 0x4fe00),
	       LEAVE('y', 0x4ff00), LEAVE('x', 0x50000), LEAVE('g', FAR_AWAY - 100),
	       LEAVE('a', FAR_AWAY));
}

/* Its last one is another's, or was called in another thread. */
static void a_stack_that_moved_unseen(void **state)
{
	(void)state;
	EXPECT("a(x(y()u)ug(yie(z()))ew(yie()))|", ENTER('a', FAR_AWAY), ENTER('x', 0x10000),
	       ENTER('y', 0xff00), ENTER('g', FAR_AWAY - 100), AGAIN('y', 0x5ff10),
	       ENTER('z', 0x5fe00), LEAVE('z', 0x5fe00), LEAVE('y', 0x5ff10),
	       ENTER('w', FAR_AWAY - 80), AGAIN('y', 0x70000), LEAVE('y', 0x70000),
	       LEAVE('w', FAR_AWAY - 80), LEAVE('a', FAR_AWAY));
}

static void a_large_frame_does_no_harm(void **state)
{
	(void)state;
	EXPECT("a(b(c(d())c()))|", ENTER('a', FAR_AWAY), ENTER('b', FAR_AWAY - 100),
	       ENTER('c', FAR_AWAY - 0x100000), ENTER('d', FAR_AWAY - 0x100100),
	       LEAVE('d', FAR_AWAY - 0x100100), LEAVE('c', FAR_AWAY - 0x100000),
	       ENTER('c', FAR_AWAY - 0x100000), LEAVE('c', FAR_AWAY - 0x100000),
	       LEAVE('b', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

static void a_handler_lies_on_what_it_interrupts(void **state)
{
	(void)state;
	EXPECT("a(!signalhh(b())c())|", ENTER('a', 9000), SIGNAL(10), ENTER('h', 7000),
	       ENTER('b', 6900), LEAVE('b', 6900), LEAVE('h', 7000), ENTER('c', 8900),
	       LEAVE('c', 8900), LEAVE('a', 9000));
}

static void a_signal_without_a_handler_makes_none(void **state)
{
	(void)state;
	EXPECT("a(!signalb(c()))|", ENTER('a', 9000), SIGNAL(17), ENTER('b', 8900),
	       ENTER('c', 7000), LEAVE('c', 7000), LEAVE('b', 8900), LEAVE('a', 9000));
	EXPECT("a(b(!signal)c())|", ENTER('a', 9000), ENTER('b', 8900), SIGNAL(17),
	       LEAVE('b', 8900), ENTER('c', 7000), LEAVE('c', 7000), LEAVE('a', 9000));
}

static void a_handler_may_have_a_stack_of_its_own(void **state)
{
	(void)state;
	EXPECT("a(!signalhh(b())c()!signalhh())|", ENTER('a', FAR_AWAY), SIGNAL(10),
	       ENTER('h', 7000), ENTER('b', 6900), LEAVE('b', 6900), LEAVE('h', 7000),
	       ENTER('c', FAR_AWAY - 100), LEAVE('c', FAR_AWAY - 100), SIGNAL(10), ENTER('h', 7000),
	       LEAVE('h', 7000), LEAVE('a', FAR_AWAY));
}

/* Where all times are estimates a handler may come some events later, but not much. */
static void a_signal_is_not_waited_for_long(void **state)
{
	struct mt_event events[25] = {ENTER('a', 9000), SIGNAL(17)};

	(void)state;
	for (int i = 2; i < 22; i += 2) {
		events[i] = (struct mt_event)ENTER('b', 8900);
		events[i + 1] = (struct mt_event)LEAVE('b', 8900);
	}
	events[22] = (struct mt_event)ENTER('c', 7000);
	events[23] = (struct mt_event)LEAVE('c', 7000);
	events[24] = (struct mt_event)LEAVE('a', 9000);
	for (int i = 2; i < 24; i++)
		events[i].flags = MT_EVENT_TIME_IS_ESTIMATE;
	sp_expect(events, 25, "a(!signalbe()ebe()ebe()ebe()ebe()ebe()ebe()ebe()ebe()ebe()ece()e)|");
	events[4] = (struct mt_event)ENTER('h', 7000);
	events[5] = (struct mt_event)LEAVE('h', 7000);
	for (int i = 4; i < 6; i++) {
		events[i].time_ns = 100 + (uint64_t)i;
		events[i].flags = MT_EVENT_TIME_IS_ESTIMATE;
	}
	sp_expect(events, 25,
		  "a(!signalbe()eheh()ebe()ebe()ebe()ebe()ebe()ebe()ebe()ebe()ece()e)|");
}

static void a_handlers_ret_may_be_missed(void **state)
{
	(void)state;
	EXPECT("a(!signalhh()ec())|", ENTER('a', FAR_AWAY), SIGNAL(10), ENTER('h', 7000),
	       ENTER('c', FAR_AWAY - 100), LEAVE('c', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

static void a_handler_may_interrupt_a_coroutine(void **state)
{
	(void)state;
	EXPECT("a(x(!signalhh()y()))|", ENTER('a', FAR_AWAY), ENTER('x', 0x50000), SIGNAL(10),
	       ENTER('h', 0x90000), LEAVE('h', 0x90000), ENTER('y', 0x4ff00), LEAVE('y', 0x4ff00),
	       LEAVE('x', 0x50000), LEAVE('a', FAR_AWAY));
}

static void a_handler_may_be_left_by_siglongjmp(void **state)
{
	(void)state;
	EXPECT("a(b(!signalhh(x()u)u)ec())|", ENTER('a', FAR_AWAY), ENTER('b', FAR_AWAY - 200),
	       SIGNAL(11), ENTER('h', 7000), ENTER('x', 6900), ENTER('c', FAR_AWAY - 100),
	       LEAVE('c', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
	EXPECT("a(!signalhh(x()u)u!signalhh(y()))|", ENTER('a', FAR_AWAY), SIGNAL(11),
	       ENTER('h', 7000), ENTER('x', 6900), LEAVE('q', FAR_AWAY - 10), SIGNAL(11),
	       ENTER('h', 7000), ENTER('y', 6900), LEAVE('y', 6900), LEAVE('h', 7000),
	       LEAVE('a', FAR_AWAY));
}

static void times_between_two_stamps_are_marked(void **state)
{
	struct mt_event events[] = {ENTER('a', 900), ENTER('b', 800), LEAVE('b', 800),
				    LEAVE('a', 900)};

	(void)state;
	events[1].flags = events[2].flags = MT_EVENT_TIME_IS_ESTIMATE;
	sp_expect(events, 4, "a(be()e)|");
}

static void snapshots_cut_no_calls(void **state)
{
	(void)state;
	EXPECT("a(b(!snapshotc()))o|", ENTER('a', 900), ENTER('b', 800), MARK(MT_MARK_SNAPSHOT, 1),
	       ENTER('c', 700), LEAVE('c', 700), LEAVE('b', 800));
	/* What was open when a ring began stands in front of its events. */
	EXPECT("a(b(!snapshotc()))o#|", ENTER('a', 900), ENTER('b', 800), MARK(MT_MARK_SNAPSHOT, 1),
	       FRAME('b', 800), FRAME('a', 900), ENTER('c', 700), LEAVE('c', 700), LEAVE('b', 800),
	       MARK(MT_MARK_SNAPSHOT, 2));
	EXPECT("a(!snapshotb(!snapshot!snapshot)o)o#|", ENTER('a', 900), MARK(MT_MARK_SNAPSHOT, 1),
	       ENTER('b', 800), MARK(MT_MARK_SNAPSHOT, 2), MARK(MT_MARK_SNAPSHOT, 3),
	       MARK(MT_MARK_SNAPSHOT, 4));
}

static void a_snapshot_before_a_gap_ends_the_segment(void **state)
{
	(void)state;
	EXPECT("a@1()o#|!gap[lost]()|b()|", ENTER('a', 900), MARK(MT_MARK_SNAPSHOT, 1), LOST(64),
	       ENTER('b', 800), LEAVE('b', 800));
}

static void marks_are_instants(void **state)
{
	(void)state;
	EXPECT("a(!trigger!exit)o|", ENTER('a', 900), MARK(MT_MARK_TRIGGER, 1),
	       MARK(MT_MARK_EXIT, 0));
	EXPECT("a(!exec)o|b()|", ENTER('a', 900), MARK(MT_MARK_EXEC, 0), ENTER('b', 900),
	       LEAVE('b', 900));
}

static void a_gap_ends_the_segment(void **state)
{
	(void)state;
	EXPECT("a@1(b@2(!gap)l)l[lost]()|ai@1(c())|", ENTER('a', 900), ENTER('b', 800), LOST(64),
	       ENTER('c', 700), LEAVE('c', 700), LEAVE('a', 900));
	EXPECT("a(!gap)l[lost]()|", ENTER('a', 900), LOST(64));
	EXPECT("!gap[lost]()|a()|", LOST(64), ENTER('a', 900), LEAVE('a', 900));
}

static void values_belong_to_the_call_behind_them(void **state)
{
	(void)state;
	EXPECT("a(x=-5, y=0x10;b(z=97 'a';)=true)=7|", VALUE(0, 900, (uint64_t)-5),
	       VALUE(1, 900, 16), ENTER('a', 900), VALUE(3, 800, 'a'), ENTER('b', 800),
	       VALUE(4, 800, 1), LEAVE('b', 800), VALUE(2, 900, 7), LEAVE('a', 900));
	/* Each of a recursion has its own. */
	EXPECT("a(x=1;a(x=2;)=3)=4|", VALUE(0, 900, 1), ENTER('a', 900), VALUE(0, 800, 2),
	       ENTER('a', 800), VALUE(2, 800, 3), LEAVE('a', 800), VALUE(2, 900, 4),
	       LEAVE('a', 900));
	/* Stopped in between. */
	EXPECT("a(bie(z=65 'A';)o)o|", ENTER('a', 900), VALUE(3, 800, 'A'),
	       {.kind = MT_EVENT_FRAME, .from = 800, .to = sp_address('b')}, FRAME('a', 900));
	/* Who was put back to the entry recorded them twice. */
	EXPECT("a(x=6;)|", VALUE(0, 900, 5), VALUE(0, 900, 6), ENTER('a', 900), LEAVE('a', 900));
}

static void values_of_other_calls_are_dropped(void **state)
{
	(void)state;
	EXPECT("b()|", VALUE(0, 900, 1), ENTER('b', 900), LEAVE('b', 900));
	EXPECT("a()|", VALUE(0, 800, 1), ENTER('a', 900), LEAVE('a', 900));
	EXPECT("a(b()a())|", ENTER('a', 900), VALUE(0, 800, 1), ENTER('b', 800), LEAVE('b', 800),
	       ENTER('a', 800), LEAVE('a', 800), LEAVE('a', 900));
	EXPECT("a()|", VALUE(0, 900, 1), VALUE(0, 700, 2), ENTER('a', 900), LEAVE('a', 900));
	EXPECT("a()|", VALUE(99, 900, 1), VALUE(4096, 900, 1), VALUE(2, 900, 1), ENTER('a', 900),
	       VALUE(0, 900, 1), LEAVE('a', 900));
	EXPECT("a()o|", ENTER('a', 900), VALUE(2, 900, 1));
}

static void a_call_that_jumps_returns_what_is_returned_in_the_end(void **state)
{
	enum { JUMPS = 300 }; /* more than the log keeps in memory */
	struct mt_event events[JUMPS + 3];
	struct sp_text expected = {0};

	(void)state;
	EXPECT("a()=7bt()|", ENTER('a', 900), ENTER('b', 900), VALUE(2, 900, 7), LEAVE('b', 900));
	/* Each has its own, if that is recorded. */
	EXPECT("a()=7bt()=trueat()=7bt()=true|", ENTER('a', 900), ENTER('b', 900), ENTER('a', 900),
	       ENTER('b', 900), VALUE(2, 900, 7), VALUE(4, 900, 1), LEAVE('b', 900));
	/* Else that of the last one, where it would look the same. */
	EXPECT("c()=trueat()bt()=true|", ENTER('c', 900), ENTER('a', 900), ENTER('b', 900),
	       VALUE(4, 900, 1), LEAVE('b', 900));
	EXPECT("a()b()=true|", ENTER('a', 900), LEAVE('a', 900), ENTER('b', 900), VALUE(2, 900, 7),
	       VALUE(4, 900, 1), LEAVE('b', 900));
	EXPECT("z(c(Ie(b()))=truebt()=true)|", ENTER('z', 910), ENTER('c', 900),
	       ENTER_FROM('b', 800, 'c', SP_INLINED), LEAVE('b', 800), ENTER('b', 900),
	       VALUE(4, 900, 1), LEAVE('b', 900), LEAVE('z', 910));
	for (size_t i = 0; i < JUMPS; i++) {
		events[i] = (struct mt_event)ENTER('a', 900);
		sp_put(&expected, i ? "at()=7" : "a()=7");
	}
	sp_put(&expected, "bt()|");
	events[JUMPS] = (struct mt_event)ENTER('b', 900);
	events[JUMPS + 1] = (struct mt_event)VALUE(2, 900, 7);
	events[JUMPS + 2] = (struct mt_event)LEAVE('b', 900);
	sp_expect(events, JUMPS + 3, expected.text);
}

static void other_events_are_passed_over(void **state)
{
	(void)state;
	EXPECT("a()|", {.kind = MT_EVENT_TRACE_START, .to = 5}, ENTER('a', 900),
	       {.kind = MT_EVENT_CALL}, {.kind = 200}, LEAVE('a', 900));
}

static void nothing_gives_nothing(void **state)
{
	(void)state;
	EXPECT("", MARK(MT_MARK_SNAPSHOT, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_nest),
	    cmocka_unit_test(what_is_open_at_the_end_stays_open),
	    cmocka_unit_test(recursion_survives),
	    cmocka_unit_test(an_equal_stack_pointer_is_a_tail_call),
	    cmocka_unit_test(a_tail_call_returns_where_its_caller_does),
	    cmocka_unit_test(a_call_is_told_once),
	    cmocka_unit_test(inlined_calls_lie_around_the_calls_in_them),
	    cmocka_unit_test(inlined_calls_of_roots_are_roots),
	    cmocka_unit_test(a_missed_ret_costs_an_end),
	    cmocka_unit_test(an_exception_unwinds),
	    cmocka_unit_test(longjmp_goes_on_in_the_middle),
	    cmocka_unit_test(a_missed_entry_costs_a_slice),
	    cmocka_unit_test(roots_are_known_by_their_rets),
	    cmocka_unit_test(an_attach_begins_with_a_ret),
	    cmocka_unit_test(a_root_is_outside_of_all),
	    cmocka_unit_test(frames_at_the_start_are_roots),
	    cmocka_unit_test(frames_at_the_end_are_roots),
	    cmocka_unit_test(frames_lie_outside_of_a_handler_that_began_the_segment),
	    cmocka_unit_test(an_unwinder_knows_the_call_sites),
	    cmocka_unit_test(a_coroutine_lies_on_the_first_stack),
	    cmocka_unit_test(a_coroutine_takes_the_place_of_another),
	    cmocka_unit_test(a_function_that_switches_waits),
	    cmocka_unit_test(stacks_may_be_neighbours),
	    cmocka_unit_test(a_known_neighbour_keeps_its_own),
	    cmocka_unit_test(a_ret_belongs_to_the_nearer_stack),
	    cmocka_unit_test(a_jump_back_to_the_entry_is_no_call),
	    cmocka_unit_test(a_stack_may_move),
	    cmocka_unit_test(a_stack_that_moved_unseen),
	    cmocka_unit_test(a_large_frame_does_no_harm),
	    cmocka_unit_test(a_handler_lies_on_what_it_interrupts),
	    cmocka_unit_test(a_signal_without_a_handler_makes_none),
	    cmocka_unit_test(a_handler_may_have_a_stack_of_its_own),
	    cmocka_unit_test(a_signal_is_not_waited_for_long),
	    cmocka_unit_test(a_handlers_ret_may_be_missed),
	    cmocka_unit_test(a_handler_may_interrupt_a_coroutine),
	    cmocka_unit_test(a_handler_may_be_left_by_siglongjmp),
	    cmocka_unit_test(times_between_two_stamps_are_marked),
	    cmocka_unit_test(snapshots_cut_no_calls),
	    cmocka_unit_test(a_snapshot_before_a_gap_ends_the_segment),
	    cmocka_unit_test(marks_are_instants),
	    cmocka_unit_test(a_gap_ends_the_segment),
	    cmocka_unit_test(values_belong_to_the_call_behind_them),
	    cmocka_unit_test(values_of_other_calls_are_dropped),
	    cmocka_unit_test(a_call_that_jumps_returns_what_is_returned_in_the_end),
	    cmocka_unit_test(other_events_are_passed_over),
	    cmocka_unit_test(nothing_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
