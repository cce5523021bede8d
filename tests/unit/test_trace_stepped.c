/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single-steps a real program that throws, jumps and takes signals, and rebuilds its call stacks
 * from the branches.  The truth is the stack pointer: a frame lives as long as its return address
 * lies on the stack.  At each call of one of the program's own functions both must name the same
 * frames. */
#include "check_sink.h"
#include "decode/symbolizer.h"
#include "process/proc.h"
#include "space/space.h"
#include "trace/rebuild.h"
#include "unit.h"
#include "x86/insn.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_TEXT = 512 };

/* main>catches>throws */
struct stack_text {
	char text[STACK_TEXT];
};
typedef MT_ARRAY(struct stack_text) stack_texts;

struct true_frame {
	uint64_t slot; /* where its return address lies */
	const struct mt_function *function;
};

struct stepper {
	char program[64];
	pid_t pid;
	uint64_t pc, sp;
	uint64_t time_ns;
	struct mt_space_pool *pool;
	struct mt_space *user, *kernel;
	struct mt_space_symbolizer symbolizer;
	pthread_mutex_t lock; /* of its */
	MT_ARRAY(struct mt_event) events;
	MT_ARRAY(struct true_frame) frames;
	stack_texts truth;
};

static bool is_own(const struct stepper *s, const struct mt_function *function)
{
	return function && function->kind == MT_FUNCTION_SYMBOL &&
	       !(function->flags & MT_FUNCTION_COLD) && strstr(function->module, s->program);
}

static void append(struct stack_text *stack, const struct mt_function *function)
{
	size_t length = strlen(stack->text);

	snprintf(stack->text + length, STACK_TEXT - length, ">%s", function->name);
}

static const struct mt_function *function_at(struct stepper *s, uint64_t address)
{
	return mt_space_function_at(s->user, address);
}

static void event(struct stepper *s, struct mt_event event)
{
	event.time_ns = ++s->time_ns;
	assert_int_equal(mt_array_push(&s->events, event), 0);
}

static void note_truth(struct stepper *s)
{
	struct stack_text stack = {0};

	if (!is_own(s, mt_array_last(&s->frames)->function))
		return;
	mt_array_each (frame, &s->frames)
		if (is_own(s, frame->function))
			append(&stack, frame->function);
	assert_int_equal(mt_array_push(&s->truth, stack), 0);
}

static void true_call(struct stepper *s)
{
	struct true_frame frame = {.slot = s->sp, .function = function_at(s, s->pc)};

	assert_int_equal(mt_array_push(&s->frames, frame), 0);
	note_truth(s);
}

static void true_jump(struct stepper *s)
{
	struct true_frame *top = mt_array_last(&s->frames);
	const struct mt_function *function = function_at(s, s->pc);

	if (function == top->function || s->pc != function->start)
		return;
	top->function = function->flags & MT_FUNCTION_COLD ? top->function : function;
	if (top->function == function)
		note_truth(s);
}

static void true_pops(struct stepper *s)
{
	while (s->frames.count > 1 && mt_array_last(&s->frames)->slot < s->sp)
		s->frames.count--;
}

static void read_registers(struct stepper *s)
{
	struct user_regs_struct registers;

	assert_int_equal(ptrace(PTRACE_GETREGS, s->pid, NULL, &registers), 0);
	s->pc = registers.rip;
	s->sp = registers.rsp;
}

static void instruction_at(struct stepper *s, uint64_t pc, struct mt_insn *insn)
{
	uint8_t bytes[MT_INSN_MAX_BYTES] = {0};
	struct iovec local = {bytes, sizeof(bytes)}, remote = {(void *)pc, sizeof(bytes)};
	ssize_t got = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);

	assert_true(got > 0);
	assert_int_equal(mt_insn_decode(bytes, (size_t)got, pc, insn), 0);
}

/* The instruction at FROM ran, and control is at s->pc. */
static void stepped(struct stepper *s, uint64_t from, const struct mt_insn *insn)
{
	struct mt_event branch = {.from = from, .to = s->pc};

	true_pops(s);
	switch (insn->class) {
	case MT_INSN_CALL:
	case MT_INSN_CALL_INDIRECT:
		branch.kind = MT_EVENT_CALL;
		event(s, branch);
		true_call(s);
		break;
	case MT_INSN_RETURN:
		branch.kind = MT_EVENT_RETURN;
		event(s, branch);
		break;
	case MT_INSN_SYSCALL:
		event(s, (struct mt_event){.kind = MT_EVENT_TRACE_END,
					   .detail = MT_TRACE_END_SYSCALL,
					   .from = from});
		event(s, (struct mt_event){.kind = MT_EVENT_TRACE_START, .to = s->pc});
		break;
	case MT_INSN_JUMP:
	case MT_INSN_JUMP_INDIRECT:
	case MT_INSN_BRANCH:
		if (s->pc == from + insn->length)
			break;
		branch.kind = MT_EVENT_JUMP;
		event(s, branch);
		true_jump(s);
	}
}

static int step(struct stepper *s, int signal)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, (long)signal), 0);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFSTOPPED(status));
	read_registers(s);
	return WSTOPSIG(status);
}

static int deliver(struct stepper *s, int number)
{
	uint64_t at = s->pc;
	int next;

	event(s, (struct mt_event){
		     .kind = MT_EVENT_TRACE_END, .detail = MT_TRACE_END_ASYNC, .from = at});
	event(s,
	      (struct mt_event){.kind = MT_EVENT_SIGNAL, .detail = (uint32_t)number, .from = at});
	next = step(s, number);
	event(s, (struct mt_event){.kind = MT_EVENT_TRACE_START, .to = s->pc});
	true_call(s);
	return next;
}

/* From one int3 to the next. */
static void step_all(struct stepper *s)
{
	int signal = SIGTRAP;

	event(s, (struct mt_event){.kind = MT_EVENT_TRACE_START, .to = s->pc});
	for (;;) {
		struct mt_insn insn;
		uint64_t from = s->pc;

		if (signal != SIGTRAP) {
			signal = deliver(s, signal);
			continue;
		}
		instruction_at(s, from, &insn);
		if (insn.class == MT_INSN_SYSCALL && insn.length == 1)
			return;
		signal = step(s, 0);
		if (signal == SIGTRAP || s->pc != from)
			stepped(s, from, &insn);
	}
}

static struct mt_error *on_map(void *context, const struct mt_map *map)
{
	struct stepper *s = context;
	struct mt_mapping mapping = {
	    .start = map->start, .end = map->end, .offset = map->offset, .path = map->path};

	return map->executable ? mt_space_add(s->user, &mapping) : NULL;
}

static void name_code(struct stepper *s)
{
	assert_no_error(mt_space_pool_create(NULL, &s->pool));
	assert_no_error(mt_space_create(s->pool, s->pid, &s->user));
	assert_no_error(mt_space_create(s->pool, 0, &s->kernel));
	assert_no_error(mt_proc_each_map(s->pid, on_map, s));
	pthread_mutex_init(&s->lock, NULL);
	mt_space_symbolizer_init(&s->symbolizer, s->user, s->kernel, true, NULL, &s->lock);
}

/* A step is two switches between processes, which cost least on one CPU. */
static void share_a_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

static bool launch(struct stepper *s)
{
	int status;

	share_a_cpu();

	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			execl(s->program, s->program, NULL);
		_exit(125);
	}
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	if (!WIFSTOPPED(status))
		return false;
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, s->pid, NULL, PTRACE_O_EXITKILL), 0);
	assert_int_equal(ptrace(PTRACE_CONT, s->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	read_registers(s);
	return true;
}

/* What was rebuilt, as the truth is told. */
struct rebuilt {
	const struct stepper *s;
	MT_ARRAY(struct mt_slice) open;
	stack_texts stacks;
	size_t depth_at_end; /* how many slices were open at the segment's end */
};

static struct mt_error *ignore_thread(void *self, const struct mt_thread *thread)
{
	(void)self;
	(void)thread;
	return NULL;
}

static struct mt_error *ignore_segment(void *self, const struct mt_thread_segment *segment)
{
	(void)self;
	(void)segment;
	return NULL;
}

static struct mt_error *on_begin(void *self, const struct mt_slice *slice)
{
	struct rebuilt *rebuilt = self;
	struct stack_text stack = {0};

	(void)mt_array_push(&rebuilt->open, *slice);
	if (slice->kind != MT_SLICE_CALL || slice->flags & MT_SLICE_INFERRED ||
	    !is_own(rebuilt->s, slice->function))
		return NULL;
	mt_array_each (open, &rebuilt->open)
		if (open->kind == MT_SLICE_CALL && is_own(rebuilt->s, open->function))
			append(&stack, open->function);
	(void)mt_array_push(&rebuilt->stacks, stack);
	return NULL;
}

static struct mt_error *on_end(void *self, const struct mt_slice_end *end)
{
	struct rebuilt *rebuilt = self;

	rebuilt->open.count--;
	rebuilt->depth_at_end += end->flags & MT_SLICE_END_OPEN ? 1 : 0;
	return NULL;
}

static struct mt_error *ignore_instant(void *self, const struct mt_instant *instant)
{
	(void)self;
	(void)instant;
	return NULL;
}

static const struct mt_slice_sink_ops rebuilt_ops = {
    .thread = ignore_thread,
    .segment_begin = ignore_segment,
    .begin = on_begin,
    .end = on_end,
    .instant = ignore_instant,
    .segment_end = ignore_segment,
};

static void rebuild(struct stepper *s, struct rebuilt *rebuilt)
{
	struct check_sink check = {.next = {&rebuilt_ops, rebuilt}};
	struct mt_rebuild_options options = {.thread = {.pid = s->pid, .tid = s->pid},
					     .sink = {&check_sink_ops, &check},
					     .inlines = true};
	struct mt_rebuild *stack;

	assert_no_error(mt_rebuild_create(&mt_rebuild_from_branches, &options, &stack));
	mt_rebuild_set_symbolizer(stack, &s->symbolizer.symbolizer);
	assert_no_error(mt_rebuild_push(stack, s->events.items, s->events.count));
	assert_no_error(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	assert_string_equal(check_sink_failure(&check), "");
	assert_int_equal(check.segments, 1);
	assert_int_equal(check.inferred, 1);
	check_sink_deinit(&check);
}

static void compare(const stack_texts *truth, const stack_texts *rebuilt)
{
	for (size_t i = 0; i < truth->count && i < rebuilt->count; i++)
		if (strcmp(rebuilt->items[i].text, truth->items[i].text) != 0)
			fail_msg("call %zu: %s instead of %s", i, rebuilt->items[i].text,
				 truth->items[i].text);
	assert_int_equal(rebuilt->count, truth->count);
}

static void compile(struct stepper *s, const char *options)
{
	char command[256];
	int fd;

	strcpy(s->program, "/tmp/mtrace-unwinding-XXXXXX");
	fd = mkstemp(s->program);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "g++ -g %s -o %s tests/fixtures/unwinding.cpp", options,
		 s->program);
	assert_int_equal(system(command), 0);
}

static void stepper_deinit(struct stepper *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	unlink(s->program);
	mt_space_destroy(s->user);
	mt_space_destroy(s->kernel);
	mt_space_pool_destroy(s->pool);
	mt_array_deinit(&s->events);
	mt_array_deinit(&s->frames);
	mt_array_deinit(&s->truth);
}

static void stacks_are_true(const char *options)
{
	struct stepper s = {0};
	struct rebuilt rebuilt = {.s = &s};

	compile(&s, options);
	if (!launch(&s)) {
		unlink(s.program);
		print_message("this machine lets nobody be traced (ptrace)\n");
		skip();
	}
	name_code(&s);
	assert_int_equal(
	    mt_array_push(&s.frames, ((struct true_frame){UINT64_MAX, function_at(&s, s.pc)})), 0);
	step_all(&s);
	rebuild(&s, &rebuilt);
	assert_true(s.truth.count > 70);
	compare(&s.truth, &rebuilt.stacks);
	assert_int_equal(rebuilt.depth_at_end, 1);
	mt_array_deinit(&rebuilt.open);
	mt_array_deinit(&rebuilt.stacks);
	stepper_deinit(&s);
}

static void unoptimised(void **state)
{
	(void)state;
	stacks_are_true("-O0");
}

static void optimised(void **state)
{
	(void)state;
	stacks_are_true("-O2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(unoptimised),
					   cmocka_unit_test(optimised)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
