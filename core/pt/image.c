/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache owns sections of files, over libipt's section cache; an image is a list of what is
 * mapped where. */
#include "pt/image.h"

#include "base/array.h"
#include "base/search.h"

#include <intel-pt.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mt_pt_image_cache {
	pthread_mutex_t lock; /* held while sections are used: images may be read by many threads */
	struct pt_image_section_cache *sections;
	uint64_t images; /* ever made */
};

struct mapping {
	uint64_t begin;
	uint64_t size;
	int isid;
	const uint8_t *bytes; /* instead of a section; NULL: none */
};

struct range {
	uint64_t first, last;
};

/* By address, none next to another. */
struct ranges {
	MT_ARRAY(struct range) list;
};

struct mt_pt_image {
	struct mt_pt_image_cache *cache;
	uint64_t id;
	MT_ARRAY(struct mapping) mappings; /* the newest last; it hides what it overlaps */
	bool is_filtered;                  /* nothing is traced but what is within */
	struct ranges within, stopping;
};

struct mt_error *mt_pt_image_cache_create(struct mt_pt_image_cache **out)
{
	struct mt_pt_image_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->sections = pt_iscache_alloc(NULL);
	if (!cache || !cache->sections) {
		free(cache);
		return mt_error_no_memory();
	}
	/* Keep all files mapped. */
	pt_iscache_set_limit(cache->sections, INT64_MAX);
	pthread_mutex_init(&cache->lock, NULL);
	*out = cache;
	return NULL;
}

void mt_pt_image_cache_destroy(struct mt_pt_image_cache *cache)
{
	if (!cache)
		return;
	pt_iscache_free(cache->sections);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

struct mt_error *mt_pt_image_create(struct mt_pt_image_cache *cache, struct mt_pt_image **out)
{
	struct mt_pt_image *image = calloc(1, sizeof(*image));

	if (!image)
		return mt_error_no_memory();
	image->cache = cache;
	image->id = ++cache->images;
	*out = image;
	return NULL;
}

void mt_pt_image_destroy(struct mt_pt_image *image)
{
	if (!image)
		return;
	mt_array_deinit(&image->mappings);
	mt_array_deinit(&image->within.list);
	mt_array_deinit(&image->stopping.list);
	free(image);
}

static struct mt_error *file_size(const char *path, uint64_t *size)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int failed = fd < 0 || fstat(fd, &status);
	int errnum = errno;

	if (fd >= 0)
		close(fd);
	if (failed)
		return mt_error_errno(errnum, "cannot read the code in %s", path);
	if (!S_ISREG(status.st_mode))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "cannot read the code in %s: it is not a regular file", path);
	*size = (uint64_t)status.st_size;
	return NULL;
}

struct mt_error *mt_pt_image_add(struct mt_pt_image *image, const char *path, uint64_t offset,
				 uint64_t size, uint64_t address)
{
	uint64_t file_bytes = 0;

	mt_try(file_size(path, &file_bytes));
	if (offset >= file_bytes)
		return mt_error_new(MT_ERROR_FORMAT,
				    "%s ends before the code that was mapped from it: "
				    "has it changed since?",
				    path);
	if (size > file_bytes - offset)
		size = file_bytes - offset;
	if (size > UINT64_MAX - address)
		size = UINT64_MAX - address;
	if (!size)
		return NULL;

	pthread_mutex_lock(&image->cache->lock);
	int isid = pt_iscache_add_file(image->cache->sections, path, offset, size, address);
	pthread_mutex_unlock(&image->cache->lock);
	if (isid == -pte_nomem)
		return mt_error_no_memory();
	if (isid < 0)
		return mt_error_new(MT_ERROR_SYSTEM, "cannot map the code in %s: %s", path,
				    pt_errstr(pt_errcode(isid)));
	struct mapping mapping = {.begin = address, .size = size, .isid = isid};
	return mt_array_push(&image->mappings, mapping) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_pt_image_add_bytes(struct mt_pt_image *image, const uint8_t *bytes,
				       uint64_t size, uint64_t address)
{
	const struct mapping mapping = {.begin = address, .size = size, .bytes = bytes};

	if (!size || size > UINT64_MAX - address)
		return NULL;
	return mt_array_push(&image->mappings, mapping) ? mt_error_no_memory() : NULL;
}

/* ---- filters ---- */

/* The first one that ends at ADDRESS or behind it. */
static size_t find_range(const struct ranges *ranges, uint64_t address)
{
	return mt_partition_point(i, 0, ranges->list.count, ranges->list.items[i].last < address);
}

static bool is_in(const struct ranges *ranges, uint64_t address)
{
	size_t at = find_range(ranges, address);

	return at < ranges->list.count && ranges->list.items[at].first <= address;
}

/* Returns 0, or -1 without memory. */
static int add_range(struct ranges *ranges, struct range range)
{
	size_t at = find_range(ranges, range.first ? range.first - 1 : 0), end = at;
	struct range *items;

	if (mt_array_reserve(&ranges->list, ranges->list.count + 1))
		return -1;
	items = ranges->list.items;
	for (; end < ranges->list.count &&
	       items[end].first <= range.last + (range.last != UINT64_MAX);
	     end++) {
		range.first = items[end].first < range.first ? items[end].first : range.first;
		range.last = items[end].last > range.last ? items[end].last : range.last;
	}
	memmove(items + at + 1, items + end, (ranges->list.count - end) * sizeof(*items));
	items[at] = range;
	ranges->list.count += 1 + at - end;
	return 0;
}

struct mt_error *mt_pt_image_add_filter(struct mt_pt_image *image, uint64_t address, uint64_t size,
					bool stops)
{
	const uint64_t left = UINT64_MAX - address;
	const struct range range = {address, address + (size - 1 < left ? size - 1 : left)};

	image->is_filtered |= !stops;
	if (size && add_range(stops ? &image->stopping : &image->within, range))
		return mt_error_no_memory();
	return NULL;
}

bool mt_pt_image_is_traced(const struct mt_pt_image *image, uint64_t address)
{
	return (!image->is_filtered || is_in(&image->within, address)) &&
	       !is_in(&image->stopping, address);
}

uint64_t mt_pt_image_id(const struct mt_pt_image *image)
{
	return image->id;
}

/* ---- code ---- */

static const struct mapping *mapping_at(const struct mt_pt_image *image, uint64_t address)
{
	for (size_t i = image->mappings.count; i-- > 0;) {
		const struct mapping *mapping = &image->mappings.items[i];

		if (address - mapping->begin < mapping->size)
			return mapping;
	}
	return NULL;
}

bool mt_pt_image_has(const struct mt_pt_image *image, uint64_t address)
{
	return mapping_at(image, address) != NULL;
}

size_t mt_pt_image_read(const struct mt_pt_image *image, uint64_t address, uint8_t *bytes,
			size_t size)
{
	const struct mapping *mapping = mapping_at(image, address);

	if (!mapping)
		return 0;
	for (const struct mapping *newer = mapping + 1; newer <= mt_array_last(&image->mappings);
	     newer++)
		if (newer->begin > address && newer->begin - address < size)
			size = newer->begin - address;
	if (mapping->bytes) {
		const uint64_t skip = address - mapping->begin;

		size = size < mapping->size - skip ? size : mapping->size - skip;
		memcpy(bytes, mapping->bytes + skip, size);
		return size;
	}
	pthread_mutex_lock(&image->cache->lock);
	int status = pt_iscache_read(image->cache->sections, bytes, size, mapping->isid, address);
	pthread_mutex_unlock(&image->cache->lock);
	return status < 0 ? 0 : (size_t)status;
}
