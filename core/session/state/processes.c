/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes and threads that the session has in its care. */
#include "session/state/state.h"

struct mt_session_thread *mt_session_find_thread(const struct mt_session *session, pid_t lwp)
{
	struct mt_session_thread *thread = NULL;

	HASH_FIND_INT(session->threads, &lwp, thread);
	return thread;
}

struct mt_session_process *mt_session_find_process(const struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = NULL;

	HASH_FIND_INT(session->processes, &pid, process);
	return process;
}
