/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls a function in twenty rounds of N times, and prints what a call of the quickest one took, in
 * ns: by the clock, and of the processor. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct text {
	long len;
	const char *name;
};

volatile long sink;

__attribute__((noinline, noclone)) long handle(int x, struct text *s, const char *name, long n)
{
	sink = x + (s->len ^ *name) + n;
	return sink;
}

static double now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char **words)
{
	const int calls = count > 1 ? atoi(words[1]) : 10000000;
	struct text text = {100, "#comment"};
	const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};
	double least[] = {1e18, 1e18};

	for (int round = 0; round < 20; round++) {
		const double begin[] = {now_ns(clocks[0]), now_ns(clocks[1])};

		for (int i = 0; i < calls; i++)
			handle(-i, &text, "teapot", i);
		for (int i = 0; i < 2; i++) {
			const double took = (now_ns(clocks[i]) - begin[i]) / calls;
			least[i] = took < least[i] ? took : least[i];
		}
	}
	printf("%.2f %.2f\n", least[0], least[1]);
	return 0;
}
