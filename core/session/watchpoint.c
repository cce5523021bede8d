/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watchpoints: each thread has an event for each of them (kernel/breakpoint.h), opened while it is
 * held at its birth, or when the mapping comes that has the variable.  The thread stops at each
 * hit; what was hit is in its ring, whatever else it stops for. */
#include "session/private.h"

#include <signal.h>
#include <string.h>

struct mt_error *mt_session_add_watches(struct mt_session *session)
{
	const char *const *text = session->options->watches;

	for (; text && *text; text++) {
		struct mt_watch_spec watch;

		mt_try(mt_watch_spec_parse(*text, &watch));
		if (mt_array_push(&session->watches, watch)) {
			mt_watch_spec_deinit(&watch);
			return mt_error_no_memory();
		}
		if (watch.reads_wanted)
			mt_log(
			    session->options->engine.log, MT_LOG_WARNING,
			    "%s: watching writes too, since the processor cannot watch reads alone",
			    *text);
	}
	if (session->watches.count)
		mt_perf_clock_init(&session->clock);
	return NULL;
}

/* That one thread of many cannot be watched is no reason to end. */
static struct mt_error *tolerate_unwatched(struct mt_session *session,
					   const struct mt_session_thread *thread,
					   struct mt_error *error)
{
	enum mt_error_code code = error ? mt_error_code(error) : 0;

	if (code != MT_ERROR_GONE && code != MT_ERROR_PERMISSION && code != MT_ERROR_SYSTEM)
		return mt_error_wrap(error, "cannot watch");
	if (code != MT_ERROR_GONE)
		mt_log(session->options->engine.log, MT_LOG_WARNING, "thread %d is not watched: %s",
		       (int)thread->lwp, mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *open_site(struct mt_session *session, struct mt_session_thread *thread,
				  const struct mt_session_watch_site *site)
{
	const struct mt_watch_spec *watch = &session->watches.items[site->watch];
	const struct mt_engine_group_ops *group = mt_session_engine_ops(session)->group;
	int leader = group ? group->leader(session->engine, thread->lwp) : -1;
	struct mt_perf_spec spec = mt_breakpoint_spec(&site->breakpoint, watch->text);

	spec.aux = leader < 0 ? MT_PERF_AUX_NONE : MT_PERF_AUX_PAUSE;
	spec.raw_clock = session->clock.raw;
	return tolerate_unwatched(session, thread,
				  mt_event_set_add(&thread->watched, &spec, thread->lwp, leader,
						   site->watch, MT_SESSION_WATCH_RING_BYTES));
}

struct mt_error *mt_session_watch_thread(struct mt_session *session,
					 struct mt_session_thread *thread)
{
	mt_array_each (site, &thread->process->watch_sites)
		mt_try(open_site(session, thread, site));
	return NULL;
}

static bool is_placed(const struct mt_session_process *process, uint32_t watch)
{
	mt_array_each (site, &process->watch_sites)
		if (site->watch == watch)
			return true;
	return false;
}

static uint64_t read_value(struct mt_session *session, pid_t pid,
			   const struct mt_breakpoint *breakpoint)
{
	uint64_t value = 0;

	mt_session_target_ops(session)->read(session->target, pid, breakpoint->address, &value,
					     breakpoint->length);
	return value;
}

struct mt_error *mt_session_find_watches(struct mt_session *session,
					 struct mt_session_process *process,
					 const struct mt_mapping *mapping)
{
	for (uint32_t i = 0; i < session->watches.count; i++) {
		struct mt_watch_spec *watch = &session->watches.items[i];
		struct mt_session_watch_site site = {
		    .watch = i, .code = watch->symbol && mapping ? mapping->start : 0};
		bool found;

		if (is_placed(process, i))
			continue;
		mt_try(mt_watch_spec_place(watch, mapping ? mapping->objfile : NULL,
					   mapping ? mapping->bias : 0, &site.breakpoint, &found));
		if (!found)
			continue;
		watch->found = true;
		if (!mt_session_take_register(session, process, watch->text,
					      site.breakpoint.address))
			continue;
		site.value = read_value(session, process->pid, &site.breakpoint);
		mt_log(session->options->engine.log, MT_LOG_DEBUG,
		       "watching %s: %u bytes at 0x%llx", watch->text, site.breakpoint.length,
		       (unsigned long long)site.breakpoint.address);
		struct mt_session_thread *thread, *next;
		if (mt_array_push(&process->watch_sites, site))
			return mt_error_no_memory();
		HASH_ITER (hh, session->threads, thread, next)
			if (thread->process == process)
				mt_try(open_site(session, thread, &site));
	}
	return NULL;
}

static struct mt_error *stop_watching(struct mt_session *session, struct mt_session_thread *thread)
{
	const struct mt_stop stop = {.kind = MT_STOP_NONE};
	const struct mt_engine_news news = {0};

	if (!thread->watched.members.count)
		return NULL;
	if (!session->leaving)
		mt_try(mt_session_take_hits(session, thread, &stop, &news));
	mt_event_set_deinit(&thread->watched);
	return NULL;
}

struct mt_error *mt_session_forget_watch(struct mt_session *session,
					 struct mt_session_process *process, size_t index)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process)
			mt_try(stop_watching(session, thread));
	process->watch_sites.items[index] = *mt_array_last(&process->watch_sites);
	process->watch_sites.count--;
	/* The events of a thread share the first one's ring, so that none of them ends alone. */
	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process)
			mt_try(mt_session_watch_thread(session, thread));
	return NULL;
}

struct taking {
	struct mt_session *session;
	struct mt_session_thread *thread;
	uint64_t pc; /* as the engine understands it; 0: it stands elsewhere by now */
	unsigned hits;
};

static struct mt_session_watch_site *site_of(const struct taking *taking, uint64_t id)
{
	uint32_t watch;

	if (!mt_event_set_tag(&taking->thread->watched, id, &watch))
		return NULL;
	mt_array_each (site, &taking->thread->process->watch_sites)
		if (site->watch == watch)
			return site;
	return NULL;
}

static void tell_value(const struct taking *taking, struct mt_session_watch_site *site,
		       struct mt_str *out)
{
	uint64_t value;

	if (site->breakpoint.access == MT_ACCESS_EXECUTE)
		return;
	value = read_value(taking->session, taking->thread->process->pid, &site->breakpoint);
	mt_str_appendf(out, "value = %llu", (unsigned long long)value);
	if (value != site->value)
		mt_str_appendf(out, ", was %llu", (unsigned long long)site->value);
	site->value = value;
}

static struct mt_error *put_hit(struct taking *taking, struct mt_session_watch_site *site,
				const struct mt_ring_sample *sample)
{
	struct mt_session *session = taking->session;
	mt_auto(mt_str) struct mt_str values = {0}, registers = {0};
	struct mt_session_hit hit = {
	    .trigger = (uint32_t)session->triggers.count + site->watch + 1,
	    .pc = taking->pc ? taking->pc : sample->ip,
	    .location = session->watches.items[site->watch].text,
	};
	uint64_t tsc = mt_perf_clock_to_tsc(&session->clock, sample->time);

	tell_value(taking, site, &values);
	mt_breakpoint_registers(sample, &registers);
	if (values.failed || registers.failed)
		return mt_error_no_memory();
	hit.values = values.text;
	hit.registers = registers.text;
	session->result.hits++;
	taking->hits++;
	return mt_session_put_hit(session, taking->thread, &hit,
				  mt_tsc_to_ns(&session->conversion, tsc));
}

static struct mt_error *take(void *context, const struct perf_event_header *record)
{
	struct taking *taking = context;
	const struct mt_engine_group_ops *group = mt_session_engine_ops(taking->session)->group;
	struct mt_session_watch_site *site;
	struct mt_ring_sample sample;

	if (!mt_breakpoint_sample(record, &sample))
		return NULL;
	site = site_of(taking, sample.id);
	if (!site)
		return NULL;
	if (group)
		mt_try(group->hit(taking->session->engine, taking->thread->lwp, sample.ip));
	return put_hit(taking, site, &sample);
}

bool mt_session_is_hit(const struct mt_stop *stop)
{
	return stop->kind == MT_STOP_SIGNAL && mt_perf_is_trap(stop->signal, stop->code);
}

struct mt_error *mt_session_take_hits(struct mt_session *session, struct mt_session_thread *thread,
				      const struct mt_stop *stop, const struct mt_engine_news *news)
{
	struct taking taking = {
	    .session = session,
	    .thread = thread,
	    .pc = mt_session_is_hit(stop) ? news->pc : 0,
	};

	if (!mt_data_ring_has_news(&thread->watched.ring))
		return NULL;
	mt_perf_clock_sync(&session->clock);
	mt_try(mt_data_ring_read(&thread->watched.ring, take, &taking, NULL));
	return taking.hits && mt_session_has_room(session) ? mt_session_snapshot(session) : NULL;
}
