/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From Intel PT bytes and the code that ran to control-flow events.
 *
 * Pull: the caller asks for batches of events; the decoder asks its source for pieces of trace and
 * for the code that is mapped at a time.  One decoder a stream (a thread's, or a CPU's).  Lost or
 * undecodable data comes out as MT_EVENT_GAP, never as an error.
 *
 * With a pool its workers decode the stream's windows ahead, several at a time.  Events, batches
 * and figures are the same as without. */
#ifndef MT_PT_DECODER_H
#define MT_PT_DECODER_H

#include "base/clock.h"
#include "base/error.h"
#include "base/pool.h"
#include "pt/timing.h"
#include "trace/event.h"

#include <stddef.h>

/* The code of one address space: sections of files, and how much of it was traced. Immutable while
 * a decoder uses it. */
struct mt_pt_image;

/* Sections of the same file (path, offset, size) are shared between the images of a cache. */
struct mt_pt_image_cache;
struct mt_error *mt_pt_image_cache_create(struct mt_pt_image_cache **out);
void mt_pt_image_cache_destroy(struct mt_pt_image_cache *cache); /* after its images */

struct mt_error *mt_pt_image_create(struct mt_pt_image_cache *cache, struct mt_pt_image **out);
void mt_pt_image_destroy(struct mt_pt_image *image); /* NULL is fine */
/* SIZE bytes at OFFSET of the file at PATH are mapped at ADDRESS; replaces what it overlaps.  A
 * mapping longer than the file is cut.  Errors: as opening; UNSUPPORTED (no regular file); FORMAT
 * (the file ends before the mapping begins); NO_MEMORY. */
struct mt_error *mt_pt_image_add(struct mt_pt_image *image, const char *path, uint64_t offset,
				 uint64_t size, uint64_t address);
/* The same of bytes in memory, which must outlive the image.  Errors: NO_MEMORY. */
struct mt_error *mt_pt_image_add_bytes(struct mt_pt_image *image, const uint8_t *bytes,
				       uint64_t size, uint64_t address);
/* An address filter: SIZE bytes at ADDRESS were traced, and nothing but what is in such a range;
 * or, if it STOPS, tracing ended where control came into them.  Without any, all code was traced.
 * Errors: NO_MEMORY. */
struct mt_error *mt_pt_image_add_filter(struct mt_pt_image *image, uint64_t address, uint64_t size,
					bool stops);

/* A piece of a stream.  Lent until the next call of next_piece or the decoder's end. */
struct mt_pt_piece {
	uint8_t *bytes; /* the decoder overwrites packets that say nothing to it */
	size_t size;    /* 0: only to report a gap, or to end a snapshot */
	/* The piece begins where the last one ended, in the middle of things: decode across.
	 * Otherwise it begins anew: at its first PSB. */
	bool joined;
	/* So many bytes at its beginning, from a PSB on, ended the last piece too, so that decoding
	 * can begin there: only what follows them is shown, from where tracing goes on. */
	size_t repeated;
	/* Data was lost before this piece; shown as a gap.  gap_cause counts when has_gap. */
	bool has_gap;
	enum mt_gap_cause gap_cause;
	uint64_t bytes_lost; /* 0: not known */
	/* Ends a snapshot: an MT_EVENT_MARK with SNAPSHOT and this number follows the piece's
	 * events; 0: none. */
	uint32_t snapshot;
};

struct mt_pt_source {
	/* Returns 1 and a piece, 0 at the end. */
	int (*next_piece)(void *context, struct mt_pt_piece *piece);
	/* The rest is asked by workers too, if there are any, several at a time.
	 *
	 * The code that is mapped from this time on: asked when tracing begins, at a PSB, and when
	 * the address space changes (CR3).  Lent; the same pointer as before when nothing changed.
	 * NULL: no code (everything is a gap).  *PLACES: for place_at(). */
	struct mt_pt_image *(*image_at)(void *context, uint64_t time_ns, void **places);
	/* The place that an address of the image is in, [*start, *end): jumps within the one
	 * that control came to by the last event are no events, but for what cannot be told
	 * without them: the first one whose time is known, and the last one before control runs
	 * straight on out of it.  False: it is in none.  NULL: each jump is an event. */
	bool (*place_at)(void *context, void *places, uint64_t address, uint64_t *start,
			 uint64_t *end);
	/* Another image counts from now on, or the same one for other workers: what it logs comes
	 * out before the events.  NULL: that is not of interest. */
	void (*begins)(void *context, void *places);
	void *context;
};

struct mt_pt_decoder_config {
	struct mt_cpu cpu;
	struct mt_pt_timing timing;
	struct mt_time_conversion conversion; /* unknown: times are TSC ticks */
	struct mt_pt_source source;
	bool by_libipt; /* it reads the packets: a second opinion */

	/* Events of a batch, at most (at least 16); bytes of a piece that are taken at a time, and
	 * cut at their last PSB.  They decide where batches end, and which of the jumps come out
	 * that need not.  0: what is usual. */
	size_t batch_events, window_bytes;

	/* Who decodes ahead; must outlive the decoder, and its queue must have room for as many
	 * tasks as it has threads, and one for each decoder that has it.  NULL: nobody does. */
	struct mt_pool *pool;
	unsigned int sharers; /* how many decoders have that pool at a time; 0: 1 */
};

#define MT_PT_BATCH_EVENTS 4096
#define MT_PT_WINDOW_BYTES ((size_t)256 << 10)

/* Of all batches so far. */
struct mt_pt_decoder_stats {
	uint64_t bytes; /* of trace */
	uint64_t blocks;
	uint64_t instructions;
	uint64_t events;
	uint64_t gaps;
};

struct mt_pt_decoder;

/* Errors: NO_MEMORY; INTERNAL. */
struct mt_error *mt_pt_decoder_create(const struct mt_pt_decoder_config *config,
				      struct mt_pt_decoder **out);
void mt_pt_decoder_destroy(struct mt_pt_decoder *decoder); /* NULL is fine */

/* The next batch, lent until the next call.  count 0: the stream has ended.  A call does a bounded
 * amount of work, or waits for it, so the caller can report progress and stop between two.
 * Errors: NO_MEMORY. */
struct mt_error *mt_pt_decoder_next(struct mt_pt_decoder *decoder, struct mt_event **events,
				    size_t *count);
struct mt_pt_decoder_stats mt_pt_decoder_stats(const struct mt_pt_decoder *decoder);

#endif
