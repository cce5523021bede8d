/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rings of a program lie one behind the other in a memfd that it and the tracer have mapped
 * whole, so that a new thread gets one without running anything in the program, and that they
 * outlive it.  In front of them stand the slots, one a ring, to which threads' GS bases lead: user
 * space on x86-64 Linux leaves GS alone, the kernel keeps its base over signals, clone() hands it
 * down, and exec clears it.  Between slots and rings errors of conditions are counted, and remote
 * calls leave their results.  Behind each ring lie the tables of its thread's open calls that are
 * measured (condition/measure.c) and of the pages that it read (condition/read.c).  The file is no
 * longer than the rings that were ever given, since mlockall() fills what there is.  The first ring
 * is the discard ring: who has none of its own writes there.
 *
 * Nothing that the program can write to steers the tracer: both map their files by descriptors of
 * their own, these cannot be cut short (F_SEAL_SHRINK), the tracer keeps its own record of where
 * rings lie, and what it reads from slots and rings it bounds by their sizes. */
#include "engine/calls/memory/memory.h"

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
#define PAGE            4096ull

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

uint64_t mt_calls_slots_bytes(const struct mt_calls_rings *rings)
{
	return ((rings->count * MT_RING_SLOT_BYTES + PAGE - 1) & ~(PAGE - 1)) +
	       MT_CALLS_CONDITIONS_BYTES + MT_CALLS_RESULTS_BYTES;
}

static uint64_t results_offset(const struct mt_calls_rings *rings)
{
	_Static_assert(MT_INJECT_RESULTS_BYTES <= MT_CALLS_RESULTS_BYTES, "all results fit");
	return mt_calls_slots_bytes(rings) - MT_CALLS_RESULTS_BYTES;
}

uint64_t mt_calls_results_address(const struct mt_calls_rings *rings)
{
	return rings->address + results_offset(rings);
}

const uint64_t *mt_calls_results_here(const struct mt_calls_rings *rings)
{
	return (const void *)(rings->slots + results_offset(rings));
}

static uint64_t conditions_offset(const struct mt_calls_rings *rings)
{
	return results_offset(rings) - MT_CALLS_CONDITIONS_BYTES;
}

uint64_t mt_calls_conditions_address(const struct mt_calls_rings *rings)
{
	return rings->address + conditions_offset(rings);
}

uint8_t *mt_calls_conditions_here(const struct mt_calls_rings *rings)
{
	return rings->slots + conditions_offset(rings);
}

uint64_t mt_calls_rings_bytes(const struct mt_calls_rings *rings)
{
	return mt_calls_slots_bytes(rings) + mt_calls_ring_stride(rings) * rings->count;
}

uint64_t mt_calls_rings_used_bytes(const struct mt_calls_rings *rings)
{
	return mt_calls_slots_bytes(rings) + mt_calls_ring_stride(rings) * rings->reached;
}

uint64_t mt_calls_ring_address(const struct mt_calls_rings *rings, uint32_t ring)
{
	return rings->address + mt_calls_slots_bytes(rings) + ring * mt_calls_ring_stride(rings);
}

uint64_t mt_calls_pages_address(const struct mt_calls_rings *rings, uint32_t ring)
{
	return mt_calls_ring_address(rings, ring) + rings->ring_bytes + MT_MEASURE_TABLE_BYTES;
}

uint8_t *mt_calls_ring_here(const struct mt_calls_rings *rings, uint32_t ring)
{
	return rings->bytes + ring * mt_calls_ring_stride(rings);
}

uint64_t mt_calls_slot_address(const struct mt_calls_rings *rings, uint32_t ring)
{
	return rings->address + ring * MT_RING_SLOT_BYTES;
}

struct mt_ring_position *mt_calls_slot(const struct mt_calls_rings *rings, uint32_t ring)
{
	return (struct mt_ring_position *)(rings->slots + ring * MT_RING_SLOT_BYTES);
}

static void destroy(struct mt_calls_rings *rings)
{
	if (rings->alive)
		pthread_mutex_unlock(rings->alive);
	if (rings->alive_pages)
		munmap(rings->alive_pages, MT_CALLS_ALIVE_BYTES + PAGE);
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

static struct mt_error *map_here(struct mt_calls_rings *rings)
{
	uint8_t *bytes = mmap(NULL, mt_calls_rings_bytes(rings), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, rings->fd, 0);

	if (bytes == MAP_FAILED)
		return mt_error_errno(errno, "cannot map the rings");
	rings->slots = bytes;
	rings->bytes = bytes + mt_calls_slots_bytes(rings);
	return NULL;
}

struct mt_error *mt_calls_rings_reach(struct mt_calls_rings *rings, uint32_t ring)
{
	if (ring < rings->reached)
		return NULL;
	if (ftruncate(rings->fd, (off_t)(mt_calls_slots_bytes(rings) +
					 (ring + 1) * mt_calls_ring_stride(rings))))
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
			 (off_t)mt_calls_slots_bytes(rings),
			 (off_t)(rings->reached * mt_calls_ring_stride(rings)));
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

	mt_try(mt_calls_open_memfd(pid, fd, PAGE, F_SEAL_SHRINK, &rings->fd));
	for (uint64_t left = addresses_left(pid);
	     mt_calls_rings_bytes(rings) > left && rings->count / 2 >= LEAST_RINGS;)
		rings->count /= 2;
	while ((error = map_both(engine, rings, lwp, fd)) &&
	       mt_error_code(error) == MT_ERROR_NO_MEMORY && rings->count / 2 >= LEAST_RINGS) {
		mt_error_destroy(error);
		rings->count /= 2;
	}
	return error ? error : mt_calls_rings_reach(rings, 1);
}

/* Behind what was made, or was not: lists of calls may be run by now. */
static struct mt_error *close_files(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, pid_t lwp,
				    uint64_t alive_fd, uint64_t rings_fd)
{
	struct mt_calls_rings *rings = space->rings;
	struct mt_system_call calls[4] = {{SYS_close, {alive_fd}, 0}, {SYS_close, {rings_fd}, 0}};
	size_t count = 2;

	/* What follows the system does for the program only if it can. */
	if (rings)
		calls[count++] = (struct mt_system_call){
		    SYS_madvise, {rings->address, mt_calls_rings_bytes(rings), MADV_DONTDUMP}, 0};
	/* The first thread's; for the others, and where the program runs already and a thread would
	 * stand still for it, see mt_calls_warm_ring(). */
	if (rings && !space->attached) {
		calls[count++] = (struct mt_system_call){
		    SYS_madvise,
		    {mt_calls_ring_address(rings, 1), rings->ring_bytes, MT_MADV_POPULATE_WRITE},
		    0};
		rings->hot[1] = true;
		rings->spare = 1;
	}
	return mt_target_call_systems(engine->target, lwp, calls, count);
}

static struct mt_error *fill(struct mt_calls_engine *engine, struct mt_calls_space *space,
			     struct mt_calls_rings *rings, pid_t lwp)
{
	uint64_t alive_fd = UINT64_MAX, rings_fd = UINT64_MAX;
	struct mt_error *error = mt_calls_make_memfds(engine, space, lwp, &alive_fd, &rings_fd);

	/* First, so that whatever comes is listed. */
	if (!error)
		error = mt_calls_alive_create(engine, space, rings, lwp, alive_fd);
	if (!error)
		error = map_most(engine, rings, space->pid, lwp, rings_fd);
	if (!error && space->inherited)
		error = mt_calls_rings_reach(rings, rings->count - 1);
	space->rings = error ? NULL : rings;
	if (!error)
		error = mt_calls_inject_lists(engine, space, true);
	mt_error_destroy(close_files(engine, space, lwp, alive_fd, rings_fd));
	return error;
}

struct mt_error *mt_calls_rings_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp)
{
	if (space->rings)
		return NULL;
	struct mt_calls_rings *rings = calloc(1, sizeof(*rings));
	uint64_t most = MOST_BYTES / engine->options.ring_bytes;

	if (!rings)
		return mt_error_no_memory();
	rings->references = 1;
	rings->fd = -1;
	rings->ring_bytes = engine->options.ring_bytes;
	rings->count = (uint32_t)(most > MOST_RINGS ? MOST_RINGS : most);
	if (space->inherited && mt_calls_rings_bytes(rings) < INHERITED_BYTES)
		rings->count = (uint32_t)(INHERITED_BYTES / mt_calls_ring_stride(rings));
	rings->taken = calloc(rings->count, sizeof(*rings->taken));
	rings->hot = calloc(rings->count, sizeof(*rings->hot));
	struct mt_error *error =
	    rings->taken && rings->hot ? fill(engine, space, rings, lwp) : mt_error_no_memory();
	if (error) {
		space->rings = NULL;
		mt_error_destroy(mt_calls_inject_lists(engine, space, false));
		unmap_there(engine, rings, lwp);
		mt_calls_alive_unmap(engine, rings, lwp);
		destroy(rings);
		return error;
	}
	*mt_calls_slot(rings, 0) =
	    (struct mt_ring_position){.ring = mt_calls_ring_address(rings, 0),
				      .pages = mt_calls_pages_address(rings, 0),
				      .stampless = 1};
	rings->taken[0] = true;
	if (space->inject_code)
		mt_calls_list(engine, space, space->inject_code, space->inject_code + PAGE, 0);
	return NULL;
}
