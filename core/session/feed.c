/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A session whose front end has a loop of its own, and in which snapshots are copies. */
#include "process/proc.h"
#include "session/languages/python.h"
#include "session/private.h"

struct mt_error *mt_session_hit(struct mt_session *session, pid_t lwp,
				const struct mt_session_hit *hit)
{
	const struct mt_session_thread *thread = mt_session_find_thread(session, lwp);

	session->result.hits++;
	if (!thread)
		return NULL;
	return mt_session_put_hit(session, thread, hit, mt_session_now(session));
}

struct mt_error *mt_session_hide(struct mt_session *session, pid_t pid)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->hide(session->engine, pid) : NULL;
}

struct mt_error *mt_session_show(struct mt_session *session, pid_t pid,
				 const struct mt_engine_alone *alone)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->show(session->engine, pid, alone) : NULL;
}

bool mt_session_original(struct mt_session *session, pid_t pid, uint64_t address, uint8_t *bytes,
			 size_t size)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text && text->original(session->engine, pid, address, bytes, size);
}

struct mt_error *mt_session_unmask(struct mt_session *session, pid_t pid)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->unmask(session->engine, pid) : NULL;
}

struct mt_error *mt_session_give_way(struct mt_session *session, pid_t pid, uint64_t address)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->give_way(session->engine, pid, address) : NULL;
}

struct mt_error *mt_session_mend_copy(struct mt_session *session, pid_t lwp, uint64_t fault,
				      bool *is_mended)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	*is_mended = false;
	return text ? text->mend_copy(session->engine, lwp, fault, is_mended) : NULL;
}

struct mt_error *mt_session_step_through(struct mt_session *session, pid_t lwp)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->step_through(session->engine, lwp) : NULL;
}

struct mt_error *mt_session_disown(struct mt_session *session, const struct mt_stop *stop)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;
	const struct mt_session_process *process = mt_session_find_process(session, stop->pid);

	if (process && mt_proc_share_memory(stop->pid, stop->child) == 0)
		mt_session_clear_evaluators(session, process, stop->child);
	return text ? text->disown(session->engine, stop) : NULL;
}

struct mt_error *mt_session_discard(struct mt_session *session, pid_t lwp)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->discard(session->engine, lwp) : NULL;
}

const uint64_t *mt_session_missed(struct mt_session *session, pid_t pid, size_t *count)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	*count = 0;
	return text ? text->missed(session->engine, pid, count) : NULL;
}

struct mt_error *mt_session_record_missed(struct mt_session *session, pid_t lwp)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text ? text->record_missed(session->engine, lwp) : NULL;
}

struct mt_error *mt_session_clean(struct mt_session *session, pid_t parent, pid_t child)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;
	const struct mt_session_process *process = mt_session_find_process(session, parent);

	if (process)
		mt_session_clear_evaluators(session, process, child);
	return text ? text->clean(session->engine, parent, child) : NULL;
}

struct mt_error *mt_session_drain(struct mt_session *session)
{
	const struct mt_engine_live_ops *live = mt_session_engine_ops(session)->live;

	return live && live->drain ? live->drain(session->engine, session->writer) : NULL;
}

void mt_session_tick(struct mt_session *session)
{
	const struct mt_engine_live_ops *live = mt_session_engine_ops(session)->live;

	if (live && live->tick)
		live->tick(session->engine);
}

struct mt_error *mt_session_each_function(struct mt_session *session, pid_t pid,
					  mt_engine_function_found *found, void *context)
{
	const struct mt_engine_ops *ops = mt_session_engine_ops(session);

	if (ops->text && ops->text->each_function)
		return ops->text->each_function(session->engine, pid, found, context);
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "the engine %s leaves no function out: it records every branch",
			    ops->name);
}

bool mt_session_look(struct mt_session *session, pid_t lwp, struct mt_engine_ring *ring)
{
	const struct mt_engine_live_ops *live = mt_session_engine_ops(session)->live;

	return live && live->look(session->engine, lwp, ring);
}

struct mt_error *mt_session_reap(struct mt_session *session)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next) {
		const struct mt_stop end = {
		    .kind = MT_STOP_EXITED, .pid = thread->process->pid, .lwp = thread->lwp};

		if (thread->lwp != thread->process->pid && mt_proc_has_ended(thread->lwp))
			mt_try(mt_session_take(session, &end));
	}
	return NULL;
}

struct mt_error *mt_session_end_standing(struct mt_session *session, pid_t pid, int status)
{
	struct mt_session_thread *thread, *next;
	struct mt_stop end = {.kind = MT_STOP_EXITED, .pid = pid, .lwp = pid, .status = status};

	HASH_ITER (hh, session->threads, thread, next) {
		end.lwp = thread->lwp;
		if (thread->process->pid == pid && thread->lwp != pid)
			mt_try(mt_session_take(session, &end));
	}
	end.lwp = pid;
	return mt_session_take(session, &end);
}

struct mt_error *mt_session_copy(struct mt_session *session, const char *path, uint32_t number,
				 pid_t standing, bool is_dying, struct mt_recording **out)
{
	struct mt_recording_writer *writer = NULL;

	*out = NULL;
	mt_try(mt_session_put_names(session));
	mt_try(mt_session_drain(session));
	mt_try(mt_recording_writer_copy(session->writer, path, &writer));
	struct mt_error *error =
	    standing ? mt_session_put_open_calls(session, standing, is_dying, number, writer)
		     : NULL;
	if (!error)
		error = mt_session_read_rings(session, 0, number, writer);
	if (!error)
		error = mt_recording_writer_finish(writer);
	if (!error)
		error = mt_recording_writer_reopen(writer, out);
	mt_recording_writer_destroy(writer);
	return error;
}
