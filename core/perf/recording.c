/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf/recording_private.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mt_error *mt_recording_garbled(const struct mt_recording *recording, uint64_t offset,
				      const char *what)
{
	return mt_error_at_path(
	    mt_error_new(MT_ERROR_FORMAT,
			 "%s is damaged at offset 0x%llx: cannot read %s; record it again",
			 recording->info.path, (unsigned long long)offset, what),
	    recording->info.path, (int64_t)offset);
}

static int fd_of(const struct mt_recording *recording, uint32_t part)
{
	return part ? recording->parts.items[part - 1].fd : recording->fd;
}

struct mt_error *mt_recording_read_part(const struct mt_recording *recording, uint32_t part,
					void *bytes, size_t size, uint64_t offset, size_t *count)
{
	const int fd = fd_of(recording, part);

	*count = 0;
	while (*count < size) {
		ssize_t got =
		    pread(fd, (uint8_t *)bytes + *count, size - *count, (off_t)(offset + *count));

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

struct mt_error *mt_recording_read(const struct mt_recording *recording, void *bytes, size_t size,
				   uint64_t offset, size_t *count)
{
	return mt_recording_read_part(recording, 0, bytes, size, offset, count);
}

/* A pipe is read once, AUX data is wanted later.  What is no recording may have no end, so its
 * beginning is looked at first. */
static struct mt_error *copy_pipe(int fd, const char *path, const struct mt_progress *progress,
				  struct mt_outfile *file)
{
	char magic[MT_PERF_MAGIC_SIZE] = "";
	uint8_t buffer[65536];
	size_t known = 0;

	for (;;) {
		ssize_t count = read(fd, buffer, sizeof(buffer));

		mt_try(mt_progress_step(progress, "reading the recording",
					mt_outfile_position(file), 0));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return mt_error_errno(errno, "cannot read %s", path);
		for (ssize_t i = 0; i < count && known < sizeof(magic); i++)
			magic[known++] = (char)buffer[i];
		if (!count || known == sizeof(magic))
			mt_try(mt_recording_check_magic(path, magic));
		if (count == 0)
			return mt_outfile_flush(file);
		mt_try(mt_outfile_write(file, buffer, (size_t)count));
	}
}

/* Copies what is no file into one, which replaces recording->fd. */
static struct mt_error *spool(struct mt_recording *recording, const struct mt_progress *progress)
{
	struct mt_outfile *file = NULL;
	struct mt_error *error = mt_outfile_create(NULL, &file);
	int copy = -1;

	if (!error)
		error = copy_pipe(recording->fd, recording->info.path, progress, file);
	if (!error)
		error = mt_outfile_dup(file, &copy);
	mt_outfile_destroy(file);
	if (!error) {
		close(recording->fd);
		recording->fd = copy;
	}
	return error;
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

static size_t take_run(void *context, uint64_t offset, const uint8_t *bytes, size_t size)
{
	return mt_recording_take_calls(context, offset, bytes, size);
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

/* The keys are sorted, not the records, since qsort() alone is not stable. */
static struct mt_error *sort_sideband(struct mt_recording *recording)
{
	size_t count = recording->sideband.count, sorted_count = 1;
	const struct mt_sideband *items = recording->sideband.items;

	while (sorted_count < count &&
	       items[sorted_count].time_ns >= items[sorted_count - 1].time_ns)
		sorted_count++;
	if (sorted_count >= count)
		return NULL;
	struct sort_key *keys = calloc(count, sizeof(*keys));
	struct mt_sideband *sorted = calloc(count, sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return mt_error_no_memory();
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){items[i].time_ns, i};
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		sorted[i] = items[keys[i].index];
	free(keys);
	free(recording->sideband.items);
	recording->sideband.items = sorted;
	recording->sideband.capacity = count;
	return NULL;
}

/* The files of a directory one after the other. */
static struct mt_error *walk_parts(struct mt_recording *recording,
				   const struct mt_progress *progress, mt_perf_visitor *visitor,
				   mt_perf_run_visitor *run_visitor, void *context,
				   struct mt_perf_walk_result *result)
{
	const int fd = recording->fd;
	const uint64_t data_offset = recording->data_offset, data_end = recording->data_end;
	struct mt_error *error =
	    mt_recording_walk(recording, progress, visitor, run_visitor, context, result);

	while (!error && recording->part < recording->parts.count) {
		const struct mt_recording_part *part = &recording->parts.items[recording->part++];
		struct mt_perf_walk_result more;

		recording->fd = part->fd;
		recording->data_offset = 0;
		recording->data_end = part->size;
		error =
		    mt_recording_walk(recording, progress, visitor, run_visitor, context, &more);
		result->bad_records += more.bad_records;
		result->is_truncated |= more.is_truncated;
	}
	recording->part = 0;
	recording->fd = fd;
	recording->data_offset = data_offset;
	recording->data_end = data_end;
	return error;
}

static struct mt_error *read_all(struct mt_recording *recording, const struct mt_progress *progress)
{
	struct mt_perf_walk_result result;

	mt_try(mt_recording_read_header(recording));
	mt_try(mt_recording_read_features(recording));
	mt_try(walk_parts(recording, progress, take_record, take_run, recording, &result));
	recording->info.bad_records += result.bad_records;
	recording->info.is_truncated |= result.is_truncated;
	mt_recording_conclude_pt(recording);
	mt_recording_spread_build_ids(recording);
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
	return sort_sideband(recording);
}

/* FD of NAME in the directory; -1: it is not there. */
static struct mt_error *open_in(const struct mt_recording *recording, int directory,
				const char *name, int *fd)
{
	*fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd >= 0 || errno == ENOENT)
		return NULL;
	return mt_error_at_path(
	    mt_error_errno(errno, "cannot open %s/%s", recording->info.path, name),
	    recording->info.path, -1);
}

/* perf record --threads has a file of records for each of its threads. */
static struct mt_error *open_parts(struct mt_recording *recording, int directory)
{
	for (unsigned int i = 0;; i++) {
		struct mt_recording_part part = {-1, 0};
		struct stat status;
		char name[32];

		snprintf(name, sizeof(name), "data.%u", i);
		mt_try(open_in(recording, directory, name, &part.fd));
		if (part.fd < 0)
			return NULL;
		bool is_file = fstat(part.fd, &status) == 0 && S_ISREG(status.st_mode);
		part.size = is_file ? (uint64_t)status.st_size : 0;
		if (mt_array_push(&recording->parts, part)) {
			close(part.fd);
			return mt_error_no_memory();
		}
	}
}

/* The directory's fd becomes that of its first file. */
static struct mt_error *open_directory(struct mt_recording *recording)
{
	static const char kcore[] = "kcore_dir";
	const char *path = recording->info.path;
	int directory = recording->fd, fd = -1;
	char name[PATH_MAX];

	mt_try(open_in(recording, directory, "data", &fd));
	if (fd < 0)
		return mt_error_at_path(
		    mt_error_new(MT_ERROR_FORMAT,
				 "%s is not a recording: it is a directory without a file "
				 "\"data\", which those of perf record have",
				 path),
		    path, -1);
	recording->fd = fd;
	recording->is_directory = true;
	struct mt_error *error = open_parts(recording, directory);
	int length = snprintf(name, sizeof(name), "%s/%s", path, kcore);
	if (!error && !faccessat(directory, kcore, R_OK | X_OK, 0) && length < (int)sizeof(name)) {
		recording->info.kcore_dir = mt_arena_text(&recording->arena, name, (size_t)length);
		error = recording->info.kcore_dir ? NULL : mt_error_no_memory();
	}
	close(directory);
	return error;
}

static struct mt_error *open_file(struct mt_recording *recording, const char *path,
				  const struct mt_progress *progress)
{
	struct stat status;

	recording->info.path = mt_arena_text(&recording->arena, path, strlen(path));
	if (!recording->info.path)
		return mt_error_no_memory();
	if (fstat(recording->fd, &status))
		return mt_error_errno(errno, "cannot read %s", path);
	if (S_ISDIR(status.st_mode)) {
		mt_try(open_directory(recording));
		if (fstat(recording->fd, &status))
			return mt_error_errno(errno, "cannot read %s", path);
	}
	if (!S_ISREG(status.st_mode)) {
		mt_try(spool(recording, progress));
		if (fstat(recording->fd, &status))
			return mt_error_errno(errno, "cannot read %s", path);
	}
	recording->file_size = (uint64_t)status.st_size;
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
	recording->fd = fd;
	struct mt_error *error = open_file(recording, path, progress);
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

struct mt_recording *mt_recording_share(struct mt_recording *recording)
{
	recording->sharers++;
	return recording;
}

void mt_recording_close(struct mt_recording *recording)
{
	if (!recording || recording->sharers) {
		if (recording)
			recording->sharers--;
		return;
	}
	close(recording->fd);
	mt_array_each (part, &recording->parts)
		close(part->fd);
	mt_array_deinit(&recording->parts);
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

size_t mt_recording_filter_count(const struct mt_recording *recording)
{
	return recording->filter_count;
}

const struct mt_recording_filter *mt_recording_filter(const struct mt_recording *recording,
						      size_t index)
{
	return &recording->filters[index];
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
				      uint64_t offset, uint64_t size, uint8_t **bytes)
{
	const struct mt_auxtrace *piece = mt_recording_auxtrace(recording, index);
	uint64_t start = piece->file_offset + offset;
	uint64_t slack = start & page_mask();
	int fd = fd_of(recording, piece->part);

	*bytes = NULL;
	if (offset > piece->size || size > piece->size - offset || size == 0)
		return mt_recording_garbled(recording, start, "AUX data beyond its end");
	uint8_t *mapped = mmap(NULL, size + slack, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_NORESERVE, fd, (off_t)(start - slack));
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

static struct mt_error *visit_record(void *context, const struct mt_perf_record *record)
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

	return walk_parts(recording, NULL, visit_record, NULL, &each, &result);
}
