/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the encoder does not make: the kernel, interrupts, overflows, transactions, endless loops.
 */
#include "pt_stream.h"

static void test_into_the_kernel_and_back(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER, 1000);
	put_ip(&stream, TIP, KERNEL);
	put_ip(&stream, TIP, USER + 2);
	put_ip(&stream, FUP, USER + 3);
	put_ip(&stream, TIP, KERNEL + 4);
	put_ip(&stream, FUP, KERNEL + 5);
	put_ip(&stream, TIP, KERNEL + 4); /* an interrupt in an interrupt */
	put_ip(&stream, TIP, KERNEL + 5);
	put_ip(&stream, TIP, USER + 3);
	put_stop(&stream, USER + 4);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.events.items[0].time_ns, 1000);
	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER},
		      {.kind = MT_EVENT_SYSCALL, .from = USER, .to = KERNEL},
		      {.kind = MT_EVENT_SYSRET, .from = KERNEL + 1, .to = USER + 2},
		      {.kind = MT_EVENT_INTERRUPT, .from = USER + 3, .to = KERNEL + 4},
		      {.kind = MT_EVENT_INTERRUPT, .from = KERNEL + 5, .to = KERNEL + 4},
		      {.kind = MT_EVENT_IRET, .from = KERNEL + 6, .to = KERNEL + 5},
		      {.kind = MT_EVENT_IRET, .from = KERNEL + 6, .to = USER + 3},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC});
}

/* Nobody but root may read the kernel's code. */
static void test_a_kernel_without_code_is_no_gap(void **state)
{
	const uint64_t unseen = KERNEL + 0x1000;
	struct stream stream = open_stream();

	(void)state;
	put_psb(&stream, USER, 1000);
	put_ip(&stream, TIP, unseen);
	PUT(&stream, 0x16); /* TNT */
	put_ip(&stream, TIP, unseen + 0x200);
	put_psb(&stream, unseen + 0x210, 2000);
	put_ip(&stream, TIP, USER + 2);
	put_ip(&stream, FUP, USER + 3);
	put_ip(&stream, TIP, unseen + 4);
	PUT(&stream, 0x16);
	put_ip(&stream, TIP, USER + 3);
	put_stop(&stream, USER + 4);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.stats.gaps, 0);
	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER},
		      {.kind = MT_EVENT_SYSCALL, .from = USER, .to = unseen},
		      {.kind = MT_EVENT_SYSRET, .from = unseen, .to = USER + 2},
		      {.kind = MT_EVENT_INTERRUPT, .from = USER + 3, .to = unseen + 4},
		      {.kind = MT_EVENT_SYSRET, .from = unseen + 4, .to = USER + 3},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC});
}

static void test_a_new_address_space(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, KERNEL + 8, 1000);
	PUT(&stream, 0x02, 0x43, 0x00, 0x10, 0, 0, 0, 0); /* PIP */
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = KERNEL + 8},
		      {.kind = MT_EVENT_JUMP, .from = KERNEL + 11, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

static void test_a_breakpoint_is_no_system_call(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 6, 1000);
	PUT(&stream, 0x01); /* TIP.PGD without IP */
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 6},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 6, .detail = MT_TRACE_END_ASYNC});
}

static void test_out_of_the_traced_range(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 7, 1000);
	put_ip(&stream, 0x01, 0x500000); /* TIP.PGD of the jump that left */
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 7},
		      {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
		      {.kind = MT_EVENT_TRACE_END,
		       .from = USER + 13,
		       .to = 0x500000,
		       .detail = MT_TRACE_END_FILTER});
}

/* What the TIP is of is not known: nothing that was seen went there. */
static void test_off_the_end_of_the_code(void **state)
{
	static const uint8_t code[] = {0x90, 0x90};

	(void)state;
	struct stream stream = open_stream();

	assert_no_error(mt_pt_image_add_bytes(stream.pieces->image, code, sizeof(code), 0x500000));
	put_psb(&stream, 0x500000, 1000);
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	assert_true(events.events.count > 1);
	assert_int_equal(events.events.items[1].kind, MT_EVENT_GAP);
	assert_int_equal(events.events.items[1].detail, MT_GAP_NO_CODE);
	pt_events_free(&events);
}

static void test_overflows(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 7, 1000);
	put_ip(&stream, TIP, USER + 2);
	PUT(&stream, 0x02, 0xf3); /* OVF */
	put_ip(&stream, FUP, USER + 7);
	put_ip(&stream, TIP, USER + 2);
	PUT(&stream, 0x02, 0xf3); /* and one that ends while tracing is off */
	put_ip(&stream, PGE, USER + 3);
	put_stop(&stream, USER + 4);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 7},
		      {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_GAP, .to = USER + 7, .detail = MT_GAP_OVERFLOW},
		      {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_GAP, .detail = MT_GAP_OVERFLOW},
		      {.kind = MT_EVENT_TRACE_START, .to = USER + 3},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC});
}

static void test_transactions(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 2, 1000);
	PUT(&stream, 0x99, 0x21); /* MODE.TSX: in */
	put_ip(&stream, FUP, USER + 2);
	PUT(&stream, 0x99, 0x20); /* out */
	put_ip(&stream, FUP, USER + 3);
	PUT(&stream, 0x99, 0x21);
	put_ip(&stream, FUP, USER + 3);
	PUT(&stream, 0x99, 0x22); /* aborted */
	put_ip(&stream, FUP, USER + 4);
	put_ip(&stream, TIP, USER + 12);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 2, .to = USER + 2},
	    {.kind = MT_EVENT_TX_COMMIT, .from = USER + 3, .to = USER + 3},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 3, .to = USER + 3},
	    {.kind = MT_EVENT_TX_ABORT, .from = USER + 4, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* What comes later is no abort. */
static void test_a_ptwrite_tells_where_control_is(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 13, 1000);
	put_ip(&stream, TIP, 0x500000); /* whose code is missing */
	PUT(&stream, 0x0e);
	PUT(&stream, 0x02, 0x92, 1, 2, 3, 4); /* PTWRITE with an address */
	put_ip(&stream, FUP, USER + 12);
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 13},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = 0x500000},
		      {.kind = MT_EVENT_GAP, .from = 16, .detail = MT_GAP_NO_CODE},
		      {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
		      {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

/* An MWAIT has the address of the EXSTOP behind it, if that has one. */
static void test_a_wait_takes_no_address_of_others(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 2, 1000);
	PUT(&stream, 0x02, 0xc2, 7, 0, 0, 0, 1, 0, 0, 0); /* MWAIT */
	PUT(&stream, 0x02, 0x22, 0, 0);                   /* PWRE */
	PUT(&stream, 0x02, 0xe2);                         /* EXSTOP */
	put_ip(&stream, FUP, USER + 3);
	PUT(&stream, 0x02, 0xa2, 0, 0, 0, 0, 0); /* PWRX */
	put_stop(&stream, USER + 3);
	PUT(&stream, 0x02, 0xc2, 7, 0, 0, 0, 1, 0, 0, 0);
	PUT(&stream, 0x02, 0x22, 0, 0);
	PUT(&stream, 0x02, 0x62); /* without */
	PUT(&stream, 0x02, 0xa2, 0, 0, 0, 0, 0);
	put_ip(&stream, PGE, USER + 12);
	put_ip(&stream, FUP, USER + 13);
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC},
		      {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
		      {.kind = MT_EVENT_INTERRUPT, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

/* What the trace's end cuts off it says nothing of: nothing is lost. */
static void test_a_wait_that_is_cut_off(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, 0, 1000);
	PUT(&stream, 0x02, 0xc2, 7);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.events.count, 0);
	pt_events_free(&events);
}

static void test_an_abort_that_ends_the_trace(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 2, 1000);
	PUT(&stream, 0x99, 0x21);
	put_ip(&stream, FUP, USER + 2);
	PUT(&stream, 0x99, 0x22);
	put_stop(&stream, USER + 3);
	put_ip(&stream, PGE, USER + 12);
	put_ip(&stream, FUP, USER + 13);
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		      {.kind = MT_EVENT_TX_BEGIN, .from = USER + 2, .to = USER + 2},
		      {.kind = MT_EVENT_TX_ABORT, .from = USER + 3},
		      {.kind = MT_EVENT_TRACE_END, .detail = MT_TRACE_END_ASYNC},
		      {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
		      {.kind = MT_EVENT_INTERRUPT, .from = USER + 13, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

/* Within a transaction tracing begins, and ends; where it went on is not known. */
static void test_an_abort_while_tracing_is_off(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, 0, 1000);
	PUT(&stream, 0x99, 0x21);
	put_ip(&stream, PGE, USER + 2);
	put_stop(&stream, USER + 3);
	PUT(&stream, 0x99, 0x22);
	PUT(&stream, 0x99, 0x22); /* there is none any more */
	put_ip(&stream, PGE, USER + 12);
	put_stop(&stream, USER + 13);
	PUT(&stream, 0x99, 0x21);
	put_ip(&stream, PGE, USER + 2);
	put_stop(&stream, USER + 3);
	PUT(&stream, 0x99, 0x20);
	put_ip(&stream, PGE, USER + 12);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 2, .to = USER + 2},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC},
	    {.kind = MT_EVENT_TX_ABORT}, {.kind = MT_EVENT_TRACE_END, .detail = MT_TRACE_END_ASYNC},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 2, .to = USER + 2},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_TX_COMMIT, .from = USER + 12, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* What a PSB tells of it is news only where that was not seen. */
static void test_a_transaction_at_a_psb(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	for (int i = 0; i < 2; i++) {
		put_psb(&stream, USER + 2, 1000);
		stream.size -= 2;
		PUT(&stream, 0x99, 0x21);
		PUT(&stream, 0x02, 0x23);
	}
	PUT(&stream, 0x02, 0xf3); /* OVF */
	put_ip(&stream, FUP, USER + 7);
	put_ip(&stream, TIP, USER + 12);
	put_psb(&stream, USER + 12, 2000);
	stream.size -= 2;
	PUT(&stream, 0x99, 0x21);
	PUT(&stream, 0x02, 0x23);
	put_psb(&stream, USER + 12, 2000);
	stream.size -= 2;
	PUT(&stream, 0x99, 0x20);
	PUT(&stream, 0x02, 0x23);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 2, .to = USER + 2},
	    {.kind = MT_EVENT_GAP, .to = USER + 7, .detail = MT_GAP_OVERFLOW},
	    {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
	    {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 12},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 12, .to = USER + 12},
	    {.kind = MT_EVENT_TX_COMMIT, .from = USER + 12, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* What it took back must not stay open: the handler is out of the traced range. */
static void test_an_abort_out_of_the_traced_range(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 2, 1000);
	PUT(&stream, 0x99, 0x21); /* MODE.TSX: within a transaction */
	put_ip(&stream, FUP, USER + 2);
	PUT(&stream, 0x99, 0x22);
	put_ip(&stream, FUP, USER + 3);
	put_ip(&stream, 0x01, 0x500000); /* TIP.PGD */
	put_ip(&stream, PGE, USER + 12);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
	    {.kind = MT_EVENT_TX_BEGIN, .from = USER + 2, .to = USER + 2},
	    {.kind = MT_EVENT_TX_ABORT, .from = USER + 3, .to = 0x500000},
	    {.kind = MT_EVENT_TRACE_END,
	     .from = 0x500000,
	     .to = 0x500000,
	     .detail = MT_TRACE_END_FILTER},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* Control cannot have come to where it was interrupted, but the handler ran. */
static void test_an_interrupt_where_control_cannot_be(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 12, 1000);
	put_ip(&stream, FUP, USER + 2); /* but a jump that needs a packet is before it */
	put_ip(&stream, TIP, USER + 15);
	put_stop(&stream, USER + 16);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_GAP, .from = 9, .detail = MT_GAP_BAD_TRACE},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 15},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 16, .detail = MT_TRACE_END_ASYNC});
}

static void test_an_endless_loop_that_the_trace_did_not_take(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 4, 1000);
	put_stop(&stream, USER + 13);
	put_psb(&stream, USER + 2, 2000);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);
	size_t count = events.events.count;

	assert_true(count > 10 && count < 100000);
	assert_int_equal(pt_count(&events, MT_EVENT_GAP), 1);
	assert_int_equal(events.events.items[count - 2].to, USER + 2);
	assert_int_equal(events.events.items[count - 1].from, USER + 3);
	pt_events_free(&events);
}

static void test_a_spin_that_was_interrupted(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 2, 1000);
	put_stop(&stream, USER + 4);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 4, .detail = MT_TRACE_END_ASYNC});
}

static void test_code_of_16_bits_is_a_gap(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 2, 1000);
	put_ip(&stream, FUP, USER + 3);
	PUT(&stream, 0x99, 0x00); /* MODE.Exec, 16 bits */
	put_ip(&stream, TIP, USER + 7);
	put_ip(&stream, TIP, USER + 2);
	put_psb(&stream, USER + 2, 2000);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);
	size_t count = events.events.count;

	assert_int_equal(pt_count(&events, MT_EVENT_CALL), 0);
	assert_int_equal(pt_count(&events, MT_EVENT_GAP), 1);
	assert_int_equal(events.events.items[count - 1].from, USER + 3);
	pt_events_free(&events);
}

/* In 32 bits 48 is an instruction, and in 64 the prefix of what follows it. */
static void test_from_64_bits_to_32_and_back(void **state)
{
	(void)state;
	struct stream stream = open_stream();

	put_psb(&stream, USER + 36, 1000);
	PUT(&stream, 0x99, 0x02); /* MODE.Exec, 32 bits: of the far jump */
	put_ip(&stream, TIP, USER + 39);
	put_ip(&stream, FUP, USER + 46);
	PUT(&stream, 0x99, 0x01); /* 64 bits */
	put_ip(&stream, TIP, KERNEL + 4);
	PUT(&stream, 0x99, 0x02);
	put_ip(&stream, TIP, USER + 46);
	PUT(&stream, 0x06); /* TNT: the return */
	PUT(&stream, 0x99, 0x01);
	put_ip(&stream, TIP, USER + 2);
	put_stop(&stream, USER + 3);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(&events, {.kind = MT_EVENT_TRACE_START, .to = USER + 36},
		      {.kind = MT_EVENT_JUMP, .from = USER + 36, .to = USER + 39},
		      {.kind = MT_EVENT_CALL, .from = USER + 39, .to = USER + 45},
		      {.kind = MT_EVENT_INTERRUPT, .from = USER + 46, .to = KERNEL + 4},
		      {.kind = MT_EVENT_IRET, .from = KERNEL + 6, .to = USER + 46},
		      {.kind = MT_EVENT_RETURN, .from = USER + 46, .to = USER + 44},
		      {.kind = MT_EVENT_RETURN, .from = USER + 44, .to = USER + 2},
		      {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
}

/* ---- the code changes with time ---- */

struct changing {
	struct pt_pieces pieces; /* the image until CHANGE, or NULL */
	struct mt_pt_image *later;
	size_t asked;
};

#define CHANGE 5000

static struct mt_pt_image *changing_image(void *context, uint64_t time_ns, void **places)
{
	(void)places;
	struct changing *changing = context;

	changing->asked++;
	return time_ns < CHANGE ? changing->pieces.image : changing->later;
}

static void test_the_code_is_that_of_its_time(void **state)
{
	(void)state;
	struct stream stream = open_stream();
	struct changing *changing = calloc(1, sizeof(*changing));
	struct mt_pt_decoder_config config = {
	    .source = {pt_next_piece, changing_image, NULL, NULL, changing}};
	struct mt_pt_decoder *decoder;
	struct mt_event *events;
	size_t count;

	put_psb(&stream, USER + 7, 1000);
	put_stop(&stream, USER + 13);
	PUT(&stream, 0x19, 0x88, 0x13, 0, 0, 0, 0, 0); /* TSC 5000 */
	put_ip(&stream, PGE, USER + 7);                /* now: mov, in the place of a call */
	put_stop(&stream, USER + 10);

	assert_no_error(mt_pt_image_create(stream.cache, &changing->later));
	assert_no_error(mt_pt_image_add(changing->later, stream.path, 64, 64, USER + 7 - 8));
	changing->pieces.image = stream.pieces->image;
	changing->pieces.count = 1;
	changing->pieces.items[0] =
	    (struct mt_pt_piece){.bytes = stream.bytes, .size = stream.size};
	assert_no_error(mt_pt_decoder_create(&config, &decoder));
	assert_no_error(mt_pt_decoder_next(decoder, &events, &count));
	assert_int_equal(count, 5);
	assert_int_equal(events[1].kind, MT_EVENT_CALL);
	assert_int_equal(events[3].kind, MT_EVENT_TRACE_START);
	assert_int_equal(events[3].time_ns, CHANGE);
	assert_int_equal(events[4].kind, MT_EVENT_TRACE_END);
	assert_int_equal(events[4].from, USER + 10);
	assert_true(changing->asked >= 2);
	mt_pt_decoder_destroy(decoder);
	free(changing->pieces.lent);
	mt_pt_image_destroy(changing->later);
	free(changing);
	struct pt_events rest = close_stream(&stream);
	pt_events_free(&rest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_into_the_kernel_and_back),
	    cmocka_unit_test(test_a_kernel_without_code_is_no_gap),
	    cmocka_unit_test(test_a_new_address_space),
	    cmocka_unit_test(test_a_breakpoint_is_no_system_call),
	    cmocka_unit_test(test_out_of_the_traced_range),
	    cmocka_unit_test(test_off_the_end_of_the_code),
	    cmocka_unit_test(test_overflows),
	    cmocka_unit_test(test_transactions),
	    cmocka_unit_test(test_a_ptwrite_tells_where_control_is),
	    cmocka_unit_test(test_an_interrupt_where_control_cannot_be),
	    cmocka_unit_test(test_a_wait_takes_no_address_of_others),
	    cmocka_unit_test(test_a_wait_that_is_cut_off),
	    cmocka_unit_test(test_an_abort_that_ends_the_trace),
	    cmocka_unit_test(test_an_abort_while_tracing_is_off),
	    cmocka_unit_test(test_a_transaction_at_a_psb),
	    cmocka_unit_test(test_an_abort_out_of_the_traced_range),
	    cmocka_unit_test(test_an_endless_loop_that_the_trace_did_not_take),
	    cmocka_unit_test(test_a_spin_that_was_interrupted),
	    cmocka_unit_test(test_code_of_16_bits_is_a_gap),
	    cmocka_unit_test(test_from_64_bits_to_32_and_back),
	    cmocka_unit_test(test_the_code_is_that_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
