/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fib N: nothing but calls. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, noclone,
	       optimize("no-inline", "no-optimize-sibling-calls"))) static unsigned
fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
	printf("%u\n", fib(argc > 1 ? (unsigned)atoi(argv[1]) : 35));
	return 0;
}
