/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files that a JIT compiler has registered for GDB go into the recording when a snapshot is
 * taken, and when the process ends: there is one more moment at which they count than is known of
 * each, so with it goes when they were looked at before. */
#include "session/private.h"

#include <string.h>

struct putting {
	struct mt_session *session;
	const struct mt_session_process *process;
	uint64_t time_ns;
};

static struct mt_error *put(const struct putting *putting, enum mt_recording_note note,
			    uint32_t number, uint64_t address, const uint8_t *raw, size_t raw_size)
{
	const struct mt_sideband record = {
	    .time_ns = putting->time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = putting->process->pid,
	    .tid = putting->process->pid,
	    .cpu = -1,
	    .sample = {.event = note,
		       .address = address,
		       .weight = number,
		       .raw = raw,
		       .raw_size = (uint32_t)raw_size},
	};

	return mt_recording_writer_put(putting->session->writer, &record);
}

static struct mt_error *came(void *context, uint32_t number, const uint8_t *bytes, size_t size)
{
	const struct putting *putting = context;
	uint8_t raw[sizeof(struct mt_object_piece) + MT_OBJECT_PIECE_BYTES];

	for (size_t at = 0; at < size; at += MT_OBJECT_PIECE_BYTES) {
		const struct mt_object_piece piece = {.since_ns = putting->process->objects_ns,
						      .size = size,
						      .bytes = size - at < MT_OBJECT_PIECE_BYTES
								   ? (uint32_t)(size - at)
								   : MT_OBJECT_PIECE_BYTES};

		memcpy(raw, &piece, sizeof(piece));
		memcpy(raw + sizeof(piece), bytes + at, piece.bytes);
		mt_try(put(putting, MT_NOTE_OBJECT, number, at, raw, sizeof(piece) + piece.bytes));
	}
	return NULL;
}

static struct mt_error *went(void *context, uint32_t number)
{
	const struct putting *putting = context;

	return put(putting, MT_NOTE_OBJECT_GONE, number, putting->process->objects_ns, NULL, 0);
}

struct mt_error *mt_session_see_objects(struct mt_session_process *process,
					struct mt_objfile *objfile, const struct mt_map *map)
{
	uint64_t address;

	if (!mt_objfile_offset_to_address(objfile, map->offset, &address))
		return NULL;
	if (!process->objects)
		mt_try(mt_jit_list_create(&process->objects));
	return mt_jit_list_add_file(process->objects, objfile, map->start - address);
}

struct mt_error *mt_session_put_objects(struct mt_session *session)
{
	for (struct mt_session_process *process = session->processes; process;
	     process = process->hh.next) {
		struct putting putting = {session, process, mt_session_now(session)};
		const struct mt_jit_changes changes = {came, went, &putting,
						       session->options->engine.log};

		if (!process->objects)
			continue;
		mt_try(mt_jit_list_look(process->objects, session->target, process->pid, &changes));
		process->objects_ns = putting.time_ns;
	}
	return NULL;
}

void mt_session_forget_objects(struct mt_session_process *process)
{
	mt_jit_list_destroy(process->objects);
	process->objects = NULL;
	process->objects_ns = 0;
}
