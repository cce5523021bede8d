/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What programs say of themselves by the functions of include/mtrace.h.  Where functions are
 * patched, the arguments of these are recorded as with --args, and stop nobody: the decoder makes
 * marks, spans and numbers of them (decode/words.c).  An engine that sees each instruction reads
 * them there, as mark.c does.  mtrace_snapshot() is a trigger.  All that is set up when the first
 * file comes that has the functions; in a debugger's program, where they are gates, before it goes
 * on. */
#include "elf/header_note.h"
#include "process/proc.h"
#include "session/private.h"
#include "trace/words.h"

#include "values/user.h"

#include <string.h>

#define MOST_VALUES 3

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

static bool is_snapshot(enum mt_words words)
{
	return words >= MT_WORDS_SNAPSHOT;
}

/* The user has asked for the same. */
static bool is_wanted_already(const struct mt_session *session, size_t index)
{
	mt_array_each (trigger, &session->triggers)
		if ((trigger->values || trigger->mark) != is_snapshot(table[index].words) &&
		    strcmp(trigger->spec.location, table[index].function) == 0)
			return true;
	return false;
}

static struct mt_error *add(struct mt_session *session, size_t index, bool by_values)
{
	struct mt_session_trigger trigger = {
	    .text = table[index].function,
	    .option = "mtrace.h",
	    .words = table[index].words,
	    .values = by_values && table[index].names[0] ? MT_VALUES_ARGUMENTS : MT_VALUES_NONE,
	};

	trigger.mark = !trigger.values && !is_snapshot(trigger.words);
	trigger.spec.location = strdup(table[index].function);
	if (trigger.spec.location && !mt_array_push(&session->triggers, trigger))
		return NULL;
	mt_session_trigger_deinit(&trigger);
	return mt_error_no_memory();
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
		if ((breaks && !can_record && !is_snapshot(table[i].words)) ||
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

struct mt_error *mt_session_parse_words(const struct mt_session_process *process,
					const struct mt_expr_frame *frame,
					const struct mt_session_trigger *trigger,
					struct mt_session_value_list *out)
{
	struct mt_error *error = NULL;

	if (trigger->words == MT_WORDS_PYTHON)
		return mt_session_parse_python(process, frame, out);
	if (trigger->words >= MT_WORDS_GOROUTINE)
		return mt_session_parse_goroutine(process, frame, trigger->words, out);
	for (size_t i = 0; i < FUNCTIONS; i++)
		for (size_t j = 0; j < MOST_VALUES && table[i].names[j] && !error &&
				   table[i].function == trigger->text;
		     j++)
			error = mt_session_parse_value(process, frame, table[i].names[j],
						       table[i].values[j], out);
	return error;
}

/* ---- In a debugger's program ---- */

/* Behind those of the user's values and triggers. */
#define FIRST_NUMBER 0xf0000000u

struct finding {
	struct mt_session_process *process;
	const struct mt_mapping *mapping;
	size_t function;
	bool failed;
};

static void found_word(void *context, uint64_t address, const char *name)
{
	struct finding *finding = context;
	const struct mt_session_word word = {address + finding->mapping->bias, finding->function};

	(void)name;
	if (word.address >= finding->mapping->start && word.address < finding->mapping->end &&
	    mt_array_push(&finding->process->words, word))
		finding->failed = true;
}

/* Each time that files have come. */
static struct mt_error *find_words(struct mt_session_process *process)
{
	const size_t count = mt_space_mapping_count(process->code);
	struct finding finding = {.process = process};

	if (process->words_mappings == count)
		return NULL;
	process->words.count = 0;
	for (size_t i = 0; i < count; i++) {
		finding.mapping = mt_space_mapping(process->code, i);
		if (!finding.mapping->objfile ||
		    !mt_objfile_has_header_note(finding.mapping->objfile))
			continue;
		for (finding.function = 0; finding.function < FUNCTIONS; finding.function++)
			mt_objfile_find_name(finding.mapping->objfile,
					     table[finding.function].function, found_word,
					     &finding);
	}
	if (finding.failed)
		return mt_error_no_memory();
	process->words_mappings = count;
	return NULL;
}

/* The user has asked for values there. */
static bool has_values(const struct mt_session_process *process, uint64_t address)
{
	mt_array_each (gate, &process->gates)
		if (gate->gate.address == address && gate->is_wanted && gate->values.count &&
		    gate->gate.trigger < FIRST_NUMBER)
			return true;
	return false;
}

/* Where it cannot be, or not yet, nobody misses it. */
static struct mt_error *unless_missed(struct mt_error *error)
{
	const enum mt_error_code code = error ? mt_error_code(error) : MT_ERROR_BUSY;

	if (code != MT_ERROR_BUSY && code != MT_ERROR_NOT_FOUND && code != MT_ERROR_UNSUPPORTED)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *record(struct mt_session *session, struct mt_session_process *process,
			       const struct mt_session_trigger *trigger, size_t index,
			       uint64_t address)
{
	if (has_values(process, address))
		return NULL;
	return unless_missed(mt_session_record_values(session, process, trigger,
						      FIRST_NUMBER + (uint32_t)index, address));
}

static struct mt_error *record_word(struct mt_session *session, struct mt_session_process *process,
				    const struct mt_session_word *word)
{
	const struct mt_session_trigger trigger = {.text = table[word->function].function,
						   .option = "mtrace.h",
						   .words = table[word->function].words,
						   .values = MT_VALUES_ARGUMENTS};

	return record(session, process, &trigger, word->function, word->address);
}

struct mt_error *mt_session_words_set(struct mt_session *session, pid_t pid,
				      mt_session_asker_found *found, void *context)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	if (!process || !mt_session_engine_ops(session)->gates ||
	    (!process->has_header && !process->python_loop))
		return NULL;
	mt_try(mt_session_see_all(session, process));
	if (process->python_loop) {
		mt_try(record(session, process, &mt_session_python_calls, FUNCTIONS,
			      process->python_loop));
		mt_try(
		    unless_missed(mt_session_guard_evaluators(session, process, found, context)));
	}
	mt_try(find_words(process));
	mt_array_each (word, &process->words)
		mt_try(is_snapshot(table[word->function].words)
			   ? unless_missed(found(context, table[word->function].function, NULL,
						 word->address))
			   : record_word(session, process, word));
	return NULL;
}
