/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pool of worker threads.
 *
 * A task gets an input that is not changed while it runs and returns a result; the two sides share
 * nothing else, so a task needs no lock.  The queue is bounded: who submits faster than the workers
 * work waits.  Workers have all signals blocked, so a front end's handlers run on its own threads;
 * and what a task logs is told by the owner when it waits for the task, unless it was cancelled.
 *
 * One thread, the owner, calls all of this but mt_task_is_cancelled(). */
#ifndef MT_BASE_POOL_H
#define MT_BASE_POOL_H

#include "base/error.h"

struct mt_pool;
struct mt_task;

/* How many processors this process may use, at least one. */
unsigned int mt_pool_processors(void);

/* THREADS 0: one a processor that this process may use; fewer when the system gives no more.
 * QUEUE_LIMIT (at least 1): how many tasks may wait for a worker.
 * Errors: SYSTEM (not one thread to be had); NO_MEMORY. */
struct mt_error *mt_pool_create(unsigned int threads, size_t queue_limit, struct mt_pool **out);
/* After every task was waited for.  NULL is fine. */
void mt_pool_destroy(struct mt_pool *pool);
unsigned int mt_pool_thread_count(const struct mt_pool *pool);

/* The work of a task, on a worker.  Long ones ask mt_task_is_cancelled() now and then and return
 * MT_ERROR_INTERRUPTED.  *result is NULL before. */
typedef struct mt_error *mt_task_run(const struct mt_task *task, const void *input, void **result);

/* Waits for room in the queue.  INPUT must live until mt_task_wait() has returned.
 * Errors: NO_MEMORY. */
struct mt_error *mt_pool_submit(struct mt_pool *pool, mt_task_run *run, const void *input,
				struct mt_task **out);
/* Waits for the task's end, tells what it logged and destroys the task.  *result (which may not be
 * asked for: NULL) and the error are what `run` gave.  Errors: INTERRUPTED when it was cancelled
 * before it began. */
struct mt_error *mt_task_wait(struct mt_task *task, void **result);
/* Whether the task has come to its end, after so long at the most: mt_task_wait() does not wait
 * then. */
bool mt_task_is_done(struct mt_task *task, unsigned int patience_ms);
/* A task that waits for a worker never runs; one that runs can see it.  Wait for it all the same.
 */
void mt_task_cancel(struct mt_task *task);
/* For the task itself. */
bool mt_task_is_cancelled(const struct mt_task *task);

#endif
