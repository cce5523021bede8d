/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a session knows of the processes that it records: who is in its care, which code they have,
 * and what expressions mean there. */
#ifndef MT_SESSION_STATE_H
#define MT_SESSION_STATE_H

#include "session/state/types.h"

struct mt_expr_frame;

static inline const struct mt_target_ops *mt_session_target_ops(const struct mt_session *session)
{
	return session->target->ops;
}

static inline const struct mt_engine_ops *mt_session_engine_ops(const struct mt_session *session)
{
	return session->engine->ops;
}

/* Triggers are debug registers. */
static inline bool mt_session_breaks_in_registers(const struct mt_session *session)
{
	return session->engine->ops->breaks && session->engine->ops->breaks->in_registers;
}

static inline uint64_t mt_session_now(const struct mt_session *session)
{
	return mt_tsc_to_ns(&session->conversion, mt_clock_tsc());
}

/* processes.c */
/* NULL: it is not in our care. */
struct mt_session_thread *mt_session_find_thread(const struct mt_session *session, pid_t lwp);
struct mt_session_process *mt_session_find_process(const struct mt_session *session, pid_t pid);

/* triggers.c */
void mt_session_trigger_deinit(struct mt_session_trigger *trigger);

/* frame.c */
/* A thread at a place, or with LWP 0 the place alone. */
struct mt_session_here {
	const struct mt_session *session;
	pid_t pid, lwp;
	uint64_t pc;
};
/* Of the process of CONTEXT, which is one.  Returns how many bytes could be read. */
size_t mt_session_read(void *context, uint64_t address, void *buffer, size_t size);
/* HERE is lent to it. */
struct mt_expr_frame mt_session_frame_of(struct mt_session_here *here, bool is_entry,
					 bool at_return);

/* code.c */
/* A mapping of the process that conditions may be about. */
struct mt_error *mt_session_see_code(struct mt_session *session, struct mt_session_process *process,
				     const struct mt_mapping *mapping);
/* The pool of the session's spaces is there from now on.  Errors: NO_MEMORY. */
struct mt_error *mt_session_need_pool(struct mt_session *session);
/* The libraries that the program begins with are there. */
bool mt_session_has_begun(struct mt_session *session, struct mt_session_process *process);
/* All that is mapped in a live session's process is known, for conditions and values. */
struct mt_error *mt_session_see_all(struct mt_session *session, struct mt_session_process *process);

/* values.c */
/* TEXT alone, by NAME.  Errors: mt_expr_parse()'s; NO_MEMORY. */
struct mt_error *mt_session_parse_value(const struct mt_session_process *process,
					const struct mt_expr_frame *frame, const char *name,
					const char *text, struct mt_session_value_list *out);
void mt_session_forget_values(struct mt_session_value_list *list);

#endif
