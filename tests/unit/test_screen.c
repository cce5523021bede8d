/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The screen without a terminal: what keys do, and that whatever they do fits into any size. */
#include "unit.h"

#include "base/utf8.h"
#include "screen/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALLS 200

static char source_path[] = "/tmp/mtrace-screen-XXXXXX";
static struct mt_function functions[] = {
    {.name = "outer", .module = "/bin/x"},
    {.name = "in\033]0;owned\007ner\xe2\x80\xae\xff", .module = "/bin/x"},
};

/* Two threads; in each, outer calls inner CALLS times. */
static struct mt_view *make_view(void)
{
	const struct mt_thread_segment segment = {.begin_ns = 0, .end_ns = 1000};
	struct mt_view *view = NULL;

	assert_no_error(mt_view_create(&view));
	struct mt_slice_sink sink = mt_view_sink(view);
	for (pid_t tid = 7; tid < 9; tid++) {
		const struct mt_thread thread = {.pid = 7, .tid = tid, .name = "t\033[2J"};
		struct mt_slice slice = {.function = &functions[0]};
		const struct mt_slice_end end = {.time_ns = 1};

		assert_no_error(sink.ops->thread(sink.self, &thread));
		assert_no_error(sink.ops->segment_begin(sink.self, &segment));
		assert_no_error(sink.ops->begin(sink.self, &slice));
		slice.function = &functions[1];
		slice.call_source = (struct mt_source){.file = source_path, .line = 2};
		for (int i = 0; i < CALLS; i++) {
			assert_no_error(sink.ops->begin(sink.self, &slice));
			assert_no_error(sink.ops->end(sink.self, &end));
		}
		assert_no_error(sink.ops->end(sink.self, &end));
		assert_no_error(sink.ops->segment_end(sink.self, &segment));
	}
	assert_no_error(sink.ops->finish(sink.self));
	return view;
}

static void setup(struct screen *screen, size_t rows, size_t columns)
{
	*screen = (struct screen){
	    .view = make_view(), .title = "x\033.perf", .rows = rows, .columns = columns};
}

static void teardown(struct screen *screen)
{
	mt_view_destroy(screen->view);
	screen_deinit(screen);
}

struct drawn {
	const struct screen *screen;
	size_t rows, selected;
	struct mt_str text;
};

/* Nothing reaches the terminal that is wider than it, or speaks to it. */
static void put(void *context, size_t row, enum screen_style style, const char *text)
{
	struct drawn *drawn = context;
	mt_auto(mt_str) struct mt_str clean = {0};

	mt_utf8_append_shown(&clean, text, SIZE_MAX);
	assert_string_equal(clean.text ? clean.text : "", text);
	assert_true(mt_utf8_columns(text, strlen(text)) <= drawn->screen->columns);
	assert_int_equal(row, drawn->rows++);
	drawn->selected += style == SCREEN_REVERSE && *text == '>';
	mt_str_appendf(&drawn->text, "%s\n", text);
}

static void draw(struct screen *screen, struct drawn *drawn)
{
	*drawn = (struct drawn){.screen = screen};
	screen_draw(screen, put, drawn);
	assert_int_equal(drawn->rows, screen->rows);
	assert_false(drawn->text.failed);
}

static bool shows(struct screen *screen, const char *text)
{
	struct drawn drawn;

	draw(screen, &drawn);
	bool is_there = strstr(drawn.text.text, text) != NULL;
	mt_str_deinit(&drawn.text);
	return is_there;
}

static void press(struct screen *screen, const char *keys)
{
	for (; *keys; keys++)
		screen_take_key(screen, (unsigned char)*keys);
}

static void every_size_is_filled(void **state)
{
	static const int keys[] = {'k',
				   'j',
				   SCREEN_PAGE_UP,
				   SCREEN_HOME,
				   '\r',
				   '?',
				   SCREEN_RIGHT,
				   ' ',
				   'd',
				   'u',
				   'n',
				   'p',
				   't',
				   'T',
				   '\033',
				   '/',
				   'x',
				   SCREEN_ERASE,
				   0xff,
				   '\r',
				   SCREEN_END,
				   'r',
				   'h',
				   SCREEN_NO_KEY,
				   SCREEN_PAGE_DOWN,
				   'G',
				   SCREEN_LEFT};
	struct screen screen;

	(void)state;
	setup(&screen, 1, 1);
	for (screen.rows = 1; screen.rows < 30; screen.rows++)
		for (screen.columns = 1; screen.columns < 120; screen.columns += 7)
			for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
				struct drawn drawn;

				screen_take_key(&screen, keys[i]);
				draw(&screen, &drawn);
				assert_int_equal(drawn.selected, screen.columns > 1);
				mt_str_deinit(&drawn.text);
			}
	teardown(&screen);
}

/* xorshift: the same at each run. */
static size_t next_random(uint64_t *state, size_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (size_t)(*state % below);
}

/* Sessions of a thousand keys, most of which mean something, while the size changes. */
static void random_keys_do_no_harm(void **state)
{
	static const char letters[] = "kjgGhlr?udnptT /\r\033 inrx\025\b\177\002\006\007";

	(void)state;
	for (uint64_t session = 1; session <= 20; session++) {
		uint64_t seed = session * 0x9e3779b97f4a7c15;
		struct screen screen;
		struct drawn drawn;

		setup(&screen, session % 2 ? 24 : 50, session % 2 ? 80 : 200);
		for (int i = 0; i < 1000 && !screen.is_left; i++) {
			int key = letters[next_random(&seed, sizeof(letters) - 1)];

			if (next_random(&seed, 3) == 0)
				key = SCREEN_UP + (int)next_random(&seed, 10);
			else if (next_random(&seed, 10) == 0)
				key = (int)next_random(&seed, 0x100);
			if (next_random(&seed, 20) == 0)
				screen.rows = 1 + next_random(&seed, 60);
			if (next_random(&seed, 20) == 0)
				screen.columns = 1 + next_random(&seed, 220);
			screen_take_key(&screen, key == 'q' && i < 900 ? '?' : key);
			draw(&screen, &drawn);
			mt_str_deinit(&drawn.text);
		}
		teardown(&screen);
	}
}

static void words_are_typed(void **state)
{
	struct screen screen;
	size_t last;

	(void)state;
	setup(&screen, 24, 80);
	last = mt_view_selected(screen.view);
	press(&screen, "r");
	assert_true(shows(&screen, "nothing was searched yet"));
	press(&screen, "/oux\177t");
	assert_true(shows(&screen, "/out_"));
	press(&screen, "\r");
	assert_int_equal(mt_view_selected(screen.view), last - CALLS);
	press(&screen, "/\r"); /* the same word */
	assert_int_equal(mt_view_selected(screen.view), 2);
	press(&screen, "/q\033");
	assert_false(screen.is_left || screen.is_typing);
	press(&screen, "/\xc3\xa4\177");
	assert_string_equal(screen.typed, "");
	press(&screen, "\177");
	assert_false(screen.is_typing);
	press(&screen, "/abc\025nosuch\r");
	assert_true(shows(&screen, "no recorded call has a name like that"));
	press(&screen, "/");
	for (int i = 0; i < 1000; i++)
		press(&screen, "y");
	assert_true(shows(&screen, "yyy_"));
	press(&screen, "\r");
	press(&screen, "q");
	assert_true(screen.is_left);
	teardown(&screen);
}

static void keys_walk(void **state)
{
	struct screen screen;
	size_t last;

	(void)state;
	setup(&screen, 24, 80);
	last = mt_view_selected(screen.view);
	press(&screen, "g");
	assert_int_equal(mt_view_selected(screen.view), 0);
	press(&screen, "t");
	assert_int_equal(mt_view_selected(screen.view), last);
	press(&screen, "T");
	assert_int_equal(mt_view_selected(screen.view), last / 2);
	press(&screen, "G");
	screen_take_key(&screen, SCREEN_PAGE_UP);
	assert_int_equal(mt_view_selected(screen.view), last - 21);
	press(&screen, "u ");
	assert_int_equal(mt_view_below(screen.view, mt_view_selected(screen.view)), MT_VIEW_NONE);
	press(&screen, "G"); /* it stays folded */
	assert_int_equal(mt_view_selected(screen.view), last - CALLS);
	press(&screen, "d");
	assert_int_equal(mt_view_selected(screen.view), last - CALLS + 1);
	teardown(&screen);
}

static void source_is_shown(void **state)
{
	struct screen screen;
	FILE *file = fdopen(mkstemp(source_path), "w");

	(void)state;
	assert_non_null(file);
	fputs("first\n\tcall(); /* \033[2J \xe2\x80\xae \xff */\r\nlast", file);
	assert_int_equal(fclose(file), 0);
	setup(&screen, 24, 80);
	press(&screen, "\r");
	assert_true(shows(&screen,
			  "     1  first\n     2          call(); /* ?[2J ? ? */\n     3  last\n"));
	press(&screen, "\033");
	assert_false(shows(&screen, "call();"));
	screen.rows = 5;
	press(&screen, "\r");
	assert_true(shows(&screen, "no room"));
	screen.rows = 24;
	press(&screen, "u"); /* outer, whose place is not known */
	assert_true(shows(&screen, "the source line of this call is not known"));
	teardown(&screen);
	assert_int_equal(unlink(source_path), 0);
	setup(&screen, 24, 80);
	press(&screen, "\r");
	assert_true(shows(&screen, ":2: No such file or directory"));
	teardown(&screen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(source_is_shown), cmocka_unit_test(every_size_is_filled),
	    cmocka_unit_test(words_are_typed), cmocka_unit_test(random_keys_do_no_harm),
	    cmocka_unit_test(keys_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
