/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening a perf event, and saying in words for people why it could not be opened.
 * Source: perf_event_open(2), and kernel/events/core.c for what each errno stands for. */
#ifndef MT_KERNEL_EVENT_H
#define MT_KERNEL_EVENT_H

#include "base/error.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stddef.h>

/* The effect of the event on the AUX area trace of the group that it is in.  Linux 6.13. */
enum mt_perf_aux {
	MT_PERF_AUX_NONE,
	MT_PERF_AUX_PAUSE, /* each of its samples pauses the trace */
	MT_PERF_AUX_RESUME,
};

/* An event in short.  Zero is what is wanted of most fields. */
struct mt_perf_spec {
	const char *what; /* for messages: "the watchpoint on counter" */
	uint32_t type;    /* PERF_TYPE_…, or a PMU's from sysfs */
	uint64_t config, config1, config2;
	uint64_t period;      /* a sample every so many events; 0: it only counts */
	uint64_t sample_type; /* PERF_SAMPLE_… */
	uint64_t read_format; /* PERF_FORMAT_… */
	uint64_t registers;   /* PERF_SAMPLE_REGS_USER: a mask of PERF_REG_X86_… */
	uint8_t breakpoint;   /* HW_BREAKPOINT_…: config1 is its address, config2 its length */
	uint8_t aux;          /* enum mt_perf_aux */
	bool kernel;          /* the kernel is measured as well */
	bool disabled;        /* until PERF_EVENT_IOC_ENABLE */
	bool enable_on_exec;
	bool inherit;             /* new threads and children have it too */
	bool inherit_thread;      /* new threads have it, children do not.  Linux 5.13 */
	bool trap;                /* the thread gets MT_TRAP_SIGNAL at each sample */
	bool backward;            /* its ring is overwritten: see mt_data_ring_map() */
	bool sideband;            /* mmap, comm, fork, exit */
	bool switches;            /* PERF_RECORD_SWITCH */
	bool raw_clock;           /* times are CLOCK_MONOTONIC_RAW's: see kernel/clock.h */
	uint32_t watermark_bytes; /* wake up for so many bytes; 0: never on purpose */
};

/* The signal that a thread gets from an event with `trap`, before it runs another instruction of
 * its own, so that its tracer sees it stop there.  A tracer can be killed at any moment, and then
 * the signal is delivered: so it is one that does nothing to who has no handler, and next to
 * nothing to who has (not so the SIGTRAP of attr.sigtrap).  A thread that blocks it goes on until
 * it does not, as it would with attr.sigtrap since Linux 5.18. */
#define MT_TRAP_SIGNAL SIGWINCH
#define MT_TRAP_CODE   POLL_IN /* si_code: of no other signal */

static inline bool mt_perf_is_trap(int signal, int code)
{
	return signal == MT_TRAP_SIGNAL && code == MT_TRAP_CODE;
}

/* The attribute that the kernel is asked for. */
struct perf_event_attr mt_perf_spec_attr(const struct mt_perf_spec *spec);

/* It has what is asked for by mt_perf_spec.aux. */
bool mt_perf_acts_on_aux(const struct perf_event_attr *attr);

/* On thread PID (0: ourselves, -1: all) and CPU (-1: all), in the group of the event GROUP (-1:
 * none).  *fd is the caller's, to be closed with mt_system_close().
 * Errors, each with what it was, on whom, why, and what would mend it: PERMISSION
 * (perf_event_paranoid, somebody else's process, seccomp of a container); SYSTEM (too many open
 * files, a garbled attribute); BUSY (the PMU or all debug registers are taken); UNSUPPORTED (no
 * such event here, or the kernel is too old); GONE (the thread ended); NO_MEMORY. */
struct mt_error *mt_perf_event_open(const struct mt_perf_spec *spec, pid_t pid, int cpu, int group,
				    int *fd);

/* The same for an attribute that was made otherwise.  ERRNUM: what opening it failed with. */
struct mt_error *mt_perf_event_explain(const struct perf_event_attr *attr, const char *what,
				       pid_t pid, int cpu, int errnum);

/* /proc/sys/kernel/perf_event_paranoid; 2, the kernel's default, where it cannot be read. */
int mt_perf_paranoid(void);
/* Whether Linux is at least MAJOR.MINOR. */
bool mt_perf_kernel_is_at_least(unsigned major, unsigned minor);

#endif
