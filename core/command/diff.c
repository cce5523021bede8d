/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where two recorded runs part ways, and what changed. */
#include "query/diff.h"

#include "command/arguments.h"
#include "command/timeline.h"

#define DEFAULT_ROWS     20
#define DEFAULT_PARTINGS 3

struct side {
	struct mt_stats *stats;
	struct mt_call_log *log;
};

static struct mt_error *read_recording(const struct mt_command_context *context, const char *path,
				       struct mt_call_names *names, struct side *side)
{
	const struct mt_stats_options options = {.by = MT_STATS_BY_FUNCTION};
	const struct mt_timeline timeline = {
	    .by_threads = true,
	    .is_for_statistics = true,
	    .needs_calls = "diff compares calls one by one, and two runs are never sampled at the "
			   "same moments; compare the tables of \"mtdb stats\"",
	};

	mt_try(mt_stats_create(&options, &side->stats));
	mt_try(mt_call_log_create(names, mt_stats_sink(side->stats), &side->log));
	return mt_timeline_feed_file(context, path, &timeline, mt_call_log_sink(side->log));
}

static struct mt_error *compare(struct mt_command_context *context, const char *const *paths,
				struct mt_diff *diff)
{
	struct mt_call_names *names = NULL;
	struct side sides[2] = {0};
	mt_auto(mt_str) struct mt_str text = {0};
	bool differs = false;
	struct mt_error *error = mt_call_names_create(&names);

	for (unsigned i = 0; i < 2 && !error; i++)
		error = read_recording(context, paths[i], names, &sides[i]);
	diff->names = names;
	for (unsigned i = 0; i < 2 && !error; i++) {
		diff->logs[i] = sides[i].log;
		diff->stats[i] = mt_stats_result(sides[i].stats);
	}
	if (!error)
		error = mt_diff_print(diff, &text, &differs);
	if (!error) {
		context->print(context->context, text.text ? text.text : "");
		context->exit_status = differs;
	}
	for (unsigned i = 0; i < 2; i++) {
		mt_call_log_destroy(sides[i].log);
		mt_stats_destroy(sides[i].stats);
	}
	mt_call_names_destroy(names);
	return error;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *lines = NULL, *thread = NULL, *partings = NULL;
	const struct poptOption table[] = {
	    {"lines", 'n', POPT_ARG_STRING, &lines, 0, NULL, NULL},
	    {"partings", 'p', POPT_ARG_STRING, &partings, 0, NULL, NULL},
	    {"thread", 't', POPT_ARG_STRING, &thread, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	uint64_t rows = DEFAULT_ROWS, shown = DEFAULT_PARTINGS, tid = 0;

	mt_try(mt_arguments_parse(&arguments, context, &mt_command_diff, table, argc, argv, 2, 2));
	if (lines)
		mt_try(mt_parse_number(lines, "number of rows", 0, UINT32_MAX, &rows));
	if (partings)
		mt_try(mt_parse_number(partings, "number of partings", 0, UINT32_MAX, &shown));
	if (thread)
		mt_try(mt_parse_number(thread, "thread id", 1, INT32_MAX, &tid));
	struct mt_diff diff = {.tid = (pid_t)tid, .most = rows, .partings = shown};
	return compare(context, arguments.words, &diff);
}

static const char *const options[] = {"--lines=N", "--partings=N", "--thread=TID", NULL};

const struct mt_command mt_command_diff = {
    .name = "diff",
    .summary = "Show where two recorded runs part ways",
    .usage = "[-n N] [-p N] [-t TID] RECORDING RECORDING",
    .help =
	"Compare the calls of each thread in two recordings, one by one, without times and\n"
	"addresses; print the first that differ (- the first, + the second recording), with\n"
	"their callers and what was called before and after, and where they part again; and\n"
	"which functions were called more often, or took longer.  Exit status: 0 if the calls are the same, 1 if not, 2 on\n"
	"failure.\n"
	"\n"
	"Options:\n"
	"  -n, --lines=N     rows of each table (default: 20; 0: all)\n"
	"  -p, --partings=N  of each thread the first N times that the runs part (default: 3; 0:\n"
	"                    all)\n"
	"  -t, --thread=TID  only this thread of the first recording\n",
    .options = options,
    .failure_status = 2,
    .where = MT_COMMAND_IN_SHELL,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};
