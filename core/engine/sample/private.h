/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the engine `sample`: core/engine/sample/engine.c (the ops), ring.c (a thread's events
 * and rings), history.c (what was read from a ring), snapshot.c (into the recording), stop.c (the
 * stack of a thread that stands still). */
#ifndef MT_ENGINE_SAMPLE_PRIVATE_H
#define MT_ENGINE_SAMPLE_PRIVATE_H

#include "engine/engine.h"
#include "engine/register_break.h"
#include "kernel/clock.h"
#include "kernel/data_ring.h"

#include <uthash.h>

/* An event with its ring. */
struct mt_sample_ring {
	int fd; /* -1: none */
	struct mt_data_ring data;
};

/* Records, the oldest of which make room for new ones. */
struct mt_sample_history {
	uint8_t *bytes; /* NULL: there were none yet */
	size_t size_bytes;
	uint64_t begin, end; /* counted on and on */
};

struct mt_sample_thread {
	pid_t pid, lwp;
	/* Samples, and when the thread came to a CPU and left it; the oldest are overwritten. */
	struct mt_sample_ring stacks;
	struct mt_sample_history history; /* what was there before */
	struct mt_sample_ring maps;       /* what it mapped, which nothing may overwrite */
	uint64_t pc;                      /* where it stood last */
	uint64_t stopped_ns;              /* when that was seen; 0: it runs */
	mt_register_breaks breaks;
	UT_hash_handle hh;
};

struct mt_sample_engine {
	struct mt_engine base;
	struct mt_target *target;
	struct mt_engine_options options;
	struct mt_perf_clock clock;
	struct mt_sample_thread *threads; /* by lwp */
	mt_break_sites sites;
	bool has_ring; /* somebody got one, so others without are tolerated */
	bool kernel_is_told;
	unsigned without_ring;
	uint64_t next_look_ns;      /* at rings */
	unsigned times_throttled;   /* threads' clocks, by the kernel */
	unsigned times_overwritten; /* rings, before they were read */
};

#define MT_SAMPLE_RECORD_BYTES 512 /* of a sample, besides its memory; and switches around it */

/* ring.c */
/* A ring has room for two samples. */
uint64_t mt_sample_least_bytes(const struct mt_engine_options *options);
/* How much a ring of stacks holds that was not read; not more than its size. */
uint64_t mt_sample_unread(const struct mt_data_ring *ring);
/* NULL: an event that samples stacks lets itself be opened.  Errors: as mt_perf_event_explain(). */
struct mt_error *mt_sample_probe(void);
/* The attribute of the event of all threads. */
struct perf_event_attr mt_sample_attr(const struct mt_sample_engine *engine);
/* On a thread that stands still; it is sampled as soon as it runs.  Errors: as
 * mt_perf_event_explain(), mt_data_ring_map(). */
struct mt_error *mt_sample_open(struct mt_sample_engine *engine, struct mt_sample_thread *thread);
void mt_sample_close(struct mt_sample_thread *thread);

/* history.c */
typedef struct mt_error *mt_sample_take(void *context, const struct perf_event_header *record);
/* Errors: NO_MEMORY. */
struct mt_error *mt_sample_history_push(struct mt_sample_history *history,
					const struct perf_event_header *record);
/* The oldest first.  Errors: TAKE's, which ends it. */
struct mt_error *mt_sample_history_each(const struct mt_sample_history *history,
					mt_sample_take *take, void *context);
void mt_sample_history_deinit(struct mt_sample_history *history);

/* snapshot.c: as the ops. */
void mt_sample_tick(struct mt_engine *base);
struct mt_error *mt_sample_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				    struct mt_recording_writer *writer);
struct mt_error *mt_sample_drain(struct mt_engine *base, struct mt_recording_writer *writer);

/* stop.c: the stack of THREAD, which stands still since TIME_NS.  Errors: the writer's; NO_MEMORY.
 */
struct mt_error *mt_sample_put_stop(const struct mt_sample_engine *engine,
				    const struct mt_sample_thread *thread, uint64_t time_ns,
				    struct mt_recording_writer *writer);

#endif
