/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What programs say of themselves by the functions of include/mtrace.h.  Where functions are
 * patched, the arguments of these are recorded as with --args, and stop nobody: the decoder makes
 * marks, spans and numbers of them (decode/words.c).  An engine that sees each instruction reads
 * them there, as session/mark.c does.  mtrace_snapshot() is a trigger.  All that is set up when the
 * first file comes that has the functions; in a debugger's program, where they are gates, before it
 * goes on (session/live_words.c). */
#include "elf/header_note.h"
#include "process/proc.h"
#include "session/languages/words.h"

#include <string.h>

#define MOST_VALUES 3
#define OPTION      "mtrace.h"

static const struct {
	const char *function;
	enum mt_words words;
	/* What is recorded, and by which name: the arguments, in their order. */
	const char *names[MOST_VALUES], *values[MOST_VALUES];
} table[] = {
    {"mtrace_mark", MT_WORDS_MARK, {MT_WORDS_MARK_NAME}, {"(char *) $rdi"}},
    {"mtrace_mark_literal", MT_WORDS_MARK, {MT_WORDS_MARK_NAME}, {"(void *) $rdi"}},
    {"mtrace_mark_string",
     MT_WORDS_MARK,
     {MT_WORDS_MARK_NAME, MT_WORDS_LENGTH_NAME},
     {"(void *) $rdi", "$rsi"}},
    {"mtrace_begin", MT_WORDS_BEGIN, {MT_WORDS_BEGIN_NAME}, {"(char *) $rdi"}},
    {"mtrace_begin_literal", MT_WORDS_BEGIN, {MT_WORDS_BEGIN_NAME}, {"(void *) $rdi"}},
    {"mtrace_begin_string",
     MT_WORDS_BEGIN,
     {MT_WORDS_BEGIN_NAME, MT_WORDS_LENGTH_NAME},
     {"(void *) $rdi", "$rsi"}},
    {"mtrace_end", MT_WORDS_END, {MT_WORDS_END_NAME}, {"$rsp"}},
    {"mtrace_number_bits",
     MT_WORDS_NUMBER,
     {MT_WORDS_NUMBER_NAME, MT_WORDS_BITS_NAME},
     {"(void *) $rdi", "$rsi"}},
    {"mtrace_number_text",
     MT_WORDS_NUMBER,
     {MT_WORDS_NUMBER_NAME, MT_WORDS_BITS_NAME},
     {"(char *) $rdi", "$rsi"}},
    {"mtrace_number_string",
     MT_WORDS_NUMBER,
     {MT_WORDS_NUMBER_NAME, MT_WORDS_BITS_NAME, MT_WORDS_LENGTH_NAME},
     {"(void *) $rdi", "$rsi", "$rdx"}},
    {MT_WORDS_SNAPSHOT_FUNCTION, MT_WORDS_SNAPSHOT, {NULL}, {NULL}},
    {MT_TRIGGER_INDICATOR, MT_WORDS_INDICATOR, {NULL}, {NULL}},
};
#define FUNCTIONS (sizeof(table) / sizeof(table[0]))

/* The user has asked for the same. */
static bool is_wanted_already(const struct mt_session *session, size_t index)
{
	mt_array_each (trigger, &session->triggers)
		if ((trigger->values || trigger->mark) !=
			mt_session_word_stops(table[index].words) &&
		    strcmp(trigger->spec.location, table[index].function) == 0)
			return true;
	return false;
}

static struct mt_error *add(struct mt_session *session, size_t index, bool by_values)
{
	const struct mt_session_word_spec spec = {table[index].function, table[index].words,
						  OPTION};
	struct mt_session_trigger trigger = mt_session_word_trigger(&spec);

	if (!by_values)
		trigger.values = MT_VALUES_NONE;
	trigger.mark = !trigger.values && !mt_session_word_stops(trigger.words);
	return mt_session_add_word(session, trigger, NULL);
}

static struct mt_error *add_all(struct mt_session *session)
{
	const struct mt_engine_break_ops *breaks = mt_session_engine_ops(session)->breaks;
	const bool can_record = breaks && breaks->measures;
	const bool wants_marks = mt_tracks_want_marks(session->options->events);

	session->has_header = true;
	if (breaks && !can_record)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "the engine %s records no marks, spans and numbers of mtrace.h (--engine "
		       "calls does)",
		       mt_session_engine_ops(session)->name);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		if ((breaks && !can_record && !mt_session_word_stops(table[i].words)) ||
		    is_wanted_already(session, i))
			continue;
		mt_try(add(session, i,
			   can_record && !(wants_marks && table[i].words == MT_WORDS_MARK)));
	}
	return NULL;
}

struct mt_error *mt_session_see_header(struct mt_session *session,
				       struct mt_session_process *process,
				       const struct mt_objfile *objfile)
{
	if (!mt_objfile_has_header_note(objfile))
		return NULL;
	process->has_header = true;
	if (session->options->engine.live)
		return NULL;
	if (!session->has_header)
		mt_try(add_all(session));
	if (!process->program)
		process->entry = mt_proc_entry(process->pid);
	return mt_session_see_all(session, process);
}

uint64_t mt_session_words_length(const struct mt_session_trigger *trigger,
				 const struct user_regs_struct *registers)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		for (size_t j = 0; j < MOST_VALUES && table[i].names[j]; j++)
			if (table[i].function == trigger->text &&
			    strcmp(table[i].names[j], MT_WORDS_LENGTH_NAME) == 0)
				return j == 1 ? registers->rsi : registers->rdx;
	return UINT64_MAX;
}

struct mt_error *mt_session_parse_header(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 const struct mt_session_trigger *trigger,
					 struct mt_session_value_list *out)
{
	struct mt_error *error = NULL;

	for (size_t i = 0; i < FUNCTIONS; i++)
		for (size_t j = 0; j < MOST_VALUES && table[i].names[j] && !error &&
				   table[i].function == trigger->text;
		     j++)
			error = mt_session_parse_value(process, frame, table[i].names[j],
						       table[i].values[j], out);
	return error;
}

bool mt_session_header_word(size_t index, struct mt_session_word_spec *out)
{
	if (index >= FUNCTIONS)
		return false;
	*out = (struct mt_session_word_spec){table[index].function, table[index].words, OPTION};
	return true;
}
