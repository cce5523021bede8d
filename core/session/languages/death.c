/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a program of Go's dies.  Its runtime comes to one of a few functions then, which never
 * return.  These are triggers that nobody asked for: what the runtime is about to print is read
 * there, as a snapshot's reason, and what led there is taken before the report of all goroutines
 * goes over it. */
#include "runtime/go.h"
#include "session/languages/go.h"

#include <string.h>

static const struct mt_mapping *program_of(const struct mt_session_process *process, uint64_t entry)
{
	const struct mt_mapping *mapping =
	    process->code ? mt_space_find(process->code, entry) : NULL;

	return mapping && mapping->objfile ? mapping : NULL;
}

struct mt_error *mt_session_tell_death(const struct mt_session *session,
				       const struct mt_session_thread *thread, const char *function,
				       uint64_t entry, struct mt_str *out, uint64_t *goroutine)
{
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
	if (out->failed)
		return mt_error_no_memory();
	*goroutine = mt_go_goroutine_of(&memory, registers.r14);
	/* If all goroutines wait for each other, the first one is the program. */
	if (!*goroutine && strstr(out->text, "deadlock"))
		*goroutine = 1;
	return NULL;
}
