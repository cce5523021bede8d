/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "screen/state.h"
#include "view/action.h"

#include <string.h>

#define CONTROL(letter) ((letter)&31)
#define SCROLL_COLUMNS  8
#define MOST_COLUMNS    8192 /* that a line may have to the left of the screen */

static void act(struct screen *screen, enum mt_view_act which, const char *word, long lines)
{
	const struct mt_view_action *action = &mt_view_actions[which];

	if (!action->act(screen->view, word, lines))
		mt_str_append(&screen->answer, action->none);
}

/* The source stays shown, and follows the selected line. */
static void show_source(struct screen *screen)
{
	size_t selected = mt_view_selected(screen->view);
	const char *file;
	uint32_t line;

	screen->shows_source = true;
	if (selected == MT_VIEW_NONE || !mt_view_place(screen->view, selected, &file, &line))
		mt_str_append(&screen->answer, mt_view_actions[MT_VIEW_SHOW].none);
	else if (!screen_layout(screen).source)
		mt_str_appendf(&screen->answer, "%s:%u (no room for the source)", file, line);
}

static void go_to(struct screen *screen, bool end)
{
	size_t count = mt_view_count(screen->view);

	if (count)
		mt_view_select(screen->view, end ? mt_view_above(screen->view, count) : 0);
}

static void scroll(struct screen *screen, bool right)
{
	if (right && screen->first < MOST_COLUMNS)
		screen->first += SCROLL_COLUMNS;
	else if (!right && screen->first)
		screen->first -= SCROLL_COLUMNS;
}

static void search(struct screen *screen)
{
	if (*screen->word)
		act(screen, MT_VIEW_SEARCH, screen->word, 1);
	else
		mt_str_append(&screen->answer, "nothing was searched yet");
}

static void begin_typing(struct screen *screen)
{
	screen->is_typing = true;
	screen->typed[0] = '\0';
}

/* A character of UTF-8 has several bytes. */
static void erase(struct screen *screen)
{
	size_t length = strlen(screen->typed);

	if (!length)
		screen->is_typing = false;
	while (length && ((unsigned char)screen->typed[--length] & 0xc0) == 0x80)
		;
	screen->typed[length] = '\0';
}

/* Without a word the last one is searched again. */
static void type(struct screen *screen, int key)
{
	size_t length = strlen(screen->typed);

	switch (key) {
	case '\n':
	case '\r':
		screen->is_typing = false;
		if (length)
			memcpy(screen->word, screen->typed, length + 1);
		search(screen);
		break;
	case SCREEN_ESCAPE:
	case CONTROL('G'):
		screen->is_typing = false;
		break;
	case SCREEN_ERASE:
	case CONTROL('H'):
	case 0x7f:
		erase(screen);
		break;
	case CONTROL('U'):
		screen->typed[0] = '\0';
		break;
	default:
		if (key < ' ' || key > 0xff || length + 1 >= sizeof(screen->typed))
			break;
		screen->typed[length] = (char)key;
		screen->typed[length + 1] = '\0';
	}
}

static long page_of(const struct screen *screen)
{
	size_t rows = screen_layout(screen).list;

	return rows > 1 ? (long)rows - 1 : 1;
}

/* Keys that move in the list.  False: it is none. */
static bool move(struct screen *screen, int key)
{
	switch (key) {
	case SCREEN_UP:
	case 'k':
		mt_view_move(screen->view, -1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		mt_view_move(screen->view, 1);
		return true;
	case SCREEN_PAGE_UP:
	case CONTROL('B'):
		mt_view_move(screen->view, -page_of(screen));
		return true;
	case SCREEN_PAGE_DOWN:
	case CONTROL('F'):
		mt_view_move(screen->view, page_of(screen));
		return true;
	case SCREEN_HOME:
	case 'g':
	case SCREEN_END:
	case 'G':
		go_to(screen, key == SCREEN_END || key == 'G');
		return true;
	case SCREEN_LEFT:
	case 'h':
	case SCREEN_RIGHT:
	case 'l':
		scroll(screen, key == SCREEN_RIGHT || key == 'l');
		return true;
	default:
		return false;
	}
}

void screen_take_key(struct screen *screen, int key)
{
	mt_str_clear(&screen->answer);
	if (screen->is_typing) {
		type(screen, key);
		return;
	}
	if (move(screen, key))
		return;
	switch (key) {
	case '\n':
	case '\r':
		show_source(screen);
		break;
	case SCREEN_ESCAPE:
		screen->shows_source = screen->shows_help = false;
		break;
	case ' ':
		act(screen, MT_VIEW_FOLD, NULL, 1);
		break;
	case 'u':
		act(screen, MT_VIEW_CALLER, NULL, 1);
		break;
	case 'd':
		act(screen, MT_VIEW_CALLEE, NULL, 1);
		break;
	case 'n':
		act(screen, MT_VIEW_NEXT, NULL, 1);
		break;
	case 'p':
		act(screen, MT_VIEW_PREVIOUS, NULL, 1);
		break;
	case 't':
		act(screen, MT_VIEW_THREAD, NULL, 1);
		break;
	case 'T':
		if (!mt_view_thread(screen->view, false))
			mt_str_append(&screen->answer, mt_view_actions[MT_VIEW_THREAD].none);
		break;
	case '/':
		begin_typing(screen);
		break;
	case 'r':
		search(screen);
		break;
	case '?':
		screen->shows_help = !screen->shows_help;
		break;
	case 'q':
		screen->is_left = true;
		break;
	default:
		break;
	}
}
