/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of decode/decode.h:
 *
 *	decode.c       which kind of recording it is
 *	calls.c        call events
 *	pt.c           AUX data, of threads or of CPUs
 *	pt_feed.c      the events of one AUX area
 *	samples.c      samples of stacks
 *	track.c        a thread's events and notes into its rebuild of slices
 *	values.c       which values were recorded with calls
 *	goroutines.c   tracks of goroutines: events away from threads
 *	goroutines_show.c  and together again
 *	goroutines_name.c  what they are called
 *	goroutines_states.c  what they wait for
 *	fibers.c       tracks of coroutines, away from threads likewise
 *	kept_events.c  what is put together later
 *	hits.c         triggers' hits: their track, and the program's reasons
 *	python_at.c    where threads were stopped in Python
 *	side_tracks.c  the tracks of what the kernel recorded besides the calls */
#ifndef MT_DECODE_PRIVATE_H
#define MT_DECODE_PRIVATE_H

#include "base/arena.h"
#include "base/pool.h"
#include "decode/decode.h"
#include "decode/processes.h"
#include "decode/pt_stream.h"
#include "perf/recording_writer.h"
#include "trace/rebuild.h"

#define MT_DECODE_BATCH 4096

/* Which goroutine a thread runs: goroutines.c. */
struct mt_goroutine_place {
	struct mt_goroutine *goroutine;           /* NULL: none, or not known... */
	bool was_born;                            /* ...none: the thread is seen since its birth */
	uint64_t low, high;                       /* its stack */
	uint64_t next_low, next_high, next_start; /* of the one that is about to be switched to */
	bool is_switching;                        /* to `goroutine`, by the next event... */
	bool is_same;                             /* ...and it was that before */
	bool is_there;                            /* the last event was on its stack */
	bool is_seen;                             /* the thread; it was not... */
	uint64_t unseen_ns;                       /* ...from then on; 0: never yet */
	uint64_t own_stack;                       /* right above it; 0: not known */
	uint64_t made_start, made_at;             /* of the goroutine that it makes */
	size_t wake;      /* that it made last, from 1 on, and did nothing since; 0: none */
	uint64_t said_at; /* the stack pointer of a call by which the program says something */
	/* The calls on its stack that began last, the last one first; function 0: none. */
	struct mt_goroutine_call {
		uint64_t function;
		uint32_t below; /* so far below the stack's end */
	} calls[2];
};

struct mt_track {
	int tid;
	struct mt_process_thread *thread;
	struct mt_rebuild *rebuild;
	struct mt_fibers *fibers;          /* NULL: coroutines lie on it */
	const struct mt_pt_stream *stream; /* AUX data of the thread's own; NULL: something else */
	struct mt_epoch *epoch;            /* whose names the rebuild uses */
	size_t next_note;
	uint64_t time_ns; /* of the last event */
	struct mt_goroutine_place place;
	UT_hash_handle hh;
};

/* As a note of that kind would have it. */
struct mt_said {
	enum mt_recording_note note;
	struct mt_sideband record;
};

/* Of a trigger. */
struct mt_decode_hit {
	const struct mt_sideband *note;
	struct mt_hit hit;
	struct mt_side_event asked; /* for by the program, with its reason; name NULL: not */
	bool was_shown;             /* on its thread's track */
};

struct mt_decode_run {
	struct mt_recording *recording;
	const struct mt_decode_options *options;
	const struct mt_rebuild_ops *rebuild_ops;
	struct mt_slice_sink sink, calls_sink; /* of calls: behind filters */
	struct mt_words_filter *words;         /* NULL: nothing is said */
	struct mt_hits_filter *reasons;        /* NULL: no hit has one */
	struct mt_python_filter *python_at;    /* NULL: nobody was stopped in Python */
	struct mt_goroutines *goroutines;      /* NULL: all is shown by threads */
	uint64_t *last_goroutine;              /* what is asked for, and no slices; else NULL */
	struct mt_decode_stats stats;
	struct mt_processes *processes;
	mt_pt_streams streams;
	struct mt_pool *ahead; /* its workers decode ahead; NULL: nobody does */
	size_t lanes;          /* how many rebuilds go on at a time; 0: one */
	struct mt_track *tracks;
	MT_ARRAY(struct mt_decode_hit) hits;
	struct mt_recorded_values values;
	struct mt_arena arena; /* names of side tracks, and their events */
	MT_ARRAY(const char *) counter_names;
	MT_ARRAY(struct mt_said) said;
	uint64_t last_call_id;
	uint32_t fiber_count; /* that were shown */
	pid_t fibers_thread;  /* whose coroutines are being shown; 0: none */
	bool has_side_tracks; /* those of notes were put out */
	bool timed;           /* times of events and of the sideband can be compared */
	uint64_t bytes_total;
};

/* track.c */
struct mt_epoch *mt_decode_epoch_at(const struct mt_decode_run *run,
				    const struct mt_process_thread *thread, uint64_t time_ns);
/* Function, file and line of the instant's address, if it has one, in the thread at its time. */
void mt_decode_name_instant(const struct mt_decode_run *run, const struct mt_process_thread *thread,
			    struct mt_instant *instant);
/* The thread's, made at its first use.  EVENTS: it has at the most; 0: that is not known. */
struct mt_error *mt_track_find(struct mt_decode_run *run, int tid, uint64_t events,
			       struct mt_track **out);
void mt_track_destroy(struct mt_decode_run *run, struct mt_track *track);
/* Events, with the notes that belong before them.  Times of snapshots' marks may be changed. */
struct mt_error *mt_track_deliver(struct mt_decode_run *run, struct mt_track *track,
				  struct mt_event *events, size_t count);
/* Nothing of the sideband goes among these events, and nothing is shown for them: a worker may
 * deliver them.  COUNT is not 0. */
bool mt_track_is_silent(const struct mt_decode_run *run, const struct mt_track *track,
			const struct mt_event *events, size_t count);
/* After the last event: the signal that killed it, the end.  Destroys the track. */
struct mt_error *mt_track_finish(struct mt_decode_run *run, struct mt_track *track);

static inline bool mt_decode_wants(const struct mt_decode_run *run, int tid)
{
	return !run->options->tid || run->options->tid == tid;
}

/* Which of our notes a record is; MT_NOTE_COUNT: none. */
enum mt_recording_note mt_decode_note_of(const struct mt_decode_run *run,
					 const struct mt_sideband *record);

/* Formats have room for 63 bits of a time; more comes of garbled files alone. */
static inline bool mt_decode_has_time(const struct mt_sideband *record)
{
	return record->time_ns <= INT64_MAX;
}

/* values.c */
/* Before all threads.  Errors: NO_MEMORY. */
struct mt_error *mt_decode_values(struct mt_decode_run *run);

/* hits.c */
/* The next of the strings that lie one behind the other, up to END; "": there are no more. */
const char *mt_decode_next_string(const char **at, const char *end);
/* Before all threads.  Errors: NO_MEMORY. */
struct mt_error *mt_decode_find_hits(struct mt_decode_run *run);
/* A sink before RUN's of calls.  *OUT is NULL where the program gave no reason for a snapshot. */
struct mt_error *mt_hits_filter_create(struct mt_decode_run *run, struct mt_hits_filter **out);
struct mt_slice_sink mt_hits_filter_sink(struct mt_hits_filter *filter);
/* After all threads.  Errors: the sink's; NO_MEMORY. */
struct mt_error *mt_decode_hits(struct mt_decode_run *run);

/* python_at.c: a sink before RUN's of calls.  *OUT is NULL where no thread was stopped in Python.
 * Destroy it in any case; NULL is fine. */
struct mt_error *mt_python_filter_create(struct mt_decode_run *run, struct mt_python_filter **out);
void mt_python_filter_destroy(struct mt_python_filter *filter);
struct mt_slice_sink mt_python_filter_sink(struct mt_python_filter *filter);

/* words.c: a sink before RUN's of calls.  *OUT is NULL where no recorded values are words. */
struct mt_error *mt_words_filter_create(struct mt_decode_run *run, struct mt_words_filter **out);
struct mt_slice_sink mt_words_filter_sink(struct mt_words_filter *filter);
void mt_words_filter_destroy(struct mt_words_filter *filter); /* NULL is fine */

/* side_tracks.c */
bool mt_decode_has_side_tracks(const struct mt_decode_run *run);
/* After all threads, and before them if the notes' are wanted there: then those of what threads
 * have said come after.  Errors: the sink's; NO_MEMORY. */
struct mt_error *mt_decode_side_tracks(struct mt_decode_run *run);

/* pt.c */
struct mt_error *mt_decode_pt(struct mt_decode_run *run);

/* calls.c */
struct mt_error *mt_decode_calls(struct mt_decode_run *run);

/* decode.c: RUN's pool, a worker a processor, if there are several, and if it can be had.  TASKS
 * more may wait than there are workers. */
void mt_decode_get_workers(struct mt_decode_run *run, size_t tasks);

/* samples.c */
struct mt_error *mt_decode_samples(struct mt_decode_run *run);

#endif
