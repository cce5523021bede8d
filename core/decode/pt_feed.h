/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A feed gives the events of one AUX area, a batch at a time.
 *
 * Workers of the run decode ahead of its owner (pt/decoder.h).  What the two sides share:
 *
 *	a batch is the owner's from when it is given;
 *	the stream is the owner's, who puts windows together;
 *	what workers ask for (images, places), threads, functions, inlined calls and lines are made
 *	when somebody asks for them first, under the lock of struct mt_processes, and never change;
 *	what workers log the owner tells when it takes the batch, and an error comes out when its
 *	batch is asked for: both are where they were without a worker. */
#ifndef MT_DECODE_PT_FEED_H
#define MT_DECODE_PT_FEED_H

#include "decode/private.h"

struct mt_pt_feed {
	struct mt_decode_run *run;
	struct mt_pt_stream *stream;
	struct mt_pt_decoder *decoder;
	const struct mt_cpu_timeline *timeline; /* of a CPU's area; may be NULL */
	size_t next_switch;
	int tid;                 /* whose events come now; 0: not known */
	struct mt_event *events; /* of the batch that was taken last */
	size_t count, next;      /* 0 of them: the end */
	uint64_t bytes;          /* of trace before the end of that batch */
	uint64_t not_before_ns;  /* the next events' times, at the earliest */
};

/* STREAM must outlive it.  SHARERS feeds are there at a time.  Errors: NO_MEMORY; INTERNAL. */
struct mt_error *mt_pt_feed_create(struct mt_decode_run *run, struct mt_pt_stream *stream,
				   unsigned int sharers, struct mt_pt_feed **out);
/* Its figures go into the run's. */
void mt_pt_feed_destroy(struct mt_pt_feed *feed);
/* The next batch.  Errors: those of reading the recording; INTERRUPTED; NO_MEMORY. */
struct mt_error *mt_pt_feed_fill(struct mt_pt_feed *feed);

#endif
