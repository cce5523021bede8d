/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a user asks a view to do, by a word or a key. */
#ifndef MT_VIEW_ACTION_H
#define MT_VIEW_ACTION_H

#include "view/view.h"

enum mt_view_act {
	MT_VIEW_UP,
	MT_VIEW_DOWN,
	MT_VIEW_FOLD,
	MT_VIEW_CALLER,
	MT_VIEW_CALLEE,
	MT_VIEW_NEXT,
	MT_VIEW_PREVIOUS,
	MT_VIEW_SEARCH,
	MT_VIEW_THREAD,
	MT_VIEW_SHOW, /* the source line: what shows the view does it */
	MT_VIEW_ACTIONS
};

struct mt_view_action {
	const char *name;
	enum { MT_VIEW_TAKES_NOTHING, MT_VIEW_TAKES_LINES, MT_VIEW_TAKES_WORD } takes;
	/* False: there is none.  NULL: of SHOW. */
	bool (*act)(struct mt_view *view, const char *word, long lines);
	const char *none; /* what the user is told then */
};

extern const struct mt_view_action mt_view_actions[MT_VIEW_ACTIONS];

#endif
