/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program is recorded to say without being asked: by the functions of include/mtrace.h, and
 * by those where runtimes of languages do something that matters (go.h, python.h).  Each kind has a
 * number (trace/words.h). */
#ifndef MT_SESSION_LANGUAGES_WORDS_H
#define MT_SESSION_LANGUAGES_WORDS_H

#include "session/state/state.h"

/* words.c */
/* A thread stops where that is said; else it is recorded. */
static inline bool mt_session_word_stops(enum mt_words words)
{
	return words == MT_WORDS_SNAPSHOT || words == MT_WORDS_INDICATOR || words == MT_WORDS_DEATH;
}
/* Of the function that SPEC names, but for where. */
struct mt_session_trigger mt_session_word_trigger(const struct mt_session_word_spec *spec);
/* TRIGGER is one of the session's from now on, at the function that is its text, and with a
 * CONDITION (NULL: none).  Errors: NO_MEMORY. */
struct mt_error *mt_session_add_word(struct mt_session *session, struct mt_session_trigger trigger,
				     const char *condition);
/* Whether a file, NULL if there is none, can have a function with these WORDS: those that nobody
 * asked for are in few. */
bool mt_session_may_have(enum mt_words words, struct mt_objfile *objfile);
/* What is recorded of TRIGGER's function, which is one of them, at FRAME. */
struct mt_error *mt_session_parse_words(const struct mt_session_process *process,
					const struct mt_expr_frame *frame,
					const struct mt_session_trigger *trigger,
					struct mt_session_value_list *out);

/* header.c */
/* A file was mapped: if it has the functions of mtrace.h, they are triggers from now on, or in a
 * debugger's program will have gates.  Errors: NO_MEMORY. */
struct mt_error *mt_session_see_header(struct mt_session *session,
				       struct mt_session_process *process,
				       const struct mt_objfile *objfile);
/* The functions of mtrace.h.  False: there are no more. */
bool mt_session_header_word(size_t index, struct mt_session_word_spec *out);
/* The length of the text that is said there; UINT64_MAX: it has a NUL at its end. */
uint64_t mt_session_words_length(const struct mt_session_trigger *trigger,
				 const struct user_regs_struct *registers);
/* What is recorded of TRIGGER's function, if that is one of them. */
struct mt_error *mt_session_parse_header(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 const struct mt_session_trigger *trigger,
					 struct mt_session_value_list *out);

#endif
