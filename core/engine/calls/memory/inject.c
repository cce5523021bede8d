/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code and stack in the program for the target's remote calls: see process/inject.h. */
#include "engine/calls/memory/memory.h"

#include "process/inject.h"
#include "process/proc.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ull
/* The page's number among so many, chosen at random once. */
#define PLACES         65536u
#define PLACE          48371u
#define BELOW_RED_ZONE 1024

/* Near ADDRESS, if possible. */
static struct mt_error *map(struct mt_calls_engine *engine, pid_t lwp, uint64_t bytes,
			    int protection, uint64_t *address)
{
	const uint64_t arguments[] = {
	    *address,     bytes, (uint64_t)protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    (uint64_t)-1, 0};

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

/* There is no directory yet: as long as it is blank the page is told by where it is. */
static struct mt_error *find_address(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     uint64_t *address)
{
	*address = 0;
	if (!space->attached)
		return NULL;
	mt_try(mt_calls_room_afar(engine, space, address));
	*address = (*address & ~(PLACES * PAGE - 1)) + PLACE * PAGE;
	return NULL;
}

bool mt_calls_is_inject_address(uint64_t address)
{
	return address / PAGE % PLACES == PLACE;
}

static struct mt_injected injected_at(uint64_t code)
{
	return (struct mt_injected){.code = code, .frame = code + MT_INJECT_FRAME_AT};
}

struct mt_error *mt_calls_inject(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 pid_t lwp)
{
	const struct mt_target_ops *ops = engine->target->ops;
	uint64_t address = 0;
	uint8_t page[PAGE];

	if (!ops->set_injected || space->inject_code)
		return mt_calls_inject_give_up(engine, space);
	if (space->inject_padding.code &&
	    !mt_inject_padding_is_there(engine->target, space->pid, &space->inject_padding))
		mt_try(mt_calls_inject_begin(engine, space));
	mt_try(find_address(engine, space, &address));
	mt_try(map(engine, lwp, PAGE, PROT_READ | PROT_EXEC, &address));
	space->inject_code = address;
	mt_calls_inject_page(page);
	mt_try(engine->target->ops->write(engine->target, space->pid, space->inject_code, page,
					  sizeof(page)));
	mt_try(ops->set_injected(engine->target, space->pid, injected_at(address)));
	return mt_calls_inject_give_up(engine, space);
}

struct mt_error *mt_calls_inject_lists(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space, bool on)
{
	struct mt_injected injected = injected_at(space->inject_code);

	if (!injected.code)
		return NULL;
	if (on && space->rings) {
		injected.alive = mt_calls_alive_word(space->rings);
		injected.results = mt_calls_results_address(space->rings);
		injected.results_here = mt_calls_results_here(space->rings);
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

/* Below the stack pointer lies, where stacks are small parts of a heap, what others write to: they
 * stand still where there is no page of ours. */
struct mt_error *mt_calls_lend(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			       pid_t lwp, const void *bytes, size_t size, struct mt_calls_lent *out)
{
	const struct mt_target_ops *ops = engine->target->ops;
	struct user_regs_struct registers;

	out->size = 0;
	if (space->inject_code) {
		out->at =
		    (space->inject_code + MT_INJECT_LIST_AT + MT_INJECT_LIST_BYTES - size) & ~7ull;
		return ops->write(engine->target, space->pid, out->at, bytes, size);
	}
	mt_try(ops->get_registers(engine->target, lwp, &registers));
	out->at = (registers.rsp - BELOW_RED_ZONE - size) & ~7ull;
	if (ops->read(engine->target, space->pid, out->at, out->saved, size) != size)
		return mt_error_new(MT_ERROR_BUSY, "the stack of thread %d is at its end", lwp);
	out->size = size;
	return ops->write(engine->target, space->pid, out->at, bytes, size);
}

void mt_calls_lend_end(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		       const struct mt_calls_lent *lent)
{
	if (lent->size)
		mt_error_destroy(engine->target->ops->write(engine->target, space->pid, lent->at,
							    lent->saved, lent->size));
}

const char *mt_calls_sandbox_of(const struct mt_calls_engine *engine, pid_t lwp)
{
	const struct mt_target_ops *ops = engine->target->ops;

	if (mt_proc_is_sandboxed(lwp))
		return "is under seccomp";
	return ops->dispatches_calls && ops->dispatches_calls(engine->target, lwp)
		   ? "catches its system calls (PR_SET_SYSCALL_USER_DISPATCH)"
		   : NULL;
}

const char *mt_calls_sandbox(const struct mt_calls_engine *engine,
			     const struct mt_calls_space *space)
{
	const char *sandbox = NULL;

	for (const struct mt_calls_thread *thread = engine->threads; thread && !sandbox;
	     thread = thread->hh.next)
		if (thread->space == space)
			sandbox = mt_calls_sandbox_of(engine, thread->lwp);
	return sandbox;
}
