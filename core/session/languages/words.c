/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/languages/words.h"
#include "elf/go_version.h"
#include "elf/header_note.h"
#include "runtime/python.h"
#include "session/languages/go.h"
#include "session/languages/python.h"

#include <string.h>

struct mt_session_trigger mt_session_word_trigger(const struct mt_session_word_spec *spec)
{
	const bool is_return = spec->words == MT_WORDS_MADE;

	return (struct mt_session_trigger){.text = spec->function,
					   .option = spec->option,
					   .words = spec->words,
					   .values = mt_session_word_stops(spec->words)
							 ? MT_VALUES_NONE
						     : is_return ? MT_VALUES_RESULT
								 : MT_VALUES_ARGUMENTS,
					   .spec = {.at_return = is_return}};
}

struct mt_error *mt_session_add_word(struct mt_session *session, struct mt_session_trigger trigger,
				     const char *condition)
{
	trigger.spec.location = strdup(trigger.text);
	trigger.spec.condition = condition ? strdup(condition) : NULL;
	if (trigger.spec.location && (trigger.spec.condition || !condition) &&
	    !mt_array_push(&session->triggers, trigger))
		return NULL;
	mt_session_trigger_deinit(&trigger);
	return mt_error_no_memory();
}

bool mt_session_may_have(enum mt_words words, struct mt_objfile *objfile)
{
	if (words == MT_WORDS_NONE)
		return true;
	if (!objfile)
		return false;
	if (words >= MT_WORDS_PYTHON)
		return mt_python_is_in(objfile);
	if (words < MT_WORDS_GOROUTINE)
		return mt_objfile_has_header_note(objfile);
	if (!mt_objfile_is_go(objfile))
		return false;
	const bool tells_number =
	    words == MT_WORDS_GOROUTINE || words == MT_WORDS_WAKE || words == MT_WORDS_MADE;
	/* Versions that are not known may have arguments elsewhere than in registers. */
	return (words == MT_WORDS_GOROUTINE || mt_objfile_go_minor(objfile)) &&
	       (!tells_number || mt_session_numbers_goroutines(objfile));
}

struct mt_error *mt_session_parse_words(const struct mt_session_process *process,
					const struct mt_expr_frame *frame,
					const struct mt_session_trigger *trigger,
					struct mt_session_value_list *out)
{
	if (trigger->words == MT_WORDS_PYTHON)
		return mt_session_parse_python(process, frame, out);
	if (trigger->words >= MT_WORDS_GOROUTINE)
		return mt_session_parse_goroutine(process, frame, trigger->words, out);
	return mt_session_parse_header(process, frame, trigger, out);
}
