/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why events cannot be opened: a kernel of our own in the place of the real one (ld's --wrap, see
 * the Makefile) fails in each of the ways that it has, and says what /proc would. */
#include "unit.h"

#include "base/array.h"
#include "kernel/breakpoint.h"
#include "kernel/clock.h"
#include "kernel/data_ring.h"
#include "kernel/event.h"
#include "kernel/system.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>

static struct {
	int result; /* of the next call */
	int paranoid;
	uint64_t capabilities;
	int seccomp;
	struct perf_event_attr attr; /* that was asked for */
	pid_t pid;
	int count_size;         /* what a read of an event's count returns */
	unsigned reads, hit_at; /* the read that counts a hit; 0: none ever does */
	int open;               /* descriptors that were not closed */
} kernel;

#define CAP_PERFMON (1ull << 38)

int __wrap_mt_system_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group);
int __wrap_mt_system_close(int fd);
int __wrap_mt_system_read(int fd, void *bytes, size_t size);
int __wrap_mt_system_map(int fd, uint64_t offset, size_t size, int protection, void **out);
int __wrap_mt_system_read_file(const char *path, char *text, size_t size);

int __wrap_mt_system_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	(void)cpu;
	(void)group;
	kernel.attr = *attr;
	kernel.pid = pid;
	kernel.open += kernel.result >= 0;
	return kernel.result;
}

int __wrap_mt_system_close(int fd)
{
	(void)fd;
	kernel.open--;
	return 0;
}

int __wrap_mt_system_read(int fd, void *bytes, size_t size)
{
	const uint64_t count = ++kernel.reads >= kernel.hit_at && kernel.hit_at;

	(void)fd;
	assert_int_equal(size, sizeof(count));
	memcpy(bytes, &count, size);
	return kernel.count_size;
}

int __wrap_mt_system_map(int fd, uint64_t offset, size_t size, int protection, void **out)
{
	(void)fd;
	(void)offset;
	(void)size;
	(void)protection;
	*out = NULL;
	return kernel.result;
}

int __wrap_mt_system_read_file(const char *path, char *text, size_t size)
{
	if (strstr(path, "perf_event_paranoid"))
		return snprintf(text, size, "%d\n", kernel.paranoid);
	if (strstr(path, "perf_event_mlock_kb"))
		return snprintf(text, size, "516\n");
	return snprintf(text, size, "Name:\tx\nCapEff:\t%016llx\nSeccomp:\t%d\n",
			(unsigned long long)kernel.capabilities, kernel.seccomp);
}

static struct mt_error *open_it(const struct mt_perf_spec *spec, pid_t pid, int result)
{
	int fd;

	kernel.result = -result;
	return mt_perf_event_open(spec, pid, -1, -1, &fd);
}

static const struct mt_perf_spec dummy = {
    .what = "the event", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
static const struct mt_perf_spec with_kernel = {
    .what = "the event", .type = PERF_TYPE_SOFTWARE, .kernel = true};
static const struct mt_perf_spec tracepoint = {
    .what = "the event", .type = PERF_TYPE_TRACEPOINT, .kernel = true};
static const struct mt_perf_spec breakpoint = {.what = "the event",
					       .type = PERF_TYPE_BREAKPOINT,
					       .breakpoint = HW_BREAKPOINT_W,
					       .config1 = 0x1000,
					       .config2 = 8};

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.paranoid = 2;
	kernel.count_size = sizeof(uint64_t);
	return 0;
}

static void paranoid_is_told_with_the_value_that_would_do(void **state)
{
	static const struct {
		const struct mt_perf_spec *spec;
		pid_t pid;
		int paranoid;
		const char *text;
	} cases[] = {
	    {&with_kernel, 7, 2, "perf_event_paranoid is 2, which denies what the kernel does"},
	    {&with_kernel, 7, 2, "sysctl kernel.perf_event_paranoid=1"},
	    {&dummy, -1, 1, "sysctl kernel.perf_event_paranoid=0"},
	    {&tracepoint, 7, 2, "sysctl kernel.perf_event_paranoid=-1"},
	    {&dummy, 7, 3, "perf_event_paranoid is 3, which denies any event at all"},
	    {&dummy, 7, 3, "cannot open the event on thread 7"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kernel.paranoid = cases[i].paranoid;
		assert_error(open_it(cases[i].spec, cases[i].pid, EACCES), MT_ERROR_PERMISSION,
			     cases[i].text);
	}
}

static void other_refusals_are_told_apart(void **state)
{
	(void)state;
	assert_error(open_it(&dummy, 7, EACCES), MT_ERROR_PERMISSION, "another user's");
	kernel.seccomp = 2;
	assert_error(open_it(&dummy, 0, EPERM), MT_ERROR_PERMISSION, "--cap-add PERFMON");
	kernel.seccomp = 0;
	kernel.capabilities = CAP_PERFMON;
	kernel.paranoid = 4;
	assert_error(open_it(&dummy, 0, EPERM), MT_ERROR_PERMISSION, "we have CAP_PERFMON");
}

static void limits_and_what_is_taken(void **state)
{
	(void)state;
	assert_error(open_it(&dummy, 7, EMFILE), MT_ERROR_SYSTEM, "ulimit -n");
	assert_error(open_it(&dummy, 7, ENFILE), MT_ERROR_SYSTEM, "fs.file-max");
	assert_error(open_it(&dummy, 7, EBUSY), MT_ERROR_BUSY, "record btrace");
	assert_error(open_it(&breakpoint, 7, ENOSPC), MT_ERROR_BUSY, "four debug registers");
	assert_error(open_it(&breakpoint, 7, EINVAL), MT_ERROR_UNSUPPORTED,
		     "a multiple of the length");
	assert_error(open_it(&dummy, 7, ENOENT), MT_ERROR_UNSUPPORTED, "does not have it");
	assert_error(open_it(&dummy, 7, EOPNOTSUPP), MT_ERROR_UNSUPPORTED, "perf list");
	assert_error(open_it(&dummy, 7, EINVAL), MT_ERROR_UNSUPPORTED, "does not know such");
	assert_error(open_it(&dummy, 7, ENOSYS), MT_ERROR_UNSUPPORTED, "CONFIG_PERF_EVENTS");
	assert_error(open_it(&dummy, 7, ESRCH), MT_ERROR_GONE, "on thread 7: it has ended");
	assert_error(open_it(&dummy, 7, ENOMEM), MT_ERROR_NO_MEMORY, "cannot open the event");
}

static void rings_tell_of_locked_memory(void **state)
{
	struct mt_data_ring ring;

	(void)state;
	kernel.result = -EPERM;
	assert_error(mt_data_ring_map(3, 100000, false, &ring), MT_ERROR_PERMISSION,
		     "kernel.perf_event_mlock_kb (516 kB)");
	kernel.result = -ENOMEM;
	assert_error(mt_data_ring_map(3, 100000, false, &ring), MT_ERROR_NO_MEMORY, "128 kB");
	mt_data_ring_unmap(&ring);
}

/* linux/perf_event.h of 6.13 and later has these bits behind aux_sample_size. */
static void an_aux_action_stands_where_the_kernel_looks(void **state)
{
	struct mt_perf_spec spec = breakpoint;
	uint32_t action;

	(void)state;
	spec.aux = MT_PERF_AUX_PAUSE;
	assert_error(open_it(&spec, 7, EINVAL), MT_ERROR_UNSUPPORTED, "does not know such");
	memcpy(&action, (char *)&kernel.attr + 116, sizeof(action));
	assert_int_equal(action, 1u << 1);
	assert_int_equal(kernel.attr.bp_addr, 0x1000);
	assert_int_equal(kernel.attr.bp_len, 8);
}

static void a_breakpoint_that_is_never_hit_is_no_use(void **state)
{
	(void)state;
	kernel.result = 3;
	assert_error(mt_breakpoint_probe(0), MT_ERROR_UNSUPPORTED, MT_BREAKPOINT_NEVER_HIT);
	assert_int_equal(kernel.pid, 0);
	assert_int_equal(kernel.attr.type, PERF_TYPE_BREAKPOINT);
	assert_int_equal(kernel.attr.bp_type, HW_BREAKPOINT_W);
	assert_int_equal(kernel.open, 0);
}

static void a_breakpoint_need_not_be_hit_at_once(void **state)
{
	(void)state;
	kernel.result = 3;
	for (kernel.hit_at = 1; kernel.hit_at <= 3; kernel.hit_at++) {
		kernel.reads = 0;
		assert_no_error(mt_breakpoint_probe(0));
		assert_int_equal(kernel.reads, kernel.hit_at);
	}
	assert_int_equal(kernel.open, 0);
}

static void breakpoints_that_cannot_be_tried(void **state)
{
	(void)state;
	kernel.result = 3;
	kernel.count_size = 0;
	assert_no_error(mt_breakpoint_probe(0));
	assert_int_equal(kernel.open, 0);
	kernel.result = -EPERM;
	assert_error(mt_breakpoint_probe(0), MT_ERROR_PERMISSION, "cannot open a watchpoint");
	assert_int_equal(kernel.open, 0);
}

static void a_page_may_not_tell_of_the_clock(void **state)
{
	struct perf_event_mmap_page page = {.time_shift = 10, .time_mult = 1024, .time_zero = 5};
	struct mt_time_conversion conversion;

	(void)state;
	assert_false(mt_perf_page_conversion(&page, &conversion));
	page.cap_user_time = 1;
	assert_false(mt_perf_page_conversion(&page, &conversion));
	page.cap_user_time_zero = 1;
	assert_true(mt_perf_page_conversion(&page, &conversion));
	assert_int_equal(mt_tsc_to_ns(&conversion, 1000), 1005);
	assert_int_equal(mt_ns_to_tsc(&conversion, 1005), 1000);
	page.cap_user_time_short = 1;
	assert_false(mt_perf_page_conversion(&page, &conversion));
	page.cap_user_time_short = 0;
	page.time_mult = 0;
	assert_false(mt_perf_page_conversion(&page, &conversion));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(paranoid_is_told_with_the_value_that_would_do, set_up),
	    cmocka_unit_test_setup(other_refusals_are_told_apart, set_up),
	    cmocka_unit_test_setup(limits_and_what_is_taken, set_up),
	    cmocka_unit_test_setup(rings_tell_of_locked_memory, set_up),
	    cmocka_unit_test_setup(an_aux_action_stands_where_the_kernel_looks, set_up),
	    cmocka_unit_test_setup(a_breakpoint_that_is_never_hit_is_no_use, set_up),
	    cmocka_unit_test_setup(a_breakpoint_need_not_be_hit_at_once, set_up),
	    cmocka_unit_test_setup(breakpoints_that_cannot_be_tried, set_up),
	    cmocka_unit_test(a_page_may_not_tell_of_the_clock),
	};

	return cmocka_run_group_tests_name("perf/event.h", tests, NULL, NULL);
}
