/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trampolines are run, not read: small functions in a page of our own are patched and called, and
 * what they return and what the ring holds is compared with what they did. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "stepped_ring.h"
#include "trampoline_world.h"

/* The sampled events in the ring, without the lines' stamps, and with their sites' numbers. */
static size_t sampled(const struct world *world, struct mt_ring_event *events, size_t most)
{
	size_t count = 0;

	for (uint64_t at = 0; at < position.written && count < most; at += 8) {
		struct mt_ring_event *event = &events[count];

		if (at % MT_RING_LINE_BYTES == 0)
			continue;
		memcpy(event, world->ring + at % RING_BYTES, 8);
		if (mt_ring_is_entry(event->site)) {
			event->site &= ~MT_RING_SITE_ENTRY;
			at += 8;
		}
		count += event->site != 0;
	}
	return count;
}

/* The return address of the entry whose first slot lies at AT. */
static uint64_t return_address_at(const struct world *world, uint64_t at)
{
	uint64_t address;

	memcpy(&address, world->ring + (at + 8) % RING_BYTES, sizeof(address));
	return address;
}

static uint32_t true_stack(struct mt_ring_event event, enum mt_ring_stamps stamps, bool is_return)
{
	return event.stack + mt_ring_pushed(stamps, is_return);
}

/* lea rax, [rdi+rsi+5]; ret */
#define ADD_BODY 0x48, 0x8d, 0x44, 0x37, 0x05, 0xc3

static void test_entry_and_return(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, ADD_BODY);
	struct mt_ring_event events[8];

	(void)state;
	patch(&world, f, 5, MT_PATCH_ENTRY, 11);
	patch(&world, f + 5, 5, MT_PATCH_RETURN, 12);
	assert_int_equal(call(&world, f, 30, 7), 42);
	assert_int_equal(sampled(&world, events, 8), 2);
	assert_int_equal(events[0].site, 11);
	assert_int_equal(events[1].site, 12);
	assert_int_equal(true_stack(events[0], MT_RING_SAMPLED, false),
			 true_stack(events[1], MT_RING_SAMPLED, true));
	world_end(&world);
}

static void test_merged(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, ADD_BODY);
	struct mt_ring_event events[8];

	(void)state;
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 3);
	assert_int_equal(call(&world, f, 1, 2), 8);
	assert_int_equal(sampled(&world, events, 8), 2);
	assert_int_equal(events[0].site, 3);
	assert_int_equal(events[1].site, 4);
	world_end(&world);
}

static void test_full_stamps(void **state)
{
	struct world world = world_make(MT_RING_FULL);
	uint64_t f = function(&world, ADD_BODY);
	struct mt_ring_full_event events[6];

	(void)state;
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 5);
	assert_int_equal(call(&world, f, 1, 2), 8);
	assert_int_equal(call(&world, f, 2, 2), 9);
	assert_int_equal(position.written, sizeof(events));
	memcpy(events, world.ring, sizeof(events));
	for (size_t i = 0; i < 6; i += 3) {
		assert_int_equal(events[i].event.site, 5 | MT_RING_SITE_ENTRY);
		assert_int_equal(events[i + 1].event.site, MT_RING_SITE_CALLER);
		assert_true(events[i + 1].tsc != 0 && events[i + 1].event.stack == 0);
		assert_int_equal(events[i + 2].event.site, 6);
		assert_true(events[i].tsc > (i ? events[i - 1].tsc : 0));
		assert_true(events[i + 2].tsc > events[i].tsc);
		assert_int_equal(true_stack(events[i].event, MT_RING_FULL, false),
				 true_stack(events[0].event, MT_RING_FULL, false));
		assert_int_equal(true_stack(events[i + 2].event, MT_RING_FULL, true),
				 true_stack(events[0].event, MT_RING_FULL, false));
	}
	world_end(&world);
}

static void write_mute(void *context, const struct mt_trampoline_mute *mute)
{
	const struct world *world = context;

	memcpy(world->trampoline_page + mute->offset, mute->code, sizeof(mute->code));
}

static void mute_all(struct world *world)
{
	mt_trampoline_each_mute(&world->trampolines, 0, (uint32_t)world->trampolines.code.count,
				write_mute, world);
}

/* All that a muted trampoline does is to run what was displaced. */
static void check_muted(enum mt_ring_stamps stamps, uint8_t flags)
{
	struct world world = world_make(stamps);
	uint64_t f = function(&world, ADD_BODY), g = function(&world, ADD_BODY), written;

	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN | flags, 5);
	patch(&world, g, 5, MT_PATCH_ENTRY | flags, 7);
	patch(&world, g + 5, 5, MT_PATCH_RETURN | flags, 8);
	assert_int_equal(call(&world, f, 1, 2) + call(&world, g, 3, 4), 20);
	written = position.written;
	assert_true(written >= 4 * sizeof(struct mt_ring_event));
	mute_all(&world);
	for (long i = 0; i < 100; i++) {
		assert_int_equal(call(&world, f, 1, i), 6 + i);
		assert_int_equal(call(&world, g, i, 4), 9 + i);
	}
	assert_int_equal(position.written, written);
	world_end(&world);
}

static void test_muted(void **state)
{
	(void)state;
	check_muted(MT_RING_SAMPLED, 0);
	check_muted(MT_RING_SAMPLED, MT_PATCH_STAMP);
	check_muted(MT_RING_FULL, 0);
}

static void test_own_stamp(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, ADD_BODY);
	struct mt_ring_event events[8];

	(void)state;
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN | MT_PATCH_STAMP, 1);
	assert_int_equal(call(&world, f, 1, 2), 8);
	assert_int_equal(sampled(&world, events, 8), 6);
	assert_int_equal(events[0].site, 1);
	assert_int_equal(events[1].site, MT_RING_SITE_STAMP_LOW);
	assert_int_equal(events[2].site, MT_RING_SITE_STAMP_HIGH);
	assert_int_equal(events[3].site, 2);
	assert_true(events[4].stack > events[1].stack || events[5].stack > events[2].stack);
	world_end(&world);
}

static void test_lines_begin_with_stamps(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, ADD_BODY);
	uint64_t before = 0;
	unsigned fillers = 0;

	(void)state;
	/* What stood there a round before must not be read again. */
	memset(world.ring, 0xff, RING_BYTES);
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 1);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(call(&world, f, i, 2), i + 7);
	for (uint64_t at = position.written - RING_BYTES; at < position.written; at += 8) {
		uint64_t stamp = 0;
		struct mt_ring_event event;

		memcpy(&stamp, world.ring + at % RING_BYTES, 8);
		memcpy(&event, &stamp, 8);
		if (at % MT_RING_LINE_BYTES == 0) {
			assert_true(stamp > before);
			before = stamp;
		} else if (mt_ring_is_entry(event.site)) {
			assert_int_equal(event.site, 1 | MT_RING_SITE_ENTRY);
			at += 8;
			assert_true(at % MT_RING_LINE_BYTES);
		} else if (event.site == 0) {
			fillers++;
			assert_int_equal(stamp, 0);
		} else {
			assert_int_equal(event.site, 2);
		}
	}
	assert_true(fillers > 0);
	world_end(&world);
}

/* An entry's event has the address that lay at its stack pointer. */
static void test_return_addresses(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t callee = function(&world, 0x48, 0x89, 0xf8, 0x90, 0x90, 0xc3);
	/* nop; call callee; call callee; ret */
	uint64_t f = function(&world, 0x90, 0xe8, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0xc3);

	(void)state;
	for (uint64_t at = f + 1; at < f + 11; at += 5) {
		int32_t distance = (int32_t)(callee - (at + 5));

		memcpy(in_memory(&world, at) + 1, &distance, sizeof(distance));
	}
	patch(&world, callee, 5, MT_PATCH_ENTRY, 1);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t before = position.written;

		assert_int_equal(call(&world, f, 9, 0), 9);
		if (position.written - before != 32)
			continue; /* over a line's begin */
		assert_int_equal(return_address_at(&world, before),
				 (uintptr_t)in_memory(&world, f + 6));
		assert_int_equal(return_address_at(&world, before + 16),
				 (uintptr_t)in_memory(&world, f + 11));
	}
	world_end(&world);
}

/* What is displaced must do what it did: operands beside rip, calls, branches, loops. */
static void test_rip_relative(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	/* mov rax, [rip+1]; ret; 8 bytes of data */
	uint64_t f = function(&world, 0x48, 0x8b, 0x05, 0x01, 0x00, 0x00, 0x00, 0xc3, 0x2a, 0x00,
			      0x00, 0x00, 0x00, 0x00, 0x00, 0x00);

	(void)state;
	patch(&world, f, 7, MT_PATCH_ENTRY, 1);
	assert_int_equal(call(&world, f, 0, 0), 42);
	world_end(&world);
}

static void test_call_leaves_original_return_address(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	/* callee: mov rax, [rsp]; ret */
	uint64_t callee = function(&world, 0x48, 0x8b, 0x04, 0x24, 0xc3);
	/* nop; call callee; ret */
	uint64_t f = function(&world, 0x90, 0xe8, 0, 0, 0, 0, 0xc3);
	int32_t distance = (int32_t)(callee - (f + 6));

	(void)state;
	memcpy(in_memory(&world, f) + 2, &distance, sizeof(distance));
	patch(&world, f, 6, MT_PATCH_ENTRY, 1);
	assert_int_equal(call(&world, f, 0, 0), (uintptr_t)in_memory(&world, f + 6));
	world_end(&world);
}

static void test_indirect_call(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t callee = function(&world, 0x48, 0x8b, 0x04, 0x24, 0xc3);
	/* sub rsp, 8; call rdi; add rsp, 8; ret */
	uint64_t f =
	    function(&world, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3);

	(void)state;
	patch(&world, f, 6, MT_PATCH_ENTRY, 1);
	assert_int_equal(call(&world, f, (long)(uintptr_t)in_memory(&world, callee), 0),
			 (uintptr_t)in_memory(&world, f + 6));
	world_end(&world);
}

static void test_branch(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	/* test rdi, rdi; jz +6; mov eax, 1; ret; mov eax, 2; ret */
	uint64_t f = function(&world, 0x48, 0x85, 0xff, 0x74, 0x06, 0xb8, 1, 0, 0, 0, 0xc3, 0xb8, 2,
			      0, 0, 0, 0xc3);

	(void)state;
	patch(&world, f, 5, MT_PATCH_ENTRY, 1);
	assert_int_equal(call(&world, f, 5, 0), 1);
	assert_int_equal(call(&world, f, 0, 0), 2);
	world_end(&world);
}

static void test_jrcxz(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	/* mov rcx, rdi; jrcxz +6; mov eax, 1; ret; mov eax, 2; ret */
	uint64_t f = function(&world, 0x48, 0x89, 0xf9, 0xe3, 0x06, 0xb8, 1, 0, 0, 0, 0xc3, 0xb8, 2,
			      0, 0, 0, 0xc3);

	(void)state;
	patch(&world, f, 5, MT_PATCH_ENTRY, 1);
	assert_int_equal(call(&world, f, 5, 0), 1);
	assert_int_equal(call(&world, f, 0, 0), 2);
	world_end(&world);
}

static void test_what_cannot_move(void **state)
{
	static const uint8_t syscall_bytes[] = {0x0f, 0x05};
	static const uint8_t xbegin[] = {0xc7, 0xf8, 0, 0, 0, 0};
	static const uint8_t call_bytes[] = {0xe8, 0, 0, 0, 0};
	static const uint8_t call_of_stack[] = {0xff, 0x14, 0x24}; /* call [rsp] */

	(void)state;
	assert_false(mt_plan_can_move(syscall_bytes, 2, TEXT, true));
	assert_false(mt_plan_can_move(xbegin, 6, TEXT, true));
	assert_false(mt_plan_can_move(call_bytes, 5, TEXT, false));
	assert_true(mt_plan_can_move(call_bytes, 5, TEXT, true));
	assert_false(mt_plan_can_move(call_of_stack, 3, TEXT, true));
	assert_false(mt_plan_can_move(syscall_bytes, 1, TEXT, true));
}

/* A handler that calls the same function: events nest, and none is lost. */
static struct world *storm_world;
static uint64_t storm_function;
static volatile long storm_calls;

static void on_alarm(int signal)
{
	(void)signal;
	storm_calls++;
	call(storm_world, storm_function, 1, 1);
}

static void test_signals_lose_nothing(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	uint64_t events = 0;
	long calls = 0;

	(void)state;
	storm_world = &world;
	storm_function = function(&world, ADD_BODY);
	patch(&world, storm_function, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 1);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (storm_calls < 300 && calls < 50000000) {
		call(&world, storm_function, 1, 1);
		calls++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	/* A handler between a stamp and its event makes a second stamp, no fewer events.  A call
	 * takes three slots, and ten calls fill a line, with one slot to spare. */
	events = 2 * (uint64_t)(calls + storm_calls);
	assert_in_range(position.written, events / 2 * 24 * 32 / 31 - 8,
			events / 2 * 256 / 10 + 16);
	world_end(&world);
}

/* A program that steps through itself, with a handler that is recorded: between a line's stamp and
 * the event, too, so that the event may find itself at the beginning of a line once more.  That
 * must not go on for ever, unless the handler fills whole lines, as ten calls do. */
#define MOST_OWN_STEPS 100000

static int handler_calls, own_steps;

static void on_own_step(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	for (int i = 0; i < handler_calls; i++)
		call(storm_world, storm_function, i, 1);
	if (++own_steps == MOST_OWN_STEPS)
		registers[REG_EFL] &= ~TRAP_FLAG;
}

static void test_own_steps_end(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	const struct sigaction action = {.sa_sigaction = on_own_step, .sa_flags = SA_SIGINFO};
	struct sigaction old;
	uint64_t f = function(&world, ADD_BODY);

	(void)state;
	storm_world = &world;
	storm_function = function(&world, ADD_BODY);
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 1);
	patch(&world, storm_function, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 3);
	assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
	for (handler_calls = 1; handler_calls < 40; handler_calls++)
		for (uint64_t at = 0; at < MT_RING_LINE_BYTES && handler_calls % 10; at += SLOT) {
			position.written = RING_BYTES + at;
			own_steps = 0;
			step_on();
			call(&world, f, 1, 1);
			__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); "
					 "popfq; lea 128(%%rsp), %%rsp" ::
					     : "memory", "cc");
			assert_in_range(own_steps, 10, MOST_OWN_STEPS - 1);
		}
	assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
	world_end(&world);
}

static void test_rows(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, ADD_BODY);
	const uint32_t begin = (uint32_t)world.trampolines.code.count;
	const struct mt_trampoline_row *row;

	(void)state;
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN, 1);
	row = mt_trampoline_row_at(&world.trampolines, begin);
	assert_int_equal(row->phase, MT_PHASE_RECORDING);
	assert_int_equal(row->original, f + world.config.bias);
	assert_int_equal(row->below, 0);
	row = mt_trampoline_row_at(&world.trampolines, begin + 1);
	assert_int_equal(row->below, 8);
	assert_int_equal(row->saved, MT_SAVED_RAX);
	for (size_t i = 1; i < world.trampolines.rows.count; i++)
		assert_true(world.trampolines.rows.items[i].offset >=
			    world.trampolines.rows.items[i - 1].offset);
	world_end(&world);
}

/* Who stands before the jump back has run what was displaced already. */
static void test_the_way_back(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, ADD_BODY);
	const uint32_t begin = (uint32_t)world.trampolines.code.count;
	const struct mt_trampoline_row *row;

	(void)state;
	patch(&world, f, 5, 0, 1);
	assert_int_equal(world.trampolines.code.count, begin + 5 + 5);
	row = mt_trampoline_row_at(&world.trampolines, begin + 4);
	assert_int_equal(row->original, f + world.config.bias);
	row = mt_trampoline_row_at(&world.trampolines, begin + 5);
	assert_int_equal(row->original, f + world.config.bias + 5);
	assert_int_equal(row->phase, MT_PHASE_DISPLACED);
	world_end(&world);
}

/* test edi, edi; je over; mov eax, 7; over: ret */
static void test_a_branch_that_is_redirected(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, 0x85, 0xff, 0x74, 0x05, 0xb8, 0x07, 0, 0, 0, 0xc3);
	struct mt_patch one = {
	    .address = f,
	    .redirect = f + 9,
	    .length = 9,
	    .flags = MT_PATCH_ENTRY | MT_PATCH_REDIRECT,
	};
	struct mt_ring_event events[8];

	(void)state;
	patch_with(&world, &one, 21);
	assert_int_equal(call(&world, f, 1, 0), 7);
	assert_int_equal(sampled(&world, events, 8), 1);
	*in_memory(&world, f + 9) = 0xcc; /* nothing goes there any more */
	call(&world, f, 0, 0);
	assert_int_equal(sampled(&world, events, 8), 3);
	assert_int_equal(events[1].site, 21);
	assert_int_equal(events[2].site, 22);
	assert_int_equal(true_stack(events[1], MT_RING_SAMPLED, false),
			 true_stack(events[2], MT_RING_SAMPLED, true));
	world_end(&world);
}

/* Without the flag it returns all the same. */
static void test_a_redirected_branch_that_is_not_recorded(void **state)
{
	struct world world = world_make(MT_RING_FULL);
	uint64_t f = function(&world, 0x85, 0xff, 0x74, 0x05, 0xb8, 0x07, 0, 0, 0, 0xc3);
	const struct mt_patch one = {.address = f, .redirect = f + 9, .length = 9};

	(void)state;
	patch_with(&world, &one, 21);
	*in_memory(&world, f + 9) = 0xcc;
	call(&world, f, 0, 0);
	assert_int_equal(position.written, 0);
	world_end(&world);
}

/* dec edi; nop; nop; je 1f; jmp f; 1: mov eax, 9; ret */
#define LOOP                                                                                       \
	0xff, 0xcf, 0x90, 0x90, 0x74, 0x05, 0xe9, 0xf5, 0xff, 0xff, 0xff, 0xb8, 9, 0, 0, 0, 0xc3

static void put_linked(struct world *world, const struct mt_patch *entry,
		       const struct mt_patch *back)
{
	struct mt_patch patches[] = {*entry, *back};
	const struct mt_plan plan = {.patches = {.items = patches, .count = 2}};
	uint32_t offsets[2] = {(uint32_t)world->trampolines.code.count, 0};

	patch_with(world, entry, 21);
	offsets[1] = (uint32_t)world->trampolines.code.count;
	patch_with(world, back, 22);
	mt_trampolines_link(&world->trampolines, &world->config, &plan, offsets);
	memcpy(world->trampoline_page, world->trampolines.code.items,
	       world->trampolines.code.count);
}

static void test_a_loop_is_no_call(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, LOOP);
	const struct mt_patch entry = {.address = f, .length = 6, .flags = MT_PATCH_ENTRY};
	const struct mt_patch back = {
	    .address = f + 6, .redirect = f, .length = 5, .flags = MT_PATCH_AGAIN};
	struct mt_ring_event events[8];

	(void)state;
	put_linked(&world, &entry, &back);
	assert_int_equal(call(&world, f, 5, 0), 9);
	assert_int_equal(sampled(&world, events, 8), 1);
	assert_int_equal(events[0].site, 21);
	world_end(&world);
}

static void test_a_loop_that_is_recorded(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	uint64_t f = function(&world, LOOP);
	const struct mt_patch entry = {.address = f, .length = 6, .flags = MT_PATCH_ENTRY};
	const struct mt_patch back = {.address = f + 6,
				      .redirect = f,
				      .length = 5,
				      .flags = MT_PATCH_AGAIN | MT_PATCH_REDIRECT};
	struct mt_ring_event events[8];

	(void)state;
	put_linked(&world, &entry, &back);
	assert_int_equal(call(&world, f, 3, 0), 9);
	assert_int_equal(sampled(&world, events, 8), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(events[i].site, i ? 22 : 21);
		assert_int_equal(events[i].stack, events[0].stack);
	}
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_loop_is_no_call),
	    cmocka_unit_test(test_a_loop_that_is_recorded),
	    cmocka_unit_test(test_a_branch_that_is_redirected),
	    cmocka_unit_test(test_a_redirected_branch_that_is_not_recorded),
	    cmocka_unit_test(test_entry_and_return),
	    cmocka_unit_test(test_merged),
	    cmocka_unit_test(test_full_stamps),
	    cmocka_unit_test(test_muted),
	    cmocka_unit_test(test_own_stamp),
	    cmocka_unit_test(test_lines_begin_with_stamps),
	    cmocka_unit_test(test_return_addresses),
	    cmocka_unit_test(test_rip_relative),
	    cmocka_unit_test(test_call_leaves_original_return_address),
	    cmocka_unit_test(test_indirect_call),
	    cmocka_unit_test(test_branch),
	    cmocka_unit_test(test_jrcxz),
	    cmocka_unit_test(test_what_cannot_move),
	    cmocka_unit_test(test_signals_lose_nothing),
	    cmocka_unit_test(test_own_steps_end),
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_the_way_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
