/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a target needs in the program to borrow its threads: see target/lend.h. */
#include "target/calls_private.h"
#include "target/lend.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096u

static struct mt_error *map(struct mt_calls_engine *engine, pid_t lwp, uint64_t bytes,
			    int protection, uint64_t *address)
{
	const uint64_t arguments[] = {0,
				      bytes,
				      (uint64_t)protection,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				      (uint64_t)-1,
				      0};

	return mt_calls_system(engine, lwp, "map memory", SYS_mmap, arguments, address);
}

struct mt_error *mt_calls_lend(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       pid_t lwp)
{
	const struct mt_target_ops *ops = engine->target->ops;

	if (!ops->lend || space->lend_code)
		return NULL;
	mt_try(map(engine, lwp, MT_LEND_STACK_BYTES, PROT_READ | PROT_WRITE, &space->lend_stack));
	mt_try(map(engine, lwp, PAGE, PROT_READ | PROT_EXEC, &space->lend_code));
	mt_try(ops->write(engine->target, space->pid, space->lend_code, mt_lend_code,
			  sizeof(mt_lend_code)));
	return ops->lend(engine->target, space->pid, space->lend_code,
			 space->lend_stack + MT_LEND_STACK_BYTES);
}

struct mt_error *mt_calls_lend_end(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp)
{
	uint64_t code = space->lend_code;

	if (!code)
		return NULL;
	mt_try(mt_calls_room_unmap(engine, lwp, space->lend_stack, MT_LEND_STACK_BYTES));
	space->lend_code = 0;
	mt_try(engine->target->ops->lend(engine->target, space->pid, 0, 0));
	return mt_calls_room_unmap(engine, lwp, code, PAGE);
}
