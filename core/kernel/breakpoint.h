/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hardware breakpoints and watchpoints as perf events: the processor compares, the kernel writes a
 * sample, and a signal stops the thread (MT_TRAP_SIGNAL), which only its tracer need see.  The
 * processor has four debug registers, which debuggers want too.
 *
 * A trace of user space ends at the instruction by that alone, as the thread does not come back to
 * user space before it stops.  That of the kernel goes on until then; in one group with the AUX
 * area event (its leader) a hit can pause it at the very instruction: MT_PERF_AUX_PAUSE, and GROUP
 * is the leader's descriptor.  It then stays paused, also when the leader is disabled and enabled,
 * until an event of the group with MT_PERF_AUX_RESUME has a sample.
 *
 * There are hypervisors that let debug registers be set, by perf_event_open(2) and by ptrace(2),
 * and under which nothing ever stops at them.  So whoever is about to use some asks first.
 *
 * Source: perf_event_open(2), PERF_TYPE_BREAKPOINT; Intel SDM vol. 3B, 17.2 "Debug Registers". */
#ifndef MT_KERNEL_BREAKPOINT_H
#define MT_KERNEL_BREAKPOINT_H

#include "base/str.h"
#include "kernel/event.h"
#include "kernel/ring_sample.h"

#include <sys/user.h>

#define MT_BREAKPOINT_MOST 2 /* of ours: the other two are the debugger's */
/* Why none is used, for messages. */
#define MT_BREAKPOINT_NEVER_HIT                                                                    \
	"debug registers can be set here, but are never hit, as under some hypervisors"

/* When it hits. */
enum mt_access {
	MT_ACCESS_WRITE,
	MT_ACCESS_READ_WRITE, /* x86 has none for reads alone */
	MT_ACCESS_EXECUTE,
};

struct mt_breakpoint {
	uint64_t address;
	uint8_t length; /* 1, 2, 4, 8; of EXECUTE 8 */
	uint8_t access; /* enum mt_access */
};

/* WHAT is lent to the spec. */
struct mt_perf_spec mt_breakpoint_spec(const struct mt_breakpoint *breakpoint, const char *what);
/* Sets one on a variable of our own, with a ring of so many bytes (0: none), and writes that:
 * whether it is hit.  Nobody is signalled.  Errors: UNSUPPORTED (MT_BREAKPOINT_NEVER_HIT); those of
 * mt_perf_event_open() and mt_data_ring_map(). */
struct mt_error *mt_breakpoint_probe(size_t ring_bytes);
/* A sample of such an event.  False: it is garbled. */
bool mt_breakpoint_sample(const struct perf_event_header *record, struct mt_ring_sample *sample);
/* "rax=0x1 rbx=0 …", of such a sample; nothing where it has no registers. */
void mt_breakpoint_registers(const struct mt_ring_sample *sample, struct mt_str *out);
/* The same of a thread that stands still. */
void mt_breakpoint_registers_of(const struct user_regs_struct *registers, struct mt_str *out);

#endif
