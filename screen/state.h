/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is on the screen: from the top a head with the names of the columns, the list, the source,
 * help, and the status line.  A small terminal has less of them, and always some of the list. */
#ifndef MT_SCREEN_STATE_H
#define MT_SCREEN_STATE_H

#include "base/array.h"
#include "base/str.h"
#include "view/view.h"

/* Keys that are no characters. */
enum screen_key {
	SCREEN_UP = 0x100,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ERASE,
	SCREEN_NO_KEY, /* any other; or there was none */
};
#define SCREEN_ESCAPE 033

/* A source file, as it is now. */
struct screen_source {
	char *file; /* NULL: none was asked for */
	char *text;
	MT_ARRAY(size_t) starts; /* of its lines */
	const char *why;         /* it cannot be shown; NULL: it can */
};

/* Zeroed storage can be deinited. */
struct screen {
	struct mt_view *view;
	const char *title;
	size_t rows, columns; /* of the terminal */
	size_t first;         /* column of the list that is shown first */
	char word[256];       /* that is searched */
	char typed[256];
	struct mt_str answer; /* to the last key */
	struct screen_source source;
	bool is_typing; /* a word to search */
	bool shows_source, shows_help;
	bool is_left;
};

struct screen_layout {
	size_t head, list, source, help, status; /* rows */
};

enum screen_style { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_REVERSE };

/* Draws a row; of TEXT no more than the terminal's columns, without control characters. */
typedef void screen_put(void *context, size_t row, enum screen_style style, const char *text);

/* keys.c */
void screen_take_key(struct screen *screen, int key);

/* draw.c */
struct screen_layout screen_layout(const struct screen *screen);
void screen_draw(struct screen *screen, screen_put *put, void *context);
void screen_deinit(struct screen *screen);

/* source.c */
/* Reads FILE, unless it is the one that was read last. */
void screen_source_read(struct screen_source *source, const char *file);
/* Appends COLUMNS columns of the line NUMBER, from 1 on; nothing if there is no such line. */
void screen_source_line(const struct screen_source *source, size_t number, size_t columns,
			struct mt_str *out);
void screen_source_deinit(struct screen_source *source);

#endif
