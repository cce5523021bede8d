/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"
#include "output/trace_writer.h"

#include <string.h>

static const char *const options[] = {"--output=FILE", "--format=FORMAT", "--decoder=NAME", NULL};

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	mt_auto(mt_option) char *output = NULL;
	mt_auto(mt_option) char *format = NULL;
	mt_auto(mt_option) char *decoder = NULL;
	const struct poptOption table[] = {
	    {"output", 'o', POPT_ARG_STRING, &output, 0, NULL, NULL},
	    {"format", 'f', POPT_ARG_STRING, &format, 0, NULL, NULL},
	    {"decoder", 0, POPT_ARG_STRING, &decoder, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	mt_try(
	    mt_arguments_parse(&arguments, context, &mt_command_decode, table, argc, argv, 1, 1));
	if (decoder && strcmp(decoder, "own") != 0 && strcmp(decoder, "libipt") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "decode: \"%s\" is no decoder of Intel PT: take own or libipt",
				    decoder);
	if (!output)
		mt_try(mt_timeline_default_path(arguments.words[0], format, &path));
	mt_try(mt_trace_writer_check(output ? output : path.text, format));
	mt_try(mt_recording_open(arguments.words[0], context->progress, &recording));
	const struct mt_timeline timeline = {.path = output ? output : path.text,
					     .format = format,
					     .colour = context->print_colour,
					     .by_libipt =
						 decoder && strcmp(decoder, "libipt") == 0};
	struct mt_error *error =
	    mt_timeline_write(context->log, context->progress, recording, &timeline, &stats);
	if (!error)
		mt_timeline_log_written(context, recording, timeline.path, &stats);
	mt_recording_close(recording);
	return error;
}

const struct mt_command mt_command_decode = {
    .name = "decode",
    .summary = "Convert a recording to a timeline",
    .usage = "[-o FILE] [-f FORMAT] [--decoder=NAME] RECORDING",
    .help =
	"Decode RECORDING, a perf.data file written by mtdb, or by perf record with Intel PT,\n"
	"and write its function calls as a timeline; or the samples of perf record -g, as what\n"
	"they are.  RECORDING \"-\" is standard input.\n"
	"\n"
	"Options:\n"
	"  -o, --output=FILE    output file; \"-\" is standard output, a name ending in .gz or\n"
	"                       .zst is compressed (default: RECORDING's name with .fxt)\n"
	"  -f, --format=FORMAT  fxt (for Perfetto), pftrace (its own format), json (Chrome\n"
	"                       trace events), speedscope, html (a page for any browser), text\n"
	"                       or folded (for flame graphs) (default: from FILE's extension,\n"
	"                       else fxt)\n"
	"      --decoder=NAME   who reads Intel PT's packets: own, or libipt, slower, for a\n"
	"                       second opinion (default: own)\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL | MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};
