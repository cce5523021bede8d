/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where triggers, probes and watchpoints stand is forgotten when that code goes. */
#include "expr/expr.h"
#include "session/private.h"

void mt_session_forget_site(struct mt_session_site *site)
{
	mt_expr_destroy(site->condition);
	mt_session_forget_printed(site);
	mt_session_forget_values(&site->values);
}

/* In a part of what was one mapping before. */
static bool is_still_there(const struct mt_session_process *process,
			   const struct mt_session_map *gone, uint64_t address)
{
	mt_array_each (map, &process->maps)
		if (address - map->start < map->end - map->start && map->inode == gone->inode &&
		    map->offset - map->start == gone->offset - gone->start)
			return true;
	return false;
}

static bool is_gone(const struct mt_session_process *process, const struct mt_session_map *gone,
		    uint64_t address)
{
	return address - gone->start < gone->end - gone->start &&
	       !is_still_there(process, gone, address);
}

struct mt_error *mt_session_forget_code(struct mt_session *session,
					struct mt_session_process *process,
					const struct mt_session_map *gone)
{
	for (size_t i = process->sites.count; i-- > 0;) {
		const uint64_t address = process->sites.items[i].address;

		if (!is_gone(process, gone, address))
			continue;
		mt_session_forget_site(&process->sites.items[i]);
		process->sites.items[i] = process->sites.items[--process->sites.count];
		if (mt_session_breaks_in_registers(session) &&
		    !mt_session_has_site(process, address))
			mt_session_engine_ops(session)->breaks->clear(session->engine, process->pid,
								      address);
	}
	for (size_t i = process->probes.count; i-- > 0;)
		if (is_gone(process, gone, process->probes.items[i].address))
			process->probes.items[i] = process->probes.items[--process->probes.count];
	for (size_t i = process->watch_sites.count; i-- > 0;)
		if (is_gone(process, gone, process->watch_sites.items[i].code))
			mt_try(mt_session_forget_watch(session, process, i));
	/* What is there of it will be added, since it is new. */
	return process->code ? mt_space_remove(process->code, gone->start, gone->end) : NULL;
}

void mt_session_forget_sites(struct mt_session_process *process)
{
	mt_array_each (site, &process->sites)
		mt_session_forget_site(site);
	process->sites.count = 0;
	mt_session_forget_gates(process);
	mt_expr_program_destroy(process->program);
	mt_space_destroy(process->code);
	process->program = NULL;
	process->code = NULL;
}
