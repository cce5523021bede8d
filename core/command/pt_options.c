/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/pt_options.h"

#include <string.h>

void mt_pt_options_init(struct mt_pt_options *options)
{
	*options = (struct mt_pt_options){0};
	const struct poptOption table[] = {
	    {"resolution", 0, POPT_ARG_STRING, &options->resolution, 0, NULL, NULL},
	    {"kernel", 0, POPT_ARG_NONE, &options->kernel, 0, NULL, NULL},
	    {"filter", 0, POPT_ARG_ARGV, &options->filters, 0, NULL, NULL},
	    {"per-cpu", 0, POPT_ARG_NONE, &options->per_cpu, 0, NULL, NULL},
	    {"full-execution", 0, POPT_ARG_NONE, &options->full_execution, 0, NULL, NULL},
	    {"no-return-compression", 0, POPT_ARG_NONE, &options->no_return_compression, 0, NULL,
	     NULL},
	    {"ptwrite", 0, POPT_ARG_NONE, &options->ptwrite, 0, NULL, NULL},
	    {"power-events", 0, POPT_ARG_NONE, &options->power_events, 0, NULL, NULL},
	    POPT_TABLEEND,
	};

	_Static_assert(sizeof(table) <= sizeof(options->table), "MT_PT_OPTIONS_TABLE");
	memcpy(options->table, table, sizeof(table));
}

void mt_pt_options_deinit(struct mt_pt_options *options)
{
	for (const char **word = options->filters; word && *word; word++)
		free((char *)*word);
	free(options->filters);
	free(options->resolution);
}

/* The name of one option that was given; NULL: none. */
static const char *any_of(const struct mt_pt_options *options)
{
	return options->resolution              ? "--resolution"
	       : options->filters               ? "--filter"
	       : options->per_cpu               ? "--per-cpu"
	       : options->full_execution        ? "--full-execution"
	       : options->no_return_compression ? "--no-return-compression"
	       : options->ptwrite               ? "--ptwrite"
	       : options->power_events          ? "--power-events"
						: NULL;
}

struct mt_error *mt_pt_options_apply(const struct mt_pt_options *options,
				     struct mt_engine_pt_options *out)
{
	*out = (struct mt_engine_pt_options){
	    .asked = any_of(options),
	    .filters = options->filters,
	    .per_cpu = options->per_cpu,
	    .full_execution = options->full_execution,
	    .no_return_compression = options->no_return_compression,
	    .ptwrite = options->ptwrite,
	    .power_events = options->power_events,
	};
	if (options->resolution && !mt_pmu_parse_resolution(options->resolution, &out->resolution))
		return mt_error_new(MT_ERROR_USAGE,
				    "invalid resolution \"%s\": must be low, normal or high",
				    options->resolution);
	return NULL;
}
