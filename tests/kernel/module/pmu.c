// SPDX-License-Identifier: GPL-3.0-or-later OR GPL-2.0-only
/* The PMU, as perf's core sees it. */
#include "pt.h"

#include <linux/bitfield.h>
#include <linux/module.h>

#define PT_CONFIG                                                                                  \
	(PT_PASS_THROUGH | PT_CYC | PT_POWER | PT_FUP_ON_PTW | PT_MTC | PT_TSC | PT_NO_RETCOMP |   \
	 PT_PTW | PT_BRANCH | PT_MTC_PERIOD | PT_CYC_THRESHOLD | PT_PSB_PERIOD)

DEFINE_PER_CPU(struct pt_cpu, pt_cpus);
static struct pmu pt_pmu;

/* Zero stands for what the hardware does by itself, and is always allowed. */
static bool is_allowed(u64 allowed, u64 value)
{
	return !value || (allowed & BIT_ULL(value));
}

static bool config_is_valid(u64 config)
{
	if (config & ~PT_CONFIG)
		return false;
	if (!is_allowed(PT_PSB_PERIODS, FIELD_GET(PT_PSB_PERIOD, config)) ||
	    !is_allowed(PT_CYC_THRESHOLDS, FIELD_GET(PT_CYC_THRESHOLD, config)) ||
	    !is_allowed(PT_MTC_PERIODS, FIELD_GET(PT_MTC_PERIOD, config)))
		return false;
	if ((config & PT_FUP_ON_PTW) && !(config & PT_PTW))
		return false;
	/* Without bit 0 branches are always traced, and nobody may say so. */
	return (config & PT_PASS_THROUGH) || !(config & PT_BRANCH);
}

static int pt_event_init(struct perf_event *event)
{
	if (event->attr.type != pt_pmu.type)
		return -ENOENT;
	return config_is_valid(event->attr.config) ? 0 : -EINVAL;
}

static void pt_event_start(struct perf_event *event, int flags)
{
	struct pt_cpu *cpu = this_cpu_ptr(&pt_cpus);

	if (flags & PT_EF_RESUME)
		return;
	if (!pt_output_begin(cpu, event)) {
		event->hw.state = PERF_HES_STOPPED;
		return;
	}
	/* What perf_event_itrace_started() does, which modules cannot call:
	 * PERF_RECORD_ITRACE_START is written once. */
	event->attach_state |= PERF_ATTACH_ITRACE;
	perf_event_addr_filters_sync(event);
	event->hw.state = 0;
}

static void pt_event_stop(struct perf_event *event, int flags)
{
	if (event->hw.state == PERF_HES_STOPPED || (flags & PT_EF_PAUSE))
		return;
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_UPDATE)
		pt_output_end(this_cpu_ptr(&pt_cpus));
}

static int pt_event_add(struct perf_event *event, int flags)
{
	if (this_cpu_ptr(&pt_cpus)->handle.event)
		return -EBUSY;
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	pt_event_start(event, 0);
	return event->hw.state == PERF_HES_STOPPED ? -EINVAL : 0;
}

static void pt_event_del(struct perf_event *event, int flags)
{
	pt_event_stop(event, PERF_EF_UPDATE);
}

static void pt_event_read(struct perf_event *event)
{
}

/* Ranges of code alone: no single addresses, no "start". */
static int pt_filters_validate(struct list_head *filters)
{
	struct perf_addr_filter *filter;
	int count = 0;

	list_for_each_entry(filter, filters, entry)
	{
		if (!filter->size || filter->action == PERF_ADDR_FILTER_ACTION_START)
			return -EOPNOTSUPP;
		if (++count > PT_ADDRESS_RANGES)
			return -EOPNOTSUPP;
	}
	return 0;
}

/* The device reads the ranges from the event itself: there are no registers to set. */
static void pt_filters_sync(struct perf_event *event)
{
}

static struct pmu pt_pmu = {
    .module = THIS_MODULE,
    .capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | PT_PAUSES,
    .task_ctx_nr = perf_sw_context,
    .attr_groups = pt_attribute_groups,
    .event_init = pt_event_init,
    .add = pt_event_add,
    .del = pt_event_del,
    .start = pt_event_start,
    .stop = pt_event_stop,
    .read = pt_event_read,
    .setup_aux = pt_setup_aux,
    .free_aux = pt_free_aux,
    .addr_filters_validate = pt_filters_validate,
    .addr_filters_sync = pt_filters_sync,
    .nr_addr_filters = PT_ADDRESS_RANGES,
};

static int __init pt_init(void)
{
	int result = perf_pmu_register(&pt_pmu, "intel_pt", -1);

	if (result)
		return result;
	result = pt_device_register();
	if (result)
		perf_pmu_unregister(&pt_pmu);
	return result;
}

static void __exit pt_exit(void)
{
	pt_device_unregister();
	perf_pmu_unregister(&pt_pmu);
}

module_init(pt_init);
module_exit(pt_exit);
MODULE_DESCRIPTION("A PMU intel_pt that plays what it is given, for tests");
MODULE_LICENSE("GPL");
