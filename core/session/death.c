/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a program of Go's dies.  Its runtime comes to one of a few functions then, which never
 * return.  These are triggers that nobody asked for: what the runtime is about to print is read
 * there, as a snapshot's reason, and what led there is taken before the report of all goroutines
 * goes over it. */
#include "elf/go_version.h"
#include "session/dying.h"

#include <string.h>

#define MOST_BYTES 1024

/* Of runtime.g, which is in r14, its thread's runtime.m; of that the goroutine that it runs. */
#define M_OF_G       48
#define CURRENT_OF_M 192

size_t mt_dying_read(const struct mt_dying *dying, uint64_t address, void *out, size_t size)
{
	return mt_session_target_ops(dying->session)
	    ->read(dying->session->target, dying->thread->process->pid, address, out, size);
}

uint64_t mt_dying_word(const struct mt_dying *dying, uint64_t address)
{
	uint64_t word = 0;

	return mt_dying_read(dying, address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

void mt_dying_append_text(const struct mt_dying *dying, uint64_t address, uint64_t length,
			  struct mt_str *out)
{
	char text[MOST_BYTES];
	const size_t most = length < sizeof(text) ? (size_t)length : sizeof(text);
	const size_t got = mt_dying_read(dying, address, text, most);

	/* A reason is one line. */
	for (size_t i = 0; i < got; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	/* A note's strings end at a NUL. */
	mt_str_append_bytes(out, text, strnlen(text, got));
	mt_str_append(out, length > got ? "..." : "");
}

/* Its number; on the thread's own stack that of the goroutine for which the thread does something
 * there.  0: none. */
static uint64_t goroutine_of(const struct mt_dying *dying)
{
	const unsigned at = dying->thread->process->goid_offset;
	const uint64_t g = dying->registers.r14;
	const uint64_t m = mt_dying_word(dying, g + M_OF_G);
	const uint64_t current = mt_dying_word(dying, m + CURRENT_OF_M);

	if (!at)
		return 0;
	const uint64_t id = mt_dying_word(dying, g + at);
	return !id && current && mt_dying_word(dying, current + M_OF_G) == m
		   ? mt_dying_word(dying, current + at)
		   : id;
}

/* What is told of the first process: its first reason.  If all goroutines wait for each other, the
 * first one is the program. */
static void keep(const struct mt_dying *dying, const struct mt_str *reason)
{
	struct mt_session *session = dying->session;
	const struct mt_session_process *process = dying->thread->process;

	if (session->death || process->pid != session->result.pid || reason->failed)
		return;
	uint64_t id = goroutine_of(dying);
	if (!id && strstr(reason->text, "deadlock"))
		id = 1;
	session->death = strdup(reason->text);
	session->result.death = session->death;
	session->result.death_lwp = dying->thread->lwp;
	session->result.death_goroutine = id;
}

struct mt_error *mt_session_read_death(struct mt_session *session,
				       const struct mt_session_thread *thread,
				       const struct mt_session_trigger *trigger, struct mt_str *out)
{
	struct mt_dying dying = {.session = session, .thread = thread};

	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &dying.registers));
	if (strcmp(trigger->text, MT_WORDS_PANIC_FUNCTION) == 0) {
		mt_dying_append_panics(&dying, dying.registers.rax, out);
	} else {
		mt_str_append(out, "fatal error: ");
		mt_dying_append_text(&dying, dying.registers.rax, dying.registers.rbx, out);
	}
	keep(&dying, out);
	return out->failed ? mt_error_no_memory() : NULL;
}
