/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file's header, and the attributes (events) with their ids. */
#include "perf/recording_private.h"

/* More are no honest recording; each may make the file's reader look at as many ids. */
#define ATTRS_MAX   65536
#define SECTION_MAX (64u << 20)

struct mt_error *mt_recording_check_magic(const char *path, const char *magic)
{
	if (memcmp(magic, MT_PERF_MAGIC, MT_PERF_MAGIC_SIZE) == 0)
		return NULL;
	if (memcmp(magic, MT_PERF_MAGIC_SWAPPED, MT_PERF_MAGIC_SIZE) == 0)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s was recorded on a big-endian machine; only recordings of "
				    "x86-64 can be read",
				    path);
	if (memcmp(magic, MT_PERF_MAGIC_OLD, MT_PERF_MAGIC_SIZE) == 0)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s has the format of perf before Linux 3.2; record it again with a newer perf",
		    path);
	return mt_error_new(MT_ERROR_FORMAT,
			    "%s is not a recording: it does not begin with \"" MT_PERF_MAGIC
			    "\" as those of perf record and mtdb run --record do",
			    path);
}

enum mt_parsed mt_recording_add_id(struct mt_recording *recording, uint64_t id, uint32_t attr)
{
	struct mt_perf_id entry = {id, attr};

	recording->ids_are_sorted = false;
	return mt_array_push(&recording->ids, entry) ? MT_NO_MEMORY : MT_PARSED;
}

static int compare_ids(const void *a, const void *b)
{
	const struct mt_perf_id *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

int64_t mt_recording_find_id(struct mt_recording *recording, uint64_t id)
{
	const struct mt_perf_id key = {.id = id};

	if (!recording->ids.count)
		return -1;
	if (!recording->ids_are_sorted) {
		qsort(recording->ids.items, recording->ids.count, sizeof(key), compare_ids);
		recording->ids_are_sorted = true;
	}
	const struct mt_perf_id *found =
	    bsearch(&key, recording->ids.items, recording->ids.count, sizeof(key), compare_ids);
	return found ? (int64_t)found->attr : -1;
}

enum mt_parsed mt_recording_add_attr(struct mt_recording *recording, struct mt_cursor *cursor)
{
	struct mt_cursor peek = *cursor;
	struct mt_perf_attr attr = {0};
	uint32_t index = (uint32_t)recording->attrs.count;

	mt_cursor_u32(&peek); /* the type */
	uint32_t size = mt_cursor_u32(&peek);
	if (size == 0)
		size = PERF_ATTR_SIZE_VER0;
	const uint8_t *bytes = mt_cursor_bytes(cursor, size);
	if (!bytes || size < PERF_ATTR_SIZE_VER0 || index >= ATTRS_MAX)
		return MT_GARBLED;
	memcpy(&attr.attr, bytes, size < sizeof(attr.attr) ? size : sizeof(attr.attr));
	if (mt_array_push(&recording->attrs, attr))
		return MT_NO_MEMORY;
	while (mt_cursor_left(cursor) >= sizeof(uint64_t))
		if (mt_recording_add_id(recording, mt_cursor_u64(cursor), index) != MT_PARSED)
			return MT_NO_MEMORY;
	return MT_PARSED;
}

/* A piece of the file that is small in honest files, for free(). */
static struct mt_error *read_section(const struct mt_recording *recording,
				     struct mt_perf_section section, const char *what,
				     uint8_t **bytes)
{
	size_t count = 0;

	*bytes = NULL;
	if (section.offset > recording->file_size ||
	    section.size > recording->file_size - section.offset || section.size > SECTION_MAX)
		return mt_recording_garbled(recording, section.offset, what);
	*bytes = malloc(section.size + 1);
	if (!*bytes)
		return mt_error_no_memory();
	struct mt_error *error =
	    mt_recording_read(recording, *bytes, section.size, section.offset, &count);
	if (!error && count < section.size)
		error = mt_recording_garbled(recording, section.offset, what);
	if (error)
		free(*bytes);
	return error;
}

/* One entry of the table of attributes: as large as the file says, the ids' section at its end. */
static struct mt_error *read_attr(struct mt_recording *recording, const uint8_t *bytes, size_t size,
				  uint64_t offset)
{
	static const char what[] = "the ids of its events";
	struct mt_perf_section ids;
	struct mt_cursor cursor = mt_cursor_over(bytes, size - sizeof(ids));
	uint32_t index = (uint32_t)recording->attrs.count;
	struct mt_error *error = NULL;
	uint8_t *id_bytes = NULL;

	memcpy(&ids, bytes + size - sizeof(ids), sizeof(ids));
	/* The ids stand elsewhere: what is left of the entry is no id. */
	uint32_t attr_size;
	memcpy(&attr_size, bytes + offsetof(struct perf_event_attr, size), sizeof(attr_size));
	if (attr_size && attr_size < mt_cursor_left(&cursor))
		cursor.end = cursor.at + attr_size;

	enum mt_parsed parsed = mt_recording_add_attr(recording, &cursor);
	if (parsed == MT_NO_MEMORY)
		return mt_error_no_memory();
	if (parsed != MT_PARSED)
		return mt_recording_garbled(recording, offset, "an event's attributes");
	mt_try(read_section(recording, ids, what, &id_bytes));
	cursor = mt_cursor_over(id_bytes, ids.size);
	while (!error && mt_cursor_left(&cursor) >= sizeof(uint64_t))
		if (mt_recording_add_id(recording, mt_cursor_u64(&cursor), index) != MT_PARSED)
			error = mt_error_no_memory();
	free(id_bytes);
	return error;
}

static struct mt_error *read_attrs(struct mt_recording *recording,
				   const struct mt_perf_header *header)
{
	uint64_t size = header->attr_size;
	struct mt_error *error = NULL;
	uint8_t *bytes = NULL;

	if (size < PERF_ATTR_SIZE_VER0 + sizeof(struct mt_perf_section))
		return mt_recording_garbled(recording, offsetof(struct mt_perf_header, attr_size),
					    "the size of its events' attributes");
	mt_try(read_section(recording, header->attrs, "the events' attributes", &bytes));
	for (uint64_t at = 0; !error && header->attrs.size - at >= size; at += size)
		error = read_attr(recording, bytes + at, size, header->attrs.offset + at);
	free(bytes);
	return error;
}

struct mt_error *mt_recording_read_header(struct mt_recording *recording)
{
	struct mt_perf_header header = {0};
	size_t count = 0;

	mt_try(mt_recording_read(recording, &header, sizeof(header), 0, &count));
	mt_try(mt_recording_check_magic(recording->info.path, header.magic));
	if (count >= MT_PERF_PIPE_HEADER_SIZE && header.size == MT_PERF_PIPE_HEADER_SIZE) {
		recording->info.is_pipe = true;
		recording->data_offset = MT_PERF_PIPE_HEADER_SIZE;
		recording->data_end = recording->file_size;
		return NULL;
	}
	if (count < sizeof(header))
		return mt_recording_garbled(recording, count, "its header, which ends early");
	mt_try(read_attrs(recording, &header));
	recording->data_offset = header.data.offset;
	if (recording->data_offset < sizeof(header))
		return mt_recording_garbled(recording, offsetof(struct mt_perf_header, data),
					    "the offset of its data");
	if (recording->data_offset > recording->file_size)
		recording->data_offset = recording->file_size;
	if (header.data.size == 0 ||
	    header.data.size > recording->file_size - recording->data_offset) {
		recording->info.is_truncated = true;
		recording->data_end = recording->file_size;
		return NULL;
	}
	recording->data_end = recording->data_offset + header.data.size;
	memcpy(recording->features, header.features, sizeof(recording->features));
	return NULL;
}
