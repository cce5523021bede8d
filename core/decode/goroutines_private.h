/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by goroutines.c, which takes threads apart, goroutines_show.c, which puts goroutines
 * together, goroutines_name.c, which names them, and goroutines_states.c, which says what they wait
 * for. */
#ifndef MT_DECODE_GOROUTINES_PRIVATE_H
#define MT_DECODE_GOROUTINES_PRIVATE_H

#include "decode/goroutines.h"
#include "decode/kept_events.h"

/* Where all stacks end, as far as rebuilds know. */
#define MT_GOROUTINE_TOP (1ull << 46)

/* From a switch on, or on behind a snapshot. */
struct mt_goroutine_run {
	struct mt_goroutine *goroutine;
	bool goes_on; /* with what it did in that thread before; it was in no other meanwhile */
	const struct mt_epoch *epoch;
	int tid;
	uint64_t begin_ns, end_ns;
	uint64_t first, count; /* of the events that are kept */
};

struct mt_goroutine {
	struct {
		int64_t pid; /* no padding */
		uint64_t id;
	} key;
	uint64_t start;                 /* its function; 0: not known */
	uint64_t made_at;               /* behind the go statement's call; 0: not known */
	const struct mt_epoch *made_in; /* in which names are true of that */
	const char *name;               /* "goroutine 7 (main.worker)" */
	size_t first, runs;             /* once these are sorted */
	UT_hash_handle hh;
};

/* What all goroutines of a process get: a snapshot's mark, or a gap in one of the threads, from the
 * event's time on.  What a goroutine did in that thread meanwhile is lost. */
struct mt_goroutine_notice {
	int pid;
	struct mt_event event;
	uint64_t until_ns; /* of a gap: from then on the thread is seen */
};

/* It waited, or is new, and may run. */
struct mt_goroutine_wake {
	struct mt_goroutine *woken;
	struct mt_goroutine *waker; /* NULL: the runtime itself, on a thread's own stack... */
	bool is_waker_known;        /* ...if it is */
	uint64_t time_ns;
	uint64_t number; /* from 1 on */
	bool is_new;
	bool is_seen; /* the waker's track goes on behind it */
};

struct mt_goroutines {
	struct mt_decode_run *run;
	struct mt_goroutine *by_id;
	MT_ARRAY(struct mt_goroutine_run) runs;
	MT_ARRAY(struct mt_goroutine_notice) notices;
	MT_ARRAY(struct mt_goroutine_wake) wakes;
	struct mt_kept_events events;
};

/* Gives ONE its name, once its runs are known; where its function is not, that may be by its first
 * call.  Errors: SYSTEM; NO_MEMORY. */
struct mt_error *mt_goroutine_name(struct mt_goroutines *goroutines, struct mt_goroutine *one);

/* A sink before TO for goroutines' tracks, once all have names.  Errors: NO_MEMORY. */
struct mt_goroutine_states;
struct mt_error *mt_goroutine_states_create(struct mt_goroutines *goroutines,
					    struct mt_slice_sink to,
					    struct mt_goroutine_states **out);
/* The next track is that of ONE. */
struct mt_slice_sink mt_goroutine_states_sink(struct mt_goroutine_states *states,
					      const struct mt_goroutine *one);
void mt_goroutine_states_destroy(struct mt_goroutine_states *states); /* NULL is fine */

#endif
