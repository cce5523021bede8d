/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls a function ten million times, and prints the CPU time of each in ns. */
#include <stdio.h>
#include <time.h>

volatile int sink;

__attribute__((noinline)) int handle(int i)
{
	sink = i;
	return sink;
}

int main(void)
{
	const int calls = 10000000;
	const clock_t begin = clock();

	for (int i = 0; i < calls; i++)
		handle(i);
	printf("%.2f\n", (double)(clock() - begin) * 1e9 / CLOCKS_PER_SEC / calls);
	return 0;
}
