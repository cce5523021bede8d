/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The guardian reads from a pipe whose other end only we hold: its end is ours.  What to take out
 * stands in memory shared with it.  It was forked off a process with threads, and so calls nothing
 * but what is safe after that: signal-safety(7). */
#include "ptrace/guardian.h"

#include "terminal/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3 0xcc
/* Its file descriptors. */
#define PIPE   0
#define MEMORY 1

struct table {
	size_t count;
	mt_guardian_site sites[MT_GUARDIAN_SITES];
};

struct mt_guardian {
	pid_t pid;
	int pipe; /* the end that we hold */
	struct table *table;
};

static void take_out(const struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		off_t address = (off_t)mt_guardian_address(table->sites[i]);
		uint8_t original = mt_guardian_original(table->sites[i]), byte = 0;

		if (pread(MEMORY, &byte, 1, address) == 1 && byte == INT3 &&
		    pwrite(MEMORY, &original, 1, address) != 1)
			return; /* the process is gone */
	}
}

_Noreturn static void guard(const struct table *table, int pipe, int memory)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t ignored;
	ssize_t size;
	char byte;

	setsid();
	ending_fill(&ignored);
	sigaddset(&ignored, SIGTSTP);
	for (int number = 1; number < _NSIG; number++)
		if (sigismember(&ignored, number) == 1)
			sigaction(number, &ignore, NULL);
	prctl(PR_SET_NAME, "mt-guardian");
	/* Whatever else we hold must end with us. */
	memory = fcntl(memory, F_DUPFD, MEMORY + 1); /* it may be what the next line closes */
	if (dup2(pipe, PIPE) < 0 || dup2(memory, MEMORY) < 0 || close_range(MEMORY + 1, ~0u, 0) ||
	    chdir("/"))
		_exit(1);
	do
		size = read(PIPE, &byte, 1);
	while (size > 0 || (size < 0 && errno == EINTR));
	take_out(table);
	_exit(0);
}

static struct mt_error *start(struct mt_guardian *guardian, int memory)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return mt_error_errno(errno, "cannot create a pipe");
	guardian->pid = fork();
	if (guardian->pid == 0)
		guard(guardian->table, ends[0], memory);
	close(ends[0]);
	guardian->pipe = ends[1];
	if (guardian->pid < 0)
		return mt_error_errno(errno, "cannot start a process");
	return NULL;
}

struct mt_error *mt_guardian_create(pid_t pid, struct mt_guardian **out)
{
	struct mt_guardian *guardian = calloc(1, sizeof(*guardian));
	char path[64];

	if (!guardian)
		return mt_error_no_memory();
	guardian->pipe = -1;
	guardian->table = mmap(NULL, sizeof(*guardian->table), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (guardian->table == MAP_FAILED) {
		free(guardian);
		return mt_error_no_memory();
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int memory = open(path, O_RDWR | O_CLOEXEC);
	struct mt_error *error =
	    memory < 0 ? mt_error_errno(errno, "cannot open %s", path) : start(guardian, memory);
	if (memory >= 0)
		close(memory);
	if (error)
		mt_guardian_destroy(guardian);
	else
		*out = guardian;
	return error;
}

void mt_guardian_destroy(struct mt_guardian *guardian)
{
	if (!guardian)
		return;
	if (guardian->pipe >= 0)
		close(guardian->pipe);
	while (guardian->pid > 0 && waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	munmap(guardian->table, sizeof(*guardian->table));
	free(guardian);
}

ssize_t mt_guardian_note(struct mt_guardian *guardian, uint64_t address, uint8_t original)
{
	const mt_guardian_site site = mt_guardian_site_make(address, original);
	struct table *table = guardian->table;

	for (size_t i = 0; i < table->count; i++) {
		if (mt_guardian_address(table->sites[i]) != address)
			continue;
		__atomic_store_n(&table->sites[i], site, __ATOMIC_RELEASE);
		return (ssize_t)i;
	}
	if (table->count == MT_GUARDIAN_SITES)
		return -1;
	table->sites[table->count] = site;
	__atomic_store_n(&table->count, table->count + 1, __ATOMIC_RELEASE);
	return (ssize_t)table->count - 1;
}

bool mt_guardian_knows(const struct mt_guardian *guardian, uint64_t address)
{
	for (size_t i = 0; i < guardian->table->count; i++)
		if (mt_guardian_address(guardian->table->sites[i]) == address)
			return true;
	return false;
}

size_t mt_guardian_sites(const struct mt_guardian *guardian, const mt_guardian_site **out)
{
	*out = guardian->table->sites;
	return guardian->table->count;
}

void mt_guardian_keep(struct mt_guardian *guardian, size_t count)
{
	__atomic_store_n(&guardian->table->count, count, __ATOMIC_RELEASE);
}
