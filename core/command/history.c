/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"

static const char *const options[] = {"--lines=N",     "--thread=TID", "--goroutine=ID",
				      "--coroutine=N", "--unfold",     NULL};

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *lines = NULL;
	mt_auto(mt_option) char *thread = NULL;
	mt_auto(mt_option) char *goroutine = NULL;
	mt_auto(mt_option) char *coroutine = NULL;
	int unfold = 0;
	const struct poptOption table[] = {
	    {"lines", 'n', POPT_ARG_STRING, &lines, 0, NULL, NULL},
	    {"thread", 't', POPT_ARG_STRING, &thread, 0, NULL, NULL},
	    {"goroutine", 'g', POPT_ARG_STRING, &goroutine, 0, NULL, NULL},
	    {"coroutine", 'c', POPT_ARG_STRING, &coroutine, 0, NULL, NULL},
	    {"unfold", 'u', POPT_ARG_NONE, &unfold, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct mt_timeline timeline = {.printer = {context->print, context->context},
				       .colour = context->print_colour,
				       .last = 50};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	mt_try(
	    mt_arguments_parse(&arguments, context, &mt_command_history, table, argc, argv, 1, 2));
	if (lines)
		mt_try(mt_parse_number(lines, "number of calls", 1, UINT32_MAX, &timeline.last));
	mt_try(mt_timeline_parse_track(thread, goroutine, coroutine, &timeline));
	if (!unfold)
		timeline.fold_hint = "\"--unfold\" shows them";
	if (arguments.count > 1)
		timeline.function = arguments.words[1];
	mt_try(mt_recording_open(arguments.words[0], context->progress, &recording));
	struct mt_error *error =
	    mt_timeline_write(context->log, context->progress, recording, &timeline, &stats);
	if (!error)
		mt_timeline_log_losses(context, recording, &stats);
	mt_recording_close(recording);
	return error;
}

const struct mt_command mt_command_history = {
    .name = "history",
    .summary = "Show the last calls of a recording as text",
    .usage = "[-n N] [-t TID | -g ID | -c N] [-u] RECORDING [FUNCTION]",
    .help =
	"Print the last calls of each thread, indented by depth, with their time before the\n"
	"end, duration and call site.  With FUNCTION, a name or a glob, print only its calls\n"
	"and their callers.  RECORDING \"-\" is standard input.  Calls that libraries made because\n"
	"the program ended, in exit and abort, in the unwinder of exceptions and in panics, are\n"
	"only counted.\n"
	"\n"
	"Options:\n"
	"  -n, --lines=N       number of calls per thread (default: 50)\n"
	"  -t, --thread=TID    print only this thread\n"
	"  -g, --goroutine=ID  print only this goroutine\n"
	"  -c, --coroutine=N   print only this coroutine\n"
	"  -u, --unfold        show all calls\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .run = run,
};
