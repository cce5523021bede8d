/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A second recording out of one that goes on: snapshots of a live session. */
#include "perf/writer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES 65536

/* Both begin alike, so that what stands behind has the same place in both. */
static struct mt_error *copy_records(struct mt_recording_writer *from,
				     struct mt_recording_writer *to)
{
	uint64_t at = from->records_offset, end = mt_outfile_position(from->file);
	char bytes[COPY_BYTES];
	ssize_t got = 0;
	int fd = -1;

	mt_try(mt_outfile_flush(from->file));
	mt_try(mt_outfile_dup(from->file, &fd));
	struct mt_error *error = NULL;
	while (!error && at < end) {
		got = pread(fd, bytes, end - at < sizeof(bytes) ? end - at : sizeof(bytes),
			    (off_t)at);
		if (got <= 0)
			error = mt_error_errno(got ? errno : EIO, "cannot read %s",
					       mt_outfile_path(from->file));
		else
			error = mt_outfile_write(to->file, bytes, (size_t)got);
		at += (uint64_t)got;
	}
	close(fd);
	return error;
}

static struct mt_error *copy_lists(const struct mt_recording_writer *from,
				   struct mt_recording_writer *to)
{
	mt_array_each (offset, &from->auxtraces)
		if (mt_array_push(&to->auxtraces, *offset))
			return mt_error_no_memory();
	mt_array_each (known, &from->build_ids) {
		struct mt_writer_build_id build_id = *known;

		build_id.path = strdup(known->path);
		if (!build_id.path || mt_array_push(&to->build_ids, build_id)) {
			free(build_id.path);
			return mt_error_no_memory();
		}
	}
	to->first_time = from->first_time;
	to->last_time = from->last_time;
	return NULL;
}

static struct mt_error *copy_command(const struct mt_recording_writer *from,
				     struct mt_recording_writer *to)
{
	mt_array_each (word, &from->command) {
		char *copy = strdup(*word);

		if (!copy || mt_array_push(&to->command, copy)) {
			free(copy);
			return mt_error_no_memory();
		}
	}
	return NULL;
}

static struct mt_error *copy_all(struct mt_recording_writer *from, struct mt_recording_writer *to)
{
	mt_try(copy_command(from, to));
	mt_try(copy_lists(from, to));
	return copy_records(from, to);
}

struct mt_error *mt_recording_writer_copy(struct mt_recording_writer *writer, const char *path,
					  struct mt_recording_writer **out)
{
	const struct mt_recording_writer_options options = {
	    .pt = writer->pt.present ? &writer->pt : NULL,
	    .calls = writer->calls,
	    .conversion = writer->conversion,
	};

	mt_try(mt_recording_writer_create(path, &options, out));
	struct mt_error *error = copy_all(writer, *out);
	if (error) {
		mt_recording_writer_destroy(*out);
		*out = NULL;
	}
	return error;
}
