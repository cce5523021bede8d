/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a program under an engine, and writes a timeline of what was recorded.  Whatever can fail
 * beforehand does so before the program runs: options, engine, output. */
#include "base/path.h"
#include "base/str.h"
#include "command/record_options.h"
#include "command/stats.h"
#include "command/timeline.h"
#include "trace/slice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_HISTORY 25
#define SIGNAL_STATUS   128

static const char *const options[] = {MT_RECORD_OPTIONS_WORDS, "--history=NUMBER", "--stats", NULL};

struct run {
	struct mt_command_context *context;
	const char *path; /* of the program */
	const char **words;
	struct mt_record_options *record;
	const char *output;
	uint64_t history;
	int stats;
	FILE *branch_log;
	struct mt_session *session;
	struct mt_trace_writer *writer;
	struct mt_recording *recording;
};

/* Finds a program as a shell does: a word with a slash is a path, any other is searched in PATH. */
static struct mt_error *find_program(const char *word, struct mt_str *path)
{
	struct stat file;

	if (!strchr(word, '/')) {
		if (mt_path_find(word, path))
			return NULL;
		if (path->failed)
			return mt_error_no_memory();
		return mt_error_new(
		    MT_ERROR_NOT_FOUND,
		    "no program \"%s\" in PATH (use ./%s for one in this directory)", word, word);
	}
	mt_str_append(path, word);
	if (path->failed)
		return mt_error_no_memory();
	if (mt_path_is_runnable(word))
		return NULL;
	if (stat(word, &file))
		return mt_error_errno(errno, "cannot run %s", word);
	if (S_ISDIR(file.st_mode))
		return mt_error_errno(EISDIR, "cannot run %s", word);
	return mt_error_new(MT_ERROR_PERMISSION,
			    "cannot run %s: it is not executable (try chmod +x)", word);
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

/* The program is not to blame: it goes on, and whoever waits for its end waits for us. */
static void let_go_and_wait(const struct run *run)
{
	const pid_t pid = mt_session_result(run->session).pid;

	mt_error_destroy(mt_session_leave_all(run->session));
	mt_log(run->context->log, MT_LOG_WARNING,
	       "the recording cannot be written any more: process %d goes on untraced", pid);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static struct mt_error *record(struct run *run, struct mt_target *target)
{
	const struct mt_launch launch = {.path = run->path, .arguments = run->words};

	mt_try(mt_session_create(target, &run->record->session, run->words, &run->session));
	mt_try(mt_session_launch(run->session, &launch));
	mt_record_options_report_ready(run->record);
	struct mt_error *error = mt_session_run(run->session);
	if (!error)
		return mt_session_finish(run->session, &run->recording);
	if (mt_session_recording_failed(run->session))
		let_go_and_wait(run);
	return error;
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
	mt_timeline_log_written(run->context, run->recording, run->output, &stats);
	return NULL;
}

/* Prints the last calls of the thread that crashed, to standard error: not into the program's own
 * output. */
static struct mt_error *report_crash(struct run *run)
{
	struct mt_command_context *context = run->context;
	struct mt_session_result result = mt_session_result(run->session);
	const bool was_killed = result.fatal_signal && WIFSIGNALED(result.wait_status);
	const struct mt_timeline timeline = {.printer = {context->report, context->context},
					     .colour = context->report_colour,
					     .last = run->history,
					     .fold_hint = "the timeline has them",
					     .goroutine = result.death ? result.death_goroutine : 0,
					     .tid = !result.death            ? result.fatal_lwp
						    : result.death_goroutine ? 0
									     : result.death_lwp};

	if (!was_killed && !result.death)
		return NULL;
	mt_log(context->log, MT_LOG_INFO, "%s %s%s%s", run->words[0],
	       result.death ? "died of a " : "was killed by ",
	       result.death ? result.death : mt_signal_name((uint32_t)result.fatal_signal),
	       run->history ? "; its last calls:" : "");
	return run->history ? mt_timeline_write(context->log, context->progress, run->recording,
						&timeline, NULL)
			    : NULL;
}

/* Turns the error for a program that could not be recorded, of which a message said so when it
 * began, into a warning: the program's end counts all the same. */
static struct mt_error *tolerate_empty_recording(struct run *run, struct mt_error *error)
{
	struct mt_session_result result = mt_session_result(run->session);

	if (!error || mt_error_code(error) != MT_ERROR_UNSUPPORTED ||
	    (strcmp(result.engine, "calls") != 0 && strcmp(result.engine, "sample") != 0 &&
	     !result.untraced))
		return error;
	mt_log(run->context->log, MT_LOG_WARNING, "no timeline written: %s",
	       mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *run_all(struct run *run)
{
	struct mt_target *target = NULL;
	mt_auto(mt_str) struct mt_str command = {0};

	for (const char **word = run->words; *word; word++)
		mt_str_appendf(&command, "%s%s", command.length ? " " : "", *word);
	if (command.failed)
		return mt_error_no_memory();

	const struct mt_trace_writer_options writer_options = {.colour = run->context->print_colour,
							       .command = command.text};

	mt_try(mt_trace_writer_create(run->output, run->record->format, &writer_options,
				      &run->writer));
	mt_try(run->context->target_create(run->context->context, &target));
	struct mt_error *error = record(run, target);
	target->ops->destroy(target);
	if (error)
		return error;
	error = report_crash(run);
	if (!error)
		error = write_timeline(run);
	if (!error && run->stats)
		error = mt_stats_report_recording(run->context, run->recording);
	mt_try(tolerate_empty_recording(run, error));

	int status = mt_session_result(run->session).wait_status;
	run->context->exit_status =
	    WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
	return NULL;
}

static struct mt_error *run_command(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *history = NULL, *branch_log = NULL;
	int stats = 0;
	mt_auto(mt_record_options) struct mt_record_options record;
	mt_record_options_init(&record);
	const struct poptOption table[] = {
	    MT_RECORD_OPTIONS_INCLUDE(&record),
	    {"history", 0, POPT_ARG_STRING, &history, 0, NULL, NULL},
	    {"stats", 0, POPT_ARG_NONE, &stats, 0, NULL, NULL},
	    {"branch-log", 0, POPT_ARG_STRING, &branch_log, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {.popt_flags =
								   POPT_CONTEXT_POSIXMEHARDER};
	mt_auto(mt_str) struct mt_str path = {0};
	struct run run = {.context = context, .record = &record, .history = DEFAULT_HISTORY};

	mt_try(mt_arguments_parse(&arguments, context, &mt_command_run, table, argc, argv, 1,
				  SIZE_MAX));
	if (history)
		mt_try(mt_parse_number(history, "number of calls", 0, UINT32_MAX, &run.history));
	mt_try(find_program(arguments.words[0], &path));
	mt_try(mt_record_options_choose(&record, context, path.text));
	mt_try(mt_record_options_apply(&record));
	if (branch_log) {
		run.branch_log = fopen(branch_log, "we");
		if (!run.branch_log)
			return mt_error_errno(errno, "cannot write the branch log to %s",
					      branch_log);
		record.session.engine.seen = log_branch;
		record.session.engine.seen_context = run.branch_log;
	}
	run.path = path.text;
	run.stats = stats;
	run.words = arguments.words;
	run.output = mt_record_options_output(&record);
	record.session.output_path = run.output;
	/* It dies with us, so its changed affinity never outlives us. */
	record.session.engine.share_cpu = true;
	record.session.engine.log = context->log;
	record.session.engine.progress = context->progress;
	struct mt_error *error = run_all(&run);
	error = mt_timeline_settle(context, run.session, error);
	mt_recording_close(run.recording);
	mt_session_destroy(run.session);
	mt_trace_writer_destroy(run.writer);
	if (run.branch_log)
		fclose(run.branch_log);
	return error;
}

const struct mt_command mt_command_run = {
    .name = "run",
    .summary = "Run a program and write a timeline of its last function calls",
    .usage = "[OPTION…] [--] PROGRAM [ARGUMENT…]",
    .help =
	"Run PROGRAM, keep a ring of the latest calls of each of its threads, and write the rings\n"
	"as a timeline: at each trigger, on Ctrl-C, when mtdb is sent SIGUSR1, before a fatal\n"
	"signal, and at the end.  Input, output and exit status are the program's own (128 + the\n"
	"number of the signal that killed it; 125 when mtdb itself failed, 2 when a trigger means\n"
	"nothing).\n"
	"\n"
	"Options:\n" MT_RECORD_OPTIONS_HELP
	"  --history=NUMBER        print the last NUMBER calls after a crash (default: 25; 0:\n"
	"                          none)\n"
	"  --stats                 print how often functions were called and how long they took,\n"
	"                          as \"mtdb stats\" does\n"
	"  --branch-log=FILE       step: log each branch to FILE as text, to check decoders with\n",
    .options = options,
    .failure_status = 125,
    .where = MT_COMMAND_IN_SHELL,
    .run = run_command,
};
