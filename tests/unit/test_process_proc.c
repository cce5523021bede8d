/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What /proc says of a process. */
#include "unit.h"

#include "process/proc.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 500

static void *reap(void *pid)
{
	waitpid(*(pid_t *)pid, NULL, 0);
	return NULL;
}

/* Its entry may go between our opening of it and our reading. */
static void test_reaped_while_it_is_looked_at(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();
		siginfo_t info;
		pthread_t reaper;

		if (!pid)
			_exit(0);
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
		assert_int_equal(pthread_create(&reaper, NULL, reap, &pid), 0);
		for (int k = 0; k < 10; k++) {
			assert_true(mt_proc_has_ended(pid));
			assert_true(mt_proc_is_exiting(pid));
		}
		pthread_join(reaper, NULL);
	}
}

static void test_one_that_runs(void **state)
{
	(void)state;
	assert_false(mt_proc_has_ended(getpid()));
	assert_false(mt_proc_is_exiting(getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reaped_while_it_is_looked_at),
	    cmocka_unit_test(test_one_that_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
