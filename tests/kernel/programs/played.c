/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that plays its own Intel PT trace.  Where there is no /dev/mtrace_test_pt it only runs,
 * and is recorded by single-stepping; where there is, each thread hands the device what was
 * recorded of it then (PROGRAM.pt.N, N the thread's number), with the times moved to the present.
 * It is linked statically and not relocated, so that both times the code lies at the same
 * addresses.
 *
 * Arguments: how many threads there are beside the first (0), how often each plays (1), and
 * "wait" for a line on standard input before the work. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#define GOOD 7
#define MOST 4
/* What tests/kernel/streams.py writes. */
struct stream {
	uint64_t ticks; /* from the first packet to the last */
	uint64_t tsc_count;
	uint64_t bytes;
	uint32_t tsc_at[]; /* of the payloads of the TSC packets; the trace follows */
};

static const char *program;
static uint64_t begun;
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

static struct stream *load(unsigned int number)
{
	char path[256];
	struct stat status;
	struct stream *stream;
	int fd;

	snprintf(path, sizeof(path), "%s.pt.%u", program, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) || !(stream = malloc((size_t)status.st_size)))
		return NULL;
	if (read(fd, stream, (size_t)status.st_size) != status.st_size)
		abort();
	close(fd);
	return stream;
}

static void move(uint8_t *payload, uint64_t ticks)
{
	uint64_t tsc = 0;

	memcpy(&tsc, payload, 7);
	tsc += ticks;
	memcpy(payload, &tsc, 7);
}

/* What was recorded ends now, and began after the last time. */
static void play(int device, struct stream *stream, uint64_t *played)
{
	uint8_t *trace = (uint8_t *)&stream->tsc_at[stream->tsc_count];
	uint64_t first = 0, by;

	while (__rdtsc() < *played + stream->ticks)
		;
	memcpy(&first, trace + stream->tsc_at[0], 7);
	by = __rdtsc() - stream->ticks - first;
	for (uint64_t i = 0; i < stream->tsc_count; i++)
		move(trace + stream->tsc_at[i], by);
	if (write(device, trace, stream->bytes) != (ssize_t)stream->bytes)
		abort();
	*played = __rdtsc();
}

static void *thread(void *argument)
{
	unsigned int number = (unsigned int)(uintptr_t)argument;
	int device, result = work((int)number);
	struct stream *stream = NULL;
	uint64_t played = begun;

	device = open("/dev/mtrace_test_pt", O_RDWR | O_CLOEXEC);
	if (device >= 0)
		stream = load(number);
	for (unsigned int i = 1; i <= rounds; i++) {
		if (stream)
			play(device, stream, &played);
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
	begun = __rdtsc();
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
