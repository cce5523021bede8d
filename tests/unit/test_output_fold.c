/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which calls are folded.  A script is words: "f{" begins a call, "}" ends it, "}open" at the
 * segment's end, "}unwound" by an exception; "h:f{" is a signal's handler, "gap{" lost data,
 * "!SIGABRT" a signal, "!exit" the end of the process, "!hit" a trigger's, "!dies" one by which a
 * runtime tells why. */
#include "unit.h"

#include "base/str.h"
#include "output/fold.h"

#include <signal.h>

#define MOST_NAMES 64

static struct mt_function functions[MOST_NAMES];

static const struct mt_function *function_named(const char *name, size_t length)
{
	static char names[MOST_NAMES][64];
	size_t i = 0;

	for (; functions[i].name; i++)
		if (strlen(functions[i].name) == length &&
		    strncmp(functions[i].name, name, length) == 0)
			return &functions[i];
	assert_true(i < MOST_NAMES - 1 && length < sizeof(names[0]));
	memcpy(names[i], name, length);
	functions[i].name = names[i];
	return &functions[i];
}

static struct mt_error *on_thread(void *out, const struct mt_thread *thread)
{
	(void)out;
	(void)thread;
	return NULL;
}

static struct mt_error *on_segment(void *out, const struct mt_thread_segment *segment)
{
	(void)out;
	(void)segment;
	return NULL;
}

static struct mt_error *on_begin(void *out, const struct mt_slice *slice)
{
	mt_str_appendf(out, "%s{ ", slice->function ? slice->function->name : "gap");
	return NULL;
}

static struct mt_error *on_end(void *out, const struct mt_slice_end *end)
{
	(void)end;
	mt_str_append(out, "} ");
	return NULL;
}

static struct mt_error *on_instant(void *out, const struct mt_instant *instant)
{
	if (instant->kind == MT_INSTANT_FOLDED)
		mt_str_appendf(out, "(%u %s %s%s) ", (unsigned)instant->value,
			       instant->detail ? "after" : "in", instant->function->name,
			       instant->side->reason);
	else
		mt_str_append(out, "! ");
	return NULL;
}

static void feed(const struct mt_slice_sink *to, const char *word, size_t length, size_t *depth)
{
	static const struct mt_side_event death = {.is_death = true};
	struct mt_slice slice = {.kind = MT_SLICE_CALL};
	struct mt_slice_end end = {0};
	struct mt_instant instant = {.kind = MT_INSTANT_SIGNAL};

	if (word[0] == '!') {
		if (strncmp(word, "!exit", length) == 0)
			instant.kind = MT_INSTANT_EXIT;
		else if (strncmp(word, "!hit", length) == 0)
			instant.kind = MT_INSTANT_TRIGGER;
		else if (strncmp(word, "!dies", length) == 0)
			instant = (struct mt_instant){.kind = MT_INSTANT_TRIGGER, .side = &death};
		else
			instant.detail = strncmp(word, "!SIGABRT", length) == 0 ? SIGABRT : SIGSEGV;
		assert_no_error(to->ops->instant(to->self, &instant));
	} else if (word[0] == '}') {
		end.flags = word[1] == 'o'   ? MT_SLICE_END_OPEN
			    : word[1] == 'u' ? MT_SLICE_END_UNWOUND
					     : 0;
		end.depth = (uint32_t)-- * depth;
		assert_no_error(to->ops->end(to->self, &end));
	} else {
		if (word[1] == ':') {
			slice.flags = MT_SLICE_HANDLER;
			word += 2;
			length -= 2;
		}
		if (strncmp(word, "gap{", length) == 0)
			slice.kind = MT_SLICE_GAP;
		else
			slice.function = function_named(word, length - 1);
		slice.depth = (uint32_t)(*depth)++;
		assert_no_error(to->ops->begin(to->self, &slice));
	}
}

static void check(const char *script, const char *expected)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = on_thread,
	    .segment_begin = on_segment,
	    .begin = on_begin,
	    .end = on_end,
	    .instant = on_instant,
	    .segment_end = on_segment,
	};
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_fold *fold = NULL;
	size_t depth = 0;

	assert_no_error(mt_fold_create("", (struct mt_slice_sink){&ops, &out}, &fold));
	const struct mt_slice_sink sink = mt_fold_sink(fold);
	assert_no_error(sink.ops->thread(sink.self, &(struct mt_thread){0}));
	assert_no_error(sink.ops->segment_begin(sink.self, &(struct mt_thread_segment){0}));
	for (const char *word = script; *word; word += strspn(word, " ")) {
		size_t length = strcspn(word, " ");

		feed(&sink, word, length, &depth);
		word += length;
	}
	assert_no_error(sink.ops->segment_end(sink.self, &(struct mt_thread_segment){0}));
	assert_no_error(sink.ops->finish(sink.self));
	assert_string_equal(out.text, expected);
	mt_fold_destroy(fold);
}

static void test_the_ways_out(void **state)
{
	(void)state;
	check("main{ f{ } exit{ a{ b{ } } c{ !exit }open }open }open",
	      "main{ f{ } exit{ (3 in exit) ! } } ");
	check("main{ abort{ raise{ a{ b{ !SIGABRT }open }open }open }open }open",
	      "main{ abort{ (3 in abort) ! } } ");
	check("main{ std::terminate(){ a{ } a{ } abort{ !SIGABRT }open }open }open",
	      "main{ std::terminate(){ (3 in std::terminate()) ! } } ");
	/* Few are no longer than the line. */
	check("main{ exit{ a{ } b{ !exit }open }open }open", "main{ exit{ a{ } b{ ! } } } ");
}

static void test_what_was_thrown(void **state)
{
	(void)state;
	check("main{ f{ __cxa_throw{ a{ b{ } } c{ }unwound }unwound }unwound g{ } }",
	      "main{ f{ __cxa_throw{ (3 in __cxa_throw) } } g{ } } ");
	check("main{ __cxa_throw{ a{ } __cxa_throw{ b{ } }unwound c{ !SIGABRT }open }open }open",
	      "main{ __cxa_throw{ (4 in __cxa_throw) ! } } ");
	check("r{ std::sys::backtrace::__rust_begin_short_backtrace::<f>{ } a{ } } b{ c{ } } "
	      "exit{ x{ y{ z{ !exit }open }open }open }open",
	      "r{ std::sys::backtrace::__rust_begin_short_backtrace::<f>{ } "
	      "(3 after std::sys::backtrace::__rust_begin_short_backtrace::<f>) } "
	      "exit{ (3 in exit) ! } ");
	/* The end of the process is another thread's matter. */
	check("runtime.gopanic{ d{ } !dies runtime.fatalpanic{ a{ b{ } } c{ }open }open }open",
	      "runtime.gopanic{ d{ } ! runtime.fatalpanic{ (3 in runtime.fatalpanic) } } ");
	check("runtime.gopanic{ runtime.fatalpanic{ a{ b{ } } c{ }open }open }open",
	      "runtime.gopanic{ runtime.fatalpanic{ a{ b{ } } c{ } } } ");
	check("runtime.fatalpanic.func1{ a{ b{ c{ } } } }",
	      "runtime.fatalpanic.func1{ (3 in runtime.fatalpanic.func1) } ");
}

/* A crash, a stop or a trigger's hit in an exit handler, lost data, a handler that runs. */
static void test_what_is_no_end(void **state)
{
	(void)state;
	check("exit{ a{ b{ c{ }open }open }open }open", "exit{ a{ b{ c{ } } } } ");
	check("exit{ a{ b{ c{ !SIGSEGV }open }open }open }open", "exit{ a{ b{ c{ ! } } } } ");
	check("exit{ a{ b{ c{ !hit } } } !exit }open", "exit{ a{ b{ c{ ! } } } ! } ");
	check("exit{ a{ b{ gap{ } } } c{ !exit }open }open", "exit{ a{ b{ gap{ } } } c{ ! } } ");
	check("abort{ a{ b{ } } c{ !SIGABRT h:d{ }open }open }open",
	      "abort{ a{ b{ } } c{ ! d{ } } } ");
	check("f{ exit{ a{ b{ c{ } } } }unwound g{ } }", "f{ exit{ a{ b{ c{ } } } } g{ } } ");
	check("f{ my_exit{ a{ b{ c{ !exit }open }open }open }open }open",
	      "f{ my_exit{ a{ b{ c{ ! } } } } } ");
	check("r{ std::sys::backtrace::__rust_begin_short_backtrace{ } a{ } b{ } c{ } }",
	      "r{ std::sys::backtrace::__rust_begin_short_backtrace{ } a{ } b{ } c{ } } ");
}

/* An assertion that fails in an exit handler led there, not exit. */
static void test_an_end_in_an_end(void **state)
{
	(void)state;
	check("exit{ a{ } b{ __assert_fail{ x{ } y{ } abort{ !SIGABRT }open }open }open }open",
	      "exit{ a{ } b{ __assert_fail{ (3 in __assert_fail) ! } } } ");
	check("exit{ a{ exit{ b{ } c{ } d{ !SIGABRT }open }open }open }open",
	      "exit{ a{ exit{ b{ } c{ } d{ ! } } } } ");
	check("f{ exit{ a{ !SIGSEGV } } } exit{ a{ } b{ } c{ !exit }open }open",
	      "f{ exit{ a{ ! } } } exit{ (3 in exit) ! } ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_ways_out),
	    cmocka_unit_test(test_what_was_thrown),
	    cmocka_unit_test(test_what_is_no_end),
	    cmocka_unit_test(test_an_end_in_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
