/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/progress.h"

#include "base/clock.h"
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "process/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 200000000ull
#define REDRAW_NS   50000000ull
#define WIDTH       60

static struct {
	const char *what;
	uint64_t began_ns, seen_ns, drawn_ns;
	bool is_shown;
} line;

/* Spaces, since the TUI knows no escapes. */
void mt_gdb_progress_erase(void)
{
	char blanks[WIDTH + 3];

	if (!line.is_shown)
		return;
	line.is_shown = false;
	snprintf(blanks, sizeof(blanks), "\r%*s\r", WIDTH, "");
	mt_gdb_print_error(blanks);
}

static void draw(const char *what, uint64_t done, uint64_t total)
{
	char text[WIDTH + 1], padded[WIDTH + 2];

	if (total)
		snprintf(text, sizeof(text), "[mtrace: %s: %.0f %%]", what,
			 100.0 * (double)done / (double)total);
	else
		snprintf(text, sizeof(text), "[mtrace: %s: %llu]", what, (unsigned long long)done);
	snprintf(padded, sizeof(padded), "\r%-*s", WIDTH, text);
	mt_gdb_progress_erase();
	mt_gdb_print_error(padded);
	line.is_shown = true;
}

/* A file gets no lines that are taken away again. */
static bool is_terminal(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

static void report(void *context, const char *what, uint64_t done, uint64_t total)
{
	uint64_t now = mt_clock_monotonic_ns();

	(void)context;
	if (line.what != what || now - line.seen_ns > PATIENCE_NS)
		line.began_ns = now;
	line.what = what;
	line.seen_ns = now;
	if (total && done >= total)
		mt_gdb_progress_erase();
	if ((total && done >= total) || now - line.began_ns < PATIENCE_NS ||
	    now - line.drawn_ns < REDRAW_NS || !is_terminal())
		return;
	draw(what, done, total);
	line.drawn_ns = now;
}

/* While the program has the terminal, Ctrl-C goes to the program. */
static bool program_is_interrupted(void)
{
	static uint64_t asked_ns;
	uint64_t now = mt_clock_monotonic_ns();
	pid_t pid = now - asked_ns > REDRAW_NS ? mt_gdb_pid() : 0;

	if (!pid)
		return false;
	asked_ns = now;
	return mt_proc_is_pending(pid, SIGINT);
}

static bool wants_to_stop(void *context)
{
	(void)context;
	if (mt_hold_is_urgent()) {
		mt_gdb_interrupt();
	} else if (PyErr_CheckSignals()) {
		PyErr_Clear();
		mt_gdb_interrupt();
	} else if (program_is_interrupted()) {
		return true;
	}
	return mt_gdb_is_interrupted();
}

const struct mt_progress mt_gdb_progress = {.report = report, .interrupted = wants_to_stop};
