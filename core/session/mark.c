/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks: what the program itself has to say on the timeline.  It calls a function of its own, void
 * mtrace_mark(const char *), that need not do anything; each call is stopped at, as a trigger's is,
 * and its words are read.  So no privilege is needed, and nothing of ours is linked in.  Or it has
 * probes (probe.c). */
#include "session/languages/words.h"
#include "session/private.h"

#include <string.h>

struct mt_error *mt_session_read_text(struct mt_session *session,
				      const struct mt_session_thread *thread, uint64_t address,
				      uint64_t length, struct mt_str *out)
{
	char text[MT_SESSION_MARK_BYTES];
	const size_t most = length < sizeof(text) ? length : sizeof(text) - 1;

	text[mt_session_target_ops(session)->read(session->target, thread->process->pid, address,
						  text, most)] = 0;
	mt_str_append(out, text);
	return out->failed ? mt_error_no_memory() : NULL;
}

/* A probe's words, or a function's.  The number goes in a register of its own; END says nothing. */
static struct mt_error *read_said(struct mt_session *session,
				  const struct mt_session_thread *thread,
				  const struct mt_session_trigger *trigger, uint64_t pc,
				  struct mt_str *text, uint64_t *number)
{
	struct user_regs_struct registers;

	*number = 0;
	if (trigger->words == MT_WORDS_END)
		return NULL;
	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &registers));
	mt_try(mt_session_tell_probe(session, thread->process, pc, &registers, text));
	if (trigger->words == MT_WORDS_NUMBER)
		*number = registers.rsi;
	return text->length
		   ? NULL
		   : mt_session_read_text(session, thread, registers.rdi,
					  mt_session_words_length(trigger, &registers), text);
}

struct mt_error *mt_session_put_mark(struct mt_session *session,
				     const struct mt_session_thread *thread,
				     const struct mt_session_trigger *trigger,
				     const struct mt_engine_news *news)
{
	static const enum mt_recording_note notes[] = {
	    [MT_WORDS_NONE] = MT_NOTE_MARK,      [MT_WORDS_MARK] = MT_NOTE_MARK,
	    [MT_WORDS_BEGIN] = MT_NOTE_SPAN,     [MT_WORDS_END] = MT_NOTE_SPAN_END,
	    [MT_WORDS_NUMBER] = MT_NOTE_COUNTER,
	};
	mt_auto(mt_str) struct mt_str text = {0};
	uint64_t number;

	mt_try(read_said(session, thread, trigger, news->pc, &text, &number));
	const struct mt_sideband record = {
	    .time_ns = news->time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = thread->process->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	    .sample = {.event = notes[trigger->words],
		       .ip = news->pc,
		       .address = trigger->words == MT_WORDS_NUMBER,
		       .weight = number,
		       .raw = (const uint8_t *)(text.text ? text.text : ""),
		       .raw_size = (uint32_t)text.length + 1},
	};
	return mt_recording_writer_put(session->writer, &record);
}
