/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pausing: an event of the group whose sample stops the trace, and one that lets it go on.
 * Source: linux/kernel/events/core.c, __perf_event_overflow(), perf_event_aux_pause(). */
#include "event.h"

#include <err.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define RING             (4 * PAGE)
#define AUX_START_PAUSED 1u
#define AUX_PAUSE        2u
#define AUX_RESUME       4u

/* attr.aux_action, which our headers are too old for. */
static void set_action(struct perf_event_attr *attr, uint32_t action)
{
	size_t at = offsetof(struct perf_event_attr, aux_sample_size) + sizeof(uint32_t);

	memcpy((char *)attr + at, &action, sizeof(action));
}

static int open_member(const struct perf_event_attr *attr, int leader)
{
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

__attribute__((noinline)) static void place(void)
{
	__asm__ volatile("");
}

static struct perf_event_attr breakpoint(uint32_t action)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_BREAKPOINT,
	    .size = sizeof(attr),
	    .bp_type = HW_BREAKPOINT_X,
	    .bp_addr = (uintptr_t)place,
	    .bp_len = sizeof(long),
	    .sample_period = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	};

	set_action(&attr, action);
	return attr;
}

static struct perf_event_attr switches(bool kernel)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	    .sample_period = 1,
	    .exclude_kernel = !kernel,
	    .disabled = 1,
	};

	set_action(&attr, AUX_RESUME);
	return attr;
}

static void play_at_place(size_t before, size_t behind)
{
	play(before);
	place();
	play(behind);
}

static void pauses(struct event *event)
{
	uint64_t before = aux_head(event);

	enable(event);
	play_at_place(100, 50);
	disable(event);
	check(aux_head(event) == before + 100, "pause: the trace ends at the hit");
	enable(event);
	play(10);
	disable(event);
	check(aux_head(event) == before + 100, "pause: an event stopped and started stays paused");
}

static void resumes(struct event *event, int resume)
{
	uint64_t before = aux_head(event);

	enable(event);
	usleep(1000);
	play(10);
	disable(event);
	check(aux_head(event) == before, "resume: an event that is disabled resumes nothing");
	ioctl(resume, PERF_EVENT_IOC_ENABLE, 0);
	enable(event);
	usleep(1000);
	play(20);
	disable(event);
	check(aux_head(event) == before + 20, "resume: the trace goes on at a context switch");
	ioctl(resume, PERF_EVENT_IOC_DISABLE, 0);
	pauses(event);
}

static void resumes_not(struct event *event)
{
	struct perf_event_attr attr = switches(false);
	uint64_t before = aux_head(event);
	int resume = open_member(&attr, event->fd);

	check(resume >= 0, "resume: one without the kernel can be opened");
	ioctl(resume, PERF_EVENT_IOC_ENABLE, 0);
	enable(event);
	usleep(1000);
	play(10);
	disable(event);
	check(aux_head(event) == before, "resume: but switches are the kernel's: it has no sample");
	close(resume);
}

static void refuses(const struct event *event)
{
	struct perf_event_attr attr = breakpoint(AUX_PAUSE | AUX_RESUME);

	check_errno(open_member(&attr, event->fd), EINVAL, "pause: not both at once");
	attr = breakpoint(AUX_PAUSE);
	check_errno(open_member(&attr, -1), EINVAL, "pause: not without a group");
	attr = breakpoint(AUX_START_PAUSED);
	check_errno(open_member(&attr, event->fd), EOPNOTSUPP,
		    "pause: who has no AUX area cannot begin paused");
	attr = breakpoint(AUX_PAUSE);
	attr.use_clockid = 1;
	attr.clockid = 4; /* CLOCK_MONOTONIC_RAW */
	check_errno(open_member(&attr, event->fd), EINVAL, "pause: a group has one clock");
}

static void end_paused(void)
{
	struct event event = trace(0, -1, RING, false);
	struct perf_event_attr attr = breakpoint(AUX_PAUSE);
	int pause = open_member(&attr, event.fd);

	enable(&event);
	play_at_place(100, 50);
	close(pause);
	play(50);
	disable(&event);
	check(aux_head(&event) == 100, "pause: it outlives the event that paused");
	close_event(&event);
}

static bool is_known(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	return major > 6 || (major == 6 && minor >= 13);
}

void test_pause(void)
{
	struct event event = trace(0, -1, RING, false);
	struct perf_event_attr pause_attr = breakpoint(AUX_PAUSE), resume_attr = switches(true);
	int pause = open_member(&pause_attr, event.fd), resume;

	if (!is_known()) {
		check_errno(pause, EINVAL, "pause: not before Linux 6.13");
		close_event(&event);
		return;
	}
	check(pause >= 0, "pause: a breakpoint in one group with the trace");
	resume = open_member(&resume_attr, event.fd);
	check(resume >= 0, "resume: context switches in it too");
	pauses(&event);
	resumes(&event, resume);
	resumes_not(&event);
	refuses(&event);
	close(resume);
	close(pause);
	close_event(&event);
	end_paused();
}
