/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which function in Python a call of the interpreter's loop begins with is recorded there, as
 * arguments of mtrace.h's functions are (header.c): see trace/python_calls.h.  What the sums mean
 * is read when a snapshot is taken, when a thread ends, and before the interpreter lets go of all
 * that it has.  Code that is gone by then is named by what others say: those of the same file. */
#include "trace/python_calls.h"
#include "elf/data_symbol.h"
#include "process/proc.h"
#include "runtime/python.h"
#include "session/languages/python.h"
#include "session/languages/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION "functions in Python"

#define DIGITS_OF(number) #number
#define DIGITS(number)    DIGITS_OF(number)
#define CODE              "*(long *) ($rsi + " DIGITS(MT_PYTHON_FRAME_CODE_AT) ")"
#define FIRST_LINE        "*(int *) (" CODE " + " DIGITS(MT_PYTHON_CODE_LINE_AT) ")"

enum { TEXT_BYTES = 96 };

struct mt_session_python_text {
	uint64_t hash;
	UT_hash_handle hh;
};

const struct mt_session_trigger mt_session_python_calls = {
    .text = MT_PYTHON_LOOP,
    .option = OPTION,
    .words = MT_WORDS_PYTHON,
    .values = MT_VALUES_ARGUMENTS,
};

struct mt_error *mt_session_see_python(struct mt_session *session,
				       struct mt_session_process *process,
				       struct mt_objfile *objfile, const struct mt_map *map)
{
	const struct mt_engine_break_ops *breaks = mt_session_engine_ops(session)->breaks;
	static const struct mt_session_trigger end = {
	    .text = MT_PYTHON_END, .option = OPTION, .words = MT_WORDS_PYTHON_ENDS};
	struct mt_session_here here = {.session = session, .pid = process->pid};
	struct mt_python_memory memory = {.read = mt_session_read, .context = &here};
	uint64_t loop, address;
	bool is_new = true;

	if (!breaks || !breaks->measures || session->options->no_open_args ||
	    !mt_python_is_in(objfile) ||
	    !mt_objfile_offset_to_address(objfile, map->offset, &address))
		return NULL;
	loop = mt_objfile_find_function_symbol(objfile, MT_PYTHON_LOOP);
	if (!loop)
		return NULL;
	loop += map->start - address;
	if (loop < map->start || loop >= map->end)
		return NULL;
	if (!process->program)
		process->entry = mt_proc_entry(process->pid);
	mt_try(mt_session_see_all(session, process));
	/* Who has seen all before has not seen this yet. */
	const struct mt_mapping mapping = {
	    .start = map->start, .end = map->end, .offset = map->offset, .path = map->path};
	if (!mt_space_find(process->code, loop))
		mt_try(mt_session_see_code(session, process, &mapping));
	if (!mt_session_find_python(session, process, loop, &memory))
		return NULL;
	process->python_loop = loop;
	mt_array_each (trigger, &session->triggers)
		is_new &= trigger->words != MT_WORDS_PYTHON;
	if (is_new && !session->options->engine.live)
		mt_try(mt_session_add_word(session, mt_session_python_calls, NULL));
	mt_try(mt_session_set_evaluators(session, process, objfile));
	if (!is_new || session->options->engine.live)
		return NULL;
	/* With a condition it is a runtime's to the engine, to which no child of vfork() comes: who
	 * embeds Python in a debugger, as GDB does, traces its own. */
	return mt_session_add_word(session, end, "1");
}

static struct mt_error *parse_text(const struct mt_session_process *process,
				   const struct mt_expr_frame *frame, const char *name, unsigned at,
				   struct mt_session_value_list *out)
{
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), "$_mtrace_python_hash(*(long *) (" CODE " + %u))", at);
	return mt_session_parse_value(process, frame, name, text, out);
}

struct mt_error *mt_session_parse_python(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 struct mt_session_value_list *out)
{
	mt_try(mt_session_parse_value(process, frame, MT_PYTHON_CODE_NAME, CODE, out));
	mt_try(mt_session_parse_value(process, frame, MT_PYTHON_LINE_NAME, FIRST_LINE, out));
	mt_try(parse_text(process, frame, MT_PYTHON_FUNCTION_NAME, MT_PYTHON_CODE_NAME_AT, out));
	return parse_text(process, frame, MT_PYTHON_FILE_NAME, MT_PYTHON_CODE_FILE_AT, out);
}

/* ---- What they mean ---- */

struct looking {
	struct mt_session *session;
	const struct mt_session_process *process;
	MT_ARRAY(uint64_t) codes;
};

static struct mt_error *found_code(void *context, pid_t pid, uint64_t code)
{
	struct looking *looking = context;

	if (pid != looking->process->pid ||
	    (looking->codes.count && *mt_array_last(&looking->codes) == code))
		return NULL;
	return mt_array_push(&looking->codes, code) ? mt_error_no_memory() : NULL;
}

static int by_address(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Once each. */
static struct mt_error *put_text(struct mt_session *session, pid_t pid,
				 const struct mt_python_text *text)
{
	struct mt_session_python_text *known;

	HASH_FIND(hh, session->python_texts, &text->hash, sizeof(text->hash), known);
	if (known || !text->text)
		return NULL;
	const struct mt_sideband note = {
	    .time_ns = mt_session_now(session),
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = pid,
	    .tid = pid,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_PYTHON_TEXT,
		       .address = text->hash,
		       .raw = (const uint8_t *)text->text,
		       .raw_size = (uint32_t)strlen(text->text) + 1},
	};
	known = calloc(1, sizeof(*known));
	if (!known)
		return mt_error_no_memory();
	known->hash = text->hash;
	HASH_ADD(hh, session->python_texts, hash, sizeof(known->hash), known);
	if (!known->hh.tbl) {
		free(known);
		return mt_error_no_memory();
	}
	return mt_recording_writer_put(session->writer, &note);
}

static struct mt_error *read_codes(struct looking *looking)
{
	struct mt_session *session = looking->session;
	struct mt_session_here here = {.session = session, .pid = looking->process->pid};
	struct mt_python_memory memory = {.read = mt_session_read, .context = &here};
	uint64_t last = 0;

	if (!looking->codes.count ||
	    !mt_session_find_python(session, looking->process, looking->process->python_loop,
				    &memory))
		return NULL;
	qsort(looking->codes.items, looking->codes.count, sizeof(*looking->codes.items),
	      by_address);
	mt_array_each (code, &looking->codes) {
		struct mt_python_code said = {0};
		struct mt_error *error = NULL;

		if (*code == last)
			continue;
		last = *code;
		if (mt_python_code_read(&memory, *code, &said)) {
			error = put_text(session, looking->process->pid, &said.function);
			if (!error)
				error = put_text(session, looking->process->pid, &said.file);
		}
		mt_python_code_deinit(&said);
		mt_try(error);
	}
	return NULL;
}

struct mt_error *mt_session_put_python(struct mt_session *session)
{
	const struct mt_engine_live_ops *live = mt_session_engine_ops(session)->live;

	for (struct mt_session_process *process = session->processes; process;
	     process = process->hh.next) {
		struct looking looking = {session, process, {0}};

		if (!process->python_loop || !live || !live->each_value)
			continue;
		struct mt_error *error =
		    live->each_value(session->engine, MT_PYTHON_CODE_NAME, found_code, &looking);
		if (!error)
			error = read_codes(&looking);
		mt_array_deinit(&looking.codes);
		mt_try(error);
	}
	return NULL;
}

void mt_session_forget_python(struct mt_session *session)
{
	struct mt_session_python_text *text, *next;

	HASH_ITER (hh, session->python_texts, text, next) {
		HASH_DEL(session->python_texts, text);
		free(text);
	}
}
