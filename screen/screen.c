/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys one after the other, until the user leaves or a signal asks us to.  Signals are looked for
 * right before each wait for a key, which they interrupt; so the terminal is always restored by the
 * same steps. */
#include "screen/screen.h"

#include "screen/curses.h"
#include "screen/state.h"
#include "terminal/ending.h"

#include <poll.h>
#include <signal.h>

static volatile sig_atomic_t is_to_stop, is_back, is_resized;

static void on_stop(int number)
{
	(void)number;
	is_to_stop = 1;
}

static void on_continue(int number)
{
	(void)number;
	is_back = 1;
}

static void on_resize(int number)
{
	(void)number;
	is_resized = 1;
}

/* ncurses has handlers of its own for them only where there are none, and never gives them back. */
static struct {
	int number;
	void (*handler)(int number);
	struct sigaction before;
} handled[] = {
    {.number = SIGTSTP, .handler = on_stop},
    {.number = SIGCONT, .handler = on_continue},
    {.number = SIGWINCH, .handler = on_resize},
};

#define HANDLED (sizeof(handled) / sizeof(handled[0]))

static void take_signals(void)
{
	is_to_stop = is_back = is_resized = 0;
	for (size_t i = 0; i < HANDLED; i++) {
		struct sigaction action = {.sa_handler = handled[i].handler};

		sigemptyset(&action.sa_mask);
		sigaction(handled[i].number, &action, &handled[i].before);
	}
}

static void give_signals_back(void)
{
	for (size_t i = 0; i < HANDLED; i++)
		sigaction(handled[i].number, &handled[i].before, NULL);
}

static bool is_interrupted(const struct mt_progress *progress)
{
	return ending_signal() ||
	       (progress && progress->interrupted && progress->interrupted(progress->context));
}

/* Those that ask us to end, and ours. */
static void fill(sigset_t *set)
{
	ending_fill(set);
	for (size_t i = 0; i < HANDLED; i++)
		sigaddset(set, handled[i].number);
}

enum wait { WAIT_KEY, WAIT_SIGNAL, WAIT_END };

/* END: the terminal is gone, or we are to end.  A signal cannot slip in between looking and
 * waiting. */
static enum wait wait_for_key(const struct curses *curses, const struct mt_progress *progress)
{
	struct pollfd input = {.fd = curses_input(curses), .events = POLLIN};
	sigset_t set, before;
	enum wait result = WAIT_SIGNAL;

	fill(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	if (!is_interrupted(progress) && !is_to_stop && !is_back && !is_resized &&
	    ppoll(&input, 1, NULL, &before) >= 0)
		result = input.revents & POLLIN ? WAIT_KEY : WAIT_END;
	if (is_interrupted(progress))
		result = WAIT_END;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

/* Ctrl-Z: the terminal is the shell's meanwhile. */
static void stop(struct curses *curses)
{
	struct sigaction action = {.sa_handler = SIG_DFL}, ours;

	is_to_stop = 0;
	curses_leave(curses);
	sigemptyset(&action.sa_mask);
	sigaction(SIGTSTP, &action, &ours);
	raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
	is_back = 1;
}

/* All that was typed by now is taken before the next drawing.  False: nothing was. */
static bool take_keys(struct screen *screen, struct curses *curses)
{
	bool is_there, is_any = false;

	for (int key = curses_key(curses, &is_there); is_there && !screen->is_left;
	     key = curses_key(curses, &is_there)) {
		screen_take_key(screen, key);
		is_any = true;
	}
	return is_any;
}

static void run(struct screen *screen, struct curses *curses, const struct mt_progress *progress)
{
	while (!screen->is_left) {
		is_resized = 0; /* from now on, also while it is drawn */
		curses_size(curses, &screen->rows, &screen->columns);
		screen_draw(screen, curses_put, curses);
		curses_flush(curses);
		enum wait waited = wait_for_key(curses, progress);
		if (waited == WAIT_END)
			return;
		if (is_to_stop)
			stop(curses);
		if (is_back)
			curses_enter(curses);
		is_back = 0;
		if (!take_keys(screen, curses) && waited == WAIT_KEY)
			return; /* the end of the file: the terminal is gone */
	}
}

static struct mt_error *show(struct mt_view *view, const char *title,
			     const struct mt_progress *progress)
{
	struct screen screen = {.view = view, .title = title};
	struct curses *curses;

	ending_hold(); /* the terminal */
	take_signals();
	struct mt_error *error = curses_open(&curses);
	if (!error) {
		run(&screen, curses, progress);
		curses_close(curses);
	}
	give_signals_back();
	if (!error && !screen.is_left)
		error = mt_error_new(MT_ERROR_INTERRUPTED, "interrupted");
	ending_release();
	screen_deinit(&screen);
	return error;
}

const struct mt_command_screen screen_of_terminal = {.check = curses_check, .show = show};
