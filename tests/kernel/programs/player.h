/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that play their own Intel PT traces.  Where there is no /dev/mtrace_test_pt they only
 * run, and are recorded by single-stepping; where there is, each thread hands the device what was
 * recorded of it then (PROGRAM.pt.N, N the thread's number), with the times moved to the present.
 * They are linked statically and not relocated, so that both times the code lies at the same
 * addresses. */
#ifndef MTRACE_TEST_PLAYER_H
#define MTRACE_TEST_PLAYER_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#define GOOD 7 /* the exit status when all went well */

/* What tests/kernel/streams.py writes. */
struct stream {
	uint64_t ticks; /* from the first packet to the last */
	uint64_t tsc_count;
	uint64_t bytes;
	uint32_t tsc_at[]; /* of the payloads of the TSC packets; the trace follows */
};

static inline struct stream *load(const char *program, unsigned int number)
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

static inline void move(uint8_t *payload, uint64_t ticks)
{
	uint64_t tsc = 0;

	memcpy(&tsc, payload, 7);
	tsc += ticks;
	memcpy(payload, &tsc, 7);
}

/* What was recorded ends now, and began after the last time. */
static inline void play_stream(int device, struct stream *stream, uint64_t *played)
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

/* A thread's trace, and when it was played last. */
struct player {
	int device;
	struct stream *stream; /* NULL: nothing is played here */
	uint64_t played;
};

static inline struct player player_of(const char *program, unsigned int number)
{
	struct player player = {.device = open("/dev/mtrace_test_pt", O_RDWR | O_CLOEXEC),
				.played = __rdtsc()};

	if (player.device >= 0)
		player.stream = load(program, number);
	return player;
}

static inline void play(struct player *player)
{
	if (player->stream)
		play_stream(player->device, player->stream, &player->played);
}

#endif
