/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walking in a history: what folds, what is selected, and what reaches the terminal. */
#include "unit.h"

#include "base/utf8.h"
#include "view/view.h"

#include <stdio.h>
#include <stdlib.h>

static const struct mt_function functions[] = {
    {.name = "main", .module = "/bin/x", .source = {.file = "/src/x.c", .line = 10}},
    {.name = "parse", .module = "/bin/x", .source = {.file = "/src/x.c", .line = 20}},
    {.name = "leaf\033[2J\xc2\x9b", .module = "/bin/x"},
    {.name = "parse", .module = "/bin/y"}, /* of the same name */
};
static const struct mt_thread thread = {.pid = 1, .tid = 2, .name = "t"};
static const struct mt_thread track = {.pid = 1, .tid = MT_HITS_TID};
static const struct mt_thread_segment segment = {.begin_ns = 0, .end_ns = 1000};

static void begin(struct mt_slice_sink sink, uint64_t time_ns, unsigned which, uint32_t line)
{
	const struct mt_slice slice = {
	    .time_ns = time_ns,
	    .function = &functions[which],
	    .call_source = {.file = line ? "/src/x.c" : NULL, .line = line},
	    .arguments = which == 1 ? "n=3" : NULL,
	};

	assert_no_error(sink.ops->begin(sink.self, &slice));
}

static void end(struct mt_slice_sink sink, uint64_t time_ns, uint8_t flags)
{
	const struct mt_slice_end what = {.time_ns = time_ns, .flags = flags};

	assert_no_error(sink.ops->end(sink.self, &what));
}

enum { THREAD, SEGMENT, MAIN, PARSE, LEAF, OTHER_PARSE, SIGNAL, LINES };

/* main { parse { leaf } parse *** SIGSEGV } */
static struct mt_view *make(void)
{
	const struct mt_instant crash = {
	    .time_ns = 1000, .kind = MT_INSTANT_SIGNAL, .detail = 11, .value = 0};
	struct mt_view *view = NULL;

	assert_no_error(mt_view_create(&view));
	struct mt_slice_sink sink = mt_view_sink(view);
	assert_no_error(sink.ops->thread(sink.self, &thread));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	begin(sink, 10, 0, 0);
	begin(sink, 20, 1, 12);
	begin(sink, 30, 2, 21);
	end(sink, 40, 0);
	end(sink, 50, 0);
	begin(sink, 60, 3, 0);
	end(sink, 70, 0);
	assert_no_error(sink.ops->instant(sink.self, &crash));
	end(sink, 1000, MT_SLICE_END_OPEN);
	assert_no_error(sink.ops->segment_end(sink.self, &segment));
	assert_no_error(sink.ops->thread(sink.self, &track));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	begin(sink, 10, 0, 0);
	end(sink, 20, 0);
	assert_no_error(sink.ops->segment_end(sink.self, &segment));
	assert_no_error(sink.ops->finish(sink.self));
	return view;
}

static const char *line_of(struct mt_view *view, size_t line, size_t first, size_t columns)
{
	static struct mt_str out;

	mt_str_clear(&out);
	mt_view_line(view, line, first, columns, &out);
	assert_false(out.failed);
	return out.text ? out.text : "";
}

static void calls_are_lines(void **state)
{
	struct mt_view *view = make();

	(void)state;
	assert_int_equal(mt_view_count(view), LINES);
	assert_int_equal(mt_view_calls(view), 4);
	assert_int_equal(mt_view_selected(view), SIGNAL);
	assert_non_null(strstr(line_of(view, PARSE, 0, SIZE_MAX), "parse(n=3)"));
	assert_non_null(strstr(line_of(view, PARSE, 0, SIZE_MAX), "x.c:12"));
	assert_non_null(strstr(line_of(view, SIGNAL, 0, SIZE_MAX), "*** SIGSEGV"));
	assert_int_equal(line_of(view, SIGNAL, 0, SIZE_MAX)[0], '>');
	mt_view_destroy(view);
}

static void samples_are_told(void **state)
{
	const struct mt_sampling sampling = {
	    .event = "cpu-clock", .samples = 3, .period_ns = 1000000};
	const struct mt_thread sampled = {.pid = 1, .tid = 2, .sampling = &sampling};
	const struct mt_slice slice = {.function = &functions[0], .flags = MT_SLICE_SAMPLED};
	const struct mt_slice_end last = {.time_ns = 1000, .samples = 3};
	struct mt_view *view = NULL;

	(void)state;
	assert_no_error(mt_view_create(&view));
	struct mt_slice_sink sink = mt_view_sink(view);
	assert_no_error(sink.ops->thread(sink.self, &sampled));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	assert_no_error(sink.ops->begin(sink.self, &slice));
	assert_no_error(sink.ops->end(sink.self, &last));
	assert_no_error(sink.ops->segment_end(sink.self, &segment));
	assert_no_error(sink.ops->finish(sink.self));
	assert_non_null(strstr(line_of(view, 1, 0, SIZE_MAX),
			       "3 samples of cpu-clock, every ~1.00 ms: what is not sampled is "
			       "not seen"));
	assert_non_null(strstr(line_of(view, 3, 0, SIZE_MAX), "main (3 samples)"));
	mt_view_destroy(view);
}

static void lines_are_cut_and_clean(void **state)
{
	struct mt_view *view = make();

	(void)state;
	assert_null(strchr(line_of(view, LEAF, 0, SIZE_MAX), '\033'));
	assert_non_null(strstr(line_of(view, LEAF, 0, SIZE_MAX), "leaf?[2J?"));
	assert_int_equal(strlen(line_of(view, MAIN, 28, 6)), 6);
	assert_string_equal(line_of(view, MAIN, 28, 6), "  main");
	assert_string_equal(line_of(view, MAIN, 100000, 80), "  ");
	assert_string_equal(line_of(view, MAIN, 0, 1), "");
	mt_view_destroy(view);
}

static void folded_calls_hide_theirs(void **state)
{
	struct mt_view *view = make();

	(void)state;
	mt_view_select(view, PARSE);
	mt_view_fold(view);
	assert_int_equal(line_of(view, PARSE, 0, SIZE_MAX)[1], '+');
	assert_int_equal(mt_view_below(view, PARSE), OTHER_PARSE);
	assert_int_equal(mt_view_above(view, OTHER_PARSE), PARSE);
	mt_view_select(view, MAIN);
	mt_view_fold(view);
	assert_int_equal(mt_view_below(view, MAIN), MT_VIEW_NONE);
	assert_int_equal(mt_view_above(view, MAIN), SEGMENT);
	mt_view_select(view, LEAF); /* which unfolds both */
	assert_int_equal(mt_view_above(view, LEAF), PARSE);
	assert_int_equal(mt_view_below(view, MAIN), PARSE);
	mt_view_fold(view); /* it called nothing: its caller */
	assert_int_equal(mt_view_selected(view), PARSE);
	assert_int_equal(mt_view_below(view, PARSE), OTHER_PARSE);
	mt_view_destroy(view);
}

static void there_are_ways(void **state)
{
	struct mt_view *view = make();

	(void)state;
	assert_true(mt_view_caller(view));
	assert_int_equal(mt_view_selected(view), MAIN);
	assert_false(mt_view_caller(view));
	assert_true(mt_view_callee(view));
	assert_int_equal(mt_view_selected(view), PARSE);
	assert_true(mt_view_same(view, true));
	assert_int_equal(mt_view_selected(view), OTHER_PARSE);
	assert_false(mt_view_same(view, true));
	assert_false(mt_view_callee(view));
	assert_true(mt_view_same(view, false));
	assert_int_equal(mt_view_selected(view), PARSE);
	assert_true(mt_view_search(view, "LEAF")); /* none before: the last */
	assert_int_equal(mt_view_selected(view), LEAF);
	assert_true(mt_view_search(view, "pars"));
	assert_int_equal(mt_view_selected(view), PARSE);
	assert_true(mt_view_search(view, "sigsegv"));
	assert_int_equal(mt_view_selected(view), SIGNAL);
	assert_false(mt_view_search(view, "nosuch"));
	assert_int_equal(mt_view_selected(view), SIGNAL);
	mt_view_move(view, -100);
	assert_int_equal(mt_view_selected(view), THREAD);
	assert_false(mt_view_same(view, true));
	mt_view_move(view, 100);
	assert_int_equal(mt_view_selected(view), SIGNAL);
	mt_view_destroy(view);
}

static void places_are_of_calls(void **state)
{
	struct mt_view *view = make();
	const char *file = NULL;
	uint32_t number = 0;

	(void)state;
	assert_true(mt_view_place(view, PARSE, &file, &number));
	assert_string_equal(file, "/src/x.c");
	assert_int_equal(number, 12);
	assert_true(mt_view_place(view, MAIN, &file, &number)); /* its own */
	assert_int_equal(number, 10);
	assert_false(mt_view_place(view, OTHER_PARSE, &file, &number));
	assert_false(mt_view_place(view, SIGNAL, &file, &number));
	mt_view_destroy(view);
}

static size_t row_of_selected(struct mt_view *view, size_t height)
{
	size_t row = 0;

	for (size_t at = mt_view_top(view, height); at != mt_view_selected(view); row++) {
		assert_true(row < height);
		at = mt_view_below(view, at);
	}
	assert_true(row < height);
	return row;
}

static void the_selected_line_is_in_the_window(void **state)
{
	struct mt_view *view = make();

	(void)state;
	assert_int_equal(row_of_selected(view, 3), 2);
	mt_view_move(view, -2);
	assert_int_equal(row_of_selected(view, 3), 0); /* nothing moved */
	mt_view_move(view, -1);
	assert_int_equal(row_of_selected(view, 3), 0); /* one line did */
	mt_view_move(view, 3);
	assert_int_equal(row_of_selected(view, 3), 2);
	for (size_t height = 1; height < 10; height++)
		for (size_t line = 0; line < LINES; line++) {
			mt_view_select(view, line);
			row_of_selected(view, height);
		}
	mt_view_select(view, LEAF);
	assert_int_not_equal(mt_view_top(view, 0), MT_VIEW_NONE);
	mt_view_destroy(view);
}

static char *brief(struct mt_view *view, size_t count, size_t columns)
{
	struct mt_str out = {0};

	mt_view_brief(view, count, columns, &out);
	assert_false(out.failed);
	return out.text;
}

/* The older ones on the left, indented from the outermost that is shown; no headings. */
static void the_end_is_brief(void **state)
{
	struct mt_view *view = make();
	char *text = brief(view, 4, 80);

	(void)state;
	assert_string_equal(text, "      30 ns  parse(n=3)                        10 ns  parse\n"
				  "      10 ns    leaf?[2J?                              "
				  "*** SIGSEGV, address 0x0\n");
	free(text);
	text = brief(view, 3, 60); /* cut, and the left one has more */
	assert_string_equal(text, "      10 ns    leaf?[2J?                    *** SIGSEGV, add\n"
				  "      10 ns  parse\n");
	free(text);
	for (size_t columns = 0; columns < 200; columns++) {
		text = brief(view, SIZE_MAX, columns);
		for (const char *at = text; *at; at = strchr(at, '\n') + 1)
			assert_true(mt_utf8_columns(at, strcspn(at, "\n")) <= columns);
		free(text);
	}
	mt_view_destroy(view);
}

static void an_empty_one_has_nothing(void **state)
{
	struct mt_view *view = NULL;

	(void)state;
	assert_no_error(mt_view_create(&view));
	assert_no_error(mt_view_sink(view).ops->finish(view));
	assert_int_equal(mt_view_top(view, 5), MT_VIEW_NONE);
	mt_view_move(view, 1);
	mt_view_fold(view);
	assert_false(mt_view_caller(view));
	assert_false(mt_view_callee(view));
	assert_false(mt_view_same(view, true));
	assert_false(mt_view_search(view, "x"));
	char *text = brief(view, 10, 80);
	assert_null(text);
	mt_view_destroy(view);
	mt_view_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_are_lines),
	    cmocka_unit_test(samples_are_told),
	    cmocka_unit_test(lines_are_cut_and_clean),
	    cmocka_unit_test(folded_calls_hide_theirs),
	    cmocka_unit_test(there_are_ways),
	    cmocka_unit_test(places_are_of_calls),
	    cmocka_unit_test(the_selected_line_is_in_the_window),
	    cmocka_unit_test(the_end_is_brief),
	    cmocka_unit_test(an_empty_one_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
