/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/maps.h"

#include <string.h>

void mt_target_hold_maps(struct mt_target *target, pid_t pid, struct mt_held_maps *held)
{
	*held = (struct mt_held_maps){0};
	if (target->held_maps && target->held_maps->pid == pid)
		return;
	held->pid = pid;
	held->outer = target->held_maps;
	target->held_maps = held;
}

static void forget(struct mt_held_maps *held)
{
	mt_array_each (map, &held->items)
		free((char *)map->path);
	held->items.count = 0;
	held->is_read = false;
}

void mt_target_let_maps_go(struct mt_target *target, struct mt_held_maps *held)
{
	if (target->held_maps != held)
		return;
	target->held_maps = held->outer;
	forget(held);
	mt_array_deinit(&held->items);
}

static struct mt_error *keep(void *context, const struct mt_map *map)
{
	struct mt_held_maps *held = context;
	struct mt_map own = *map;

	own.path = strdup(map->path);
	if (own.path && !mt_array_push(&held->items, own))
		return NULL;
	free((char *)own.path);
	return mt_error_no_memory();
}

/* FOUND may have threads do system calls: then the rest of the walk is through what was there. */
static struct mt_error *walk(struct mt_held_maps *held,
			     struct mt_error *(*found)(void *context, const struct mt_map *map),
			     void *context)
{
	struct mt_error *error = NULL;

	held->walks++;
	for (size_t i = 0; i < held->items.count && !error; i++)
		error = found(context, &held->items.items[i]);
	held->walks--;
	return error;
}

struct mt_error *mt_target_each_map(struct mt_target *target, pid_t pid,
				    struct mt_error *(*found)(void *context,
							      const struct mt_map *map),
				    void *context)
{
	struct mt_held_maps *held = target->held_maps;

	if (!held || held->pid != pid || (held->walks && !held->is_read))
		return target->ops->each_map(target, pid, found, context);
	if (!held->is_read) {
		forget(held);
		mt_try(target->ops->each_map(target, pid, keep, held));
		held->is_read = true;
	}
	return walk(held, found, context);
}

void mt_target_maps_changed(struct mt_target *target)
{
	for (struct mt_held_maps *held = target->held_maps; held; held = held->outer)
		held->is_read = false;
}
