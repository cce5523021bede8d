/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gaps SECONDS: two threads look at the clock over and over, and tell at the end, in milliseconds,
 * the longest time that passed for each between two looks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2

static double seconds;
static double longest[THREADS];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *look(void *argument)
{
	double *mine = argument, begin = now(), last = begin;

	while (last - begin < seconds) {
		double time = now();

		if (time - last > *mine)
			*mine = time - last;
		last = time;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	seconds = argc > 1 ? atof(argv[1]) : 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, look, &longest[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%.3f\n", longest[i] * 1e3);
	return 0;
}
