/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One mutex guards everything but `is_cancelled`, which a running task reads when it likes. */
#include "base/pool.h"

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

enum task_state { WAITING, RUNNING, DONE };

struct mt_task {
	TAILQ_ENTRY(mt_task) link; /* while WAITING */
	struct mt_pool *pool;
	mt_task_run *run;
	const void *input;
	enum task_state state;
	atomic_bool is_cancelled;
	struct mt_error *error;
	void *result;
	struct mt_log_kept kept; /* lines */
};

struct mt_pool {
	pthread_mutex_t mutex;
	pthread_cond_t has_work; /* or is stopping */
	pthread_cond_t has_room;
	pthread_cond_t has_done;
	TAILQ_HEAD(task_queue, mt_task) queue;
	size_t queued;
	size_t queue_limit;
	bool stopping;
	unsigned int thread_count;
	pthread_t threads[];
};

static void *work(void *argument)
{
	struct mt_pool *pool = argument;
	struct mt_task *task;

	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		while (TAILQ_EMPTY(&pool->queue) && !pool->stopping)
			pthread_cond_wait(&pool->has_work, &pool->mutex);
		task = TAILQ_FIRST(&pool->queue);
		if (!task)
			break;
		TAILQ_REMOVE(&pool->queue, task, link);
		pool->queued--;
		task->state = RUNNING;
		pthread_cond_signal(&pool->has_room);
		pthread_mutex_unlock(&pool->mutex);
		mt_log_keep(&task->kept);
		task->error = task->run(task, task->input, &task->result);
		mt_log_keep(NULL);
		pthread_mutex_lock(&pool->mutex);
		task->state = DONE;
		pthread_cond_broadcast(&pool->has_done);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

/* Returns errno of the first thread that could not be had, or 0. */
static int start_threads(struct mt_pool *pool, unsigned int wanted)
{
	sigset_t all, before;
	int status = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (pool->thread_count < wanted && !status) {
		status = pthread_create(&pool->threads[pool->thread_count], NULL, work, pool);
		pool->thread_count += !status;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

unsigned int mt_pool_processors(void)
{
	cpu_set_t usable;

	return sched_getaffinity(0, sizeof(usable), &usable) ? 1 : (unsigned int)CPU_COUNT(&usable);
}

struct mt_error *mt_pool_create(unsigned int threads, size_t queue_limit, struct mt_pool **out)
{
	unsigned int wanted = threads ? threads : mt_pool_processors();
	struct mt_pool *pool = calloc(1, sizeof(*pool) + wanted * sizeof(pool->threads[0]));

	if (!pool)
		return mt_error_no_memory();
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->has_work, NULL);
	pthread_cond_init(&pool->has_room, NULL);
	pthread_cond_init(&pool->has_done, NULL);
	TAILQ_INIT(&pool->queue);
	pool->queue_limit = queue_limit ? queue_limit : 1;

	int status = start_threads(pool, wanted);
	if (!pool->thread_count) {
		mt_pool_destroy(pool);
		return mt_error_errno(status, "cannot start a worker thread");
	}
	*out = pool;
	return NULL;
}

void mt_pool_destroy(struct mt_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->has_work);
	pthread_mutex_unlock(&pool->mutex);
	for (unsigned int i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->has_done);
	pthread_cond_destroy(&pool->has_room);
	pthread_cond_destroy(&pool->has_work);
	pthread_mutex_destroy(&pool->mutex);
	free(pool);
}

unsigned int mt_pool_thread_count(const struct mt_pool *pool)
{
	return pool->thread_count;
}

struct mt_error *mt_pool_submit(struct mt_pool *pool, mt_task_run *run, const void *input,
				struct mt_task **out)
{
	struct mt_task *task = calloc(1, sizeof(*task));

	if (!task)
		return mt_error_no_memory();
	task->pool = pool;
	task->run = run;
	task->input = input;

	pthread_mutex_lock(&pool->mutex);
	while (pool->queued >= pool->queue_limit)
		pthread_cond_wait(&pool->has_room, &pool->mutex);
	TAILQ_INSERT_TAIL(&pool->queue, task, link);
	pool->queued++;
	pthread_cond_signal(&pool->has_work);
	pthread_mutex_unlock(&pool->mutex);
	*out = task;
	return NULL;
}

struct mt_error *mt_task_wait(struct mt_task *task, void **result)
{
	struct mt_pool *pool = task->pool;

	pthread_mutex_lock(&pool->mutex);
	while (task->state != DONE)
		pthread_cond_wait(&pool->has_done, &pool->mutex);
	pthread_mutex_unlock(&pool->mutex);

	struct mt_error *error = task->error;
	if (result)
		*result = task->result;
	if (mt_task_is_cancelled(task))
		mt_log_forget(&task->kept);
	else
		mt_log_tell(&task->kept);
	free(task);
	return error;
}

bool mt_task_is_done(struct mt_task *task, unsigned int patience_ms)
{
	struct mt_pool *pool = task->pool;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(patience_ms % 1000) * 1000000;
	until.tv_sec += patience_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&pool->mutex);
	while (task->state != DONE)
		if (pthread_cond_timedwait(&pool->has_done, &pool->mutex, &until))
			break;
	bool is_done = task->state == DONE;
	pthread_mutex_unlock(&pool->mutex);
	return is_done;
}

void mt_task_cancel(struct mt_task *task)
{
	struct mt_pool *pool = task->pool;

	atomic_store(&task->is_cancelled, true);
	pthread_mutex_lock(&pool->mutex);
	if (task->state == WAITING) {
		TAILQ_REMOVE(&pool->queue, task, link);
		pool->queued--;
		task->state = DONE;
		task->error = mt_error_new(MT_ERROR_INTERRUPTED, "cancelled before it started");
	}
	pthread_mutex_unlock(&pool->mutex);
}

bool mt_task_is_cancelled(const struct mt_task *task)
{
	return atomic_load(&task->is_cancelled);
}
