/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is traced: other threads, threads to come, CPUs; and who is in whose way. */
#include "event.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING (4 * PAGE)

static pthread_barrier_t barrier;
static pid_t other_tid;

static void *other_thread(void *unused)
{
	(void)unused;
	other_tid = gettid();
	pthread_barrier_wait(&barrier); /* it has a number */
	pthread_barrier_wait(&barrier); /* it is traced */
	play(300);
	return NULL;
}

static void one_thread(void)
{
	pthread_t thread;
	struct event event;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, other_thread, NULL))
		errx(1, "no thread");
	pthread_barrier_wait(&barrier);
	event = trace(other_tid, -1, RING, false);
	enable(&event);
	play(77);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	while (kill(other_tid, 0) == 0)
		usleep(1000);
	errno = 0;
	check(aux_head(&event) == 300, "thread: another one's event has its bytes alone, and they "
				       "stay when it is gone");
	close_event(&event);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity to CPU %d", cpu);
}

static void cpus(void)
{
	struct event events[2] = {trace(-1, 0, RING, false), trace(-1, 1, RING, false)};

	enable(&events[0]);
	enable(&events[1]);
	pin(0);
	play(10);
	pin(1);
	play(20);
	pin(0);
	play(30);
	disable(&events[0]);
	disable(&events[1]);
	check(aux_head(&events[0]) == 40 && aux_head(&events[1]) == 20,
	      "CPU: each one's event has what ran there");
	close_event(&events[0]);
	close_event(&events[1]);
}

static pid_t sleeping_child(void)
{
	pid_t child = fork();

	if (child)
		return child;
	pause();
	_exit(0);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void forked(void)
{
	struct perf_event_attr attr = pt_attr();
	struct event mine = trace(0, -1, RING, false);
	pid_t child = sleeping_child();

	close_event(&mine);
	check_errno(open_event(&attr, 0, -1), EBUSY,
		    "exclusive: a forked child holds the event's file descriptor too");
	end(child);
	mine = trace(0, -1, RING, false);
	check(true, "exclusive: until it ends");
	close_event(&mine);
}

static void exclusive(void)
{
	struct perf_event_attr attr = pt_attr();
	pid_t child = sleeping_child();
	struct event mine;
	int fd;

	mine = trace(0, -1, RING, false);
	check_errno(open_event(&attr, 0, -1), EBUSY, "exclusive: a second event for a thread");
	check_errno(open_event(&attr, 0, 0), EBUSY, "exclusive: nor for it on one CPU");
	check_errno(open_event(&attr, -1, 0), EBUSY,
		    "exclusive: an event for a CPU while a thread has one");
	fd = open_event(&attr, child, -1);
	check(fd >= 0, "exclusive: another process may have one");
	close(fd);
	close_event(&mine);
	mine = trace(-1, 0, RING, false);
	check_errno(open_event(&attr, child, -1), EBUSY,
		    "exclusive: an event for a thread while a CPU has one");
	check_errno(open_event(&attr, -1, 0), EBUSY, "exclusive: a second event for a CPU");
	close_event(&mine);
	fd = open_event(&attr, child, -1);
	check(fd >= 0, "exclusive: it ends when the other is closed");
	close(fd);
	end(child);
	check_errno(open_event(&attr, child, -1), ESRCH, "thread: one that is gone");
}

static void inherited(void)
{
	struct perf_event_attr attr = pt_attr();
	struct event event = {.fd = 0};

	attr.inherit = 1;
	event.fd = open_event(&attr, 0, -1);
	check(event.fd >= 0, "inherit: an event for all CPUs can be opened");
	check_errno(map_event(&event, RING, false) ? 0 : -1, EINVAL, "inherit: but not mapped");
	close_event(&event);
	event.fd = open_event(&attr, 0, 0);
	check(event.fd >= 0 && map_event(&event, RING, false), "inherit: one for one CPU can");
	close_event(&event);
}

void test_threads(void)
{
	one_thread();
	exclusive();
	forked();
	cpus();
	inherited();
}
