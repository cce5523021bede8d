/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks: what the program itself has to say on the timeline.  It calls a function of its own, void
 * mtrace_mark(const char *), that need not do anything; each call is stopped at, as a trigger's is,
 * and its words are read.  So no privilege is needed, and nothing of ours is linked in.  Or it has
 * probes (probe.c). */
#include "session/private.h"

#include <string.h>

/* Of a thread's process, up to its NUL: whatever of it can be read. */
static struct mt_error *read_text(struct mt_session *session, pid_t lwp, uint64_t address,
				  struct mt_str *out)
{
	const struct mt_session_thread *thread = mt_session_find_thread(session, lwp);
	char text[MT_SESSION_MARK_BYTES];

	if (!thread)
		return NULL;
	size_t length = mt_session_target_ops(session)->read(session->target, thread->process->pid,
							     address, text, sizeof(text) - 1);
	text[length] = 0;
	mt_str_append(out, text);
	return out->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_session_read_words(struct mt_session *session,
				       const struct mt_session_thread *thread, uint64_t pc,
				       struct mt_str *out)
{
	struct user_regs_struct registers;

	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &registers));
	mt_try(mt_session_tell_probe(session, thread->process, pc, &registers, out));
	return out->length ? NULL : read_text(session, thread->lwp, registers.rdi, out);
}

struct mt_error *mt_session_read_reason(struct mt_session *session, pid_t lwp,
					const struct mt_trigger_spec *spec, struct mt_str *out)
{
	struct user_regs_struct registers;

	if (spec->at_return || spec->slower_ns ||
	    strcmp(spec->location, MT_WORDS_SNAPSHOT_FUNCTION) != 0)
		return NULL;
	mt_try(mt_session_target_ops(session)->get_registers(session->target, lwp, &registers));
	return read_text(session, lwp, registers.rdi, out);
}

/* The number goes in a register of its own; END says nothing. */
static struct mt_error *read_said(struct mt_session *session,
				  const struct mt_session_thread *thread, enum mt_words words,
				  uint64_t pc, struct mt_str *text, uint64_t *number)
{
	struct user_regs_struct registers;

	*number = 0;
	if (words == MT_WORDS_END)
		return NULL;
	mt_try(mt_session_read_words(session, thread, pc, text));
	if (words != MT_WORDS_NUMBER)
		return NULL;
	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &registers));
	*number = registers.rsi;
	return NULL;
}

struct mt_error *mt_session_put_mark(struct mt_session *session,
				     const struct mt_session_thread *thread, enum mt_words words,
				     const struct mt_engine_news *news)
{
	static const enum mt_recording_note notes[] = {
	    [MT_WORDS_NONE] = MT_NOTE_MARK,      [MT_WORDS_MARK] = MT_NOTE_MARK,
	    [MT_WORDS_BEGIN] = MT_NOTE_SPAN,     [MT_WORDS_END] = MT_NOTE_SPAN_END,
	    [MT_WORDS_NUMBER] = MT_NOTE_COUNTER,
	};
	mt_auto(mt_str) struct mt_str text = {0};
	uint64_t number;

	mt_try(read_said(session, thread, words, news->pc, &text, &number));
	const struct mt_sideband record = {
	    .time_ns = news->time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = thread->process->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	    .sample = {.event = notes[words],
		       .ip = news->pc,
		       .address = words == MT_WORDS_NUMBER,
		       .weight = number,
		       .raw = (const uint8_t *)(text.text ? text.text : ""),
		       .raw_size = (uint32_t)text.length + 1},
	};
	return mt_recording_writer_put(session->writer, &record);
}
