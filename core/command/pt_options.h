/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of `run` and `attach` for the engine pt (Intel PT) alone. */
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
	"  --resolution=WHICH      pt: time resolution: low, normal (default) or high\n"           \
	"  --kernel                pt, sample: record what the kernel does for the program, too\n" \
	"  --filter=FILTER         pt: trace only within FUNCTION, or \"filter A / B @ FILE\",\n"  \
	"                          \"stop A @ FILE\"; may be repeated\n"                           \
	"  --per-cpu               pt: one ring per CPU instead of one per thread\n"               \
	"  --full-execution        pt: write all trace data to the recording during the run\n"     \
	"  --no-return-compression pt: emit a packet for each return, for code that decodes\n"     \
	"                          badly otherwise\n"                                              \
	"  --ptwrite               pt: record the values of PTWRITE instructions\n"                \
	"  --power-events          pt: record the processor's frequency and sleep states\n"

/* Fills the table; what it points to must not move. */
void mt_pt_options_init(struct mt_pt_options *options);
void mt_pt_options_deinit(struct mt_pt_options *options);
/* Fills OUT from the options, lent.  Errors: USAGE. */
struct mt_error *mt_pt_options_apply(const struct mt_pt_options *options,
				     struct mt_engine_pt_options *out);

#endif
