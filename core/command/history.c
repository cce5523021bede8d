/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"

static const char *const options[] = {"--lines=N", "--thread=TID", NULL};

static struct mt_error *parse_numbers(const char *lines, const char *thread,
				      struct mt_timeline *timeline)
{
	uint64_t tid = 0;
	struct mt_error *error = NULL;

	if (lines)
		error = mt_parse_number(lines, "number of calls", 1, UINT32_MAX, &timeline->last);
	if (!error && thread)
		error = mt_parse_number(thread, "thread id", 1, INT32_MAX, &tid);
	timeline->tid = (pid_t)tid;
	return error;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *lines = NULL;
	mt_auto(mt_option) char *thread = NULL;
	const struct poptOption table[] = {
	    {"lines", 'n', POPT_ARG_STRING, &lines, 0, NULL, NULL},
	    {"thread", 't', POPT_ARG_STRING, &thread, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct mt_timeline timeline = {.printer = {context->print, context->context},
				       .colour = context->print_colour,
				       .last = 50};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};
	struct mt_error *error =
	    mt_arguments_parse(&arguments, context, &mt_command_history, table, argc, argv, 1, 2);

	if (!error)
		error = parse_numbers(lines, thread, &timeline);
	if (!error && arguments.count > 1)
		timeline.function = arguments.words[1];
	if (!error)
		error = mt_recording_open(arguments.words[0], context->progress, &recording);
	if (!error)
		error = mt_timeline_write(context, recording, &timeline, &stats);
	if (!error)
		mt_timeline_log_losses(context, recording, &stats);
	mt_recording_close(recording);
	return error;
}

const struct mt_command mt_command_history = {
    .name = "history",
    .summary = "Show the last calls of a recording as text",
    .usage = "[-n N] [-t TID] RECORDING [FUNCTION]",
    .help = "Print the last calls of each thread, indented by depth, with times relative to the\n"
	    "end, durations, and where each was called.  RECORDING \"-\" is standard input.\n"
	    "With FUNCTION only its calls are printed, and who called it.\n"
	    "\n"
	    "Options:\n"
	    "  -n, --lines=N     how many calls of each thread (default: 50)\n"
	    "  -t, --thread=TID  only this thread\n",
    .options = options,
    .run = run,
};
