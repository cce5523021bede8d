/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reason that the program gives for a snapshot: what it says to mtrace_snapshot(), or why it
 * dies. */
#include "session/languages/go.h"
#include "session/private.h"

#include <stdlib.h>
#include <string.h>

struct mt_error *mt_session_read_reason(struct mt_session *session, pid_t lwp,
					const struct mt_trigger_spec *spec, struct mt_str *out)
{
	const struct mt_session_thread *thread = mt_session_find_thread(session, lwp);
	struct user_regs_struct registers;

	if (!thread || spec->at_return || spec->slower_ns ||
	    strcmp(spec->location, MT_WORDS_SNAPSHOT_FUNCTION) != 0)
		return NULL;
	mt_try(mt_session_target_ops(session)->get_registers(session->target, lwp, &registers));
	return mt_session_read_text(session, thread, registers.rdi, UINT64_MAX, out);
}

/* What is told of the first process: its first reason. */
static void keep(struct mt_session *session, const struct mt_session_thread *thread,
		 uint64_t goroutine, const struct mt_str *reason)
{
	if (session->death || thread->process->pid != session->result.pid)
		return;
	session->death = strdup(reason->text);
	session->result.death = session->death;
	session->result.death_lwp = thread->lwp;
	session->result.death_goroutine = goroutine;
}

struct mt_error *mt_session_read_death(struct mt_session *session, pid_t lwp, const char *function,
				       uint64_t entry, struct mt_str *out)
{
	const struct mt_session_thread *thread = mt_session_find_thread(session, lwp);
	uint64_t goroutine;

	if (!thread)
		return NULL;
	mt_try(mt_session_tell_death(session, thread, function, entry, out, &goroutine));
	keep(session, thread, goroutine, out);
	return NULL;
}
