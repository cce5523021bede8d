/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calls N: 17 events for each of N, entries and returns of a dozen functions, three deep. */
#include <stdlib.h>

static volatile unsigned sum;

#define LEAF(name, factor)                                                                         \
	__attribute__((noinline)) static void name(unsigned x)                                     \
	{                                                                                          \
		sum += x * (factor);                                                               \
	}
LEAF(one, 1)
LEAF(two, 2)
LEAF(three, 3)
LEAF(four, 4)
LEAF(five, 5)
LEAF(six, 6)
LEAF(seven, 7)
LEAF(eight, 8)

__attribute__((noinline)) static void first(unsigned x)
{
	one(x);
	two(x);
	three(x);
	sum++;
}

__attribute__((noinline)) static void second(unsigned x)
{
	four(x);
	five(x);
	sum++;
}

__attribute__((noinline)) static void third(unsigned x)
{
	second(x);
	six(x);
	seven(x);
	eight(x);
	sum++;
}

int main(int argc, char **argv)
{
	const unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	for (unsigned i = 0; i < count; i++) {
		first(i);
		if (i % 2)
			third(i);
		if (i % 3 == 0)
			second(i);
	}
	return 0;
}
