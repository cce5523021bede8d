/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting a program under ptrace: the child waits until it is seized, then becomes the program. */
#include "process/proc.h"
#include "ptrace/lwp.h"
#include "terminal/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE_SEGMENT_64 0x33

long mt_ptrace_options(void)
{
	return PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
	       PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD;
}

struct pipes {
	int go[2];    /* to the child: closed when it is seized */
	int error[2]; /* from it: errno of execve; closed by its success */
};

static struct mt_error *open_pipes(struct pipes *pipes)
{
	if (pipe2(pipes->go, O_CLOEXEC))
		return mt_error_errno(errno, "cannot create a pipe");
	if (pipe2(pipes->error, O_CLOEXEC)) {
		struct mt_error *error = mt_error_errno(errno, "cannot create a pipe");
		close(pipes->go[0]);
		close(pipes->go[1]);
		return error;
	}
	return NULL;
}

/* In the child; only what is safe after fork(). */
static void become_program(const struct mt_ptrace_target *target, const struct mt_launch *launch,
			   struct pipes *pipes)
{
	char byte;

	ending_restore();
	close(pipes->go[1]);
	while (read(pipes->go[0], &byte, 1) < 0 && errno == EINTR)
		;
	if (launch->apart) {
		setpgid(0, 0);
		personality(ADDR_NO_RANDOMIZE);
	}
	sigprocmask(SIG_SETMASK, &target->old_mask, NULL);
	execve(launch->path, (char *const *)launch->arguments,
	       launch->environment ? (char *const *)launch->environment : environ);
	int errnum = errno;
	(void)!write(pipes->error[1], &errnum, sizeof(errnum));
	_exit(127);
}

/* Until execve succeeded (the program stands at its event) or failed (errnum says why). */
static int wait_for_exec(pid_t pid, int *status)
{
	for (;;) {
		pid_t done = waitpid(pid, status, __WALL | WNOHANG);

		if (done < 0 && errno != EINTR)
			return errno;
		if (done <= 0) {
			if (ending_is_requested())
				return EINTR;
			mt_ptrace_doze();
			continue;
		}
		if (!WIFSTOPPED(*status))
			return ECHILD;
		if (*status >> 16 == PTRACE_EVENT_EXEC)
			return 0;
		int event = *status >> 16;
		ptrace(PTRACE_CONT, pid, 0, event ? 0 : WSTOPSIG(*status));
	}
}

static struct mt_error *start(const struct mt_launch *launch, pid_t pid, struct pipes *pipes)
{
	int status = 0, errnum = 0;

	if (ptrace(PTRACE_SEIZE, pid, 0, mt_ptrace_options() | PTRACE_O_EXITKILL)) {
		int seize_errnum = errno, tracer = mt_proc_status_number(pid, "TracerPid");

		if (tracer > 0)
			return mt_error_new(
			    MT_ERROR_BUSY,
			    "cannot trace the new process: process %d traces it "
			    "already, with all children of mtdb (as strace -f does; "
			    "run strace without -f)",
			    tracer);
		return mt_error_errno(seize_errnum,
				      "cannot trace the new process (in a container, allow ptrace: "
				      "--cap-add=SYS_PTRACE)");
	}
	close(pipes->go[1]);
	pipes->go[1] = -1;
	close(pipes->error[1]);
	pipes->error[1] = -1;
	int failure = wait_for_exec(pid, &status);
	if (!failure)
		return NULL;
	if (failure != EINTR && read(pipes->error[0], &errnum, sizeof(errnum)) == sizeof(errnum)) {
		if (errnum == ENOEXEC)
			return mt_error_new(
			    MT_ERROR_FORMAT,
			    "cannot run %s: it is not a program for this machine (a script "
			    "needs a first line such as \"#!/bin/sh\")",
			    launch->path);
		return mt_error_errno(errnum, "cannot run %s", launch->path);
	}
	return mt_error_errno(failure, "%s ended before it could be traced", launch->path);
}

static struct mt_error *enter(struct mt_ptrace_target *target, const struct mt_launch *launch,
			      pid_t pid)
{
	struct mt_ptrace_process *process;
	struct mt_ptrace_lwp *lwp;
	struct user_regs_struct registers;

	mt_try(mt_ptrace_add_process(target, pid, &process));
	process->launched = process->child = true;
	mt_try(mt_ptrace_add_lwp(target, pid, pid, &lwp));
	lwp->state = MT_PTRACE_STOPPED;
	mt_try(mt_ptrace_open_memory(process));
	mt_try(target->base.ops->get_registers(&target->base, pid, &registers));
	if (launch->apart && registers.cs != CODE_SEGMENT_64)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "it is a 32-bit program; only x86-64 programs are supported");
	return NULL;
}

/* Traced, the system would run it without the privileges that its owner gave it. */
static struct mt_error *refuse_privileged(const char *path)
{
	struct stat file;

	if (geteuid() == 0 || stat(path, &file) || !(file.st_mode & (S_ISUID | S_ISGID)))
		return NULL;
	return mt_error_new(
	    MT_ERROR_PERMISSION,
	    "%s is set-user-ID or set-group-ID, and would run without these privileges while "
	    "traced; run mtdb as root",
	    path);
}

struct mt_error *mt_ptrace_launch(struct mt_target *base, const struct mt_launch *launch,
				  pid_t *pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct pipes pipes;

	mt_try(mt_proc_check());
	mt_try(refuse_privileged(launch->path));
	mt_try(open_pipes(&pipes));
	ending_hold();
	*pid = fork();
	if (*pid == 0)
		become_program(target, launch, &pipes);
	struct mt_error *error = *pid < 0 ? mt_error_errno(errno, "cannot start a process")
					  : start(launch, *pid, &pipes);
	int *ends[] = {&pipes.go[0], &pipes.go[1], &pipes.error[0], &pipes.error[1]};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (*ends[i] >= 0)
			close(*ends[i]);
	if (!error)
		error = mt_error_wrap(enter(target, launch, *pid), "cannot trace %s", launch->path);
	if (error && *pid > 0) {
		mt_error_destroy(mt_ptrace_end(*pid));
		mt_ptrace_forget(target, *pid);
	} else if (!error && !launch->apart) {
		target->foreground = *pid;
		ending_pass_to(*pid);
	}
	ending_release();
	return error;
}
