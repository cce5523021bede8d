/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record a process that runs already, for a while, and leave it as it was. */
#include "base/str.h"
#include "command/choose.h"
#include "command/record_options.h"
#include "command/timeline.h"

static const char *const options[] = {MT_RECORD_OPTIONS_WORDS, "--for=TIME", "--max=N", "--pid=PID",
				      NULL};

struct attach {
	struct mt_command_context *context;
	struct mt_record_options *record;
	struct mt_session_options options;
	pid_t pid;
};

static struct mt_error *record(struct attach *attach, struct mt_session *session,
			       struct mt_recording **recording)
{
	mt_try(mt_session_attach(session, attach->pid));
	mt_record_options_tell_ready(attach->record);
	mt_try(mt_session_run(session));
	return mt_session_finish(session, recording);
}

static struct mt_error *attach_to(struct attach *attach, struct mt_recording **recording)
{
	const struct mt_command_context *context = attach->context;
	struct mt_target *target = NULL;
	struct mt_session *session = NULL;

	mt_try(context->target_create(context->context, &target));
	struct mt_error *error = mt_session_create(target, &attach->options, NULL, &session);
	if (!error)
		error = record(attach, session, recording);
	if (!error && mt_session_result(session).ended)
		mt_log(context->log, MT_LOG_INFO, "process %d ended", attach->pid);
	target->ops->destroy(target);
	mt_session_destroy(session);
	return error;
}

static struct mt_error *attach_and_write(struct attach *attach)
{
	const struct mt_timeline timeline = {.path = mt_record_options_output(attach->record),
					     .format = attach->record->format};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};
	struct mt_error *error = attach_to(attach, &recording);

	if (!error)
		error = mt_timeline_write(attach->context, recording, &timeline, &stats);
	if (!error)
		mt_timeline_log_written(attach->context, recording, timeline.path, &stats);
	mt_recording_close(recording);
	return error;
}

/* "-p PID", or the one word, or what the user chooses. */
static struct mt_error *parse_pid(const struct mt_command_context *context, const char *option,
				  const struct mt_arguments *arguments, pid_t *pid)
{
	uint64_t number = 0;

	if (option && arguments->count)
		return mt_error_new(MT_ERROR_USAGE,
				    "attach: two processes are given\nMore: %s help attach",
				    context->prefix);
	if (!option && !arguments->count)
		return mt_choose_process(context, pid);
	mt_try(mt_parse_number(option ? option : arguments->words[0], "process number", 1,
			       INT32_MAX, &number));
	*pid = (pid_t)number;
	return NULL;
}

/* What somebody waits for with a trigger or a watchpoint has come with the first one. */
static struct mt_error *parse_most(const char *most, struct mt_session_options *session)
{
	uint64_t number = session->triggers || session->watches ? 1 : 0;

	if (most)
		mt_try(mt_parse_number(most, "number of snapshots", 0, UINT32_MAX, &number));
	session->most_snapshots = (uint32_t)number;
	return NULL;
}

static struct mt_error *choose_triggers(const struct attach *attach)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", attach->pid);
	return mt_record_options_choose(attach->record, attach->context, path);
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
	struct attach attach = {
	    .context = context, .record = &record_options, .options = {.log = context->log}};

	mt_try(
	    mt_arguments_parse(&arguments, context, &mt_command_attach, table, argc, argv, 0, 1));
	mt_try(parse_pid(context, pid, &arguments, &attach.pid));
	mt_try(choose_triggers(&attach));
	mt_try(mt_record_options_apply(&record_options, &attach.options));
	if (duration)
		mt_try(mt_parse_duration(duration, &attach.options.duration_ns));
	mt_try(parse_most(most, &attach.options));
	return attach_and_write(&attach);
}

const struct mt_command mt_command_attach = {
    .name = "attach",
    .summary = "Record a running process for a while, and let it go on",
    .usage = "[OPTION…] [[-p] PID]",
    .help =
	"Take hold of the process PID, keep a ring of what each of its threads does, write the\n"
	"rings as a timeline when Ctrl-C is pressed, the time is over or the process ends, and\n"
	"let it go on as it was.  Without PID you choose a process.\n"
	"\n"
	"Options:\n"
	"  -p, --pid=PID           the process; it can stand as a word of its own as well\n"
	"  --for=TIME              let go of it after so long, such as 500ms, 2s or 1m\n"
	"  --max=N                 let go of it after so many snapshots (default: 1 when there\n"
	"                          is a trigger or --watch, else 0, which is no limit)\n" MT_RECORD_OPTIONS_HELP,
    .options = options,
    .run = attach_command,
};
