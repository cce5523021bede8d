/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers' breakpoints are debug registers, in the group of the thread's trace, which a hit is to
 * pause. */
#include "engine/pt/private.h"

static struct mt_error *add_break(struct mt_pt_engine *engine, struct mt_pt_thread *thread,
				  uint64_t address)
{
	const struct mt_register_break_group group = {
	    .lwp = thread->lwp,
	    .leader = mt_pt_leader(engine, thread->lwp),
	    .raw_clock = engine->clock.raw,
	};

	return mt_register_breaks_add(&thread->breaks, &group, address);
}

struct mt_error *mt_pt_set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address,
				      const struct mt_engine_condition *condition)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;
	bool is_new;

	(void)condition;
	mt_try(mt_break_sites_add(&engine->sites, pid, address, &is_new));
	for (struct mt_pt_thread *thread = is_new ? engine->threads : NULL; thread;
	     thread = thread->hh.next)
		if (thread->pid == pid)
			mt_try(add_break(engine, thread, address));
	return NULL;
}

void mt_pt_clear_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;

	mt_break_sites_remove(&engine->sites, pid, address);
	for (struct mt_pt_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->pid == pid)
			mt_register_breaks_remove(&thread->breaks, address);
}

struct mt_error *mt_pt_add_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	mt_array_each (site, &engine->sites)
		if (site->pid == thread->pid)
			mt_try(add_break(engine, thread, site->address));
	return NULL;
}

/* The new program has none of them. */
void mt_pt_forget_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	mt_break_sites_forget(&engine->sites, thread->pid);
	mt_register_breaks_close(&thread->breaks);
}
