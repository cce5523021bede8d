/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work and play.  Arguments: how many threads there are beside the first (0), how
 * often each plays (1), and "wait" for a line on standard input before the work. */
#include "player.h"

#include <pthread.h>

#define MOST 4

static const char *program;
static unsigned int rounds = 1;
volatile int watched;

__attribute__((noinline)) int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) int twice(int n)
{
	return 2 * n;
}

__attribute__((noinline)) int work(int seed)
{
	int (*volatile functions[])(int) = {fib, twice};
	int sum = 0;

	for (int i = 0; i < 6; i++)
		sum += functions[i % 2](seed + i);
	return sum;
}

/* For triggers: control comes here once a round, when the trace has been played. */
__attribute__((noinline)) void reached(int round)
{
	watched = round;
	__asm__ volatile("");
}

static void *thread(void *argument)
{
	unsigned int number = (unsigned int)(uintptr_t)argument;
	int result = work((int)number);
	struct player player = player_of(program, number);

	for (unsigned int i = 1; i <= rounds; i++) {
		play(&player);
		reached((int)i);
	}
	return (void *)(uintptr_t)result;
}

int main(int count, char **arguments)
{
	unsigned int threads = count > 1 ? (unsigned int)atoi(arguments[1]) : 0;
	pthread_t others[MOST];
	char line[8];

	program = arguments[0];
	rounds = count > 2 ? (unsigned int)atoi(arguments[2]) : 1;
	if (count > 3)
		read(0, line, sizeof(line));
	for (uintptr_t i = 1; i <= threads && i < MOST; i++)
		if (pthread_create(&others[i], NULL, thread, (void *)i))
			abort();
	thread(NULL);
	for (unsigned int i = 1; i <= threads && i < MOST; i++)
		pthread_join(others[i], NULL);
	return GOOD;
}
