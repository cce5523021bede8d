/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory in the program for code of ours.  Jumps reach 2 GiB; a heap that grows behind a program is
 * left alone, as far as there is a choice. */
#include "engine/calls/memory/memory.h"

#include "engine/calls/state/state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define REACH      (0x7fffffffull - (1 << 20))
#define PAGE       4096ull
#define HUGE_PAGE  (2ull << 20)
#define LOWEST     0x10000ull
#define HEAP_ROOM  (1ull << 30) /* what a heap may grow by behind a program */
#define SMALL_HEAP (64ull << 20)

struct mt_error *mt_calls_system_error(const struct mt_system_call *call, const char *what,
				       pid_t lwp)
{
	return call->result < 0 && call->result >= -4095
		   ? mt_error_errno((int)-call->result, "cannot %s in thread %d", what, lwp)
		   : NULL;
}

struct mt_error *mt_calls_system(struct mt_calls_engine *engine, pid_t lwp, const char *what,
				 long number, const uint64_t arguments[6], uint64_t *result)
{
	struct mt_system_call call = {.number = number};

	memcpy(call.arguments, arguments, sizeof(call.arguments));
	mt_try(mt_target_call_system(engine->target, lwp, &call));
	mt_try(mt_calls_system_error(&call, what, lwp));
	*result = (uint64_t)call.result;
	return NULL;
}

struct gaps {
	uint64_t start, end; /* that the code must be within reach of */
	uint64_t bytes;
	uint64_t best; /* among the places, if it is one */
	MT_ARRAY(uint64_t) places;
	struct mt_error *error;
};

static bool reaches(const struct gaps *gaps, uint64_t at)
{
	uint64_t low = at < gaps->start ? at : gaps->start;
	uint64_t high = at + gaps->bytes > gaps->end ? at + gaps->bytes : gaps->end;

	return high - low <= REACH;
}

/* What is large begins with a huge page, if that fits into the gap. */
static uint64_t align(const struct gaps *gaps, uint64_t low, uint64_t high, uint64_t at)
{
	uint64_t huge = at & ~(HUGE_PAGE - 1);

	if (huge < low)
		huge += HUGE_PAGE;
	return gaps->bytes >= HUGE_PAGE && huge + gaps->bytes <= high ? huge : at & ~(PAGE - 1);
}

static void add_place(struct gaps *gaps, uint64_t low, uint64_t high, uint64_t at)
{
	at = align(gaps, low, high, at);
	if (at >= low && at + gaps->bytes <= high && reaches(gaps, at) &&
	    mt_array_push(&gaps->places, at))
		gaps->error = mt_error_no_memory();
}

/* A gap below the text is used from its upper end, one above it behind the heap's room. */
static void see_gap(struct gaps *gaps, uint64_t low, uint64_t high)
{
	if (high <= low || high - low < gaps->bytes)
		return;
	if (low >= gaps->end) {
		add_place(gaps, low, high, low + HEAP_ROOM);
		add_place(gaps, low, high, low + SMALL_HEAP);
		add_place(gaps, low, high, low);
	} else {
		add_place(gaps, low, high, high - gaps->bytes);
	}
}

struct listing {
	struct mt_calls_space *space;
	uint64_t last_end; /* of the mapping before */
};

static struct mt_error *see_mapping(void *context, const struct mt_map *map)
{
	struct listing *listing = context;
	struct mt_calls_gap gap = {listing->last_end, map->start};

	if (map->start >> 47)
		return NULL;
	listing->last_end = map->end;
	return gap.low < gap.high && mt_array_push(&listing->space->gaps, gap)
		   ? mt_error_no_memory()
		   : NULL;
}

static struct mt_error *list_gaps(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	struct listing listing = {.space = space, .last_end = LOWEST};

	if (space->keeps_gaps && space->gaps.count)
		return NULL;
	space->gaps.count = 0;
	return mt_target_each_map(engine->target, space->pid, see_mapping, &listing);
}

struct mt_error *mt_calls_room_take(struct mt_calls_space *space, uint64_t start, uint64_t end)
{
	mt_array_each (gap, &space->gaps) {
		struct mt_calls_gap above = {end, gap->high};

		if (start < gap->low || end > gap->high)
			continue;
		gap->high = start;
		return mt_array_push(&space->gaps, above) ? mt_error_no_memory() : NULL;
	}
	return NULL;
}

void mt_calls_rooms_begin(struct mt_calls_space *space)
{
	space->gaps.count = 0;
	space->keeps_gaps = true;
}

void mt_calls_rooms_end(struct mt_calls_space *space)
{
	space->keeps_gaps = false;
}

/* How bad a place is: far away, or, worse than any distance, where a heap may want to grow. */
static uint64_t badness(const struct gaps *gaps, uint64_t at)
{
	uint64_t distance = at < gaps->start ? gaps->start - at : at - gaps->start;

	if (at == gaps->best)
		return 0;
	return at >= gaps->end && at - gaps->end < HEAP_ROOM ? 2 * REACH - distance : distance;
}

/* Somebody is there, a security module is against it, or a limit. */
static bool is_refusal(int errnum)
{
	return errnum == EEXIST || errnum == EPERM || errnum == ENOMEM;
}

static struct mt_system_call mapping(uint64_t address, uint64_t bytes)
{
	return (struct mt_system_call){
	    .number = SYS_mmap,
	    .arguments = {address, bytes, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			  (uint64_t)-1, 0},
	};
}

/* All of it is written: that takes a page fault for each page. */
static struct mt_system_call huge_pages(uint64_t address, uint64_t bytes)
{
	return (struct mt_system_call){.number = SYS_madvise,
				       .arguments = {address, bytes, MADV_HUGEPAGE}};
}

static void want_huge_pages(struct mt_calls_engine *engine, pid_t lwp, uint64_t address,
			    uint64_t bytes)
{
	struct mt_system_call call = huge_pages(address, bytes);

	if (bytes >= HUGE_PAGE)
		mt_error_destroy(mt_target_call_system(engine->target, lwp, &call));
}

/* There is one at least. */
static uint64_t *best_place(const struct gaps *gaps)
{
	uint64_t *best = gaps->places.items;

	mt_array_each (place, &gaps->places)
		if (badness(gaps, *place) < badness(gaps, *best))
			best = place;
	return best;
}

/* The best that the system gives. */
static struct mt_error *map_one(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t lwp, struct gaps *gaps, uint64_t *address)
{
	while (gaps->places.count) {
		uint64_t *best = best_place(gaps);
		const struct mt_system_call call = mapping(*best, gaps->bytes);
		uint64_t wanted = *best;
		mt_calls_list_ahead(space, wanted, wanted + gaps->bytes, 0);
		struct mt_error *error = mt_calls_system(engine, lwp, "map memory for code",
							 call.number, call.arguments, address);

		if (!error && *address == wanted)
			return NULL;
		if (!error)
			error = mt_calls_room_unmap(engine, lwp, *address, gaps->bytes);
		mt_calls_unlist(space, wanted, gaps->bytes);
		if (error && !is_refusal(mt_error_errnum(error)))
			return error;
		mt_error_destroy(error);
		*best = *mt_array_last(&gaps->places);
		gaps->places.count--;
	}
	return mt_error_new(
	    MT_ERROR_UNSUPPORTED,
	    "no free memory within 2 GiB of the code at 0x%llx, or none within the limit (ulimit "
	    "-v)",
	    (unsigned long long)gaps->start);
}

/* Whether nothing is mapped there, as far as is known, and all of it reaches. */
static bool is_free(const struct mt_calls_space *space, const struct gaps *gaps, uint64_t at)
{
	mt_array_each (gap, &space->gaps)
		if (at >= gap->low && at <= gap->high && gaps->bytes <= gap->high - at)
			return reaches(gaps, at);
	return false;
}

static struct gaps gaps_for(const struct mt_calls_room_wish *wish)
{
	return (struct gaps){.start = wish->start,
			     .end = wish->end,
			     .bytes = (wish->bytes + PAGE - 1) & ~(PAGE - 1),
			     .best = wish->best};
}

static struct mt_error *find_places(const struct mt_calls_space *space, struct gaps *gaps)
{
	if (gaps->best && is_free(space, gaps, gaps->best) &&
	    mt_array_push(&gaps->places, gaps->best))
		gaps->error = mt_error_no_memory();
	mt_array_each (gap, &space->gaps)
		see_gap(gaps, gap->low, gap->high);
	return gaps->error;
}

/* Where there is one that is best, that or none: it may be the best of another's. */
static struct mt_error *choose(struct mt_calls_space *space, const struct mt_calls_room_wish *wish,
			       uint64_t *address)
{
	struct gaps gaps = gaps_for(wish);
	struct mt_error *error = NULL;

	*address = gaps.best && is_free(space, &gaps, gaps.best) ? gaps.best : 0;
	if (!gaps.best)
		error = find_places(space, &gaps);
	if (!error && gaps.places.count)
		*address = *best_place(&gaps);
	if (!error && *address)
		error = mt_calls_room_take(space, *address, *address + gaps.bytes);
	mt_array_deinit(&gaps.places);
	return error;
}

/* Takes what the calls for rooms ended with. */
static struct mt_error *take_rooms(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space, pid_t lwp,
				   struct mt_system_call *calls, size_t count)
{
	struct mt_system_call *huge = calloc(count + 1, sizeof(*huge));
	struct mt_error *error = huge ? NULL : mt_error_no_memory();
	size_t huge_count = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const uint64_t wanted = calls[i].arguments[0], bytes = calls[i].arguments[1];
		const uint64_t at = (uint64_t)calls[i].result;

		if (at != wanted)
			mt_calls_unlist(space, wanted, bytes);
		if (calls[i].result < 0 && calls[i].result >= -4095)
			continue;
		if (at != wanted) {
			error = mt_calls_room_unmap(engine, lwp, at, bytes);
			continue;
		}
		mt_calls_list(engine, space, at, at + bytes, 0);
		if (bytes >= HUGE_PAGE)
			huge[huge_count++] = huge_pages(at, bytes);
	}
	if (!error)
		error = mt_target_call_systems(engine->target, lwp, huge, huge_count);
	free(huge);
	return error;
}

struct mt_error *mt_calls_rooms_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, const struct mt_calls_room_wish *wishes,
				    size_t count, uint64_t *addresses)
{
	struct mt_system_call *calls = calloc(count + 1, sizeof(*calls));
	struct mt_error *error = calls ? list_gaps(engine, space) : mt_error_no_memory();
	size_t chosen = 0, next = 0;

	for (size_t i = 0; i < count && !error; i++) {
		addresses[i] = 0;
		error = choose(space, &wishes[i], &addresses[i]);
		if (error || !addresses[i])
			continue;
		calls[chosen] = mapping(addresses[i], gaps_for(&wishes[i]).bytes);
		mt_calls_list_ahead(space, addresses[i], addresses[i] + calls[chosen].arguments[1],
				    0);
		chosen++;
	}
	if (!error)
		error = mt_target_call_systems(engine->target, lwp, calls, chosen);
	if (!error)
		error = take_rooms(engine, space, lwp, calls, chosen);
	for (size_t i = 0; i < count && !error; i++)
		if (addresses[i] && (uint64_t)calls[next++].result != addresses[i])
			addresses[i] = 0;
	free(calls);
	return error;
}

struct mt_error *mt_calls_room_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const struct mt_calls_room_wish *wish,
				   uint64_t *address)
{
	struct gaps gaps = gaps_for(wish);

	mt_try(list_gaps(engine, space));
	struct mt_error *error = find_places(space, &gaps);
	if (!error)
		error = map_one(engine, space, lwp, &gaps, address);
	if (!error)
		mt_calls_list(engine, space, *address, *address + gaps.bytes, 0);
	if (!error)
		want_huge_pages(engine, lwp, *address, gaps.bytes);
	if (!error)
		error = mt_calls_room_take(space, *address, *address + gaps.bytes);
	mt_array_deinit(&gaps.places);
	return error;
}

struct mt_error *mt_calls_room_afar(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    uint64_t *address)
{
	struct mt_calls_gap largest = {0};

	mt_try(list_gaps(engine, space));
	mt_array_each (gap, &space->gaps)
		if (gap->high - gap->low > largest.high - largest.low)
			largest = *gap;
	*address = (largest.low + (largest.high - largest.low) / 2) & ~(HUGE_PAGE - 1);
	return NULL;
}

/* What lies behind a module's trampolines goes with the module. */
static bool is_lasting(struct mt_calls_space *space, const struct mt_calls_room *room,
		       uint64_t address)
{
	const struct mt_calls_place *place = mt_calls_place_of_room(space, room->start);

	return !place || (address >= place->module->start && address < place->module->end);
}

struct mt_error *mt_calls_room_find(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t address,
				    const struct mt_calls_room_wish *wish,
				    struct mt_calls_room **out)
{
	const struct gaps gaps = gaps_for(wish);
	struct mt_calls_room room = {0};

	mt_array_each (one, &space->rooms) {
		if (one->end - one->used < wish->bytes || !reaches(&gaps, one->used) ||
		    !is_lasting(space, one, address))
			continue;
		*out = one;
		return NULL;
	}
	if (!lwp)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "no memory for code near 0x%llx",
				    (unsigned long long)address);
	struct mt_calls_room_wish whole = *wish;
	whole.bytes = (wish->bytes + MT_CALLS_MARK_BYTES + PAGE - 1) & ~(PAGE - 1);
	mt_try(mt_calls_room_map(engine, space, lwp, &whole, &room.start));
	room.used = room.start;
	room.end = room.start + whole.bytes - MT_CALLS_MARK_BYTES;
	if (mt_array_push(&space->rooms, room))
		return mt_error_no_memory();
	*out = mt_array_last(&space->rooms);
	return NULL;
}

struct mt_error *mt_calls_room_unmap(struct mt_calls_engine *engine, pid_t lwp, uint64_t address,
				     uint64_t bytes)
{
	const uint64_t arguments[] = {address, bytes, 0, 0, 0, 0};
	uint64_t result = 0;

	return mt_calls_system(engine, lwp, "unmap memory", SYS_munmap, arguments, &result);
}
