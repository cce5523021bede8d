/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One ring per CPU. The events are those of a thread and of all its descendants; the records of
 * context switches show which thread a part of a CPU's trace belongs to.  Source:
 * perf_event_open(2), inherit. */
#include "engine/pt/private.h"
#include "kernel/system.h"

#include <stdlib.h>

#define ONLINE "/sys/devices/system/cpu/online"

static struct mt_error *add_cpu(struct mt_pt_engine *engine, pid_t pid, pid_t lwp, int cpu)
{
	struct mt_pt_buffer *ring = engine->rings;

	while (ring && ring->cpu != cpu)
		ring = ring->next;
	return ring ? mt_pt_buffer_join(engine, ring, lwp)
		    : mt_pt_buffer_open_cpu(engine, pid, lwp, cpu);
}

/* "0-3,5" */
struct mt_error *mt_pt_add_cpus(struct mt_pt_engine *engine, pid_t pid, pid_t lwp)
{
	char text[4096];
	char *at = text;

	if (mt_system_read_file(ONLINE, text, sizeof(text)) <= 0)
		return mt_error_new(MT_ERROR_SYSTEM, "cannot read %s: mount sysfs", ONLINE);
	while (*at >= '0' && *at <= '9') {
		unsigned long first = strtoul(at, &at, 10);
		unsigned long last = *at == '-' ? strtoul(at + 1, &at, 10) : first;

		for (unsigned long cpu = first; cpu <= last && cpu < INT32_MAX; cpu++)
			mt_try(add_cpu(engine, pid, lwp, (int)cpu));
		at += *at == ',';
	}
	return NULL;
}
