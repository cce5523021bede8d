/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/register_break.h"

#include "kernel/event.h"
#include "kernel/system.h"

#include <linux/hw_breakpoint.h>

struct mt_error *mt_break_sites_add(mt_break_sites *sites, pid_t pid, uint64_t address,
				    bool *is_new)
{
	const struct mt_break_site site = {pid, address};

	*is_new = false;
	mt_array_each (known, sites)
		if (known->pid == pid && known->address == address)
			return NULL;
	*is_new = true;
	return mt_array_push(sites, site) ? mt_error_no_memory() : NULL;
}

void mt_break_sites_remove(mt_break_sites *sites, pid_t pid, uint64_t address)
{
	size_t kept = 0;

	mt_array_each (site, sites)
		if (site->pid != pid || site->address != address)
			sites->items[kept++] = *site;
	sites->count = kept;
}

void mt_break_sites_forget(mt_break_sites *sites, pid_t pid)
{
	size_t kept = 0;

	mt_array_each (site, sites)
		if (site->pid != pid)
			sites->items[kept++] = *site;
	sites->count = kept;
}

struct mt_error *mt_register_breaks_add(mt_register_breaks *breaks,
					const struct mt_register_break_group *group,
					uint64_t address)
{
	struct mt_register_break it = {.address = address, .fd = -1};
	const struct mt_perf_spec spec = {
	    .what = "a breakpoint for a trigger",
	    .type = PERF_TYPE_BREAKPOINT,
	    .breakpoint = HW_BREAKPOINT_X,
	    .config1 = address,
	    .config2 = sizeof(long),
	    .period = 1,
	    .trap = true,
	    .aux = group->leader < 0 ? MT_PERF_AUX_NONE : MT_PERF_AUX_PAUSE,
	    .raw_clock = group->raw_clock,
	};
	struct mt_error *error = mt_perf_event_open(&spec, group->lwp, -1, group->leader, &it.fd);

	if (error && mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		return NULL;
	}
	if (!error && mt_array_push(breaks, it)) {
		mt_system_close(it.fd);
		return mt_error_no_memory();
	}
	return error;
}

void mt_register_breaks_remove(mt_register_breaks *breaks, uint64_t address)
{
	size_t kept = 0;

	mt_array_each (it, breaks)
		if (it->address == address)
			mt_system_close(it->fd);
		else
			breaks->items[kept++] = *it;
	breaks->count = kept;
}

void mt_register_breaks_close(mt_register_breaks *breaks)
{
	mt_array_each (it, breaks)
		mt_system_close(it->fd);
	mt_array_deinit(breaks);
}

/* Another signal's handler may have been entered meanwhile: the thread's PC says nothing. */
static bool has_hit(struct mt_register_break *it)
{
	uint64_t hits;

	if (mt_system_read(it->fd, &hits, sizeof(hits)) != sizeof(hits) || hits == it->hits)
		return false;
	it->hits = hits;
	return true;
}

bool mt_register_breaks_hit(mt_register_breaks *breaks, const struct mt_stop *stop,
			    uint64_t *address)
{
	if (!mt_perf_is_trap(stop->signal, stop->code))
		return false;
	mt_array_each (it, breaks)
		if (has_hit(it)) {
			*address = it->address;
			return true;
		}
	return false;
}
