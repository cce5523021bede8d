/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a program of Go's dies.  Its runtime comes to one of a few functions then, which never
 * return.  These are triggers that nobody asked for: what the runtime is about to print is read
 * there, as a snapshot's reason, and what led there is taken before the report of all goroutines
 * goes over it. */
#include "runtime/go.h"
#include "session/private.h"

#include <string.h>

static const struct mt_mapping *program_of(const struct mt_session_process *process, uint64_t entry)
{
	const struct mt_mapping *mapping =
	    process->code ? mt_space_find(process->code, entry) : NULL;

	return mapping && mapping->objfile ? mapping : NULL;
}

/* What is told of the first process: its first reason.  If all goroutines wait for each other, the
 * first one is the program. */
static void keep(struct mt_session *session, const struct mt_session_thread *thread,
		 uint64_t goroutine, const struct mt_str *reason)
{
	if (session->death || thread->process->pid != session->result.pid || reason->failed)
		return;
	if (!goroutine && strstr(reason->text, "deadlock"))
		goroutine = 1;
	session->death = strdup(reason->text);
	session->result.death = session->death;
	session->result.death_lwp = thread->lwp;
	session->result.death_goroutine = goroutine;
}

struct mt_error *mt_session_read_death(struct mt_session *session, pid_t lwp, const char *function,
				       uint64_t entry, struct mt_str *out)
{
	const struct mt_session_thread *thread = mt_session_find_thread(session, lwp);

	if (!thread)
		return NULL;
	struct mt_session_here here = {.session = session, .pid = thread->process->pid};
	const struct mt_go_memory memory = {.read = mt_session_read,
					    .context = &here,
					    .program = program_of(thread->process, entry),
					    .goid_offset = thread->process->goid_offset};
	struct user_regs_struct registers;

	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &registers));
	if (strcmp(function, MT_WORDS_PANIC_FUNCTION) == 0) {
		mt_go_append_panics(&memory, registers.rax, out);
	} else {
		mt_str_append(out, "fatal error: ");
		mt_go_append_text(&memory, registers.rax, registers.rbx, out);
	}
	keep(session, thread, mt_go_goroutine_of(&memory, registers.r14), out);
	return out->failed ? mt_error_no_memory() : NULL;
}
