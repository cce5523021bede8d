/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots add up, and whoever records for hours does not look: the recording says how large it
 * is, and ends before the file system is full. */
#include "session/private.h"

#define FIRST_TOLD (1ull << 30)
#define MIB        (1u << 20)

struct mt_error *mt_session_find_room(struct mt_session *session)
{
	uint64_t free_bytes = 0;

	session->told_bytes = FIRST_TOLD;
	session->most_bytes = session->options->most_bytes;
	if (session->most_bytes)
		return NULL;
	mt_try(mt_recording_writer_free_bytes(session->writer, &free_bytes));
	session->most_bytes = free_bytes / 2;
	return NULL;
}

bool mt_session_has_room(struct mt_session *session)
{
	const uint64_t bytes = mt_recording_writer_bytes(session->writer);

	if (bytes < session->most_bytes)
		return true;
	if (!session->left_out++)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "the recording takes %llu MiB, and may take no more than %llu: only the "
		       "snapshot of the end, or of a crash, is taken from here on (--space=SIZE "
		       "sets the limit)",
		       (unsigned long long)(bytes / MIB),
		       (unsigned long long)(session->most_bytes / MIB));
	return false;
}

void mt_session_tell_room(struct mt_session *session)
{
	const char *place = mt_session_kept(session);

	if (mt_recording_writer_bytes(session->writer) < session->told_bytes)
		return;
	while (mt_recording_writer_bytes(session->writer) >= session->told_bytes)
		session->told_bytes *= 2;
	mt_log(session->options->engine.log, MT_LOG_INFO, "the recording takes %llu MiB by now%s%s",
	       (unsigned long long)(mt_recording_writer_bytes(session->writer) / MIB),
	       place ? ", in " : "", place ? place : "");
}
