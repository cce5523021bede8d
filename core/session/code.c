/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of a process's code: the space in which names are looked up, and what was found in
 * it.  Mappings come, and what was found in those that go is forgotten. */
#include "expr/expr.h"
#include "process/proc.h"
#include "session/private.h"

#include "values/libraries.h"

struct mt_error *mt_session_see_code(struct mt_session *session, struct mt_session_process *process,
				     const struct mt_mapping *mapping)
{
	if (!session->triggers.count && !process->program)
		return NULL;
	if (!process->code)
		mt_try(mt_space_create(session->pool, process->pid, &process->code));
	if (!process->program) {
		mt_try(mt_expr_program_create(process->code, &process->program));
		process->entry = mt_proc_entry(process->pid);
	}
	return mt_space_add(process->code, mapping);
}

struct seeing {
	struct mt_session *session;
	struct mt_session_process *process;
};

static struct mt_error *see(void *context, const struct mt_map *map)
{
	const struct seeing *seeing = context;
	const struct mt_mapping mapping = {.start = map->start,
					   .end = map->end,
					   .offset = map->offset,
					   .path = map->path[0] ? map->path : "//anon"};

	return map->executable && map->path[0] == '/' && !(map->start >> 63)
		   ? mt_space_add(seeing->process->code, &mapping)
		   : NULL;
}

/* From now on mt_session_see_code() adds what comes. */
struct mt_error *mt_session_see_all(struct mt_session *session, struct mt_session_process *process)
{
	struct seeing seeing = {session, process};

	if (process->program)
		return NULL;
	if (!session->pool)
		mt_try(mt_space_pool_create(NULL, &session->pool));
	if (!process->code)
		mt_try(mt_space_create(session->pool, process->pid, &process->code));
	mt_try(
	    mt_session_target_ops(session)->each_map(session->target, process->pid, see, &seeing));
	return mt_expr_program_create(process->code, &process->program);
}

/* At its exec a static program has itself, and a dynamic one itself and the loader: then that has
 * to do its work first. */
bool mt_session_has_begun(struct mt_session *session, struct mt_session_process *process)
{
	struct mt_session_here here = {.session = session, .pid = process->pid};
	const struct mt_expr_frame frame = mt_session_frame_of(&here, false, false);
	struct mt_eval eval = {.program = process->program, .frame = &frame};
	MT_ARRAY(uint64_t) files = {0};
	enum mt_loader_state state;
	size_t count;

	mt_array_each (map, &process->maps) {
		bool is_known = !map->inode;

		mt_array_each (file, &files)
			is_known |= *file == map->inode;
		if (!is_known && mt_array_push(&files, map->inode))
			break;
	}
	count = files.count;
	mt_array_deinit(&files);
	if (count < 2)
		return count;
	mt_error_destroy(mt_program_update(process->program));
	state = mt_loader_state(&eval);
	return state == MT_LOADER_DONE || (state == MT_LOADER_UNKNOWN && count > 2);
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
