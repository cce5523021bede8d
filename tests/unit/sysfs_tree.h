/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sysfs tells of Intel PT on some machines, as a tree of files for a test. */
#ifndef MT_TESTS_SYSFS_TREE_H
#define MT_TESTS_SYSFS_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SYSFS_DEVICES "/sys/bus/event_source/devices"

/* Pairs of a file below SYSFS_DEVICES and its line, NULL at the end. */
__attribute__((unused)) static const char *const sysfs_broadwell[] = {
    "intel_pt/type",
    "8",
    "intel_pt/format/tsc",
    "config:10",
    "intel_pt/format/noretcomp",
    "config:11",
    "intel_pt/format/mtc",
    "config:9",
    "intel_pt/format/mtc_period",
    "config:14-17",
    "intel_pt/format/cyc",
    "config:1",
    "intel_pt/format/cyc_thresh",
    "config:19-22",
    "intel_pt/format/psb_period",
    "config:24-27",
    "intel_pt/caps/psb_cyc",
    "0",
    "intel_pt/caps/mtc",
    "0",
    "intel_pt/caps/ip_filtering",
    "0",
    "intel_pt/caps/topa_output",
    "1",
    "intel_pt/caps/max_subleaf",
    "0",
    "intel_pt/max_nonturbo_ratio",
    "22",
    NULL,
};

#define SYSFS_FORMAT                                                                               \
	"intel_pt/format/pt", "config:0", "intel_pt/format/cyc", "config:1",                       \
	    "intel_pt/format/pwr_evt", "config:4", "intel_pt/format/fup_on_ptw", "config:5",       \
	    "intel_pt/format/mtc", "config:9", "intel_pt/format/tsc", "config:10",                 \
	    "intel_pt/format/noretcomp", "config:11", "intel_pt/format/ptw", "config:12",          \
	    "intel_pt/format/branch", "config:13", "intel_pt/format/mtc_period", "config:14-17",   \
	    "intel_pt/format/cyc_thresh", "config:19-22", "intel_pt/format/psb_period",            \
	    "config:24-27"

__attribute__((unused)) static const char *const sysfs_skylake[] = {
    "intel_pt/type",
    "8",
    SYSFS_FORMAT,
    "intel_pt/caps/max_subleaf",
    "1",
    "intel_pt/caps/psb_cyc",
    "1",
    "intel_pt/caps/mtc",
    "1",
    "intel_pt/caps/ptwrite",
    "0",
    "intel_pt/caps/power_event_trace",
    "0",
    "intel_pt/caps/ip_filtering",
    "1",
    "intel_pt/caps/topa_output",
    "1",
    "intel_pt/caps/topa_multiple_entries",
    "1",
    "intel_pt/caps/num_address_ranges",
    "2",
    "intel_pt/caps/mtc_periods",
    "249",
    "intel_pt/caps/cycle_thresholds",
    "3f",
    "intel_pt/caps/psb_periods",
    "3f",
    "intel_pt/max_nonturbo_ratio",
    "24",
    "intel_pt/tsc_art_ratio",
    "216:2",
    "intel_pt/nr_addr_filters",
    "2",
    NULL,
};

__attribute__((unused)) static const char *const sysfs_alder_lake[] = {
    "intel_pt/type",
    "9",
    SYSFS_FORMAT,
    "intel_pt/caps/psb_cyc",
    "1",
    "intel_pt/caps/mtc",
    "1",
    "intel_pt/caps/ptwrite",
    "1",
    "intel_pt/caps/power_event_trace",
    "1",
    "intel_pt/caps/ip_filtering",
    "1",
    "intel_pt/caps/num_address_ranges",
    "2",
    "intel_pt/caps/mtc_periods",
    "249",
    "intel_pt/caps/cycle_thresholds",
    "1fff",
    "intel_pt/caps/psb_periods",
    "3f",
    "intel_pt/max_nonturbo_ratio",
    "21",
    "intel_pt/tsc_art_ratio",
    "110:2",
    "intel_pt/nr_addr_filters",
    "2",
    NULL,
};

static void put_sysfs(const char *root, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s" SYSFS_DEVICES "/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	FILE *file = fopen(path, "we");
	if (!file)
		abort();
	fprintf(file, "%s\n", text);
	fclose(file);
}

/* A directory for mt_pmu_read(); the caller's to remove_sysfs(). */
__attribute__((unused)) static char *make_sysfs(const char *const *tree)
{
	char *root = strdup("/tmp/mtrace-sysfs-XXXXXX");

	if (!root || !mkdtemp(root))
		abort();
	for (; *tree; tree += 2)
		put_sysfs(root, tree[0], tree[1]);
	return root;
}

__attribute__((unused)) static void remove_sysfs(char *root)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	if (system(command))
		abort();
	free(root);
}

#endif
