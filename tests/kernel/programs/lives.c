/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens to programs while they are recorded; which of it says the argument. */
#include "player.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PT_FLAG   _IO('p', 1)
#define ELSEWHERE ((uint8_t *)0x20000000)
#define TEXT      0x401000 /* where the linker puts .text of such a program */
#define PAGE      4096
#define THREADS   100
#define AT_ONCE   20
#define SWITCHES  3000

static const char *program;
static const char *life;

__attribute__((noinline, section(".text.leaf"))) int leaf(int n)
{
	return n * 3 + 1;
}

__attribute__((noinline)) int twice(int n)
{
	return leaf(n) + leaf(n + 1);
}

static int work(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += twice(i);
	return sum;
}

static void play_once(unsigned int number)
{
	struct player player = player_of(program, number);

	play(&player);
}

/* The same code once more, at another address: the kernel alone tells of this mapping. */
static void mapped(void)
{
	uintptr_t page = (uintptr_t)leaf & ~(uintptr_t)(PAGE - 1);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t *copy = mmap(ELSEWHERE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			     (off_t)(page - TEXT + PAGE));
	int (*function)(int) = (int (*)(int))(copy + ((uintptr_t)leaf - page));

	if (copy == MAP_FAILED || function(2) != 7)
		abort();
	play_once(0);
}

static void forked(void)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		twice(1);
		play_once(1);
		_exit(GOOD);
	}
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != GOOD)
		abort();
	work();
	play_once(0);
}

static void execed(void)
{
	execl(program, program, "again", NULL);
	abort();
}

static void crashed(void)
{
	play_once(0);
	raise(SIGSEGV);
}

/* The trace has a hole in its middle, and the kernel says so. */
static void flagged(void)
{
	struct player player = player_of(program, 0);

	play(&player);
	if (player.device >= 0)
		ioctl(player.device, PT_FLAG, PERF_AUX_FLAG_PARTIAL);
	usleep(1000);
	play(&player);
}

static pthread_barrier_t all_live;

static void *ends(void *unused)
{
	pthread_barrier_wait(&all_live);
	return unused;
}

/* Threads that come and go, some at a time. */
static void churned(void)
{
	pthread_t threads[AT_ONCE];

	pthread_barrier_init(&all_live, NULL, AT_ONCE);
	for (int i = 0; i < THREADS; i += AT_ONCE) {
		for (int j = 0; j < AT_ONCE; j++)
			if (pthread_create(&threads[j], NULL, ends, NULL))
				abort();
		for (int j = 0; j < AT_ONCE; j++)
			pthread_join(threads[j], NULL);
	}
	play_once(0);
}

/* What the driver says of the event that traces us. */
static void described(void)
{
	int device = open("/dev/mtrace_test_pt", O_RDWR | O_CLOEXEC);
	char line[256];
	ssize_t length = device < 0 ? -1 : read(device, line, sizeof(line));

	if (length > 0)
		write(1, line, (size_t)length);
	play_once(0);
}

/* Each sleep makes the kernel write records. */
static void switched(void)
{
	for (int i = 0; i < SWITCHES; i++)
		usleep(1);
	mapped();
}

__attribute__((noinline)) void passed(void)
{
	__asm__ volatile("");
}

/* No signal comes through at the place where the trigger is. */
static void late(void)
{
	struct player player = player_of(program, 0);
	sigset_t all;

	sigfillset(&all);
	play(&player);
	sigprocmask(SIG_BLOCK, &all, NULL);
	passed();
	play(&player);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	play(&player);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} lives[] = {
	    {"mapped", mapped},     {"forked", forked},   {"execed", execed},
	    {"crashed", crashed},   {"flagged", flagged}, {"churned", churned},
	    {"switched", switched}, {"again", mapped},    {"described", described},
	    {"late", late},
	};

	program = arguments[0];
	life = count > 1 ? arguments[1] : "";
	work();
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		if (strcmp(lives[i].name, life) == 0)
			lives[i].function();
	return GOOD;
}
