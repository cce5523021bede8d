/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source: proc(5), /proc/PID/task/TID/children. */
#include "process/sharers.h"

#include "process/proc.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

static bool is_in_vfork(pid_t lwp)
{
	long number = mt_proc_system_call(lwp);

	return number == SYS_vfork || number == SYS_clone || number == SYS_clone3;
}

/* When the maker was looked at, the child may have been about to leave. */
static bool stays(pid_t pid, pid_t maker, pid_t child)
{
	return mt_proc_share_memory(pid, child) > 0 && !is_in_vfork(maker) &&
	       mt_proc_share_memory(pid, child) > 0;
}

static pid_t find_child(pid_t pid, pid_t maker)
{
	char path[64];
	pid_t child, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, maker);
	FILE *file = fopen(path, "re");
	while (file && !found && fscanf(file, "%d", &child) == 1)
		if (stays(pid, maker, child))
			found = child;
	if (file)
		fclose(file);
	return found;
}

pid_t mt_proc_sharer(pid_t pid)
{
	pid_t parent = mt_proc_status_number(pid, "PPid"), found = 0;
	char path[64];
	struct dirent *entry;

	/* A thread of the kernel has none, as others have. */
	if (mt_proc_status_number(pid, "VmSize") < 0)
		return 0;
	if (parent > 0 && mt_proc_share_memory(pid, parent) > 0)
		return parent;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0)
			found = find_child(pid, atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
	return found;
}
