/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of `run` and `attach` for the engine sample alone. */
#ifndef MT_COMMAND_SAMPLE_OPTIONS_H
#define MT_COMMAND_SAMPLE_OPTIONS_H

#include "command/arguments.h"
#include "engine/engine.h"

#define MT_SAMPLE_OPTIONS_TABLE 3

struct mt_sample_options {
	char *frequency, *stack;
	struct poptOption table[MT_SAMPLE_OPTIONS_TABLE];
};

/* For help and completion. */
#define MT_SAMPLE_OPTIONS_WORDS "--frequency=HZ", "--stack=SIZE"
#define MT_SAMPLE_OPTIONS_HELP                                                                     \
	"  --frequency=HZ          sample: so many samples a second of a thread that runs\n"       \
	"                          (default: 1000)\n"                                              \
	"  --stack=SIZE            sample: so much of the stack in each sample, by which it is\n"  \
	"                          unwound (default: 8k; 0: by frame pointers alone)\n"

/* Fills the table; what it points to must not move. */
void mt_sample_options_init(struct mt_sample_options *options);
void mt_sample_options_deinit(struct mt_sample_options *options);
/* Fills OUT from the options.  Errors: USAGE. */
struct mt_error *mt_sample_options_apply(const struct mt_sample_options *options,
					 struct mt_engine_sample_options *out);

#endif
