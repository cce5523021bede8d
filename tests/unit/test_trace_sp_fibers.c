/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which stacks are coroutines', and what is theirs. */
#include "sp_apart.h"

/* swapcontext(): its ret comes first, on a stack of which nothing is known. */
static void a_switch_reports_on_both(void **state)
{
	(void)state;
	EXPECT_APART("a(s()s())|", " 1*x 1+s 1-s 1+y 1-y 1-x", ENTER('a', FAR_AWAY),
		     ENTER_FROM('s', FAR_AWAY - 100, 'a', 0x10), LEAVE('s', 992), START('x', 1000),
		     ENTER_FROM('s', 900, 'x', 0x10), LEAVE('s', FAR_AWAY - 100),
		     ENTER_FROM('s', FAR_AWAY - 100, 'a', 0x20), LEAVE('s', 900),
		     ENTER_FROM('y', 900, 'x', 0x20), LEAVE('y', 900), LEAVE('x', 1000),
		     LEAVE('s', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

static void a_switch_may_report_nothing(void **state)
{
	(void)state;
	EXPECT_APART("a(b()c())|", " 1*x 1+y 2*z 1-y 2-z 1-x", ENTER('a', FAR_AWAY),
		     ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10), START('x', 1000),
		     ENTER_FROM('y', 900, 'x', 0x10), START('z', 0x9000), LEAVE('y', 900),
		     LEAVE('b', FAR_AWAY - 100), LEAVE('z', 0x9000),
		     ENTER_FROM('c', FAR_AWAY - 100, 'a', 0x20), LEAVE('x', 1000),
		     LEAVE('c', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

/* By a function that is not recorded, to one that returns to zero. */
static void nothing_below_begins_a_stack(void **state)
{
	(void)state;
	EXPECT_APART("a(b()c())|", " 1*x 1+y 2*z 2+y 1-y 2-y 1-x 2-z", OWN_STACK(FAR_AWAY + 100),
		     ENTER('a', FAR_AWAY), ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10),
		     ENTER('x', 1000), ENTER_FROM('y', 900, 'x', 0x10), ENTER('z', 0x9000),
		     ENTER_FROM('y', 0x8f00, 'z', 0x10), LEAVE('y', 900), LEAVE('y', 0x8f00),
		     LEAVE('b', FAR_AWAY - 100), ENTER_FROM('c', FAR_AWAY - 100, 'a', 0x20),
		     LEAVE('x', 1000), LEAVE('z', 0x9000), LEAVE('c', FAR_AWAY - 100),
		     LEAVE('a', FAR_AWAY));
}

/* Where it may be that of a signal's handler, or lies on a stack that is in use. */
static void nothing_below_may_not_be_known(void **state)
{
	(void)state;
	EXPECT_APART("a(b(!signalhh(k())))|", "", OWN_STACK(FAR_AWAY + 100), ENTER('a', FAR_AWAY),
		     ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10), SIGNAL(10), ENTER('h', 0x500000),
		     ENTER('k', 0x4ff000), LEAVE('k', 0x4ff000), LEAVE('h', 0x500000),
		     LEAVE('b', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

/* The next stack begins right below what is open on this one. */
static void neighbours_are_apart(void **state)
{
	(void)state;
	EXPECT_APART("a(b())|", " 1*x 1+s 2*y 2+s 1-s 1-x 2-s 2-y", ENTER('a', FAR_AWAY),
		     ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10), START('x', 0x9000),
		     ENTER_FROM('s', 0x8f00, 'x', 0x10), START('y', 0x8000),
		     ENTER_FROM('s', 0x7f00, 'y', 0x10), LEAVE('s', 0x8f00), LEAVE('x', 0x9000),
		     LEAVE('s', 0x7f00), LEAVE('y', 0x8000), LEAVE('b', FAR_AWAY - 100),
		     LEAVE('a', FAR_AWAY));
}

static void a_large_frame_is_no_switch(void **state)
{
	(void)state;
	EXPECT_APART(
	    "a(b(c(b())b()))|", "", ENTER('a', FAR_AWAY),
	    ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10),
	    ENTER_FROM('c', FAR_AWAY - 0x100000, 'b', 0x10),
	    ENTER_FROM('b', FAR_AWAY - 0x200000, 'c', 0x10), LEAVE('b', FAR_AWAY - 0x200000),
	    LEAVE('c', FAR_AWAY - 0x100000), ENTER_FROM('b', FAR_AWAY - 0x100000, 'b', 0x20),
	    LEAVE('b', FAR_AWAY - 0x100000), LEAVE('b', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

/* To a frame that was never seen: a jump back is one less than where it leads. */
static void longjmp_is_no_switch(void **state)
{
	(void)state;
	EXPECT_APART("a(j()u)uc()|", "", ENTER('a', 0x10000), ENTER_FROM('j', 0xff00, 'a', 0x10),
		     LEAVE('j', 0x10fff), ENTER_FROM('c', 0x11000, 'm', 0x10), LEAVE('c', 0x11000));
}

static void a_handler_belongs_to_what_it_interrupts(void **state)
{
	(void)state;
	EXPECT_APART("a(b()!signalhh())|", " 1*x 1! 1+h 1-h 1-x", ENTER('a', FAR_AWAY),
		     ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10), START('x', 1000), SIGNAL(10),
		     ENTER_FROM('h', 0x500000, 'r', 0x10), LEAVE('h', 0x500000), LEAVE('x', 1000),
		     LEAVE('b', FAR_AWAY - 100), SIGNAL(10), ENTER_FROM('h', 0x500000, 'r', 0x10),
		     LEAVE('h', 0x500000), LEAVE('a', FAR_AWAY));
}

/* Behind it a coroutine runs first, which nobody saw begin. */
static void a_loss_forgets_no_stack(void **state)
{
	(void)state;
	EXPECT_APART("a(b(!gap)l)l[lost]()|ai(c())|", " 1*x 1+s 0! 1-s 1+y 1-y",
		     OWN_STACK(FAR_AWAY + 100), ENTER('a', FAR_AWAY),
		     ENTER_FROM('b', FAR_AWAY - 100, 'a', 0x10), START('x', 1000),
		     ENTER_FROM('s', 900, 'x', 0x10), LOST(64), LEAVE('s', 900),
		     ENTER_FROM('y', 900, 'x', 0x20), LEAVE('y', 900),
		     ENTER_FROM('c', FAR_AWAY - 100, 'a', 0x20), LEAVE('c', FAR_AWAY - 100),
		     LEAVE('a', FAR_AWAY));
	EXPECT_APART("ai(c())|", " 1+y 1-y 1+s", OWN_STACK(FAR_AWAY + 100),
		     ENTER_FROM('y', 900, 'x', 0x20), LEAVE('y', 900),
		     ENTER_FROM('s', 900, 'x', 0x30), LEAVE('s', FAR_AWAY - 100),
		     ENTER_FROM('c', FAR_AWAY - 100, 'a', 0x20), LEAVE('c', FAR_AWAY - 100),
		     LEAVE('a', FAR_AWAY));
}

/* Of one that was entered before the loss nothing tells but that it ends, and switches by nothing.
 */
static void a_handler_on_its_own_stack_is_no_coroutine(void **state)
{
	(void)state;
	EXPECT_APART("xi(y())c()|", "", OWN_STACK(FAR_AWAY + 100), ENTER_FROM('y', 900, 'x', 0x20),
		     LEAVE('y', 900), LEAVE('x', 1000), ENTER_FROM('c', FAR_AWAY - 100, 'a', 0x20),
		     LEAVE('c', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
	/* The last that it called may be what it interrupted. */
	EXPECT_APART("y()c()|", "", OWN_STACK(FAR_AWAY + 100), ENTER_FROM('y', 900, 'x', 0x20),
		     LEAVE('y', 900), LEAVE('y', FAR_AWAY - 200),
		     ENTER_FROM('c', FAR_AWAY - 100, 'a', 0x20), LEAVE('c', FAR_AWAY - 100),
		     LEAVE('a', FAR_AWAY));
}

/* The first event of all may look so. */
static void a_thread_begins_no_coroutine(void **state)
{
	(void)state;
	EXPECT_APART("a(b())|", "", START('a', 1000), ENTER_FROM('b', 900, 'a', 0x10),
		     LEAVE('b', 900), LEAVE('a', 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_switch_reports_on_both),
	    cmocka_unit_test(a_switch_may_report_nothing),
	    cmocka_unit_test(nothing_below_begins_a_stack),
	    cmocka_unit_test(nothing_below_may_not_be_known),
	    cmocka_unit_test(neighbours_are_apart),
	    cmocka_unit_test(a_large_frame_is_no_switch),
	    cmocka_unit_test(longjmp_is_no_switch),
	    cmocka_unit_test(a_handler_belongs_to_what_it_interrupts),
	    cmocka_unit_test(a_loss_forgets_no_stack),
	    cmocka_unit_test(a_handler_on_its_own_stack_is_no_coroutine),
	    cmocka_unit_test(a_thread_begins_no_coroutine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
