/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "screen/curses.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* curses.h declares what needs stdio. */
#include <curses.h>
#include <term.h>

#define CURE      "\"mtdb history\" prints the calls"
#define ESCAPE_MS 50 /* an Esc that nothing follows is the key itself */

struct curses {
	FILE *input, *output;
	SCREEN *screen;
	TERMINAL *before; /* readline's */
	char *locale;     /* that was set before */
	bool is_utf8;
};

struct mt_error *curses_check(void)
{
	const char *kind = getenv("TERM");
	TERMINAL *before = cur_term;
	int found = 0;

	if (!isatty(STDOUT_FILENO))
		return mt_error_new(MT_ERROR_USAGE,
				    "standard output is no terminal to show the calls on: " CURE);
	if (!kind || !*kind)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "TERM is not set, so it is not known how to draw on this terminal: " CURE);
	bool is_known = setupterm(NULL, STDOUT_FILENO, &found) == OK;
	const char *move = is_known ? tigetstr("cup") : NULL;
	bool can_move = move && move != (const char *)-1;
	/* It may be readline's, which is used again. */
	if (is_known && cur_term != before) {
		del_curterm(cur_term);
		set_curterm(before);
	}
	if (!can_move)
		return mt_error_new(MT_ERROR_USAGE,
				    "cannot draw on a terminal of the type \"%s\"%s: " CURE, kind,
				    is_known ? "" : ", which is not known here");
	return NULL;
}

/* What is asked for by LANG and its like.  ASCII, the default, says nothing of the terminal, and
 * all that we print is UTF-8. */
static void set_locale(struct curses *curses)
{
	const char *before = setlocale(LC_CTYPE, NULL);

	curses->locale = before ? strdup(before) : NULL;
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	curses->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Keys are the terminal's, also where standard input is a recording. */
static struct mt_error *open_files(struct curses *curses)
{
	int input = isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					 : open(_PATH_TTY, O_RDWR | O_CLOEXEC);
	int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	curses->input = input < 0 ? NULL : fdopen(input, "r");
	curses->output = output < 0 ? NULL : fdopen(output, "w");
	if (curses->input && curses->output)
		return NULL;
	struct mt_error *error = mt_error_errno(errno, "cannot read keys from the terminal");
	if (!curses->input && input >= 0)
		close(input);
	if (!curses->output && output >= 0)
		close(output);
	return error;
}

static void release(struct curses *curses)
{
	if (curses->input)
		fclose(curses->input);
	if (curses->output)
		fclose(curses->output);
	if (curses->locale)
		setlocale(LC_CTYPE, curses->locale);
	free(curses->locale);
	free(curses);
}

/* Ctrl-S must not stop us from drawing, since we could not be ended then. */
static void ignore_flow_control(struct curses *curses)
{
	struct termios modes;

	if (tcgetattr(fileno(curses->input), &modes))
		return;
	modes.c_iflag &= ~(tcflag_t)IXON;
	tcsetattr(fileno(curses->input), TCSADRAIN, &modes);
	def_prog_mode();
}

/* readline tells by LINES and COLUMNS what the size was. */
static struct mt_error *start(struct curses *curses)
{
	use_env(FALSE);
	use_tioctl(TRUE);
	curses->before = cur_term;
	curses->screen = newterm(NULL, curses->output, curses->input);
	if (!curses->screen)
		return mt_error_new(MT_ERROR_SYSTEM, "cannot draw on this terminal: " CURE);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, TRUE);
	typeahead(-1);
	curs_set(0);
	ignore_flow_control(curses);
	return NULL;
}

struct mt_error *curses_open(struct curses **out)
{
	mt_try(curses_check());
	struct curses *curses = calloc(1, sizeof(*curses));
	if (!curses)
		return mt_error_no_memory();
	fflush(stdout);
	set_locale(curses);
	struct mt_error *error = open_files(curses);
	if (!error)
		error = start(curses);
	if (error)
		release(curses);
	else
		*out = curses;
	return error;
}

/* Where there is no second screen, ours stays, and what comes next begins in its last row. */
static void end(void)
{
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
}

void curses_close(struct curses *curses)
{
	end();
	delscreen(curses->screen);
	set_curterm(curses->before);
	release(curses);
}

void curses_leave(struct curses *curses)
{
	(void)curses;
	end();
}

void curses_enter(struct curses *curses)
{
	(void)curses;
	reset_prog_mode();
	clearok(curscr, TRUE);
}

int curses_input(const struct curses *curses)
{
	return fileno(curses->input);
}

void curses_size(struct curses *curses, size_t *height, size_t *width)
{
	struct winsize size;

	if (ioctl(fileno(curses->output), TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col &&
	    (size.ws_row != LINES || size.ws_col != COLS))
		resizeterm(size.ws_row, size.ws_col);
	*height = LINES > 0 ? (size_t)LINES : 1;
	*width = COLS > 0 ? (size_t)COLS : 1;
}

/* Where the terminal's charset is another than UTF-8, "?" stands for what is not ASCII. */
static void put_ascii(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			addch((unsigned char)*text < 0x80 ? (chtype)*text : (chtype)'?');
}

void curses_put(void *context, size_t row, enum screen_style style, const char *text)
{
	static const attr_t attributes[] = {
	    [SCREEN_PLAIN] = A_NORMAL, [SCREEN_BOLD] = A_BOLD, [SCREEN_REVERSE] = A_REVERSE};
	const struct curses *curses = context;

	if (move((int)row, 0) == ERR)
		return;
	clrtoeol();
	if (curses->is_utf8)
		addstr(text);
	else
		put_ascii(text);
	mvchgat((int)row, 0, -1, attributes[style], 0, NULL);
}

void curses_flush(struct curses *curses)
{
	(void)curses;
	refresh();
}

int curses_key(struct curses *curses, bool *is_there)
{
	static const struct {
		int of_curses, key;
	} keys[] = {
	    {KEY_UP, SCREEN_UP},       {KEY_DOWN, SCREEN_DOWN},     {KEY_LEFT, SCREEN_LEFT},
	    {KEY_RIGHT, SCREEN_RIGHT}, {KEY_PPAGE, SCREEN_PAGE_UP}, {KEY_NPAGE, SCREEN_PAGE_DOWN},
	    {KEY_HOME, SCREEN_HOME},   {KEY_END, SCREEN_END},       {KEY_BACKSPACE, SCREEN_ERASE},
	    {KEY_ENTER, '\n'},
	};
	int key = getch();

	(void)curses;
	*is_there = key != ERR;
	if (key == ERR)
		return SCREEN_NO_KEY;
	if (key <= 0xff)
		return key;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].of_curses == key)
			return keys[i].key;
	return SCREEN_NO_KEY;
}
