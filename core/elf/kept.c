/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/kept.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/outfile.h"
#include "elf/code.h"
#include "elf/objfile_private.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Of the head's layout, and of what was looked at where a file is known. */
#define VERSION    4
#define MOST_BYTES (1ull << 30)
/* How exactly it is noted when a file was used. */
#define USED_SECONDS 600

struct head {
	char magic[8];
	uint32_t version;
	uint32_t part_count;
	struct mt_kept_key key;
	uint64_t whole; /* a checksum of all that follows */
	uint64_t counts[MT_KEPT_MOST_PARTS];
	uint32_t sizes[MT_KEPT_MOST_PARTS];
	uint8_t unused[MT_KEPT_HEAD_BYTES - 272]; /* 0 */
};

_Static_assert(sizeof(struct head) == MT_KEPT_HEAD_BYTES, "the parts begin with a page");

static const char magic[8] = "mtkept";

/* Stripped, or linked to other symbols, a file has other sections. */
static uint64_t hash_sections(uint64_t sum, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header))
			sum = mt_hash(sum, &header, sizeof(header));
	return sum;
}

static void begin_key(struct mt_objfile *objfile, uint64_t planner, struct mt_kept_key *key)
{
	const char *debug = mt_objfile_debug_path(objfile);
	const struct mt_build_id *id = mt_objfile_build_id(objfile);

	memset(key, 0, sizeof(*key));
	memcpy(key->build_id, id->bytes, id->size);
	key->build_id_size = id->size;
	key->planner = planner;
	key->code = debug ? mt_hash(0, debug, strlen(debug)) : 0;
}

bool mt_kept_key_of_file(struct mt_objfile *objfile, uint64_t planner, struct mt_kept_key *key)
{
	const struct stat *file = &objfile->main.status;
	const uint64_t facts[] = {
	    file->st_dev,
	    file->st_ino,
	    (uint64_t)file->st_size,
	    (uint64_t)file->st_mtim.tv_sec,
	    (uint64_t)file->st_mtim.tv_nsec,
	    (uint64_t)file->st_ctim.tv_sec,
	    (uint64_t)file->st_ctim.tv_nsec,
	};

	begin_key(objfile, planner, key);
	key->code = mt_hash(key->code, facts, sizeof(facts));
	return mt_elf_file_is_settled(&objfile->main);
}

int mt_kept_key(struct mt_objfile *objfile, uint64_t planner, struct mt_kept_key *key)
{
	struct mt_code code = {0};
	int failed = mt_code_read(objfile, &code);

	begin_key(objfile, planner, key);
	key->code = hash_sections(key->code, objfile->main.elf);
	for (size_t i = 0; !failed && i < code.count; i++) {
		uint64_t length = code.items[i].end - code.items[i].start;
		size_t size = 0;
		const uint8_t *bytes = mt_objfile_bytes(objfile, code.items[i].start, &size);

		if (bytes)
			key->code = mt_hash(key->code, bytes, size < length ? size : length);
	}
	mt_array_deinit(&code);
	return failed;
}

/* All of the head but the checksum. */
static void make_head(const struct mt_kept_key *key, const struct mt_kept_part *parts, size_t count,
		      struct head *head)
{
	memset(head, 0, sizeof(*head));
	memcpy(head->magic, magic, sizeof(magic));
	head->version = VERSION;
	head->part_count = (uint32_t)count;
	head->key = *key;
	for (size_t i = 0; i < count; i++) {
		head->counts[i] = parts[i].count;
		head->sizes[i] = parts[i].size;
	}
}

static uint64_t checksum(const struct head *head, const struct mt_kept_part *parts, size_t count)
{
	const size_t start = offsetof(struct head, counts);
	uint64_t sum = mt_hash(0, (const uint8_t *)head + start, sizeof(*head) - start);

	for (size_t i = 0; i < count; i++)
		sum = mt_hash(sum, parts[i].items, parts[i].count * parts[i].size);
	return sum;
}

struct mt_error *mt_kept_store(const struct mt_kept_key *key, const struct mt_kept_part *parts,
			       size_t count, const char *path)
{
	struct mt_outfile *file = NULL;
	struct head head;

	make_head(key, parts, count, &head);
	head.whole = checksum(&head, parts, count);
	unlink(path); /* else its mode, for which it may not be believed, would be taken over */
	struct mt_error *error = mt_outfile_create(path, &file);
	if (!error)
		error = mt_outfile_write(file, &head, sizeof(head));
	for (size_t i = 0; !error && i < count; i++)
		error = mt_outfile_write(file, parts[i].items, parts[i].count * parts[i].size);
	if (!error)
		error = mt_outfile_commit(file);
	mt_outfile_destroy(file);
	return error;
}

/* Another user must not control what we write into programs. */
static int open_own(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat file;

	if (fd < 0)
		return -1;
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
	    !(file.st_mode & S_IWOTH) && (uint64_t)file.st_size <= MOST_BYTES) {
		*size = (uint64_t)file.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

static bool read_all(int fd, void *buffer, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, (uint8_t *)buffer + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* It was made for this key, and its counts fit the file's size. */
static bool is_ours(const struct head *head, const struct mt_kept_key *key,
		    struct mt_kept_part *parts, size_t count, uint64_t file_size)
{
	struct head wanted;
	uint64_t size = sizeof(*head);

	for (size_t i = 0; i < count; i++) {
		parts[i].count = head->counts[i];
		if (parts[i].count > file_size / parts[i].size)
			return false;
		size += parts[i].count * parts[i].size;
	}
	make_head(key, parts, count, &wanted);
	wanted.whole = head->whole;
	return size == file_size && memcmp(head, &wanted, sizeof(wanted)) == 0;
}

#define BOOT_ID_BYTES 36

/* Of this run of the system. */
static char boot_id[BOOT_ID_BYTES];
static bool has_boot_id;

static void read_boot_id(void)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	has_boot_id = fd >= 0 && read_all(fd, boot_id, sizeof(boot_id));
	if (fd >= 0)
		close(fd);
}

/* Below the second of its time of modification: what tells that the file was looked at since the
 * system started, was good, and was not written to since. */
static long nanoseconds_of(const struct head *head, time_t second)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const uint64_t facts[] = {head->whole, (uint64_t)second};

	pthread_once(&once, read_boot_id);
	uint64_t sum = mt_hash(mt_hash(0, boot_id, sizeof(boot_id)), facts, sizeof(facts));
	return has_boot_id ? (long)(sum % 1000000000) : -1;
}

/* The seconds are for who looks for what was not used for the longest time. */
static void note_known(int fd, const struct head *head, time_t now)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = now}};

	times[1].tv_nsec = nanoseconds_of(head, now);
	futimens(fd, times[1].tv_nsec >= 0 ? times : NULL);
}

/* It is whole, and good.  CHECK NULL: what is whole is good. */
static bool is_sound(int fd, const struct head *head, const struct mt_kept_part *parts,
		     size_t count, const struct mt_kept_check *check)
{
	time_t now = time(NULL);
	struct stat file;

	if (fstat(fd, &file))
		return false;
	bool is_known = file.st_mtim.tv_nsec == nanoseconds_of(head, file.st_mtim.tv_sec);
	if (!is_known && (checksum(head, parts, count) != head->whole ||
			  (check && !check->is_sound(check->context, parts))))
		return false;
	if (!is_known || file.st_mtim.tv_sec + USED_SECONDS < now)
		note_known(fd, head, now);
	return true;
}

static bool is_mapped_sound(int fd, const struct mt_kept_key *key, struct mt_kept_part *parts,
			    size_t count, const struct mt_kept_check *check,
			    const struct mt_kept_map *map)
{
	struct head head;
	uint64_t at = sizeof(head);

	memcpy(&head, map->memory, sizeof(head));
	if (!is_ours(&head, key, parts, count, map->size))
		return false;
	for (size_t i = 0; i < count; i++) {
		parts[i].items = map->memory + at;
		at += parts[i].count * parts[i].size;
	}
	return is_sound(fd, &head, parts, count, check);
}

bool mt_kept_map(const struct mt_kept_key *key, struct mt_kept_part *parts, size_t count,
		 const char *path, const struct mt_kept_check *check, struct mt_kept_map *map)
{
	uint64_t size = 0;
	int fd = open_own(path, &size);
	void *memory = MAP_FAILED;

	*map = (struct mt_kept_map){0};
	if (fd >= 0 && size >= sizeof(struct head))
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (memory != MAP_FAILED)
		*map = (struct mt_kept_map){memory, size, fd};
	else if (fd >= 0)
		close(fd);
	if (map->memory && is_mapped_sound(fd, key, parts, count, check, map))
		return true;
	mt_kept_unmap(map);
	return false;
}

bool mt_kept_read(const struct mt_kept_key *key, const char *path, void *item, uint32_t size)
{
	struct mt_kept_part part = {.items = item, .size = size};
	struct head head;
	const struct iovec parts[] = {{&head, sizeof(head)}, {item, size}};
	uint64_t file_size = 0;
	int fd = open_own(path, &file_size);
	bool is_there = fd >= 0 && file_size == sizeof(head) + size &&
			readv(fd, parts, 2) == (ssize_t)file_size &&
			is_ours(&head, key, &part, 1, file_size) &&
			is_sound(fd, &head, &part, 1, NULL);

	if (fd >= 0)
		close(fd);
	return is_there;
}

void mt_kept_copy(const struct mt_kept_map *map, const uint8_t *from, void *to, size_t size)
{
	if (map->fd < 0 || pread(map->fd, to, size, from - map->memory) != (ssize_t)size)
		memcpy(to, from, size);
}

void mt_kept_close(struct mt_kept_map *map)
{
	if (map->memory && map->fd >= 0)
		close(map->fd);
	map->fd = -1;
}

void mt_kept_unmap(struct mt_kept_map *map)
{
	mt_kept_close(map);
	if (map->memory)
		munmap(map->memory, map->size);
	*map = (struct mt_kept_map){0};
}
