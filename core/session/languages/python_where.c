/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a thread that is stopped for a snapshot stands in Python: a text of its own, no arguments
 * of open calls, since these go on, and end, behind the snapshot. */
#include "session/languages/python.h"

#include <inttypes.h>
#include <string.h>

/* The thread stands still while they are read, some 10 us each. */
#define MOST_FUNCTIONS  64u
#define MOST_TEXT_BYTES 4000u

static bool is_same(const struct mt_python_frame *a, const struct mt_python_frame *b)
{
	return a->line == b->line && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->file, b->file) == 0;
}

/* "in Python: walk (app.py:7) (3 times), main (app.py:20)", the innermost first. */
static void tell(const struct mt_python_stack *stack, struct mt_str *out)
{
	const struct mt_python_frame *frame = stack->frames.items;
	size_t left = stack->frames.count, times;

	for (; left && out->length <= MOST_TEXT_BYTES; left -= times, frame += times) {
		for (times = 1; times < left && is_same(frame, frame + times);)
			times++;
		mt_str_appendf(out, "%s%s (%s:%" PRIu32 ")",
			       out->length ? ", " : "in Python: ", frame->function, frame->file,
			       frame->line);
		if (times > 1)
			mt_str_appendf(out, " (%zu times)", times);
	}
	if (left || stack->frames.count == MOST_FUNCTIONS)
		mt_str_append(out, ", ...");
}

struct mt_error *mt_session_put_python_where(struct mt_session *session,
					     const struct mt_session_thread *thread,
					     uint64_t time_ns)
{
	struct mt_session_here here = {.session = session, .pid = thread->process->pid};
	struct mt_python_memory memory = {.read = mt_session_read, .context = &here};
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_python_stack stack = {0};
	struct user_regs_struct registers;

	if (session->options->engine.live || !thread->process->python_loop ||
	    !mt_session_find_python(session, thread->process, thread->process->python_loop,
				    &memory))
		return NULL;
	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &registers));
	mt_python_stack_read(&memory, registers.fs_base, MOST_FUNCTIONS, &stack);
	tell(&stack, &text);
	mt_python_stack_deinit(&stack);
	if (text.failed)
		return mt_error_no_memory();
	const struct mt_sideband note = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = thread->process->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_PYTHON_AT,
		       .ip = registers.rip,
		       .raw = (const uint8_t *)text.text,
		       .raw_size = (uint32_t)text.length + 1},
	};
	return text.length ? mt_recording_writer_put(session->writer, &note) : NULL;
}
