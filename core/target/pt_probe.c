/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf/event.h"
#include "perf/system.h"
#include "target/pt_private.h"

/* The least that the engine wants, on ourselves: it is closed before anything is traced. */
static struct mt_error *try_open(const struct mt_pmu *pmu)
{
	const struct mt_pmu_settings settings = {0};
	struct mt_pmu_config config;
	int fd = -1;

	mt_try(mt_pmu_configure(pmu, &settings, &config));
	const struct mt_perf_spec spec = {
	    .what = "Intel PT", .type = pmu->type, .config = config.config, .disabled = true};
	mt_try(mt_perf_event_open(&spec, 0, -1, -1, &fd));
	mt_system_close(fd);
	return NULL;
}

struct mt_error *mt_pt_probe(void)
{
	struct mt_pmu pmu;

	mt_try(mt_pmu_read("", &pmu));
	return try_open(&pmu);
}
