/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/target.h"

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *pause_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

/* A child of two threads.  It says so when both are there. */
static pid_t start(void)
{
	int ends[2];
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;

		alarm(120); /* should we fail */
		pthread_create(&thread, NULL, pause_for_ever, NULL);
		if (write(ends[1], &byte, 1) != 1)
			_exit(1);
		pause_for_ever(NULL);
	}
	assert_true(child > 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return child;
}

/* The kernel does not tell of a first thread's end while others are there. */
static void test_no_call_of_one_that_ends(void **state)
{
	struct mt_target *target = NULL;
	struct mt_system_call call = {.number = SYS_getpid};
	struct mt_stop stop = {0};

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	assert_no_error(mt_target_call_system(target, child, &call));
	assert_int_equal(call.result, child);
	assert_int_equal(kill(child, SIGKILL), 0);
	do
		assert_no_error(target->run->wait(target, -1, &stop));
	while (stop.kind != MT_STOP_EXITING || stop.lwp != child);
	assert_error(mt_target_call_system(target, child, &call), MT_ERROR_GONE, "exited");
	target->ops->destroy(target);
}

/* The program took away the code by which its threads are borrowed: that ends, and does no harm. */
static void test_code_that_is_gone(void **state)
{
	struct mt_target *target = NULL;
	struct mt_system_call call = {.number = SYS_getpid};
	struct user_regs_struct before, after;

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->get_registers(target, child, &before));
	assert_no_error(target->ops->set_injected(target, child, 0x10));
	assert_error(mt_target_call_system(target, child, &call), MT_ERROR_BUSY, "SIGSEGV");
	assert_no_error(target->ops->get_registers(target, child, &after));
	assert_memory_equal(&before, &after, sizeof(before));
	assert_no_error(target->ops->set_injected(target, child, 0));
	assert_no_error(mt_target_call_system(target, child, &call));
	assert_int_equal(call.result, child);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_call_of_one_that_ends),
	    cmocka_unit_test(test_code_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
