/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/sample_options.h"

#include "base/str.h"

#include <string.h>

#define NS_PER_S       1000000000ull
#define MOST_FREQUENCY 100000u /* the kernel looks at no clock more often */

void mt_sample_options_init(struct mt_sample_options *options)
{
	*options = (struct mt_sample_options){0};
	const struct poptOption table[] = {
	    {"frequency", 0, POPT_ARG_STRING, &options->frequency, 0, NULL, NULL},
	    {"stack", 0, POPT_ARG_STRING, &options->stack, 0, NULL, NULL},
	    POPT_TABLEEND,
	};

	_Static_assert(sizeof(table) <= sizeof(options->table), "MT_SAMPLE_OPTIONS_TABLE");
	memcpy(options->table, table, sizeof(table));
}

void mt_sample_options_deinit(struct mt_sample_options *options)
{
	free(options->frequency);
	free(options->stack);
}

static struct mt_error *parse_stack(const char *text, struct mt_engine_sample_options *out)
{
	mt_try(mt_parse_size(text, &out->stack_bytes));
	if (out->stack_bytes > MT_ENGINE_MOST_STACK_BYTES)
		return mt_error_new(MT_ERROR_USAGE,
				    "--stack=%s is too much: a sample has room for %u bytes", text,
				    MT_ENGINE_MOST_STACK_BYTES);
	out->follows_frame_pointers = !out->stack_bytes;
	out->stack_bytes = (out->stack_bytes + 7) & ~7ull;
	return NULL;
}

struct mt_error *mt_sample_options_apply(const struct mt_sample_options *options,
					 struct mt_engine_sample_options *out)
{
	uint64_t frequency = 0;

	*out = (struct mt_engine_sample_options){
	    .asked = options->frequency ? "--frequency"
		     : options->stack   ? "--stack"
					: NULL,
	};
	if (options->frequency)
		mt_try(mt_parse_number(options->frequency, "number of samples a second", 1,
				       MOST_FREQUENCY, &frequency));
	if (frequency)
		out->period_ns = NS_PER_S / frequency;
	return options->stack ? parse_stack(options->stack, out) : NULL;
}
