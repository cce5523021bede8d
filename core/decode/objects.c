/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object file was looked for at some moments (session/objects.c).  So where it was found it may
 * have been there since the moment before, and where it was missed it may have been there until
 * then.  Of two that may have been at the same place the later one counts: it is there when a
 * snapshot is taken. */
#include "base/search.h"
#include "decode/processes_private.h"

#include "perf/recording_writer.h"

#include <string.h>

static struct mt_process_object *object_of(struct mt_process *process, uint64_t number)
{
	const size_t at = mt_partition_point(i, process->first_object, process->objects.count,
					     process->objects.items[i].number < number);

	return at < process->objects.count && process->objects.items[at].number == number
		   ? &process->objects.items[at]
		   : NULL;
}

static struct mt_error *add(struct mt_process *process, const struct mt_sideband *record,
			    const struct mt_object_piece *piece)
{
	const struct mt_process_object object = {
	    .number = record->sample.weight,
	    .since_ns = piece->since_ns,
	    .until_ns = UINT64_MAX,
	    .seen_ns = UINT64_MAX,
	    .size = piece->size,
	};

	/* Numbers begin anew with another recording's process. */
	if (process->objects.count > process->first_object &&
	    mt_array_last(&process->objects)->number >= object.number)
		mt_process_end_objects(process, record->time_ns);
	return mt_array_push(&process->objects, object) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_process_note_object(struct mt_process *process,
					const struct mt_sideband *record)
{
	struct mt_object_piece piece;

	if (!record->sample.raw || record->sample.raw_size < sizeof(piece))
		return NULL;
	memcpy(&piece, record->sample.raw, sizeof(piece));
	if (!piece.bytes || piece.bytes > record->sample.raw_size - sizeof(piece))
		return NULL;
	if (record->sample.address == 0)
		mt_try(add(process, record, &piece));
	if (!process->objects.count)
		return NULL;
	struct mt_process_object *object = mt_array_last(&process->objects);
	if (object->number != record->sample.weight ||
	    object->bytes.count != record->sample.address ||
	    piece.bytes > object->size - object->bytes.count)
		return NULL;
	if (mt_array_reserve(&object->bytes, object->bytes.count + piece.bytes))
		return mt_error_no_memory();
	memcpy(object->bytes.items + object->bytes.count, record->sample.raw + sizeof(piece),
	       piece.bytes);
	object->bytes.count += piece.bytes;
	return NULL;
}

struct mt_error *mt_process_note_object_gone(struct mt_process *process,
					     const struct mt_sideband *record)
{
	struct mt_process_object *object = object_of(process, record->sample.weight);

	if (object) {
		object->until_ns = record->time_ns;
		object->seen_ns = record->sample.address;
	}
	return NULL;
}

void mt_process_end_objects(struct mt_process *process, uint64_t time_ns)
{
	for (size_t i = process->first_object; i < process->objects.count; i++)
		if (process->objects.items[i].until_ns > time_ns)
			process->objects.items[i].until_ns = time_ns;
	process->first_object = process->objects.count;
}

static struct mt_error *place(struct mt_epoch *epoch, uint64_t end_ns,
			      const struct mt_process *process)
{
	mt_array_each (object, &process->objects)
		if (object->bytes.count == object->size && object->since_ns < end_ns &&
		    object->until_ns > epoch->begin_ns)
			mt_try(mt_space_add_object(epoch->space, object->bytes.items,
						   object->bytes.count));
	return NULL;
}

struct mt_error *mt_process_place_objects(struct mt_processes *processes,
					  struct mt_process *process)
{
	mt_array_each (object, &process->objects) {
		if (object->seen_ns != UINT64_MAX)
			mt_try(mt_process_split(processes, process, object->seen_ns));
		if (object->until_ns != UINT64_MAX)
			mt_try(mt_process_split(processes, process, object->until_ns));
	}
	for (size_t i = 0; i < process->epochs.count; i++)
		mt_try(place(process->epochs.items[i],
			     i + 1 < process->epochs.count ? process->epochs.items[i + 1]->begin_ns
							   : UINT64_MAX,
			     process));
	return NULL;
}

void mt_process_forget_objects(struct mt_process *process)
{
	mt_array_each (object, &process->objects)
		mt_array_deinit(&object->bytes);
	mt_array_deinit(&process->objects);
}
