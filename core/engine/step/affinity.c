/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program whose threads are kept on one CPU sees, and gets on detach, the affinity that it would
 * have: programs count their CPUs by it. */
#include "engine/step/private.h"

#include <sys/syscall.h>

static struct mt_step_thread *meant(struct mt_step_engine *engine, struct mt_step_thread *caller,
				    uint64_t number)
{
	struct mt_step_thread *thread = caller;
	pid_t lwp = (pid_t)number;

	if (lwp)
		HASH_FIND_INT(engine->threads, &lwp, thread);
	return thread;
}

struct mt_error *mt_step_affinity(struct mt_step_engine *engine, struct mt_step_thread *caller,
				  const struct user_regs_struct *entered)
{
	uint64_t number = entered->orig_rax;
	struct mt_step_thread *thread;

	if ((number != SYS_sched_getaffinity && number != SYS_sched_setaffinity) ||
	    (long long)caller->registers.rax < 0)
		return NULL;
	thread = meant(engine, caller, entered->rdi);
	if (!thread || !thread->pin.on)
		return NULL;
	if (number == SYS_sched_getaffinity) {
		size_t size = (size_t)caller->registers.rax;

		if (size > sizeof(thread->pin.allowed))
			return NULL;
		return engine->target->ops->write(engine->target, caller->pid, entered->rdx,
						  &thread->pin.allowed, size);
	}
	mt_pin_thread(&engine->pin, &thread->pin, thread->lwp, NULL);
	return NULL;
}
