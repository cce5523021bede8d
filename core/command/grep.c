/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of a recording, or of a program in a debugger, that fit a pattern. */
#include "query/grep.h"

#include "command/arguments.h"
#include "command/timeline.h"
#include "live/live.h"
#include "query/line.h"

#include <string.h>

#define DEFAULT_AROUND 10

struct request {
	const struct mt_command_context *context;
	struct mt_grep_options options;
	pid_t tid;
	const struct mt_grep *grep;
	bool json, has_one, is_over;
	struct mt_str line, scratch;
};

static struct mt_error *print_call(void *context, const struct mt_grep_call *call)
{
	struct request *request = context;

	mt_str_clear(&request->line);
	if (request->json) {
		mt_str_append(&request->line, request->has_one ? ",\n" : "[\n");
		mt_query_line_json(call, &request->line, &request->scratch);
	} else {
		mt_query_line(call, &request->line);
	}
	request->has_one = true;
	if (request->line.failed)
		return mt_error_no_memory();
	request->context->print(request->context->context, request->line.text);
	return NULL;
}

/* Of the calls of the function none was found: for which reason. */
static struct mt_error *explain(const struct request *request)
{
	const struct mt_grep_result found = mt_grep_result(request->grep);

	if (found.unknown == found.functions)
		return mt_error_new(
		    MT_ERROR_NOT_FOUND,
		    "of none of %llu calls it is known whether they fit: %s (--args "
		    "and --returns record values)",
		    (unsigned long long)found.functions, found.problem);
	return mt_error_new(MT_ERROR_NOT_FOUND, "none of %llu calls fits: %s",
			    (unsigned long long)found.functions, request->options.pattern);
}

static const char *missed(void *context)
{
	struct request *request = context;
	const struct mt_grep_result found = mt_grep_result(request->grep);

	request->is_over = true;
	return found.functions ? NULL : found.function;
}

static struct mt_error *finish(const struct request *request)
{
	const struct mt_grep_result found = mt_grep_result(request->grep);

	if (!found.matched)
		return explain(request);
	if (found.unknown)
		mt_log(request->context->log, MT_LOG_WARNING,
		       "of %llu calls it is not known whether they fit: %s",
		       (unsigned long long)found.unknown, found.problem);
	return NULL;
}

/* PATH NULL: in the debugger. */
static struct mt_error *run_request(struct request *request, const char *path)
{
	const struct mt_command_context *context = request->context;
	const struct mt_live_history all = {.is_unfolded = true,
					    .tid = request->tid,
					    .by_threads = true,
					    .missed = missed,
					    .context = request};
	const struct mt_timeline timeline = {
	    .tid = request->tid, .by_threads = true, .missed = missed, .context = request};
	struct mt_grep *grep = NULL;

	mt_try(mt_grep_create(&request->options, print_call, request, &grep));
	request->grep = grep;
	const struct mt_slice_sink sink = mt_grep_sink(grep);
	struct mt_error *error = path ? mt_timeline_feed_file(context, path, &timeline, sink)
				      : mt_live_history(context->debugger, &all, &sink);
	if (request->json && request->is_over)
		mt_command_printf(context, "%s]\n", request->has_one ? "\n" : "[");
	if (!error)
		error = finish(request);
	mt_grep_destroy(grep);
	mt_str_deinit(&request->line);
	mt_str_deinit(&request->scratch);
	return error;
}

/* "12ms", or as it is shown, "-12ms": so long before the end. */
static struct mt_error *parse_time(const char *text, uint64_t *before_ns)
{
	text += *text == '-';
	if (strcmp(text, "0") == 0) {
		*before_ns = 0;
		return NULL;
	}
	return mt_parse_duration(text, before_ns);
}

struct words {
	char *thread, *slowest, *first, *last, *around, *from, *to;
};

static struct mt_error *parse_kept(const struct words *words, struct mt_grep_options *options)
{
	const struct {
		const char *text;
		enum mt_grep_keep keep;
	} kinds[] = {{words->slowest, MT_GREP_SLOWEST},
		     {words->first, MT_GREP_FIRST},
		     {words->last, MT_GREP_LAST}};
	uint64_t most = DEFAULT_AROUND;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].text)
			continue;
		if (options->keep != MT_GREP_ALL)
			return mt_error_new(MT_ERROR_USAGE,
					    "use one of --slowest, --first, --last");
		options->keep = kinds[i].keep;
		mt_try(mt_parse_number(kinds[i].text, "number of calls", 1, UINT32_MAX, &most));
	}
	if (words->around && options->keep != MT_GREP_ALL)
		return mt_error_new(MT_ERROR_USAGE, "use --around alone, or with --from and --to");
	if (words->around) {
		options->keep = MT_GREP_AROUND;
		mt_try(parse_time(words->around, &options->around_ns));
	}
	options->most = most;
	return NULL;
}

static struct mt_error *parse_words(const struct words *words, struct request *request)
{
	struct mt_grep_options *options = &request->options;
	uint64_t tid = 0;

	options->from_ns = UINT64_MAX;
	if (words->thread)
		mt_try(mt_parse_number(words->thread, "thread id", 1, INT32_MAX, &tid));
	request->tid = (pid_t)tid;
	if (words->from)
		mt_try(parse_time(words->from, &options->from_ns));
	if (words->to)
		mt_try(parse_time(words->to, &options->to_ns));
	if (options->from_ns < options->to_ns)
		return mt_error_new(MT_ERROR_USAGE,
				    "--from=%s is later than --to=%s: times count back from the "
				    "end",
				    words->from, words->to);
	return parse_kept(words, options);
}

static void words_cleanup(struct words *words)
{
	free(words->thread);
	free(words->slowest);
	free(words->first);
	free(words->last);
	free(words->around);
	free(words->from);
	free(words->to);
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(words) struct words words = {0};
	int json = 0;
	/* In a debugger long options may have one dash, as GDB's do. */
	const int text = POPT_ARG_STRING | POPT_ARGFLAG_ONEDASH;
	const struct poptOption table[] = {
	    {"thread", 't', text, &words.thread, 0, NULL, NULL},
	    {"slowest", 0, text, &words.slowest, 0, NULL, NULL},
	    {"first", 0, text, &words.first, 0, NULL, NULL},
	    {"last", 0, text, &words.last, 0, NULL, NULL},
	    {"around", 0, text, &words.around, 0, NULL, NULL},
	    {"from", 0, text, &words.from, 0, NULL, NULL},
	    {"to", 0, text, &words.to, 0, NULL, NULL},
	    {"json", 0, POPT_ARG_NONE | POPT_ARGFLAG_ONEDASH, &json, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	const bool is_live = context->debugger;
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct request request = {.context = context};

	mt_try(mt_arguments_parse(&arguments, context,
				  is_live ? &mt_command_live_grep : &mt_command_grep, table, argc,
				  argv, is_live ? 1 : 2, is_live ? 1 : 2));
	mt_try(parse_words(&words, &request));
	request.json = json;
	request.options.pattern = arguments.words[arguments.count - 1];
	return run_request(&request, is_live ? NULL : arguments.words[0]);
}

#define HELP_OF_PATTERN                                                                            \
	"PATTERN is a function, a name or a glob; with (EXPRESSION) behind it only calls whose\n"  \
	"recorded values fit, as in 'price_of(count > 3 && $_streq(name, \"tea\"))' or\n"          \
	"'open($_ret < 0)'; with > TIME or < TIME at the end only those that took longer, or\n"    \
	"less.  A line has the time before the end, the duration, the thread, and the call with\n" \
	"its callers.\n"

static const char *const options[] = {"--thread=TID", "--slowest=N",   "--first=N",
				      "--last=N",     "--around=TIME", "--from=TIME",
				      "--to=TIME",    "--json",        NULL};

const struct mt_command mt_command_grep = {
    .name = "grep",
    .summary = "Find calls by function, values, duration and time",
    .usage = "[OPTION…] RECORDING PATTERN",
    .help =
	"Print the calls in RECORDING that fit PATTERN, each with its callers.  " HELP_OF_PATTERN
	"RECORDING \"-\" is standard input.\n"
	"\n"
	"Options:\n"
	"  -t, --thread=TID  only calls of this thread\n"
	"  --slowest=N       only the N slowest, the slowest first\n"
	"  --first=N         only the first N\n"
	"  --last=N          only the last N\n"
	"  --around=TIME     only the ten that were under way TIME before the end, or nearest\n"
	"                    to it, as in 12ms\n"
	"  --from=TIME       only calls that had not ended TIME before the end\n"
	"  --to=TIME         only calls that had begun TIME before the end\n"
	"  --json            print JSON, times in ns\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};

static const char *const live_options[] = {"-thread TID",  "-slowest NUMBER", "-first NUMBER",
					   "-last NUMBER", "-around TIME",    "-from TIME",
					   "-to TIME",     "-json",           NULL};

const struct mt_command mt_command_live_grep = {
    .name = "grep",
    .summary = "Find calls by function, values, duration and time",
    .usage = "[OPTION]... PATTERN",
    .help =
	"Of all threads, as far back as was recorded.  A PATTERN with blanks is quoted.\n" HELP_OF_PATTERN
	"\n"
	"Options:\n"
	"  -thread TID      only calls of this thread\n"
	"  -slowest NUMBER  only so many of the slowest, the slowest first\n"
	"  -first NUMBER    only the first so many\n"
	"  -last NUMBER     only the last so many\n"
	"  -around TIME     only the ten that were under way TIME before the end, or\n"
	"                   nearest to it\n"
	"  -from TIME       only calls that had not ended TIME before the end\n"
	"  -to TIME         only calls that had begun TIME before the end\n"
	"  -json            print JSON, times in ns\n",
    .options = live_options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_LOCATION,
    .group = "COMMAND_STACK",
    .run = run,
};
