/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a target needs in the program to borrow its threads: see target/lend.h. */
#include "target/calls_private.h"
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
};

/* The end of a file's code up to the page's end is full of zeros that nobody runs. */
static struct mt_error *look_in(void *context, const struct mt_map *map)
{
	static const uint8_t zeros[MT_LEND_BYTES];
	struct search *search = context;
	struct mt_target *target = search->engine->target;
	uint8_t bytes[MT_LEND_BYTES];
	uint64_t at = map->end - sizeof(bytes);

	if (search->found || !map->executable || map->writable || map->path[0] != '/' ||
	    target->ops->read(target, search->space->pid, at, bytes, sizeof(bytes)) !=
		sizeof(bytes))
		return NULL;
	/* Or another tracer of ours was killed here. */
	if (memcmp(bytes, zeros, sizeof(bytes)) == 0 ||
	    memcmp(bytes, mt_lend_code, sizeof(bytes)) == 0)
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
	if (!*code)
		return NULL;
	mt_try(write_code(engine, space, *code, mt_lend_code));
	return engine->target->ops->lend(engine->target, space->pid, *code, 0);
}

static struct mt_error *end_in_padding(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space, uint64_t code)
{
	static const uint8_t zeros[MT_LEND_BYTES];

	return code ? write_code(engine, space, code, zeros) : NULL;
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
	mt_try(map(engine, lwp, MT_LEND_STACK_BYTES, PROT_READ | PROT_WRITE, &space->lend_stack));
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
	uint64_t code = space->lend_padding;

	space->lend_padding = 0;
	if (code && !space->lend_code)
		mt_try(engine->target->ops->lend(engine->target, space->pid, 0, 0));
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
	mt_try(begin_in_padding(engine, space, &padding));
	struct mt_error *error = mt_calls_room_unmap(engine, lwp, code, PAGE);
	mt_error_destroy(engine->target->ops->lend(engine->target, space->pid, 0, 0));
	mt_error_destroy(end_in_padding(engine, space, padding));
	return error;
}
