/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text exchanged at once.  The file is mapped a second time, privately as the first, and that
 * mapping gets its bytes while all threads run; then, while they stand still, one mremap(2) puts it
 * in the place of the first, and the system joins the two again in what it shows of the mappings.
 * Should we be killed, the text is the one or the other.
 *
 * That one call frees what was in the text's place, page by page.  A text may go aside instead,
 * page table by page table (MREMAP_DONTUNMAP, for files from Linux 5.13 on): its mapping stays
 * where it is, and has the file's pages from then on, which is all that is wanted where patches go,
 * and leaves nothing to be freed where they come.  What went aside is unmapped when the threads
 * run.
 *
 * Where a file cannot be mapped again (it is gone or replaced, the program may have no more
 * addresses, its memory is locked), the text is written page by page, as everywhere else: text.c.
 */
#include "engine/calls/memory/swap.h"

#include "base/hash.h"
#include "engine/calls/memory/memory.h"
#include "engine/calls/state/state.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PAGE      4096u
#define HUGE_PAGE (2ull << 20)
#define LARGE     (2 * HUGE_PAGE) /* it has a whole page table somewhere */
#define CHUNK     (1u << 20)
#define CALL_COST (128u << 10) /* of a call of mremap(2), in bytes of a text */
/* Of paths that are read at once and the calls that do, where both are aligned; of one. */
#define MOST_BYTES      (MT_INJECT_LIST_BYTES - 8)
#define MOST_PATH_BYTES (MOST_BYTES - sizeof(struct mt_inject_call) - 1)

struct paths {
	char bytes[MOST_BYTES]; /* the first one is empty, for files that nobody opens */
	size_t used;
};

/* [start, start + the copy's length) of a mapping is what the copy is of. */
static bool holds(const struct mt_map *map, const struct mt_calls_copy *copy, uint64_t start)
{
	return start >= map->start && start + (copy->end - copy->start) <= map->end &&
	       map->executable && !map->writable && map->inode == copy->inode &&
	       map->device == copy->device && map->offset + (start - map->start) == copy->offset;
}

static struct mt_error *see_text(void *context, const struct mt_map *map)
{
	struct mt_calls_swap *swap = context;

	mt_array_each (copy, &swap->copies)
		if (map->start == copy->start && map->end == copy->end && map->inode &&
		    !map->writable) {
			copy->offset = map->offset;
			copy->inode = map->inode;
			copy->device = map->device;
		}
	return NULL;
}

static struct mt_error *see_again(void *context, const struct mt_map *map)
{
	struct mt_calls_swap *swap = context;

	mt_array_each (copy, &swap->copies) {
		if (!copy->is_due)
			continue;
		copy->text_is_there |= holds(map, copy, copy->start);
		copy->copy_is_there |= copy->address && holds(map, copy, copy->address);
		copy->aside_is_taken |=
		    map->start < copy->aside + (copy->end - copy->start) && map->end > copy->aside;
	}
	return NULL;
}

static bool is_error(const struct mt_system_call *call)
{
	return call->result < 0 && call->result >= -4095;
}

/* Its path goes into PATHS, for the next call that reads them.  Returns false if there is no room
 * for it beside what is there, of COUNT calls. */
static bool add_path(const struct mt_calls_copy *copy, struct paths *paths, size_t count,
		     struct mt_system_call *call)
{
	size_t size = copy->inode ? strlen(copy->path) + 1 : 0;

	if (size > MOST_PATH_BYTES)
		size = 0;
	if (paths->used + size + count * sizeof(struct mt_inject_call) > MOST_BYTES)
		return false;
	*call = (struct mt_system_call){
	    .number = SYS_openat,
	    .arguments = {(uint64_t)AT_FDCWD, size ? paths->used : 0, MT_CALLS_OPEN_FLAGS}};
	memcpy(paths->bytes + paths->used, copy->path, size);
	paths->used += size;
	return true;
}

/* Opens the files in the program: there their paths mean what the mappings say. */
static struct mt_error *open_files(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space,
				   const struct mt_calls_swap *swap, pid_t lwp,
				   struct mt_system_call *calls)
{
	const struct mt_calls_copy *copies = swap->copies.items;
	struct mt_calls_lent lent;

	for (size_t first = 0, end = 0; first < swap->copies.count; first = end) {
		struct paths paths = {.used = 1};

		while (end < swap->copies.count &&
		       add_path(&copies[end], &paths, end + 1 - first, &calls[end]))
			end++;
		mt_try(mt_calls_lend(engine, space, lwp, paths.bytes, paths.used, &lent));
		for (size_t i = first; i < end; i++)
			calls[i].arguments[1] += lent.at;
		struct mt_error *error =
		    mt_target_call_systems(engine->target, lwp, calls + first, end - first);
		mt_calls_lend_end(engine, space, &lent);
		mt_try(error);
	}
	return NULL;
}

static void note_copy(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      struct mt_calls_copy *copy, uint64_t address)
{
	mt_calls_list(engine, space, address, address + (copy->end - copy->start), copy->inode);
	copy->address = address;
}

/* To be moved page table by page table, it lies in its huge page as the text does. */
static uint64_t like_text(const struct mt_calls_copy *copy, uint64_t address)
{
	return address + ((copy->start - address) & (HUGE_PAGE - 1));
}

/* Behind AT.  Returns its end. */
static uint64_t choose_aside(struct mt_calls_copy *copy, uint64_t at)
{
	copy->aside = like_text(copy, at);
	return copy->aside + (copy->end - copy->start);
}

static struct mt_error *map_files(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  struct mt_calls_swap *swap, pid_t lwp,
				  struct mt_system_call *calls)
{
	size_t count = swap->copies.count;
	struct mt_system_call *maps = calls + count, *closes = calls + 2 * count;
	size_t opened = 0;
	uint64_t at = 0;

	mt_try(open_files(engine, space, swap, lwp, calls));
	mt_try(mt_calls_room_afar(engine, space, &at));
	for (size_t i = 0; i < count; i++) {
		const struct mt_calls_copy *copy = &swap->copies.items[i];

		at = like_text(copy, at);
		maps[i] = (struct mt_system_call){
		    .number = SYS_mmap,
		    .arguments = {at, copy->end - copy->start, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_FIXED_NOREPLACE, (uint64_t)calls[i].result,
				  copy->offset}};
		at += copy->end - copy->start;
		if (is_error(&calls[i]))
			continue;
		mt_calls_list_ahead(space, maps[i].arguments[0], at, copy->inode);
		closes[opened++] = (struct mt_system_call){
		    .number = SYS_close, .arguments = {(uint64_t)calls[i].result}};
	}
	mt_try(mt_target_call_systems(engine->target, lwp, maps, count));
	for (size_t i = 0; i < count; i++) {
		if ((uint64_t)maps[i].result != maps[i].arguments[0])
			mt_calls_unlist(space, maps[i].arguments[0], maps[i].arguments[1]);
		if (!is_error(&maps[i]))
			note_copy(engine, space, &swap->copies.items[i], (uint64_t)maps[i].result);
	}
	mt_array_each (copy, &swap->copies)
		if (copy->address)
			at = choose_aside(copy, at);
	return mt_target_call_systems(engine->target, lwp, closes, opened);
}

int mt_calls_swap_add(struct mt_calls_swap *swap, uint64_t start, uint64_t end, const char *path)
{
	const struct mt_calls_copy copy = {.start = start, .end = end, .path = path};

	return mt_array_push(&swap->copies, copy);
}

/* Locked memory is there, all of it, and a second one would be at once, too. */
static bool is_locked(const struct mt_calls_swap *swap)
{
	return mt_proc_status_number(swap->pid, "VmLck") > 0;
}

struct mt_error *mt_calls_swap_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_swap *swap, pid_t lwp)
{
	struct mt_system_call *calls = calloc(3 * swap->copies.count + 1, sizeof(*calls));
	struct mt_error *error = calls ? NULL : mt_error_no_memory();

	if (!error)
		error = mt_target_each_map(engine->target, swap->pid, see_text, swap);
	if (!error && !is_locked(swap))
		error = map_files(engine, space, swap, lwp, calls);
	free(calls);
	return error;
}

bool mt_calls_swap_needs_copies(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	/* Where to is asked of the kernel, which glibc hands on only if it is given. */
	void *aside = page == MAP_FAILED
			  ? MAP_FAILED
			  : mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	if (aside != MAP_FAILED)
		munmap(aside, PAGE);
	if (page != MAP_FAILED)
		munmap(page, PAGE);
	if (fd >= 0)
		close(fd);
	return aside == MAP_FAILED;
}

struct mt_error *mt_calls_swap_make_way(struct mt_calls_engine *engine,
					struct mt_calls_space *space, struct mt_calls_swap *swap)
{
	uint64_t at = 0;

	mt_try(mt_target_each_map(engine->target, swap->pid, see_text, swap));
	if (is_locked(swap))
		return NULL;
	mt_try(mt_calls_room_afar(engine, space, &at));
	mt_array_each (copy, &swap->copies)
		if (copy->inode)
			at = choose_aside(copy, at);
	return NULL;
}

/* NULL: the text at START was not added. */
static const struct mt_calls_copy *copy_of(const struct mt_calls_swap *swap, uint64_t start)
{
	mt_array_each (copy, &swap->copies)
		if (copy->start == start)
			return copy;
	return NULL;
}

struct mt_calls_copy *mt_calls_swap_find(struct mt_calls_swap *swap, uint64_t start)
{
	mt_array_each (copy, &swap->copies)
		if (copy->start == start && (copy->address || copy->aside))
			return copy;
	return NULL;
}

struct mt_error *mt_calls_swap_fill(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_copy *copy,
				    const uint8_t *text, const uint8_t *clean)
{
	const size_t size = copy->end - copy->start;

	for (size_t at = 0; at < size;) {
		size_t from = at;

		while (at < size && at - from < CHUNK &&
		       memcmp(text + at, clean + at, size - at < PAGE ? size - at : PAGE) != 0)
			at += PAGE;
		if (at == from) {
			at += PAGE;
			continue;
		}
		mt_try(engine->target->ops->write(engine->target, space->pid, copy->address + from,
						  text + from, (at < size ? at : size) - from));
		mt_try(mt_calls_breathe(engine, space));
	}
	copy->is_filled = true;
	return NULL;
}

struct look {
	struct mt_calls_engine *engine;
	pid_t pid;
	uint64_t sum;
};

static uint64_t add_to(uint64_t sum, uint64_t page, const uint8_t *bytes, size_t size)
{
	return mt_hash(mt_hash(sum, &page, sizeof(page)), bytes, size);
}

static bool add_page(void *context, uint64_t page)
{
	struct look *look = context;
	struct mt_target *target = look->engine->target;
	uint8_t bytes[PAGE];
	size_t size = target->ops->read(target, look->pid, page, bytes, sizeof(bytes));

	look->sum = add_to(look->sum, page, bytes, size);
	return true;
}

/* Which pages are not the file's any more, and what is in them: where that is the same later, so is
 * the text.  Where it is not known, it is taken for the same. */
static void compare(struct mt_calls_engine *engine, pid_t pid, int pagemap,
		    struct mt_calls_copy *copy)
{
	struct look look = {engine, pid, 0};
	const bool is_known =
	    mt_proc_each_written(pagemap, copy->start, copy->end, add_page, &look);

	copy->is_unwritten = is_known && !look.sum;
	copy->is_filled = copy->changes == (is_known ? look.sum : 0);
}

struct reading {
	const struct mt_calls_copy *copy;
	const uint8_t *memory, *clean;
	uint64_t sum, seen; /* of written pages; up to where */
	bool is_of_file;    /* between these */
};

static void see_unwritten(struct reading *reading, uint64_t end)
{
	const size_t at = reading->seen - reading->copy->start;

	reading->is_of_file &=
	    memcmp(reading->memory + at, reading->clean + at, end - reading->seen) == 0;
}

static bool see_written(void *context, uint64_t page)
{
	struct reading *reading = context;

	see_unwritten(reading, page);
	reading->sum =
	    add_to(reading->sum, page, reading->memory + (page - reading->copy->start), PAGE);
	reading->seen = page + PAGE;
	return true;
}

bool mt_calls_swap_is_read(const struct mt_calls_swap *swap, struct mt_calls_copy *copy,
			   const uint8_t *memory, const uint8_t *clean)
{
	const struct reading nothing = {copy, memory, clean, 0, copy->start, true};
	struct reading reading = nothing;
	const int pagemap = mt_proc_open_pagemap(swap->pid);

	if (!mt_proc_each_written(pagemap, copy->start, copy->end, see_written, &reading))
		reading = nothing;
	if (pagemap >= 0)
		close(pagemap);
	see_unwritten(&reading, copy->end);
	copy->changes = reading.sum;
	return reading.is_of_file;
}

/* Each call flushes TLBs, and writes to page tables of its own. */
static uint64_t cost_of(const struct mt_calls_copy *copy)
{
	return copy->end - copy->start + CALL_COST;
}

void mt_calls_swap_make_due(struct mt_calls_swap *swap, uint64_t most)
{
	uint64_t cost = 0;

	mt_array_each (copy, &swap->copies)
		copy->is_due = false;
	mt_array_each (copy, &swap->copies) {
		if (copy->had_turn || (cost && cost + cost_of(copy) > most))
			continue;
		cost += cost_of(copy);
		copy->is_due = copy->had_turn = true;
	}
}

bool mt_calls_swap_is_due(const struct mt_calls_swap *swap, uint64_t start)
{
	const struct mt_calls_copy *copy = copy_of(swap, start);

	return copy && copy->is_due;
}

bool mt_calls_swap_had_turn(const struct mt_calls_swap *swap, uint64_t start)
{
	const struct mt_calls_copy *copy = copy_of(swap, start);

	return copy && copy->had_turn;
}

bool mt_calls_swap_all_had_turn(const struct mt_calls_swap *swap)
{
	mt_array_each (copy, &swap->copies)
		if (!copy->had_turn)
			return false;
	return true;
}

void mt_calls_swap_compare(struct mt_calls_engine *engine, struct mt_calls_swap *swap)
{
	const int pagemap = mt_proc_open_pagemap(swap->pid);

	mt_array_each (copy, &swap->copies)
		if (copy->is_due && copy->is_filled)
			compare(engine, swap->pid, pagemap, copy);
	if (pagemap >= 0)
		close(pagemap);
}

/* It has page tables to move, and nothing that others have written: should we be killed before the
 * copy takes its place, that would be lost. */
static bool goes_aside_first(const struct mt_calls_copy *copy)
{
	return copy->aside && !copy->aside_is_taken && copy->is_unwritten &&
	       copy->end - copy->start >= LARGE;
}

static struct mt_system_call move(const struct mt_calls_copy *copy, uint64_t from, uint64_t to,
				  uint64_t flags)
{
	return (struct mt_system_call){.number = SYS_mremap,
				       .arguments = {from, copy->end - copy->start,
						     copy->end - copy->start,
						     MREMAP_MAYMOVE | MREMAP_FIXED | flags, to}};
}

static struct mt_system_call move_aside(const struct mt_calls_space *space,
					const struct mt_calls_copy *copy)
{
	mt_calls_list_ahead(space, copy->aside, copy->aside + (copy->end - copy->start),
			    copy->inode);
	return move(copy, copy->start, copy->aside, MREMAP_DONTUNMAP);
}

/* Two calls at most.  Returns how many. */
static size_t add_calls(const struct mt_calls_space *space, const struct mt_calls_copy *copy,
			struct mt_system_call *calls)
{
	size_t count = 0;

	if (!copy->is_due || !copy->is_filled || !copy->text_is_there)
		return 0;
	if (copy->copy_is_there) {
		if (goes_aside_first(copy))
			calls[count++] = move_aside(space, copy);
		calls[count++] = move(copy, copy->address, copy->start, 0);
	} else if (!copy->address && copy->aside && !copy->aside_is_taken) {
		calls[count++] = move_aside(space, copy);
	}
	return count;
}

static void see_call(const struct mt_calls_space *space, const struct mt_system_call *call,
		     struct mt_calls_copy *copy)
{
	const uint64_t bytes = copy->end - copy->start;
	const bool is_done = (uint64_t)call->result == call->arguments[4];

	if (call->arguments[4] == copy->aside) {
		copy->is_aside = is_done;
		copy->is_exchanged |= is_done && !copy->address;
		if (!is_done)
			mt_calls_unlist(space, copy->aside, bytes);
	} else if (is_done) {
		mt_calls_unlist(space, copy->address, bytes);
		copy->is_exchanged = true;
		copy->address = 0;
	}
}

struct mt_error *mt_calls_swap_exchange(struct mt_calls_engine *engine,
					const struct mt_calls_space *space,
					struct mt_calls_swap *swap, pid_t lwp)
{
	struct mt_system_call *calls = calloc(2 * swap->copies.count + 1, sizeof(*calls));
	size_t count = 0;

	if (!calls)
		return mt_error_no_memory();
	struct mt_error *error = mt_target_each_map(engine->target, swap->pid, see_again, swap);
	mt_array_each (copy, &swap->copies)
		count += error ? 0 : add_calls(space, copy, calls + count);
	if (!error)
		error = mt_target_call_systems(engine->target, lwp, calls, count);
	for (size_t i = 0; i < count; i++)
		mt_array_each (copy, &swap->copies)
			if (copy->start == calls[i].arguments[0] ||
			    copy->start == calls[i].arguments[4])
				see_call(space, &calls[i], copy);
	free(calls);
	return error;
}

/* What is to be unmapped of it next.  Returns how many bytes; 0: nothing is. */
static uint64_t rest_of(const struct mt_calls_copy *copy, uint64_t *start)
{
	*start = (copy->is_aside ? copy->aside : copy->address) + copy->gone;
	return copy->is_aside || copy->address ? copy->end - copy->start - copy->gone : 0;
}

bool mt_calls_swap_has_rest(const struct mt_calls_swap *swap)
{
	uint64_t start;

	mt_array_each (copy, &swap->copies)
		if (rest_of(copy, &start))
			return true;
	return false;
}

static void note_gone(struct mt_calls_copy *copy, uint64_t bytes)
{
	copy->gone += bytes;
	if (copy->gone < copy->end - copy->start)
		return;
	copy->gone = 0;
	if (copy->is_aside)
		copy->is_aside = false;
	else
		copy->address = 0;
}

/* From its beginning on, as it is listed. */
struct mt_error *mt_calls_swap_unmap(struct mt_calls_engine *engine,
				     const struct mt_calls_space *space, struct mt_calls_swap *swap,
				     pid_t lwp, uint64_t most)
{
	mt_array_each (copy, &swap->copies) {
		uint64_t start;
		const uint64_t rest = rest_of(copy, &start), bytes = rest < most ? rest : most;

		if (!rest)
			continue;
		if (bytes < rest)
			mt_calls_unlist(space, start, bytes);
		mt_try(mt_calls_room_unmap(engine, lwp, start, bytes));
		if (bytes == rest)
			mt_calls_unlist(space, start, bytes);
		note_gone(copy, bytes);
		return NULL;
	}
	return NULL;
}

int mt_calls_swap_each_rest(const struct mt_calls_swap *swap,
			    int (*found)(void *context, uint64_t start, uint64_t bytes),
			    void *context)
{
	mt_array_each (copy, &swap->copies) {
		const uint64_t bytes = copy->end - copy->start;
		int result = copy->address ? found(context, copy->address, bytes) : 0;

		if (!result && copy->is_aside)
			result = found(context, copy->aside, bytes);
		if (result)
			return result;
	}
	return 0;
}

bool mt_calls_swap_holds(const struct mt_calls_swap *swap, uint64_t address)
{
	if (!swap)
		return false;
	mt_array_each (copy, &swap->copies) {
		uint64_t rest;

		if ((copy->address && copy->address == address) ||
		    (rest_of(copy, &rest) && rest == address))
			return true;
	}
	return false;
}

bool mt_calls_swap_is_exchanged(const struct mt_calls_swap *swap, uint64_t start)
{
	const struct mt_calls_copy *copy = copy_of(swap, start);

	return copy && copy->is_exchanged;
}
