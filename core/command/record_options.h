/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `run` and `attach` share: how to record, and where to write the timeline. */
#ifndef MT_COMMAND_RECORD_OPTIONS_H
#define MT_COMMAND_RECORD_OPTIONS_H

#include "command/arguments.h"
#include "command/pt_options.h"
#include "command/sample_options.h"
#include "session/session.h"

#define MT_RECORD_OPTIONS_TABLE 27

struct mt_record_options {
	struct mt_session_options session; /* what was given, once it is applied */
	char *output, *format;
	char *size, *space, *stamps, *ready_fd;
	char *throttle; /* points to this struct: not given; NULL: given without a value */
	int follow_forks, pending, no_open_args, python_calls;
	struct mt_pt_options pt;
	struct mt_sample_options sample;
	int ready; /* its file descriptor; -1: none */
	struct poptOption table[MT_RECORD_OPTIONS_TABLE];
};

/* Includes these options in a command's table. */
#define MT_RECORD_OPTIONS_INCLUDE(record)                                                          \
	{                                                                                          \
		NULL, 0, POPT_ARG_INCLUDE_TABLE, (record)->table, 0, NULL, NULL                    \
	}

/* For help and completion. */
#define MT_RECORD_OPTIONS_WORDS                                                                    \
	"--engine=ENGINE", "--output=FILE", "--format=FORMAT", "--record=FILE", "--size=SIZE",     \
	    "--space=SIZE", "--trigger=LOCATION", "--args=FUNCTION", "--returns=FUNCTION",         \
	    "--no-open-args", "--python-calls", "--pending", "--watch=PLACE", "--events=KINDS",    \
	    "--counter=NAME", "--timestamps=WHICH", "--modules=GLOB", "--functions=GLOB",          \
	    "--no-functions=GLOB", "--throttle", "--follow-forks", "--ready-fd=NUMBER",            \
	    MT_PT_OPTIONS_WORDS, MT_SAMPLE_OPTIONS_WORDS
#define MT_RECORD_OPTIONS_HELP                                                                      \
	"  -o, --output=FILE       write the timeline to FILE (default: trace.fxt; \"-\" is\n"      \
	"                          standard output)\n"                                              \
	"  -f, --format=FORMAT     fxt, pftrace, json, speedscope, html, text or folded\n"          \
	"                          (default: from FILE's extension)\n"                              \
	"  -r, --record=FILE       keep the recording too, for decode, history and perf script\n"   \
	"  -e, --engine=ENGINE     auto (default), pt, calls, sample or step\n"                     \
	"  -s, --size=SIZE         per-thread ring size, as in 512k or 16M (default: 4M)\n"         \
	"  --space=SIZE            behind so much of the recording take no snapshots but that of\n" \
	"                          the end, or of a crash (default: half of what is free)\n"        \
	"  -t, --trigger=LOCATION  take a snapshot when a thread reaches FUNCTION, FILE:LINE,\n"    \
	"                          *ADDRESS or *FUNCTION+OFFSET, or \"?\" to choose a function\n"   \
	"                          from a list; \"LOCATION if CONDITION\": where that holds, as\n"  \
	"                          in 'foo if x > 5'; \"FUNCTION > TIME\": when a call returns\n"   \
	"                          that took longer, as in 'foo > 5ms'; \"FUNCTION return\": at\n"  \
	"                          its return, as in 'foo return if $_ret < 0'; \"F..G >\n"         \
	"                          TIME\": when a thread comes to function G so long after F;\n"    \
	"                          \"FUNCTION after TIME\": so long after its last call; in\n"      \
	"                          front -ignore N, -every N, -rate N/s, -max N, and\n"             \
	"                          -print EXPRESSION, to show its value; may be repeated\n"         \
	"  --args=FUNCTION         calls: record the arguments of each call of FUNCTION, as in\n"   \
	"                          'price_of(name, count)', or all of them; may be repeated,\n"     \
	"                          like the next one\n"                                             \
	"  --returns=FUNCTION      calls: record what each call of FUNCTION returns\n"              \
	"  --no-open-args          calls: do not read arguments of open calls at a crash\n"         \
	"  --python-calls          calls: record all calls of functions in Python, also those\n"    \
	"                          that Python makes (CPython 3.11; they use more stack)\n"         \
	"  --pending               let triggers wait for libraries, and for programs, that come\n"  \
	"                          later (default: a place that is not there is an error)\n"        \
	"  --watch=PLACE           take a snapshot when ADDRESS, SYMBOL or SYMBOL+OFFSET is\n"      \
	"                          written; append :1 to :8 for a length in bytes, :rw for\n"       \
	"                          reads too, :x for execution of SYMBOL; at most two\n"            \
	"  --events=KINDS          also record sched (where threads ran, and why not), faults\n"    \
	"                          (page faults), syscalls or marks; several with commas\n"         \
	"  --counter=NAME          also sample a counter: page-faults, instructions …; may be\n"  \
	"                          repeated\n"                                                      \
	"  --timestamps=WHICH      calls: sampled (default: one for several calls, with\n"          \
	"                          estimates between) or full\n"                                    \
	"  --modules=GLOB          calls: record only programs and libraries of this name or\n"     \
	"                          path; may be repeated, like the next two\n"                      \
	"  --functions=GLOB        calls: record only functions of this name\n"                     \
	"  --no-functions=GLOB     calls: record no functions of this name\n"                       \
	"  --throttle[=SECONDS]    calls: stop recording functions that alone would fill a ring\n"  \
	"                          within SECONDS (default: 1)\n" MT_PT_OPTIONS_HELP                \
	    MT_SAMPLE_OPTIONS_HELP                                                                  \
	"  --follow-forks          record child processes too (default: they run untraced)\n"       \
	"  --ready-fd=NUMBER       write a line to this file descriptor once recording has\n"       \
	"                          begun, and close it\n"

/* Fills the table; what it points to must not move.  Then it can be deinited. */
void mt_record_options_init(struct mt_record_options *record);
void mt_record_options_deinit(struct mt_record_options *record);
static inline void mt_record_options_cleanup(struct mt_record_options *record)
{
	mt_record_options_deinit(record);
}

/* Completes `session` by these, whose strings it borrows.  Errors: USAGE. */
struct mt_error *mt_record_options_apply(struct mt_record_options *record);
/* Replaces each trigger "?" and "." by a function of the program at PATH that the user chooses.
 * Errors: mt_choose_function()'s. */
struct mt_error *mt_record_options_choose(struct mt_record_options *record,
					  const struct mt_command_context *context,
					  const char *path);
/* The path of the timeline, by default one that fits the format. */
const char *mt_record_options_output(const struct mt_record_options *record);
/* Writes the line that --ready-fd asks for: recording has begun. */
void mt_record_options_report_ready(struct mt_record_options *record);

#endif
