/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace window, mtrace context: the history as a list, in a window or at the prompt. */
#include "base/str.h"
#include "command/command.h"
#include "live/live.h"
#include "view/action.h"

#include <stdlib.h>
#include <string.h>

#define ROWS  11 /* that are printed where there is no window */
#define CALLS 10

/* By its name, or the beginning of it. */
static struct mt_error *find_action(const char *name, const struct mt_view_action **out)
{
	for (size_t i = 0; i < MT_VIEW_ACTIONS; i++) {
		if (strncmp(mt_view_actions[i].name, name, strlen(name)) != 0)
			continue;
		if (*out)
			return mt_error_new(MT_ERROR_USAGE, "mtrace window %s: ambiguous: %s or %s",
					    name, (*out)->name, mt_view_actions[i].name);
		*out = &mt_view_actions[i];
		if (strcmp((*out)->name, name) == 0)
			return NULL;
	}
	if (*out)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE,
			    "mtrace window does not know \"%s\" (\"help mtrace window\" lists what "
			    "it does)",
			    name);
}

static struct mt_error *show(const struct mt_live_debugger *debugger, const struct mt_view *view)
{
	const char *file;
	uint32_t line;

	if (!mt_view_place(view, mt_view_selected(view), &file, &line))
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s", mt_view_actions[MT_VIEW_SHOW].none);
	if (debugger->ops->show_source)
		return debugger->ops->show_source(debugger->context, file, line);
	mt_live_printf(debugger, "%s:%u\n", file, line);
	return NULL;
}

static struct mt_error *act(const struct mt_live_debugger *debugger, struct mt_view *view,
			    const struct mt_view_action *action, int argc, char **argv)
{
	const char *word = argc > 2 ? argv[2] : NULL;
	uint64_t lines = 1;

	if (argc > 3 || (word && !action->takes))
		return mt_error_new(MT_ERROR_USAGE, "mtrace window %s: \"%s\" is one word too many",
				    action->name, argv[argc - 1]);
	if (!action->act)
		return show(debugger, view);
	if (action->takes == MT_VIEW_TAKES_WORD && !word)
		return mt_error_new(MT_ERROR_USAGE, "mtrace window search requires a word");
	if (word && action->takes == MT_VIEW_TAKES_LINES)
		mt_try(mt_parse_number(word, "number of lines", 1, INT32_MAX, &lines));
	if (!action->act(view, word, (long)lines))
		return mt_error_new(MT_ERROR_USAGE, "%s", action->none);
	return NULL;
}

/* False: the lines are printed instead. */
static bool has_screen(const struct mt_command_context *context)
{
	struct mt_error *error = context->screen ? context->screen->check() : NULL;
	bool has = context->screen && !error;

	mt_error_destroy(error);
	return has;
}

static struct mt_error *window(struct mt_command_context *context, int argc, char **argv)
{
	struct mt_live_debugger *debugger = context->debugger;
	const struct mt_view_action *action = NULL;
	struct mt_view *view = NULL;

	mt_try(mt_live_view(debugger, &view));
	if (argc == 1 && has_screen(context))
		return context->screen->show(view, "mtrace window", context->progress);
	if (argc > 1) {
		mt_try(find_action(argv[1], &action));
		mt_try(act(debugger, view, action, argc, argv));
	}
	bool is_drawn = debugger->ops->draw_window && debugger->ops->draw_window(debugger->context);
	if (!is_drawn && (!action || action->act))
		mt_live_print_view(debugger, view, ROWS);
	return NULL;
}

const struct mt_command mt_command_window = {
    .name = "window",
    .summary = "Walk in the history of the selected thread, a list of calls",
    .usage = "[ACTION [ARGUMENT]]",
    .help =
	"One call is selected, at first the last one; ACTION selects another, and may be\n"
	"abbreviated.  In GDB \"layout mtrace\" shows the list in a window, once \"mtrace start\"\n"
	"was given; without that, the lines around the selected one are printed.  At mtdb's\n"
	"prompt, without ACTION, it takes the whole terminal, and keys walk: ? shows them.\n\n"
	"Actions:\n"
	"  up [N], down [N]   another line of the list\n"
	"  caller, callee     who called, and the first call that was made\n"
	"  next, previous     another call of the same function\n"
	"  search WORD        the nearest call before with WORD in its name, then the last one\n"
	"  thread             the last call of the next thread, where the list has several\n"
	"  fold               hide what the selected call called, or show it again\n"
	"  show               show the source line where it was called\n",
    .where = MT_COMMAND_IN_DEBUGGER,
    .group = "COMMAND_STACK",
    .run = window,
};

static struct mt_error *last_calls(struct mt_command_context *context, int argc, char **argv)
{
	uint64_t count = CALLS;

	if (argc > 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace context takes one number: \"%s\"",
				    argv[2]);
	if (argc > 1)
		mt_try(mt_parse_number(argv[1], "number of calls", 1, UINT32_MAX, &count));
	return mt_live_context(context->debugger, count);
}

const struct mt_command mt_command_live_context = {
    .name = "context",
    .summary = "Show the last calls of the selected thread in few lines",
    .usage = "[COUNT]",
    .help = "For a pane that is printed at each stop, of GEF or pwndbg: COUNT calls and events\n"
	    "(default: 10) with their durations, two a line, the older ones on the left.  No\n"
	    "headings, no colours, 80 columns.  The history is read once a stop.\n",
    .where = MT_COMMAND_IN_DEBUGGER,
    .group = "COMMAND_STACK",
    .run = last_calls,
};
