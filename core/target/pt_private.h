/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the engine `pt`: core/target/pt_engine.c (the ops), pt_ring.c (an event with its two
 * rings), pt_snapshot.c (rings into the recording), pt_break.c (breakpoints), pt_probe.c (what this
 * machine can do). */
#ifndef MT_TARGET_PT_PRIVATE_H
#define MT_TARGET_PT_PRIVATE_H

#include "base/array.h"
#include "perf/aux_ring.h"
#include "perf/clock.h"
#include "perf/pmu.h"
#include "target/engine.h"

#include <uthash.h>

/* An AUX record that tells of a loss, or of a stretch's end. */
struct mt_pt_flag {
	uint64_t offset; /* of the stretch's end, in the kernel's count */
	uint64_t flags;
	uint64_t time_ns;
};

/* An event with its data ring and its AUX ring: a thread's. */
struct mt_pt_ring {
	pid_t pid, lwp;
	uint32_t idx;
	int fd;
	struct mt_data_ring data;
	struct mt_aux_ring aux;
	MT_ARRAY(struct mt_pt_flag) flags;
	uint64_t stream_offset; /* where the next piece begins */
	/* While a snapshot is taken: */
	struct mt_aux_news news;
	uint64_t tsc;
};

/* Where threads of a process are to stop, and an event that has one do so. */
struct mt_pt_site {
	pid_t pid;
	uint64_t address;
};

struct mt_pt_break {
	uint64_t address;
	int fd;
};

struct mt_pt_thread {
	pid_t pid, lwp;
	struct mt_pt_ring *ring; /* NULL: it could not get one */
	uint64_t pc;             /* where it stood last */
	MT_ARRAY(struct mt_pt_break) breaks;
	UT_hash_handle hh;
};

struct mt_pt_engine {
	struct mt_engine base;
	struct mt_target *target;
	struct mt_engine_options options;
	struct mt_pmu pmu;
	struct mt_pmu_config config;
	struct mt_perf_clock clock;
	struct mt_pt_thread *threads; /* by lwp */
	MT_ARRAY(struct mt_pt_site) sites;
	uint32_t next_idx;
	bool has_ring; /* one thread got one, so others without are borne */
};

/* pt_probe.c */
/* NULL: the PMU is there and lets itself be opened.  Errors: as mt_pmu_read() and
 * mt_perf_event_open(). */
struct mt_error *mt_pt_probe(void);

/* pt_ring.c */
/* Of a thread that stands still; it is traced as soon as it runs.  *out NULL without an error: the
 * thread has ended.  Errors: as mt_perf_event_open(), mt_aux_ring_map(). */
struct mt_error *mt_pt_ring_open(struct mt_pt_engine *engine, pid_t pid, pid_t lwp,
				 struct mt_pt_ring **out);
void mt_pt_ring_close(struct mt_pt_ring *ring); /* NULL is fine */
/* Tracing stops and goes on. */
void mt_pt_ring_enable(struct mt_pt_ring *ring, bool on);
/* Put what the data ring tells into the recording; what it tells of the AUX area is kept until that
 * is read.  Errors: the writer's; NO_MEMORY. */
struct mt_error *mt_pt_ring_drain(struct mt_pt_engine *engine, struct mt_pt_ring *ring,
				  struct mt_recording_writer *writer);

/* pt_break.c */
/* As the op. */
struct mt_error *mt_pt_set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address);
/* Those of its process, on a thread that stands still.  Errors: as mt_perf_event_open(). */
struct mt_error *mt_pt_add_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread);
void mt_pt_close_breaks(struct mt_pt_thread *thread);
/* The thread called execve. */
void mt_pt_forget_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread);
/* The stop is one of these. */
bool mt_pt_is_break(const struct mt_pt_thread *thread, const struct mt_stop *stop);

/* pt_snapshot.c: as the op. */
struct mt_error *mt_pt_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				struct mt_recording_writer *writer);

#endif
