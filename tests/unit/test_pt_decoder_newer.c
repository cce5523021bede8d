/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets and instructions that came after libipt 2.0.5: event trace, PEBS in the trace, trigger
 * tracing, FRED, APX (SDM vol. 3C, 33). */
#include "pt_stream.h"

#define PUT_CFE(stream, type, vector)    PUT(stream, 0x02, 0x13, type, vector)
#define PUT_CFE_IP(stream, type, vector) PUT(stream, 0x02, 0x13, 0x80 | (type), vector)
#define PUT_EVD(stream)                  PUT(stream, 0x02, 0x53, 0, 0xaa, 0xf0, 0, 0, 0, 0, 0, 0)
#define INTR                             1
#define IRET                             2

/* An address whose upper bytes are the last one's. */
static void put_short_ip(struct stream *stream, uint8_t opcode, uint64_t ip)
{
	PUT(stream, (uint8_t)(2 << 5 | opcode), (uint8_t)ip, (uint8_t)(ip >> 8),
	    (uint8_t)(ip >> 16), (uint8_t)(ip >> 24));
}

/* A page fault, the way back, the interrupt flag. */
static void put_events(struct stream *stream, uint64_t tsc)
{
	put_psb(stream, USER + 2, tsc);
	PUT_EVD(stream);
	PUT_CFE(stream, INTR, 14);
	put_ip(stream, FUP, USER + 3);
	put_ip(stream, TIP, KERNEL + 4);
	PUT_CFE_IP(stream, IRET, 0);
	PUT(stream, 0x03 | 1 << 3); /* CYC */
	put_short_ip(stream, FUP, KERNEL + 6);
	put_ip(stream, TIP, USER + 13);
	put_ip(stream, TIP, KERNEL + 17);
	PUT(stream, 0x99, 0x05); /* MODE.Exec, interrupts on */
	put_short_ip(stream, FUP, KERNEL + 18);
	put_ip(stream, TIP, USER + 3);
	put_stop(stream, USER + 4);
}

#define EVENTS                                                                                     \
	{.kind = MT_EVENT_TRACE_START, .to = USER + 2},                                            \
	    {.kind = MT_EVENT_INTERRUPT, .from = USER + 3, .to = KERNEL + 4},                      \
	    {.kind = MT_EVENT_IRET, .from = KERNEL + 6, .to = USER + 13},                          \
	    {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = KERNEL + 17},                         \
	    {.kind = MT_EVENT_JUMP, .from = KERNEL + 19, .to = USER + 3},                          \
	{                                                                                          \
		.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC         \
	}

static void test_event_trace(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_events(&stream, 1000);
	put_events(&stream, 2000);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.stats.gaps, 0);
	ASSERT_EVENTS(&events, EVENTS, EVENTS);
}

/* In a window by itself what comes before the first such packet is read right as well. */
static void test_the_interrupt_flag_alone(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_events(&stream, 1000);
	size_t cut = stream.size;
	put_psb(&stream, KERNEL + 17, 2000);
	PUT(&stream, 0x99, 0x05);
	put_ip(&stream, FUP, KERNEL + 18);
	put_ip(&stream, TIP, USER + 3);
	put_stop(&stream, USER + 4);
	stream.pieces->items[1] =
	    (struct mt_pt_piece){.bytes = stream.bytes + cut, .size = stream.size - cut};
	stream.size = cut;
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.stats.gaps, 0);
	ASSERT_EVENTS(&events, EVENTS, {.kind = MT_EVENT_TRACE_START, .to = KERNEL + 17},
		      {.kind = MT_EVENT_JUMP, .from = KERNEL + 19, .to = USER + 3},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC});
}

/* The interrupt flag changes before anything else tells of event trace, and an event is the next
 * thing: the FUP behind a MODE.Exec is its own, the one behind the CFE the interrupt's. */
static void test_the_interrupt_flag_before_an_event(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, KERNEL + 17, 1000);
	PUT(&stream, 0x99, 0x05);
	PUT(&stream, 0x03 | 1 << 3); /* CYC */
	put_ip(&stream, FUP, KERNEL + 18);
	put_ip(&stream, TIP, USER + 12);
	PUT(&stream, 0x99, 0x01); /* interrupts off */
	put_ip(&stream, FUP, USER + 13);
	PUT_CFE(&stream, INTR, 14);
	put_ip(&stream, FUP, USER + 13);
	PUT(&stream, 0x99, 0x05);
	put_ip(&stream, TIP, KERNEL + 4);
	PUT(&stream, 0x99, 0x01); /* of the TIP */
	PUT_CFE(&stream, INTR, 14);
	put_ip(&stream, FUP, KERNEL + 5);
	put_ip(&stream, TIP, KERNEL + 18);
	put_stop(&stream, KERNEL + 19);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.stats.gaps, 0);
	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = KERNEL + 17},
	    {.kind = MT_EVENT_JUMP, .from = KERNEL + 19, .to = USER + 12},
	    {.kind = MT_EVENT_INTERRUPT, .from = USER + 13, .to = KERNEL + 4},
	    {.kind = MT_EVENT_INTERRUPT, .from = KERNEL + 5, .to = KERNEL + 18},
	    {.kind = MT_EVENT_TRACE_END, .from = KERNEL + 19, .detail = MT_TRACE_END_ASYNC});
}

static void test_pebs_in_the_trace(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 13, 1000);
	PUT(&stream, 0x02, 0x63, 0x81);          /* BBP, items of 4 bytes */
	PUT(&stream, 0x04, 1, 2, 3, 4);          /* BIPs, whose first byte would be a TNT's, */
	PUT(&stream, 0x0c, 0x02, 0x82, 2, 0x82); /* and whose data anything */
	PUT(&stream, 0x02, 0xb3);                /* BEP, */
	put_ip(&stream, FUP, USER + 13);         /* with its address */
	put_short_ip(&stream, TIP, USER + 12);
	PUT(&stream, 0x02, 0x63, 0x01);
	PUT(&stream, 0x04, 1, 2, 3, 4, 5, 6, 7, 8);
	PUT(&stream, 0x02, 0x33); /* without */
	put_short_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 13},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 12},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

static void test_trigger_tracing(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, 0, 1000);
	PUT(&stream, 0xd9, 0x00, 0x01);
	put_ip(&stream, PGE, USER + 7);
	PUT(&stream, 0xd9, 0x20, 0x02);
	put_short_ip(&stream, TIP, USER + 2);
	PUT(&stream, 0xd9, 0x80, 0x02);
	put_short_ip(&stream, FUP, USER + 3);
	PUT(&stream, 0xd9, 0x40, 0x02, 0xff, 0xff);
	put_stop(&stream, USER + 4);
	PUT(&stream, 0xd9, 0x00, 0x03);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 7},
		      {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC});
}

static void test_new_branches(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 20, 1000);
	put_ip(&stream, TIP, USER + 32);
	put_ip(&stream, FUP, USER + 32);
	put_ip(&stream, TIP, KERNEL + 13);
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 20},
		      {.kind = MT_EVENT_JUMP, .from = USER + 21, .to = USER + 32},
		      {.kind = MT_EVENT_INTERRUPT, .from = USER + 32, .to = KERNEL + 13},
		      {.kind = MT_EVENT_IRET, .from = KERNEL + 13, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

/* What nobody knows is lost up to the next PSB, as ever. */
static void test_bytes_that_are_no_packet(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 13, 1000);
	PUT_EVD(&stream);
	PUT(&stream, 0x02, 0x0b, 0x02, 0x13, 0x01, 0x0e);
	put_psb(&stream, USER + 2, 2000);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_GAP, .from = 6, .detail = MT_GAP_BAD_TRACE},
		      {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

/* What is known is passed over on the way to where decoding can go on. */
static void test_going_on_behind_new_packets(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 13, 1000);
	put_ip(&stream, TIP, USER + 0x1000);
	put_ip(&stream, TIP, USER + 0x2000);
	PUT_EVD(&stream);
	PUT(&stream, 0x02, 0x63, 0x01);             /* BBP */
	PUT(&stream, 0x04, 1, 2, 3, 4, 5, 6, 7, 8); /* BIP */
	PUT(&stream, 0x02, 0x33);                   /* BEP */
	put_short_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 13},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 0x1000},
		      {.kind = MT_EVENT_GAP, .from = 39, .detail = MT_GAP_NO_CODE},
		      {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_event_trace),
	    cmocka_unit_test(test_the_interrupt_flag_alone),
	    cmocka_unit_test(test_the_interrupt_flag_before_an_event),
	    cmocka_unit_test(test_pebs_in_the_trace),
	    cmocka_unit_test(test_trigger_tracing),
	    cmocka_unit_test(test_new_branches),
	    cmocka_unit_test(test_bytes_that_are_no_packet),
	    cmocka_unit_test(test_going_on_behind_new_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
