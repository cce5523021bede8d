/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patches into a running process.  What they need is computed before it is touched; memory for it
 * is mapped in the name of one thread, and filled while all threads run; then they stand still
 * until they have their rings, and again and again until the patched texts are in the place of the
 * others (swap.c), a part of them at each stop.  In between they run.
 *
 * Libraries that come meanwhile are patched like those that come later. */
#include "engine/calls/private.h"

#include "space/unwind.h"

#include <string.h>

struct making {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
};

static struct mt_error *make_module(void *context, const struct mt_map *map)
{
	const struct making *making = context;
	const struct mt_progress *progress = making->engine->options.progress;
	struct mt_calls_module *module = NULL;

	if (!mt_calls_is_recorded_code(making->space, map))
		return NULL;
	if (progress)
		mt_try(mt_progress_step(progress, "writing trampolines",
					making->engine->modules.count,
					making->engine->modules.count + 1));
	mt_try(mt_calls_module_make(making->engine, map, true, &module));
	/* What is read at the first question is read now: not while threads stand still. */
	if (module) {
		mt_objfile_symbol_at(module->file->objfile, 0);
		mt_unwind_prepare(module->file->objfile);
	}
	if (!module)
		return NULL;
	if (mt_calls_is_libc(map->path))
		mt_calls_find_finder(module->file);
	struct mt_calls_place place;
	if (mt_calls_place_init(&place, module))
		return mt_error_no_memory();
	if (!mt_array_push(&making->engine->ready, place))
		return NULL;
	mt_calls_place_deinit(&place);
	return mt_error_no_memory();
}

struct mt_error *mt_calls_make_ready(struct mt_calls_engine *engine, pid_t pid)
{
	struct making making = {.engine = engine, .space = mt_calls_space_create(pid)};
	uint64_t ignored = 0;

	if (!making.space)
		return mt_error_no_memory();
	struct mt_error *error = mt_calls_find_loader(engine, making.space, &ignored);
	if (!error)
		error = mt_calls_plan_ahead(engine, pid, NULL);
	if (!error)
		error = mt_target_each_map(engine->target, pid, make_module, &making);
	mt_calls_space_unref(making.space);
	return error;
}

/* NULL: there is none. */
static struct mt_calls_module *ready_module(const struct mt_calls_engine *engine,
					    const struct mt_map *map)
{
	mt_array_each (place, &engine->ready)
		if (mt_calls_is_mapping_of(place->module, map))
			return place->module;
	return NULL;
}

static struct mt_error *add_place(struct mt_calls_entering *entering,
				  const struct mt_calls_module *module)
{
	struct mt_calls_engine *engine = entering->engine;

	mt_array_each (place, &engine->ready) {
		if (place->module != module)
			continue;
		if (mt_array_push(&entering->space->places, *place))
			return mt_error_no_memory();
		*place = *mt_array_last(&engine->ready);
		engine->ready.count--;
		return mt_calls_swap_add(&entering->swap, module->start, module->end,
					 module->file->path)
			   ? mt_error_no_memory()
			   : NULL;
	}
	return NULL;
}

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct mt_calls_entering *entering = context;
	struct mt_calls_module *module = mt_calls_is_recorded_code(entering->space, map)
					     ? ready_module(entering->engine, map)
					     : NULL;

	if (!module)
		return NULL;
	return mt_array_push(&entering->modules, module) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_calls_enter_map_rings(struct mt_calls_entering *entering, pid_t lwp)
{
	struct mt_calls_space *space = entering->space;

	entering->swap.pid = space->pid;
	space->swap = &entering->swap;
	space->stage = MT_CALLS_LOADED;
	return mt_calls_rings_create(entering->engine, space, lwp);
}

typedef struct mt_error *mapping(struct mt_calls_entering *entering, pid_t lwp);

/* What is mapped is read once.  Should others map something meanwhile, that is not mapped over:
 * there the next best room is taken. */
static struct mt_error *map_by(struct mt_calls_entering *entering, pid_t lwp, mapping *map)
{
	struct mt_calls_space *space = entering->space;
	struct mt_held_maps maps;

	mt_target_hold_maps(entering->engine->target, space->pid, &maps);
	mt_calls_rooms_begin(space);
	struct mt_error *error = map(entering, lwp);
	mt_calls_rooms_end(space);
	mt_target_let_maps_go(entering->engine->target, &maps);
	return error;
}

static struct mt_error *map_agent(struct mt_calls_entering *entering, pid_t lwp)
{
	return mt_calls_agent_map(entering->engine, entering->space, lwp);
}

/* What there is no room for is left out. */
static struct mt_error *map_rooms(struct mt_calls_entering *entering, pid_t lwp)
{
	struct mt_calls_engine *engine = entering->engine;
	struct mt_calls_space *space = entering->space;

	mt_try(mt_target_each_map(engine->target, space->pid, see_map, entering));
	mt_try(mt_calls_modules_map_rooms(engine, space, lwp, entering->modules.items,
					  entering->modules.count));
	mt_array_each (one, &entering->modules) {
		struct mt_calls_module *module = *one;

		mt_try(mt_calls_module_map(engine, space, lwp, &module));
		if (module)
			mt_try(add_place(entering, module));
	}
	return NULL;
}

static struct mt_error *map_copies(struct mt_calls_entering *entering, pid_t lwp)
{
	return mt_calls_swap_map(entering->engine, entering->space, &entering->swap, lwp);
}

struct mt_error *mt_calls_enter_map_agent(struct mt_calls_entering *entering, pid_t lwp)
{
	return map_by(entering, lwp, map_agent);
}

struct mt_error *mt_calls_enter_map_rooms(struct mt_calls_entering *entering, pid_t lwp)
{
	return map_by(entering, lwp, map_rooms);
}

struct mt_error *mt_calls_enter_map_copies(struct mt_calls_entering *entering, pid_t lwp)
{
	return map_by(entering, lwp, map_copies);
}

static struct mt_error *fill(struct mt_calls_entering *entering)
{
	struct mt_calls_space *space = entering->space;

	entering->breaks = space->breaks.count;
	for (size_t i = 0; i < space->places.count; i++) {
		struct mt_calls_module *module = space->places.items[i].module;

		mt_try(mt_calls_module_write(entering->engine, space, module));
		mt_try(mt_calls_module_write_tables(entering->engine, space, module));
		struct mt_calls_place *place = &space->places.items[i];
		/* Nobody comes to the agent's list before the detour is there. */
		place->is_described = true;
		mt_try(mt_calls_cfi_link(entering->engine, space, &module->entry, &place->entry));
		mt_try(mt_calls_text_prepare(entering->engine, space, place, &entering->swap));
	}
	return NULL;
}

struct mt_error *mt_calls_enter_fill(struct mt_calls_entering *entering)
{
	entering->space->references++;
	entering->engine->breathes = true;
	if (entering->space->rings)
		mt_calls_warm_ring(entering->space->rings);
	struct mt_error *error = fill(entering);
	entering->engine->breathes = false;
	mt_calls_space_unref(entering->space);
	return error;
}

/* The texts that are due. */
static struct mt_error *exchange(struct mt_calls_entering *entering, pid_t lwp)
{
	struct mt_calls_engine *engine = entering->engine;
	struct mt_calls_space *space = entering->space;
	struct mt_calls_swap *swap = &entering->swap;

	mt_array_each (place, &space->places)
		if (mt_calls_swap_is_due(swap, place->module->start))
			mt_calls_text_note_written(space, place, place->checked);
	mt_try(mt_calls_displace_all(engine, space, swap));
	/* What is mapped is still known. */
	if (!space->detour_at)
		mt_try(mt_calls_space_detour(engine, space));
	mt_calls_swap_compare(engine, swap);
	mt_try(mt_calls_swap_exchange(engine, space, swap, lwp));
	mt_array_each (place, &space->places) {
		const uint64_t start = place->module->start;

		if (!mt_calls_swap_is_due(swap, start) || mt_calls_swap_is_exchanged(swap, start))
			continue;
		mt_calls_text_note_written(space, place, false);
		place->checked = false;
		/* Else it was unloaded meanwhile. */
		if (mt_calls_is_mapped(engine, space, place->module))
			mt_try(mt_calls_text_write(engine, space, place));
	}
	return NULL;
}

struct mt_error *mt_calls_enter_join(struct mt_calls_entering *entering, pid_t lwp)
{
	struct mt_calls_engine *engine = entering->engine;
	struct mt_calls_space *space = entering->space;

	mt_try(mt_calls_give_rings(engine, space));
	mt_calls_swap_make_due(&entering->swap, MT_CALLS_SWAP_AT_ONCE);
	mt_try(exchange(entering, lwp));
	if (!mt_calls_enter_has_joined(entering))
		return NULL;
	/* Those that were set meanwhile. */
	for (size_t i = entering->breaks; i < space->breaks.count; i++) {
		struct mt_calls_place *place =
		    mt_calls_place_at(space, space->breaks.items[i].address);

		if (place)
			mt_try(mt_calls_text_write(engine, space, place));
	}
	return NULL;
}

bool mt_calls_enter_has_joined(const struct mt_calls_entering *entering)
{
	return mt_calls_swap_all_had_turn(&entering->swap);
}

struct mt_error *mt_calls_enter_unmap(struct mt_calls_entering *entering, pid_t lwp, uint64_t most)
{
	return mt_calls_swap_unmap(entering->engine, entering->space, &entering->swap, lwp, most);
}

bool mt_calls_enter_has_rest(const struct mt_calls_entering *entering)
{
	return mt_calls_swap_has_rest(&entering->swap);
}

void mt_calls_enter_end(struct mt_calls_entering *entering)
{
	entering->space->swap = NULL;
	mt_array_deinit(&entering->swap.copies);
	mt_array_deinit(&entering->modules);
}
