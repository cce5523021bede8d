/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a debugger's program is recorded to say without being asked (languages/words.h).  These are
 * the engine's gates, which stop nobody; where the program asks for a snapshot, or dies, the
 * debugger has a trigger. */
#include "elf/go_version.h"
#include "elf/header_note.h"
#include "session/languages/go.h"
#include "session/languages/python.h"
#include "session/languages/words.h"
#include "session/private.h"

/* Behind those of the user's values and triggers: a number for all functions that say the same. */
#define FIRST_NUMBER 0xf0000000u

struct finding {
	struct mt_session_process *process;
	const struct mt_mapping *mapping;
	struct mt_session_word_spec spec;
	bool failed;
};

static void found_word(void *context, uint64_t address, const char *name)
{
	struct finding *finding = context;
	const struct mt_session_word word = {address + finding->mapping->bias, finding->spec};

	(void)name;
	mt_array_each (other, &finding->process->words)
		if (other->address == word.address)
			return;
	if (word.address >= finding->mapping->start && word.address < finding->mapping->end &&
	    mt_array_push(&finding->process->words, word))
		finding->failed = true;
}

/* Most files have neither. */
static void find_in(struct finding *finding, struct mt_objfile *objfile)
{
	struct mt_session_word_spec *spec = &finding->spec;

	if (mt_objfile_has_header_note(objfile))
		for (size_t i = 0; mt_session_header_word(i, spec); i++)
			mt_objfile_find_name(objfile, spec->function, found_word, finding);
	if (mt_objfile_is_go(objfile))
		for (size_t i = 0; mt_session_goroutine_word(i, spec); i++)
			if (mt_session_may_have(spec->words, objfile))
				mt_objfile_find_name(objfile, spec->function, found_word, finding);
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
		if (finding.mapping->objfile)
			find_in(&finding, finding.mapping->objfile);
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
			       const struct mt_session_trigger *trigger, uint64_t address)
{
	if (has_values(process, address))
		return NULL;
	return unless_missed(mt_session_record_values(
	    session, process, trigger, FIRST_NUMBER + (uint32_t)trigger->words, address));
}

static struct mt_error *set(struct mt_session *session, struct mt_session_process *process,
			    const struct mt_session_word *word, mt_session_asker_found *found,
			    void *context)
{
	const struct mt_session_trigger trigger = mt_session_word_trigger(&word->spec);

	return trigger.values
		   ? record(session, process, &trigger, word->address)
		   : unless_missed(found(context, word->spec.function, NULL, word->address));
}

struct mt_error *mt_session_words_set(struct mt_session *session, pid_t pid,
				      mt_session_asker_found *found, void *context)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	if (!process || !mt_session_engine_ops(session)->gates ||
	    (!process->has_header && !process->is_go && !process->python_loop))
		return NULL;
	mt_try(mt_session_see_all(session, process));
	if (process->python_loop) {
		mt_try(record(session, process, &mt_session_python_calls, process->python_loop));
		mt_try(
		    unless_missed(mt_session_guard_evaluators(session, process, found, context)));
	}
	mt_try(find_words(process));
	mt_array_each (word, &process->words)
		mt_try(set(session, process, word, found, context));
	return NULL;
}

struct mt_error *mt_session_check_python(struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	return process ? mt_session_check_evaluators(session, process) : NULL;
}
