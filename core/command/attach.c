/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records a running process for a while, and leaves it as it was. */
#include "base/str.h"
#include "command/choose.h"
#include "command/record_options.h"
#include "command/timeline.h"

static const char *const options[] = {MT_RECORD_OPTIONS_WORDS, "--for=TIME", "--max=N", "--pid=PID",
				      NULL};

struct attach {
	struct mt_command_context *context;
	struct mt_record_options *record;
	pid_t pid;
};

static struct mt_error *attach_to(struct attach *attach, struct mt_recording **recording,
				  struct mt_session **out)
{
	const struct mt_command_context *context = attach->context;
	struct mt_target *target = NULL;
	struct mt_session *session = NULL;

	mt_try(context->target_create(context->context, &target));
	struct mt_error *error =
	    mt_session_create(target, &attach->record->session, NULL, &session);
	if (!error)
		error = mt_session_attach(session, attach->pid);
	if (!error) {
		mt_record_options_report_ready(attach->record);
		error = mt_session_run(session);
	}
	if (!error)
		error = mt_session_finish(session, recording);
	if (error && session)
		mt_error_destroy(mt_session_leave_all(session));
	if (!error && mt_session_result(session).ended)
		mt_log(context->log, MT_LOG_INFO, "process %d ended", attach->pid);
	target->ops->destroy(target);
	*out = session;
	return error;
}

static struct mt_error *attach_and_write(struct attach *attach)
{
	const struct mt_timeline timeline = {.path = mt_record_options_output(attach->record),
					     .format = attach->record->format};
	struct mt_recording *recording = NULL;
	struct mt_session *session = NULL;
	struct mt_decode_stats stats = {0};
	struct mt_error *error = attach_to(attach, &recording, &session);

	if (!error)
		error = mt_timeline_write(attach->context->log, attach->context->progress,
					  recording, &timeline, &stats);
	if (!error)
		mt_timeline_log_written(attach->context, recording, timeline.path, &stats);
	error = mt_timeline_settle(attach->context, session, error);
	mt_recording_close(recording);
	mt_session_destroy(session);
	return error;
}

/* From "-p PID", from the one word, or chosen by the user. */
static struct mt_error *parse_pid(const struct mt_command_context *context, const char *option,
				  const struct mt_arguments *arguments, pid_t *pid)
{
	uint64_t number = 0;

	if (option && arguments->count)
		return mt_error_new(MT_ERROR_USAGE,
				    "attach: two processes given: use either --pid or PID");
	if (!option && !arguments->count)
		return mt_choose_process(context, pid);
	mt_try(mt_parse_number(option ? option : arguments->words[0], "process number", 1,
			       INT32_MAX, &number));
	*pid = (pid_t)number;
	return NULL;
}

static struct mt_error *attach_command(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *duration = NULL, *pid = NULL, *most = NULL;
	mt_auto(mt_record_options) struct mt_record_options record_options;
	mt_record_options_init(&record_options);
	const struct poptOption table[] = {
	    MT_RECORD_OPTIONS_INCLUDE(&record_options),
	    {"for", 0, POPT_ARG_STRING, &duration, 0, NULL, NULL},
	    {"max", 0, POPT_ARG_STRING, &most, 0, NULL, NULL},
	    {"pid", 'p', POPT_ARG_STRING, &pid, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	char program[64];
	uint64_t most_snapshots = 0;
	struct attach attach = {.context = context, .record = &record_options};
	struct mt_session_options *session = &record_options.session;

	mt_try(
	    mt_arguments_parse(&arguments, context, &mt_command_attach, table, argc, argv, 0, 1));
	mt_try(parse_pid(context, pid, &arguments, &attach.pid));
	snprintf(program, sizeof(program), "/proc/%d/exe", attach.pid);
	mt_try(mt_record_options_choose(&record_options, context, program));
	mt_try(mt_record_options_apply(&record_options));
	session->output_path = mt_record_options_output(&record_options);
	session->engine.log = context->log;
	session->engine.progress = context->progress;
	if (duration)
		mt_try(mt_parse_duration(duration, &session->duration_ns));
	if (most)
		mt_try(
		    mt_parse_number(most, "number of snapshots", 0, UINT32_MAX, &most_snapshots));
	else if (session->triggers || session->watches)
		most_snapshots = 1; /* who waits for an event has it with the first hit */
	session->most_snapshots = (uint32_t)most_snapshots;
	return attach_and_write(&attach);
}

const struct mt_command mt_command_attach = {
    .name = "attach",
    .summary = "Record a running process for a while, then detach from it",
    .usage = "[OPTION…] [[-p] PID]",
    .help =
	"Attach to the process PID, keep a ring of the latest calls of each of its threads, and\n"
	"write the rings as a timeline on Ctrl-C, when the time is up, or when the process ends.\n"
	"SIGUSR1 takes a snapshot, and recording goes on.\n"
	"On detach its code is restored and it runs on.  Without PID, choose from a list.\n"
	"\n"
	"Options:\n"
	"  -p, --pid=PID           the process to attach to; plain PID works as well\n"
	"  --for=TIME              detach after this time, as in 500ms, 2s or 1m\n"
	"  --max=N                 detach after N snapshots; 0 is no limit (default: 1 with\n"
	"                          --trigger or --watch, else 0)\n" MT_RECORD_OPTIONS_HELP,
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .run = attach_command,
};
