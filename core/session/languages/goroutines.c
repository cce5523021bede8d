/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which goroutine a thread runs is recorded where Go's runtime switches to it, runtime.gogo(), as
 * arguments of mtrace.h's functions are (header.c).  It is called in the way of old: its argument,
 * a struct runtime.gobuf, lies on the stack, and has the struct runtime.g.  The decoder makes
 * tracks of goroutines of it (decode/goroutines.c).  Which one wakes another is recorded in
 * runtime.ready(), who makes one in runtime.newproc(), whose arguments are in registers, and, the
 * new one's number, where runtime.newproc1() returns. */
#include "trace/goroutines.h"
#include "elf/go_version.h"
#include "process/proc.h"
#include "runtime/go.h"
#include "session/languages/go.h"
#include "session/languages/words.h"

#include <stdio.h>
#include <string.h>

#define OPTION "goroutines"

/* The switch by its name among symbols, and by that in the runtime's own table.  DEATH: death.c. */
static const struct mt_session_word_spec table[] = {
    {MT_GOROUTINE_SWITCH ".abi0", MT_WORDS_GOROUTINE, OPTION},
    {MT_GOROUTINE_SWITCH, MT_WORDS_GOROUTINE, OPTION},
    {MT_GOROUTINE_READY, MT_WORDS_WAKE, OPTION},
    {MT_GOROUTINE_MAKE, MT_WORDS_MAKE, OPTION},
    {MT_GOROUTINE_MADE, MT_WORDS_MADE, OPTION},
    {MT_WORDS_PANIC_FUNCTION, MT_WORDS_DEATH, OPTION},
    {MT_WORDS_THROW_FUNCTION, MT_WORDS_DEATH, OPTION},
    {MT_WORDS_FATAL_FUNCTION, MT_WORDS_DEATH, OPTION},
};
#define FUNCTIONS (sizeof(table) / sizeof(table[0]))

/* Of gobuf.g and of g.stack, in all versions (Go's runtime/runtime2.go). */
#define G   "*(long *) (*(long *) ($rsp + 8) + 16)"
#define LOW "*(unsigned long *) (" G ")"
#define HI  "*(unsigned long *) (" G " + 8)"

enum { ID_BYTES = 128 };

static bool can_record(const struct mt_session *session)
{
	const struct mt_engine_break_ops *breaks = mt_session_engine_ops(session)->breaks;

	return breaks && breaks->measures;
}

bool mt_session_numbers_goroutines(struct mt_objfile *objfile)
{
	return mt_go_goid_offset(mt_objfile_go_minor(objfile)) ||
	       mt_objfile_has_debug_info(objfile);
}

struct mt_error *mt_session_see_goroutines(struct mt_session *session,
					   struct mt_session_process *process,
					   struct mt_objfile *objfile)
{
	bool is_new = true;

	if (!can_record(session) || !mt_objfile_is_go(objfile))
		return NULL;
	process->goid_offset = mt_go_goid_offset(mt_objfile_go_minor(objfile));
	if (!process->program)
		process->entry = mt_proc_entry(process->pid);
	process->is_go = true;
	if (!mt_session_numbers_goroutines(objfile))
		mt_log(
		    session->options->engine.log, MT_LOG_WARNING,
		    "goroutines are not told apart: where their numbers lie is known of Go 1.18 to "
		    "1.26, and by debug information, which %s has not",
		    mt_objfile_path(objfile));
	if (session->options->engine.live)
		return NULL;
	mt_array_each (trigger, &session->triggers)
		is_new &= trigger->words != MT_WORDS_GOROUTINE;
	for (size_t i = 0; is_new && i < FUNCTIONS; i++)
		mt_try(mt_session_add_word(session, mt_session_word_trigger(&table[i]), NULL));
	return mt_session_see_all(session, process);
}

bool mt_session_goroutine_word(size_t index, struct mt_session_word_spec *out)
{
	if (index < FUNCTIONS)
		*out = table[index];
	return index < FUNCTIONS;
}

struct mt_error *mt_session_parse_goroutine(const struct mt_session_process *process,
					    const struct mt_expr_frame *frame, enum mt_words words,
					    struct mt_session_value_list *out)
{
	const char *g = words == MT_WORDS_GOROUTINE ? G : "$rax";
	char id[ID_BYTES], start[ID_BYTES];

	if (process->goid_offset)
		snprintf(id, sizeof(id), "*(long *) (%s + %u)", g, process->goid_offset);
	else
		snprintf(id, sizeof(id), "((struct runtime.g *) %s)->goid", g);
	snprintf(start, sizeof(start), "((struct runtime.g *) %s)->startpc", g);
	if (words == MT_WORDS_MAKE) {
		mt_try(mt_session_parse_value(process, frame, MT_GOROUTINE_MADE_START_NAME,
					      "*(long *) $rax", out));
		return mt_session_parse_value(process, frame, MT_GOROUTINE_MADE_AT_NAME,
					      "*(long *) $rsp", out);
	}
	if (words == MT_WORDS_MADE)
		return mt_session_parse_value(process, frame, MT_GOROUTINE_MADE_NAME, id, out);
	if (words == MT_WORDS_WAKE)
		return mt_session_parse_value(process, frame, MT_GOROUTINE_WOKEN_NAME, id, out);
	mt_try(mt_session_parse_value(process, frame, MT_GOROUTINE_HIGH_NAME, HI, out));
	mt_try(mt_session_parse_value(process, frame, MT_GOROUTINE_LOW_NAME, LOW, out));
	/* Without types its function is not known, unless its first call is seen. */
	struct mt_error *error =
	    mt_session_parse_value(process, frame, MT_GOROUTINE_START_NAME, start, out);
	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_error_destroy(error);
	return mt_session_parse_value(process, frame, MT_GOROUTINE_ID_NAME, id, out);
}
