/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/pt/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_PID  (-1) /* as perf has it */
#define KERNEL_NAME "[kernel.kallsyms]_stext"

static FILE *open_proc(const char *root, const char *name)
{
	char *path = NULL;
	FILE *file = asprintf(&path, "%s/proc/%s", root, name) < 0 ? NULL : fopen(path, "re");

	free(path);
	return file;
}

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
static struct mt_error *put_modules(const char *root, uint64_t time_ns,
				    struct mt_recording_writer *writer)
{
	FILE *modules = open_proc(root, "modules");
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

struct mt_error *mt_pt_put_kernel(const char *root, uint64_t time_ns,
				  struct mt_recording_writer *writer)
{
	FILE *kallsyms = open_proc(root, "kallsyms");
	uint64_t start = 0, end = 0;

	if (!kallsyms)
		return mt_error_errno(errno, "cannot read %s/proc/kallsyms", root);
	find_text(kallsyms, &start, &end);
	fclose(kallsyms);
	if (!start || end <= start)
		return mt_error_new(
		    MT_ERROR_PERMISSION,
		    "the kernel hides its addresses (/proc/kallsyms has none): run as "
		    "root, or sudo sysctl kernel.kptr_restrict=0");
	mt_try(put(KERNEL_NAME, start, end, time_ns, writer));
	return put_modules(root, time_ns, writer);
}
