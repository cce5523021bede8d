/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints that leave the text as it is: a debug register of each thread, taken as a perf event
 * that stops the thread before the instruction runs.  So the thread's trace ends at it, and the
 * instruction runs when the thread goes on. */
#include "engine/pt/private.h"
#include "kernel/event.h"
#include "kernel/system.h"

#include <linux/hw_breakpoint.h>
#include <string.h>

static struct mt_error *add_break(struct mt_pt_engine *engine, struct mt_pt_thread *thread,
				  uint64_t address)
{
	struct mt_pt_break it = {.address = address, .fd = -1};
	int leader = mt_pt_leader(engine, thread->lwp);
	const struct mt_perf_spec spec = {
	    .what = "a breakpoint for a trigger",
	    .type = PERF_TYPE_BREAKPOINT,
	    .breakpoint = HW_BREAKPOINT_X,
	    .config1 = address,
	    .config2 = sizeof(long),
	    .period = 1,
	    .trap = true,
	    .aux = leader < 0 ? MT_PERF_AUX_NONE : MT_PERF_AUX_PAUSE,
	    .raw_clock = engine->clock.raw,
	};
	struct mt_error *error = mt_perf_event_open(&spec, thread->lwp, -1, leader, &it.fd);

	if (error && mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		return NULL;
	}
	if (!error && mt_array_push(&thread->breaks, it)) {
		mt_system_close(it.fd);
		return mt_error_no_memory();
	}
	return error;
}

struct mt_error *mt_pt_set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address,
				      const struct mt_engine_condition *condition)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;
	struct mt_pt_site site = {pid, address};

	(void)condition;
	mt_array_each (known, &engine->sites)
		if (known->pid == pid && known->address == address)
			return NULL;
	if (mt_array_push(&engine->sites, site))
		return mt_error_no_memory();
	for (struct mt_pt_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->pid == pid)
			mt_try(add_break(engine, thread, address));
	return NULL;
}

static void remove_break(struct mt_pt_thread *thread, uint64_t address)
{
	size_t kept = 0;

	mt_array_each (it, &thread->breaks)
		if (it->address == address)
			mt_system_close(it->fd);
		else
			thread->breaks.items[kept++] = *it;
	thread->breaks.count = kept;
}

void mt_pt_clear_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;
	size_t kept = 0;

	mt_array_each (site, &engine->sites)
		if (site->pid != pid || site->address != address)
			engine->sites.items[kept++] = *site;
	engine->sites.count = kept;
	for (struct mt_pt_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->pid == pid)
			remove_break(thread, address);
}

struct mt_error *mt_pt_add_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	mt_array_each (site, &engine->sites)
		if (site->pid == thread->pid)
			mt_try(add_break(engine, thread, site->address));
	return NULL;
}

void mt_pt_close_breaks(struct mt_pt_thread *thread)
{
	mt_array_each (it, &thread->breaks)
		mt_system_close(it->fd);
	mt_array_deinit(&thread->breaks);
}

/* The new program has none of them. */
void mt_pt_forget_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	size_t kept = 0;

	mt_array_each (site, &engine->sites)
		if (site->pid != thread->pid)
			engine->sites.items[kept++] = *site;
	engine->sites.count = kept;
	mt_pt_close_breaks(thread);
}

/* Another signal's handler may have been entered meanwhile: the thread's PC says nothing. */
static bool has_hit(struct mt_pt_break *it)
{
	uint64_t hits;

	if (mt_system_read(it->fd, &hits, sizeof(hits)) != sizeof(hits) || hits == it->hits)
		return false;
	it->hits = hits;
	return true;
}

bool mt_pt_is_break(struct mt_pt_thread *thread, const struct mt_stop *stop, uint64_t *address)
{
	if (!mt_perf_is_trap(stop->signal, stop->code))
		return false;
	mt_array_each (it, &thread->breaks)
		if (has_hit(it)) {
			*address = it->address;
			return true;
		}
	return false;
}
