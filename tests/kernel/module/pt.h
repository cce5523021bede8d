/* SPDX-License-Identifier: GPL-3.0-or-later OR GPL-2.0-only */
/* A PMU "intel_pt" without a processor that has one: for tests, in a virtual machine.
 *
 * To perf's core and to user space it is what arch/x86/events/intel/pt.c is: the same sysfs files,
 * the same rules for attr.config, the same AUX buffers, heads, flags and filters.  Only the bytes
 * are not made by hardware: whoever runs on a CPU writes to /dev/mtrace_test_pt (device.c) what the
 * tracing hardware of that CPU is to put out at that moment.  They go to the event that is tracing
 * there, and nowhere when there is none. */
#ifndef MTRACE_TEST_PT_H
#define MTRACE_TEST_PT_H

#include <linux/perf_event.h>

/* Another event of the group can pause the trace: Linux 6.13.  The driver is told by stop() and
 * start(), and the event itself knows too. */
#ifdef PERF_PMU_CAP_AUX_PAUSE
#define PT_PAUSES           PERF_PMU_CAP_AUX_PAUSE
#define PT_EF_PAUSE         PERF_EF_PAUSE
#define PT_EF_RESUME        PERF_EF_RESUME
#define pt_is_paused(event) READ_ONCE((event)->hw.aux_paused)
#else
#define PT_PAUSES           0
#define PT_EF_PAUSE         0
#define PT_EF_RESUME        0
#define pt_is_paused(event) false
#endif

/* IA32_RTIT_CTL, as in attr.config.  Source: Intel SDM vol. 3C, ch. 33.2.8.2. */
#define PT_PASS_THROUGH  BIT_ULL(0)
#define PT_CYC           BIT_ULL(1)
#define PT_POWER         BIT_ULL(4)
#define PT_FUP_ON_PTW    BIT_ULL(5)
#define PT_MTC           BIT_ULL(9)
#define PT_TSC           BIT_ULL(10)
#define PT_NO_RETCOMP    BIT_ULL(11)
#define PT_PTW           BIT_ULL(12)
#define PT_BRANCH        BIT_ULL(13)
#define PT_MTC_PERIOD    GENMASK_ULL(17, 14)
#define PT_CYC_THRESHOLD GENMASK_ULL(22, 19)
#define PT_PSB_PERIOD    GENMASK_ULL(27, 24)

/* What this "processor" can do, as a Skylake says it of itself. */
#define PT_MTC_PERIODS    0x249
#define PT_CYC_THRESHOLDS 0x1fff
#define PT_PSB_PERIODS    0x3f
#define PT_ADDRESS_RANGES 2

/* An AUX buffer: regions of one or more pages each, one behind the other, as a ToPA would list
 * them.  Positions are bytes since the buffer's beginning; in full mode they go on beyond its end.
 */
struct pt_buffer {
	void **pages;
	unsigned long bytes;
	bool snapshot;
	unsigned long position; /* of the next byte */
	unsigned long begun;    /* where this transaction began */
	unsigned long wake_at;  /* where an interrupt comes */
	unsigned long stop_at;  /* where output stops; full mode only */
};

struct pt_cpu {
	struct perf_output_handle handle;
};

DECLARE_PER_CPU(struct pt_cpu, pt_cpus);

extern const struct attribute_group *pt_attribute_groups[];

/* output.c; all of them with interrupts off, on the CPU concerned. */
void *pt_setup_aux(struct perf_event *event, void **pages, int page_count, bool snapshot);
void pt_free_aux(void *buffer);
bool pt_output_begin(struct pt_cpu *cpu, struct perf_event *event);
void pt_output_end(struct pt_cpu *cpu);
void pt_output(struct pt_cpu *cpu, const u8 *bytes, size_t size);

/* device.c */
int pt_device_register(void);
void pt_device_unregister(void);

#endif
