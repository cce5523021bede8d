/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rings of a program lie one behind the other in a memfd that it and the tracer have mapped
 * whole, so that a new thread gets one without running anything in the program, and that they
 * outlive it.  In front of them stand the slots, one a ring, to which threads' GS bases lead: user
 * space on x86-64 Linux leaves GS alone, the kernel keeps its base over signals, clone() hands it
 * down, and exec clears it.  Between slots and rings errors of conditions are counted.  The file is
 * no longer than the rings that were ever given, since mlockall() fills what there is.  The first
 * ring is the discard ring: who has none of its own writes there.
 *
 * Nothing that the program can write to steers the tracer: both map their files by descriptors of
 * their own, these cannot be cut short (F_SEAL_SHRINK), the tracer keeps its own record of where
 * rings lie, and what it reads from slots and rings it bounds by their sizes. */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_BYTES (64ull << 30) /* of addresses, not of memory */
/* Where they are put: not near code, where trampolines need the room, and where sanitizers of all
 * kinds expect mappings of the system's choice.  The system itself begins with libraries at
 * 0x7eff00000000 or above, and goes down from there.
 * Sources: compiler-rt's tsan_platform.h (app memory from 0x7e8000000000 on), msan.h, dfsan.h (from
 * 0x700000000000), asan_mapping.h (from 0x10007fff8000); the kernel's arch_mmap_rnd(). */
#define FAR      0x7e9000000000ull
#define FAR_STEP (80ull << 30)
#define FAR_ENDS 0x7ee000000000ull
/* Where another tracer of ours was killed, threads may still be within its trampolines, and these
 * wrap at the size of its rings, which can be the greatest there is. */
#define INHERITED_BYTES (2ull << 30)
#define MOST_RINGS      4096u
#define LEAST_RINGS     2u
/* Free rings that have their pages. */
#define WARM_RINGS       2u /* made ready for threads to come */
#define MOST_WARM_BYTES  (4ull << 20)
#define MOST_SPARE_RINGS 8u /* left by threads that ended */
#define NAME_BYTES       16
/* Below the program's stack pointer: where the name of a memfd is put for a moment. */
#define BELOW_RED_ZONE 1024
#define PAGE           4096ull
/* Between two looks at a ring: more is not written in years, and never by a trampoline of ours. */
#define MOST_WRITTEN (1ull << 50)

#define MADV_POPULATE_WRITE_ 23
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static uint64_t slots_bytes(const struct mt_calls_rings *rings)
{
	return ((rings->count * MT_RING_SLOT_BYTES + PAGE - 1) & ~(PAGE - 1)) +
	       MT_CALLS_CONDITIONS_BYTES;
}

uint64_t mt_calls_conditions_address(const struct mt_calls_rings *rings)
{
	return rings->address + slots_bytes(rings) - MT_CALLS_CONDITIONS_BYTES;
}

const uint8_t *mt_calls_conditions_here(const struct mt_calls_rings *rings)
{
	return rings->slots + slots_bytes(rings) - MT_CALLS_CONDITIONS_BYTES;
}

uint64_t mt_calls_rings_bytes(const struct mt_calls_rings *rings)
{
	return slots_bytes(rings) + rings->ring_bytes * rings->count;
}

uint64_t mt_calls_rings_used_bytes(const struct mt_calls_rings *rings)
{
	return slots_bytes(rings) + rings->ring_bytes * rings->reached;
}

static uint64_t ring_address(const struct mt_calls_rings *rings, uint32_t ring)
{
	return rings->address + slots_bytes(rings) + ring * rings->ring_bytes;
}

static uint64_t slot_address(const struct mt_calls_rings *rings, uint32_t ring)
{
	return rings->address + ring * MT_RING_SLOT_BYTES;
}

static struct mt_ring_position *slot(const struct mt_calls_rings *rings, uint32_t ring)
{
	return (struct mt_ring_position *)(rings->slots + ring * MT_RING_SLOT_BYTES);
}

static void destroy(struct mt_calls_rings *rings)
{
	if (rings->alive)
		pthread_mutex_unlock(rings->alive);
	if (rings->alive_page)
		munmap(rings->alive_page, 2 * PAGE);
	if (rings->slots)
		munmap(rings->slots, mt_calls_rings_bytes(rings));
	if (rings->fd >= 0)
		close(rings->fd);
	free(rings->taken);
	free(rings->hot);
	free(rings);
}

void mt_calls_rings_unref(struct mt_calls_rings *rings)
{
	if (rings && --rings->references == 0)
		destroy(rings);
}

/* In the name of LWP, under a name of at most 15 characters. */
static struct mt_error *make_memfd(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const char *called, uint64_t *fd)
{
	char name[NAME_BYTES] = "", saved[NAME_BYTES];
	struct user_regs_struct registers;

	strcpy(name, called);
	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	uint64_t at = (registers.rsp - BELOW_RED_ZONE) & ~7ull;
	const uint64_t arguments[] = {at, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0};
	if (engine->target->ops->read(engine->target, space->pid, at, saved, sizeof(saved)) !=
	    sizeof(saved))
		return mt_error_new(MT_ERROR_SYSTEM, "cannot write to the stack of thread %d", lwp);
	mt_try(engine->target->ops->write(engine->target, space->pid, at, name, sizeof(name)));
	struct mt_error *error =
	    mt_calls_system(engine, lwp, "make a memfd", SYS_memfd_create, arguments, fd);
	mt_error_destroy(
	    engine->target->ops->write(engine->target, space->pid, at, saved, sizeof(saved)));
	return error;
}

/* A descriptor of our own for the program's ITS_FD, of SIZE bytes and with SEALS.  What is opened
 * must be a memfd that nobody has sealed otherwise: the program may have exchanged it. */
static struct mt_error *open_here(pid_t pid, uint64_t its_fd, off_t size, int seals, int *fd)
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

static struct mt_error *map_here(struct mt_calls_rings *rings)
{
	uint8_t *bytes = mmap(NULL, mt_calls_rings_bytes(rings), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, rings->fd, 0);

	if (bytes == MAP_FAILED)
		return mt_error_errno(errno, "cannot map the rings");
	rings->slots = bytes;
	rings->bytes = bytes + slots_bytes(rings);
	return NULL;
}

/* The file comes to hold this ring. */
static struct mt_error *reach(struct mt_calls_rings *rings, uint32_t ring)
{
	if (ring < rings->reached)
		return NULL;
	if (ftruncate(rings->fd, (off_t)(slots_bytes(rings) + (ring + 1) * rings->ring_bytes)))
		return mt_error_errno(
		    errno, "cannot allocate a ring (the file size limit counts: ulimit -f)");
	rings->reached = ring + 1;
	return NULL;
}

static struct mt_error *map_there(struct mt_calls_engine *engine, struct mt_calls_rings *rings,
				  pid_t lwp, uint64_t fd)
{
	uint64_t arguments[] = {FAR,
				mt_calls_rings_bytes(rings),
				PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				fd,
				0};
	struct mt_error *error;

	while ((error = mt_calls_system(engine, lwp, "map the rings", SYS_mmap, arguments,
					&rings->address)) &&
	       mt_error_errnum(error) == EEXIST) {
		mt_error_destroy(error);
		arguments[0] += FAR_STEP;
		if (arguments[0] < FAR_ENDS)
			continue;
		arguments[0] = 0; /* wherever there is room */
		arguments[3] &= ~(uint64_t)MAP_FIXED_NOREPLACE;
	}
	return error;
}

void mt_calls_rings_empty(const struct mt_calls_rings *rings)
{
	(void)!fallocate(rings->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 (off_t)slots_bytes(rings), (off_t)(rings->reached * rings->ring_bytes));
}

static void unmap_there(struct mt_calls_engine *engine, struct mt_calls_rings *rings, pid_t lwp)
{
	if (rings->address)
		mt_error_destroy(
		    mt_calls_room_unmap(engine, lwp, rings->address, mt_calls_rings_bytes(rings)));
	rings->address = 0;
}

static struct mt_error *map_both(struct mt_calls_engine *engine, struct mt_calls_rings *rings,
				 pid_t lwp, uint64_t fd)
{
	mt_try(map_there(engine, rings, lwp, fd));
	struct mt_error *error = map_here(rings);
	if (error)
		unmap_there(engine, rings, lwp);
	return error;
}

/* Half of the addresses that a limit (ulimit -v) leaves to the program: it needs some as well. */
static uint64_t addresses_left(pid_t pid)
{
	struct rlimit limit;
	int used_kib = mt_proc_status_number(pid, "VmSize");

	if (prlimit(pid, RLIMIT_AS, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    used_kib < 0)
		return UINT64_MAX;
	uint64_t used = (uint64_t)used_kib << 10;
	return limit.rlim_cur > used ? (limit.rlim_cur - used) / 2 : 0;
}

/* A limit on the program's addresses, or on ours, may allow for fewer. */
static struct mt_error *map_most(struct mt_calls_engine *engine, struct mt_calls_rings *rings,
				 pid_t pid, pid_t lwp, uint64_t fd)
{
	struct mt_error *error;

	mt_try(open_here(pid, fd, PAGE, F_SEAL_SHRINK, &rings->fd));
	for (uint64_t left = addresses_left(pid);
	     mt_calls_rings_bytes(rings) > left && rings->count / 2 >= LEAST_RINGS;)
		rings->count /= 2;
	while ((error = map_both(engine, rings, lwp, fd)) &&
	       mt_error_code(error) == MT_ERROR_NO_MEMORY && rings->count / 2 >= LEAST_RINGS) {
		mt_error_destroy(error);
		rings->count /= 2;
	}
	return error ? error : reach(rings, 1);
}

/* The page with the word of a robust lock that we hold: the program reads it, and cannot write it,
 * nor map it so (F_SEAL_FUTURE_WRITE).  Here a page of our own follows it, and the lock lies across
 * the two, so that its word is shared and its list of pointers is not: they must not be anybody
 * else's to change.
 *
 * Source: pthread_mutexattr_setrobust(3); "Robust futexes" in the kernel's documentation: the word
 * of a lock holds its owner's number until the owner ends, and mm_release() sees to that before
 * exit_notify() lets go of who is traced. */
static struct mt_error *map_alive_here(struct mt_calls_rings *rings, int fd)
{
	uint8_t *pages =
	    mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return mt_error_no_memory();
	rings->alive_page = pages;
	if (mmap(pages, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return mt_error_errno(errno, "cannot map the page that tells that we live");
	/* Else somebody who has the descriptor could map it before it is sealed, and write. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return mt_error_errno(errno, "cannot seal the page that tells that we live");
	return NULL;
}

static struct mt_error *lock_alive(struct mt_calls_rings *rings)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)(rings->alive_page + MT_CALLS_ALIVE_WORD);
	pthread_mutexattr_t attributes;
	int failed = pthread_mutexattr_init(&attributes);

	_Static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0, "the word comes first");
	_Static_assert(MT_CALLS_ALIVE_WORD + offsetof(pthread_mutex_t, __data.__list) == 4096,
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

static struct mt_error *close_there(struct mt_calls_engine *engine, pid_t lwp, uint64_t fd)
{
	const uint64_t arguments[] = {fd, 0, 0, 0, 0, 0};
	uint64_t ignored = 0;

	return mt_calls_system(engine, lwp, "close a memfd", SYS_close, arguments, &ignored);
}

static struct mt_error *make_alive(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_rings *rings, pid_t lwp)
{
	uint64_t its_fd = 0;
	int fd = -1;

	mt_try(make_memfd(engine, space, lwp, "mtrace alive", &its_fd));
	const uint64_t arguments[] = {0, PAGE, PROT_READ, MAP_SHARED, its_fd, 0};
	struct mt_error *error =
	    open_here(space->pid, its_fd, PAGE, F_SEAL_SHRINK | F_SEAL_GROW, &fd);
	if (!error)
		error = map_alive_here(rings, fd);
	if (!error)
		error = lock_alive(rings);
	if (!error)
		error = mt_calls_system(engine, lwp, "map a page", SYS_mmap, arguments,
					&rings->alive_address);
	if (fd >= 0)
		close(fd);
	mt_error_destroy(close_there(engine, lwp, its_fd));
	return error;
}

/* What the system does for the program only if it can. */
static void advise(struct mt_calls_engine *engine, pid_t lwp, uint64_t address, uint64_t bytes,
		   int advice)
{
	struct mt_system_call call = {.number = SYS_madvise,
				      .arguments = {address, bytes, (uint64_t)advice}};

	mt_error_destroy(mt_target_call_system(engine->target, lwp, &call));
}

static struct mt_error *fill(struct mt_calls_engine *engine, struct mt_calls_space *space,
			     struct mt_calls_rings *rings, pid_t lwp)
{
	uint64_t fd = 0;

	mt_try(make_memfd(engine, space, lwp, MT_CALLS_RINGS_NAME, &fd));
	struct mt_error *error = map_most(engine, rings, space->pid, lwp, fd);
	mt_error_destroy(close_there(engine, lwp, fd));
	if (!error && space->inherited)
		error = reach(rings, rings->count - 1);
	if (!error)
		error = make_alive(engine, space, rings, lwp);
	if (error)
		return error;
	*slot(rings, 0) = (struct mt_ring_position){.ring = ring_address(rings, 0), .stampless = 1};
	advise(engine, lwp, rings->address, mt_calls_rings_bytes(rings), MADV_DONTDUMP);
	/* The first thread's; for the others see mt_calls_warm_ring(). */
	advise(engine, lwp, ring_address(rings, 1), rings->ring_bytes, MADV_POPULATE_WRITE_);
	return NULL;
}

struct mt_error *mt_calls_rings_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp)
{
	struct mt_calls_rings *rings = calloc(1, sizeof(*rings));
	uint64_t most = MOST_BYTES / engine->options.ring_bytes;

	if (!rings)
		return mt_error_no_memory();
	rings->references = 1;
	rings->fd = -1;
	rings->ring_bytes = engine->options.ring_bytes;
	rings->count = (uint32_t)(most > MOST_RINGS ? MOST_RINGS : most);
	if (space->inherited && mt_calls_rings_bytes(rings) < INHERITED_BYTES)
		rings->count = (uint32_t)(INHERITED_BYTES / rings->ring_bytes);
	rings->taken = calloc(rings->count, sizeof(*rings->taken));
	rings->hot = calloc(rings->count, sizeof(*rings->hot));
	struct mt_error *error =
	    rings->taken && rings->hot ? fill(engine, space, rings, lwp) : mt_error_no_memory();
	if (error) {
		unmap_there(engine, rings, lwp);
		destroy(rings);
		return error;
	}
	rings->taken[0] = true;
	rings->hot[1] = true;
	rings->spare = 1;
	space->rings = rings;
	return NULL;
}

/* One whose pages are as we want them, if there is any; 0: none is free. */
static uint32_t find_free(const struct mt_calls_rings *rings, bool hot)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < rings->count; i++) {
		if (rings->taken[i])
			continue;
		if (rings->hot[i] == hot)
			return i;
		if (!found)
			found = i;
	}
	return found;
}

static void take(struct mt_calls_rings *rings, uint32_t ring)
{
	rings->spare -= rings->hot[ring];
	rings->hot[ring] = true;
	rings->taken[ring] = true;
	rings->given++;
	rings->references++;
}

/* A first touch costs a thread ten times what it costs where the page is there: ours is as good as
 * its own.  A program of one thread needs few, and one with a thousand reuses them. */
void mt_calls_warm_ring(struct mt_calls_rings *rings)
{
	uint64_t bytes = rings->ring_bytes < MOST_WARM_BYTES ? rings->ring_bytes : MOST_WARM_BYTES;
	uint32_t wanted = rings->given > 1 ? WARM_RINGS : 1;
	uint32_t ring = rings->spare < wanted ? find_free(rings, false) : 0;

	if (!ring || rings->hot[ring] ||
	    madvise(rings->bytes + ring * rings->ring_bytes, bytes, MADV_POPULATE_WRITE_))
		return;
	rings->hot[ring] = true;
	rings->spare++;
}

/* A program that is refused may have a GS base of its own by now. */
static struct mt_error *lead_to(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t lwp, uint32_t ring)
{
	return space->stage == MT_CALLS_REFUSED
		   ? NULL
		   : engine->target->ops->set_gs_base(engine->target, lwp,
						      slot_address(space->rings, ring));
}

static struct mt_error *go_without(struct mt_calls_engine *engine,
				   const struct mt_calls_thread *thread)
{
	struct mt_calls_rings *rings = thread->space->rings;

	if (!rings->short_told)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "process %d has more than %u threads at a time: calls of the others are not "
		       "recorded (a smaller --size may allow more)",
		       thread->pid, rings->count - 1);
	rings->short_told = true;
	return mt_calls_discard(engine, thread->space, thread->lwp);
}

struct mt_error *mt_calls_give_ring(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct mt_calls_space *space = thread->space;
	const struct mt_ring_anchor begin = {0, mt_clock_tsc(), mt_clock_tsc()};
	struct user_regs_struct registers;
	uint32_t ring;

	if (!space->rings || thread->guest || space->stage == MT_CALLS_REFUSED)
		return NULL;
	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	thread->stack = registers.rsp;
	if (engine->options.only && engine->options.only != thread->lwp)
		return mt_calls_discard(engine, space, thread->lwp);
	ring = find_free(space->rings, true);
	if (!ring)
		return go_without(engine, thread);
	mt_try(reach(space->rings, ring));
	thread->anchors.count = 0;
	if (mt_array_push(&thread->anchors, begin))
		return mt_error_no_memory();
	*slot(space->rings, ring) =
	    (struct mt_ring_position){.ring = ring_address(space->rings, ring)};
	mt_try(lead_to(engine, space, thread->lwp, ring));
	thread->rings = space->rings;
	take(thread->rings, ring);
	thread->ring = ring;
	thread->begin = 0;
	thread->used = 0;
	thread->seen_tsc = 0;
	return NULL;
}

/* Nobody must find in it what is not the next owner's.  Few are kept with their pages. */
static void give_back(struct mt_calls_rings *rings, uint32_t ring, uint64_t used)
{
	uint8_t *bytes = rings->bytes + ring * rings->ring_bytes;

	rings->taken[ring] = false;
	rings->hot[ring] =
	    rings->spare < MOST_SPARE_RINGS || madvise(bytes, rings->ring_bytes, MADV_REMOVE) != 0;
	rings->spare += rings->hot[ring];
	if (rings->hot[ring])
		memset(bytes, 0, used < rings->ring_bytes ? used : rings->ring_bytes);
}

void mt_calls_take_ring(struct mt_calls_thread *thread)
{
	struct mt_calls_rings *rings = thread->rings;

	if (!rings)
		return;
	give_back(rings, thread->ring, thread->used);
	thread->rings = NULL;
	mt_calls_rings_unref(rings);
}

struct mt_error *mt_calls_discard(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space, pid_t lwp)
{
	return space->rings ? lead_to(engine, space, lwp, 0) : NULL;
}

struct mt_error *mt_calls_pause(struct mt_calls_engine *engine,
				const struct mt_calls_thread *thread, bool on)
{
	return lead_to(engine, thread->space, thread->lwp, on ? 0 : thread->ring);
}

bool mt_calls_is_slot(const struct mt_calls_rings *rings, uint64_t gs_base)
{
	return gs_base - rings->address < slots_bytes(rings);
}

/* A program that writes wild may have put anything there. */
uint64_t mt_calls_written(const struct mt_calls_thread *thread)
{
	uint64_t written =
	    __atomic_load_n(&slot(thread->rings, thread->ring)->written, __ATOMIC_RELAXED);

	return written < thread->begin || written - thread->begin > MOST_WRITTEN ? thread->begin
										 : written;
}

void mt_calls_unwrite(const struct mt_calls_thread *thread, uint64_t written)
{
	__atomic_store_n(&slot(thread->rings, thread->ring)->written, written, __ATOMIC_RELAXED);
}

struct mt_ring_view mt_calls_ring_view(const struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread)
{
	const struct mt_calls_rings *rings = thread->rings;

	return (struct mt_ring_view){.bytes = rings->bytes + thread->ring * rings->ring_bytes,
				     .size = rings->ring_bytes,
				     .written = mt_calls_written(thread),
				     .begin = thread->begin,
				     .stamps = engine->options.stamps,
				     .anchors = thread->anchors.items,
				     .anchor_count = thread->anchors.count};
}

static uint64_t oldest_tsc(const struct mt_ring_view *view)
{
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	bool at_end = false;

	mt_ring_cursor_init(&cursor, view);
	while (!at_end)
		if (mt_ring_next_line(&cursor, events, &at_end))
			return events[0].tsc;
	return 0;
}

struct mt_engine_ring mt_calls_ring_look(const struct mt_calls_engine *engine,
					 const struct mt_calls_thread *thread)
{
	const struct mt_ring_view view = mt_calls_ring_view(engine, thread);
	const struct mt_ring_anchor *last = mt_array_last(&thread->anchors);
	uint64_t begin = oldest_tsc(&view);
	uint64_t end = last->written == view.written ? last->first : mt_clock_tsc();
	struct mt_engine_ring ring = {.bytes = view.size, .used = view.written - view.begin};

	if (ring.used > ring.bytes)
		ring.used = ring.bytes;
	if (begin && end > begin)
		ring.span_ns = mt_tsc_to_ns(&engine->options.conversion, end) -
			       mt_tsc_to_ns(&engine->options.conversion, begin);
	return ring;
}
