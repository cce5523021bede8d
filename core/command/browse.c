/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of a recording as a list, on the whole terminal. */
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"
#include "view/view.h"

static const char *const options[] = {"--thread=TID", "--goroutine=ID", "--coroutine=N", NULL};

static struct mt_error *read_view(struct mt_command_context *context, const char *path,
				  const struct mt_timeline *timeline, struct mt_view *view)
{
	mt_try(mt_timeline_feed_file(context, path, timeline, mt_view_sink(view)));
	if (mt_view_count(view))
		return NULL;
	return mt_error_new(MT_ERROR_NOT_FOUND,
			    timeline->tid ? "%s contains no calls of thread %d"
					  : "%s contains no calls",
			    path, timeline->tid);
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *thread = NULL;
	mt_auto(mt_option) char *goroutine = NULL;
	mt_auto(mt_option) char *coroutine = NULL;
	const struct poptOption table[] = {
	    {"thread", 't', POPT_ARG_STRING, &thread, 0, NULL, NULL},
	    {"goroutine", 'g', POPT_ARG_STRING, &goroutine, 0, NULL, NULL},
	    {"coroutine", 'c', POPT_ARG_STRING, &coroutine, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct mt_timeline timeline = {0};
	struct mt_view *view = NULL;

	mt_try(
	    mt_arguments_parse(&arguments, context, &mt_command_browse, table, argc, argv, 1, 2));
	mt_try(mt_timeline_parse_track(thread, goroutine, coroutine, &timeline));
	if (arguments.count > 1)
		timeline.function = arguments.words[1];
	mt_try(context->screen->check());
	mt_try(mt_view_create(&view));
	struct mt_error *error = read_view(context, arguments.words[0], &timeline, view);
	if (!error)
		error = context->screen->show(view, arguments.words[0], context->progress);
	mt_view_destroy(view);
	return error;
}

const struct mt_command mt_command_browse = {
    .name = "browse",
    .summary = "Walk in the calls of a recording, on the whole terminal",
    .usage = "[-t TID | -g ID | -c N] RECORDING [FUNCTION]",
    .help = "Show the calls of each thread as a list, as \"mtdb history\" prints them, in which\n"
	    "keys walk.  With FUNCTION, a name or a glob, show only its calls and their callers.\n"
	    "RECORDING \"-\" is standard input.\n"
	    "\n"
	    "Options:\n"
	    "  -t, --thread=TID    show only this thread\n"
	    "  -g, --goroutine=ID  show only this goroutine\n"
	    "  -c, --coroutine=N   show only this coroutine\n"
	    "\n"
	    "Keys:\n"
	    "  Up, Down, k, j          select another line; PgUp, PgDn, Home, End as usual\n"
	    "  Left, Right, h, l       scroll sideways\n"
	    "  Enter, Esc              show the source where the call was made; hide it\n"
	    "  space                   hide what the call called, or show it again\n"
	    "  u, d                    who called, and the first call that was made\n"
	    "  n, p                    the next, the previous call of the same function\n"
	    "  / WORD Enter, r         the nearest call before with WORD in its name, then the\n"
	    "                          last one; the same again\n"
	    "  t, T                    the next, the previous thread\n"
	    "  ?, q                    show the keys; leave\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};
