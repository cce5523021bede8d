/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/private.h"

#include <string.h>

#define STATE_OFFSET 24 /* of r_state in struct r_debug; see link.h */

struct mt_calls_space *mt_calls_space_create(pid_t pid)
{
	struct mt_calls_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->references = 1;
	space->pid = pid;
	return space;
}

int mt_calls_place_init(struct mt_calls_place *place, struct mt_calls_module *module)
{
	const size_t count = module->file->plan->patches.count;

	*place = (struct mt_calls_place){.module = module, .seen = true};
	place->off = calloc(count + 1, sizeof(*place->off));
	place->held = calloc(count + 1, sizeof(*place->held));
	place->written = calloc(count + 1, sizeof(*place->written));
	if (place->off && place->held && place->written)
		return 0;
	mt_calls_place_deinit(place);
	return -1;
}

void mt_calls_place_deinit(struct mt_calls_place *place)
{
	free(place->off);
	free(place->held);
	mt_calls_shown_forget(place);
	free(place->written);
}

static void destroy(struct mt_calls_space *space)
{
	mt_array_each (place, &space->places)
		mt_calls_place_deinit(place);
	mt_array_deinit(&space->places);
	mt_array_deinit(&space->missed);
	mt_array_deinit(&space->covered);
	mt_array_deinit(&space->breaks);
	mt_array_deinit(&space->waiting);
	mt_array_deinit(&space->looked_at);
	mt_array_deinit(&space->copies);
	mt_array_deinit(&space->rooms);
	mt_array_deinit(&space->gaps);
	mt_calls_rings_unref(space->rings);
	mt_calls_forget_code(space);
	mt_calls_left_destroy(space->left);
	free(space->loader_path);
	free(space);
}

void mt_calls_space_unref(struct mt_calls_space *space)
{
	if (space && --space->references == 0)
		destroy(space);
}

int mt_calls_add_place(struct mt_calls_space *space, struct mt_calls_module *module)
{
	struct mt_calls_place place;

	if (mt_calls_place_init(&place, module))
		return -1;
	if (!mt_array_push(&space->places, place))
		return 0;
	mt_calls_place_deinit(&place);
	return -1;
}

static int copy_into(struct mt_calls_space *space, const struct mt_calls_space *from)
{
	mt_array_each (place, &from->places) {
		size_t count = place->module->file->plan->patches.count;

		if (mt_calls_add_place(space, place->module))
			return -1;
		memcpy(mt_array_last(&space->places)->off, place->off, count);
		memcpy(mt_array_last(&space->places)->held, place->held, count);
		mt_array_last(&space->places)->held_from = place->held_from;
		mt_array_last(&space->places)->held_end = place->held_end;
		memcpy(mt_array_last(&space->places)->written, place->written,
		       count * sizeof(bool));
		mt_array_last(&space->places)->checked = place->checked;
		mt_array_last(&space->places)->is_described = place->is_described;
		mt_array_last(&space->places)->entry = place->entry;
	}
	mt_array_each (one, &from->breaks)
		if (mt_array_push(&space->breaks, *one))
			return -1;
	mt_array_each (one, &from->waiting)
		if (mt_array_push(&space->waiting, *one))
			return -1;
	mt_array_each (room, &from->rooms)
		if (mt_array_push(&space->rooms, *room))
			return -1;
	space->loader_path = from->loader_path ? strdup(from->loader_path) : NULL;
	return from->loader_path && !space->loader_path ? -1 : 0;
}

struct mt_calls_space *mt_calls_space_copy(const struct mt_calls_space *from, pid_t pid)
{
	struct mt_calls_space *space = mt_calls_space_create(pid);

	if (!space)
		return NULL;
	space->stage = from->stage;
	space->attached = from->attached;
	space->hidden = from->hidden;
	space->inherited = from->inherited;
	space->loader = from->loader;
	space->debug = from->debug;
	space->agent = from->agent;
	space->detour_at = from->detour_at;
	space->detour_original = from->detour_original;
	space->debug_pointer = from->debug_pointer;
	space->loader_is_libc = from->loader_is_libc;
	space->rings = from->rings;
	if (space->rings)
		space->rings->references++;
	if (!copy_into(space, from))
		return space;
	destroy(space);
	return NULL;
}

bool mt_calls_is_whole(const struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	int32_t state = -1;

	if (!space->loader)
		return true;
	if (space->debug_pointer &&
	    engine->target->ops->read(engine->target, space->pid, space->debug_pointer,
				      &space->debug, sizeof(space->debug)) != sizeof(space->debug))
		return false;
	return engine->target->ops->read(engine->target, space->pid, space->debug + STATE_OFFSET,
					 &state, sizeof(state)) == sizeof(state) &&
	       state == 0; /* RT_CONSISTENT */
}

struct seen_map {
	struct mt_map map; /* its path is its own */
	bool known;
};

struct walk {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	MT_ARRAY(struct seen_map) maps;             /* of code */
	MT_ARRAY(struct mt_calls_module *) modules; /* that are new */
};

bool mt_calls_is_libc(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && strncmp(base, "/libc.so.", 9) == 0;
}

/* The dynamic loader calls itself before it has relocated itself, and tells of itself there. */
bool mt_calls_is_left_alone(const struct mt_calls_space *space, const char *path)
{
	return space->loader_path && !space->loader_is_libc &&
	       strcmp(path, space->loader_path) == 0;
}

bool mt_calls_is_recorded_code(const struct mt_calls_space *space, const struct mt_map *map)
{
	return map->executable && map->path[0] == '/' && !mt_calls_is_copy(space, map->start) &&
	       !mt_calls_is_left_alone(space, map->path);
}

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct walk *walk = context;
	struct seen_map seen = {.map = *map};

	if (map->executable && map->inode &&
	    mt_array_push(&walk->space->looked_at, mt_calls_code_of(map)))
		return mt_error_no_memory();
	if (!mt_calls_is_recorded_code(walk->space, map))
		return NULL;
	seen.map.path = strdup(map->path);
	if (!seen.map.path || mt_array_push(&walk->maps, seen)) {
		free((char *)seen.map.path);
		return mt_error_no_memory();
	}
	return NULL;
}

/* Who is gone needs none; for who is held by vfork(), see mt_calls_is_bearing(). */
struct mt_error *mt_calls_give_rings(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		struct mt_error *error = thread->space == space && !thread->rings
					     ? mt_calls_give_ring(engine, thread, false)
					     : NULL;

		if (error && mt_error_code(error) != MT_ERROR_GONE)
			return error;
		mt_error_destroy(error);
	}
	return NULL;
}

static struct mt_error *begin(struct mt_calls_engine *engine, struct mt_calls_space *space,
			      pid_t lwp)
{
	space->stage = MT_CALLS_LOADED;
	/* What the program may not have, it goes on without. */
	mt_try(mt_calls_refuse_for(engine, space, mt_calls_rings_create(engine, space, lwp)));
	if (space->stage == MT_CALLS_REFUSED)
		return NULL;
	return mt_calls_agent_map(engine, space, lwp);
}

/* NULL: it is none's. */
static struct mt_calls_place *place_of(const struct mt_calls_space *space, const struct mt_map *map)
{
	mt_array_each (place, &space->places)
		if (mt_calls_is_mapping_of(place->module, map))
			return place;
	return NULL;
}

static bool note_seen(const struct mt_calls_space *space, const struct mt_map *map)
{
	struct mt_calls_place *place = place_of(space, map);

	if (place)
		place->seen = true;
	return place;
}

struct current {
	struct mt_calls_engine *engine;
	const struct mt_calls_space *space;
	size_t there; /* of its places */
	bool differs;
};

static struct mt_error *see_current(void *context, const struct mt_map *map)
{
	struct current *current = context;
	const struct mt_calls_place *place = place_of(current->space, map);
	bool is_kept = true;

	current->there += place != NULL;
	if (place)
		mt_try(mt_calls_text_is_kept(current->engine, current->space, place, &is_kept));
	current->differs |= !is_kept || (!place && mt_calls_is_recorded_code(current->space, map));
	return NULL;
}

bool mt_calls_space_is_current(struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	struct current current = {.engine = engine, .space = space};
	struct mt_error *error =
	    mt_target_each_map(engine->target, space->pid, see_current, &current);
	const bool failed = error;

	mt_error_destroy(error);
	return !failed && !current.differs && current.there == space->places.count;
}

/* The program may have mapped parts of a text anew, changed their rights, or moved them. */
static struct mt_error *see_patches(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	mt_array_each (place, &space->places)
		if (!place->seen)
			mt_try(mt_calls_text_look(engine, space, place, &place->seen));
	return NULL;
}

/* In the place of one that was unloaded since, it may have come again. */
static struct mt_error *write_again(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	bool is_kept;

	mt_array_each (place, &space->places) {
		if (!place->seen)
			continue;
		mt_try(mt_calls_text_is_kept(engine, space, place, &is_kept));
		if (!is_kept)
			mt_try(mt_calls_text_write_again(engine, space, place));
	}
	return NULL;
}

static bool meets_place(const struct mt_calls_space *space, const struct mt_map *map)
{
	mt_array_each (place, &space->places)
		if (place->seen && map->start < place->module->end &&
		    map->end > place->module->start)
			return true;
	return false;
}

/* Another tracer of ours was killed here: its patches are where ours would be. */
static void inherit_patches(const struct mt_calls_engine *engine,
			    const struct mt_calls_space *space, struct mt_calls_place *place)
{
	const struct mt_calls_module *module = place->module;
	bool inherits = space->inherited && !engine->options.is_clean;

	for (size_t i = 0; inherits && i < module->file->plan->patches.count; i++)
		place->written[i] = module->offsets[i] != MT_CALLS_NONE;
}

static struct mt_error *add_module(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, struct mt_calls_module *module)
{
	mt_try(mt_calls_module_map(engine, space, lwp, &module));
	if (!module)
		return NULL;
	mt_try(mt_calls_module_write(engine, space, module));
	if (mt_calls_add_place(space, module))
		return mt_error_no_memory();
	inherit_patches(engine, space, mt_array_last(&space->places));
	mt_try(mt_calls_text_write(engine, space, mt_array_last(&space->places)));
	mt_log(engine->options.log, MT_LOG_DEBUG, "%llu bytes of trampolines for %s",
	       (unsigned long long)module->code_bytes, module->file->path);
	return mt_calls_describes_late(engine, space)
		   ? NULL
		   : mt_calls_describe(engine, space, mt_array_last(&space->places));
}

static struct mt_error *remove_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     size_t index)
{
	const struct mt_calls_break *one = &space->breaks.items[index];

	if (one->condition)
		mt_try(mt_calls_cfi_unlink(engine, space, &one->condition->entry));
	space->breaks.items[index] = space->breaks.items[--space->breaks.count];
	return NULL;
}

/* Those that stood in code which was never patched. */
static struct mt_error *remove_gone_breaks(struct mt_calls_engine *engine,
					   struct mt_calls_space *space)
{
	for (size_t i = space->breaks.count; i-- > 0;) {
		struct mt_calls_break one = space->breaks.items[i];
		bool is_gone = false;

		if (!mt_calls_place_at(space, one.address))
			mt_try(mt_calls_find_code(engine, space, &one, &is_gone));
		if (is_gone)
			mt_try(remove_break(engine, space, i));
	}
	return NULL;
}

/* A library that was unloaded took its patches with it; its trampolines go too. */
static struct mt_error *remove_unseen(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp, bool is_sandboxed)
{
	for (size_t i = space->places.count; i-- > 0;) {
		struct mt_calls_place *place = &space->places.items[i];
		const struct mt_calls_module *module = place->module;

		if (place->seen)
			continue;
		for (size_t k = space->rooms.count; k-- > 0;)
			if (space->rooms.items[k].start - module->room < module->room_bytes)
				space->rooms.items[k] = space->rooms.items[--space->rooms.count];
		for (size_t k = space->breaks.count; k-- > 0;)
			if (space->breaks.items[k].address - module->start <
			    module->end - module->start)
				mt_try(remove_break(engine, space, k));
		for (size_t k = space->waiting.count; k-- > 0;)
			if (space->waiting.items[k].address - module->start <
			    module->end - module->start)
				space->waiting.items[k] =
				    space->waiting.items[--space->waiting.count];
		mt_try(mt_calls_cfi_unlink(engine, space, &place->entry));
		if (!is_sandboxed) {
			mt_try(mt_calls_room_unmap(engine, lwp, module->room, module->room_bytes));
			mt_calls_unlist(space, module->room, module->room_bytes);
		}
		mt_calls_place_deinit(place);
		*place = space->places.items[--space->places.count];
	}
	return remove_gone_breaks(engine, space);
}

struct libc {
	uint64_t base; /* load address; 0: there is none */
	char *path;
};

static struct mt_error *see_libc(void *context, const struct mt_map *map)
{
	struct libc *libc = context;

	if (libc->path || !mt_calls_is_libc(map->path) || map->offset)
		return NULL;
	libc->base = map->start;
	libc->path = strdup(map->path);
	return libc->path ? NULL : mt_error_no_memory();
}

struct mt_error *mt_calls_space_detour(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	struct libc libc = {0};
	struct mt_error *error = mt_target_each_map(engine->target, space->pid, see_libc, &libc);

	if (!error && libc.path)
		error = mt_calls_detour(engine, space, libc.path, libc.base);
	free(libc.path);
	return error;
}

static const char *loader_alone(const struct mt_calls_space *space)
{
	return space->loader_is_libc ? NULL : space->loader_path;
}

/* Before it is patched, and when a library comes. */
static struct mt_error *refuse_gs_users(struct mt_calls_engine *engine,
					struct mt_calls_space *space)
{
	mt_auto(mt_str) struct mt_str why = {0};

	mt_try(mt_calls_check_gs(engine, space->pid, loader_alone(space), &why));
	if (!why.length)
		return NULL;
	mt_try(mt_calls_refuse(engine, space, why.text));
	return mt_calls_record_no_more(engine, space);
}

static struct mt_error *make_modules(struct walk *walk)
{
	mt_array_each (seen, &walk->maps) {
		struct mt_calls_module *module = NULL;

		if (!seen->known)
			mt_try(mt_calls_module_make(walk->engine, &seen->map, walk->space->attached,
						    &module));
		if (module && mt_array_push(&walk->modules, module))
			return mt_error_no_memory();
	}
	return NULL;
}

static struct mt_error *update(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       pid_t lwp, struct walk *walk)
{
	const char *sandbox = mt_calls_sandbox(engine, space);

	space->looked_at.count = 0;
	mt_try(mt_target_each_map(engine->target, space->pid, see_map, walk));
	mt_try(refuse_gs_users(engine, space));
	if (space->stage < MT_CALLS_LOADED) {
		mt_try(begin(engine, space, lwp));
		if (space->stage == MT_CALLS_REFUSED)
			return NULL;
		mt_try(mt_calls_give_rings(engine, space));
		mt_try(mt_calls_space_detour(engine, space));
	}
	if (space->stage == MT_CALLS_REFUSED)
		return NULL;
	mt_array_each (place, &space->places)
		place->seen = false;
	mt_array_each (seen, &walk->maps)
		seen->known = note_seen(space, &seen->map);
	mt_try(see_patches(engine, space));
	mt_array_each (seen, &walk->maps) {
		seen->known |= meets_place(space, &seen->map);
		if (!seen->known)
			mt_calls_warn_of_leak_check(engine, space, &seen->map);
	}
	mt_try(remove_unseen(engine, space, lwp, sandbox != NULL));
	if (sandbox) {
		/* Room for trampolines would take a system call in its name. */
		mt_array_each (seen, &walk->maps) {
			if (seen->known || walk->space->sandbox_told ||
			    !mt_calls_is_wanted(walk->engine, seen->map.path))
				continue;
			walk->space->sandbox_told = true;
			mt_log(walk->engine->options.log, MT_LOG_WARNING,
			       "calls in libraries that process %d loads from now on are not "
			       "recorded (%s is the first): it %s now",
			       walk->space->pid, seen->map.path, sandbox);
		}
		return NULL;
	}
	mt_try(write_again(engine, space));
	mt_try(make_modules(walk));
	if (!space->attached)
		mt_try(mt_calls_modules_map_rooms(engine, space, lwp, walk->modules.items,
						  walk->modules.count));
	/* Each module is patched as a whole, or not at all. */
	mt_array_each (module, &walk->modules) {
		mt_try(add_module(engine, space, lwp, *module));
		mt_try(mt_progress_step(engine->options.progress, "patching the program",
					(uint64_t)(module + 1 - walk->modules.items),
					walk->modules.count));
	}
	return space->roots_pending ? mt_calls_note_roots(engine, space) : NULL;
}

struct mt_error *mt_calls_space_update(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp)
{
	struct walk walk = {.engine = engine, .space = space};
	struct mt_held_maps maps;

	if (space->stage == MT_CALLS_REFUSED || space->is_left || space->unseen ||
	    !mt_calls_is_whole(engine, space))
		return NULL;
	mt_calls_forget_code(space);
	mt_try(mt_target_halt(engine->target, space->pid));
	mt_calls_rooms_begin(space);
	mt_target_hold_maps(engine->target, space->pid, &maps);
	struct mt_error *error = update(engine, space, lwp, &walk);
	mt_target_let_maps_go(engine->target, &maps);
	mt_calls_rooms_end(space);
	mt_target_release(engine->target, space->pid);
	if (!error)
		error = mt_calls_set_waiting_breaks(engine, space);
	mt_array_each (seen, &walk.maps)
		free((char *)seen->map.path);
	mt_array_deinit(&walk.maps);
	mt_array_deinit(&walk.modules);
	if (!error || mt_error_code(error) != MT_ERROR_PERMISSION)
		return error;
	/* PR_SET_DUMPABLE: only root may look at it any more.  What is patched stays so. */
	space->unseen = true;
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "calls in libraries that process %d loads from now on are not recorded: %s "
	       "(it made itself undumpable; run as root)",
	       space->pid, mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}
