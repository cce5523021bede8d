/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"

#include <string.h>

static const char *const options[] = {"--output=FILE", "--format=FORMAT", NULL};

static const char *ending_of(const char *format)
{
	if (format && strcmp(format, "text") == 0)
		return "txt";
	return format ? format : "fxt";
}

static bool is_recording_ending(const char *ending)
{
	return strcmp(ending, ".perf") == 0 || strcmp(ending, ".data") == 0;
}

/* "dir/crash.perf" to "dir/crash.fxt"; "-" to "trace.fxt". */
static struct mt_error *default_output(const char *recording, const char *format,
				       struct mt_str *path)
{
	const char *base = strcmp(recording, "-") == 0 ? "trace" : recording;
	const char *name = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
	const char *ending = strrchr(name, '.');
	size_t length = strlen(base);

	if (ending && ending != name && is_recording_ending(ending))
		length -= strlen(ending);
	mt_str_append_bytes(path, base, length);
	mt_str_appendf(path, ".%s", ending_of(format));
	return path->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *write_timeline(struct mt_command_context *context, const char *path,
				       const struct mt_timeline *timeline)
{
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};
	struct mt_error *error = mt_recording_open(path, context->progress, &recording);

	if (error)
		return error;
	error = mt_timeline_write(context, recording, timeline, &stats);
	if (!error)
		mt_timeline_log_written(context, recording, timeline->path, &stats);
	mt_recording_close(recording);
	return error;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *output = NULL;
	mt_auto(mt_option) char *format = NULL;
	const struct poptOption table[] = {
	    {"output", 'o', POPT_ARG_STRING, &output, 0, NULL, NULL},
	    {"format", 'f', POPT_ARG_STRING, &format, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_error *error =
	    mt_arguments_parse(&arguments, context, &mt_command_decode, table, argc, argv, 1, 1);

	if (!error && !output)
		error = default_output(arguments.words[0], format, &path);
	if (error)
		return error;
	const struct mt_timeline timeline = {
	    .path = output ? output : path.text, .format = format, .colour = context->print_colour};
	return write_timeline(context, arguments.words[0], &timeline);
}

const struct mt_command mt_command_decode = {
    .name = "decode",
    .summary = "Turn a recording into a timeline",
    .usage = "[-o FILE] [-f FORMAT] RECORDING",
    .help = "Decode a recording (a perf.data file with Intel PT data, from mtdb or from perf\n"
	    "record) and write what it holds as a timeline of function calls.  RECORDING \"-\" is\n"
	    "standard input.\n"
	    "\n"
	    "Options:\n"
	    "  -o, --output=FILE    where to write; \"-\" is standard output, a name that ends in\n"
	    "                       .gz is compressed (default: RECORDING's name with .fxt)\n"
	    "  -f, --format=FORMAT  fxt (Perfetto opens it), json (Chrome trace events) or text\n"
	    "                       (default: by FILE's ending, else fxt)\n",
    .options = options,
    .run = run,
};
