/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an interpreter's loop, which is a function in C, runs in Python: which interpreters are
 * known, and what is noted of a call of its loop. */
#include "runtime/python.h"
#include "session/languages/python.h"

#include <inttypes.h>
#include <string.h>

/* A record has room for 60,000, of which the arguments take some. */
#define MOST_NOTE_BYTES 58000u

void mt_session_forget_interpreter(struct mt_session_process *process)
{
	process->python_loop = 0;
	process->has_python_ended = false;
	process->has_evaluators = false;
	process->is_python_deep = false;
}

/* Once a session.  VERSION 0: of before 3.11. */
static void tell_unknown(struct mt_session *session, uint64_t version)
{
	mt_auto(mt_str) struct mt_str text = {0};

	if (session->python_is_told)
		return;
	session->python_is_told = true;
	mt_str_append(&text, "an older one");
	if (version) {
		mt_str_clear(&text);
		mt_str_appendf(&text, "%" PRIu64 ".%" PRIu64, version >> 24, version >> 16 & 0xff);
	}
	if (!text.failed)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "functions in Python are not shown: of CPython only 3.11 is known, and this "
		       "is %s",
		       text.text);
}

bool mt_session_find_python(struct mt_session *session, const struct mt_session_process *process,
			    uint64_t pc, struct mt_python_memory *out)
{
	uint64_t version;

	if (!mt_python_find(process->code, pc, out, &version))
		return false;
	if (mt_python_is_known(version))
		return true;
	tell_unknown(session, version);
	return false;
}

/* Strings, each with a NUL at its end. */
static void append_frame(struct mt_str *out, const struct mt_python_frame *frame)
{
	mt_str_append_bytes(out, frame->function, strlen(frame->function) + 1);
	mt_str_append_bytes(out, frame->file, strlen(frame->file) + 1);
	mt_str_appendf(out, "%" PRIu32 " %" PRIu32, frame->first_line, frame->line);
	mt_str_append_bytes(out, "", 1);
}

void mt_session_append_python(const struct mt_python_stack *stack,
			      const struct mt_python_loop *loop, struct mt_str *out)
{
	const struct mt_python_frame *frames = stack->frames.items + loop->first;
	mt_auto(mt_str) struct mt_str one = {0};
	size_t count = 0;

	for (size_t bytes = 0; count < loop->count; count++) {
		mt_str_clear(&one);
		append_frame(&one, &frames[count]);
		bytes += one.length;
		if (bytes > MOST_NOTE_BYTES)
			break;
	}
	mt_str_appendf(out, "%zu %zu", loop->count - count, count);
	mt_str_append_bytes(out, "", 1);
	while (count-- > 0)
		append_frame(out, &frames[count]);
}
