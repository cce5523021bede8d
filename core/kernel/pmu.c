/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/pmu.h"

#include "kernel/system.h"

#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE               "/sys/bus/event_source/devices/intel_pt/"
#define CPUID_7_EBX_INTEL_PT (1u << 25) /* Intel SDM vol. 2A, CPUID */
#define LAST_BIT             63

static const char *const field_names[MT_PMU_FIELD_COUNT] = {
    [MT_PMU_PT] = "pt",
    [MT_PMU_CYC] = "cyc",
    [MT_PMU_PWR_EVT] = "pwr_evt",
    [MT_PMU_FUP_ON_PTW] = "fup_on_ptw",
    [MT_PMU_MTC] = "mtc",
    [MT_PMU_TSC] = "tsc",
    [MT_PMU_NORETCOMP] = "noretcomp",
    [MT_PMU_PTW] = "ptw",
    [MT_PMU_BRANCH] = "branch",
    [MT_PMU_MTC_PERIOD] = "mtc_period",
    [MT_PMU_CYC_THRESH] = "cyc_thresh",
    [MT_PMU_PSB_PERIOD] = "psb_period",
};

/* The first line of a file below the PMU's directory; false: there is none. */
static bool read_line(const char *root, const char *name, char *text, size_t size)
{
	char *path = NULL;
	bool ok = asprintf(&path, "%s" DEVICE "%s", root, name) >= 0 &&
		  mt_system_read_file(path, text, size) >= 0;

	free(path);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

static struct mt_error *not_understood(const char *root, const char *name, const char *text)
{
	return mt_error_new(MT_ERROR_FORMAT,
			    "%s" DEVICE "%s says \"%s\", which is not understood: this kernel "
			    "describes Intel PT in an unknown way",
			    root, name, text);
}

/* 0 where there is no such file: older kernels know less. */
static struct mt_error *read_number(const char *root, const char *name, int base, uint32_t *value)
{
	char text[64];
	char *end = NULL;

	*value = 0;
	if (!read_line(root, name, text, sizeof(text)))
		return NULL;
	errno = 0;
	unsigned long long number = strtoull(text, &end, base);
	if (end == text || *end || errno || number > UINT32_MAX)
		return not_understood(root, name, text);
	*value = (uint32_t)number;
	return NULL;
}

/* Capabilities are written in hexadecimal. */
static struct mt_error *read_capability(const char *root, const char *name, uint32_t *value)
{
	char path[64];

	snprintf(path, sizeof(path), "caps/%s", name);
	return read_number(root, path, 16, value);
}

static struct mt_error *read_flag(const char *root, const char *name, bool *value)
{
	uint32_t number = 0;
	struct mt_error *error = read_capability(root, name, &number);

	*value = number != 0;
	return error;
}

/* "config:14-17" or "config:1". */
static struct mt_error *read_field(const char *root, const char *name, uint64_t *bits)
{
	char path[64], text[64];
	unsigned first = 0, last = 0;
	int read = 0;

	*bits = 0;
	snprintf(path, sizeof(path), "format/%s", name);
	if (!read_line(root, path, text, sizeof(text)))
		return NULL;
	if (sscanf(text, "config:%2u-%2u%n", &first, &last, &read) != 2) {
		read = 0;
		if (sscanf(text, "config:%2u%n", &first, &read) != 1)
			return not_understood(root, path, text);
		last = first;
	}
	if (text[read] || last > LAST_BIT || first > last)
		return not_understood(root, path, text);
	*bits = (~0ull >> (LAST_BIT - (last - first))) << first;
	return NULL;
}

static struct mt_error *read_capabilities(const char *root, struct mt_pmu *pmu)
{
	uint32_t ranges = 0;

	mt_try(read_flag(root, "psb_cyc", &pmu->psb_cyc));
	mt_try(read_flag(root, "mtc", &pmu->mtc));
	mt_try(read_flag(root, "ptwrite", &pmu->ptwrite));
	mt_try(read_flag(root, "power_event_trace", &pmu->power_events));
	mt_try(read_flag(root, "ip_filtering", &pmu->ip_filtering));
	mt_try(read_capability(root, "mtc_periods", &pmu->mtc_periods));
	mt_try(read_capability(root, "cycle_thresholds", &pmu->cyc_thresholds));
	mt_try(read_capability(root, "psb_periods", &pmu->psb_periods));
	mt_try(read_capability(root, "num_address_ranges", &ranges));
	mt_try(read_number(root, "nr_addr_filters", 10, &pmu->address_filters));
	if (!pmu->address_filters && pmu->ip_filtering)
		pmu->address_filters = ranges;
	return NULL;
}

bool mt_pmu_processor_has_pt(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & CPUID_7_EBX_INTEL_PT);
}

static struct mt_error *no_pmu(const char *root)
{
	unsigned int a, b, c = 0, d;
	char *devices = NULL;
	bool has_devices = asprintf(&devices, "%s/sys/bus/event_source/devices", root) >= 0 &&
			   access(devices, F_OK) == 0;

	free(devices);
	if (!has_devices)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s/sys/bus/event_source/devices does not exist; mount sysfs (in "
		    "a container: docker run -v /sys:/sys:ro), or the kernel was "
		    "built without CONFIG_PERF_EVENTS",
		    root);
	if (mt_pmu_processor_has_pt())
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "the processor has Intel PT, but the kernel has no PMU intel_pt: it was "
		    "built without CONFIG_PERF_EVENTS_INTEL_PT, or a hypervisor reserves PT for "
		    "itself (KVM passes it to guests with kvm_intel.pt_mode=1 and qemu -cpu "
		    "host)");
	if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 31 & 1)) /* "hypervisor present" */
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "this virtual machine has no Intel PT: record on an Intel host itself, or "
		    "let KVM pass PT through (kvm_intel.pt_mode=1 on the host, qemu -cpu host)");
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "this processor has no Intel PT (Intel has it since Broadwell; AMD and "
			    "others have none), or the firmware hides it");
}

struct mt_error *mt_pmu_read(const char *root, struct mt_pmu *pmu)
{
	char text[64];
	int read = 0;

	*pmu = (struct mt_pmu){0};
	if (!read_line(root, "type", text, sizeof(text)))
		return no_pmu(root);
	mt_try(read_number(root, "type", 10, &pmu->type));
	for (int i = 0; i < MT_PMU_FIELD_COUNT; i++)
		mt_try(read_field(root, field_names[i], &pmu->fields[i]));
	mt_try(read_capabilities(root, pmu));
	mt_try(read_number(root, "max_nonturbo_ratio", 10, &pmu->max_nonturbo_ratio));
	if (!read_line(root, "tsc_art_ratio", text, sizeof(text)))
		return NULL;
	if (sscanf(text, "%u:%u%n", &pmu->tsc_ctc_numerator, &pmu->tsc_ctc_denominator, &read) !=
		2 ||
	    text[read])
		return not_understood(root, "tsc_art_ratio", text);
	return NULL;
}

bool mt_pmu_parse_resolution(const char *text, enum mt_pmu_resolution *resolution)
{
	static const char *const names[] = {
	    [MT_PMU_NORMAL] = "normal", [MT_PMU_LOW] = "low", [MT_PMU_HIGH] = "high"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], text) == 0) {
			*resolution = (enum mt_pmu_resolution)i;
			return true;
		}
	}
	return false;
}
