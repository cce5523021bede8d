/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the engine `sample`: core/engine/sample/engine.c (the ops), ring.c (a thread's events
 * and rings), snapshot.c (rings into the recording), stop.c (the stack of a thread that stands
 * still). */
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

struct mt_sample_thread {
	pid_t pid, lwp;
	/* Samples, and when the thread came to a CPU and left it; the oldest are overwritten. */
	struct mt_sample_ring stacks;
	struct mt_sample_ring maps; /* what it mapped, which nothing may overwrite */
	bool stands_still;
	uint64_t pc; /* where it stood last */
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
	bool has_told_size; /* that rings are smaller than was asked for */
	bool has_ring;      /* somebody got one, so others without are tolerated */
};

/* ring.c */
/* NULL: an event that samples stacks lets itself be opened.  Errors: as mt_perf_event_explain(). */
struct mt_error *mt_sample_probe(void);
/* The attribute of the event of all threads. */
struct perf_event_attr mt_sample_attr(const struct mt_sample_engine *engine);
/* On a thread that stands still; it is sampled as soon as it runs.  Errors: as
 * mt_perf_event_explain(), mt_data_ring_map(). */
struct mt_error *mt_sample_open(struct mt_sample_engine *engine, struct mt_sample_thread *thread);
void mt_sample_close(struct mt_sample_thread *thread);

/* snapshot.c: as the ops. */
struct mt_error *mt_sample_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				    struct mt_recording_writer *writer);
struct mt_error *mt_sample_drain(struct mt_engine *base, struct mt_recording_writer *writer);

/* stop.c: the stack of THREAD, which stands still since TIME_NS.  Errors: the writer's; NO_MEMORY.
 */
struct mt_error *mt_sample_put_stop(const struct mt_sample_engine *engine,
				    const struct mt_sample_thread *thread, uint64_t time_ns,
				    struct mt_recording_writer *writer);

#endif
