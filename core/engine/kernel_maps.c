/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/kernel_maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_PID  (-1) /* as perf has it */
#define KERNEL_NAME "[kernel.kallsyms]_stext"

static struct mt_error *put(const char *path, uint64_t start, uint64_t end, uint64_t time_ns,
			    struct mt_recording_writer *writer)
{
	struct mt_sideband record = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_MMAP,
	    .pid = KERNEL_PID,
	    .cpu = -1,
	    .mmap = {.start = start,
		     .length = end - start,
		     .offset = start,
		     .path = path,
		     .executable = true,
		     .kernel = true},
	};

	return mt_recording_writer_put(writer, &record);
}

/* Those of _stext and _etext; 0: hidden. */
static void find_text(FILE *kallsyms, uint64_t *start, uint64_t *end)
{
	char line[512], name[256];
	uint64_t address;

	while ((!*start || !*end) && fgets(line, sizeof(line), kallsyms)) {
		if (sscanf(line, "%lx %*c %255s", &address, name) != 2)
			continue;
		if (strcmp(name, "_stext") == 0)
			*start = address;
		else if (strcmp(name, "_etext") == 0)
			*end = address;
	}
}

/* "ext4 1036288 2 - Live 0xffffffffc0400000" */
static struct mt_error *put_modules(uint64_t time_ns, struct mt_recording_writer *writer)
{
	FILE *modules = fopen("/proc/modules", "re");
	struct mt_error *error = NULL;
	char line[4096], name[64], path[80];
	uint64_t size, start;

	while (!error && modules && fgets(line, sizeof(line), modules)) {
		if (sscanf(line, "%63s %lu %*s %*s %*s %lx", name, &size, &start) != 3 || !start)
			continue;
		snprintf(path, sizeof(path), "[%s]", name);
		error = put(path, start, start + size, time_ns, writer);
	}
	if (modules)
		fclose(modules);
	return error;
}

static struct mt_error *put_all(uint64_t time_ns, struct mt_recording_writer *writer)
{
	FILE *kallsyms = fopen("/proc/kallsyms", "re");
	uint64_t start = 0, end = 0;

	if (!kallsyms)
		return mt_error_errno(errno, "cannot read /proc/kallsyms");
	find_text(kallsyms, &start, &end);
	fclose(kallsyms);
	if (!start || end <= start)
		return mt_error_new(
		    MT_ERROR_PERMISSION,
		    "the kernel hides its addresses (/proc/kallsyms has none): run as "
		    "root, or sudo sysctl kernel.kptr_restrict=0");
	mt_try(put(KERNEL_NAME, start, end, time_ns, writer));
	return put_modules(time_ns, writer);
}

struct mt_error *mt_engine_put_kernel(const struct mt_log *log, uint64_t time_ns,
				      struct mt_recording_writer *writer)
{
	struct mt_error *error = put_all(time_ns, writer);

	if (!error || mt_error_code(error) == MT_ERROR_SYSTEM)
		return error;
	mt_log(log, MT_LOG_WARNING, "showing kernel code as [kernel]: %s", mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}
