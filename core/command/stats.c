/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often functions were called and how long they took: of a recording in the shell, of what is
 * recorded in a debugger. */
#include "command/stats.h"

#include "base/utf8.h"
#include "command/arguments.h"
#include "command/timeline.h"
#include "live/live.h"
#include "stats/report.h"

#include <string.h>

#define DEFAULT_ROWS    20
#define DEFAULT_SLOWEST 10
#define DEFAULT_COLUMNS 80

#define BY_WORDS   "function|thread|process|caller"
#define SORT_WORDS "total|self|calls|min|p50|p90|p99|max|waited|name"

struct request {
	const struct mt_command_context *context;
	struct mt_stats_options options;
	struct mt_stats_report report;
	void (*format)(const struct mt_stats_report *report, struct mt_stats_result *result,
		       struct mt_str *out);
	struct mt_timeline timeline; /* of a recording */
};

/* The index of WORD among NAMES, of which the last may be NULL. */
static struct mt_error *choose(const char *option, const char *word, const char *const *names,
			       size_t count, unsigned *out)
{
	mt_auto(mt_str) struct mt_str known = {0};

	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], word) == 0) {
			*out = (unsigned)i;
			return NULL;
		}
		mt_str_appendf(&known, "%s%s", i ? ", " : "", names[i]);
	}
	if (known.failed)
		return mt_error_no_memory();
	return mt_error_new(MT_ERROR_USAGE, "%s=%s: choose one of %s", option, word, known.text);
}

/* Of what was counted, to PRINT. */
static struct mt_error *show(const struct request *request, struct mt_stats *stats,
			     void (*print)(void *context, const char *text))
{
	struct mt_stats_result *result = mt_stats_result(stats);
	mt_auto(mt_str) struct mt_str text = {0}, clean = {0};

	request->format(&request->report, result, &text);
	if (text.text)
		mt_utf8_append_lines(&clean, text.text);
	if (text.failed || clean.failed)
		return mt_error_no_memory();
	print(request->context->context, clean.text ? clean.text : "");
	return NULL;
}

struct counted {
	const struct request *request;
	struct mt_stats *stats;
};

static const char *missed(void *context)
{
	const struct counted *counted = context;

	return mt_stats_result(counted->stats)->functions.count
		   ? NULL
		   : counted->request->options.function;
}

static struct mt_error *count_recording(const struct request *request,
					struct mt_recording *recording, struct mt_stats *stats)
{
	struct mt_timeline timeline = request->timeline;

	timeline.is_for_statistics = true;
	timeline.missed = missed;
	timeline.context = &(struct counted){request, stats};
	return mt_timeline_feed(request->context, recording, &timeline, mt_stats_sink(stats));
}

struct mt_error *mt_stats_report_recording(const struct mt_command_context *context,
					   struct mt_recording *recording)
{
	struct request request = {
	    .context = context,
	    .format = mt_stats_print,
	    .report = {.most = DEFAULT_ROWS,
		       .columns = context->columns ? context->columns : DEFAULT_COLUMNS},
	};
	struct mt_stats *stats = NULL;

	request.report.options = &request.options;
	mt_try(mt_stats_create(&request.options, &stats));
	struct mt_error *error = count_recording(&request, recording, stats);
	if (!error)
		error = show(&request, stats, context->report);
	mt_stats_destroy(stats);
	return error;
}

static struct mt_error *run_request(struct request *request, const char *path)
{
	const struct mt_command_context *context = request->context;
	struct mt_recording *recording = NULL;
	struct mt_stats *stats = NULL;
	struct mt_error *error = mt_stats_create(&request->options, &stats);

	if (!error && path)
		error = mt_recording_open(path, context->progress, &recording);
	if (!error && path)
		error = count_recording(request, recording, stats);
	if (!error && !path) {
		const struct mt_slice_sink sink = mt_stats_sink(stats);
		struct counted counted = {request, stats};
		const struct mt_live_history all = {.by_threads = true,
						    .is_for_statistics = true,
						    .missed = missed,
						    .context = &counted};

		error = mt_live_history(context->debugger, &all, &sink);
	}
	if (!error)
		error = show(request, stats, context->print);
	mt_recording_close(recording);
	mt_stats_destroy(stats);
	return error;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *lines = NULL, *thread = NULL, *goroutine = NULL, *coroutine = NULL,
				*by = NULL, *sort = NULL;
	int json = 0, csv = 0;
	/* In a debugger long options may have one dash, as GDB's do. */
	const struct poptOption table[] = {
	    {"lines", 'n', POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH, &lines, 0, NULL, NULL},
	    {"thread", 't', POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH, &thread, 0, NULL, NULL},
	    {"goroutine", 'g', POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH, &goroutine, 0, NULL, NULL},
	    {"coroutine", 'c', POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH, &coroutine, 0, NULL, NULL},
	    {"by", 0, POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH, &by, 0, NULL, NULL},
	    {"sort", 0, POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH, &sort, 0, NULL, NULL},
	    {"json", 0, POPT_ARG_NONE | POPT_ARGFLAG_ONEDASH, &json, 0, NULL, NULL},
	    {"csv", 0, POPT_ARG_NONE | POPT_ARGFLAG_ONEDASH, &csv, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	const bool is_live = context->debugger;
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct request request = {
	    .context = context,
	    .options = {.slowest = DEFAULT_SLOWEST},
	    .report = {.most = DEFAULT_ROWS,
		       .columns = context->columns ? context->columns : DEFAULT_COLUMNS},
	};
	uint64_t rows = DEFAULT_ROWS;
	unsigned chosen_by = 0, chosen_sort = 0;

	mt_try(mt_arguments_parse(&arguments, context,
				  is_live ? &mt_command_live_stats : &mt_command_stats, table, argc,
				  argv, is_live ? 0 : 1, is_live ? 1 : 2));
	if (lines)
		mt_try(mt_parse_number(lines, "number of rows", 0, UINT32_MAX, &rows));
	if ((goroutine || coroutine) && is_live)
		return mt_error_new(MT_ERROR_USAGE, "%s are known of recordings alone",
				    goroutine ? "goroutines" : "coroutines");
	mt_try(mt_timeline_parse_track(thread, goroutine, coroutine, &request.timeline));
	if (by)
		mt_try(choose("--by", by, mt_stats_by_names, MT_STATS_BY_CALLER + 1, &chosen_by));
	if (sort)
		mt_try(choose("--sort", sort, mt_stats_sort_names, MT_STATS_SORTS, &chosen_sort));
	if (json && csv)
		return mt_error_new(MT_ERROR_USAGE, "use either --json or --csv");
	request.options.by = chosen_by;
	request.options.function =
	    arguments.count > !is_live ? arguments.words[arguments.count - 1] : NULL;
	request.report.options = &request.options;
	request.report.sort = chosen_sort;
	request.report.most = rows;
	if (lines && rows)
		request.options.slowest = rows;
	request.format = json ? mt_stats_print_json : csv ? mt_stats_print_csv : mt_stats_print;
	return run_request(&request, is_live ? NULL : arguments.words[0]);
}

#define HELP_OF_COLUMNS                                                                               \
	"total is the time from call to return, self the part outside of other calls, waited the\n"   \
	"part of the total off the CPU, where --events=sched recorded it; min, p50 (the median),\n"   \
	"p90, p99 and max are of the calls that were seen whole.  Inlined calls count as their\n"     \
	"callers' own.  With FUNCTION, a name or a glob: a histogram of its durations, its callers\n" \
	"and callees, and its slowest calls.\n"

static const char *const options[] = {"--lines=N",     "--thread=TID", "--goroutine=ID",
				      "--coroutine=N", "--by=WHAT",    "--sort=COLUMN",
				      "--json",        "--csv",        NULL};

const struct mt_command mt_command_stats = {
    .name = "stats",
    .summary = "Show how often functions were called and how long they took",
    .usage = "[OPTION…] RECORDING [FUNCTION]",
    .help =
	"Print a table of the functions that were called in RECORDING, and another one of what\n"
	"threads waited for: system calls, page faults, and being off the CPU.  " HELP_OF_COLUMNS
	"Of samples of stacks (perf record -g) these are counted, and not calls.  RECORDING \"-\"\n"
	"is standard input.\n"
	"\n"
	"Options:\n"
	"  -n, --lines=N      rows of each table, and slowest calls (default: 20, and 10; 0: all\n"
	"                     rows)\n"
	"  -t, --thread=TID   count only this thread\n"
	"  -g, --goroutine=ID count only this goroutine\n"
	"  -c, --coroutine=N  count only this coroutine\n"
	"  --by=WHAT          a row for each function and thread, process or caller (default:\n"
	"                     function)\n"
	"  --sort=COLUMN      total (default), self, calls, min, p50, p90, p99, max, waited or\n"
	"                     name\n"
	"  --json             print JSON, durations in ns\n"
	"  --csv              print a line for each function, durations in ns\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};

static const char *const live_options[] = {"-lines NUMBER", "-by " BY_WORDS, "-sort " SORT_WORDS,
					   "-json",         "-csv",          NULL};

const struct mt_command mt_command_live_stats = {
    .name = "stats",
    .summary = "Show how often functions were called and how long they took",
    .usage = "[OPTION]... [FUNCTION]",
    .help = "Of all threads, as far back as was recorded.  " HELP_OF_COLUMNS "\n"
	    "Options:\n"
	    "  -lines NUMBER   rows of each table, and slowest calls (default: 20, and 10; 0:\n"
	    "                  all rows)\n"
	    "  -by WHAT        a row for each function and thread, process or caller\n"
	    "  -sort COLUMN    total (default), self, calls, min, p50, p90, p99, max, waited or\n"
	    "                  name\n"
	    "  -json           print JSON, durations in ns\n"
	    "  -csv            print a line for each function, durations in ns\n",
    .options = live_options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_LOCATION,
    .group = "COMMAND_STACK",
    .run = run,
};
