/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of the prompt: in colour on a terminal that has it, and a page at a time when it is read
 * at a terminal. */
#include "prompt/prompt.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* readline's headers declare what needs stdio. */
#include <readline/readline.h>

#define QUESTION "--Type <RET> for more, q to quit, c to continue without paging--"

/* How the output of a command is printed. */
enum page_state {
	WHOLE, /* all at once */
	PAGED, /* with a question after each page */
	LEFT,  /* the rest is not printed */
	RUNS,  /* all at once; the program runs, and may print, too */
};

static struct {
	bool colour;
	enum page_state state;
	struct terminal *terminal;
	unsigned rows, columns;
	unsigned row, column;
	void (*print_head)(void *context); /* printed before anything else is; NULL: nothing */
	void *head_context;
} page;

static struct winsize size_of(const struct prompt *prompt)
{
	struct winsize size = {0};

	if (prompt->source != PROMPT_FROM_TERMINAL || !isatty(STDOUT_FILENO) ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size = (struct winsize){0};
	return size;
}

unsigned prompt_out_rows(const struct prompt *prompt)
{
	uint32_t height = prompt->settings.height;

	return height == PROMPT_HEIGHT_OF_TERMINAL ? size_of(prompt).ws_row : height;
}

void prompt_out_begin(const struct prompt *prompt)
{
	struct winsize size = size_of(prompt);

	page.colour = prompt->terminal->print_colour;
	page.rows = prompt_out_rows(prompt);
	page.state = prompt->settings.paginates && size.ws_row && page.rows > 1 ? PAGED : WHOLE;
	page.columns = size.ws_col;
	page.row = page.column = 0;
	page.terminal = prompt->terminal;
}

void prompt_out_unpaged(void)
{
	if (page.state != LEFT)
		page.state = RUNS;
}

bool prompt_out_was_left(void)
{
	return page.state == LEFT;
}

/* False: the rest is not to be printed. */
static bool ask(void)
{
	fflush(stdout);
	char *answer = readline(QUESTION);
	char letter = answer && !prompt_line_was_cancelled() ? *prompt_skip_blanks(answer) : 'q';

	free(answer);
	page.row = 0;
	page.state = letter == 'q' ? LEFT : letter == 'c' ? WHOLE : PAGED;
	return page.state != LEFT;
}

/* How many rows a text takes that begins in COLUMN; where it ends stays there. */
static unsigned rows_of(const char *text, size_t length, unsigned *column)
{
	unsigned rows = 0;

	for (size_t i = 0; i < length && text[i] != '\n'; i++) {
		if (page.columns && *column >= page.columns) {
			rows++;
			*column = 0;
		}
		if (text[i] == '\t')
			*column += 8 - *column % 8;
		else
			*column += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	if (length && text[length - 1] == '\n') {
		rows++;
		*column = 0;
	}
	return rows;
}

void prompt_out_head(void (*print)(void *context), void *context)
{
	page.print_head = print;
	page.head_context = context;
}

static void put_head(const char *text)
{
	void (*print)(void *context) = *text ? page.print_head : NULL;

	page.print_head = print ? NULL : page.print_head;
	if (print)
		print(page.head_context);
}

/* A line that is wider than the terminal takes several rows. */
static void put(const char *text)
{
	put_head(text);
	/* While the program runs, Ctrl-C is meant for that. */
	if (page.state != RUNS && prompt_is_interrupted())
		page.state = LEFT;
	while (*text && page.state != LEFT) {
		size_t length = strcspn(text, "\n");

		length += text[length] == '\n';
		unsigned column = page.column, rows = rows_of(text, length, &column);
		if (page.state == PAGED && page.column == 0 && page.row &&
		    page.row + rows >= page.rows && !ask())
			return;
		if (fwrite(text, 1, length, stdout) < length && !page.terminal->output_errno)
			page.terminal->output_errno = errno;
		page.row += rows;
		page.column = column;
		text += length;
	}
}

void prompt_print_made(const char *text)
{
	put(text);
	if (page.state == RUNS)
		terminal_flush(page.terminal);
}

static void put_formatted(const char *format, va_list args)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_utf8_vappendf_lines(&text, format, args);
	if (text.text)
		prompt_print_made(text.text);
}

void prompt_printf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_formatted(format, args);
	va_end(args);
}

void prompt_report(const char *format, ...)
{
	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(&text, format, args);
	va_end(args);
	fflush(stdout);
	if (text.text)
		fputs(text.text, stderr);
}

void prompt_styled(enum prompt_style style, const char *format, ...)
{
	static const char *const sequences[] = {
	    /* GDB's colours */
	    [PROMPT_FUNCTION] = "\033[33m",
	    [PROMPT_FILENAME] = "\033[32m",
	    [PROMPT_VARIABLE] = "\033[36m",
	    [PROMPT_ADDRESS] = "\033[34m",
	};
	va_list args;

	put_head(format);
	if (page.colour && page.state != LEFT)
		fputs(sequences[style], stdout);
	va_start(args, format);
	put_formatted(format, args);
	va_end(args);
	if (page.colour && page.state != LEFT)
		fputs("\033[m", stdout);
}

static void report(void *context, const char *what, uint64_t done, uint64_t total)
{
	const struct prompt *prompt = context;
	const struct mt_progress *progress = &prompt->terminal->progress;

	progress->report(progress->context, what, done, total);
}

static bool is_interrupted(void *context)
{
	const struct prompt *prompt = context;
	const struct mt_progress *progress = &prompt->terminal->progress;

	return prompt_is_interrupted() || progress->interrupted(progress->context);
}

struct mt_progress prompt_progress(struct prompt *prompt)
{
	return (struct mt_progress){report, is_interrupted, prompt};
}
