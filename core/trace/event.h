/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control-flow events: what every event source (PT bytes, call events, a text stream in tests)
 * gives, a thread at a time, in the order in which it happened.
 *
 * Between an event's `to` and the next event's `from` the code ran straight on: [to, from] is one
 * block, whose last instruction stands at `from`.  So the executed addresses can be had from the
 * events alone. */
#ifndef MT_TRACE_EVENT_H
#define MT_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Threads' numbers lie below (PID_MAX_LIMIT, linux/threads.h); that of the CPUs' idle threads,
 * which run no program, is 0. */
#define MT_TID_LIMIT (1 << 22)
static inline bool mt_tid_is_thread(int32_t tid)
{
	return tid > 0 && tid < MT_TID_LIMIT;
}

enum mt_event_kind {
	/* from: address of the branch instruction; to: where it went.  A conditional branch that
	 * was not taken is no event. */
	MT_EVENT_CALL,
	MT_EVENT_RETURN,
	MT_EVENT_JUMP,

	/* The kernel is traced too. */
	MT_EVENT_SYSCALL,   /* from: the syscall instruction, to: the kernel's entry */
	MT_EVENT_SYSRET,    /* from: in the kernel, to: in user space */
	MT_EVENT_INTERRUPT, /* from: the instruction that did not run, to: the handler */
	MT_EVENT_IRET,

	/* Tracing begins (to) and ends (from: see detail) — in user-only traces at every way into
	 * the kernel and back. */
	MT_EVENT_TRACE_START,
	MT_EVENT_TRACE_END, /* detail: enum mt_trace_end */

	MT_EVENT_TX_BEGIN, /* a transaction: from = to = its address */
	MT_EVENT_TX_COMMIT,
	/* from: where it was given up, to: where it goes on; both may be 0, not known: then a
	 * TRACE_END follows whose from is 0 (tracing ended with it, or was off), or a GAP. */
	MT_EVENT_TX_ABORT,

	/* Lost data.  detail: enum mt_gap_cause; from: bytes lost, 0 if not known; to: where
	 * control is afterwards, 0 if not known (then a TRACE_START follows, or the end). */
	MT_EVENT_GAP,

	/* Sideband, put in at its time. */
	MT_EVENT_SIGNAL, /* about to be delivered. detail: number; from: PC; to: si_addr or 0 */
	MT_EVENT_MARK,   /* detail: enum mt_mark; from: PC or 0; to: a number that goes with it */

	/* Call events: what is known when functions report and not branches, for
	 * mt_rebuild_from_calls alone.  from: the stack pointer, where the function's return
	 * address lies. */
	MT_EVENT_ENTRY, /* to: the function's entry; mt_event_return_address() */
	/* to: its ret, about to run; what lies at or below `from` is over.  Of a jump that counts
	 * as a return `from` is one less than where it sets the stack pointer to, since what lies
	 * there is not over. */
	MT_EVENT_LEAVE,
	/* A frame that is open, from an unwinder, innermost first.  to: an address within the
	 * instruction where it stands, be it that of a call that has not returned. */
	MT_EVENT_FRAME,
	/* to: the function's entry, to which it jumps back; its stack may have moved meanwhile. */
	MT_EVENT_AGAIN,
	/* What the ENTRY, or LEAVE, right behind it was called with, or returned: to: 64 bits;
	 * detail: whose, by the numbers of trace/recorded_values.h. */
	MT_EVENT_VALUE,
};

enum mt_trace_end {
	MT_TRACE_END_STOP,    /* the recording's window ends; from: next instruction to run */
	MT_TRACE_END_SYSCALL, /* from: the syscall instruction */
	MT_TRACE_END_ASYNC,   /* interrupt, fault, signal; from: the instruction that did not run */
	MT_TRACE_END_FILTER,  /* a branch left the traced range; from: that branch */
};

enum mt_gap_cause {
	MT_GAP_OVERFLOW,    /* the processor's internal buffer (OVF packet) */
	MT_GAP_AUX_LOST,    /* the AUX area was full: PERF_RECORD_AUX, TRUNCATED */
	MT_GAP_NO_CODE,     /* no bytes of the code at this address */
	MT_GAP_BAD_TRACE,   /* packets that make no sense here */
	MT_GAP_EVENTS_LOST, /* PERF_RECORD_LOST: sideband is missing */
	MT_GAP_COLLISION,   /* PERF_RECORD_AUX, COLLISION: somebody else used the PMU */
	MT_GAP_PARTIAL,     /* PERF_RECORD_AUX, PARTIAL */
	MT_GAP_UNWRITTEN,   /* it was copied, and not written any more */
	MT_GAP_CAUSES
};

enum mt_mark {
	MT_MARK_TRIGGER,   /* to: the trigger's number */
	MT_MARK_SNAPSHOT,  /* to: the number of the snapshot */
	MT_MARK_EXIT,      /* the thread ended; to: its wait status */
	MT_MARK_THROTTLE,  /* from: a function that is not recorded from here on */
	MT_MARK_OWN_STACK, /* to: right above the thread's own stack; from: its bytes */
	MT_MARK_EXEC,      /* the thread's program was replaced: ends a segment */
};

/* In the time's own right, or the last time known when the event was decoded: such events are
 * spread over the time until the next known one (trace/segment_log.h). */
#define MT_EVENT_TIME_IS_ESTIMATE 0x1
/* Of a SNAPSHOT mark: nothing is lost between it and what follows, so what is open stays open. */
#define MT_EVENT_RUNS_ON 0x2
/* A signal is told of on another track: only its handler is to come. */
#define MT_EVENT_IS_TOLD 0x4

struct mt_event {
	uint64_t time_ns; /* in the recording's clock; never runs backwards within a thread */
	uint64_t from;
	uint64_t to;
	uint8_t kind;    /* enum mt_event_kind */
	uint8_t flags;   /* MT_EVENT_… */
	uint16_t high;   /* ENTRY: of the return address; else 0 */
	uint32_t detail; /* by kind; ENTRY: the low half of the return address */
};

/* Of an ENTRY: where the function returns to; 0: not known. */
static inline uint64_t mt_event_return_address(const struct mt_event *event)
{
	return (uint64_t)event->high << 32 | event->detail;
}

static inline void mt_event_set_return_address(struct mt_event *event, uint64_t address)
{
	bool fits = address >> 48 == 0;

	event->high = (uint16_t)(fits ? address >> 32 : 0);
	event->detail = fits ? (uint32_t)address : 0;
}

static inline int mt_address_is_kernel(uint64_t address)
{
	return address >> 63 != 0;
}

/* "the processor's trace buffer overflowed": lent, static. */
const char *mt_gap_cause_text(enum mt_gap_cause cause);

#endif
