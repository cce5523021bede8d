/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fuzzy finder of a few lines: the query, and below it the matching items, best first. */
#include "base/array.h"
#include "base/fuzzy.h"
#include "base/utf8.h"
#include "terminal/ending.h"
#include "terminal/picker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define MOST_ROWS     12
#define ESCAPE_MS     50 /* an Esc that nothing follows is the key itself */
#define DEFAULT_WIDTH 80

enum key {
	KEY_TEXT,
	KEY_UP,
	KEY_DOWN,
	KEY_TAKE,
	KEY_LEAVE,
	KEY_ERASE,
	KEY_ERASE_WORD,
	KEY_ERASE_ALL,
	KEY_NONE
};

struct fit {
	int32_t score;
	size_t length;
	size_t item;
};

struct finder {
	int tty;
	const char *what;
	const char *const *items;
	size_t count;
	struct fit *fits; /* the matching items, best first */
	size_t fit_count;
	size_t selected; /* index into fits */
	size_t top;      /* the first one shown */
	char query[256];
	char typed; /* of KEY_TEXT */
	struct termios before;
	sigset_t mask;
	int signals; /* a signalfd: those that would end us while the terminal is in raw mode */
};

static int compare_fits(const void *a, const void *b)
{
	const struct fit *left = a, *right = b;

	if (left->score != right->score)
		return left->score > right->score ? -1 : 1;
	if (left->score && left->length != right->length)
		return left->length < right->length ? -1 : 1;
	return left->item < right->item ? -1 : left->item > right->item;
}

static void search(struct finder *finder)
{
	finder->fit_count = finder->selected = finder->top = 0;
	for (size_t i = 0; i < finder->count; i++) {
		int32_t score = mt_fuzzy_score(finder->items[i], finder->query);

		if (score != MT_FUZZY_NONE)
			finder->fits[finder->fit_count++] =
			    (struct fit){score, strlen(finder->items[i]), i};
	}
	qsort(finder->fits, finder->fit_count, sizeof(*finder->fits), compare_fits);
}

static void put_fits(struct finder *finder, struct mt_str *out, size_t rows, size_t columns)
{
	if (finder->selected < finder->top)
		finder->top = finder->selected;
	if (finder->selected >= finder->top + rows)
		finder->top = finder->selected - rows + 1;
	for (size_t i = 0; i < rows; i++) {
		size_t at = finder->top + i;

		mt_str_append(out, "\r\n\033[K");
		if (at >= finder->fit_count)
			continue;
		mt_str_append(out, at == finder->selected ? "\033[7m> " : "  ");
		mt_utf8_append_columns(out, finder->items[finder->fits[at].item], 0, columns - 3);
		mt_str_append(out, at == finder->selected ? "\033[m" : "");
	}
}

/* Draws all lines and leaves the cursor on the first, behind the query. */
static void draw(struct finder *finder)
{
	mt_auto(mt_str) struct mt_str out = {0};
	struct winsize size = {0};

	if (ioctl(finder->tty, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_row = MOST_ROWS + 2, .ws_col = DEFAULT_WIDTH};
	size_t rows = size.ws_row > MOST_ROWS + 1 ? MOST_ROWS
		      : size.ws_row > 2           ? size.ws_row - 2u
						  : 1;
	size_t columns = size.ws_col < 40 ? 40 : size.ws_col;
	/* A query longer than half a line shows its end. */
	size_t length = strlen(finder->query);
	const char *query = finder->query + (length > columns / 2 ? length - columns / 2 : 0);
	mt_str_appendf(&out, "\r\033[K%s> %s  %zu/%zu", finder->what, query, finder->fit_count,
		       finder->count);
	put_fits(finder, &out, rows, columns);
	mt_str_appendf(&out, "\033[%zuA\r%s> %s", rows, finder->what, query);
	if (!out.failed && write(finder->tty, out.text, out.length) < 0)
		return; /* the terminal is gone: reading will fail, too */
}

static bool has_input(const struct finder *finder, int timeout_ms)
{
	struct pollfd tty = {.fd = finder->tty, .events = POLLIN};

	return poll(&tty, 1, timeout_ms) > 0;
}

/* Reads what follows an Esc: CSI or SS3 and a letter. */
static enum key read_escape(const struct finder *finder)
{
	char letter = 0;

	if (!has_input(finder, ESCAPE_MS) || read(finder->tty, &letter, 1) != 1)
		return KEY_LEAVE;
	if (letter != '[' && letter != 'O')
		return KEY_NONE;
	do {
		if (!has_input(finder, ESCAPE_MS) || read(finder->tty, &letter, 1) != 1)
			return KEY_NONE;
	} while (letter < '@');
	return letter == 'A' ? KEY_UP : letter == 'B' ? KEY_DOWN : KEY_NONE;
}

static enum key key_of(struct finder *finder, char letter)
{
	switch (letter) {
	case '\033':
		return read_escape(finder);
	case '\r':
	case '\n':
		return KEY_TAKE;
	case 'C' & 31:
	case 'D' & 31:
	case 'G' & 31:
		return KEY_LEAVE;
	case 'P' & 31:
	case 'K' & 31:
		return KEY_UP;
	case 'N' & 31:
		return KEY_DOWN;
	case 'U' & 31:
		return KEY_ERASE_ALL;
	case 'W' & 31:
		return KEY_ERASE_WORD;
	case 'H' & 31:
	case 0x7f:
		return KEY_ERASE;
	default:
		finder->typed = letter;
		return (unsigned char)letter < 0x20 ? KEY_NONE : KEY_TEXT;
	}
}

/* Returns the next key; KEY_LEAVE when the terminal is gone or a signal would end us. */
static enum key read_key(struct finder *finder)
{
	struct pollfd both[] = {{.fd = finder->tty, .events = POLLIN},
				{.fd = finder->signals, .events = POLLIN}};
	char letter;

	while (poll(both, 2, -1) < 0)
		if (errno != EINTR)
			return KEY_LEAVE;
	if (both[1].revents || read(finder->tty, &letter, 1) != 1)
		return KEY_LEAVE;
	return key_of(finder, letter);
}

static void erase(struct finder *finder, enum key key)
{
	size_t length = strlen(finder->query);

	if (key == KEY_ERASE_ALL)
		length = 0;
	while (key == KEY_ERASE_WORD && length && finder->query[length - 1] == ' ')
		length--;
	while (key == KEY_ERASE_WORD && length && finder->query[length - 1] != ' ')
		length--;
	/* A UTF-8 character has several bytes. */
	while (key == KEY_ERASE && length &&
	       ((unsigned char)finder->query[--length] & 0xc0) == 0x80)
		;
	finder->query[length] = '\0';
	search(finder);
}

static bool take_keys(struct finder *finder, size_t *chosen)
{
	search(finder);
	for (;;) {
		draw(finder);
		enum key key = read_key(finder);

		if (key == KEY_LEAVE)
			return false;
		if (key == KEY_TAKE && finder->fit_count) {
			*chosen = finder->fits[finder->selected].item;
			return true;
		}
		if (key == KEY_UP && finder->selected)
			finder->selected--;
		if (key == KEY_DOWN && finder->selected + 1 < finder->fit_count)
			finder->selected++;
		size_t length = strlen(finder->query);
		if (key == KEY_TEXT && length + 1 < sizeof(finder->query)) {
			finder->query[length] = finder->typed;
			finder->query[length + 1] = '\0';
			search(finder);
		}
		if (key == KEY_ERASE || key == KEY_ERASE_WORD || key == KEY_ERASE_ALL)
			erase(finder, key);
	}
}

/* Puts the terminal into raw mode, and holds signals back until it is restored. */
static struct mt_error *take_terminal(struct finder *finder)
{
	struct termios raw;
	sigset_t held;

	ending_fill(&held);
	if (tcgetattr(finder->tty, &finder->before))
		return mt_error_errno(errno, "cannot choose a %s in this terminal", finder->what);
	finder->signals = signalfd(-1, &held, SFD_CLOEXEC);
	if (finder->signals < 0)
		return mt_error_errno(errno, "cannot choose a %s", finder->what);
	sigprocmask(SIG_BLOCK, &held, &finder->mask);
	raw = finder->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(finder->tty, TCSADRAIN, &raw);
	return NULL;
}

static void restore_terminal(struct finder *finder)
{
	static const char erase_lines[] = "\r\033[J";

	if (write(finder->tty, erase_lines, sizeof(erase_lines) - 1) >= 0) /* else it is gone */
		tcsetattr(finder->tty, TCSADRAIN, &finder->before);
	close(finder->signals);
	sigprocmask(SIG_SETMASK, &finder->mask, NULL);
}

struct mt_error *find_in_terminal(int tty, const char *what, const char *const *items, size_t count,
				  size_t *chosen)
{
	struct finder finder = {.tty = tty, .what = what, .items = items, .count = count};
	bool taken = false;

	finder.fits = calloc(count, sizeof(*finder.fits));
	if (!finder.fits)
		return mt_error_no_memory();
	struct mt_error *error = take_terminal(&finder);
	if (!error) {
		taken = take_keys(&finder, chosen);
		restore_terminal(&finder);
	}
	free(finder.fits);
	if (!error && !taken)
		return mt_error_new(MT_ERROR_INTERRUPTED, "no %s was chosen", what);
	return error;
}
