/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints that leave the text as it is: a debug register of each thread, taken as a perf event
 * that has the thread trap before the instruction runs.  So the thread's trace ends at it, and the
 * instruction runs when the thread goes on.
 * Source: perf_event_open(2), sigtrap, remove_on_exec; Linux 5.13. */
#include "perf/event.h"
#include "perf/system.h"
#include "target/pt_private.h"

#include <linux/hw_breakpoint.h>
#include <signal.h>
#include <string.h>

static struct mt_error *open_break(uint64_t address, pid_t lwp, int *fd)
{
	const struct mt_perf_spec spec = {
	    .what = "a breakpoint for a trigger",
	    .type = PERF_TYPE_BREAKPOINT,
	    .breakpoint = HW_BREAKPOINT_X,
	    .config1 = address,
	    .config2 = sizeof(long),
	    .period = 1,
	    .trap = true,
	};

	if (!mt_perf_kernel_is_at_least(5, 13))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "triggers of the engine pt want Linux 5.13, whose breakpoints "
				    "stop a thread; --engine calls or step can do it here");
	return mt_perf_event_open(&spec, lwp, -1, -1, fd);
}

static struct mt_error *add_break(struct mt_pt_thread *thread, uint64_t address)
{
	struct mt_pt_break it = {.address = address, .fd = -1};
	struct mt_error *error = open_break(address, thread->lwp, &it.fd);

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

struct mt_error *mt_pt_set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;
	struct mt_pt_site site = {pid, address};

	mt_array_each (known, &engine->sites)
		if (known->pid == pid && known->address == address)
			return NULL;
	if (mt_array_push(&engine->sites, site))
		return mt_error_no_memory();
	for (struct mt_pt_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->pid == pid)
			mt_try(add_break(thread, address));
	return NULL;
}

struct mt_error *mt_pt_add_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	mt_array_each (site, &engine->sites)
		if (site->pid == thread->pid)
			mt_try(add_break(thread, site->address));
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

bool mt_pt_is_break(const struct mt_pt_thread *thread, const struct mt_stop *stop)
{
	if (stop->signal != SIGTRAP || stop->code != MT_TRAP_PERF)
		return false;
	mt_array_each (it, &thread->breaks)
		if (it->address == thread->pc)
			return true;
	return false;
}
