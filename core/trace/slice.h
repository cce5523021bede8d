/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices: function calls with a begin and an end, with instants and gaps between them.
 * Outputs, filters and statistics are sinks of them; ops that they share are in sink_ops.h.
 *
 * What a sink may rely on:
 * - thread() comes before anything of that thread; between two thread() calls everything is of
 *   that one thread.  The same thread may come again later.
 * - A thread's segments come one after the other, in time: segment_begin … segment_end.  Within a
 *   segment begins and ends balance (depth of a begin = number of open slices), times never run
 *   backwards, and children lie inside their parents.
 * - What was still open at a segment's end is ended at its last time, flagged MT_SLICE_END_OPEN,
 *   innermost first, right before segment_end.
 * Strings and functions are lent for the whole run: until finish() has returned. */
#ifndef MT_TRACE_SLICE_H
#define MT_TRACE_SLICE_H

#include "base/error.h"
#include "elf/function.h"
#include "trace/event.h"

#include <stdbool.h>

/* The track of triggers' hits goes as a thread of this number. */
#define MT_HITS_TID MT_TID_LIMIT

/* So do the side tracks: what the kernel, or the program itself, reports of a thread. */
enum mt_side_track {
	MT_SIDE_TRACK_SCHED = 1,
	MT_SIDE_TRACK_SYSCALLS,
	MT_SIDE_TRACK_FAULTS,
	MT_SIDE_TRACK_MARKS,
	MT_SIDE_TRACK_COUNTERS,
	MT_SIDE_TRACK_SPANS, /* of mtrace.h */
	MT_SIDE_TRACK_GOROUTINES,
	MT_SIDE_TRACKS
};
#define MT_SIDE_TRACK_TID(track, tid) ((pid_t)((uint32_t)(track) << 23 | (uint32_t)(tid)))

/* Goroutines go as threads of these numbers: of their own where that fits, else by a serial one. */
#define MT_GOROUTINE_TIDS 1000000000
#define MT_GOROUTINE_TID(id, serial)                                                               \
	((pid_t)((id) < MT_GOROUTINE_TIDS ? MT_GOROUTINE_TIDS + (id)                               \
					  : 2ull * MT_GOROUTINE_TIDS + (serial) % (1u << 27)))
static inline bool mt_tid_is_goroutine(pid_t tid)
{
	return tid >= MT_GOROUTINE_TIDS;
}
/* And so do stacks of coroutines. */
#define MT_FIBER_TIDS 100000000
#define MT_FIBER_TID(number)                                                                       \
	((pid_t)(MT_FIBER_TIDS + (number) % (MT_GOROUTINE_TIDS - MT_FIBER_TIDS)))
static inline bool mt_tid_is_fiber(pid_t tid)
{
	return tid >= MT_FIBER_TIDS && tid < MT_GOROUTINE_TIDS;
}
static inline bool mt_tid_is_track(pid_t tid)
{
	return tid >= MT_HITS_TID && tid < MT_FIBER_TIDS;
}

/* A thread of which samples of its stack were taken, and no calls seen.  A slice stands for a frame
 * that was in one sample after the other, from the first one's time to that of the one behind the
 * last. */
struct mt_sampling {
	const char *event; /* whose samples they are: "cpu-clock" */
	uint64_t samples;
	uint64_t period_ns; /* about so far apart, while the thread runs */
};

struct mt_thread {
	pid_t pid;
	pid_t tid;
	const char *name;                   /* NULL: not known */
	const char *process;                /* NULL: not known */
	const struct mt_sampling *sampling; /* NULL: its calls were recorded; lent for the run */
};

enum mt_slice_kind {
	MT_SLICE_CALL,
	MT_SLICE_INLINED,
	MT_SLICE_SYSCALL,  /* "[syscall]": in the kernel, which was not traced */
	MT_SLICE_UNTRACED, /* "[untraced]": an interrupt, a page fault, a filter */
	MT_SLICE_GAP,      /* lost data, shown from its begin to its end */
	MT_SLICE_SIDE,     /* on a side track: see struct mt_side_event */
};

/* An event of a side track.  NULL: nothing of the kind. */
struct mt_side_event {
	const char *name;               /* "read", "CPU 1", "page fault" */
	const char *category;           /* "syscall", "sched", "fault", "mark", "goroutine" */
	const char *arguments, *result; /* of a system call */
	const char *reason;             /* why a thread went off the CPU, or wants a snapshot */
	bool is_off_cpu;                /* of "sched": the thread did not run */
	bool is_death;                  /* the reason is why the program dies */
};

#define MT_SLICE_INFERRED       0x01 /* its call was never seen: open since before the segment */
#define MT_SLICE_TIME_ESTIMATED 0x02 /* its begin lies between two known times */
#define MT_SLICE_TAIL_CALL      0x04 /* replaced its caller by a jump */
#define MT_SLICE_HANDLER        0x08 /* a signal handler, on the interrupted frame */
#define MT_SLICE_CONTEXT        0x10 /* by a filter: shown for what it called */
#define MT_SLICE_SAMPLED        0x20 /* seen in samples: see struct mt_sampling */
#define MT_SLICE_PYTHON         0x40 /* an interpreter's loop ran it; and INFERRED: at the end */

struct mt_slice {
	uint64_t time_ns;
	uint8_t kind;                       /* enum mt_slice_kind */
	uint8_t flags;                      /* MT_SLICE_… */
	uint32_t depth;                     /* 0 is outermost */
	const struct mt_function *function; /* NULL for SYSCALL, UNTRACED, GAP */
	uint64_t address;                   /* where control entered; 0: not known */
	uint64_t call_site;                 /* the branch's address; 0: not known */
	struct mt_source call_source;       /* file and line of the call site */
	enum mt_gap_cause cause;            /* GAP */
	uint64_t bytes_lost;                /* GAP; 0: not known */
	const struct mt_side_event *side;   /* SIDE; lent for the run */
	/* CALL: "name=0x4006b4, count=2"; NULL: none were recorded; lent for the run */
	const char *arguments;
	/* CALL, that was cut by a loss: one number on all slices that may be of the same call, and
	   on no others of the run; 0: none */
	uint64_t call_id;
	/* An arrow comes here from the instant with that number; 0: none does */
	uint64_t flow;
};

#define MT_SLICE_END_OPEN           0x01 /* did not return within the segment */
#define MT_SLICE_END_UNWOUND        0x02 /* left by longjmp, an exception, a thread's end */
#define MT_SLICE_END_TIME_ESTIMATED 0x04
#define MT_SLICE_END_LOST           0x08 /* ended somewhere in a gap */

struct mt_slice_end {
	uint64_t time_ns;
	uint8_t flags;      /* MT_SLICE_END_… */
	uint32_t depth;     /* of the slice that ends */
	const char *result; /* "598"; NULL: none was recorded; lent for the run */
	uint32_t samples;   /* SAMPLED: how many it was in */
};

enum mt_instant_kind {
	MT_INSTANT_SIGNAL,   /* detail: number */
	MT_INSTANT_GAP,      /* detail: enum mt_gap_cause; value: bytes lost */
	MT_INSTANT_TRIGGER,  /* detail, value: the trigger's number */
	MT_INSTANT_EXIT,     /* value: wait status */
	MT_INSTANT_SNAPSHOT, /* detail: its number; one that the segment goes on behind */
	MT_INSTANT_EXEC,
	MT_INSTANT_TX_ABORT,
	MT_INSTANT_THROTTLE, /* the function at `address` is not recorded from here on */
	MT_INSTANT_FAULT,    /* of a page; value: the address that was accessed */
	MT_INSTANT_MARK,     /* the program's own */
	/* value: calls that are not shown, of `function`, or, with detail, behind it; see
	   output/fold.h */
	MT_INSTANT_FOLDED,
};

/* A trigger's hit, as the track of hits shows it. */
struct mt_hit {
	pid_t tid;
	const char *location;
	const char *condition; /* "": none */
	const char *values;    /* "": nothing was printed */
	const char *registers; /* "": not known */
};

struct mt_instant {
	uint64_t time_ns;
	uint8_t kind;   /* enum mt_instant_kind */
	bool estimated; /* the time is */
	uint32_t detail;
	uint64_t value;                     /* SIGNAL: si_addr */
	uint64_t address;                   /* the PC; 0: not known */
	const struct mt_function *function; /* at the PC; NULL: not known */
	struct mt_source source;            /* of the PC */
	const struct mt_hit *hit; /* TRIGGER on the track of hits; else NULL; lent for the run */
	/* FAULT, MARK, FOLDED, and a TRIGGER by which the program asked for a snapshot; lent for
	   the run */
	const struct mt_side_event *side;
	uint64_t flow; /* MARK: an arrow goes to the slice with that number; 0: none does */
};

/* A counter's value at a time. */
struct mt_counter {
	uint64_t time_ns;
	const char *name; /* lent for the run */
	uint64_t value;
	bool is_real; /* then that is `real` */
	double real;
	pid_t tid; /* whose it is */
};

struct mt_thread_segment {
	uint64_t begin_ns;
	uint64_t calls_ns; /* from when on calls are known, if any is: signals may be older */
	uint64_t end_ns;
	uint32_t number;   /* of this thread, from 0 */
	uint32_t snapshot; /* whose snapshot it belongs to, from 1; 0: none */
	bool has_calls;
};

/* Each returns NULL or an error, which ends the run. */
struct mt_slice_sink_ops {
	struct mt_error *(*thread)(void *sink, const struct mt_thread *thread);
	struct mt_error *(*segment_begin)(void *sink, const struct mt_thread_segment *segment);
	struct mt_error *(*begin)(void *sink, const struct mt_slice *slice);
	struct mt_error *(*end)(void *sink, const struct mt_slice_end *end);
	struct mt_error *(*instant)(void *sink, const struct mt_instant *instant);
	/* Only on a track of counters, between its segment's begin and end.  May be NULL. */
	struct mt_error *(*counter)(void *sink, const struct mt_counter *counter);
	struct mt_error *(*segment_end)(void *sink, const struct mt_thread_segment *segment);
	/* The run is over, and nothing failed: what was lent goes away after this.  May be NULL. */
	struct mt_error *(*finish)(void *sink);
};

struct mt_slice_sink {
	const struct mt_slice_sink_ops *ops;
	void *self;
};

/* "main", "[syscall]", "[lost: …]": what a slice is called.  Lent. */
const char *mt_slice_name(const struct mt_slice *slice);
/* "SIGSEGV", or "signal 99" from a static buffer-free table: lent, static. */
const char *mt_signal_name(uint32_t number);

#endif
