/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/counter_private.h"

#include "base/str.h"

#include <string.h>

static const struct counter {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
} counters[] = {
    {"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

struct mt_error *mt_counter_find(const char *name, struct mt_perf_spec *spec)
{
	mt_auto(mt_str) struct mt_str names = {0};

	if (strchr(name, '/'))
		return mt_counter_find_pmu(name, spec);
	for (size_t i = 0; i < COUNTERS; i++) {
		const struct counter *counter = &counters[i];

		mt_str_appendf(&names, "%s%s", i ? ", " : "", counter->name);
		if (strcmp(name, counter->name) != 0 &&
		    (!counter->alias || strcmp(name, counter->alias) != 0))
			continue;
		spec->what = counter->name;
		spec->type = counter->type;
		spec->config = counter->config;
		return NULL;
	}
	if (names.failed)
		return mt_error_no_memory();
	return mt_error_new(MT_ERROR_USAGE,
			    "no such counter: \"%s\"; available are %s, and PMU/EVENT/", name,
			    names.text);
}
