/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which file is mapped where. */
#include "space/private.h"

#include "base/array.h"
#include "base/search.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct mt_error *mt_space_create(struct mt_space_pool *pool, pid_t pid, struct mt_space **out)
{
	struct mt_space *space = calloc(1, sizeof(*space));

	if (!space)
		return mt_error_no_memory();
	space->pool = pool;
	space->pid = pid;
	*out = space;
	return NULL;
}

void mt_space_destroy(struct mt_space *space)
{
	if (!space)
		return;
	mt_space_drop_tables(space);
	free(space->room);
	free(space);
}

size_t mt_space_search(const struct mt_space *space, uint64_t address)
{
	return mt_partition_point(i, 0, space->count, space->entries[i].mapping.start <= address);
}

struct mt_space_entry *mt_space_entry_at(const struct mt_space *space, uint64_t address)
{
	size_t behind = mt_space_search(space, address);

	return behind && address < space->entries[behind - 1].mapping.end
		   ? &space->entries[behind - 1]
		   : NULL;
}

void mt_space_forget_last(struct mt_space *space)
{
	space->last.start = space->last.end = 0;
}

/* The part of an entry from START to END. */
static struct mt_space_entry cut(struct mt_space_entry entry, uint64_t start, uint64_t end)
{
	entry.mapping.offset += start - entry.mapping.start;
	entry.mapping.start = start;
	entry.mapping.end = end;
	return entry;
}

/* What an insertion may add: a mapping that is hit in its middle becomes two. */
enum { ADDED_MAX = 2 };

/* Room for an insertion before the entries and behind them.  Returns 0, or -1 without memory. */
static int make_room(struct mt_space *space)
{
	const size_t before = space->room ? (size_t)(space->entries - space->room) : 0;
	const size_t capacity = 3 * (space->count + ADDED_MAX);
	struct mt_space_entry *room;

	if (before >= ADDED_MAX && space->capacity - before - space->count >= ADDED_MAX)
		return 0;
	room = malloc(capacity * sizeof(*room));
	if (!room)
		return -1;
	if (space->count)
		memcpy(room + capacity / 3, space->entries, space->count * sizeof(*room));
	free(space->room);
	space->room = room;
	space->entries = room + capacity / 3;
	space->capacity = capacity;
	return 0;
}

/* Replace what lies in [start, end); ADDED NULL: by nothing.  There is room for it.  The shorter
 * side moves, so that mappings that come by falling addresses, as the kernel chooses them, move
 * none. */
static void replace(struct mt_space *space, uint64_t start, uint64_t end,
		    const struct mt_space_entry *added)
{
	struct mt_space_entry pieces[3], *entries = space->entries;
	size_t piece_count = 0, first, last;

	first = mt_space_search(space, start);
	if (first && entries[first - 1].mapping.end > start)
		first--;
	for (last = first; last < space->count; last++)
		if (entries[last].mapping.start >= end)
			break;
	const struct mt_space_entry *hit = entries + first;
	if (first < last && hit->mapping.start < start)
		pieces[piece_count++] = cut(*hit, hit->mapping.start, start);
	if (added)
		pieces[piece_count++] = *added;
	hit = entries + last - 1;
	if (first < last && hit->mapping.end > end)
		pieces[piece_count++] = cut(*hit, end, hit->mapping.end);

	const size_t behind = space->count - last;
	if (first < behind) {
		space->entries = entries + last - first - piece_count;
		memmove(space->entries, entries, first * sizeof(*entries));
	} else {
		memmove(entries + first + piece_count, entries + last, behind * sizeof(*entries));
	}
	memcpy(space->entries + first, pieces, piece_count * sizeof(*pieces));
	space->count = first + piece_count + behind;
	mt_space_forget_last(space);
}

static void insert(struct mt_space *space, const struct mt_space_entry *added)
{
	replace(space, added->mapping.start, added->mapping.end, added);
}

static struct mt_error *set_problem(struct mt_space *space, struct mt_space_entry *entry,
				    const char *problem)
{
	entry->mapping.problem = mt_space_pool_text(space->pool, problem);
	return entry->mapping.problem ? NULL : mt_error_no_memory();
}

/* The lowest mapping of an object file that lies BIAS above its addresses; NULL: there is none.  A
 * file's mappings lie where its segments do, or reach a little beyond. */
static const struct mt_mapping *find_biased(const struct mt_space *space,
					    const struct mt_objfile *objfile, uint64_t bias)
{
	uint64_t start = UINT64_MAX, end = 0;
	struct mt_load load;

	for (size_t i = 0; mt_objfile_load(objfile, i, &load); i++) {
		start = load.address < start ? load.address : start;
		end = load.address + load.size > end ? load.address + load.size : end;
	}
	end = bias + end + (end - start);
	start = (bias + start) & ~0xfffULL;
	size_t i = mt_space_search(space, start);
	if (i && space->entries[i - 1].mapping.start == start)
		i--;
	for (; i < space->count && space->entries[i].mapping.start < end; i++) {
		const struct mt_mapping *mapping = &space->entries[i].mapping;

		if (mapping->objfile == objfile && mapping->bias == bias)
			return mapping;
	}
	return NULL;
}

/* A page of the file that two segments share is mapped twice: where the file's other mappings are
 * tells which of them this is.  Only those that lie where the segment's own would are looked at: a
 * process may map a file thousands of times. */
static bool address_beside(const struct mt_space *space, const struct mt_objfile *objfile,
			   const struct mt_mapping *added, uint64_t *address)
{
	const struct mt_mapping *lowest = NULL;
	struct mt_load load;
	uint64_t there;

	for (size_t i = 0; mt_objfile_load(objfile, i, &load); i++) {
		if (!mt_objfile_load_address(objfile, i, added->offset, &there))
			continue;
		const struct mt_mapping *other = find_biased(space, objfile, added->start - there);
		if (!other || (lowest && lowest->start <= other->start))
			continue;
		lowest = other;
		*address = there;
	}
	return lowest != NULL;
}

static struct mt_error *set_objfile(struct mt_space *space, struct mt_space_entry *entry,
				    struct mt_objfile *objfile)
{
	uint64_t address;

	if (!address_beside(space, objfile, &entry->mapping, &address) &&
	    !mt_objfile_offset_to_address(objfile, entry->mapping.offset, &address))
		return set_problem(
		    space, entry,
		    "the file has no segment at the mapped offset: it has changed since");
	entry->mapping.objfile = objfile;
	entry->mapping.build_id = *mt_objfile_build_id(objfile);
	entry->mapping.bias = entry->mapping.start - address;
	entry->image = mt_space_pool_image(space->pool, objfile, entry->mapping.bias);
	return entry->image ? NULL : mt_error_no_memory();
}

static const char deleted[] = " (deleted)";

static bool is_deleted(const char *path)
{
	size_t length = strlen(path), suffix = strlen(deleted);

	return length > suffix && strcmp(path + length - suffix, deleted) == 0;
}

bool mt_space_is_file(const char *path)
{
	static const char *const others[] = {"//", "/dev/", "/memfd:", "/SYSV", "/anon_hugepage"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strncmp(path, others[i], strlen(others[i])) == 0)
			return false;
	return path[0] == '/';
}

/* The kernel's own link to what is mapped reaches a file that has no name any more.  Only if it is
 * still the same mapping: the pid may be of another machine or time. */
static bool live_link(const struct mt_space *space, const struct mt_mapping *mapping, char *link,
		      size_t size)
{
	char target[4096];

	snprintf(link, size, "/proc/%d/map_files/%llx-%llx", (int)space->pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	ssize_t length = readlink(link, target, sizeof(target) - 1);
	if (length <= 0)
		return false;
	target[length] = '\0';
	return strcmp(target, mapping->path) == 0;
}

/* The name under which a mapping's file can be opened.  NULL: none, *PROBLEM says why. */
static const char *path_to_open(const struct mt_space *space, const struct mt_mapping *mapping,
				char *buffer, size_t size, const char **problem)
{
	if (!mt_space_is_file(mapping->path)) {
		*problem = "it is not mapped from a file";
		return NULL;
	}
	if (!is_deleted(mapping->path))
		return mapping->path;
	size_t length = strlen(mapping->path) - strlen(deleted);
	if (mapping->build_id.size && length < size) {
		memcpy(buffer, mapping->path, length);
		buffer[length] = '\0';
		return buffer;
	}
	if (live_link(space, mapping, buffer, size))
		return buffer;
	*problem =
	    "the file was deleted, and without its build ID, another of the same name cannot be "
	    "trusted";
	return NULL;
}

static struct mt_error *open_entry(struct mt_space *space, struct mt_space_entry *entry)
{
	struct mt_mapping *mapping = &entry->mapping;
	const char *problem = NULL;
	char buffer[4096];

	const char *path = path_to_open(space, mapping, buffer, sizeof(buffer), &problem);
	if (!path)
		return set_problem(space, entry, problem);
	const struct mt_space_pool_file *file =
	    mt_space_pool_file(space->pool, path, &mapping->build_id);
	if (!file)
		return mt_error_no_memory();
	if (file->objfile)
		return set_objfile(space, entry, file->objfile);
	mapping->problem = file->problem;
	return NULL;
}

/* A copy of a caller's mapping, with nothing found out yet. */
static struct mt_error *begin_entry(struct mt_space *space, const struct mt_mapping *mapping,
				    struct mt_space_entry *out)
{
	if (make_room(space))
		return mt_error_no_memory();
	*out = (struct mt_space_entry){
	    .mapping =
		{
		    .start = mapping->start,
		    .end = mapping->end,
		    .offset = mapping->offset,
		    .path = mt_space_pool_text(space->pool, mapping->path ? mapping->path : ""),
		    .build_id = mapping->build_id,
		},
	};
	return out->mapping.path ? NULL : mt_error_no_memory();
}

struct mt_error *mt_space_add(struct mt_space *space, const struct mt_mapping *mapping)
{
	struct mt_space_entry entry = {0};

	if (mapping->start >= mapping->end)
		return NULL;
	mt_try(begin_entry(space, mapping, &entry));
	mt_try(open_entry(space, &entry));
	insert(space, &entry);
	return NULL;
}

struct mt_error *mt_space_add_objfile(struct mt_space *space, const struct mt_mapping *mapping,
				      struct mt_objfile *objfile)
{
	struct mt_space_entry entry = {0};

	if (mapping->start >= mapping->end)
		return NULL;
	mt_try(begin_entry(space, mapping, &entry));
	mt_try(mt_space_pool_adopt(space->pool, objfile));
	mt_try(set_objfile(space, &entry, objfile));
	insert(space, &entry);
	return NULL;
}

struct mt_error *mt_space_remove(struct mt_space *space, uint64_t start, uint64_t end)
{
	if (start >= end)
		return NULL;
	if (make_room(space))
		return mt_error_no_memory();
	replace(space, start, end, NULL);
	return NULL;
}

static bool same_contents(const struct mt_mapping *a, const struct mt_mapping *b)
{
	/* Memory that grows, of no file. */
	if (strcmp(a->path, MT_SPACE_NO_FILE) == 0 && b->path &&
	    strcmp(b->path, MT_SPACE_NO_FILE) == 0)
		return true;
	return strcmp(a->path, b->path ? b->path : "") == 0 &&
	       a->start - a->offset == b->start - b->offset &&
	       (a->build_id.size == 0 || b->build_id.size == 0 ||
		mt_build_id_equal(&a->build_id, &b->build_id));
}

bool mt_space_conflicts(const struct mt_space *space, const struct mt_mapping *mapping)
{
	size_t i = mt_space_search(space, mapping->start);

	if (i && space->entries[i - 1].mapping.end > mapping->start)
		i--;
	for (; i < space->count && space->entries[i].mapping.start < mapping->end; i++)
		if (!same_contents(&space->entries[i].mapping, mapping))
			return true;
	return false;
}

struct mt_error *mt_space_copy(const struct mt_space *space, struct mt_space **out)
{
	struct mt_space *copy = NULL;

	mt_try(mt_space_create(space->pool, space->pid, &copy));
	struct mt_error *error = mt_space_share_tables(space, copy);
	if (error) {
		mt_space_destroy(copy);
		return error;
	}
	copy->entries = space->entries;
	copy->count = space->count;
	if (make_room(copy)) {
		copy->count = 0;
		mt_space_destroy(copy);
		return mt_error_no_memory();
	}
	*out = copy;
	return NULL;
}

size_t mt_space_mapping_count(const struct mt_space *space)
{
	return space->count;
}

const struct mt_mapping *mt_space_mapping(const struct mt_space *space, size_t index)
{
	return &space->entries[index].mapping;
}

const struct mt_mapping *mt_space_find(const struct mt_space *space, uint64_t address)
{
	const struct mt_space_entry *entry = mt_space_entry_at(space, address);

	return entry ? &entry->mapping : NULL;
}

/* One mapping's share of a read. */
static size_t read_mapping(const struct mt_mapping *mapping, uint64_t address, void *buffer,
			   size_t size)
{
	uint64_t room = mapping->end - address;

	if (!mapping->objfile)
		return 0;
	return mt_objfile_read(mapping->objfile, address - mapping->bias, buffer,
			       size < room ? size : room);
}

size_t mt_space_read(const struct mt_space *space, uint64_t address, void *buffer, size_t size)
{
	size_t have = 0;

	while (have < size) {
		const struct mt_mapping *mapping = mt_space_find(space, address + have);
		size_t count = mapping ? read_mapping(mapping, address + have,
						      (char *)buffer + have, size - have)
				       : 0;
		if (count == 0)
			break;
		have += count;
	}
	return have;
}
