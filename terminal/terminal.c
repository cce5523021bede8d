/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "terminal/terminal.h"

#include "base/clock.h"
#include "terminal/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PATIENCE_NS 500000000ull /* work that takes longer shows its progress */
#define REDRAW_NS   100000000ull

static bool shows_colour(int fd)
{
	const char *no_colour = getenv("NO_COLOR"); /* see no-color.org */
	const char *kind = getenv("TERM");

	return isatty(fd) && !(no_colour && *no_colour) && kind && strcmp(kind, "dumb") != 0;
}

void terminal_erase_progress(struct terminal *terminal)
{
	if (!terminal->progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	terminal->progress_shown = false;
}

static void log_line(void *context, enum mt_log_level level, const char *text)
{
	terminal_erase_progress(context);
	fputs(level == MT_LOG_WARNING ? "mtdb: warning: " : "mtdb: ", stderr);
	fputs(text, stderr);
	putc('\n', stderr);
}

static void report_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
	struct terminal *terminal = context;
	uint64_t now = mt_clock_monotonic_ns();

	if (strncmp(terminal->what, what, sizeof(terminal->what) - 1) != 0) {
		terminal_erase_progress(terminal);
		snprintf(terminal->what, sizeof(terminal->what), "%s", what);
		terminal->began_ns = now;
	}
	/* The terminal may be another's from now on. */
	if (total && done >= total)
		terminal_erase_progress(terminal);
	if (!terminal->shows_progress || (total && done >= total) ||
	    now - terminal->began_ns < PATIENCE_NS || now - terminal->drawn_ns < REDRAW_NS)
		return;
	if (total)
		fprintf(stderr, "\r%s: %.0f %%\033[K", terminal->what,
			100.0 * (double)done / (double)total);
	else
		fprintf(stderr, "\r%s: %llu\033[K", terminal->what, (unsigned long long)done);
	fflush(stderr);
	terminal->progress_shown = true;
	terminal->drawn_ns = now;
}

static bool is_interrupted(void *context)
{
	const struct terminal *terminal = context;

	return ending_interrupts() || terminal->output_errno;
}

/* Occupies standard descriptors that are closed, or a file of ours could get one of them, and with
 * it our messages.  Reading and writing still fail, and programs that we start find them closed. */
static void occupy_standard_files(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void terminal_init(struct terminal *terminal)
{
	const char *kind = getenv("TERM");

	*terminal = (struct terminal){
	    .log = {log_line, terminal, MT_LOG_INFO},
	    .progress = {report_progress, is_interrupted, terminal},
	    .print_colour = shows_colour(STDOUT_FILENO),
	    .report_colour = shows_colour(STDERR_FILENO),
	    .shows_progress = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0,
	};
	occupy_standard_files();
	ending_init();
}

unsigned terminal_columns(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

void terminal_print(void *context, const char *text)
{
	struct terminal *terminal = context;

	terminal_erase_progress(terminal);
	if (!terminal->output_errno && fputs(text, stdout) == EOF)
		terminal->output_errno = errno;
}

void terminal_report(void *context, const char *text)
{
	terminal_erase_progress(context);
	fputs(text, stderr);
}

int terminal_flush(struct terminal *terminal)
{
	terminal_erase_progress(terminal);
	if (fflush(stdout) == EOF && !terminal->output_errno)
		terminal->output_errno = errno;
	return terminal->output_errno;
}
