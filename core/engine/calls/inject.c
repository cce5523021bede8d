/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a target needs in the program to borrow its threads: see process/inject.h. */
#include "process/inject.h"
#include "engine/calls/private.h"

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

static struct mt_error *write_code(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space, uint64_t code)
{
	return engine->target->ops->write(engine->target, space->pid, code, mt_lend_code,
					  MT_LEND_BYTES);
}

struct mt_error *mt_calls_lend_begin(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	if (!engine->target->ops->lend || space->lend_code)
		return NULL;
	return mt_lend_padding_begin(engine->target, space->pid, &space->lend_padding);
}

struct mt_error *mt_calls_lend(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       pid_t lwp)
{
	const struct mt_target_ops *ops = engine->target->ops;

	/* There the agent's name is put, too. */
	if (!space->lend_stack)
		mt_try(map(engine, lwp, MT_LEND_STACK_BYTES, PROT_READ | PROT_WRITE,
			   &space->lend_stack));
	if (!ops->lend || space->lend_code)
		return mt_calls_lend_give_up(engine, space);
	mt_try(map(engine, lwp, PAGE, PROT_READ | PROT_EXEC, &space->lend_code));
	mt_try(write_code(engine, space, space->lend_code));
	mt_try(ops->lend(engine->target, space->pid, space->lend_code,
			 space->lend_stack + MT_LEND_STACK_BYTES));
	return mt_calls_lend_give_up(engine, space);
}

struct mt_error *mt_calls_lend_give_up(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	const struct mt_target_ops *ops = engine->target->ops;
	struct mt_lend_padding padding = space->lend_padding;

	space->lend_padding = (struct mt_lend_padding){0};
	if (padding.code && !space->lend_code && ops->lend)
		mt_try(ops->lend(engine->target, space->pid, 0, 0));
	return mt_lend_padding_end(engine->target, space->pid, &padding);
}

struct mt_error *mt_calls_lend_end(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp)
{
	struct mt_lend_padding padding = {0};
	uint64_t code = space->lend_code;

	if (space->lend_stack)
		mt_try(mt_calls_room_unmap(engine, lwp, space->lend_stack, MT_LEND_STACK_BYTES));
	space->lend_stack = 0;
	if (!code)
		return NULL;
	space->lend_code = 0;
	mt_try(engine->target->ops->lend(engine->target, space->pid, 0, 0));
	struct mt_error *error = mt_lend_padding_begin(engine->target, space->pid, &padding);
	if (error)
		return error; /* the code stays */
	error = mt_calls_room_unmap(engine, lwp, code, PAGE);
	mt_error_destroy(engine->target->ops->lend(engine->target, space->pid, 0, 0));
	mt_error_destroy(mt_lend_padding_end(engine->target, space->pid, &padding));
	return error;
}
