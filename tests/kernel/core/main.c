/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "event.h"

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>

/* Nobody takes the CPU away between two calls: each time would end a stretch of the trace. */
static void be_undisturbed(void)
{
	const struct sched_param first = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		err(1, "SCHED_FIFO");
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	device = open("/dev/mtrace_test_pt", O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(1, "/dev/mtrace_test_pt");
	be_undisturbed();
	test_overwrite();
	test_full();
	test_pause();
	test_threads();
	test_times();
	test_refusals();
	test_privileges();
	test_filters();
	return checks_end() ? 0 : 1;
}
