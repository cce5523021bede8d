/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/memory/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

/* The program need not write to it: we do, through /proc/PID/mem. */
struct mt_error *mt_calls_agent_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp)
{
	uint64_t arguments[] = {0,
				MT_AGENT_BYTES,
				PROT_READ | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				(uint64_t)-1,
				0};
	uint64_t address = 0;

	/* Should somebody have come there meanwhile, the system gives another address. */
	if (space->attached) {
		mt_try(mt_calls_room_afar(engine, space, &arguments[0]));
		mt_calls_list_ahead(space, arguments[0], arguments[0] + MT_AGENT_BYTES, 0);
	}
	mt_try(mt_calls_system(engine, lwp, "map memory", SYS_mmap, arguments, &address));
	if (space->attached && address != arguments[0])
		mt_calls_unlist(space, arguments[0], MT_AGENT_BYTES);
	mt_calls_list(engine, space, address, address + MT_AGENT_BYTES, 0);
	mt_try(mt_calls_room_take(space, address, address + MT_AGENT_BYTES));
	mt_try(engine->target->ops->write(engine->target, space->pid, address, mt_agent_code,
					  (size_t)(mt_agent_code_end - mt_agent_code)));
	space->agent = address;
	return NULL;
}
