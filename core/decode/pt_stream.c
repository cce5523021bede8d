/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/pt_stream.h"

#include "perf/format.h"
#include "perf/recording_writer.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* perf record gives a program that it starts a ring on each CPU: AUXTRACE names both then, but the
 * ring is not the thread's, since threads that it makes write there too. */
static int32_t owner_of(const struct mt_auxtrace *auxtrace, bool switches)
{
	return auxtrace->cpu >= 0 && switches ? -1 : auxtrace->tid;
}

/* A thread or a CPU has one stream, however its ring is numbered: a second one would begin its time
 * anew. */
struct owner {
	struct {
		int32_t tid, cpu;
	} key;
	size_t stream; /* its index */
	UT_hash_handle hh;
};

/* -1: there is none. */
static int64_t stream_of(const struct owner *owners, int32_t tid, int32_t cpu)
{
	struct owner *owner, wanted = {.key = {tid, cpu}};

	HASH_FIND(hh, owners, &wanted.key, sizeof(wanted.key), owner);
	return owner ? (int64_t)owner->stream : -1;
}

static struct mt_error *add_stream(mt_pt_streams *streams, struct owner **owners,
				   struct mt_pt_stream added)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	if (!owner || mt_array_push(streams, added)) {
		free(owner);
		return mt_error_no_memory();
	}
	*owner = (struct owner){{added.tid, added.cpu}, streams->count - 1, {0}};
	HASH_ADD(hh, *owners, key, sizeof(owner->key), owner);
	if (owner->hh.tbl)
		return NULL;
	free(owner);
	return mt_error_no_memory();
}

static void forget_owners(struct owner *owners)
{
	struct owner *owner, *next;

	HASH_ITER (hh, owners, owner, next) {
		HASH_DEL(owners, owner);
		free(owner);
	}
}

static bool gap_of_flags(uint64_t flags, enum mt_gap_cause *cause)
{
	if (flags & PERF_AUX_FLAG_TRUNCATED)
		*cause = MT_GAP_AUX_LOST;
	else if (flags & PERF_AUX_FLAG_COLLISION)
		*cause = MT_GAP_COLLISION;
	else if (flags & PERF_AUX_FLAG_PARTIAL)
		*cause = MT_GAP_PARTIAL;
	else
		return false;
	return true;
}

/* PERF_RECORD_AUX is of a stretch of a stream, and says by its flags that data was lost behind it.
 */
static struct mt_error *read_sideband(struct mt_recording *recording, const struct owner *owners,
				      mt_pt_streams *streams)
{
	const char *snapshot = mt_recording_note_names[MT_NOTE_SNAPSHOT];
	const struct mt_sideband *records = mt_recording_sideband(recording);

	for (size_t i = 0; i < mt_recording_sideband_count(recording); i++) {
		const struct mt_sideband *record = &records[i];
		struct mt_pt_loss loss = {.offset = record->aux.offset + record->aux.size};
		const char *name = record->kind == MT_SIDEBAND_SAMPLE
				       ? mt_recording_event_name(recording, record->sample.event)
				       : NULL;
		bool is_loss =
		    record->kind == MT_SIDEBAND_AUX && gap_of_flags(record->aux.flags, &loss.cause);
		bool is_snapshot = name && strcmp(name, snapshot) == 0;

		if (!is_loss && !is_snapshot)
			continue;
		const int64_t of[] = {
		    stream_of(owners, record->tid, -1),
		    record->tid < 0 || record->cpu < 0
			? -1
			: stream_of(owners, record->tid, record->cpu),
		    record->cpu < 0 ? -1 : stream_of(owners, -1, record->cpu),
		};
		for (size_t k = 0; k < sizeof(of) / sizeof(*of); k++) {
			struct mt_pt_stream *stream = of[k] < 0 ? NULL : &streams->items[of[k]];

			if (stream && ((is_loss && mt_array_push(&stream->losses, loss)) ||
				       (is_snapshot && mt_array_push(&stream->snapshots, record))))
				return mt_error_no_memory();
		}
	}
	return NULL;
}

/* Where the stream has got to. */
static uint64_t stream_end(const struct mt_pt_stream *stream)
{
	if (!stream->pieces.count)
		return 0;

	const struct mt_pt_stream_piece *last = mt_array_last(&stream->pieces);

	return mt_recording_auxtrace(stream->recording, last->auxtrace)->offset + last->begin +
	       last->size;
}

static struct mt_error *push_piece(struct mt_pt_stream *stream, struct mt_pt_stream_piece *piece,
				   uint64_t end)
{
	piece->size = end - piece->begin;
	if (piece->size && mt_array_push(&stream->pieces, *piece))
		return mt_error_no_memory();
	return NULL;
}

/* Cut the AUXTRACE of `piece` where data was lost. */
static struct mt_error *add_between_losses(struct mt_pt_stream *stream,
					   struct mt_pt_stream_piece *piece,
					   const struct mt_auxtrace *auxtrace, size_t *next_loss)
{
	for (; *next_loss < stream->losses.count; ++*next_loss) {
		const struct mt_pt_loss *loss = &stream->losses.items[*next_loss];
		uint64_t at = loss->offset - auxtrace->offset;

		if (loss->offset >= auxtrace->offset + auxtrace->size)
			break;
		if (loss->offset < auxtrace->offset + piece->begin)
			at = piece->begin;
		mt_try(push_piece(stream, piece, at));
		*piece = (struct mt_pt_stream_piece){
		    .auxtrace = piece->auxtrace,
		    .begin = at,
		    .has_gap = true,
		    .gap_cause = loss->cause,
		};
	}
	return push_piece(stream, piece, auxtrace->size);
}

/* perf record pads a record with zeros, and counts on without them in the next one's offset: they
 * are no data that both hold. */
static void drop_padding(struct mt_pt_stream *stream, uint64_t next_offset)
{
	uint64_t end = stream_end(stream);
	struct mt_pt_stream_piece *last;

	if (next_offset >= end || end - next_offset >= MT_PERF_ALIGNMENT)
		return;
	last = mt_array_last(&stream->pieces);
	if (!last->snapshot && last->size >= end - next_offset)
		last->size -= end - next_offset;
}

/* perf's snapshots hold the whole ring each, and so may repeat what the last one held; snapshots of
 * ours stand alone. */
static struct mt_error *add_auxtrace(struct mt_pt_stream *stream, size_t index, size_t *next_loss)
{
	const struct mt_auxtrace *auxtrace = mt_recording_auxtrace(stream->recording, index);
	struct mt_pt_stream_piece piece = {.auxtrace = index};

	drop_padding(stream, auxtrace->offset);
	uint64_t end = stream_end(stream);
	size_t number = stream->auxtraces++;

	if (stream->pieces.count)
		mt_array_last(&stream->pieces)->runs_on = auxtrace->offset <= end;
	/* A window of ours begins at the last PSB of the one before, if nothing was lost between.
	 */
	if (stream->pieces.count && mt_array_last(&stream->pieces)->snapshot &&
	    auxtrace->offset < end && end - auxtrace->offset < auxtrace->size)
		piece.repeated = end - auxtrace->offset;
	if (number < stream->snapshots.count) {
		mt_try(add_between_losses(stream, &piece, auxtrace, next_loss));
		if (stream->pieces.count && mt_array_last(&stream->pieces)->auxtrace == index)
			mt_array_last(&stream->pieces)->snapshot = stream->snapshots.items[number];
		return NULL;
	}
	if (stream->pieces.count && auxtrace->offset < end && !piece.repeated)
		piece.begin = end - auxtrace->offset;
	if (piece.begin >= auxtrace->size)
		return NULL;
	piece.joined = stream->pieces.count && auxtrace->offset + piece.begin == end;
	return add_between_losses(stream, &piece, auxtrace, next_loss);
}

/* A loss behind the last piece is an empty piece.  A snapshot ends what it holds. */
static struct mt_error *add_lost_end(struct mt_pt_stream *stream)
{
	const struct mt_pt_loss *loss = &stream->losses.items[stream->next_loss];
	const struct mt_pt_stream_piece *last;

	if (stream->next_loss == stream->losses.count || !stream->pieces.count ||
	    loss->offset != stream_end(stream))
		return NULL;
	last = mt_array_last(&stream->pieces);
	if (last->snapshot)
		return NULL;
	const struct mt_pt_stream_piece end = {
	    .auxtrace = last->auxtrace,
	    .begin = last->begin + last->size,
	    .has_gap = true,
	    .gap_cause = loss->cause,
	};
	return mt_array_push(&stream->pieces, end) ? mt_error_no_memory() : NULL;
}

static struct mt_error *read_streams(struct mt_recording *recording, mt_pt_streams *streams,
				     struct owner **owners)
{
	const struct mt_sideband *records = mt_recording_sideband(recording);
	size_t count = mt_recording_auxtrace_count(recording);
	bool switches = false;

	for (size_t i = 0; i < mt_recording_sideband_count(recording) && !switches; i++)
		switches = records[i].kind == MT_SIDEBAND_SWITCH && records[i].cpu >= 0;
	for (size_t i = 0; i < count; i++) {
		const struct mt_auxtrace *auxtrace = mt_recording_auxtrace(recording, i);
		const struct mt_pt_stream added = {
		    .tid = owner_of(auxtrace, switches),
		    .cpu = auxtrace->cpu,
		    .recording = recording,
		};

		if (stream_of(*owners, added.tid, added.cpu) < 0)
			mt_try(add_stream(streams, owners, added));
	}
	mt_try(read_sideband(recording, *owners, streams));
	for (size_t i = 0; i < count; i++) {
		const struct mt_auxtrace *auxtrace = mt_recording_auxtrace(recording, i);
		struct mt_pt_stream *stream =
		    &streams
			 ->items[stream_of(*owners, owner_of(auxtrace, switches), auxtrace->cpu)];

		mt_try(add_auxtrace(stream, i, &stream->next_loss));
	}
	mt_array_each (stream, streams)
		mt_try(add_lost_end(stream));
	return NULL;
}

struct mt_error *mt_pt_streams_read(struct mt_recording *recording, mt_pt_streams *streams)
{
	struct owner *owners = NULL;
	struct mt_error *error = read_streams(recording, streams, &owners);

	forget_owners(owners);
	return error;
}

const struct mt_pt_stream_piece *mt_pt_stream_piece_of(const struct mt_pt_stream *stream,
						       uint64_t snapshot)
{
	mt_array_each (piece, &stream->pieces)
		if (piece->snapshot && piece->snapshot->sample.weight == snapshot)
			return piece;
	return NULL;
}

static void let_go(struct mt_pt_stream *stream)
{
	if (stream->mapped)
		mt_recording_unmap_aux(stream->mapped, stream->mapped_size);
	stream->mapped = NULL;
}

void mt_pt_streams_deinit(mt_pt_streams *streams)
{
	mt_array_each (stream, streams) {
		let_go(stream);
		mt_error_destroy(stream->error);
		mt_array_deinit(&stream->pieces);
		mt_array_deinit(&stream->losses);
		mt_array_deinit(&stream->snapshots);
	}
	mt_array_deinit(streams);
}

int mt_pt_stream_next_piece(struct mt_pt_stream *stream, struct mt_pt_piece *out)
{
	let_go(stream);
	if (stream->error || stream->next >= stream->pieces.count)
		return 0;

	const struct mt_pt_stream_piece *piece = &stream->pieces.items[stream->next++];

	if (piece->size)
		stream->error = mt_recording_map_aux(stream->recording, piece->auxtrace,
						     piece->begin, piece->size, &stream->mapped);
	if (stream->error)
		return 0;
	stream->mapped_size = piece->size;
	*out = (struct mt_pt_piece){
	    .bytes = stream->mapped,
	    .size = piece->size,
	    .joined = piece->joined,
	    .repeated = piece->repeated,
	    .has_gap = piece->has_gap,
	    .gap_cause = piece->gap_cause,
	    .snapshot = piece->snapshot ? (uint32_t)piece->snapshot->sample.weight : 0,
	};
	return 1;
}
