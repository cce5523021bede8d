/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log.h"
#include "base/pool.h"

#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct mt_error *square(const struct mt_task *task, const void *input, void **result)
{
	const int *number = input;
	int *out = malloc(sizeof(*out));

	(void)task;
	if (!out)
		return mt_error_no_memory();
	*out = *number * *number;
	*result = out;
	return NULL;
}

static void test_results_come_back_to_their_tasks(void **state)
{
	(void)state;
	enum { COUNT = 500 };
	struct mt_pool *pool = NULL;
	static struct mt_task *tasks[COUNT];
	static int inputs[COUNT];

	assert_no_error(mt_pool_create(4, 8, &pool));
	assert_int_equal(mt_pool_thread_count(pool), 4);
	for (int i = 0; i < COUNT; i++) {
		inputs[i] = i;
		assert_no_error(mt_pool_submit(pool, square, &inputs[i], &tasks[i]));
	}
	for (int i = COUNT - 1; i >= 0; i--) {
		void *result = NULL;
		assert_no_error(mt_task_wait(tasks[i], &result));
		assert_int_equal(*(int *)result, i * i);
		free(result);
	}
	mt_pool_destroy(pool);
}

static struct mt_error *fail_on_it(const struct mt_task *task, const void *input, void **result)
{
	(void)task;
	(void)result;
	return mt_error_new(MT_ERROR_FORMAT, "%s is garbled", (const char *)input);
}

static void test_errors_come_back(void **state)
{
	(void)state;
	struct mt_pool *pool = NULL;
	struct mt_task *task = NULL;
	void *result = &pool;

	assert_no_error(mt_pool_create(2, 1, &pool));
	assert_no_error(mt_pool_submit(pool, fail_on_it, "it", &task));
	assert_error(mt_task_wait(task, &result), MT_ERROR_FORMAT, "it is garbled");
	assert_null(result);
	mt_pool_destroy(pool);
}

/* Lets tests hold workers back. */
struct gate {
	atomic_bool open;
	atomic_int entered;
	atomic_bool saw_cancel;
};

static struct mt_error *wait_at_gate(const struct mt_task *task, const void *input, void **result)
{
	struct gate *gate = (struct gate *)input;

	(void)result;
	atomic_fetch_add(&gate->entered, 1);
	while (!atomic_load(&gate->open)) {
		if (mt_task_is_cancelled(task)) {
			atomic_store(&gate->saw_cancel, true);
			return mt_error_new(MT_ERROR_INTERRUPTED, "told to stop");
		}
		sched_yield();
	}
	return NULL;
}

static void wait_until_entered(struct gate *gate, int count)
{
	while (atomic_load(&gate->entered) < count)
		sched_yield();
}

static void test_cancel_before_it_begins(void **state)
{
	(void)state;
	struct gate gate = {0}, never = {0};
	struct mt_pool *pool = NULL;
	struct mt_task *first = NULL, *second = NULL;

	assert_no_error(mt_pool_create(1, 4, &pool));
	assert_no_error(mt_pool_submit(pool, wait_at_gate, &gate, &first));
	wait_until_entered(&gate, 1);
	assert_no_error(mt_pool_submit(pool, wait_at_gate, &never, &second));
	mt_task_cancel(second);
	assert_error(mt_task_wait(second, NULL), MT_ERROR_INTERRUPTED, "before it started");
	atomic_store(&gate.open, true);
	assert_no_error(mt_task_wait(first, NULL));
	assert_int_equal(atomic_load(&never.entered), 0);
	mt_pool_destroy(pool);
}

static void test_cancel_while_it_runs(void **state)
{
	(void)state;
	struct gate gate = {0};
	struct mt_pool *pool = NULL;
	struct mt_task *task = NULL;

	assert_no_error(mt_pool_create(1, 1, &pool));
	assert_no_error(mt_pool_submit(pool, wait_at_gate, &gate, &task));
	wait_until_entered(&gate, 1);
	mt_task_cancel(task);
	assert_error(mt_task_wait(task, NULL), MT_ERROR_INTERRUPTED, "told to stop");
	assert_true(atomic_load(&gate.saw_cancel));
	mt_pool_destroy(pool);
}

static void test_its_end_is_looked_for(void **state)
{
	(void)state;
	struct gate gate = {0};
	struct mt_pool *pool = NULL;
	struct mt_task *task = NULL;

	assert_no_error(mt_pool_create(1, 1, &pool));
	assert_no_error(mt_pool_submit(pool, wait_at_gate, &gate, &task));
	wait_until_entered(&gate, 1);
	assert_false(mt_task_is_done(task, 0));
	assert_false(mt_task_is_done(task, 10));
	atomic_store(&gate.open, true);
	assert_true(mt_task_is_done(task, 600000));
	assert_true(mt_task_is_done(task, 0));
	assert_no_error(mt_task_wait(task, NULL));
	mt_pool_destroy(pool);
}

static void test_cancel_after_its_end_changes_nothing(void **state)
{
	(void)state;
	struct mt_pool *pool = NULL;
	struct mt_task *first = NULL, *second = NULL;
	int number = 5;
	void *result = NULL;

	assert_no_error(mt_pool_create(1, 4, &pool));
	assert_no_error(mt_pool_submit(pool, square, &number, &first));
	assert_no_error(mt_pool_submit(pool, square, &number, &second));
	assert_no_error(mt_task_wait(second, &result)); /* one worker: the first is done too */
	free(result);
	mt_task_cancel(first);
	assert_no_error(mt_task_wait(first, &result));
	assert_int_equal(*(int *)result, 25);
	free(result);
	mt_pool_destroy(pool);
}

struct submitter {
	struct mt_pool *pool;
	struct gate *gate;
	struct mt_task *task;
	atomic_bool done;
};

static void *submit_one(void *argument)
{
	struct submitter *submitter = argument;
	struct mt_error *error =
	    mt_pool_submit(submitter->pool, wait_at_gate, submitter->gate, &submitter->task);

	atomic_store(&submitter->done, true);
	return error;
}

static void test_a_full_queue_makes_wait(void **state)
{
	(void)state;
	struct gate gate = {0};
	struct mt_task *running = NULL, *queued = NULL;
	struct submitter submitter = {.gate = &gate};
	pthread_t thread;
	void *error = &gate;

	assert_no_error(mt_pool_create(1, 1, &submitter.pool));
	assert_no_error(mt_pool_submit(submitter.pool, wait_at_gate, &gate, &running));
	wait_until_entered(&gate, 1);
	assert_no_error(mt_pool_submit(submitter.pool, wait_at_gate, &gate, &queued));
	assert_int_equal(pthread_create(&thread, NULL, submit_one, &submitter), 0);
	for (int i = 0; i < 1000; i++)
		sched_yield();
	assert_false(atomic_load(&submitter.done));

	atomic_store(&gate.open, true);
	pthread_join(thread, &error);
	assert_null(error);
	assert_no_error(mt_task_wait(running, NULL));
	assert_no_error(mt_task_wait(queued, NULL));
	assert_no_error(mt_task_wait(submitter.task, NULL));
	mt_pool_destroy(submitter.pool);
}

static struct mt_error *blocked_signals(const struct mt_task *task, const void *input,
					void **result)
{
	sigset_t *mask = malloc(sizeof(*mask));

	(void)task;
	(void)input;
	if (!mask)
		return mt_error_no_memory();
	pthread_sigmask(SIG_BLOCK, NULL, mask);
	*result = mask;
	return NULL;
}

static void test_workers_take_no_signals(void **state)
{
	(void)state;
	struct mt_pool *pool = NULL;
	struct mt_task *task = NULL;
	void *result = NULL;
	sigset_t before, after;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_no_error(mt_pool_create(1, 1, &pool));
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_no_error(mt_pool_submit(pool, blocked_signals, NULL, &task));
	assert_no_error(mt_task_wait(task, &result));
	assert_true(sigismember(result, SIGINT));
	assert_true(sigismember(result, SIGCHLD));
	assert_true(sigismember(result, SIGTERM));
	assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
	free(result);
	mt_pool_destroy(pool);
}

struct told {
	pthread_t by;
	char text[64];
};

static void tell(void *context, enum mt_log_level level, const char *text)
{
	struct told *told = context;

	(void)level;
	told->by = pthread_self();
	strncat(told->text, text, sizeof(told->text) - strlen(told->text) - 1);
}

static struct mt_error *say(const struct mt_task *task, const void *input, void **result)
{
	(void)task;
	(void)result;
	mt_log(input, MT_LOG_WARNING, "said");
	return mt_error_new(MT_ERROR_FORMAT, "and failed");
}

static void test_the_owner_tells_what_tasks_log(void **state)
{
	(void)state;
	struct mt_pool *pool = NULL;
	struct mt_task *task = NULL;
	struct told told = {0};
	const struct mt_log log = {tell, &told, MT_LOG_DEBUG};

	assert_no_error(mt_pool_create(1, 1, &pool));
	assert_no_error(mt_pool_submit(pool, say, &log, &task));
	while (!mt_task_is_done(task, 1000))
		;
	assert_string_equal(told.text, "");
	mt_log(&log, MT_LOG_WARNING, "before ");
	assert_error(mt_task_wait(task, NULL), MT_ERROR_FORMAT, "and failed");
	assert_string_equal(told.text, "before said");
	assert_true(pthread_equal(told.by, pthread_self()));
	mt_pool_destroy(pool);
}

static void test_one_thread_a_processor(void **state)
{
	(void)state;
	struct mt_pool *pool = NULL;
	cpu_set_t usable;

	assert_int_equal(sched_getaffinity(0, sizeof(usable), &usable), 0);
	assert_no_error(mt_pool_create(0, 1, &pool));
	assert_int_equal(mt_pool_processors(), CPU_COUNT(&usable));
	assert_int_equal(mt_pool_thread_count(pool), CPU_COUNT(&usable));
	mt_pool_destroy(pool);
	mt_pool_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_results_come_back_to_their_tasks),
	    cmocka_unit_test(test_errors_come_back),
	    cmocka_unit_test(test_cancel_before_it_begins),
	    cmocka_unit_test(test_cancel_while_it_runs),
	    cmocka_unit_test(test_its_end_is_looked_for),
	    cmocka_unit_test(test_cancel_after_its_end_changes_nothing),
	    cmocka_unit_test(test_a_full_queue_makes_wait),
	    cmocka_unit_test(test_workers_take_no_signals),
	    cmocka_unit_test(test_the_owner_tells_what_tasks_log),
	    cmocka_unit_test(test_one_thread_a_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
