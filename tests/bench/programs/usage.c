/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A preloaded library that says how much a program took from its first code to its exit: it writes
 * to the file $BENCH_USAGE the seconds of user, of system and of wall-clock time, how many bytes
 * its threads put into their rings, when by CLOCK_MONOTONIC it began, and how many seconds of CPU its
 * tracer had taken by then.  Only the program named $BENCH_PROGRAM does so. */
#include <asm/prctl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t ring_bytes;
static struct timespec began;
static struct rusage before;
static double tracer_seconds;

/* A thread calls it at its end. */
void bench_thread_done(void)
{
	const uint64_t *position = NULL;

	/* Where the thread is recorded, its GS base leads to its struct mt_ring_position. */
	if (syscall(SYS_arch_prctl, ARCH_GET_GS, &position) == 0 && position)
		ring_bytes += position[1];
}

/* 0: there is none. */
static double find_tracer_seconds(void)
{
	struct timespec taken = {0};
	clockid_t clock;
	char line[256];
	int tracer = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && !tracer && fgets(line, sizeof(line), file))
		sscanf(line, "TracerPid: %d", &tracer);
	if (file)
		fclose(file);
	if (tracer && clock_getcpuclockid(tracer, &clock) == 0)
		clock_gettime(clock, &taken);
	return (double)taken.tv_sec + (double)taken.tv_nsec * 1e-9;
}

__attribute__((constructor)) static void begin(void)
{
	tracer_seconds = find_tracer_seconds();
	clock_gettime(CLOCK_MONOTONIC, &began);
	getrusage(RUSAGE_SELF, &before);
}

static double seconds(struct timeval from, struct timeval to)
{
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_usec - from.tv_usec) * 1e-6;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("BENCH_USAGE"), *program = getenv("BENCH_PROGRAM");
	struct timespec now;
	struct rusage usage;
	FILE *file;

	if (!path || !program || strcmp(program_invocation_short_name, program) != 0)
		return;
	bench_thread_done();
	clock_gettime(CLOCK_MONOTONIC, &now);
	getrusage(RUSAGE_SELF, &usage);
	file = fopen(path, "w");
	if (!file)
		return;
	fprintf(file, "%.6f %.6f %.6f %llu %.6f %.6f\n", seconds(before.ru_utime, usage.ru_utime),
		seconds(before.ru_stime, usage.ru_stime),
		(double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) * 1e-9,
		(unsigned long long)ring_bytes,
		(double)began.tv_sec + (double)began.tv_nsec * 1e-9, tracer_seconds);
	fclose(file);
}
