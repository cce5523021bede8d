/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is refused, to whom, and with which errno. */
#include "event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING       (4 * PAGE)
#define LARGE_RING (8u << 20)
#define NOBODY     65534

static long map(struct event *event, size_t aux_bytes)
{
	return map_event(event, aux_bytes, false) ? 0 : -1;
}

static long map_at(struct event *event, uint64_t offset, size_t size)
{
	void *area =
	    mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);

	if (area == MAP_FAILED)
		return -2;
	event->page = area;
	event->page->aux_offset = offset;
	event->page->aux_size = size;
	area = mmap(NULL, size, PROT_READ, MAP_SHARED, event->fd, (off_t)offset);
	if (area == MAP_FAILED)
		return -1;
	event->aux = area;
	event->aux_bytes = size;
	return 0;
}

static void mappings(void)
{
	struct perf_event_attr attr = pt_attr();
	struct event event = {.fd = open_event(&attr, 0, -1)};

	check_errno(mmap(NULL, RING, PROT_READ, MAP_SHARED, event.fd, PAGE) == MAP_FAILED ? -1 : 0,
		    EINVAL, "mmap: the AUX area before the data area");
	errno = 0;
	check_errno(map(&event, 3 * PAGE), EINVAL, "mmap: an AUX area of three pages");
	close_event(&event);
	event.fd = open_event(&attr, 0, -1);
	check_errno(map_at(&event, PAGE, RING), EINVAL, "mmap: an AUX area inside the data area");
	close_event(&event);
	event.fd = open_event(&attr, 0, -1);
	check(map(&event, RING) == 0 && !event.aux[0], "mmap: a good one");
	check_errno(mmap(NULL, 2 * RING, PROT_READ, MAP_SHARED, event.fd,
			 (1 + DATA_PAGES) * PAGE) == MAP_FAILED
			? -1
			: 0,
		    EINVAL, "mmap: once more with another size");
	close_event(&event);
}

static void attributes(void)
{
	struct perf_event_attr attr = pt_attr();

	attr.config |= 1ull << 40;
	check_errno(open_event(&attr, 0, -1), EINVAL, "config: a bit that is none");
	attr = pt_attr();
	attr.config |= 1ull << 14; /* mtc_period 1; caps/mtc_periods has 0, 3, 6, 9 */
	check_errno(open_event(&attr, 0, -1), EINVAL, "config: an MTC period that there is not");
	attr = pt_attr();
	attr.config &= ~1ull;
	check_errno(open_event(&attr, 0, -1), EINVAL, "config: branch without pt");
	attr = pt_attr();
	attr.config |= 1u << 5;
	check_errno(open_event(&attr, 0, -1), EINVAL, "config: fup_on_ptw without ptw");
}

static void write_setting(const char *name, const char *value)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	file = fopen(path, "we");
	if (!file || fputs(value, file) < 0 || fclose(file))
		perror(path);
}

/* As the user "nobody"; returns what FUNCTION's errno was. */
static int as_nobody(int (*function)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(255);
		_exit(function());
	}
	waitpid(child, &status, 0);
	errno = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int error_of(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = open_event(attr, pid, cpu);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int own(void)
{
	struct perf_event_attr attr = pt_attr();

	return error_of(&attr, 0, -1);
}

static int own_with_kernel(void)
{
	struct perf_event_attr attr = pt_attr();

	attr.exclude_kernel = 0;
	return error_of(&attr, 0, -1);
}

static int foreign(void)
{
	struct perf_event_attr attr = pt_attr();

	return error_of(&attr, getppid(), -1);
}

static int whole_cpu(void)
{
	struct perf_event_attr attr = pt_attr();

	return error_of(&attr, -1, 0);
}

static int map_error(size_t aux_bytes)
{
	struct perf_event_attr attr = pt_attr();
	struct event event = {.fd = open_event(&attr, 0, -1)};
	int error = event.fd >= 0 && map(&event, aux_bytes) == 0 ? 0 : errno;

	close_event(&event);
	return error;
}

static int small_ring(void)
{
	return map_error(RING);
}

static void set_limit(int which, rlim_t value)
{
	struct rlimit limit = {value, value};

	setrlimit(which, &limit);
}

static int large_ring(void)
{
	set_limit(RLIMIT_MEMLOCK, 64u << 10);
	return map_error(LARGE_RING);
}

static int large_ring_allowed(void)
{
	set_limit(RLIMIT_MEMLOCK, LARGE_RING);
	return map_error(LARGE_RING);
}

static int no_descriptors(void)
{
	struct perf_event_attr attr = pt_attr();

	set_limit(RLIMIT_NOFILE, 3);
	return error_of(&attr, 0, -1);
}

static void is(int error, int expected, const char *what)
{
	check(error == expected, "%s: %s (%s)", what, strerrorname_np(error),
	      strerrorname_np(expected));
}

void test_privileges(void)
{
	write_setting("perf_event_paranoid", "3");
	is(as_nobody(own), EACCES, "paranoid 3 (Debian's): one's own program");
	is(own(), 0, "paranoid 3: as root");
	write_setting("perf_event_paranoid", "2");
	is(as_nobody(own), 0, "paranoid 2: one's own program");
	is(as_nobody(own_with_kernel), EACCES, "paranoid 2: with the kernel");
	is(as_nobody(whole_cpu), EACCES, "paranoid 2: a CPU");
	is(as_nobody(foreign), EACCES, "paranoid 2: the program of another user");
	write_setting("perf_event_paranoid", "1");
	is(as_nobody(own_with_kernel), 0, "paranoid 1: with the kernel");
	is(as_nobody(whole_cpu), EACCES, "paranoid 1: a CPU");
	write_setting("perf_event_paranoid", "2");
	is(as_nobody(small_ring), 0, "mlock: a small ring");
	is(as_nobody(large_ring), EPERM, "mlock: one beyond perf_event_mlock_kb and ulimit -l");
	is(as_nobody(large_ring_allowed), 0, "mlock: it is allowed by ulimit -l");
	is(map_error(LARGE_RING), 0, "mlock: and to root");
	write_setting("perf_event_paranoid", "-1");
	is(as_nobody(whole_cpu), 0, "paranoid -1: a CPU");
	is(as_nobody(large_ring), 0, "paranoid -1: a large ring");
	write_setting("perf_event_paranoid", "2");
	is(as_nobody(no_descriptors), EMFILE, "no file descriptor left");
}

void test_refusals(void)
{
	mappings();
	attributes();
}

static long set_filter(const struct event *event, const char *filter)
{
	return ioctl(event->fd, PERF_EVENT_IOC_SET_FILTER, filter);
}

/* What the device says of the event on this CPU. */
static const char *seen(void)
{
	static char line[256];
	ssize_t length = pread(device, line, sizeof(line) - 1, 0);

	line[length > 0 ? length : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return line;
}

void test_filters(void)
{
	struct event event = trace(0, -1, RING, false);
	char filter[256], path[128], expected[64];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	uint64_t start = (uint64_t)(uintptr_t)test_filters & ~0xfull;

	path[length > 0 ? length : 0] = '\0';
	/* A program that is not relocated, whose text begins at 0x400000 in file and memory. */
	snprintf(filter, sizeof(filter), "filter 0x%llx/0x40@%s",
		 (unsigned long long)start - 0x400000, path);
	check(set_filter(&event, filter) == 0, "filter: a range of a file");
	enable(&event);
	snprintf(expected, sizeof(expected), "filter 0x%llx/0x40", (unsigned long long)start);
	check(strstr(seen(), expected) != NULL, "filter: where the file is mapped: %s (%s)", seen(),
	      expected);
	disable(&event);
	check_errno(set_filter(&event, "start 0x1000@/init"), EOPNOTSUPP,
		    "filter: a single address");
	check_errno(set_filter(&event, "filter 0x1000/0x10@/nothing"), ENOENT,
		    "filter: a file that is not there");
	check_errno(set_filter(&event, "nonsense"), EINVAL, "filter: words that are none");
	check_errno(set_filter(&event, "filter 0x1000/0x10@/init,filter 0x2000/0x10@/init,"
				       "filter 0x3000/0x10@/init"),
		    EOPNOTSUPP, "filter: more ranges than the processor has");
	close_event(&event);
	event = trace(-1, 0, RING, false);
	check_errno(set_filter(&event, filter), EOPNOTSUPP, "filter: of a file, for a CPU");
	close_event(&event);
}
