/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor's debug registers: four, of which two are left to debuggers.  Watchpoints take
 * them, and triggers of an engine whose breakpoints are such registers; what no trigger needs may
 * see the dynamic loader at work.  Where nothing stops at them (kernel/breakpoint.h), a session
 * that wants any does not begin, so the loader is never waited for in vain. */
#include "session/private.h"

static void tell_holder(struct mt_str *out, const char *option, const char *text)
{
	mt_str_appendf(out, "%s%s %s", out->length ? ", " : "", option, text);
}

static void tell_holders(const struct mt_session *session, struct mt_str *out)
{
	if (mt_session_breaks_in_registers(session))
		mt_array_each (trigger, &session->triggers)
			tell_holder(out, trigger->mark ? "--events" : "--trigger",
				    trigger->mark ? "marks" : trigger->text);
	mt_array_each (watch, &session->watches)
		tell_holder(out, "--watch", watch->text);
}

struct mt_error *mt_session_check_registers(const struct mt_session *session)
{
	const size_t watches = session->watches.count;
	const size_t triggers =
	    mt_session_breaks_in_registers(session) ? session->triggers.count : 0;
	mt_auto(mt_str) struct mt_str holders = {0};
	mt_auto(mt_error) struct mt_error *error = NULL;

	if (!triggers && !watches)
		return NULL;
	tell_holders(session, &holders);
	if (holders.failed)
		return mt_error_no_memory();
	if (triggers + watches > MT_BREAKPOINT_MOST)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "not enough debug registers for %s: two of the processor's four are left to "
		    "debuggers; remove all but %d of these%s",
		    holders.text, MT_BREAKPOINT_MOST,
		    triggers ? ", or use --engine calls, whose triggers need none" : "");
	/* Said before the program runs. */
	error = mt_breakpoint_probe(watches ? MT_SESSION_WATCH_RING_BYTES : 0);
	if (!error)
		return NULL;
	return mt_error_new(
	    mt_error_code(error), "cannot stop at %s: %s%s%s%s", holders.text,
	    mt_error_message(error),
	    triggers ? "; use --engine calls or step, whose triggers need none" : "",
	    triggers && watches ? ", and"
	    : watches           ? "; use"
				: "",
	    watches ? " the command watch at mtdb's prompt, which single-steps if need be" : "");
}

static bool is_first_at(const struct mt_session_process *process, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (process->sites.items[i].address == process->sites.items[index].address)
			return false;
	return true;
}

static size_t count_taken(const struct mt_session *session,
			  const struct mt_session_process *process)
{
	size_t count = process->watch_sites.count + (process->loader != 0);

	for (size_t i = 0; mt_session_breaks_in_registers(session) && i < process->sites.count; i++)
		count += is_first_at(process, i);
	return count;
}

bool mt_session_has_register(const struct mt_session *session,
			     const struct mt_session_process *process)
{
	return count_taken(session, process) < MT_BREAKPOINT_MOST;
}

static bool all_are_found(const struct mt_session *session)
{
	mt_array_each (trigger, &session->triggers)
		if (!trigger->found)
			return false;
	mt_array_each (watch, &session->watches)
		if (!watch->found)
			return false;
	return true;
}

bool mt_session_take_register(struct mt_session *session, struct mt_session_process *process,
			      const char *text, uint64_t address)
{
	if (mt_session_has_register(session, process))
		return true;
	if (process->loader && all_are_found(session)) {
		mt_session_engine_ops(session)->breaks->clear(session->engine, process->pid,
							      process->loader);
		process->loader = 0;
		return true;
	}
	mt_log(session->options->engine.log, MT_LOG_WARNING,
	       "ignoring %s at 0x%llx: no debug register is free (two of the processor's four are "
	       "left to debuggers)",
	       text, (unsigned long long)address);
	return false;
}
