/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/inject.h"
#include "ptrace/syscall.h"
#include "ptrace/target.h"

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

static bool dies_at_resume;
static uint64_t later_ns, passes_ns; /* each time that it is asked for */

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
	if (dies_at_resume && (request == PTRACE_CONT || request == PTRACE_SYSCALL))
		raise(SIGKILL);
	return __real_ptrace(request, pid, address, data);
}

uint64_t __real_mt_clock_monotonic_ns(void);
uint64_t __wrap_mt_clock_monotonic_ns(void);
uint64_t __wrap_mt_clock_monotonic_ns(void)
{
	later_ns += passes_ns;
	return __real_mt_clock_monotonic_ns() + later_ns;
}

static void *pause_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

/* A child of two threads.  It says so when both are there. */
static pid_t start(void)
{
	int ends[2];
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;

		alarm(120); /* should we fail */
		pthread_create(&thread, NULL, pause_for_ever, NULL);
		if (write(ends[1], &byte, 1) != 1)
			_exit(1);
		pause_for_ever(NULL);
	}
	assert_true(child > 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return child;
}

/* Memory of ours, which is taken away by such calls, has the instruction as well, and lies lowest.
 */
static void test_a_call_that_takes_its_own_instruction_away(void **state)
{
	static const uint8_t instruction[] = {0x0f, 0x05};
	uint8_t *low = mmap((void *)0x10000000, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct mt_system_call calls[] = {
	    {.number = SYS_munmap, .arguments = {(uintptr_t)low, PAGE}},
	    {.number = SYS_getpid},
	};
	struct mt_target *target = NULL;
	int status = 0;

	(void)state;
	assert_true(low != MAP_FAILED);
	memcpy(low, instruction, sizeof(instruction));
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	/* Another one is found... */
	assert_no_error(mt_target_call_systems(target, child, calls, 2));
	assert_int_equal(calls[1].result, child);
	target->ops->destroy(target);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);

	/* ...and where it is not, that is an error, and the thread goes on. */
	child = start();
	assert_int_equal(ptrace(PTRACE_SEIZE, child, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_error(mt_ptrace_do_syscalls(child, child, (uintptr_t)low, calls, 2, &status),
		     MT_ERROR_UNSUPPORTED, "no system call instruction at 0x10000000");
	assert_int_equal(status, 0);
	struct user_regs_struct registers;
	assert_int_equal(ptrace(PTRACE_GETREGS, child, 0, &registers), 0);
	assert_true(registers.rip != (uintptr_t)low);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, __WALL), child);
	munmap(low, PAGE);
}

/* The kernel does not tell of a first thread's end while others are there. */
static void test_no_call_of_one_that_ends(void **state)
{
	struct mt_target *target = NULL;
	struct mt_system_call call = {.number = SYS_getpid};
	struct mt_stop stop = {0};

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	assert_no_error(mt_target_call_system(target, child, &call));
	assert_int_equal(call.result, child);
	assert_int_equal(kill(child, SIGKILL), 0);
	do
		assert_no_error(target->run->wait(target, -1, &stop));
	while (stop.kind != MT_STOP_EXITING || stop.lwp != child);
	assert_error(mt_target_call_system(target, child, &call), MT_ERROR_GONE, "exited");
	target->ops->destroy(target);
}

/* The program took away the code by which its threads are borrowed: that ends, and does no harm. */
static void test_code_that_is_gone(void **state)
{
	struct mt_target *target = NULL;
	struct mt_system_call call = {.number = SYS_getpid};
	struct user_regs_struct before, after;

	(void)state;
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->get_registers(target, child, &before));
	assert_no_error(
	    target->ops->set_injected(target, child, (struct mt_injected){.code = 0x10}));
	assert_error(mt_target_call_system(target, child, &call), MT_ERROR_BUSY, "SIGSEGV");
	assert_no_error(target->ops->get_registers(target, child, &after));
	assert_memory_equal(&before, &after, sizeof(before));
	assert_no_error(target->ops->set_injected(target, child, (struct mt_injected){0}));
	assert_no_error(mt_target_call_system(target, child, &call));
	assert_int_equal(call.result, child);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

/* What the engine maps into a program, at the same addresses here and there. */
static struct mt_injected map_lists(void)
{
	uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *shared =
	    mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_ptr_not_equal(shared, MAP_FAILED);
	memcpy(code, mt_inject_code, MT_INJECT_BYTES);
	memcpy(code + MT_INJECT_LIST_CODE_AT, mt_inject_list_code, MT_INJECT_LIST_CODE_BYTES);
	return (struct mt_injected){.code = (uint64_t)code,
				    .frame = (uint64_t)code + MT_INJECT_FRAME_AT,
				    .alive = (uint64_t)shared,
				    .results = (uint64_t)shared + PAGE,
				    .results_here =
					(const uint64_t *)(const void *)(shared + PAGE)};
}

/* The word that holds our number as long as we live. */
static void lock(const struct mt_injected *injected)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)injected->alive;
	pthread_mutexattr_t attributes;

	assert_int_equal(pthread_mutexattr_init(&attributes), 0);
	assert_int_equal(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
	assert_int_equal(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
	assert_int_equal(pthread_mutex_init(mutex, &attributes), 0);
	assert_int_equal(pthread_mutex_lock(mutex), 0);
}

/* More than go into one list, of which some fail. */
static void check_lists(struct mt_injected injected)
{
	enum { COUNT = 2 * MT_INJECT_LIST_MOST + 3 };
	struct mt_target *target = NULL;
	struct mt_system_call calls[COUNT];
	struct user_regs_struct before, after;

	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->set_injected(target, child, injected));
	assert_no_error(target->ops->get_registers(target, child, &before));
	for (size_t i = 0; i < COUNT; i++)
		calls[i] = i % 3 ? (struct mt_system_call){.number = SYS_getpid}
				 : (struct mt_system_call){.number = SYS_close, .arguments = {~0u}};
	assert_no_error(mt_target_call_systems(target, child, calls, COUNT));
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(calls[i].result, i % 3 ? child : -EBADF);
	const struct mt_system_call map_page = {
	    .number = SYS_mmap,
	    .arguments = {0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0}};
	calls[0] = calls[1] = map_page;
	assert_no_error(mt_target_call_systems(target, child, calls, 2));
	assert_true(calls[0].result > 0 && calls[1].result > 0);
	assert_int_not_equal(calls[0].result, calls[1].result);
	assert_no_error(target->ops->get_registers(target, child, &after));
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

static void test_lists_of_calls(void **state)
{
	struct mt_injected injected = map_lists();

	(void)state;
	lock(&injected);
	check_lists(injected);
	injected.results_here = NULL; /* read from the program's memory */
	check_lists(injected);
}

/* SIGSTOP cannot be blocked: it comes within the calls, and is there behind them. */
static void check_stop_within(struct mt_injected injected)
{
	struct mt_target *target = NULL;
	struct mt_stop stop = {0};

	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	struct mt_system_call calls[] = {
	    {.number = SYS_tkill, .arguments = {(uint64_t)child, SIGSTOP}},
	    {.number = SYS_getpid},
	};

	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->set_injected(target, child, injected));
	assert_no_error(mt_target_call_systems(target, child, calls, 2));
	assert_int_equal(calls[0].result, 0);
	assert_int_equal(calls[1].result, child);
	assert_no_error(target->run->resume(target, child, MT_RESUME_CONTINUE, 0));
	assert_no_error(target->run->wait(target, -1, &stop));
	assert_int_equal(stop.kind, MT_STOP_SIGNAL);
	assert_int_equal(stop.signal, SIGSTOP);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

static void test_a_stop_within(void **state)
{
	struct mt_injected injected = map_lists();

	(void)state;
	lock(&injected);
	check_stop_within(injected);
	injected.alive = 0; /* one by one */
	check_stop_within(injected);
}

/* The program took away where the results go: that ends, and does no harm. */
static void test_results_that_are_gone(void **state)
{
	struct mt_target *target = NULL;
	struct mt_system_call calls[] = {{.number = SYS_getpid}, {.number = SYS_getpid}};
	struct user_regs_struct before, after;
	const struct mt_injected injected = map_lists();

	(void)state;
	lock(&injected);
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	struct mt_system_call unmap = {.number = SYS_munmap, .arguments = {injected.results, PAGE}};
	assert_no_error(mt_target_call_system(target, child, &unmap));
	assert_no_error(target->ops->get_registers(target, child, &before));
	assert_no_error(target->ops->set_injected(target, child, injected));
	assert_error(mt_target_call_systems(target, child, calls, 2), MT_ERROR_SYSTEM, "write");
	assert_no_error(target->ops->get_registers(target, child, &after));
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

/* The program has other memory where the word is by which a thread says that it is done: where it
 * stands says so, too. */
static void test_a_word_that_does_not_come(void **state)
{
	struct mt_target *target = NULL;
	const struct mt_injected injected = map_lists();
	struct mt_system_call calls[] = {
	    {.number = SYS_mmap,
	     .arguments = {injected.results, PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ull, 0}},
	    {.number = SYS_getpid},
	};
	struct user_regs_struct before, after;

	(void)state;
	lock(&injected);
	assert_no_error(mt_ptrace_target_create(&target));
	pid_t child = start();
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->get_registers(target, child, &before));
	assert_no_error(target->ops->set_injected(target, child, injected));
	assert_no_error(mt_target_call_systems(target, child, calls, 2));
	assert_int_equal(calls[0].result, injected.results);
	assert_int_equal(calls[1].result, child);
	assert_no_error(target->ops->get_registers(target, child, &after));
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

/* What was called; that the first of calls was; what the second waits for. */
static int told[2], begun[2], awaited[2];

static void tell(int signal)
{
	(void)signal;
	(void)!write(told[1], "h", 1);
}

static void make_pipes(void)
{
	assert_int_equal(pipe(told) | pipe(begun) | pipe(awaited), 0);
}

static void call_until_killed(const struct mt_injected *injected, pid_t child)
{
	static char byte = 'x';
	struct mt_target *target = NULL;
	struct mt_system_call calls[] = {
	    {.number = SYS_write, .arguments = {(uint64_t)begun[1], (uint64_t)&byte, 1}},
	    {.number = SYS_read, .arguments = {(uint64_t)awaited[0], (uint64_t)&byte, 1}},
	    {.number = SYS_write, .arguments = {(uint64_t)told[1], (uint64_t)&byte, 1}},
	};

	if (injected->alive)
		lock(injected);
	if (!mt_ptrace_target_create(&target) && !target->run->attach(target, child) &&
	    !target->ops->set_injected(target, child, *injected))
		mt_error_destroy(mt_target_call_systems(target, child, calls, 3));
	_exit(1);
}

/* In the second of three calls. */
static void kill_tracer_within(const struct mt_injected *injected, pid_t child)
{
	int status;
	char byte = 0;
	pid_t tracer = fork();

	if (tracer == 0)
		call_until_killed(injected, child);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	assert_int_equal(kill(tracer, SIGKILL), 0);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(write(awaited[1], &byte, 1), 1);
}

/* The rest of the list is not called: its maker saw a program that stood still. */
static void test_killed_within_a_list(void **state)
{
	const struct mt_injected injected = map_lists();
	int status;
	char byte = 0;

	(void)state;
	make_pipes();
	signal(SIGUSR1, tell);
	pid_t child = start();
	kill_tracer_within(&injected, child);
	assert_int_equal(kill(child, SIGUSR1), 0);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(byte, 'h');
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static struct mt_error *see_thread(void *context, pid_t lwp)
{
	pid_t *last = context;

	*last = lwp;
	return NULL;
}

/* Its list and its frame are not written over. */
static void test_one_that_does_not_come_back(void **state)
{
	const struct mt_injected injected = map_lists();
	struct mt_target *target = NULL;
	static char byte = 'x';
	pid_t other = 0;

	(void)state;
	make_pipes();
	lock(&injected);
	pid_t child = start();
	struct mt_system_call calls[] = {
	    {.number = SYS_read, .arguments = {(uint64_t)awaited[0], (uint64_t)&byte, 1}},
	    {.number = SYS_write, .arguments = {(uint64_t)told[1], (uint64_t)&byte, 1}},
	};
	struct mt_system_call call = {.number = SYS_getpid};

	assert_no_error(mt_ptrace_target_create(&target));
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->set_injected(target, child, injected));
	passes_ns = 100000000;
	assert_error(mt_target_call_systems(target, child, calls, 2), MT_ERROR_BUSY,
		     "did not finish");
	passes_ns = 0;
	assert_no_error(target->ops->each_thread(target, child, see_thread, &other));
	assert_int_not_equal(other, child);
	assert_error(mt_target_call_system(target, other, &call), MT_ERROR_BUSY, "not finished");
	assert_int_equal(write(awaited[1], &byte, 1), 1);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	target->ops->destroy(target);
}

/* Killed while it stood still, which nobody told us; its other thread stands until it is waited
 * for. */
static void test_of_one_that_was_killed(void **state)
{
	const struct mt_injected injected = map_lists();
	struct mt_target *target = NULL;
	struct mt_system_call call = {.number = SYS_getpid};

	(void)state;
	make_pipes();
	lock(&injected);
	pid_t child = start();
	assert_no_error(mt_ptrace_target_create(&target));
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->set_injected(target, child, injected));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_error(mt_target_call_system(target, child, &call), MT_ERROR_GONE, "thread ");
	target->ops->destroy(target);
}

static void call_and_die(const struct mt_injected *injected, pid_t child)
{
	static char byte = 'x';
	struct mt_target *target = NULL;
	struct mt_system_call call = {.number = SYS_write,
				      .arguments = {(uint64_t)told[1], (uint64_t)&byte, 1}};

	lock(injected);
	if (!mt_ptrace_target_create(&target) && !target->run->attach(target, child) &&
	    !target->ops->set_injected(target, child, *injected)) {
		dies_at_resume = true;
		mt_error_destroy(mt_target_call_system(target, child, &call));
	}
	_exit(1);
}

/* A single one is not called either. */
static void test_killed_before_a_call(void **state)
{
	const struct mt_injected injected = map_lists();
	int status;
	char byte = 0;

	(void)state;
	make_pipes();
	signal(SIGUSR1, tell);
	pid_t child = start();
	pid_t tracer = fork();
	if (tracer == 0)
		call_and_die(&injected, child);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(kill(child, SIGUSR1), 0);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(byte, 'h');
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
}

/* From rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 on to r15, all of which stay so until *r15 is not 0;
 * then writes them back, and flags behind them, of which the direction flag is set. */
void spin(uint64_t registers[16]);
__asm__(
    ".text\n"
    ".type spin, @function\n"
    "spin:\n"
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	push %rdi\n"
    "	mov (%rdi), %rax\n	mov 8(%rdi), %rbx\n	mov 16(%rdi), %rcx\n"
    "	mov 24(%rdi), %rdx\n	mov 32(%rdi), %rsi\n	mov 48(%rdi), %rbp\n"
    "	mov 56(%rdi), %r8\n	mov 64(%rdi), %r9\n	mov 72(%rdi), %r10\n"
    "	mov 80(%rdi), %r11\n	mov 88(%rdi), %r12\n	mov 96(%rdi), %r13\n"
    "	mov 104(%rdi), %r14\n	mov 112(%rdi), %r15\n	mov 40(%rdi), %rdi\n"
    "	std\n"
    "1:	cmpq $0, (%r15)\n	je 1b\n"
    "	pushfq\n"
    "	push %r15\n	push %r14\n	push %r13\n	push %r12\n	push %r11\n	push %r10\n"
    "	push %r9\n	push %r8\n	push %rbp\n	push %rdi\n	push %rsi\n	push %rdx\n"
    "	push %rcx\n	push %rbx\n	push %rax\n"
    "	cld\n"
    "	mov 128(%rsp), %rdi\n	mov %rsp, %rsi\n	mov $16, %ecx\n	rep movsq\n"
    "	add $136, %rsp\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
    "	ret\n"
    ".size spin, . - spin\n");

enum { REGISTERS = 15, DIRECTION_FLAG = 0x400 };

/* Exits with 0 if all is as it was when it is let go. */
static void spin_and_compare(const uint64_t *go)
{
	uint64_t before[REGISTERS + 1], after[REGISTERS + 1];
	sigset_t blocked, then;
	int wrong = 0;

	alarm(120);
	for (uint64_t i = 0; i < REGISTERS; i++)
		before[i] = 0x0101010101010101 * (i + 1);
	before[REGISTERS - 1] = (uint64_t)go;
	memcpy(after, before, sizeof(after));
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (write(told[1], "r", 1) != 1)
		_exit(1);
	spin(after);
	wrong |= memcmp(before, after, REGISTERS * sizeof(before[0])) != 0;
	wrong |= !(after[REGISTERS] & DIRECTION_FLAG);
	sigprocmask(SIG_SETMASK, NULL, &then);
	for (int signal = 1; signal <= SIGSYS; signal++)
		wrong |= sigismember(&then, signal) != (signal == SIGUSR2);
	_exit(wrong);
}

/* The code brings its thread back by itself. */
static void check_way_back(struct mt_injected injected)
{
	uint64_t *go = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	char byte = 0;

	assert_ptr_not_equal(go, MAP_FAILED);
	make_pipes();
	pid_t child = fork();
	if (child == 0)
		spin_and_compare(go);
	assert_int_equal(read(told[0], &byte, 1), 1);
	kill_tracer_within(&injected, child);
	__atomic_store_n(go, 1, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The program has other memory where it is said that we live: the thread is not taken back to where
 * it was before. */
static void test_one_that_goes_back_by_itself(void **state)
{
	uint64_t *go = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct mt_injected injected = map_lists();
	struct mt_system_call calls[] = {
	    {.number = SYS_mmap,
	     .arguments = {injected.alive, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			   ~0ull, 0}},
	    {.number = SYS_getpid},
	};
	struct mt_target *target = NULL;
	int status;
	char byte = 0;

	(void)state;
	assert_ptr_not_equal(go, MAP_FAILED);
	make_pipes();
	lock(&injected);
	pid_t child = fork();
	if (child == 0)
		spin_and_compare(go);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_no_error(mt_ptrace_target_create(&target));
	assert_no_error(target->run->attach(target, child));
	assert_no_error(target->ops->set_injected(target, child, injected));
	assert_error(mt_target_call_systems(target, child, calls, 2), MT_ERROR_BUSY,
		     "changes memory that is not its own");
	target->ops->destroy(target);
	__atomic_store_n(go, 1, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_way_back(void **state)
{
	struct mt_injected injected = map_lists();

	(void)state;
	check_way_back(injected);
	injected.alive = 0; /* one by one */
	check_way_back(injected);
	memcpy((uint8_t *)injected.code, mt_inject_stack_code, MT_INJECT_STACK_BYTES);
	injected.frame = 0;
	check_way_back(injected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_call_of_one_that_ends),
	    cmocka_unit_test(test_code_that_is_gone),
	    cmocka_unit_test(test_a_call_that_takes_its_own_instruction_away),
	    cmocka_unit_test(test_lists_of_calls),
	    cmocka_unit_test(test_a_stop_within),
	    cmocka_unit_test(test_results_that_are_gone),
	    cmocka_unit_test(test_a_word_that_does_not_come),
	    cmocka_unit_test(test_killed_within_a_list),
	    cmocka_unit_test(test_one_that_does_not_come_back),
	    cmocka_unit_test(test_of_one_that_was_killed),
	    cmocka_unit_test(test_killed_before_a_call),
	    cmocka_unit_test(test_one_that_goes_back_by_itself),
	    cmocka_unit_test(test_way_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
