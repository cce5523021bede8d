/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code for remote calls in the zeros behind files' code, of which there are as many as a test
 * leaves there. */
#include "process/inject.h"
#include "ptrace/target.h"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u

static void leave_room(uint8_t *end, size_t room)
{
	assert_int_equal(mprotect(end - PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	for (uint8_t *at = end; at > end - MT_INJECT_WITH_FRAME && !at[-1]; at--)
		if (at <= end - room)
			at[-1] = 0xcc;
	assert_int_equal(mprotect(end - PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* Behind the code of each file of this process. */
static void leave_rooms(size_t room)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long ends[64];
	size_t count = 0;
	char line[512];

	assert_non_null(maps);
	while (count < 64 && fgets(line, sizeof(line), maps))
		if (strstr(line, " r-xp ") && strchr(line, '/') &&
		    sscanf(line, "%*x-%lx", &ends[count]) == 1)
			count++;
	fclose(maps);
	for (size_t i = 0; i < count; i++)
		leave_room((uint8_t *)ends[i], room);
}

static pid_t start(size_t room)
{
	int ends[2];
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		alarm(120); /* should we fail */
		leave_rooms(room);
		if (write(ends[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return child;
}

static struct mt_target *attach(pid_t child)
{
	struct mt_target *target = NULL;

	assert_no_error(mt_ptrace_target_create(&target));
	assert_no_error(target->run->attach(target, child));
	return target;
}

static void check_calls(size_t room, bool with_frame)
{
	static const uint8_t zeros[MT_INJECT_WITH_FRAME];
	const size_t size = with_frame ? MT_INJECT_WITH_FRAME : MT_INJECT_STACK_BYTES;
	struct mt_system_call call = {.number = SYS_getpid};
	struct mt_inject_padding padding;
	struct user_regs_struct before, after;
	uint8_t bytes[MT_INJECT_WITH_FRAME];
	pid_t child = start(room);
	struct mt_target *target = attach(child);

	assert_no_error(target->ops->get_registers(target, child, &before));
	assert_no_error(mt_inject_padding_begin(target, child, &padding));
	assert_int_equal(padding.frame != 0, with_frame);
	assert_no_error(mt_target_call_system(target, child, &call));
	assert_int_equal(call.result, child);
	assert_no_error(target->ops->get_registers(target, child, &after));
	assert_memory_equal(&before, &after, sizeof(before));
	assert_no_error(mt_inject_padding_end(target, child, &padding));
	assert_int_equal(target->ops->read(target, child, padding.code, bytes, size), size);
	assert_memory_equal(bytes, zeros, size);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

static void test_room_for_the_frame(void **state)
{
	(void)state;
	check_calls(MT_INJECT_WITH_FRAME, true);
}

static void test_room_for_the_code_alone(void **state)
{
	(void)state;
	check_calls(MT_INJECT_WITH_FRAME - 1, false);
	check_calls(MT_INJECT_STACK_BYTES, false);
}

static void test_no_room(void **state)
{
	struct mt_inject_padding padding;
	pid_t child = start(MT_INJECT_STACK_BYTES - 1);
	struct mt_target *target = attach(child);

	(void)state;
	assert_error(mt_inject_padding_begin(target, child, &padding), MT_ERROR_UNSUPPORTED,
		     "no room");
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

/* A tracer that was killed has left it.  As long as a thread is inside, its frame is needed. */
static void test_code_that_was_left(void **state)
{
	struct mt_inject_padding left, again, other;
	struct user_regs_struct before, inside;
	pid_t child = start(MT_INJECT_WITH_FRAME);
	struct mt_target *target = attach(child);

	(void)state;
	assert_no_error(mt_inject_padding_begin(target, child, &left));
	assert_no_error(mt_inject_padding_begin(target, child, &again));
	assert_true(again.was_there);
	assert_true(again.code == left.code && again.frame == left.frame);
	assert_no_error(target->ops->get_registers(target, child, &before));
	inside = before;
	inside.rip = left.code + 2;
	assert_no_error(target->ops->set_registers(target, child, &inside));
	assert_no_error(mt_inject_padding_begin(target, child, &other));
	assert_false(other.was_there);
	assert_true(other.code && other.code != left.code);
	assert_no_error(mt_inject_padding_end(target, child, &other));
	assert_no_error(mt_inject_padding_end(target, child, &again));
	assert_true(mt_inject_padding_is_there(target, child, &left));
	assert_no_error(target->ops->set_registers(target, child, &before));
	assert_no_error(mt_inject_padding_end(target, child, &again));
	assert_false(mt_inject_padding_is_there(target, child, &left));
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_room_for_the_frame),
	    cmocka_unit_test(test_room_for_the_code_alone),
	    cmocka_unit_test(test_no_room),
	    cmocka_unit_test(test_code_that_was_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
