/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/inferior/inferior.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/target.h"
#include "gdb-plugin/inferior/reads.h"

#include <string.h>

/* How the kernel names the memory that core/engine/calls/memory/rings.c makes. */
#define RINGS_NAME "/memfd:mtrace rings"

static MT_ARRAY(struct mt_inferior *) inferiors;

struct mt_live_debugger *mt_gdb_debugger(void)
{
	static struct mt_live_debugger debugger;

	return &debugger;
}

struct mt_inferior *mt_inferior_next(const struct mt_inferior *inferior)
{
	size_t next = 0;

	while (inferior && next < inferiors.count && inferiors.items[next++] != inferior)
		;
	return next < inferiors.count ? inferiors.items[next] : NULL;
}

static void forget_breakpoints(struct mt_inferior *inferior)
{
	inferior->births.count = 0;
	mt_entries_withdraw(&inferior->entries);
}

static struct mt_inferior *find_number(int number)
{
	mt_array_each (inferior, &inferiors)
		if ((*inferior)->number == number)
			return *inferior;
	return NULL;
}

struct mt_inferior *mt_inferior_find(pid_t pid)
{
	mt_array_each (inferior, &inferiors)
		if ((*inferior)->live.pid == pid && mt_live_is_recording(&(*inferior)->live))
			return *inferior;
	return NULL;
}

/* After exec a process may be in another inferior (follow-exec-mode new). */
struct mt_inferior *mt_inferior_selected(void)
{
	int number = mt_gdb_inferior();
	struct mt_inferior *inferior = find_number(number);

	if (inferior || !mt_gdb_pid())
		return inferior;
	inferior = mt_inferior_find(mt_gdb_pid());
	if (inferior)
		inferior->number = number;
	return inferior;
}

struct mt_inferior *mt_inferior_of(int number)
{
	struct mt_inferior *inferior = find_number(number);

	if (inferior)
		return inferior;
	inferior = calloc(1, sizeof(*inferior));
	if (inferior && !mt_array_push(&inferiors, inferior)) {
		inferior->number = number;
		return inferior;
	}
	free(inferior);
	return NULL;
}

static struct mt_error *see_rings(void *context, const struct mt_map *map)
{
	bool *there = context;

	*there |= strncmp(map->path, RINGS_NAME, strlen(RINGS_NAME)) == 0;
	return NULL;
}

struct mt_error *mt_inferior_look_for_rings(const struct mt_inferior *inferior, bool *there)
{
	struct mt_target *target = inferior->live.target;

	*there = false;
	return target->ops->each_map(target, inferior->live.pid, see_rings, there);
}

static struct mt_error *on_libraries(void *context, pid_t lwp)
{
	struct mt_inferior *inferior = context;
	struct mt_live *live = &inferior->live;
	const struct mt_stop stop = {.kind = MT_STOP_LIBRARIES, .pid = live->pid, .lwp = lwp};

	/* While it begins it looks for what it loads itself. */
	if (live->state <= MT_LIVE_BEGINNING || mt_gdb_pid() != live->pid)
		return NULL;
	struct mt_error *error = mt_session_take(live->session, &stop);
	if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED && live->state == MT_LIVE_SHOWN)
		live->state = MT_LIVE_CANCELLED;
	mt_try(error);
	mt_try(mt_live_place_triggers(mt_gdb_debugger(), live, NULL));
	mt_live_check_triggers(mt_gdb_debugger(), live);
	if (live->state == MT_LIVE_SHOWN)
		mt_try(mt_entries_update(inferior));
	return inferior->has_rings ? NULL
				   : mt_inferior_look_for_rings(inferior, &inferior->has_rings);
}

struct mt_error *mt_inferior_begin(struct mt_inferior *inferior, pid_t pid, bool fresh)
{
	static const struct mt_gdb_target_hooks hooks = {.libraries = on_libraries,
							 .masks_reads = mt_reads_begin};
	struct mt_target *target;

	if (!mt_reads_hear())
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "cannot record in this GDB, whose calls of waitpid(2) cannot be heard: the "
		    "program's children would write into its rings (\"mtdb run\" and \"mtdb attach\" "
		    "record the program without GDB)");
	forget_breakpoints(inferior);
	inferior->has_rings = false;
	mt_try(mt_gdb_target_create(&hooks, inferior, &target));
	mt_gdb_target_set_pid(target, pid);
	inferior->live.options.engine.is_clean = pid == inferior->child;
	inferior->child = 0;
	mt_try(mt_live_begin(&inferior->live, target, pid, mt_gdb_lwp(), fresh));
	inferior->has_rings = !fresh;
	return NULL;
}

void mt_inferior_end(struct mt_inferior *inferior)
{
	mt_live_end(&inferior->live);
	forget_breakpoints(inferior);
	if (inferior->live.target)
		mt_gdb_target_let_go(inferior->live.target);
}

void mt_inferior_leave(struct mt_inferior *inferior)
{
	if (inferior->live.state == MT_LIVE_HIDDEN || inferior->live.state == MT_LIVE_YIELDED) {
		mt_live_leave(&inferior->live);
		mt_error_destroy(mt_gdb_target_flush_in_command(inferior->live.target));
	}
	mt_inferior_end(inferior);
}

static void destroy(struct mt_inferior *inferior)
{
	forget_breakpoints(inferior);
	mt_live_deinit(&inferior->live);
	mt_array_deinit(&inferior->births);
	free(inferior);
}

void mt_inferior_forget(int number)
{
	for (size_t i = 0; i < inferiors.count; i++) {
		if (inferiors.items[i]->number != number)
			continue;
		destroy(inferiors.items[i]);
		memmove(&inferiors.items[i], &inferiors.items[i + 1],
			(--inferiors.count - i) * sizeof(inferiors.items[0]));
		return;
	}
}

/* While it runs (its text is pristine in a step, too), to change it would take its next stop away
 * from GDB, which waits for that to kill it. */
void mt_inferiors_destroy(void)
{
	bool runs = mt_gdb_is_running();

	mt_array_each (inferior, &inferiors) {
		if (runs)
			mt_inferior_end(*inferior);
		else
			mt_inferior_leave(*inferior); /* GDB may let it go */
		destroy(*inferior);
	}
	mt_array_deinit(&inferiors);
}

struct mt_error *mt_inferior_inherit(const struct mt_inferior *parent, int number, pid_t child,
				     struct mt_inferior **out)
{
	struct mt_inferior *inferior = mt_inferior_of(number);

	if (!inferior)
		return mt_error_no_memory();
	forget_breakpoints(inferior);
	mt_live_discard(&inferior->live);
	mt_try(mt_live_inherit(&inferior->live, &parent->live));
	inferior->live.state = MT_LIVE_ARMED;
	inferior->has_rings = false;
	inferior->child = child;
	*out = inferior;
	return NULL;
}
