/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls from one stack to another, as OCaml's runtime makes them, and its stacks: q is
 * caml_c_call(), p caml_start_program(), r caml_runstack(), u caml_resume(), g
 * caml_call_realloc_stack(). */
#include "sp_apart.h"

#define OWN  FAR_AWAY /* the thread's own stack, from here down */
#define MAIN 0x9000   /* OCaml's, of the main program */

/* main(), and the first function in OCaml. */
#define OCAML_BEGINS                                                                               \
	OWN_STACK(OWN + 100), ENTER('a', OWN), ENTER_FROM('p', OWN - 100, 'a', 0x10),              \
	    ENTER_FROM('b', MAIN, 'p', 0x10)
#define OCAML_ENDS LEAVE('b', MAIN), LEAVE('p', OWN - 100), LEAVE('a', OWN)

static void c_lies_on_its_caller(void **state)
{
	(void)state;
	EXPECT_APART("a(caml_start_program(b(caml_c_call(c(d()))caml_c_call(c()))))|", "",
		     OCAML_BEGINS, ENTER_FROM('q', MAIN - 100, 'b', 0x10),
		     ENTER_FROM('c', OWN - 200, 'q', 0x10), ENTER_FROM('d', OWN - 300, 'c', 0x10),
		     LEAVE('d', OWN - 300), LEAVE('c', OWN - 200), LEAVE('q', MAIN - 100),
		     ENTER_FROM('q', MAIN - 100, 'b', 0x20), ENTER_FROM('c', OWN - 200, 'q', 0x10),
		     LEAVE('c', OWN - 200), LEAVE('q', MAIN - 100), OCAML_ENDS);
}

/* By the function itself, which need not be known by its name; the ret of one that it called
 * before, on either stack, was not seen. */
static void any_function_may_call_across(void **state)
{
	(void)state;
	EXPECT_APART("a(caml_start_program(b(c()d()ec())))|", "", OCAML_BEGINS,
		     ENTER_FROM('c', OWN - 200, 'b', 0x10), LEAVE('c', OWN - 200),
		     ENTER_FROM('d', MAIN - 100, 'b', 0x18), ENTER_FROM('c', OWN - 200, 'b', 0x20),
		     LEAVE('c', OWN - 200), OCAML_ENDS);
}

static void c_calls_back(void **state)
{
	(void)state;
	EXPECT_APART(
	    "a(caml_start_program(b(caml_c_call(c(caml_start_program(x(caml_c_call(d())))))e())))|",
	    "", OCAML_BEGINS, ENTER_FROM('q', MAIN - 100, 'b', 0x10),
	    ENTER_FROM('c', OWN - 200, 'q', 0x10), ENTER_FROM('p', OWN - 300, 'c', 0x10),
	    ENTER_FROM('x', MAIN - 200, 'p', 0x10), ENTER_FROM('q', MAIN - 300, 'x', 0x10),
	    ENTER_FROM('d', OWN - 400, 'q', 0x10), LEAVE('d', OWN - 400), LEAVE('q', MAIN - 300),
	    LEAVE('x', MAIN - 200), LEAVE('p', OWN - 300), LEAVE('c', OWN - 200),
	    LEAVE('q', MAIN - 100), ENTER_FROM('e', MAIN - 100, 'b', 0x20), LEAVE('e', MAIN - 100),
	    OCAML_ENDS);
}

/* To the handler that the runtime has right above what it called back, and from C to b's own. */
static void exceptions_pass_c(void **state)
{
	(void)state;
	EXPECT_APART(
	    "a(caml_start_program(b(caml_c_call(c(caml_start_program(x(y()u)u)d()u)u)ee())))|", "",
	    OCAML_BEGINS, ENTER_FROM('q', MAIN - 100, 'b', 0x10),
	    ENTER_FROM('c', OWN - 200, 'q', 0x10), ENTER_FROM('p', OWN - 300, 'c', 0x10),
	    ENTER_FROM('x', MAIN - 200, 'p', 0x10), ENTER_FROM('y', MAIN - 300, 'x', 0x10),
	    LEAVE('y', MAIN - 184), LEAVE('p', OWN - 300), ENTER_FROM('d', OWN - 300, 'c', 0x20),
	    LEAVE('d', MAIN - 50), ENTER_FROM('e', MAIN - 100, 'b', 0x20), LEAVE('e', MAIN - 100),
	    OCAML_ENDS);
}

#define FIBER 0x5000

/* x is left and gone on with; where control goes it is jumped to.  It gives its stack back. */
static void a_fiber_is_apart(void **state)
{
	(void)state;
	EXPECT_APART("a(caml_start_program(b(caml_runstack()et()caml_resume()ht())))|",
		     " 1*x 1+q 1+c 1-c 1-q 1+l 1+i 1-i 1-x 1+f 1-f", OCAML_BEGINS,
		     ENTER_FROM('r', MAIN - 100, 'b', 0x10), ENTER_FROM('x', FIBER, 'r', 0x10),
		     ENTER_FROM('q', FIBER - 100, 'x', 0x10), ENTER_FROM('c', OWN - 200, 'q', 0x10),
		     LEAVE('c', OWN - 200), LEAVE('q', FIBER - 100),
		     ENTER_FROM('l', FIBER - 100, 'x', 0x20), /* caml_perform() */
		     ENTER_FROM('e', MAIN - 100, 'b', 0x10), LEAVE('e', MAIN - 100),
		     ENTER_FROM('u', MAIN - 100, 'b', 0x20),
		     ENTER_FROM('i', FIBER - 100, 'x', 0x20), LEAVE('i', FIBER - 100),
		     LEAVE('x', FIBER), ENTER_FROM('f', OWN - 200, 'r', 0x20),
		     LEAVE('f', OWN - 200), ENTER_FROM('h', MAIN - 100, 'b', 0x20),
		     LEAVE('h', MAIN - 100), OCAML_ENDS);
}

/* Another one may have the track of one that is over, wherever its stack lies; but not of one that
 * waits.  A stack lies where another one has ended. */
static void tracks_are_used_again(void **state)
{
	(void)state;
	EXPECT_APART(
	    "a(caml_start_program(b(caml_runstack()ht()caml_runstack()et()caml_runstack()ht())))|",
	    " 1*x 1-x 1+f 1-f 1*x 1+l 2*x 2-x 2+f 2-f", OCAML_BEGINS,
	    ENTER_FROM('r', MAIN - 100, 'b', 0x10), ENTER_FROM('x', FIBER, 'r', 0x10),
	    LEAVE('x', FIBER), ENTER_FROM('f', OWN - 200, 'r', 0x20), LEAVE('f', OWN - 200),
	    ENTER_FROM('h', MAIN - 100, 'b', 0x10), LEAVE('h', MAIN - 100),
	    ENTER_FROM('r', MAIN - 100, 'b', 0x10), ENTER_FROM('x', FIBER + 200, 'r', 0x10),
	    ENTER_FROM('l', FIBER - 100, 'x', 0x10), ENTER_FROM('e', MAIN - 100, 'b', 0x10),
	    LEAVE('e', MAIN - 100), ENTER_FROM('r', MAIN - 100, 'b', 0x10),
	    ENTER_FROM('x', FIBER - 300, 'r', 0x10), LEAVE('x', FIBER - 300),
	    ENTER_FROM('f', OWN - 200, 'r', 0x20), LEAVE('f', OWN - 200),
	    ENTER_FROM('h', MAIN - 100, 'b', 0x10), LEAVE('h', MAIN - 100), OCAML_ENDS);
}

/* The exception goes to the handler that the runtime has at the stack's beginning. */
static void an_exception_ends_a_fiber(void **state)
{
	(void)state;
	EXPECT_APART("a(caml_start_program(b(caml_runstack()ht())))|", " 1*x 1+y 1+z 1-z 1+f 1-f",
		     OCAML_BEGINS, ENTER_FROM('r', MAIN - 100, 'b', 0x10),
		     ENTER_FROM('x', FIBER, 'r', 0x10), ENTER_FROM('y', FIBER - 100, 'x', 0x10),
		     ENTER_FROM('z', FIBER - 200, 'y', 0x10), LEAVE('z', FIBER + 16),
		     ENTER_FROM('f', OWN - 200, 'r', 0x20), LEAVE('f', OWN - 200),
		     ENTER_FROM('h', MAIN - 100, 'b', 0x10), LEAVE('h', MAIN - 100), OCAML_ENDS);
}

/* All of it, with what was called back below C. */
static void a_stack_that_grows_moves(void **state)
{
	const uint64_t there = 0x40000;

	(void)state;
	EXPECT_APART("a(caml_start_program(b(caml_c_call(c(caml_start_program(x("
		     "caml_call_realloc_stack(f())y()))))d())))|",
		     "", OCAML_BEGINS, ENTER_FROM('q', MAIN - 100, 'b', 0x10),
		     ENTER_FROM('c', OWN - 200, 'q', 0x10), ENTER_FROM('p', OWN - 300, 'c', 0x10),
		     ENTER_FROM('x', MAIN - 200, 'p', 0x10), ENTER_FROM('g', MAIN - 300, 'x', 0x10),
		     ENTER_FROM('f', OWN - 400, 'g', 0x10), LEAVE('f', OWN - 400),
		     LEAVE('g', there + MAIN - 300), ENTER_FROM('y', there + MAIN - 300, 'x', 0x20),
		     LEAVE('y', there + MAIN - 300), LEAVE('x', there + MAIN - 200),
		     LEAVE('p', OWN - 300), LEAVE('c', OWN - 200), LEAVE('q', there + MAIN - 100),
		     ENTER_FROM('d', there + MAIN - 100, 'b', 0x20), LEAVE('d', there + MAIN - 100),
		     LEAVE('b', there + MAIN), LEAVE('p', OWN - 100), LEAVE('a', OWN));
}

static void a_fiber_moves_with_its_stack(void **state)
{
	const uint64_t there = 0x40000;

	(void)state;
	EXPECT_APART("a(caml_start_program(b(caml_runstack()ht())))|",
		     " 1*x 1+g 1+f 1-f 1-g 1+y 1-y 1-x 1+f 1-f", OCAML_BEGINS,
		     ENTER_FROM('r', MAIN - 100, 'b', 0x10), ENTER_FROM('x', FIBER, 'r', 0x10),
		     ENTER_FROM('g', FIBER - 100, 'x', 0x10), ENTER_FROM('f', OWN - 200, 'g', 0x10),
		     LEAVE('f', OWN - 200), LEAVE('g', there + FIBER - 100),
		     ENTER_FROM('y', there + FIBER - 100, 'x', 0x20),
		     LEAVE('y', there + FIBER - 100), LEAVE('x', there + FIBER),
		     ENTER_FROM('f', OWN - 200, 'r', 0x20), LEAVE('f', OWN - 200),
		     ENTER_FROM('h', MAIN - 100, 'b', 0x10), LEAVE('h', MAIN - 100), OCAML_ENDS);
}

/* On the alternate stack, with the signal's note elsewhere: what it interrupts goes on. */
static void a_handler_interrupts(void **state)
{
	(void)state;
	EXPECT_APART("a(caml_start_program(b(caml_c_call(c(hh(k())d())))))|", "", OCAML_BEGINS,
		     ENTER_FROM('q', MAIN - 100, 'b', 0x10), ENTER_FROM('c', OWN - 200, 'q', 0x10),
		     ENTER_FROM('h', 0x70000, 'w', 0x10), ENTER_FROM('k', 0x70000 - 100, 'h', 0x10),
		     LEAVE('k', 0x70000 - 100), LEAVE('h', 0x70000),
		     ENTER_FROM('d', OWN - 300, 'c', 0x20), LEAVE('d', OWN - 300),
		     LEAVE('c', OWN - 200), LEAVE('q', MAIN - 100), OCAML_ENDS);
}

/* Of what was called back below C, innermost first. */
#define FRAMES                                                                                     \
	FRAME('x', MAIN - 200), FRAME('p', OWN - 300), FRAME('c', OWN - 200),                      \
	    FRAME('q', MAIN - 100), FRAME('b', MAIN), FRAME('p', OWN - 100), FRAME('a', OWN)

/* In the unwinder's order, whatever their stacks. */
static void an_unwinder_goes_across(void **state)
{
	(void)state;
	EXPECT_APART(
	    "ai(caml_start_programi(bi(caml_c_calli(ci(caml_start_programi(xi(y()))))d())))|", "",
	    OWN_STACK(OWN + 100), FRAMES, ENTER_FROM('y', MAIN - 300, 'x', 0x10),
	    LEAVE('y', MAIN - 300), LEAVE('x', MAIN - 200), LEAVE('p', OWN - 300),
	    LEAVE('c', OWN - 200), LEAVE('q', MAIN - 100), ENTER_FROM('d', MAIN - 100, 'b', 0x20),
	    LEAVE('d', MAIN - 100), OCAML_ENDS);
}

/* At the end of what is known, where the innermost three were seen. */
static void what_lies_outside_is_a_root(void **state)
{
	(void)state;
	EXPECT_APART(
	    "ai(caml_start_programi(bi(caml_c_calli(ci(caml_start_program(x()o)o)o)o)o)o)o|", "",
	    OWN_STACK(OWN + 100), ENTER_FROM('p', OWN - 300, 'c', 0x10),
	    ENTER_FROM('x', MAIN - 200, 'p', 0x10), FRAMES);
}

/* As at each of several triggers. */
static void a_root_is_one_however_often_it_is_found(void **state)
{
	(void)state;
	EXPECT_APART(
	    "ai(caml_start_programi(bi(caml_c_calli(ci(caml_start_program(x(y()o)o)o)o)o)o)o)o|",
	    "", OWN_STACK(OWN + 100), ENTER_FROM('p', OWN - 300, 'c', 0x10),
	    ENTER_FROM('x', MAIN - 200, 'p', 0x10), FRAMES, ENTER_FROM('y', MAIN - 300, 'x', 0x10),
	    FRAME('y', MAIN - 300), FRAMES);
}

/* Up to what began its stack. */
static void a_fiber_has_its_own_frames(void **state)
{
	(void)state;
	EXPECT_APART("ai(caml_start_programi(bi(caml_runstacki()o)o)o)o|", " 1~c 1~q 1~x",
		     OWN_STACK(OWN + 100), FRAME('c', OWN - 200), FRAME('q', FIBER - 100),
		     FRAME('x', FIBER), FRAME('r', MAIN - 100), FRAME('b', MAIN),
		     FRAME('p', OWN - 100), FRAME('a', OWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(c_lies_on_its_caller),
	    cmocka_unit_test(any_function_may_call_across),
	    cmocka_unit_test(c_calls_back),
	    cmocka_unit_test(exceptions_pass_c),
	    cmocka_unit_test(a_fiber_is_apart),
	    cmocka_unit_test(tracks_are_used_again),
	    cmocka_unit_test(an_exception_ends_a_fiber),
	    cmocka_unit_test(a_stack_that_grows_moves),
	    cmocka_unit_test(a_fiber_moves_with_its_stack),
	    cmocka_unit_test(a_handler_interrupts),
	    cmocka_unit_test(an_unwinder_goes_across),
	    cmocka_unit_test(what_lies_outside_is_a_root),
	    cmocka_unit_test(a_root_is_one_however_often_it_is_found),
	    cmocka_unit_test(a_fiber_has_its_own_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
