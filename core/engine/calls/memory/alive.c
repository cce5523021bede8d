/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages that a program has of us and cannot write to.  At their end is the word that tells whether
 * we live.  They begin with a directory of all that we mapped into the program: should we be
 * killed, the next tracer of ours finds what we left (left.c).
 *
 * A forked child has the same pages and copies of what they list, as far as that was there then.
 * So an entry is no proof: private memory of ours ends with a mark that the directory names, and
 * what else is listed must look as it did. */
#include "engine/calls/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ull

static struct mt_error *too_many_files(pid_t pid)
{
	return mt_error_new(MT_ERROR_SYSTEM,
			    "process %d has reached its limit of open files, and needs two while "
			    "its rings are mapped (raise it by \"prlimit --pid %d --nofile=…\")",
			    pid, pid);
}

struct mt_error *mt_calls_make_memfds(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp, uint64_t *alive_fd, uint64_t *rings_fd)
{
	static const char names[] = MT_CALLS_ALIVE_NAME "\0" MT_CALLS_RINGS_NAME;
	struct mt_calls_lent lent;

	mt_try(mt_calls_lend(engine, space, lwp, names, sizeof(names), &lent));
	struct mt_system_call calls[2] = {
	    {SYS_memfd_create, {lent.at, MFD_CLOEXEC | MFD_ALLOW_SEALING}, 0},
	    {SYS_memfd_create,
	     {lent.at + sizeof(MT_CALLS_ALIVE_NAME), MFD_CLOEXEC | MFD_ALLOW_SEALING},
	     0},
	};
	struct mt_error *error = mt_target_call_systems(engine->target, lwp, calls, 2);
	mt_calls_lend_end(engine, space, &lent);
	mt_try(error);
	*alive_fd = (uint64_t)calls[0].result;
	*rings_fd = (uint64_t)calls[1].result;
	for (int i = 0; i < 2 && !error; i++)
		error = calls[i].result == -EMFILE
			    ? too_many_files(space->pid)
			    : mt_calls_system_error(&calls[i], "make a memfd", lwp);
	return error;
}

struct mt_error *mt_calls_open_memfd(pid_t pid, uint64_t its_fd, off_t size, int seals, int *fd)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/fd/%llu", pid, (unsigned long long)its_fd);
	*fd = open(path, O_RDWR | O_CLOEXEC);
	if (*fd < 0)
		return mt_error_errno(errno, "cannot open the rings of process %d", pid);
	if (fstat(*fd, &status) || !S_ISREG(status.st_mode) || status.st_size ||
	    fcntl(*fd, F_GET_SEALS) != 0)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "process %d changed its descriptors while it was prepared",
				    pid);
	if (ftruncate(*fd, size))
		return mt_error_errno(
		    errno, "cannot make room for the rings (a limit on files counts: ulimit -f)");
	if (fcntl(*fd, F_ADD_SEALS, seals))
		return mt_error_errno(errno, "cannot seal the rings of process %d", pid);
	return NULL;
}

/* The word is that of a robust lock that we hold: the program reads it, and cannot write it, nor
 * map it so (F_SEAL_FUTURE_WRITE).  Here a page of our own follows, and the lock lies across the
 * border, so that its word is shared and its list of pointers is not: they must not be anybody
 * else's to change.
 *
 * Source: pthread_mutexattr_setrobust(3); "Robust futexes" in the kernel's documentation: the word
 * of a lock holds its owner's number until the owner ends, and mm_release() sees to that before
 * exit_notify() lets go of who is traced. */
static struct mt_error *map_alive_here(struct mt_calls_rings *rings, int fd)
{
	uint8_t *pages = mmap(NULL, MT_CALLS_ALIVE_BYTES + PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return mt_error_no_memory();
	rings->alive_pages = pages;
	if (mmap(pages, MT_CALLS_ALIVE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED)
		return mt_error_errno(errno, "cannot map the pages that tell that we live");
	/* Else somebody who has the descriptor could map it before it is sealed, and write. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return mt_error_errno(errno, "cannot seal the pages that tell that we live");
	return NULL;
}

static struct mt_error *lock_alive(struct mt_calls_rings *rings)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)(rings->alive_pages + MT_CALLS_ALIVE_WORD);
	pthread_mutexattr_t attributes;
	int failed = pthread_mutexattr_init(&attributes);

	_Static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0, "the word comes first");
	_Static_assert(MT_CALLS_ALIVE_WORD + offsetof(pthread_mutex_t, __data.__list) ==
			   MT_CALLS_ALIVE_BYTES,
		       "the list is in our own page");
	if (!failed)
		failed = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (!failed)
		failed = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (!failed)
		failed = pthread_mutex_init(mutex, &attributes);
	if (!failed)
		failed = pthread_mutex_lock(mutex);
	pthread_mutexattr_destroy(&attributes);
	if (failed)
		return mt_error_errno(failed, "cannot create a robust lock");
	rings->alive = mutex;
	return NULL;
}

static struct mt_error *begin_directory(const struct mt_calls_rings *rings, pid_t pid)
{
	struct mt_calls_directory *directory = (void *)rings->alive_pages;

	_Static_assert(sizeof(*directory) <= MT_CALLS_ALIVE_WORD, "the directory fits");
	if (getrandom(directory->mark, sizeof(directory->mark), 0) != sizeof(directory->mark))
		return mt_error_errno(errno, "cannot get random bytes");
	directory->pid = (uint32_t)pid;
	memcpy(directory->magic, MT_CALLS_DIRECTORY_MAGIC, sizeof(directory->magic));
	return NULL;
}

struct mt_error *mt_calls_alive_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_rings *rings, pid_t lwp, uint64_t its_fd)
{
	const uint64_t arguments[] = {0, MT_CALLS_ALIVE_BYTES, PROT_READ, MAP_SHARED, its_fd, 0};
	int fd = -1;

	struct mt_error *error = mt_calls_open_memfd(space->pid, its_fd, MT_CALLS_ALIVE_BYTES,
						     F_SEAL_SHRINK | F_SEAL_GROW, &fd);
	if (!error)
		error = map_alive_here(rings, fd);
	if (!error)
		error = lock_alive(rings);
	if (!error)
		error = begin_directory(rings, space->pid);
	if (!error)
		error = mt_calls_system(engine, lwp, "map memory", SYS_mmap, arguments,
					&rings->alive_address);
	if (fd >= 0)
		close(fd);
	return error;
}

void mt_calls_alive_unmap(struct mt_calls_engine *engine, struct mt_calls_rings *rings, pid_t lwp)
{
	if (rings->alive_address)
		mt_error_destroy(
		    mt_calls_room_unmap(engine, lwp, rings->alive_address, MT_CALLS_ALIVE_BYTES));
	rings->alive_address = 0;
}

static bool is_gone(const struct mt_calls_listed *listed)
{
	return listed->gone >= listed->end - listed->start;
}

static struct mt_calls_listed *find_item(const struct mt_calls_rings *rings, uint64_t start,
					 uint64_t end)
{
	struct mt_calls_directory *directory = (void *)rings->alive_pages;

	for (uint32_t i = 0; i < directory->count; i++)
		if (directory->items[i].start == start && directory->items[i].end == end)
			return &directory->items[i];
	for (uint32_t i = 0; i < directory->count && !rings->is_forked; i++)
		if (is_gone(&directory->items[i])) {
			directory->is_removed |= !directory->items[i].inode;
			return &directory->items[i];
		}
	return directory->count < MT_CALLS_DIRECTORY_ITEMS ? &directory->items[directory->count]
							   : NULL;
}

static bool is_marked(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      uint64_t end)
{
	const struct mt_calls_directory *directory = (void *)space->rings->alive_pages;
	struct mt_error *error =
	    engine->target->ops->write(engine->target, space->pid, end - MT_CALLS_MARK_BYTES,
				       directory->mark, MT_CALLS_MARK_BYTES);
	bool done = !error;

	mt_error_destroy(error);
	return done;
}

void mt_calls_list_ahead(const struct mt_calls_space *space, uint64_t start, uint64_t end,
			 uint64_t inode)
{
	const struct mt_calls_rings *rings = space->rings;
	struct mt_calls_directory *directory = rings ? (void *)rings->alive_pages : NULL;

	if (!directory)
		return;
	struct mt_calls_listed *listed = find_item(rings, start, end);
	if (!listed) {
		directory->is_short = 1;
		return;
	}
	/* Should we be killed meanwhile, there is nothing in it. */
	__atomic_store_n(&listed->end, listed->start, __ATOMIC_RELEASE);
	listed->start = start;
	listed->gone = 0;
	listed->inode = inode;
	__atomic_store_n(&listed->end, end, __ATOMIC_RELEASE);
	if (listed == &directory->items[directory->count])
		directory->count++;
}

void mt_calls_list(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		   uint64_t start, uint64_t end, uint64_t inode)
{
	if (space->rings && !inode && !is_marked(engine, space, end))
		((struct mt_calls_directory *)(void *)space->rings->alive_pages)->is_short = 1;
	else
		mt_calls_list_ahead(space, start, end, inode);
}

void mt_calls_unlist(const struct mt_calls_space *space, uint64_t start, uint64_t bytes)
{
	struct mt_calls_directory *directory =
	    space->rings ? (void *)space->rings->alive_pages : NULL;

	/* Children's entries prove themselves. */
	if (!directory || directory->pid != (uint32_t)space->pid)
		return;
	for (uint32_t i = 0; i < directory->count; i++) {
		struct mt_calls_listed *listed = &directory->items[i];

		if (listed->start + listed->gone == start && !is_gone(listed))
			__atomic_store_n(&listed->gone, listed->gone + bytes, __ATOMIC_RELEASE);
	}
}
