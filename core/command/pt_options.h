/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of `run` and `attach` that Intel PT alone has. */
#ifndef MT_COMMAND_PT_OPTIONS_H
#define MT_COMMAND_PT_OPTIONS_H

#include "command/arguments.h"
#include "engine/engine.h"

#define MT_PT_OPTIONS_TABLE 9

struct mt_pt_options {
	char *resolution;
	const char **filters;
	int kernel, per_cpu, full_execution;
	int no_return_compression, ptwrite, power_events;
	struct poptOption table[MT_PT_OPTIONS_TABLE];
};

/* For help and completion. */
#define MT_PT_OPTIONS_WORDS                                                                        \
	"--resolution=WHICH", "--kernel", "--filter=FILTER", "--per-cpu", "--full-execution",      \
	    "--no-return-compression", "--ptwrite", "--power-events"
#define MT_PT_OPTIONS_HELP                                                                         \
	"  --resolution=WHICH      pt: of times: low, normal (default) or high\n"                  \
	"  --kernel                pt: what the kernel does for the program as well\n"             \
	"  --filter=FILTER         pt: trace only within FUNCTION, or \"filter A / B @ FILE\",\n"  \
	"                          \"stop A @ FILE\"; may be given several times\n"                \
	"  --per-cpu               pt: a ring a CPU instead of one a thread\n"                     \
	"  --full-execution        pt: write all to the recording while the program runs\n"        \
	"  --no-return-compression pt: a packet for each return, for code that is decoded badly\n" \
	"  --ptwrite               pt: the values of PTWRITE instructions too\n"                   \
	"  --power-events          pt: changes of the processor's frequency and sleep too\n"

/* Fills the table; what it points to must not move. */
void mt_pt_options_init(struct mt_pt_options *options);
void mt_pt_options_deinit(struct mt_pt_options *options);
/* What was given, lent.  Errors: USAGE. */
struct mt_error *mt_pt_options_apply(const struct mt_pt_options *options,
				     struct mt_engine_pt_options *out);

#endif
