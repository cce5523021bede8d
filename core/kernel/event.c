/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/event.h"

#include "kernel/system.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* attr.aux_action, which the headers of older kernels call a reserved field. */
#define AUX_ACTION_OFFSET (offsetof(struct perf_event_attr, aux_sample_size) + sizeof(uint32_t))
#define CLOCK_RAW         4 /* CLOCK_MONOTONIC_RAW */

bool mt_perf_acts_on_aux(const struct perf_event_attr *attr)
{
	uint32_t action;

	memcpy(&action, (const char *)attr + AUX_ACTION_OFFSET, sizeof(action));
	return action != 0;
}

struct perf_event_attr mt_perf_spec_attr(const struct mt_perf_spec *spec)
{
	static const uint32_t aux_actions[] = {
	    [MT_PERF_AUX_NONE] = 0,
	    [MT_PERF_AUX_PAUSE] = 1u << 1,
	    [MT_PERF_AUX_RESUME] = 1u << 2,
	};
	struct perf_event_attr attr = {
	    .size = sizeof(attr),
	    .type = spec->type,
	    .config = spec->config,
	    .config1 = spec->config1,
	    .config2 = spec->config2,
	    .bp_type = spec->breakpoint,
	    .sample_period = spec->period,
	    .sample_type = spec->sample_type,
	    .sample_regs_user = spec->registers,
	    .read_format = spec->read_format,
	    .exclude_kernel = !spec->kernel,
	    .exclude_hv = !spec->kernel, /* some PMUs cannot exclude anything */
	    .sample_id_all = 1,
	    .disabled = spec->disabled,
	    .enable_on_exec = spec->enable_on_exec,
	    .inherit = spec->inherit || spec->inherit_thread,
	    .inherit_thread = spec->inherit_thread,
	    .write_backward = spec->backward,
	    .context_switch = spec->switches,
	    .watermark = spec->watermark_bytes != 0,
	    .wakeup_watermark = spec->watermark_bytes,
	};

	if (spec->raw_clock) {
		attr.use_clockid = 1;
		attr.clockid = CLOCK_RAW;
	}
	if (spec->sideband) {
		attr.mmap = attr.mmap2 = 1;
		attr.comm = attr.comm_exec = 1;
		attr.task = 1;
	}
	memcpy((char *)&attr + AUX_ACTION_OFFSET, &aux_actions[spec->aux], sizeof(uint32_t));
	return attr;
}

struct mt_error *mt_perf_event_open(const struct mt_perf_spec *spec, pid_t pid, int cpu, int group,
				    int *fd)
{
	struct perf_event_attr attr = mt_perf_spec_attr(spec);
	int result = mt_system_open_event(&attr, pid, cpu, group);

	if (result < 0)
		return mt_perf_event_explain(&attr, spec->what, pid, cpu, -result);
	*fd = result;
	result = spec->trap && pid > 0 ? mt_system_signal(*fd, pid, MT_TRAP_SIGNAL) : 0;
	if (result >= 0)
		return NULL;
	mt_system_close(*fd);
	if (result == -ESRCH)
		return mt_error_new(MT_ERROR_GONE, "thread %d has ended", (int)pid);
	return mt_error_errno(-result, "cannot stop thread %d at %s", (int)pid, spec->what);
}
