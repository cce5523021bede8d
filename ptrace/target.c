/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/target.h"

#include "process/proc.h"
#include "ptrace/lwp.h"
#include "ptrace/registers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

static struct mt_ptrace_target *target_of(struct mt_target *base)
{
	return (struct mt_ptrace_target *)base;
}

static struct mt_error *gone(pid_t lwp)
{
	return mt_error_at_lwp(mt_error_new(MT_ERROR_GONE, "thread %d is gone, or is running", lwp),
			       lwp);
}

static int memory_of(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_process *process = mt_ptrace_find_process(target_of(base), pid);

	return process ? process->mem_fd : -1;
}

static size_t read_memory(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			  size_t size)
{
	ssize_t done = pread(memory_of(base, pid), buffer, size, (off_t)address);

	return done > 0 ? (size_t)done : 0;
}

static struct mt_error *write_memory(struct mt_target *base, pid_t pid, uint64_t address,
				     const void *bytes, size_t size)
{
	ssize_t done = pwrite(memory_of(base, pid), bytes, size, (off_t)address);

	if (done == (ssize_t)size)
		return NULL;
	return mt_error_errno(done < 0 ? errno : EFAULT,
			      "cannot write %zu bytes at 0x%llx in process %d", size,
			      (unsigned long long)address, pid);
}

static struct mt_error *get_registers(struct mt_target *base, pid_t lwp,
				      struct user_regs_struct *registers)
{
	(void)base;
	return ptrace(PTRACE_GETREGS, lwp, 0, registers) ? gone(lwp) : NULL;
}

static bool get_float_registers(struct mt_target *base, pid_t lwp,
				struct user_fpregs_struct *registers)
{
	(void)base;
	return mt_ptrace_get_float_registers(lwp, registers);
}

static struct mt_error *set_registers(struct mt_target *base, pid_t lwp,
				      const struct user_regs_struct *registers)
{
	(void)base;
	return ptrace(PTRACE_SETREGS, lwp, 0, registers) ? gone(lwp) : NULL;
}

static struct mt_error *set_gs_base(struct mt_target *base, pid_t lwp, uint64_t gs_base)
{
	(void)base;
	return ptrace(PTRACE_POKEUSER, lwp, offsetof(struct user_regs_struct, gs_base), gs_base)
		   ? gone(lwp)
		   : NULL;
}

static bool dispatches_calls(struct mt_target *base, pid_t lwp)
{
	(void)base;
	return mt_ptrace_dispatches_calls(lwp);
}

static struct mt_error *each_thread(struct mt_target *base, pid_t pid,
				    struct mt_error *(*found)(void *context, pid_t lwp),
				    void *context)
{
	struct mt_ptrace_lwp *next;

	for (struct mt_ptrace_lwp *lwp = target_of(base)->lwps; lwp; lwp = next) {
		next = lwp->hh.next;
		if (lwp->pid == pid)
			mt_try(found(context, lwp->lwp));
	}
	return NULL;
}

static struct mt_error *each_map(struct mt_target *base, pid_t pid,
				 struct mt_error *(*found)(void *context, const struct mt_map *map),
				 void *context)
{
	(void)base;
	return mt_proc_each_map(pid, found, context);
}

static struct mt_error *resume(struct mt_target *base, pid_t lwp, enum mt_resume how, int signal)
{
	static const enum __ptrace_request requests[] = {
	    [MT_RESUME_CONTINUE] = PTRACE_CONT,
	    [MT_RESUME_STEP] = PTRACE_SINGLESTEP,
	    [MT_RESUME_SYSCALL] = PTRACE_SYSCALL,
	    [MT_RESUME_LISTEN] = PTRACE_LISTEN,
	};
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target_of(base), lwp);

	/* Its stop is not reported yet: it stays until then.  And who runs may stand for something
	 * by now that nobody has waited for, and that would be lost. */
	if (!known || known->has_status || !mt_ptrace_stands_still(known) ||
	    ptrace(requests[how], lwp, 0, signal))
		return gone(lwp);
	known->state = MT_PTRACE_RUNNING;
	known->stepping = how == MT_RESUME_STEP;
	known->listens = how == MT_RESUME_LISTEN;
	if (signal != SIGSTOP && signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
		return NULL;
	/* A signal that stops the whole process was given to one thread. */
	for (struct mt_ptrace_lwp *other = target_of(base)->lwps; other; other = other->hh.next)
		if (other->pid == known->pid)
			other->in_group = false;
	return NULL;
}

static struct mt_error *interrupt(struct mt_target *base, pid_t lwp)
{
	(void)base;
	return ptrace(PTRACE_INTERRUPT, lwp, 0, 0) ? gone(lwp) : NULL;
}

static void destroy(struct mt_target *base)
{
	struct mt_ptrace_target *target = target_of(base);

	while (target->processes) {
		pid_t pid = target->processes->pid;

		if (target->processes->let_go)
			; /* it is not ours any more */
		else if (target->processes->launched)
			mt_error_destroy(mt_ptrace_kill(base, pid));
		else
			mt_error_destroy(mt_ptrace_detach(base, pid, 0));
		mt_ptrace_forget(target, pid);
	}
	while (target->lwps)
		mt_ptrace_remove_lwp(target, target->lwps);
	sigprocmask(SIG_SETMASK, &target->old_mask, NULL);
	free(target);
}

static const struct mt_target_ops ops = {
    .destroy = destroy,
    .read = read_memory,
    .write = write_memory,
    .get_registers = get_registers,
    .set_registers = set_registers,
    .get_float_registers = get_float_registers,
    .set_gs_base = set_gs_base,
    .dispatches_calls = dispatches_calls,
    .each_thread = each_thread,
    .each_map = each_map,
    .set_injected = mt_ptrace_set_injected,
    .has_injected = mt_ptrace_has_injected,
    .call_systems = mt_ptrace_call_systems,
    .run_to = mt_ptrace_run_to,
};

static const struct mt_run_ops run = {
    .launch = mt_ptrace_launch,
    .attach = mt_ptrace_attach,
    .detach = mt_ptrace_detach,
    .kill = mt_ptrace_kill,
    .resume = resume,
    .wait = mt_ptrace_wait,
    .interrupt = interrupt,
    .halt = mt_ptrace_halt,
    .release = mt_ptrace_release,
    .own_traps = mt_ptrace_own_traps,
    .take_traps = mt_ptrace_take_traps,
    .clear_pending_stop = mt_ptrace_clear_pending_stop,
};

struct mt_error *mt_ptrace_target_create(struct mt_target **out)
{
	struct mt_ptrace_target *target = calloc(1, sizeof(*target));
	sigset_t child;

	if (!target)
		return mt_error_no_memory();
	target->base.ops = &ops;
	target->base.run = &run;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &target->old_mask);
	*out = &target->base;
	return NULL;
}
