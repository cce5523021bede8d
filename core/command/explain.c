/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the slowest calls of a function spent more time than its calls mostly do. */
#include "query/explain.h"

#include "command/arguments.h"
#include "command/timeline.h"
#include "live/live.h"

#define DEFAULT_CALLS 3

struct request {
	const struct mt_command_context *context;
	const char *function;
	bool json, is_missed;
	struct mt_recording *recording; /* NULL: the history in the debugger */
};

/* Of all threads: any may have held a lock. */
static struct mt_error *look_again(const struct request *request, struct mt_slice_sink sink)
{
	const struct mt_command_context *context = request->context;
	const struct mt_live_history history = {.by_threads = true, .is_for_statistics = true};
	const struct mt_timeline timeline = {.is_for_statistics = true, .by_threads = true};
	struct mt_decode_stats stats = {0};

	if (!request->recording)
		return mt_live_history(context->debugger, &history, &sink);
	/* What it lacks has been said. */
	return mt_timeline_decode(NULL, context->progress, request->recording, &timeline, sink,
				  &stats);
}

static struct mt_error *find_holders(const struct request *request,
				     struct mt_explain_result *result,
				     struct mt_lock_search *search)
{
	mt_array_each (call, &result->slowest)
		for (size_t i = 0; i < call->locks.count; i++)
			mt_try(mt_lock_search_add(search, call->pid, call->tid,
						  &call->locks.longest[i]));
	if (mt_lock_search_is_empty(search))
		return NULL;
	return look_again(request, mt_lock_search_sink(search));
}

static struct mt_error *print(const struct request *request, const struct mt_explain_result *result)
{
	mt_auto(mt_str) struct mt_str text = {0};

	if (request->json)
		mt_explain_print_json(result, &text);
	else
		mt_explain_print(request->function, result, &text);
	if (text.failed)
		return mt_error_no_memory();
	request->context->print(request->context->context, text.text);
	return NULL;
}

static struct mt_error *report(void *context, struct mt_explain_result *result)
{
	struct request *request = context;
	struct mt_lock_search *search = NULL;

	request->is_missed = !result->calls && !result->partial;
	if (request->is_missed)
		return NULL;
	if (!result->calls)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "none of %llu calls of \"%s\" was seen whole: there is nothing "
				    "to compare",
				    (unsigned long long)result->partial, request->function);
	mt_try(mt_lock_search_create(&search));
	struct mt_error *error = find_holders(request, result, search);
	if (!error)
		error = print(request, result);
	mt_lock_search_destroy(search);
	return error;
}

static const char *missed(void *context)
{
	const struct request *request = context;

	return request->is_missed ? request->function : NULL;
}

static struct mt_error *explain_file(struct request *request, const char *path,
				     const struct mt_timeline *timeline, struct mt_slice_sink sink)
{
	const struct mt_command_context *context = request->context;

	mt_try(mt_recording_open(path, context->progress, &request->recording));
	struct mt_error *error = mt_timeline_feed(context, request->recording, timeline, sink);
	mt_recording_close(request->recording);
	return error;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *lines = NULL, *thread = NULL;
	int json = 0;
	/* In a debugger long options may have one dash, as GDB's do. */
	const int text = POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH;
	const struct poptOption table[] = {
	    {"lines", 'n', text, &lines, 0, NULL, NULL},
	    {"thread", 't', text, &thread, 0, NULL, NULL},
	    {"json", 0, POPT_ARG_NONE | POPT_ARGFLAG_ONEDASH, &json, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	const bool is_live = context->debugger;
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct request request = {.context = context};
	struct mt_live_history all = {
	    .by_threads = true, .is_for_statistics = true, .missed = missed, .context = &request};
	struct mt_explain *explain = NULL;
	uint64_t most = DEFAULT_CALLS, tid = 0;

	mt_try(mt_arguments_parse(&arguments, context,
				  is_live ? &mt_command_live_explain : &mt_command_explain, table,
				  argc, argv, is_live ? 1 : 2, is_live ? 1 : 2));
	if (lines)
		mt_try(mt_parse_number(lines, "number of calls", 1, UINT16_MAX, &most));
	if (thread)
		mt_try(mt_parse_number(thread, "thread id", 1, INT32_MAX, &tid));
	all.tid = (pid_t)tid;
	request.json = json;
	request.function = arguments.words[arguments.count - 1];
	mt_try(mt_explain_create(request.function, most, &explain));
	mt_explain_on_done(explain, report, &request);
	const struct mt_slice_sink sink = mt_explain_sink(explain);
	const struct mt_timeline timeline = {
	    .tid = (pid_t)tid,
	    .by_threads = true,
	    .is_for_statistics = true,
	    .missed = missed,
	    .context = &request,
	    .needs_calls = "explain compares the durations of calls; \"mtdb stats\" shows where "
			   "time was spent",
	};
	struct mt_error *error = is_live
				     ? mt_live_history(context->debugger, &all, &sink)
				     : explain_file(&request, arguments.words[0], &timeline, sink);
	mt_explain_destroy(explain);
	return error;
}

#define HELP_OF_PLACES                                                                              \
	"Each place, a path of callees below the function, is compared with the median of the\n"    \
	"time that a call spends in its own code.  With --events=sched,faults,syscalls recorded,\n" \
	"it is also told what the call waited for.  Of a wait for a lock there is who held it,\n"   \
	"where that can be told.\n"

static const char *const options[] = {"--lines=N", "--thread=TID", "--json", NULL};

const struct mt_command mt_command_explain = {
    .name = "explain",
    .summary = "Show why the slowest calls of a function are slow",
    .usage = "[-n N] [-t TID] [--json] RECORDING FUNCTION",
    .help = "Show where the slowest calls of FUNCTION, a name or a glob, spent more time than its\n"
	    "calls mostly do.  " HELP_OF_PLACES "RECORDING \"-\" is standard input.\n"
	    "\n"
	    "Options:\n"
	    "  -n, --lines=N     number of calls (default: 3)\n"
	    "  -t, --thread=TID  only calls of this thread\n"
	    "  --json            print JSON, durations in ns\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};

static const char *const live_options[] = {"-lines NUMBER", "-thread TID", "-json", NULL};

const struct mt_command mt_command_live_explain = {
    .name = "explain",
    .summary = "Show why the slowest calls of a function are slow",
    .usage = "[OPTION]... FUNCTION",
    .help = "Of all threads, as far back as was recorded.  " HELP_OF_PLACES "\n"
	    "Options:\n"
	    "  -lines NUMBER  number of calls (default: 3)\n"
	    "  -thread TID    only calls of this thread\n"
	    "  -json          print JSON, durations in ns\n",
    .options = live_options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_LOCATION,
    .group = "COMMAND_STACK",
    .run = run,
};
