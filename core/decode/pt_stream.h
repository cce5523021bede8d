/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The AUX areas of a recording as streams of pieces, the way pt/decoder.h asks for them: which
 * AUXTRACE records belong together, where one runs on from the last and where data was lost. */
#ifndef MT_DECODE_PT_STREAM_H
#define MT_DECODE_PT_STREAM_H

#include "base/array.h"
#include "perf/recording.h"
#include "pt/decoder.h"

struct mt_pt_stream_piece {
	size_t auxtrace;   /* index into the recording's */
	uint64_t begin;    /* within that */
	uint64_t size;     /* 0: all that came then was lost */
	uint64_t repeated; /* see struct mt_pt_piece */
	bool joined;
	bool has_gap;
	enum mt_gap_cause gap_cause;
	/* The note of the snapshot that ends with it; or NULL. */
	const struct mt_sideband *snapshot;
	bool runs_on; /* and the next piece begins where this one ended */
};

struct mt_pt_loss {
	uint64_t offset; /* in the stream: what came next is lost */
	enum mt_gap_cause cause;
};

/* One AUX area: a thread's or a CPU's. */
struct mt_pt_stream {
	struct mt_recording *recording;
	int32_t tid; /* -1: of a CPU, whose switches say whose an event is */
	int32_t cpu;
	MT_ARRAY(struct mt_pt_stream_piece) pieces;
	MT_ARRAY(struct mt_pt_loss) losses;
	MT_ARRAY(const struct mt_sideband *) snapshots; /* the n-th ends the n-th AUXTRACE */

	/* While it is read, */
	size_t auxtraces;
	size_t next_loss;
	/* and while it is walked. */
	size_t next;
	uint8_t *mapped;
	uint64_t mapped_size;
	struct mt_error *error; /* why the walk ended early: its owner's to take */
};

typedef MT_ARRAY(struct mt_pt_stream) mt_pt_streams;

/* Errors: NO_MEMORY. */
struct mt_error *mt_pt_streams_read(struct mt_recording *recording, mt_pt_streams *streams);
void mt_pt_streams_deinit(mt_pt_streams *streams);

/* The piece that ends with that snapshot; NULL: there is none. */
const struct mt_pt_stream_piece *mt_pt_stream_piece_of(const struct mt_pt_stream *stream,
						       uint64_t snapshot);

/* For struct mt_pt_source: gives the pieces one after the other, mapped. */
int mt_pt_stream_next_piece(struct mt_pt_stream *stream, struct mt_pt_piece *piece);

#endif
