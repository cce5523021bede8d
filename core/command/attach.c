/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record a process that runs already, for a while, and leave it as it was. */
#include "command/arguments.h"
#include "command/timeline.h"
#include "target/session.h"

#define NS_PER_S     1000000000ull
#define MOST_SECONDS 1000000000ull

static const char *const options[] = {"--engine=ENGINE",    "--output=FILE",  "--format=FORMAT",
				      "--record=FILE",      "--size=SIZE",    "--seconds=COUNT",
				      "--trigger=LOCATION", "--follow-forks", NULL};

static struct mt_error *record(struct mt_session *session, pid_t pid,
			       struct mt_recording **recording)
{
	mt_try(mt_session_attach(session, pid));
	mt_try(mt_session_run(session));
	return mt_session_finish(session, recording);
}

static struct mt_error *attach(struct mt_command_context *context,
			       const struct mt_session_options *session_options, pid_t pid,
			       struct mt_recording **recording)
{
	struct mt_target *target = NULL;
	struct mt_session *session = NULL;

	mt_try(context->target_create(context->context, &target));
	struct mt_error *error = mt_session_create(target, session_options, NULL, &session);
	if (!error)
		error = record(session, pid, recording);
	if (!error && mt_session_result(session).ended)
		mt_log(context->log, MT_LOG_INFO, "process %d ended", pid);
	target->ops->destroy(target);
	mt_session_destroy(session);
	return error;
}

static struct mt_error *attach_and_write(struct mt_command_context *context,
					 const struct mt_session_options *session_options,
					 pid_t pid, const struct mt_timeline *timeline)
{
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};
	struct mt_error *error = attach(context, session_options, pid, &recording);

	if (!error)
		error = mt_timeline_write(context, recording, timeline, &stats);
	if (!error)
		mt_timeline_log_losses(context, recording, &stats);
	mt_recording_close(recording);
	return error;
}

static void free_list(const char ***list)
{
	for (const char **word = *list; word && *word; word++)
		free((char *)*word);
	free(*list);
}

static struct mt_error *attach_command(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *engine = NULL, *output = NULL, *format = NULL, *record_path = NULL;
	mt_auto(mt_option) char *size = NULL, *seconds = NULL;
	__attribute__((cleanup(free_list))) const char **triggers = NULL;
	int follow = 0;
	uint64_t count = 0, pid = 0;
	const struct poptOption table[] = {
	    {"engine", 'e', POPT_ARG_STRING, &engine, 0, NULL, NULL},
	    {"output", 'o', POPT_ARG_STRING, &output, 0, NULL, NULL},
	    {"format", 'f', POPT_ARG_STRING, &format, 0, NULL, NULL},
	    {"record", 'r', POPT_ARG_STRING, &record_path, 0, NULL, NULL},
	    {"size", 's', POPT_ARG_STRING, &size, 0, NULL, NULL},
	    {"seconds", 0, POPT_ARG_STRING, &seconds, 0, NULL, NULL},
	    {"trigger", 't', POPT_ARG_ARGV, &triggers, 0, NULL, NULL},
	    {"follow-forks", 0, POPT_ARG_NONE, &follow, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct mt_session_options session_options = {.log = context->log};

	mt_try(
	    mt_arguments_parse(&arguments, context, &mt_command_attach, table, argc, argv, 1, 1));
	mt_try(mt_parse_number(arguments.words[0], "process number", 1, INT32_MAX, &pid));
	if (size)
		mt_try(mt_parse_size(size, &session_options.ring_bytes));
	if (seconds)
		mt_try(mt_parse_number(seconds, "number of seconds", 1, MOST_SECONDS, &count));
	session_options.engine = engine;
	session_options.recording_path = record_path;
	session_options.triggers = triggers;
	session_options.follow_forks = follow;
	session_options.duration_ns = count * NS_PER_S;

	const struct mt_timeline timeline = {.path = output ? output : "trace.fxt",
					     .format = format};
	return attach_and_write(context, &session_options, (pid_t)pid, &timeline);
}

const struct mt_command mt_command_attach = {
    .name = "attach",
    .summary = "Record a running process for a while, and let it go on",
    .usage = "[OPTION…] PID",
    .help =
	"Take hold of the process PID, keep a ring of what each of its threads does, write the\n"
	"rings as a timeline when Ctrl-C is pressed, the time is over or the process ends, and\n"
	"let it go on as it was.\n"
	"\n"
	"Options:\n"
	"  -o, --output=FILE       the timeline (default: trace.fxt; \"-\" is standard output)\n"
	"  -f, --format=FORMAT     fxt, json or text (default: by the file's ending)\n"
	"  -r, --record=FILE       keep the recording too\n"
	"  -e, --engine=ENGINE     how to record: auto (default), calls or step\n"
	"  -s, --size=SIZE         of each thread's ring, such as 512k or 16M (default: 4M)\n"
	"      --seconds=COUNT     let go of it after so long\n"
	"  -t, --trigger=LOCATION  take a snapshot there too; may be given several times\n"
	"      --follow-forks      record child processes too\n",
    .options = options,
    .run = attach_command,
};
