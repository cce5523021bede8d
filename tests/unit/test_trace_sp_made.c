/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rebuild by the stack pointer where code that was made at run time calls: "v", which never
 * reports, and for which "@" stands. */
#include "sp_text.h"

#define FAR_AWAY 0x10000000 /* another stack */

static void one_slice_holds_what_made_code_calls(void **state)
{
	(void)state;
	EXPECT("a(@ie(b()c(d()))e)|", ENTER('a', 900), ENTER_FROM('b', 700, 'v', 0x10),
	       LEAVE('b', 700), ENTER_FROM('c', 600, 'v', 0x20), ENTER_FROM('d', 500, 'c', 0x10),
	       LEAVE('d', 500), LEAVE('c', 600), LEAVE('a', 900));
}

static void it_ends_where_its_caller_calls(void **state)
{
	(void)state;
	EXPECT("a(@ie(b())ec()@ie(b())e)|", ENTER('a', 900), ENTER_FROM('b', 700, 'v', 0x10),
	       LEAVE('b', 700), ENTER_FROM('c', 800, 'a', 0x10), LEAVE('c', 800),
	       ENTER_FROM('b', 700, 'v', 0x10), LEAVE('b', 700), LEAVE('a', 900));
	/* Inlined calls lie around it. */
	EXPECT("a(Ie(b()@ie(c())ed())eb())|", ENTER('a', 900),
	       ENTER_FROM('b', 800, 'a', SP_INLINED), LEAVE('b', 800),
	       ENTER_FROM('c', 700, 'v', 0x10), LEAVE('c', 700),
	       ENTER_FROM('d', 800, 'a', SP_INLINED + 4), LEAVE('d', 800),
	       ENTER_FROM('b', 800, 'a', 0x10), LEAVE('b', 800), LEAVE('a', 900));
	/* Where control came from is not known. */
	EXPECT("a(@ie(b()c())e)|", ENTER('a', 900), ENTER_FROM('b', 700, 'v', 0x10),
	       LEAVE('b', 700), ENTER_FROM('c', 650, 'x', 0x10), LEAVE('c', 650), LEAVE('a', 900));
}

static void it_ends_with_its_caller(void **state)
{
	(void)state;
	EXPECT("a(b(@ie(c()u)ue)ud())|", ENTER('a', 900), ENTER('b', 800),
	       ENTER_FROM('c', 600, 'v', 0x10), ENTER('d', 850), LEAVE('d', 850), LEAVE('a', 900));
	EXPECT("a(b(@ie(c())e)dt())|", ENTER('a', 900), ENTER('b', 800),
	       ENTER_FROM('c', 600, 'v', 0x10), LEAVE('c', 600), ENTER('d', 800), LEAVE('d', 800),
	       LEAVE('a', 900));
	EXPECT("a(@ie(b()o)o)o|", ENTER('a', 900), ENTER_FROM('b', 700, 'v', 0x10));
	/* On a stack that control leaves, and comes back to. */
	EXPECT("a(b(x(@ie(y()u)u)ud()))|", ENTER('a', FAR_AWAY), ENTER('b', FAR_AWAY - 100),
	       ENTER('x', 900), ENTER_FROM('y', 700, 'v', 0x10), ENTER('d', FAR_AWAY - 200),
	       LEAVE('d', FAR_AWAY - 200), LEAVE('b', FAR_AWAY - 100), LEAVE('a', FAR_AWAY));
}

static void frames_of_an_unwinder_have_names(void **state)
{
	(void)state;
	EXPECT("ai(vi(b())e)|", FRAME('v', 800), FRAME('a', 900), ENTER_FROM('b', 700, 'v', 0x10),
	       LEAVE('b', 700), LEAVE('a', 900));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_slice_holds_what_made_code_calls),
	    cmocka_unit_test(it_ends_where_its_caller_calls),
	    cmocka_unit_test(it_ends_with_its_caller),
	    cmocka_unit_test(frames_of_an_unwinder_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
