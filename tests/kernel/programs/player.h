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
#include <sys/stat.h>
#include <unistd.h>

#define GOOD 7 /* the exit status when all went well */

/* A thread's trace, as tests/kernel/streams.py writes it and the device takes it. */
struct player {
	int device;
	void *stream; /* NULL: nothing is played here */
	size_t size;
};

static inline void load(struct player *player, const char *program, unsigned int number)
{
	char path[256];
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "%s.pt.%u", program, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return;
	player->size = (size_t)status.st_size;
	player->stream = malloc(player->size);
	if (!player->stream || read(fd, player->stream, player->size) != status.st_size)
		abort();
	close(fd);
}

static inline struct player player_of(const char *program, unsigned int number)
{
	struct player player = {.device = open("/dev/mtrace_test_pt", O_RDWR | O_CLOEXEC)};

	if (player.device >= 0)
		load(&player, program, number);
	return player;
}

static inline void play(struct player *player)
{
	if (player->stream &&
	    write(player->device, player->stream, player->size) != (ssize_t)player->size)
		abort();
}

#endif
