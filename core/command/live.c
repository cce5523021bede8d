/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands `mtrace …` of a debugger that are about the program in it. */
#include "live/live.h"
#include "command/command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct option {
	const char *name; /* "-size" */
	const char **value;
	bool *flag; /* of one without a value; else NULL */
};

/* The options in front may be abbreviated, as GDB's; *first: behind them. */
static struct mt_error *take_options(int argc, char **argv, const struct option *table, int *first)
{
	int at = 1;

	for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
		const struct option *found = NULL;

		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		for (const struct option *option = table; option->name; option++) {
			if (strncmp(option->name, argv[at], strlen(argv[at])) != 0)
				continue;
			if (found)
				return mt_error_new(MT_ERROR_USAGE,
						    "%s: ambiguous option: %s or %s", argv[at],
						    found->name, option->name);
			found = option;
		}
		if (!found)
			return mt_error_new(MT_ERROR_USAGE, "unknown option: %s", argv[at]);
		if (found->flag) {
			*found->flag = true;
			continue;
		}
		if (++at >= argc)
			return mt_error_new(MT_ERROR_USAGE, "%s requires a value", found->name);
		*found->value = argv[at];
	}
	*first = at;
	return NULL;
}

static const char *const start_options[] = {
    "-engine auto|calls|pt|sample", "-size SIZE",    "-threads all|current",
    "-timestamps sampled|full",     "-python-calls", NULL};

static struct mt_error *start(struct mt_command_context *context, int argc, char **argv)
{
	struct mt_live_debugger *debugger = context->debugger;
	struct mt_live_start options = {0};
	const struct option table[] = {{"-engine", &options.engine, NULL},
				       {"-size", &options.size, NULL},
				       {"-threads", &options.threads, NULL},
				       {"-timestamps", &options.stamps, NULL},
				       {"-python-calls", NULL, &options.python_calls},
				       {NULL, NULL, NULL}};
	int first = 1;

	mt_try(take_options(argc, argv, table, &first));
	if (first < argc)
		return mt_error_new(MT_ERROR_USAGE, "mtrace start takes options only: \"%s\"",
				    argv[first]);
	mt_try(mt_live_start(debugger, &options));
	pid_t pid = debugger->ops->pid(debugger->context);
	if (pid)
		mt_command_printf(context, "Recording the calls of process %d.\n", pid);
	else
		mt_command_printf(context, "The program's calls will be recorded when it runs.\n");
	return NULL;
}

const struct mt_command mt_command_start = {
    .name = "start",
    .summary = "Record the program's function calls",
    .usage = "[-engine ENGINE] [-size SIZE] [-threads all|current] "
	     "[-timestamps sampled|full] [-python-calls]",
    .help =
	"Before \"run\", recording begins with the program's first instruction; while it is\n"
	"stopped, when it goes on.  Each thread has a ring of its own, which holds its last "
	"calls.\n\n"
	"Options:\n"
	"  -engine ENGINE      auto, calls or sample, in GDB also pt (default: auto; in GDB, set\n"
	"                      mtrace engine)\n"
	"  -size SIZE          of each thread's ring, such as 16M (default: 4M; in GDB,\n"
	"                      set mtrace buffer-size)\n"
	"  -threads WHICH      all, or current: the selected one, before \"run\" the first\n"
	"  -timestamps WHICH   sampled or full (default: sampled; in GDB, set mtrace\n"
	"                      timestamps)\n"
	"  -python-calls       all calls of functions in Python, also those that Python makes\n"
	"                      (CPython 3.11; in GDB, set mtrace python-calls)\n",
    .options = start_options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .group = "COMMAND_RUNNING",
    .run = start,
};

static struct mt_error *stop(struct mt_command_context *context, int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return mt_error_new(MT_ERROR_USAGE, "mtrace stop takes no arguments");
	mt_try(mt_live_stop(context->debugger));
	mt_command_printf(context, "Recording stopped.\n");
	return NULL;
}

const struct mt_command mt_command_stop = {
    .name = "stop",
    .summary = "Stop recording",
    .usage = "",
    .help = "The program runs on as if it had never been recorded.  What was recorded can still "
	    "be\nlooked at, until the next start.\n",
    .where = MT_COMMAND_IN_DEBUGGER,
    .group = "COMMAND_RUNNING",
    .run = stop,
};

static struct mt_live *selected(const struct mt_command_context *context)
{
	return context->debugger->ops->selected(context->debugger->context, false);
}

static struct mt_error *snapshot(struct mt_command_context *context, int argc, char **argv)
{
	const char *path;

	if (argc > 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace snapshot takes one file: \"%s\"",
				    argv[2]);
	mt_try(mt_live_snapshot(context->debugger, selected(context), argc > 1 ? argv[1] : NULL,
				&path, NULL));
	mt_command_printf(context, "Snapshot %u is in %s.\n", context->debugger->snapshots, path);
	return NULL;
}

const struct mt_command mt_command_snapshot = {
    .name = "snapshot",
    .summary = "Write what was recorded so far as a timeline",
    .usage = "[FILE]",
    .help = "FILE's ending selects the format: .fxt or .pftrace (for\n"
	    "https://ui.perfetto.dev), .html (for any browser), .json, .speedscope.json, .txt or\n"
	    ".folded; .gz or .zst behind it packs the file (default: trace-N.fxt; in GDB, set\n"
	    "mtrace output).\n",
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_FILE,
    .group = "COMMAND_DATA",
    .run = snapshot,
};

static struct mt_error *save(struct mt_command_context *context, int argc, char **argv)
{
	struct mt_recording *recording = NULL;

	if (argc != 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace save requires a file name");
	mt_try(mt_live_copy(context->debugger, selected(context), argv[1], &recording));
	mt_recording_close(recording);
	mt_command_printf(context, "Recording saved to %s.\n", argv[1]);
	return NULL;
}

const struct mt_command mt_command_save = {
    .name = "save",
    .summary = "Write what was recorded so far as a recording",
    .usage = "FILE",
    .help = "It is a perf.data file, for \"mtrace decode\", mtdb and perf script.\n",
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_FILE,
    .group = "COMMAND_DATA",
    .run = save,
};

static struct mt_error *trigger(struct mt_command_context *context, int argc, char **argv)
{
	return mt_live_add_trigger(context->debugger, argc > 1 ? argv[1] : "", NULL);
}

static const char *const trigger_options[] = {"-return",
					      "-slower TIME",
					      "-between TIME",
					      "-ignore COUNT",
					      "-every COUNT",
					      "-rate COUNT/s",
					      "-max COUNT",
					      "-stop",
					      "-print EXPRESSION",
					      "-pending",
					      NULL};

const struct mt_command mt_command_trigger = {
    .name = "trigger",
    .summary = "Take a snapshot whenever a thread comes to LOCATION and CONDITION holds",
    .usage = "[OPTION]... LOCATION [return] [if CONDITION] [> TIME]",
    .help = "LOCATION is what \"break\" takes; \".\" stands for the function\n"
	    "magic_trace_stop_indicator, whose arguments are shown.  The program goes on.\n"
	    "\"BEGIN..END > TIME\" is hit when a thread comes to the function END and that time\n"
	    "has passed since it came to BEGIN last, \"FUNCTION after TIME\" when it has since\n"
	    "the thread came to FUNCTION last; $_duration is the time, in ns.\n\n"
	    "Options:\n"
	    "  -return             when calls of the function LOCATION return: CONDITION is\n"
	    "                      about $_ret, which it returns, and $_duration, in ns; the\n"
	    "                      same as \"return\" behind LOCATION\n"
	    "  -slower TIME        when calls of it end that took longer (5ms, 20us); the same\n"
	    "                      as \"> TIME\" at the end\n"
	    "  -between TIME       when at least TIME has passed since the last; the same as\n"
	    "                      \"after TIME\" behind LOCATION\n"
	    "  -ignore COUNT       not at the first COUNT hits\n"
	    "  -every COUNT        at each COUNT-th hit\n"
	    "  -rate COUNT/s       at most so often (/m, /h: a minute, an hour)\n"
	    "  -max COUNT          take at most so many snapshots\n"
	    "  -stop               stop the program, too\n"
	    "  -print EXPRESSION   show its value there; quote one that contains blanks\n"
	    "  -pending            wait for a library that has LOCATION\n",
    .options = trigger_options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_LOCATION,
    .group = "COMMAND_BREAKPOINTS",
    .is_raw = true,
    .run = trigger,
};

static struct mt_error *delete (struct mt_command_context *context, int argc, char **argv)
{
	if (argc != 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace delete requires a trigger number");
	return mt_live_delete_trigger(context->debugger, argv[1]);
}

const struct mt_command mt_command_delete = {
    .name = "delete",
    .summary = "Delete a trigger",
    .usage = "NUMBER",
    .help = "\"mtrace info\" lists them with their numbers.\n",
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_TRIGGER,
    .group = "COMMAND_BREAKPOINTS",
    .run = delete,
};

struct wanted {
	uint64_t number;
	pid_t lwp;
};

static void match_thread(void *context, const struct mt_live_thread *thread)
{
	struct wanted *wanted = context;

	if (thread->number == wanted->number)
		wanted->lwp = thread->lwp;
}

struct mt_error *mt_command_read_history(struct mt_live_debugger *debugger, int argc, char **argv,
					 struct mt_live_history *out)
{
	const char *thread = NULL;
	const struct option table[] = {
	    {"-thread", &thread, NULL}, {"-unfold", NULL, &out->is_unfolded}, {NULL, NULL, NULL}};
	struct wanted wanted = {0};
	int first = 1;

	*out = mt_live_default_history(debugger);
	mt_try(take_options(argc, argv, table, &first));
	if (first < argc && isdigit((unsigned char)argv[first][0]))
		mt_try(
		    mt_parse_number(argv[first++], "number of calls", 1, UINT32_MAX, &out->last));
	if (first < argc)
		out->function = argv[first++];
	if (first < argc)
		return mt_error_new(MT_ERROR_USAGE,
				    "mtrace history takes a number and a function: \"%s\" is one "
				    "word too many (quote a name that contains blanks)",
				    argv[first]);
	if (thread) {
		mt_try(mt_parse_number(thread, "thread", 1, INT32_MAX, &wanted.number));
		debugger->ops->each_thread(debugger->context, match_thread, &wanted);
		if (!wanted.lwp)
			return mt_error_new(MT_ERROR_USAGE, "Unknown thread %s.", thread);
	}
	if (thread)
		out->tid = wanted.lwp;
	out->by_threads = thread;
	return NULL;
}

static struct mt_error *history(struct mt_command_context *context, int argc, char **argv)
{
	struct mt_live_history what;

	mt_try(mt_command_read_history(context->debugger, argc, argv, &what));
	return mt_live_history(context->debugger, &what, NULL);
}

static const char *const history_options[] = {"-thread NUMBER", "-unfold", NULL};

const struct mt_command mt_command_live_history = {
    .name = "history",
    .summary = "Show the last function calls of the selected thread",
    .usage = "[-thread NUMBER] [-unfold] [COUNT] [FUNCTION]",
    .help =
	"They are indented by depth, with times before the end, durations, and where each was\n"
	"called.  Of a thread that runs a goroutine these are the goroutine's, in whatever threads.\n"
	"Of a program that ended all threads are shown.  Calls that libraries made\n"
	"because it ended, in exit and abort, in the unwinder of exceptions and in panics, are\n"
	"only counted.\n\n"
	"COUNT is how many calls (default: 25; in GDB, set mtrace history-size).\n"
	"FUNCTION: only calls of it are shown, and counted, with their callers.  Parameters and\n"
	"namespaces may be left out; \"*\" and \"?\" stand for any letters.\n\n"
	"Options:\n"
	"  -thread NUMBER   that thread, by the debugger's number, and not its goroutine\n"
	"  -unfold          show all calls\n",
    .options = history_options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_LOCATION,
    .group = "COMMAND_STACK",
    .run = history,
};

static struct mt_error *info(struct mt_command_context *context, int argc, char **argv)
{
	if (argc <= 1) {
		mt_live_info(context->debugger);
		return NULL;
	}
	if (strncmp("functions", argv[1], strlen(argv[1])) != 0 || !*argv[1])
		return mt_error_new(MT_ERROR_USAGE,
				    "mtrace info takes no arguments, or \"functions\": \"%s\"",
				    argv[1]);
	if (argc > 3)
		return mt_error_new(MT_ERROR_USAGE,
				    "mtrace info functions takes one name: \"%s\" is one word too "
				    "many (quote a name that contains blanks)",
				    argv[3]);
	return mt_live_functions(context->debugger, argc > 2 ? argv[2] : NULL);
}

const struct mt_command mt_command_info = {
    .name = "info",
    .summary = "Show what is recorded, the snapshots and the triggers",
    .usage = "[functions [NAME]]",
    .help =
	"For each thread: how much of its ring is full, and how far back that reaches.\n\n"
	"With \"functions\": how many functions are recorded, and why the others are not.  With\n"
	"NAME, this of each function of that name; parameters and namespaces may be left out,\n"
	"and \"*\" and \"?\" stand for any letters.\n",
    .takes = MT_COMMAND_TAKES_LOCATION,
    .where = MT_COMMAND_IN_DEBUGGER,
    .group = "COMMAND_STATUS",
    .run = info,
};
