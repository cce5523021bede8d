/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the engine `pt`: core/engine/pt/engine.c (the ops), buffer.c (events with their two
 * rings), cpu.c (a ring a CPU), snapshot.c (rings into the recording), values.c (packets
 * with values), break.c (breakpoints), pause.c (hits that pause the trace), probe.c (what
 * this machine can do). */
#ifndef MT_ENGINE_PT_PRIVATE_H
#define MT_ENGINE_PT_PRIVATE_H

#include "base/array.h"
#include "engine/engine.h"
#include "engine/pt/pause.h"
#include "engine/register_break.h"
#include "kernel/aux_ring.h"
#include "kernel/clock.h"
#include "kernel/pmu.h"

#include <uthash.h>

/* An AUX record that reports a loss. */
struct mt_pt_flag {
	uint64_t offset; /* behind which it is, in the kernel's count */
	uint64_t flags;
	uint64_t time_ns;
};

/* An event with its data ring and its AUX ring: a thread's, or a CPU's. */
struct mt_pt_buffer {
	struct mt_pt_buffer *next; /* of the engine's */
	pid_t pid, lwp;            /* lwp -1: a CPU's */
	int cpu;                   /* -1: a thread's */
	uint32_t idx;
	int fd;
	int resume;           /* in one group with it: pause.c; -1: none */
	MT_ARRAY(int) others; /* events that write into it too */
	struct mt_data_ring data;
	struct mt_aux_ring aux;
	MT_ARRAY(struct mt_pt_flag) flags;
	uint64_t stream_offset; /* where the next piece begins */
	size_t since_psb;       /* bytes from the last PSB to there; 0: it is not known */
	bool stopped_full;      /* the kernel disabled the event for want of room, */
	uint64_t stopped_ns;    /* then */
	/* While a snapshot is taken: */
	struct mt_aux_news news;
	uint64_t tsc;
};

struct mt_pt_thread {
	pid_t pid, lwp;
	uint64_t pc; /* where it stood last */
	/* Where it stood when a signal was about to be delivered, at the stop before; 0: that was
	 * for something else. */
	uint64_t signal_pc;
	bool signalled; /* it stands for such a signal */
	bool paused;    /* its trace is, or may be */
	bool resuming;  /* until it stops again */
	mt_register_breaks breaks;
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
	struct mt_pt_buffer *rings;
	mt_break_sites sites;
	struct mt_str filter; /* for the kernel; empty: none, or not made yet */
	uint32_t next_idx;
	bool kernel_is_told;
	bool pause_tried;    /* so it is known whether a hit */
	bool pauses;         /* pauses the trace */
	bool has_ring;       /* somebody got one, so others without are tolerated */
	uint64_t times_full; /* how often there was no room, */
	uint64_t lost_ns;    /* and for how long in all */
};

struct mt_pt_thread *mt_pt_find(const struct mt_pt_engine *engine, pid_t lwp);

/* probe.c */
/* NULL: the PMU is there and lets itself be opened.  Errors: as mt_pmu_read() and
 * mt_perf_event_open(). */
struct mt_error *mt_pt_probe(void);
/* The event whose samples have a paused trace go on. */
struct mt_perf_spec mt_pt_resume_spec(void);

/* buffer.c */
/* For a thread that stands still; it is traced as soon as it runs.  A thread that has ended gets
 * none, without an error.  Errors: as mt_perf_event_open(), mt_aux_ring_map(). */
struct mt_error *mt_pt_buffer_open(struct mt_pt_engine *engine, pid_t pid, pid_t lwp);
/* The same, of that thread and what it begets, on one CPU. */
struct mt_error *mt_pt_buffer_open_cpu(struct mt_pt_engine *engine, pid_t pid, pid_t lwp, int cpu);
/* One more event for a CPU's ring. */
struct mt_error *mt_pt_buffer_join(struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				   pid_t lwp);
/* The thread's; NULL: none. */
struct mt_pt_buffer *mt_pt_buffer_of(const struct mt_pt_engine *engine, pid_t lwp);
void mt_pt_buffer_close(struct mt_pt_engine *engine, struct mt_pt_buffer *ring); /* NULL is fine */
/* Tracing stops and goes on. */
void mt_pt_buffer_enable(const struct mt_pt_buffer *ring, bool on);
/* Writes the records of the data ring to the recording; those on the AUX area are kept until that
 * is read.  Errors: the writer's; NO_MEMORY. */
struct mt_error *mt_pt_buffer_drain(struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				    struct mt_recording_writer *writer);

/* cpu.c: a thread that nobody in our care made, or the first one, gets events on all CPUs.
 * Errors: as mt_pt_buffer_open(). */
struct mt_error *mt_pt_add_cpus(struct mt_pt_engine *engine, pid_t pid, pid_t lwp);

/* break.c */
/* As the ops. */
struct mt_error *mt_pt_set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address,
				      const struct mt_engine_condition *condition);
void mt_pt_clear_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address);
/* Those of its process, on a thread that stands still.  Errors: as mt_perf_event_open(). */
struct mt_error *mt_pt_add_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread);
/* The thread called execve. */
void mt_pt_forget_breaks(struct mt_pt_engine *engine, struct mt_pt_thread *thread);

/* pause.c */
/* As the op. */
int mt_pt_leader(struct mt_pt_engine *engine, pid_t lwp);
/* The thread stands still: its trace, if that was to go on, does. */
bool mt_pt_has_resumed(struct mt_pt_engine *engine, struct mt_pt_thread *thread);
/* The stop is for a hit, which has paused the trace. */
void mt_pt_note_pause(const struct mt_pt_engine *engine, struct mt_pt_thread *thread,
		      const struct mt_stop *stop);
/* As the op hit(). */
struct mt_error *mt_pt_note_hit(const struct mt_pt_engine *engine,
				const struct mt_pt_thread *thread, uint64_t pc);
/* A thread is about to be resumed: its trace goes on, if it was paused, and the thread stops with
 * INTERRUPTED before it runs an instruction.  Errors: the target's. */
struct mt_error *mt_pt_unpause(struct mt_pt_engine *engine, struct mt_pt_thread *thread);

/* values.c: what packets of the ring's news say besides control flow, where that is asked for;
 * the first TOLD bytes are only looked at for the time.  Errors: the writer's; NO_MEMORY. */
struct mt_error *mt_pt_put_values(const struct mt_pt_engine *engine,
				  const struct mt_pt_buffer *ring, size_t told,
				  struct mt_recording_writer *writer);

/* snapshot.c: as the ops. */
struct mt_error *mt_pt_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				struct mt_recording_writer *writer);
struct mt_error *mt_pt_drain(struct mt_engine *base, struct mt_recording_writer *writer);

#endif
