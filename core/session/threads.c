/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes and threads come into the session's care, and leave it. */
#include "session/private.h"

#include <stdlib.h>

void mt_session_remove_thread(struct mt_session *session, struct mt_session_thread *thread)
{
	mt_session_engine_ops(session)->remove_thread(session->engine, thread->lwp);
	mt_tracks_remove_thread(session->tracks, thread->lwp);
	mt_event_set_deinit(&thread->watched);
	HASH_DEL(session->threads, thread);
	free(thread);
}

void mt_session_remove_process(struct mt_session *session, struct mt_session_process *process)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process)
			mt_session_remove_thread(session, thread);
	HASH_DEL(session->processes, process);
	mt_session_forget_maps(process);
	mt_array_deinit(&process->maps);
	mt_array_deinit(&process->replaced);
	mt_session_forget_sites(process);
	mt_session_forget_objects(process);
	mt_array_deinit(&process->sites);
	mt_array_deinit(&process->watch_sites);
	mt_array_deinit(&process->probes);
	free(process);
}

struct mt_error *mt_session_add_process(struct mt_session *session, pid_t pid,
					struct mt_session_process **out)
{
	struct mt_session_process *process = calloc(1, sizeof(*process));

	if (process) {
		process->pid = pid;
		HASH_ADD_INT(session->processes, pid, process);
	}
	*out = mt_session_find_process(session, pid);
	if (*out)
		return NULL;
	free(process);
	return mt_error_no_memory();
}

static void set_number(struct mt_session *session, struct mt_session_thread *thread,
		       unsigned number)
{
	const struct mt_engine_break_ops *breaks = mt_session_engine_ops(session)->breaks;

	thread->number = number;
	if (breaks && breaks->number)
		breaks->number(session->engine, thread->lwp, number);
}

void mt_session_number_thread(struct mt_session *session, pid_t lwp, unsigned number)
{
	struct mt_session_thread *thread = mt_session_find_thread(session, lwp);

	if (thread)
		set_number(session, thread, number);
}

void mt_session_count_anew(struct mt_session *session, struct mt_session_thread *thread)
{
	if (!session->target->run)
		return;
	thread->process->last_thread = 1;
	set_number(session, thread, 1);
}

struct mt_error *mt_session_add_thread(struct mt_session *session,
				       struct mt_session_process *process, pid_t lwp, pid_t parent,
				       struct mt_session_thread **out)
{
	struct mt_session_thread *thread = calloc(1, sizeof(*thread));

	if (thread) {
		thread->lwp = lwp;
		thread->process = process;
		HASH_ADD_INT(session->threads, lwp, thread);
	}
	*out = mt_session_find_thread(session, lwp);
	if (!*out) {
		free(thread);
		return mt_error_no_memory();
	}
	mt_tracks_add_thread(session->tracks, lwp);
	mt_try(
	    mt_session_engine_ops(session)->add_thread(session->engine, process->pid, lwp, parent));
	if (session->target->run)
		set_number(session, *out, ++process->last_thread);
	return mt_session_watch_thread(session, *out);
}

struct mt_error *mt_session_go_on(struct mt_session *session, pid_t lwp, int signal)
{
	struct mt_error *error =
	    mt_session_engine_ops(session)->resume(session->engine, lwp, signal);

	/* It died meanwhile: its end will be reported. */
	if (error && mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		error = NULL;
	}
	return error;
}
