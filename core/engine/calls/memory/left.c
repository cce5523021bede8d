/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a tracer of ours that was killed left in a process.  Its rings and the pages with its
 * directory have names; the directory tells of the rest (alive.c).  The next one to leave takes all
 * of it along, if it is certain that nobody comes there any more (left_texts.c).  Else all of it
 * stays for who leaves after that.
 *
 * What is read here may be a child's copy of its parent's, and was the program's to map over: an
 * entry counts where the memory that it names proves it.  Private memory ends with the directory's
 * mark; a copy of a text is a whole mapping of that file beside which no other of that file lies.
 */
#include "engine/calls/memory/left.h"

#include "engine/calls/memory/memory.h"
#include "engine/calls/memory/swap.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE         4096u
#define O_LARGEFILE_ 0100000 /* as the kernel shows it */
#define MEMFD        "/memfd:"
/* Of code without a file. */
#define MOST_SEARCHED (1ull << 20)
/* What a search may cost, or the program has made it up: a unit is a look at a mapping, a range, or
 * 16 bytes. */
#define MOST_COST       (1ull << 25)
#define PAGE_COST       (PAGE / 16)
#define DESCRIPTOR_COST 2048u

static const uint8_t zeros[PAGE];

struct finding {
	struct mt_calls_engine *engine;
	const struct mt_calls_space *space;
	struct mt_calls_left *left;
	MT_ARRAY(struct mt_map) maps; /* by address; paths are their own */
	bool has_rings, has_directory;
	uint64_t cost; /* until now */
};

static bool is_called(const char *path, const char *name)
{
	const size_t length = strlen(MEMFD);

	return strncmp(path, MEMFD, length) == 0 && strncmp(path + length, name, strlen(name)) == 0;
}

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct finding *finding = context;
	struct mt_map copy = *map;

	copy.path = strdup(map->path);
	if (copy.path && !mt_array_push(&finding->maps, copy))
		return NULL;
	free((char *)copy.path);
	return mt_error_no_memory();
}

/* False: it is not looked at, so there may be more than is found. */
static bool is_worth(struct finding *finding, uint64_t cost)
{
	finding->cost += cost;
	if (finding->cost <= MOST_COST)
		return true;
	finding->left->is_whole = false;
	return false;
}

static int add(struct finding *finding, enum mt_calls_left_kind kind, uint64_t start, uint64_t end)
{
	const struct mt_calls_left_range range = {.kind = kind, .start = start, .end = end};

	if (!is_worth(finding, finding->left->ranges.count))
		return 0;
	mt_array_each (one, &finding->left->ranges)
		if (one->start == start)
			return 0;
	return mt_array_push(&finding->left->ranges, range);
}

static bool read_all(const struct finding *finding, uint64_t address, void *buffer, size_t size)
{
	struct mt_target *target = finding->engine->target;

	return target->ops->read(target, finding->space->pid, address, buffer, size) == size;
}

/* All of [start, end) is code that cannot be written to. */
static bool is_code(struct finding *finding, uint64_t start, uint64_t end)
{
	if (!is_worth(finding, finding->maps.count))
		return false;
	mt_array_each (map, &finding->maps) {
		if (map->end <= start || !map->executable || map->writable)
			continue;
		if (map->start > start)
			return false;
		if (map->end >= end)
			return true;
		start = map->end;
	}
	return false;
}

/* It was about to be marked. */
static bool is_blank(struct finding *finding, const struct mt_calls_listed *listed)
{
	uint8_t page[PAGE];

	if (!is_code(finding, listed->start, listed->end))
		return false;
	for (uint64_t at = listed->start; at < listed->end; at += sizeof(page))
		if (!is_worth(finding, PAGE_COST) || !read_all(finding, at, page, sizeof(page)) ||
		    memcmp(page, zeros, sizeof(page)) != 0)
			return false;
	return true;
}

static bool has_mark(struct finding *finding, const struct mt_calls_directory *directory,
		     const struct mt_calls_listed *listed)
{
	uint8_t mark[MT_CALLS_MARK_BYTES];

	return is_code(finding, listed->start, listed->end) &&
	       read_all(finding, listed->end - sizeof(mark), mark, sizeof(mark)) &&
	       memcmp(mark, directory->mark, sizeof(mark)) == 0;
}

/* The loader maps a file's parts side by side; a copy of a text has none beside it, but for other
 * copies. */
static bool is_copy(struct finding *finding, const struct mt_calls_listed *listed)
{
	bool found = false, is_alone = true;

	if (!is_worth(finding, finding->maps.count))
		return false;
	mt_array_each (map, &finding->maps) {
		if (map->inode != listed->inode)
			continue;
		found |= map->start == listed->start && map->end == listed->end &&
			 map->executable && !map->writable;
		if (map->end == listed->start || map->start == listed->end)
			is_alone &=
			    map->executable && map->end - map->start == listed->end - listed->start;
	}
	return found && is_alone;
}

static bool is_sane(const struct mt_calls_listed *listed)
{
	return listed->start && listed->start < listed->end && !(listed->end >> 47) &&
	       !(listed->start % PAGE) && !(listed->end % PAGE);
}

static int add_listed(struct finding *finding, const struct mt_calls_directory *directory)
{
	int failed = 0;

	for (uint32_t i = 0; i < directory->count && i < MT_CALLS_DIRECTORY_ITEMS; i++) {
		struct mt_calls_listed listed = directory->items[i];
		const bool is_own = directory->pid == (uint32_t)finding->space->pid;

		if (is_own)
			listed.start += listed.gone;
		if (!is_sane(&listed))
			continue;
		if (listed.inode ? is_copy(finding, &listed)
				 : has_mark(finding, directory, &listed) ||
				       (is_own && is_blank(finding, &listed)))
			failed |=
			    add(finding, listed.inode ? MT_CALLS_LEFT_COPY : MT_CALLS_LEFT_CODE,
				listed.start, listed.end);
	}
	return failed;
}

/* In a child's, what its parent had after the fork may stand in the place of the child's. */
static struct mt_error *read_directory(struct finding *finding, const struct mt_map *map)
{
	struct mt_calls_left *left = finding->left;
	struct mt_calls_directory *directory = malloc(sizeof(*directory));

	if (!directory || add(finding, MT_CALLS_LEFT_ALIVE, map->start, map->end)) {
		free(directory);
		return mt_error_no_memory();
	}
	int failed = 0;
	if (map->writable || map->end - map->start != MT_CALLS_ALIVE_BYTES ||
	    !is_worth(finding, sizeof(*directory) / 16) ||
	    !read_all(finding, map->start, directory, sizeof(*directory)) ||
	    memcmp(directory->magic, MT_CALLS_DIRECTORY_MAGIC, sizeof(directory->magic)) != 0) {
		left->is_whole = false;
	} else {
		finding->has_directory = true;
		left->is_whole &= !directory->is_short;
		left->is_whole &=
		    !directory->is_removed || directory->pid == (uint32_t)finding->space->pid;
		failed = add_listed(finding, directory);
	}
	free(directory);
	return failed ? mt_error_no_memory() : NULL;
}

/* Code for injected calls is mapped before there is a directory, and unmapped after it: a page that
 * is the like of it in all its bytes, but for the mark, a frame and a list; or one that was about
 * to be. */
static bool is_inject_page(const struct mt_map *map, uint64_t address, uint8_t page[PAGE])
{
	uint8_t expected[PAGE];

	if (mt_calls_is_inject_address(address) && map->end - map->start == PAGE &&
	    memcmp(page, zeros, PAGE) == 0)
		return true;
	mt_calls_inject_page(expected);
	memset(page + MT_INJECT_FRAME_AT, 0, sizeof(struct mt_inject_frame));
	memset(page + MT_INJECT_LIST_AT, 0, MT_INJECT_LIST_BYTES);
	return memcmp(page, expected, PAGE - MT_CALLS_MARK_BYTES) == 0;
}

static int add_inject_pages(struct finding *finding, const struct mt_map *map)
{
	uint8_t page[PAGE];
	int failed = 0;

	if (!map->executable || map->writable || map->inode ||
	    map->end - map->start > MOST_SEARCHED)
		return 0;
	for (uint64_t at = map->start; at < map->end; at += PAGE)
		if (at != finding->space->inject_code && is_worth(finding, PAGE_COST) &&
		    read_all(finding, at, page, sizeof(page)) && is_inject_page(map, at, page))
			failed |= add(finding, MT_CALLS_LEFT_CODE, at, at + PAGE);
	return failed;
}

static struct mt_error *see_ours(struct finding *finding, const struct mt_map *map)
{
	const struct mt_calls_rings *rings = finding->space->rings;
	int failed = 0;

	if (is_called(map->path, MT_CALLS_RINGS_NAME) && (!rings || map->start != rings->address)) {
		finding->has_rings = true;
		failed = add(finding, MT_CALLS_LEFT_RINGS, map->start, map->end);
	} else if (is_called(map->path, MT_CALLS_ALIVE_NAME) &&
		   (!rings || map->start != rings->alive_address)) {
		return read_directory(finding, map);
	} else {
		failed = add_inject_pages(finding, map);
	}
	return failed ? mt_error_no_memory() : NULL;
}

static bool is_mapped_code(struct finding *finding, const char *path)
{
	if (!is_worth(finding, finding->maps.count))
		return false;
	mt_array_each (map, &finding->maps)
		if (map->executable && strcmp(map->path, path) == 0)
			return true;
	return false;
}

static struct mt_error *find_descriptors(struct finding *finding)
{
	struct mt_calls_left *left = finding->left;
	char path[64];
	struct dirent *entry;
	int failed = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", finding->space->pid);
	DIR *directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		char file[PATH_MAX] = "";
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_worth(finding, DESCRIPTOR_COST) &&
		    mt_calls_left_is_descriptor(finding->space->pid, fd, file) &&
		    (is_called(file, "") || is_mapped_code(finding, file)))
			failed |= mt_array_push(&left->descriptors, fd);
	}
	if (directory)
		closedir(directory);
	return failed ? mt_error_no_memory() : NULL;
}

static void find_deinit(struct finding *finding)
{
	mt_array_each (map, &finding->maps)
		free((char *)map->path);
	mt_array_deinit(&finding->maps);
	mt_calls_left_destroy(finding->left);
}

bool mt_calls_left_is_descriptor(pid_t pid, int fd, char path[PATH_MAX])
{
	char name[64];
	unsigned long long position = 1;
	int flags = 0;

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, fd);
	ssize_t length = readlink(name, path, PATH_MAX - 1);
	path[length < 0 ? 0 : length] = '\0';
	if (is_called(path, MT_CALLS_RINGS_NAME) || is_called(path, MT_CALLS_ALIVE_NAME))
		return true;
	snprintf(name, sizeof(name), "/proc/%d/fdinfo/%d", pid, fd);
	FILE *info = path[0] == '/' ? fopen(name, "re") : NULL;
	if (info && fscanf(info, "pos: %llu flags: %o", &position, (unsigned *)&flags) != 2)
		position = 1;
	if (info)
		fclose(info);
	return !position && (flags & ~O_LARGEFILE_) == MT_CALLS_OPEN_FLAGS;
}

struct mt_error *mt_calls_left_find(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_left **out)
{
	__attribute__((cleanup(find_deinit))) struct finding finding = {
	    .engine = engine, .space = space, .left = calloc(1, sizeof(*finding.left))};

	*out = NULL;
	if (!finding.left)
		return mt_error_no_memory();
	finding.left->is_whole = true;
	mt_try(mt_target_each_map(engine->target, space->pid, see_map, &finding));
	mt_array_each (map, &finding.maps)
		mt_try(see_ours(&finding, map));
	mt_try(find_descriptors(&finding));
	if (!finding.left->ranges.count && !finding.left->descriptors.count)
		return NULL;
	finding.left->is_whole &= finding.has_directory || !finding.has_rings;
	*out = finding.left;
	finding.left = NULL;
	return NULL;
}

void mt_calls_left_destroy(struct mt_calls_left *left)
{
	if (!left)
		return;
	mt_array_each (text, &left->texts)
		free(text->path);
	mt_array_deinit(&left->texts);
	mt_array_deinit(&left->descriptors);
	mt_array_deinit(&left->ranges);
	free(left);
}

bool mt_calls_left_holds(const struct mt_calls_left *left, enum mt_calls_left_kind kind,
			 uint64_t address)
{
	if (!left)
		return false;
	mt_array_each (range, &left->ranges)
		if (range->kind == kind && address >= range->start && address < range->end)
			return true;
	return false;
}
