/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a program under an engine, and make a timeline of what it recorded.  Whatever can be refused
 * is refused before the program runs: options, engine, output. */
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"
#include "target/session.h"
#include "trace/slice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_HISTORY 25
#define SIGNAL_STATUS   128

static const char *const options[] = {"--engine=ENGINE",
				      "--output=FILE",
				      "--format=FORMAT",
				      "--record=FILE",
				      "--size=SIZE",
				      "--trigger=LOCATION",
				      "--follow-forks",
				      "--history=NUMBER",
				      "--timestamps=WHICH",
				      "--modules=GLOB",
				      "--functions=GLOB",
				      "--no-functions=GLOB",
				      NULL};

struct run {
	struct mt_command_context *context;
	const char *path; /* of the program */
	const char **words;
	const char *output;
	const char *format;
	uint64_t history;
	FILE *branch_log;
	struct mt_session_options options;
	struct mt_session *session;
	struct mt_trace_writer *writer;
	struct mt_recording *recording;
};

static struct mt_error *not_runnable(const char *path)
{
	struct stat file;

	if (stat(path, &file))
		return mt_error_errno(errno, "cannot run %s", path);
	if (S_ISDIR(file.st_mode))
		return mt_error_errno(EISDIR, "cannot run %s", path);
	return mt_error_new(MT_ERROR_PERMISSION,
			    "cannot run %s: it is not executable (chmod +x makes it so)", path);
}

static bool is_runnable(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

/* As a shell finds it: a word with a slash is a path, another is looked for in PATH. */
static struct mt_error *find_program(const char *word, struct mt_str *path)
{
	const char *directories = getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin";

	mt_str_append(path, word);
	if (strchr(word, '/'))
		return path->failed        ? mt_error_no_memory()
		       : is_runnable(word) ? NULL
					   : not_runnable(word);
	for (const char *at = directories;; at++) {
		size_t length = strcspn(at, ":");

		mt_str_clear(path);
		mt_str_append_bytes(path, length ? at : ".", length ? length : 1);
		mt_str_appendf(path, "/%s", word);
		if (path->failed)
			return mt_error_no_memory();
		if (is_runnable(path->text))
			return NULL;
		at += length;
		if (!*at)
			break;
	}
	return mt_error_new(MT_ERROR_NOT_FOUND,
			    "there is no program \"%s\" in PATH (write ./%s for one that is here)",
			    word, word);
}

static void log_branch(void *context, const struct mt_seen *seen)
{
	static const char *const kinds[] = {
	    [MT_SEEN_CALL] = "call",       [MT_SEEN_RETURN] = "return", [MT_SEEN_JUMP] = "jump",
	    [MT_SEEN_SYSCALL] = "syscall", [MT_SEEN_STOP] = "stop",     [MT_SEEN_START] = "start",
	};

	fprintf(context, "%d %s %llx %llx\n", seen->lwp, kinds[seen->kind],
		(unsigned long long)seen->from, (unsigned long long)seen->to);
}

static struct mt_error *open_branch_log(struct run *run, const char *path)
{
	if (!path)
		return NULL;
	run->branch_log = fopen(path, "we");
	if (!run->branch_log)
		return mt_error_errno(errno, "cannot write the log of branches to %s", path);
	run->options.seen = log_branch;
	run->options.seen_context = run->branch_log;
	return NULL;
}

static struct mt_error *open_output(struct run *run, const char *command)
{
	struct mt_trace_writer_options writer_options = {.colour = run->context->print_colour,
							 .command = command};

	return mt_trace_writer_create(run->output, run->format, &writer_options, &run->writer);
}

static struct mt_error *join_words(const char **words, struct mt_str *command)
{
	for (; *words; words++)
		mt_str_appendf(command, "%s%s", command->length ? " " : "", *words);
	return command->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *record(struct run *run, struct mt_target *target)
{
	const struct mt_launch launch = {.path = run->path, .arguments = run->words};

	mt_try(mt_session_create(target, &run->options, run->words, &run->session));
	mt_try(mt_session_launch(run->session, &launch));
	mt_try(mt_session_run(run->session));
	return mt_session_finish(run->session, &run->recording);
}

static struct mt_error *write_timeline(struct run *run)
{
	const struct mt_decode_options decode_options = {
	    .progress = run->context->progress,
	    .log = run->context->log,
	    .objfile = {.debuginfod = true, .log = run->context->log},
	};
	struct mt_decode_stats stats = {0};

	mt_try(
	    mt_decode(run->recording, &decode_options, mt_trace_writer_sink(run->writer), &stats));
	mt_try(mt_trace_writer_finish(run->writer));
	mt_timeline_log_losses(run->context, run->recording, &stats);
	if (strcmp(run->output, "-") != 0)
		mt_log(run->context->log, MT_LOG_INFO,
		       "%s: the timeline of %u thread%s (open it in https://ui.perfetto.dev)",
		       run->output, stats.threads, stats.threads == 1 ? "" : "s");
	return NULL;
}

/* The last calls of the thread that crashed: beside the program's own output, not in it. */
static struct mt_error *tell_history(struct run *run, pid_t lwp)
{
	struct mt_command_context *context = run->context;
	const struct mt_timeline timeline = {.printer = {context->tell, context->context},
					     .colour = context->tell_colour,
					     .last = run->history,
					     .tid = lwp};

	return mt_timeline_write(context, run->recording, &timeline, NULL);
}

static struct mt_error *tell_end(struct run *run)
{
	struct mt_session_result result = mt_session_result(run->session);

	if (!result.fatal_signal || !WIFSIGNALED(result.wait_status))
		return NULL;
	mt_log(run->context->log, MT_LOG_INFO, "%s was killed by %s%s", run->words[0],
	       mt_signal_name((uint32_t)result.fatal_signal),
	       run->history ? "; its last calls:" : "");
	return run->history ? tell_history(run, result.fatal_lwp) : NULL;
}

/* What ran could not be recorded, as was said when it began: its end counts all the same. */
static struct mt_error *bear_emptiness(struct run *run, struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_UNSUPPORTED ||
	    strcmp(mt_session_result(run->session).engine, "calls") != 0)
		return error;
	mt_log(run->context->log, MT_LOG_WARNING, "no timeline is written: %s",
	       mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *show(struct run *run)
{
	mt_try(tell_end(run));
	return write_timeline(run);
}

static int exit_status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? SIGNAL_STATUS + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

static struct mt_error *run_all(struct run *run)
{
	struct mt_target *target = NULL;
	mt_auto(mt_str) struct mt_str command = {0};

	mt_try(join_words(run->words, &command));
	mt_try(open_output(run, command.text));
	mt_try(run->context->target_create(run->context->context, &target));
	struct mt_error *error = record(run, target);
	target->ops->destroy(target);
	if (!error)
		error = bear_emptiness(run, show(run));
	if (!error)
		run->context->exit_status =
		    exit_status_of(mt_session_result(run->session).wait_status);
	return error;
}

static void run_deinit(struct run *run)
{
	mt_recording_close(run->recording);
	mt_session_destroy(run->session);
	mt_trace_writer_destroy(run->writer);
	if (run->branch_log)
		fclose(run->branch_log);
}

static const char *default_output(const char *format)
{
	if (format && strcmp(format, "text") == 0)
		return "trace.txt";
	return format && strcmp(format, "json") == 0 ? "trace.json" : "trace.fxt";
}

static void free_list(const char ***list)
{
	for (const char **word = *list; word && *word; word++)
		free((char *)*word);
	free(*list);
}

static struct mt_error *parse_stamps(const char *text, enum mt_ring_stamps *stamps)
{
	if (strcmp(text, "sampled") != 0 && strcmp(text, "full") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "no kind of time stamps: \"%s\" (it can be sampled or full)",
				    text);
	*stamps = strcmp(text, "full") == 0 ? MT_RING_FULL : MT_RING_SAMPLED;
	return NULL;
}

static struct mt_error *run_command(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *engine = NULL, *output = NULL, *format = NULL, *record_path = NULL;
	mt_auto(mt_option) char *size = NULL, *history = NULL, *branch_log = NULL;
	mt_auto(mt_option) char *stamps = NULL;
	__attribute__((cleanup(free_list))) const char **triggers = NULL;
	__attribute__((cleanup(free_list))) const char **modules = NULL;
	__attribute__((cleanup(free_list))) const char **functions = NULL;
	__attribute__((cleanup(free_list))) const char **no_functions = NULL;
	int follow = 0;
	const struct poptOption table[] = {
	    {"engine", 'e', POPT_ARG_STRING, &engine, 0, NULL, NULL},
	    {"output", 'o', POPT_ARG_STRING, &output, 0, NULL, NULL},
	    {"format", 'f', POPT_ARG_STRING, &format, 0, NULL, NULL},
	    {"record", 'r', POPT_ARG_STRING, &record_path, 0, NULL, NULL},
	    {"size", 's', POPT_ARG_STRING, &size, 0, NULL, NULL},
	    {"trigger", 't', POPT_ARG_ARGV, &triggers, 0, NULL, NULL},
	    {"follow-forks", 0, POPT_ARG_NONE, &follow, 0, NULL, NULL},
	    {"history", 0, POPT_ARG_STRING, &history, 0, NULL, NULL},
	    {"timestamps", 0, POPT_ARG_STRING, &stamps, 0, NULL, NULL},
	    {"modules", 0, POPT_ARG_ARGV, &modules, 0, NULL, NULL},
	    {"functions", 0, POPT_ARG_ARGV, &functions, 0, NULL, NULL},
	    {"no-functions", 0, POPT_ARG_ARGV, &no_functions, 0, NULL, NULL},
	    {"branch-log", 0, POPT_ARG_STRING, &branch_log, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {.popt_flags =
								   POPT_CONTEXT_POSIXMEHARDER};
	mt_auto(mt_str) struct mt_str path = {0};
	struct run run = {.context = context, .history = DEFAULT_HISTORY};

	mt_try(mt_arguments_parse(&arguments, context, &mt_command_run, table, argc, argv, 1,
				  SIZE_MAX));
	if (size)
		mt_try(mt_parse_size(size, &run.options.ring_bytes));
	if (history)
		mt_try(mt_parse_number(history, "number of calls", 0, UINT32_MAX, &run.history));
	if (stamps)
		mt_try(parse_stamps(stamps, &run.options.stamps));
	mt_try(find_program(arguments.words[0], &path));
	run.path = path.text;
	run.words = arguments.words;
	run.output = output ? output : default_output(format);
	run.format = format;
	run.options.engine = engine;
	run.options.recording_path = record_path;
	run.options.triggers = triggers;
	run.options.modules = modules;
	run.options.functions = functions;
	run.options.no_functions = no_functions;
	run.options.follow_forks = follow;
	run.options.share_cpu = true; /* it dies with us, so no affinity of ours outlives us */
	run.options.log = context->log;
	struct mt_error *error = open_branch_log(&run, branch_log);
	if (!error)
		error = run_all(&run);
	run_deinit(&run);
	return error;
}

const struct mt_command mt_command_run = {
    .name = "run",
    .summary = "Run a program and write a timeline of its last function calls",
    .usage = "[OPTION…] [--] PROGRAM [ARGUMENT…]",
    .help =
	"Run PROGRAM, keep a ring of what each of its threads did, and write the rings as a\n"
	"timeline: at each trigger, at Ctrl-C, before a signal that kills it, and at its end.  The\n"
	"program's input, output and exit status stay its own (128 + the signal's number when one\n"
	"killed it, 125 when mtdb itself failed).\n"
	"\n"
	"Options:\n"
	"  -o, --output=FILE       the timeline (default: trace.fxt; \"-\" is standard output)\n"
	"  -f, --format=FORMAT     fxt, json or text (default: by the file's ending)\n"
	"  -r, --record=FILE       keep the recording too, for decode, history and perf script\n"
	"  -e, --engine=ENGINE     how to record: auto (default), calls or step\n"
	"  -s, --size=SIZE         of each thread's ring, such as 512k or 16M (default: 4M)\n"
	"  -t, --trigger=LOCATION  take a snapshot when control comes to FUNCTION, FILE:LINE,\n"
	"                          *ADDRESS or *FUNCTION+OFFSET; may be given several times\n"
	"  --timestamps=WHICH      of the engine calls: sampled (default: one for several calls,\n"
	"                          and estimates between), or full\n"
	"  --modules=GLOB          calls: record only programs and libraries of that name or path;\n"
	"                          may be given several times, as the next two\n"
	"  --functions=GLOB        calls: record only functions of that name\n"
	"  --no-functions=GLOB     calls: but none of that name\n"
	"  --follow-forks          record child processes too; else they run on untraced\n"
	"  --history=NUMBER        after a crash, so many of the last calls are printed\n"
	"                          (default: 25; 0: none)\n"
	"  --branch-log=FILE       write each branch that single-stepping saw, as text: a check\n"
	"                          of what decoders make of the recording\n",
    .options = options,
    .failure_status = 125,
    .run = run_command,
};
