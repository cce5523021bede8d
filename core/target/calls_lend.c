/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a target needs in the program to borrow its threads: see target/lend.h. */
#include "target/calls_private.h"
#include "target/interrupted.h"
#include "target/lend.h"

#include <string.h>
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

struct search {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	uint64_t found;
	bool is_written; /* another tracer of ours was killed here */
};

/* The end of a file's code up to the page's end is full of zeros that nobody runs. */
static struct mt_error *look_in(void *context, const struct mt_map *map)
{
	static const uint8_t zeros[MT_LEND_BYTES];
	struct search *search = context;
	struct mt_target *target = search->engine->target;
	uint8_t bytes[MT_LEND_BYTES];
	uint64_t at = map->end - sizeof(bytes);

	if (search->is_written || !map->executable || map->writable || map->path[0] != '/' ||
	    target->ops->read(target, search->space->pid, at, bytes, sizeof(bytes)) !=
		sizeof(bytes))
		return NULL;
	search->is_written = memcmp(bytes, mt_lend_code, sizeof(bytes)) == 0;
	if (search->is_written || (!search->found && memcmp(bytes, zeros, sizeof(bytes)) == 0))
		search->found = at;
	return NULL;
}

static struct mt_error *write_code(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space, uint64_t code,
				   const uint8_t *bytes)
{
	return engine->target->ops->write(engine->target, space->pid, code, bytes, MT_LEND_BYTES);
}

/* While no memory is there for it, or none any more. */
static struct mt_error *begin_in_padding(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, uint64_t *code)
{
	struct search search = {.engine = engine, .space = space};

	mt_try(engine->target->ops->each_map(engine->target, space->pid, look_in, &search));
	*code = search.found;
	space->lend_found = search.is_written;
	if (!*code)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "process %d has no room for the code that a tracer borrows its "
				    "threads by: no file's code ends %d bytes before a page does",
				    space->pid, MT_LEND_BYTES);
	mt_try(write_code(engine, space, *code, mt_lend_code));
	return engine->target->ops->lend(engine->target, space->pid, *code, 0);
}

struct look {
	struct mt_target *target;
	pid_t pid;
	uint64_t code;
	bool inside;
};

static struct mt_error *see_pc(void *context, uint64_t pc)
{
	struct look *look = context;

	look->inside |= pc - look->code < MT_LEND_BYTES;
	return NULL;
}

static struct mt_error *look_at(void *context, pid_t lwp)
{
	struct look *look = context;
	struct user_regs_struct registers;
	struct mt_error *error = look->target->ops->get_registers(look->target, lwp, &registers);

	if (!error)
		error = see_pc(look, registers.rip);
	if (!error)
		error = mt_interrupted_each(look->target, look->pid, registers.rsp, see_pc, look);
	look->inside |= error != NULL;
	mt_error_destroy(error);
	return NULL;
}

/* Whom a tracer borrowed that was killed may still be on the way back, or in a signal handler on
 * that way.  All threads stand still, or it is not known. */
static bool is_somebody_inside(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			       uint64_t code)
{
	struct look look = {engine->target, space->pid, code, false};

	mt_error_destroy(
	    engine->target->ops->each_thread(engine->target, space->pid, look_at, &look));
	return look.inside;
}

static struct mt_error *end_in_padding(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space, uint64_t code)
{
	static const uint8_t zeros[MT_LEND_BYTES];

	if (!code || (space->lend_found && is_somebody_inside(engine, space, code)))
		return NULL;
	return write_code(engine, space, code, zeros);
}

struct mt_error *mt_calls_lend_begin(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	if (!engine->target->ops->lend || space->lend_code)
		return NULL;
	return begin_in_padding(engine, space, &space->lend_padding);
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
	mt_try(write_code(engine, space, space->lend_code, mt_lend_code));
	mt_try(ops->lend(engine->target, space->pid, space->lend_code,
			 space->lend_stack + MT_LEND_STACK_BYTES));
	return mt_calls_lend_give_up(engine, space);
}

struct mt_error *mt_calls_lend_give_up(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	const struct mt_target_ops *ops = engine->target->ops;
	uint64_t code = space->lend_padding;

	space->lend_padding = 0;
	if (code && !space->lend_code && ops->lend)
		mt_try(ops->lend(engine->target, space->pid, 0, 0));
	return end_in_padding(engine, space, code);
}

struct mt_error *mt_calls_lend_end(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp)
{
	uint64_t code = space->lend_code, padding = 0;

	if (space->lend_stack)
		mt_try(mt_calls_room_unmap(engine, lwp, space->lend_stack, MT_LEND_STACK_BYTES));
	space->lend_stack = 0;
	if (!code)
		return NULL;
	space->lend_code = 0;
	mt_try(engine->target->ops->lend(engine->target, space->pid, 0, 0));
	struct mt_error *error = begin_in_padding(engine, space, &padding);
	if (error)
		return error; /* the code stays */
	error = mt_calls_room_unmap(engine, lwp, code, PAGE);
	mt_error_destroy(engine->target->ops->lend(engine->target, space->pid, 0, 0));
	mt_error_destroy(end_in_padding(engine, space, padding));
	return error;
}
