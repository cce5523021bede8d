/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "view/action.h"

static bool down(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	mt_view_move(view, lines);
	return true;
}

static bool up(struct mt_view *view, const char *word, long lines)
{
	return down(view, word, -lines);
}

static bool fold(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	(void)lines;
	mt_view_fold(view);
	return true;
}

static bool caller(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	(void)lines;
	return mt_view_caller(view);
}

static bool callee(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	(void)lines;
	return mt_view_callee(view);
}

static bool next(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	(void)lines;
	return mt_view_same(view, true);
}

static bool previous(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	(void)lines;
	return mt_view_same(view, false);
}

static bool search(struct mt_view *view, const char *word, long lines)
{
	(void)lines;
	return mt_view_search(view, word);
}

static bool thread(struct mt_view *view, const char *word, long lines)
{
	(void)word;
	(void)lines;
	return mt_view_thread(view, true);
}

const struct mt_view_action mt_view_actions[MT_VIEW_ACTIONS] = {
    [MT_VIEW_UP] = {"up", MT_VIEW_TAKES_LINES, up, NULL},
    [MT_VIEW_DOWN] = {"down", MT_VIEW_TAKES_LINES, down, NULL},
    [MT_VIEW_FOLD] = {"fold", MT_VIEW_TAKES_NOTHING, fold, NULL},
    [MT_VIEW_CALLER] = {"caller", MT_VIEW_TAKES_NOTHING, caller,
			"the selected call has no caller in the history"},
    [MT_VIEW_CALLEE] = {"callee", MT_VIEW_TAKES_NOTHING, callee,
			"the selected call made no calls that were recorded"},
    [MT_VIEW_NEXT] = {"next", MT_VIEW_TAKES_NOTHING, next,
		      "no later call of the same function was recorded"},
    [MT_VIEW_PREVIOUS] = {"previous", MT_VIEW_TAKES_NOTHING, previous,
			  "no earlier call of the same function was recorded"},
    [MT_VIEW_SEARCH] = {"search", MT_VIEW_TAKES_WORD, search,
			"no recorded call has a name like that"},
    [MT_VIEW_THREAD] = {"thread", MT_VIEW_TAKES_NOTHING, thread,
			"the list has no calls of another thread"},
    [MT_VIEW_SHOW] = {"show", MT_VIEW_TAKES_NOTHING, NULL,
		      "the source line of this call is not known (no debug information)"},
};
