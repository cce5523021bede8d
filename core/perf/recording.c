/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf/recording_private.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mt_error *mt_recording_garbled(const struct mt_recording *recording, uint64_t offset,
				      const char *what)
{
	return mt_error_at_path(
	    mt_error_new(MT_ERROR_FORMAT,
			 "%s is garbled at offset 0x%llx: %s cannot be read; record it again",
			 recording->info.path, (unsigned long long)offset, what),
	    recording->info.path, (int64_t)offset);
}

struct mt_error *mt_recording_read(const struct mt_recording *recording, void *bytes, size_t size,
				   uint64_t offset, size_t *count)
{
	*count = 0;
	while (*count < size) {
		ssize_t got = pread(recording->fd, (uint8_t *)bytes + *count, size - *count,
				    (off_t)(offset + *count));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return mt_error_at_path(
			    mt_error_errno(errno, "cannot read %s", recording->info.path),
			    recording->info.path, (int64_t)offset);
		if (got == 0)
			break;
		*count += (size_t)got;
	}
	return NULL;
}

/* How a pipe begins, as far as it was read. */
struct beginning {
	char magic[MT_PERF_MAGIC_SIZE];
	size_t count;
};

/* What is no recording may have no end, so it is not copied first. */
static struct mt_error *check_beginning(struct beginning *beginning, const char *path,
					const uint8_t *bytes, size_t count)
{
	size_t wanted = sizeof(beginning->magic) - beginning->count;
	size_t taken = count < wanted ? count : wanted;

	memcpy(beginning->magic + beginning->count, bytes, taken);
	beginning->count += taken;
	if (count && beginning->count < sizeof(beginning->magic))
		return NULL;
	return mt_recording_check_magic(path, beginning->magic);
}

/* A pipe is read once, AUX data is wanted later. */
static struct mt_error *copy_pipe(int fd, const char *path, const struct mt_progress *progress,
				  struct mt_outfile *file)
{
	struct beginning beginning = {0};
	uint8_t buffer[65536];

	for (;;) {
		ssize_t count = read(fd, buffer, sizeof(buffer));

		mt_try(mt_progress_step(progress, "reading the recording",
					mt_outfile_position(file), 0));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return mt_error_errno(errno, "cannot read %s", path);
		mt_try(check_beginning(&beginning, path, buffer, (size_t)count));
		if (count == 0)
			return mt_outfile_flush(file);
		mt_try(mt_outfile_write(file, buffer, (size_t)count));
	}
}

/* Replaces FD. */
static struct mt_error *spool(int *fd, const char *path, const struct mt_progress *progress)
{
	struct mt_outfile *file = NULL;
	struct mt_error *error = mt_outfile_create(NULL, &file);
	int copy = -1;

	if (!error)
		error = copy_pipe(*fd, path, progress, file);
	if (!error)
		error = mt_outfile_dup(file, &copy);
	mt_outfile_destroy(file);
	if (!error) {
		close(*fd);
		*fd = copy;
	}
	return error;
}

static struct mt_error *check_kind(int *fd, const char *path, const struct mt_progress *progress,
				   uint64_t *size)
{
	struct stat status;

	if (fstat(*fd, &status))
		return mt_error_errno(errno, "cannot read %s", path);
	if (S_ISDIR(status.st_mode))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s is a directory: recordings of perf record --threads cannot "
				    "be read; record again without it",
				    path);
	if (!S_ISREG(status.st_mode)) {
		mt_try(spool(fd, path, progress));
		if (fstat(*fd, &status))
			return mt_error_errno(errno, "cannot read %s", path);
	}
	*size = (uint64_t)status.st_size;
	return NULL;
}

static struct mt_error *take_record(void *context, const struct mt_perf_record *record)
{
	struct mt_recording *recording = context;
	enum mt_parsed parsed = mt_recording_take(recording, record);

	if (parsed == MT_NO_MEMORY)
		return mt_error_no_memory();
	recording->info.bad_records += parsed == MT_GARBLED;
	return NULL;
}

struct sort_key {
	uint64_t time_ns;
	size_t index;
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static bool is_sorted(const struct mt_recording *recording)
{
	for (size_t i = 1; i < recording->sideband.count; i++)
		if (recording->sideband.items[i].time_ns < recording->sideband.items[i - 1].time_ns)
			return false;
	return true;
}

/* The keys are sorted, not the records, since qsort() alone is not stable. */
static struct mt_error *sort_sideband(struct mt_recording *recording)
{
	size_t count = recording->sideband.count;

	if (is_sorted(recording))
		return NULL;
	struct sort_key *keys = calloc(count, sizeof(*keys));
	struct mt_sideband *sorted = calloc(count, sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return mt_error_no_memory();
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){recording->sideband.items[i].time_ns, i};
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		sorted[i] = recording->sideband.items[keys[i].index];
	free(keys);
	free(recording->sideband.items);
	recording->sideband.items = sorted;
	recording->sideband.capacity = count;
	return NULL;
}

/* Where the recording does not tell. */
static struct mt_error *name_events(struct mt_recording *recording)
{
	mt_array_each (attr, &recording->attrs) {
		char name[64];

		if (attr->name)
			continue;
		snprintf(name, sizeof(name), "type %u, config 0x%llx", attr->attr.type,
			 (unsigned long long)attr->attr.config);
		attr->name = mt_arena_text(&recording->arena, name, sizeof(name));
		if (!attr->name)
			return mt_error_no_memory();
	}
	return NULL;
}

static struct mt_error *read_all(struct mt_recording *recording, const struct mt_progress *progress)
{
	struct mt_perf_walk_result result;

	mt_try(mt_recording_read_header(recording));
	mt_try(mt_recording_read_features(recording));
	mt_try(mt_recording_walk(recording, progress, take_record, recording, &result));
	recording->info.bad_records += result.bad_records;
	recording->info.is_truncated |= result.is_truncated;
	mt_recording_conclude_pt(recording);
	mt_recording_spread_build_ids(recording);
	mt_try(name_events(recording));
	return sort_sideband(recording);
}

static struct mt_error *open_kept(struct mt_recording *recording, int fd, const char *path,
				  const struct mt_progress *progress)
{
	recording->fd = fd;
	recording->info.path = mt_arena_text(&recording->arena, path, strlen(path));
	if (!recording->info.path)
		return mt_error_no_memory();
	mt_try(check_kind(&recording->fd, path, progress, &recording->file_size));
	return read_all(recording, progress);
}

struct mt_error *mt_recording_open_fd(int fd, const char *path, const struct mt_progress *progress,
				      struct mt_recording **out)
{
	struct mt_recording *recording = calloc(1, sizeof(*recording));

	*out = NULL;
	if (!recording) {
		close(fd);
		return mt_error_no_memory();
	}
	struct mt_error *error = open_kept(recording, fd, path, progress);
	if (error) {
		mt_recording_close(recording);
		return error;
	}
	*out = recording;
	return NULL;
}

struct mt_error *mt_recording_open(const char *path, const struct mt_progress *progress,
				   struct mt_recording **out)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd =
	    is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);

	*out = NULL;
	if (is_stdin)
		path = "standard input";
	if (fd < 0)
		return mt_error_at_path(mt_error_errno(errno, "cannot open the recording %s", path),
					path, -1);
	return mt_recording_open_fd(fd, path, progress, out);
}

void mt_recording_close(struct mt_recording *recording)
{
	if (!recording)
		return;
	close(recording->fd);
	mt_arena_deinit(&recording->arena);
	mt_array_deinit(&recording->attrs);
	mt_array_deinit(&recording->ids);
	mt_array_deinit(&recording->build_ids);
	mt_array_deinit(&recording->auxtraces);
	mt_array_deinit(&recording->sideband);
	mt_recording_forget_calls(recording);
	free(recording);
}

const struct mt_recording_info *mt_recording_info(const struct mt_recording *recording)
{
	return &recording->info;
}

const struct mt_recording_pt *mt_recording_pt(const struct mt_recording *recording)
{
	return &recording->pt;
}

size_t mt_recording_auxtrace_count(const struct mt_recording *recording)
{
	return recording->auxtraces.count;
}

const struct mt_auxtrace *mt_recording_auxtrace(const struct mt_recording *recording, size_t index)
{
	return &recording->auxtraces.items[index];
}

size_t mt_recording_sideband_count(const struct mt_recording *recording)
{
	return recording->sideband.count;
}

const struct mt_sideband *mt_recording_sideband(const struct mt_recording *recording)
{
	return recording->sideband.items;
}

const char *mt_recording_event_name(const struct mt_recording *recording, uint32_t index)
{
	return index < recording->attrs.count ? recording->attrs.items[index].name : NULL;
}

static uint64_t page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

struct mt_error *mt_recording_map_aux(const struct mt_recording *recording, size_t index,
				      uint64_t offset, uint64_t size, const uint8_t **bytes)
{
	const struct mt_auxtrace *piece = mt_recording_auxtrace(recording, index);
	uint64_t start = piece->file_offset + offset;
	uint64_t slack = start & page_mask();

	*bytes = NULL;
	if (offset > piece->size || size > piece->size - offset || size == 0)
		return mt_recording_garbled(recording, start, "AUX data beyond its end");
	uint8_t *mapped =
	    mmap(NULL, size + slack, PROT_READ, MAP_PRIVATE, recording->fd, (off_t)(start - slack));
	if (mapped == MAP_FAILED)
		return mt_error_at_path(mt_error_errno(errno, "cannot map %llu bytes of %s",
						       (unsigned long long)size,
						       recording->info.path),
					recording->info.path, (int64_t)start);
	*bytes = mapped + slack;
	return NULL;
}

void mt_recording_unmap_aux(const uint8_t *bytes, uint64_t size)
{
	uint64_t slack = (uintptr_t)bytes & page_mask();

	if (bytes)
		munmap((void *)((uintptr_t)bytes - slack), size + slack);
}

struct each {
	struct mt_error *(*record)(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				   uint64_t size, const char *name);
	void *context;
};

static struct mt_error *tell_record(void *context, const struct mt_perf_record *record)
{
	const struct each *each = context;
	const struct perf_event_header *header = &record->header;
	const char *name = mt_perf_record_name(header->type);

	return each->record(each->context, record->offset, header->type, header->misc,
			    header->size + record->data_size, name ? name : "unknown");
}

struct mt_error *
mt_recording_each_record(struct mt_recording *recording,
			 struct mt_error *(*record)(void *context, uint64_t offset, uint32_t type,
						    uint16_t misc, uint64_t size, const char *name),
			 void *context)
{
	struct each each = {record, context};
	struct mt_perf_walk_result result;

	return mt_recording_walk(recording, NULL, tell_record, &each, &result);
}
