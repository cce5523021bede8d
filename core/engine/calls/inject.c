/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code and stack in the program for the target's remote calls: see process/inject.h. */
#include "process/inject.h"
#include "engine/calls/private.h"

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

struct mt_error *mt_calls_inject_begin(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	if (!engine->target->ops->set_injected || space->inject_code)
		return NULL;
	return mt_inject_padding_begin(engine->target, space->pid, &space->inject_padding);
}

/* Told by its name, should we be killed before it is listed. */
void mt_calls_inject_page(uint8_t page[PAGE])
{
	static const char name[] = "mtrace inject";

	memset(page, 0, PAGE);
	memcpy(page, mt_inject_code, MT_INJECT_BYTES);
	memcpy(page + MT_INJECT_LIST_CODE_AT, mt_inject_list_code, MT_INJECT_LIST_CODE_BYTES);
	memcpy(page + PAGE - MT_CALLS_MARK_BYTES - sizeof(name), name, sizeof(name));
}

struct mt_error *mt_calls_inject(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 pid_t lwp)
{
	const struct mt_target_ops *ops = engine->target->ops;
	uint8_t page[PAGE];

	if (!ops->set_injected || space->inject_code)
		return mt_calls_inject_give_up(engine, space);
	mt_try(map(engine, lwp, PAGE, PROT_READ | PROT_EXEC, &space->inject_code));
	mt_calls_inject_page(page);
	mt_try(engine->target->ops->write(engine->target, space->pid, space->inject_code, page,
					  sizeof(page)));
	mt_try(ops->set_injected(engine->target, space->pid,
				 (struct mt_injected){.code = space->inject_code}));
	return mt_calls_inject_give_up(engine, space);
}

struct mt_error *mt_calls_inject_lists(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space, bool on)
{
	struct mt_injected injected = {.code = space->inject_code};

	if (!injected.code)
		return NULL;
	if (on && space->rings) {
		injected.alive = mt_calls_alive_word(space->rings);
		injected.results = mt_calls_results_address(space->rings);
	}
	return engine->target->ops->set_injected(engine->target, space->pid, injected);
}

struct mt_error *mt_calls_inject_give_up(struct mt_calls_engine *engine,
					 struct mt_calls_space *space)
{
	const struct mt_target_ops *ops = engine->target->ops;
	struct mt_inject_padding padding = space->inject_padding;

	space->inject_padding = (struct mt_inject_padding){0};
	if (padding.code && !space->inject_code && ops->set_injected)
		mt_try(ops->set_injected(engine->target, space->pid, (struct mt_injected){0}));
	return mt_inject_padding_end(engine->target, space->pid, &padding);
}

struct mt_error *mt_calls_inject_end(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp)
{
	struct mt_inject_padding padding = {0};
	uint64_t code = space->inject_code;

	if (!code)
		return NULL;
	space->inject_code = 0;
	mt_try(
	    engine->target->ops->set_injected(engine->target, space->pid, (struct mt_injected){0}));
	struct mt_error *error = mt_inject_padding_begin(engine->target, space->pid, &padding);
	if (error)
		return error; /* the code stays */
	error = mt_calls_room_unmap(engine, lwp, code, PAGE);
	mt_error_destroy(
	    engine->target->ops->set_injected(engine->target, space->pid, (struct mt_injected){0}));
	mt_error_destroy(mt_inject_padding_end(engine->target, space->pid, &padding));
	return error;
}
