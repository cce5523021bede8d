/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/proc.h"

#include "base/str.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXITING 0x4u /* PF_EXITING in include/linux/sched.h */
#define PAGE    4096u
/* The system gives no more of a list of mappings at once. */
#define READ_BYTES 4096
/* Of a word of /proc/PID/pagemap. */
#define PAGE_OF_FILE (1ull << 61) /* or of memory that is shared */
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_PRESENT (1ull << 63)

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

struct mt_error *mt_proc_check(void)
{
	return mt_proc_status_number(getpid(), "Pid") == getpid()
		   ? NULL
		   : mt_error_new(MT_ERROR_SYSTEM,
				  "/proc is missing, or is that of another PID namespace (mount "
				  "-t proc proc /proc)");
}

static uint64_t auxiliary_value(pid_t pid, uint64_t type)
{
	char path[64];
	Elf64_auxv_t entries[64];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, entries, sizeof(entries));
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(entries[0]); i++)
		if (entries[i].a_type == type)
			return entries[i].a_un.a_val;
	return 0;
}

uint64_t mt_proc_entry(pid_t pid)
{
	return auxiliary_value(pid, AT_ENTRY);
}

uint64_t mt_proc_loader(pid_t pid)
{
	return auxiliary_value(pid, AT_BASE);
}

uint64_t mt_proc_stack(pid_t pid)
{
	return auxiliary_value(pid, AT_RANDOM);
}

uint64_t mt_proc_stack_bytes(pid_t pid)
{
	struct rlimit limit;

	return prlimit(pid, RLIMIT_STACK, NULL, &limit) ? 0 : limit.rlim_cur;
}

int mt_proc_status_number(pid_t pid, const char *key)
{
	char line[256];
	int value = -1;
	size_t length = strlen(key);
	FILE *file = open_proc(pid, "status");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, length) == 0 && line[length] == ':' &&
		    sscanf(line + length + 1, "%d", &value) == 1)
			break;
	if (file)
		fclose(file);
	return value;
}

bool mt_proc_is_sandboxed(pid_t lwp)
{
	int mode = mt_proc_status_number(lwp, "Seccomp");

	return mode == 1 || (mode > 1 && mt_proc_status_number(lwp, "Seccomp_filters") >
					     mt_proc_status_number(getpid(), "Seccomp_filters"));
}

/* A number at *AT, which moves behind it and one character more. */
static uint64_t parse_number(const char **at, unsigned base)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		unsigned digit = (unsigned char)**at - (unsigned)'0';

		if (digit > 9)
			digit = (unsigned char)**at - (unsigned)'a' + 10;
		if (digit >= base)
			break;
		value = value * base + digit;
	}
	*at += **at != '\0';
	return value;
}

/* Anonymous memory that children share, which the kernel keeps in a file without a name
 * (shmem_zero_setup() in mm/shmem.c); and code in a memfd that is mapped more than once, so that
 * compilers at run time can write it where it cannot run.  The loader maps libraries private. */
static bool is_memory(const struct mt_map *map, bool is_shared)
{
	static const char named[] = "/memfd:";

	return strcmp(map->path, "/dev/zero (deleted)") == 0 ||
	       (is_shared && map->executable && strncmp(map->path, named, sizeof(named) - 1) == 0);
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE      PATH" */
static bool parse_map(const char *line, struct mt_map *map)
{
	map->start = parse_number(&line, 16);
	map->end = parse_number(&line, 16);
	if (strnlen(line, 5) < 5)
		return false;
	map->readable = line[0] == 'r';
	map->writable = line[1] == 'w';
	map->executable = line[2] == 'x';
	const bool is_shared = line[3] == 's';
	line += 5;
	map->offset = parse_number(&line, 16);
	map->device = parse_number(&line, 16) << 32;
	map->device |= parse_number(&line, 16);
	map->inode = parse_number(&line, 10);
	map->path = line + strspn(line, " ");
	if (is_memory(map, is_shared))
		map->path = "";
	return true;
}

/* All of a file whose size nobody knows.  Returns 0, or an errno. */
static int read_whole(int fd, struct mt_str *text)
{
	char bytes[READ_BYTES];
	ssize_t size;

	while ((size = read(fd, bytes, sizeof(bytes))) != 0) {
		if (size > 0)
			mt_str_append_bytes(text, bytes, (size_t)size);
		else if (errno == ESRCH) /* it ended meanwhile */
			break;
		else if (errno != EINTR)
			return errno;
	}
	return text->failed ? ENOMEM : 0;
}

struct mt_error *
mt_proc_each_map(pid_t pid, struct mt_error *(*found)(void *context, const struct mt_map *map),
		 void *context)
{
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_map map;
	char path[64], *rest;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return mt_error_new(MT_ERROR_GONE, "process %d is gone", pid);
	int errnum = fd < 0 ? errno : read_whole(fd, &text);
	if (fd >= 0)
		close(fd);
	if (errnum)
		return mt_error_errno(errnum, "cannot read the mappings of process %d", pid);
	rest = text.text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (parse_map(line, &map))
			mt_try(found(context, &map));
	return NULL;
}

/* See Documentation/admin-guide/mm/pagemap.rst. */
static bool is_unwritten(uint64_t page)
{
	return !(page & (PAGE_PRESENT | PAGE_SWAPPED)) ||
	       ((page & PAGE_OF_FILE) && !(page & PAGE_SWAPPED));
}

int mt_proc_open_pagemap(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool mt_proc_each_written(int pagemap, uint64_t start, uint64_t end,
			  bool (*found)(void *context, uint64_t page), void *context)
{
	uint64_t pages[512];
	bool all = pagemap >= 0;

	for (uint64_t at = start; all && at < end;) {
		size_t left = (end - at + PAGE - 1) / PAGE, most = sizeof(pages) / sizeof(*pages);
		size_t size = (left < most ? left : most) * sizeof(*pages);

		all = pread(pagemap, pages, size, (off_t)(at / PAGE * sizeof(*pages))) ==
		      (ssize_t)size;
		for (size_t i = 0; all && i < size / sizeof(*pages); i++)
			all = is_unwritten(pages[i]) || found(context, at + i * PAGE);
		at += size / sizeof(*pages) * PAGE;
	}
	return all;
}

int mt_proc_share_memory(pid_t one, pid_t other)
{
	long order = syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);

	return order < 0 ? -1 : order == 0;
}

enum mt_signal_action mt_proc_signal_action(pid_t lwp, int signal)
{
	FILE *file = open_proc(lwp, "status");
	uint64_t bit = 1ull << (signal - 1), ignored = 0, caught = 0;
	char line[256];

	if (!file)
		return MT_SIGNAL_DEFAULT;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "SigIgn: %" SCNx64, &ignored);
		sscanf(line, "SigCgt: %" SCNx64, &caught);
	}
	fclose(file);
	if (caught & bit)
		return MT_SIGNAL_CAUGHT;
	return ignored & bit ? MT_SIGNAL_IGNORED : MT_SIGNAL_DEFAULT;
}

static uint64_t pending(pid_t lwp, uint64_t *blocked)
{
	FILE *file = open_proc(lwp, "status");
	uint64_t own = 0, shared = 0;
	char line[256];

	*blocked = 0;
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "SigPnd: %" SCNx64, &own);
		sscanf(line, "ShdPnd: %" SCNx64, &shared);
		sscanf(line, "SigBlk: %" SCNx64, blocked);
	}
	fclose(file);
	return own | shared;
}

bool mt_proc_has_signal(pid_t lwp)
{
	uint64_t blocked;
	const uint64_t all = pending(lwp, &blocked);

	return all & ~blocked;
}

bool mt_proc_is_pending(pid_t lwp, int signal)
{
	uint64_t blocked;
	const uint64_t all = pending(lwp, &blocked);

	return all & ~blocked & 1ull << (signal - 1);
}

bool mt_proc_is_blocked(pid_t lwp, int signal)
{
	uint64_t blocked;

	pending(lwp, &blocked);
	return blocked & 1ull << (signal - 1);
}

bool mt_proc_is_queued(pid_t lwp, int signal)
{
	uint64_t blocked;

	return pending(lwp, &blocked) & 1ull << (signal - 1);
}

bool mt_signal_is_fatal(int signal, enum mt_signal_action action)
{
	if (signal == SIGKILL)
		return true;
	if (action != MT_SIGNAL_DEFAULT)
		return false;
	switch (signal) {
	case SIGCHLD:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGURG:
	case SIGWINCH:
		return false;
	default:
		return true;
	}
}

/* The letter that proc(5) has for it, 0 when it is not known; and its PF_ flags. */
static char read_state(pid_t lwp, unsigned *flags)
{
	FILE *file = open_proc(lwp, "stat");
	char line[256] = "", state = 0;

	*flags = 0;
	if (!file)
		return errno == ENOENT || errno == ESRCH ? 'X' : 0;
	errno = 0;
	const char *rest = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (!rest && errno == ESRCH) /* it was reaped since */
		state = 'X';
	fclose(file);
	if (rest) /* the name before it may hold anything */
		sscanf(rest, ") %c %*d %*d %*d %*d %*d %u", &state, flags);
	return state;
}

/* Opening takes several times as long as reading, and mostly it is the same thread's again.  It is
 * that thread's whatever becomes of its number. */
uint64_t mt_proc_cpu_ns(pid_t lwp)
{
	static _Thread_local struct {
		pid_t lwp;
		int fd; /* of no LWP: not open */
	} last;
	char path[64], text[64];
	ssize_t size = last.lwp == lwp ? pread(last.fd, text, sizeof(text) - 1, 0) : 0;

	if (size <= 0) {
		if (last.lwp)
			close(last.fd);
		snprintf(path, sizeof(path), "/proc/%d/schedstat", lwp);
		last.fd = open(path, O_RDONLY | O_CLOEXEC);
		last.lwp = last.fd < 0 ? 0 : lwp;
		size = last.lwp ? pread(last.fd, text, sizeof(text) - 1, 0) : 0;
	}
	text[size > 0 ? size : 0] = 0;
	return strtoull(text, NULL, 10);
}

static char state_of(pid_t lwp)
{
	unsigned flags;

	return read_state(lwp, &flags);
}

bool mt_proc_is_exiting(pid_t lwp)
{
	unsigned flags;
	char state = read_state(lwp, &flags);

	return state == 'Z' || state == 'X' || flags & EXITING;
}

bool mt_proc_has_ended(pid_t lwp)
{
	char state = state_of(lwp);

	return state == 'Z' || state == 'X';
}

/* Threads that were killed may still wait for their tracer before they begin to exit. */
static bool is_doomed(pid_t lwp)
{
	return mt_proc_is_pending(lwp, SIGKILL) || mt_proc_is_exiting(lwp);
}

bool mt_proc_is_dying(pid_t pid)
{
	char path[64];
	bool lives = false;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	for (struct dirent *entry; tasks && !lives && (entry = readdir(tasks));) {
		pid_t lwp = atoi(entry->d_name);

		lives = lwp > 0 && !is_doomed(lwp);
	}
	if (tasks)
		closedir(tasks);
	return !lives && (tasks || is_doomed(pid));
}

bool mt_proc_is_uninterruptible(pid_t lwp)
{
	return state_of(lwp) == 'D';
}

bool mt_proc_is_at_work(pid_t lwp)
{
	char state = state_of(lwp);

	return state == 'R' || state == 't';
}

long mt_proc_system_call(pid_t lwp)
{
	FILE *file = open_proc(lwp, "syscall");
	long number = -1;

	if (file && fscanf(file, "%ld", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

void mt_proc_name(pid_t lwp, char name[16])
{
	FILE *file = open_proc(lwp, "comm");

	name[0] = '\0';
	if (!file)
		return;
	if (!fgets(name, 16, file))
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	fclose(file);
}
