/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says each of the words of mtrace.h N times in eight rounds, and prints what one of the quickest
 * round took of the processor, in ns. */
#include "mtrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 8

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#define MEASURE(name, word)                                                                        \
	do {                                                                                       \
		double least = 1e18;                                                               \
		for (int round = 0; round < ROUNDS; round++) {                                     \
			const double begin = now_ns();                                             \
			for (int i = 0; i < calls; i++)                                            \
				word;                                                              \
			const double took = (now_ns() - begin) / calls;                            \
			least = took < least ? took : least;                                       \
		}                                                                                  \
		printf("%s\t%.1f\n", name, least);                                                 \
	} while (0)

int main(int count, char **words)
{
	const int calls = count > 1 ? atoi(words[1]) : 1000000;
	const char *volatile text = "cache flushed";

	MEASURE("`mtrace_mark(\"a literal\")`", mtrace_mark("a literal"));
	MEASURE("`mtrace_mark(text)`, 13 bytes", mtrace_mark(text));
	MEASURE("`mtrace_number(\"a literal\", number)`", mtrace_number("a literal", i));
	MEASURE("`mtrace_begin(\"a literal\")` and `mtrace_end()`",
		(mtrace_begin("a literal"), mtrace_end()));
	return 0;
}
