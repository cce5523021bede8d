/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `run` and `attach` share: how to record, and where the timeline goes. */
#ifndef MT_COMMAND_RECORD_OPTIONS_H
#define MT_COMMAND_RECORD_OPTIONS_H

#include "command/arguments.h"
#include "command/pt_options.h"
#include "session/session.h"

#define MT_RECORD_OPTIONS_TABLE 21

struct mt_record_options {
	char *engine, *output, *format, *record_path;
	char *size, *stamps, *ready_fd;
	char *throttle; /* this struct: not given; NULL: without a value */
	const char **triggers, **modules, **functions, **no_functions;
	const char **events, **counters, **watches;
	int follow_forks;
	struct mt_pt_options pt;
	int ready; /* its file descriptor; -1: none */
	struct poptOption table[MT_RECORD_OPTIONS_TABLE];
};

/* In a command's table: these options stand there too.  TEXT is NULL, or the heading. */
#define MT_RECORD_OPTIONS_INCLUDE(record)                                                          \
	{                                                                                          \
		NULL, 0, POPT_ARG_INCLUDE_TABLE, (record)->table, 0, NULL, NULL                    \
	}

/* For help and completion. */
#define MT_RECORD_OPTIONS_WORDS                                                                    \
	"--engine=ENGINE", "--output=FILE", "--format=FORMAT", "--record=FILE", "--size=SIZE",     \
	    "--trigger=LOCATION", "--watch=PLACE", "--events=KINDS", "--counter=NAME",             \
	    "--timestamps=WHICH", "--modules=GLOB", "--functions=GLOB", "--no-functions=GLOB",     \
	    "--throttle", "--follow-forks", "--ready-fd=NUMBER", MT_PT_OPTIONS_WORDS
#define MT_RECORD_OPTIONS_HELP                                                                        \
	"  -o, --output=FILE       the timeline (default: trace.fxt; \"-\" is standard output)\n"     \
	"  -f, --format=FORMAT     fxt, json or text (default: by the file's ending)\n"               \
	"  -r, --record=FILE       keep the recording too, for decode, history and perf script\n"     \
	"  -e, --engine=ENGINE     how to record: auto (default), pt, calls or step\n"                \
	"  -s, --size=SIZE         of each thread's ring, such as 512k or 16M (default: 4M)\n"        \
	"  -t, --trigger=LOCATION  take a snapshot when control comes to FUNCTION, FILE:LINE,\n"      \
	"                          *ADDRESS or *FUNCTION+OFFSET; may be given several times;\n"       \
	"                          \"?\" lets you choose a function\n"                                \
	"  --watch=PLACE           snapshot when ADDRESS, SYMBOL or SYMBOL+OFFSET is written;\n"      \
	"                          :1 to :8 for so many bytes, :rw for reads too, :x when the\n"      \
	"                          function SYMBOL runs; two of them at the most\n"                   \
	"  --events=KINDS          record beside the calls: sched (where threads ran, why not),\n"    \
	"                          faults (of pages), syscalls, marks; several with commas\n"         \
	"  --counter=NAME          and a counter: page-faults, instructions …; may be given\n"      \
	"                          several times\n"                                                   \
	"  --timestamps=WHICH      of the engine calls: sampled (default: one for several calls,\n"   \
	"                          and estimates between), or full\n"                                 \
	"  --modules=GLOB          calls: record only programs and libraries of that name or path;\n" \
	"                          may be given several times, as the next two\n"                     \
	"  --functions=GLOB        calls: record only functions of that name\n"                       \
	"  --no-functions=GLOB     calls: but none of that name\n"                                    \
	"  --throttle[=SECONDS]    calls: take functions out that alone would fill a ring in less\n"  \
	"                          time (default: 1)\n" MT_PT_OPTIONS_HELP                            \
	"  --follow-forks          record child processes too; else they run on untraced\n"           \
	"  --ready-fd=NUMBER       write a line to this file descriptor when recording has\n"         \
	"                          begun, and close it\n"

/* Fills the table; what it points to must not move.  Then it can be deinited. */
void mt_record_options_init(struct mt_record_options *record);
void mt_record_options_deinit(struct mt_record_options *record);
static inline void mt_record_options_cleanup(struct mt_record_options *record)
{
	mt_record_options_deinit(record);
}

/* What was given, for a session.  What it points to is lent.  Errors: USAGE. */
struct mt_error *mt_record_options_apply(struct mt_record_options *record,
					 struct mt_session_options *session);
/* A trigger that is "?" becomes the function of the program at PATH that the user chooses.
 * Errors: mt_choose_function()'s. */
struct mt_error *mt_record_options_choose(struct mt_record_options *record,
					  const struct mt_command_context *context,
					  const char *path);
/* "sampled" or "full".  Errors: USAGE. */
struct mt_error *mt_parse_stamps(const char *text, enum mt_ring_stamps *stamps);
/* Where the timeline goes. */
const char *mt_record_options_output(const struct mt_record_options *record);
/* Recording has begun. */
void mt_record_options_tell_ready(struct mt_record_options *record);

#endif
