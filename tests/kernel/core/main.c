/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "event.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	device = open("/dev/mtrace_test_pt", O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(1, "/dev/mtrace_test_pt");
	test_overwrite();
	test_full();
	test_threads();
	test_refusals();
	test_privileges();
	test_filters();
	return checks_end() ? 0 : 1;
}
