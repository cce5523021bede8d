/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/target.h"

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS     40
#define MOST_STOPS 200
#define TIMEOUT_MS 10000

static void *do_nothing(void *nothing)
{
	return nothing;
}

static void *make_threads(void *nothing)
{
	pthread_t thread;

	for (;;)
		if (!pthread_create(&thread, NULL, do_nothing, NULL))
			pthread_join(thread, NULL);
	return nothing;
}

static pid_t start(void)
{
	pid_t child = fork();

	if (child == 0) {
		pthread_t thread;

		alarm(120); /* should we fail */
		for (int i = 0; i < 3; i++)
			pthread_create(&thread, NULL, make_threads, NULL);
		make_threads(NULL);
	}
	assert_true(child > 0);
	return child;
}

static struct mt_error *go_on(void *target, pid_t lwp)
{
	mt_error_destroy(mt_target_resume(target, lwp, MT_RESUME_CONTINUE, 0));
	return NULL;
}

/* Births are told of living threads alone, and the end is told. */
static void check_stop(struct mt_target *target, pid_t pid, const struct mt_stop *stop)
{
	assert_int_not_equal(stop->kind, MT_STOP_NONE);
	assert_int_not_equal(stop->kind, MT_STOP_FORK);
	assert_int_equal(stop->pid, pid);
	if (stop->kind == MT_STOP_NEW_THREAD) {
		assert_true(stop->child > 0);
		go_on(target, stop->child);
	}
	if (stop->kind != MT_STOP_EXITED)
		go_on(target, stop->lwp);
}

/* Reports that were waited for, and that nobody was told of, when their threads were killed. */
static void test_killed_with_births_untold(void **state)
{
	struct mt_target *target = NULL;
	struct mt_stop stop;

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	for (unsigned round = 0; round < ROUNDS; round++) {
		pid_t child = start();

		assert_no_error(target->run->attach(target, child));
		assert_no_error(target->ops->each_thread(target, child, go_on, target));
		for (unsigned i = 0; i < round * MOST_STOPS / ROUNDS; i++) {
			assert_no_error(target->run->wait(target, TIMEOUT_MS, &stop));
			check_stop(target, child, &stop);
		}
		assert_no_error(mt_target_halt(target, child));
		assert_int_equal(kill(child, SIGKILL), 0);
		do {
			assert_no_error(target->run->wait(target, TIMEOUT_MS, &stop));
			check_stop(target, child, &stop);
		} while (stop.kind != MT_STOP_EXITED || stop.lwp != child);
	}
	target->ops->destroy(target);
}

static volatile int is_traced;
extern const char at_int1[];

static void trap_once_traced(void)
{
	alarm(120); /* should we fail */
	while (!is_traced)
		;
	__asm__ volatile("at_int1: .byte 0xf1\n\tnop" ::: "memory");
	for (;;)
		pause();
}

/* It waits for `is_traced`, which is set in it, and stands still. */
static pid_t start_traced(struct mt_target *target, void (*run)(void))
{
	const int yes = 1;
	pid_t child = fork();

	if (child == 0)
		run();
	assert_true(child > 0);
	assert_no_error(target->run->attach(target, child));
	assert_no_error(
	    target->ops->write(target, child, (uint64_t)(uintptr_t)&is_traced, &yes, sizeof(yes)));
	return child;
}

/* The debug exception says nothing of a step in debug register 6: so does one by INT1. */
static void test_step_that_is_not_told(void **state)
{
	struct mt_target *target = NULL;
	struct user_regs_struct registers;
	struct mt_stop stop;

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start_traced(target, trap_once_traced);
	const uint64_t at = (uint64_t)(uintptr_t)at_int1;
	int times = 0;
	do {
		assert_no_error(mt_target_resume(target, child, MT_RESUME_STEP, 0));
		assert_no_error(target->run->wait(target, TIMEOUT_MS, &stop));
		assert_no_error(target->ops->get_registers(target, child, &registers));
		times += registers.rip == at;
	} while (registers.rip != at + 1 && times < 2);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
	if (registers.rip == at) {
		print_message("this virtual machine comes to no end of INT1\n");
		skip();
	}
	assert_int_equal(stop.kind, MT_STOP_STEP);
}

static void handle(int number)
{
	(void)number;
}

/* Sends itself what the kernel says of a handler's first instruction, where there is none. */
static void forge_traps(void)
{
	siginfo_t info = {.si_signo = SIGTRAP, .si_code = SIGTRAP};

	alarm(120); /* should we fail */
	signal(SIGUSR1, handle);
	signal(SIGTRAP, handle);
	while (!is_traced)
		;
	raise(SIGUSR1);
	for (;;)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &info);
}

static void wait_for_stop(struct mt_target *target, pid_t child, struct mt_stop *stop)
{
	do {
		assert_no_error(mt_target_resume(target, child, MT_RESUME_CONTINUE, 0));
		assert_no_error(target->run->wait(target, TIMEOUT_MS, stop));
		assert_int_not_equal(stop->kind, MT_STOP_NONE);
	} while (stop->kind == MT_STOP_INTERRUPTED);
}

/* Another tracer did: it was killed, and we came before the thread could make the handler's frame.
 */
static void test_handler_entered_by_another_ones_step(void **state)
{
	struct mt_target *target = NULL;
	struct mt_stop stop;

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start_traced(target, forge_traps);
	wait_for_stop(target, child, &stop);
	assert_int_equal(stop.kind, MT_STOP_SIGNAL);
	assert_int_equal(stop.signal, SIGUSR1);
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, 0, SIGUSR1), 0);
	assert_no_error(target->run->wait(target, TIMEOUT_MS, &stop));
	assert_int_equal(stop.kind, MT_STOP_HANDLER);

	wait_for_stop(target, child, &stop);
	assert_int_equal(stop.kind, MT_STOP_SIGNAL);
	assert_int_equal(stop.signal, SIGTRAP);
	assert_int_equal(stop.code, SIGTRAP);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_handler_entered_by_another_ones_step),
	    cmocka_unit_test(test_killed_with_births_untold),
	    cmocka_unit_test(test_step_that_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
