/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of a process's code: the space in which names are looked up, to which mappings
 * come. */
#include "expr/expr.h"
#include "process/maps.h"
#include "process/proc.h"
#include "session/state/state.h"
#include "values/libraries.h"

struct mt_error *mt_session_need_pool(struct mt_session *session)
{
	return session->pool ? NULL : mt_space_pool_create(NULL, &session->pool);
}

/* What is not there yet. */
static struct mt_error *need_code(struct mt_session *session, struct mt_session_process *process)
{
	if (process->code)
		return NULL;
	mt_try(mt_session_need_pool(session));
	return mt_space_create(session->pool, process->pid, &process->code);
}

struct mt_error *mt_session_see_code(struct mt_session *session, struct mt_session_process *process,
				     const struct mt_mapping *mapping)
{
	if (!session->triggers.count && !process->program)
		return NULL;
	mt_try(need_code(session, process));
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
	mt_try(need_code(session, process));
	mt_try(mt_target_each_map(session->target, process->pid, see, &seeing));
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
