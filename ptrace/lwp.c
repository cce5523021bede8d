/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/lwp.h"
#include "terminal/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct mt_ptrace_process *mt_ptrace_find_process(struct mt_ptrace_target *target, pid_t pid)
{
	struct mt_ptrace_process *process = NULL;

	HASH_FIND_INT(target->processes, &pid, process);
	return process;
}

struct mt_error *mt_ptrace_open_memory(struct mt_ptrace_process *process)
{
	char path[64];

	if (process->mem_fd >= 0)
		close(process->mem_fd);
	snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
	process->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (process->mem_fd < 0)
		return mt_error_errno(errno, "cannot open the memory of process %d", process->pid);
	return NULL;
}

struct mt_error *mt_ptrace_add_process(struct mt_ptrace_target *target, pid_t pid,
				       struct mt_ptrace_process **out)
{
	struct mt_ptrace_process *process = calloc(1, sizeof(*process));

	if (!process)
		return mt_error_no_memory();
	process->pid = pid;
	process->mem_fd = -1;
	HASH_ADD_INT(target->processes, pid, process);
	if (!mt_ptrace_find_process(target, pid)) {
		free(process);
		return mt_error_no_memory();
	}
	ending_hold();
	*out = process;
	return NULL;
}

void mt_ptrace_remove_process(struct mt_ptrace_target *target, pid_t pid)
{
	struct mt_ptrace_process *process = mt_ptrace_find_process(target, pid);

	if (!process)
		return;
	HASH_DEL(target->processes, process);
	target->own_traps -= process->is_trap != NULL;
	if (process->mem_fd >= 0)
		close(process->mem_fd);
	free(process);
	ending_release();
}

struct mt_ptrace_lwp *mt_ptrace_find_lwp(struct mt_ptrace_target *target, pid_t lwp)
{
	struct mt_ptrace_lwp *found = NULL;

	HASH_FIND_INT(target->lwps, &lwp, found);
	return found;
}

struct mt_error *mt_ptrace_add_lwp(struct mt_ptrace_target *target, pid_t lwp, pid_t pid,
				   struct mt_ptrace_lwp **out)
{
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return mt_error_no_memory();
		known->lwp = lwp;
		HASH_ADD_INT(target->lwps, lwp, known);
		if (!mt_ptrace_find_lwp(target, lwp)) {
			free(known);
			return mt_error_no_memory();
		}
	}
	known->pid = pid;
	*out = known;
	return NULL;
}

void mt_ptrace_remove_lwp(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp)
{
	if (lwp->has_status)
		target->untold--;
	HASH_DEL(target->lwps, lwp);
	free(lwp);
}

struct mt_ptrace_lwp *mt_ptrace_any_lwp(struct mt_ptrace_target *target, pid_t pid)
{
	struct mt_ptrace_lwp *leader = NULL;

	for (struct mt_ptrace_lwp *lwp = target->lwps; lwp; lwp = lwp->hh.next) {
		if (lwp->pid != pid)
			continue;
		if (lwp->lwp != pid)
			return lwp;
		leader = lwp;
	}
	return leader;
}

void mt_ptrace_forget(struct mt_ptrace_target *target, pid_t pid)
{
	struct mt_ptrace_lwp *lwp;

	while ((lwp = mt_ptrace_any_lwp(target, pid)))
		mt_ptrace_remove_lwp(target, lwp);
	mt_ptrace_remove_process(target, pid);
}
