/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes this machine with events on ourselves, which are closed before anything is traced. */
#include "engine/pt/private.h"
#include "kernel/breakpoint.h"
#include "kernel/event.h"
#include "kernel/system.h"

/* The least that the engine wants. */
static struct mt_error *open_trace(const struct mt_pmu *pmu, int *fd)
{
	const struct mt_pmu_settings settings = {0};
	struct mt_pmu_config config;

	mt_try(mt_pmu_configure(pmu, &settings, &config));
	const struct mt_perf_spec spec = {
	    .what = "Intel PT", .type = pmu->type, .config = config.config, .disabled = true};
	return mt_perf_event_open(&spec, 0, -1, -1, fd);
}

struct mt_error *mt_pt_probe(void)
{
	struct mt_pmu pmu;
	int fd = -1;

	mt_try(mt_pmu_read("", &pmu));
	mt_try(open_trace(&pmu, &fd));
	mt_system_close(fd);
	return NULL;
}

struct mt_perf_spec mt_pt_resume_spec(void)
{
	return (struct mt_perf_spec){
	    .what = "context switches, which resume a paused trace",
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	    .period = 1,
	    .aux = MT_PERF_AUX_RESUME,
	    .kernel = true, /* it makes them: without it there are none */
	    .disabled = true,
	};
}

static struct mt_error *try_member(const struct mt_perf_spec *spec, int leader)
{
	int fd = -1;

	mt_try(mt_perf_event_open(spec, 0, -1, leader, &fd));
	mt_system_close(fd);
	return NULL;
}

static struct mt_error *try_pausing(int leader)
{
	const uint64_t variable = 0;
	const struct mt_breakpoint breakpoint = {.address = (uint64_t)(uintptr_t)&variable,
						 .length = sizeof(variable)};
	struct mt_perf_spec spec = mt_breakpoint_spec(&breakpoint, "a breakpoint that pauses");

	spec.aux = MT_PERF_AUX_PAUSE;
	spec.disabled = true;
	spec.trap = false;
	return try_member(&spec, leader);
}

struct mt_error *mt_pt_try_pause(const struct mt_pmu *pmu)
{
	int leader = -1;
	struct mt_error *error;

	mt_try(open_trace(pmu, &leader));
	error = try_pausing(leader);
	if (error && mt_error_code(error) == MT_ERROR_UNSUPPORTED) {
		mt_error_destroy(error);
		error = mt_error_new(MT_ERROR_UNSUPPORTED,
				     "pausing a trace in the kernel needs Linux 6.13");
	} else if (!error) {
		const struct mt_perf_spec spec = mt_pt_resume_spec();
		error = try_member(&spec, leader);
	}
	mt_system_close(leader);
	return error;
}
