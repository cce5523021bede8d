/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A feed gives the events of one AUX area, a batch at a time.
 *
 * Behind the first batch that is half full a worker decodes the next ones while the owner of the
 * run is busy with this one, if the process has a second processor.  From then on all feeds of the
 * run have that worker, which does one batch after the other, so that the events are those of a
 * single thread, in the same batches.
 *
 * What the two sides share:
 *	- the decoder, its stream and what it asks for (image, place) are the worker's alone;
 *	- a batch is the worker's until its task was waited for, then the owner's; it is made
 *	  elsewhere and copied there past the caches;
 *	- threads and functions, inlined calls and lines are made when somebody asks for them first:
 *	  under the lock of struct mt_processes.  What is given out never changes;
 *	- what the worker logs the owner tells when it takes the batch, and an error comes out when
 *	  its batch is asked for, so both are where they were without a worker. */
#ifndef MT_DECODE_PT_FEED_H
#define MT_DECODE_PT_FEED_H

#include "decode/private.h"

#define MT_PT_FEED_BATCHES 3 /* the one that is taken, and those that are decoded meanwhile */

struct mt_pt_feed {
	struct mt_decode_run *run;
	const struct mt_cpu_timeline *timeline; /* of a CPU's area; may be NULL */

	/* The owner's. */
	size_t next_switch;
	int tid;                                         /* whose events come now; 0: not known */
	struct mt_event *events;                         /* of the batch that was taken last */
	size_t count, next;                              /* 0 of them: the end */
	uint64_t bytes;                                  /* of trace before the end of that batch */
	struct mt_pt_batch *batches[MT_PT_FEED_BATCHES]; /* a ring */
	size_t taken;                                    /* of the ring */
	bool is_ahead;                                   /* the others are being decoded, or were */

	/* Whose turn it is to decode. */
	struct mt_pt_stream *stream;
	struct mt_pt_decoder *decoder;
	struct mt_epoch *epoch; /* whose code is decoded; NULL: none is known */
	uint64_t not_before_ns; /* the next events' times, at the earliest */
	bool has_failed;        /* nothing comes any more */
};

/* STREAM must outlive it.  Errors: NO_MEMORY; INTERNAL. */
struct mt_error *mt_pt_feed_create(struct mt_decode_run *run, struct mt_pt_stream *stream,
				   struct mt_pt_feed **out);
/* Its figures go into the run's. */
void mt_pt_feed_destroy(struct mt_pt_feed *feed);
/* The next batch.  Errors: those of reading the recording; INTERRUPTED; NO_MEMORY. */
struct mt_error *mt_pt_feed_fill(struct mt_pt_feed *feed);

#endif
