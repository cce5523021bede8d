/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an interpreter's loop, which is a function in C, runs in Python: where the interpreter lies
 * in a process, and what is noted of a call of its loop. */
#include "elf/data_symbol.h"
#include "session/private.h"
#include "trace/python_calls.h"

#include <inttypes.h>
#include <string.h>

/* A record has room for 60,000, of which the arguments take some. */
#define MOST_NOTE_BYTES 58000u

bool mt_session_is_python_loop(const struct mt_function *function)
{
	const size_t length = sizeof(MT_PYTHON_LOOP) - 1;

	return function && function->name && strncmp(function->name, MT_PYTHON_LOOP, length) == 0 &&
	       (!function->name[length] || function->name[length] == '.');
}

/* 0: it has none. */
static uint64_t address_in(const struct mt_mapping *mapping, const char *name)
{
	struct mt_data_symbol symbol;

	return mapping->objfile && mt_objfile_find_data_symbol(mapping->objfile, name, &symbol) &&
		       !symbol.thread_local
		   ? symbol.address + mapping->bias
		   : 0;
}

/* The program: kernel and loader put it below all other files.  NULL: it is not there. */
static const struct mt_mapping *program_of(const struct mt_session_process *process)
{
	for (size_t i = 0; i < mt_space_mapping_count(process->code); i++)
		if (mt_space_mapping(process->code, i)->objfile)
			return mt_space_mapping(process->code, i);
	return NULL;
}

/* A program that refers to a library's variable may have it instead (a copy relocation). */
static uint64_t address_of(const struct mt_session_process *process,
			   const struct mt_mapping *mapping, const char *name)
{
	const struct mt_mapping *program = program_of(process);
	const uint64_t address = address_in(mapping, name);
	const uint64_t copied = address && program && program->objfile != mapping->objfile
				    ? address_in(program, name)
				    : 0;

	return copied ? copied : address;
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
	const struct mt_target *target = session->target;
	const struct mt_mapping *mapping = mt_space_find(process->code, pc);
	uint64_t version = 0;

	if (!mapping)
		return false;
	out->runtime = address_of(process, mapping, "_PyRuntime");
	out->code_type = address_of(process, mapping, "PyCode_Type");
	out->unicode_type = address_of(process, mapping, "PyUnicode_Type");
	out->bytes_type = address_of(process, mapping, "PyBytes_Type");
	const uint64_t version_at = address_of(process, mapping, "Py_Version");
	if (!out->runtime || !out->code_type || !out->unicode_type || !out->bytes_type)
		return false;
	if (version_at && target->ops->read(session->target, process->pid, version_at, &version,
					    sizeof(version)) != sizeof(version))
		return false;
	if (mt_python_is_known(version))
		return true;
	tell_unknown(session, version);
	return false;
}

const struct mt_python_loop *mt_session_python_loop(const struct mt_python_stack *stack,
						    uint64_t low, uint64_t high)
{
	mt_array_each (loop, &stack->loops)
		if (loop->at >= low && loop->at < high)
			return loop;
	return NULL;
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
