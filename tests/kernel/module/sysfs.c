// SPDX-License-Identifier: GPL-3.0-or-later OR GPL-2.0-only
/* /sys/bus/event_source/devices/intel_pt: the files of the real driver. */
#include "pt.h"

#include <linux/device.h>
#include <linux/module.h>

static unsigned int max_nonturbo_ratio = 23;
static unsigned int tsc_art[2] = {128, 1};

module_param(max_nonturbo_ratio, uint, 0444);
MODULE_PARM_DESC(max_nonturbo_ratio, "TSC ticks a tick of the bus clock");
module_param_array(tsc_art, uint, NULL, 0444);
MODULE_PARM_DESC(tsc_art, "TSC ticks to ticks of the crystal clock, such as 128,1");

static ssize_t show_cap(struct device *device, struct device_attribute *attribute, char *page)
{
	struct dev_ext_attribute *cap = container_of(attribute, struct dev_ext_attribute, attr);

	return sysfs_emit(page, "%lx\n", (unsigned long)cap->var);
}

#define PT_CAP(name, value)                                                                        \
	static struct dev_ext_attribute cap_##name = {__ATTR(name, 0444, show_cap, NULL),          \
						      (void *)value}

PT_CAP(max_subleaf, 1);
PT_CAP(cr3_filtering, 1);
PT_CAP(psb_cyc, 1);
PT_CAP(ip_filtering, 1);
PT_CAP(mtc, 1);
PT_CAP(ptwrite, 1);
PT_CAP(power_event_trace, 1);
PT_CAP(event_trace, 0);
PT_CAP(tnt_disable, 0);
PT_CAP(topa_output, 1);
PT_CAP(topa_multiple_entries, 1);
PT_CAP(single_range_output, 1);
PT_CAP(output_subsys, 0);
PT_CAP(payloads_lip, 0);
PT_CAP(num_address_ranges, PT_ADDRESS_RANGES);
PT_CAP(mtc_periods, PT_MTC_PERIODS);
PT_CAP(cycle_thresholds, PT_CYC_THRESHOLDS);
PT_CAP(psb_periods, PT_PSB_PERIODS);

static struct attribute *caps[] = {
    &cap_max_subleaf.attr.attr,
    &cap_cr3_filtering.attr.attr,
    &cap_psb_cyc.attr.attr,
    &cap_ip_filtering.attr.attr,
    &cap_mtc.attr.attr,
    &cap_ptwrite.attr.attr,
    &cap_power_event_trace.attr.attr,
    &cap_event_trace.attr.attr,
    &cap_tnt_disable.attr.attr,
    &cap_topa_output.attr.attr,
    &cap_topa_multiple_entries.attr.attr,
    &cap_single_range_output.attr.attr,
    &cap_output_subsys.attr.attr,
    &cap_payloads_lip.attr.attr,
    &cap_num_address_ranges.attr.attr,
    &cap_mtc_periods.attr.attr,
    &cap_cycle_thresholds.attr.attr,
    &cap_psb_periods.attr.attr,
    NULL,
};

PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(cyc, "config:1");
PMU_FORMAT_ATTR(pwr_evt, "config:4");
PMU_FORMAT_ATTR(fup_on_ptw, "config:5");
PMU_FORMAT_ATTR(mtc, "config:9");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(noretcomp, "config:11");
PMU_FORMAT_ATTR(ptw, "config:12");
PMU_FORMAT_ATTR(branch, "config:13");
PMU_FORMAT_ATTR(event, "config:31");
PMU_FORMAT_ATTR(notnt, "config:55");
PMU_FORMAT_ATTR(mtc_period, "config:14-17");
PMU_FORMAT_ATTR(cyc_thresh, "config:19-22");
PMU_FORMAT_ATTR(psb_period, "config:24-27");

static struct attribute *formats[] = {
    &format_attr_pt.attr,         &format_attr_cyc.attr,        &format_attr_pwr_evt.attr,
    &format_attr_fup_on_ptw.attr, &format_attr_mtc.attr,        &format_attr_tsc.attr,
    &format_attr_noretcomp.attr,  &format_attr_ptw.attr,        &format_attr_branch.attr,
    &format_attr_event.attr,      &format_attr_notnt.attr,      &format_attr_mtc_period.attr,
    &format_attr_cyc_thresh.attr, &format_attr_psb_period.attr, NULL,
};

static ssize_t max_nonturbo_ratio_show(struct device *device, struct device_attribute *attribute,
				       char *page)
{
	return sysfs_emit(page, "%u\n", max_nonturbo_ratio);
}
static DEVICE_ATTR_RO(max_nonturbo_ratio);

static ssize_t tsc_art_ratio_show(struct device *device, struct device_attribute *attribute,
				  char *page)
{
	return sysfs_emit(page, "%u:%u\n", tsc_art[0], tsc_art[1]);
}
static DEVICE_ATTR_RO(tsc_art_ratio);

static struct attribute *timing[] = {
    &dev_attr_max_nonturbo_ratio.attr,
    &dev_attr_tsc_art_ratio.attr,
    NULL,
};

static const struct attribute_group cap_group = {.name = "caps", .attrs = caps};
static const struct attribute_group format_group = {.name = "format", .attrs = formats};
static const struct attribute_group timing_group = {.attrs = timing};

const struct attribute_group *pt_attribute_groups[] = {
    &cap_group,
    &format_group,
    &timing_group,
    NULL,
};
