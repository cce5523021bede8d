/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is recorded of Go's runtime. */
#ifndef MT_SESSION_LANGUAGES_GO_H
#define MT_SESSION_LANGUAGES_GO_H

#include "session/state/state.h"

/* goroutines.c */
/* It is known where a goroutine's number lies: by the version of Go, or by types. */
bool mt_session_numbers_goroutines(struct mt_objfile *objfile);
/* A file was mapped: if it is a program of Go's, its switches to goroutines are recorded from now
 * on.  Errors: NO_MEMORY. */
struct mt_error *mt_session_see_goroutines(struct mt_session *session,
					   struct mt_session_process *process,
					   struct mt_objfile *objfile);
/* The functions where that is done, and where it ends.  False: there are no more. */
bool mt_session_goroutine_word(size_t index, struct mt_session_word_spec *out);
/* What is recorded of such a switch, or of a WAKE, MAKE, MADE. */
struct mt_error *mt_session_parse_goroutine(const struct mt_session_process *process,
					    const struct mt_expr_frame *frame, enum mt_words words,
					    struct mt_session_value_list *out);

/* death.c */
/* THREAD, which stands still, has come to the ENTRY of FUNCTION, by which the runtime ends the
 * program: appends why, as the runtime says it.  *GOROUTINE is to blame; 0: none is.  Errors: the
 * target's; NO_MEMORY. */
struct mt_error *mt_session_tell_death(const struct mt_session *session,
				       const struct mt_session_thread *thread, const char *function,
				       uint64_t entry, struct mt_str *out, uint64_t *goroutine);

#endif
