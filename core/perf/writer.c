/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file: header, ids and attributes; then the data, as it comes; then the features.  Until
 * finish() the header says "size 0" of the data, which is how perf marks a writer that died. */
#include "perf/recording_private.h"
#include "perf/writer_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES 65536
#define ENDING     "perf" /* of a file beside another */

static struct mt_error *put_attrs(struct mt_recording_writer *writer)
{
	uint64_t ids = sizeof(struct mt_perf_header);
	unsigned count = mt_writer_event_count(writer);

	for (unsigned i = 0; i < count; i++) {
		uint64_t id = mt_writer_event_at(writer, i) + 1u;

		mt_try(mt_outfile_write(writer->file, &id, sizeof(id)));
	}
	for (unsigned i = 0; i < count; i++) {
		struct perf_event_attr attr = mt_writer_attr(writer, mt_writer_event_at(writer, i));
		struct mt_perf_section section = {ids + i * sizeof(uint64_t), sizeof(uint64_t)};

		mt_try(mt_outfile_write(writer->file, &attr, sizeof(attr)));
		mt_try(mt_outfile_write(writer->file, &section, sizeof(section)));
	}
	return NULL;
}

static struct mt_perf_header make_header(const struct mt_recording_writer *writer)
{
	unsigned count = mt_writer_event_count(writer);
	size_t attr_size = sizeof(struct perf_event_attr) + sizeof(struct mt_perf_section);
	struct mt_perf_header header = {
	    .size = sizeof(header),
	    .attr_size = attr_size,
	    .attrs = {sizeof(header) + count * sizeof(uint64_t), count * attr_size},
	    .data = {.offset = writer->data_offset},
	};

	memcpy(header.magic, MT_PERF_MAGIC, sizeof(header.magic));
	return header;
}

/* Writes what was begun by mt_writer_begin(). */
static struct mt_error *put_record(struct mt_recording_writer *writer)
{
	mt_block_end_record(&writer->record, 0);
	if (writer->record.failed)
		return mt_error_no_memory();
	return mt_outfile_write(writer->file, writer->record.text, writer->record.length);
}

/* Once: before the AUX data, and in each whole recording. */
static struct mt_error *put_auxtrace_info(struct mt_recording_writer *writer)
{
	const struct mt_recording_pt *pt = &writer->pt;
	const uint64_t info[MT_PERF_PT_INFO_COUNT] = {
	    [MT_PERF_PT_PMU_TYPE] = MT_WRITER_PT_PMU_TYPE,
	    [MT_PERF_PT_TIME_SHIFT] = writer->conversion.shift,
	    [MT_PERF_PT_TIME_MULT] = writer->conversion.mult,
	    [MT_PERF_PT_TIME_ZERO] = writer->conversion.zero_ns,
	    [MT_PERF_PT_CAP_USER_TIME_ZERO] = mt_time_conversion_is_known(&writer->conversion),
	    [MT_PERF_PT_TSC_BIT] = MT_WRITER_PT_TSC,
	    [MT_PERF_PT_NORETCOMP_BIT] = MT_WRITER_PT_NORETCOMP,
	    [MT_PERF_PT_HAVE_SCHED_SWITCH] = pt->per_cpu ? 2 : 0,
	    [MT_PERF_PT_SNAPSHOT_MODE] = pt->snapshot,
	    [MT_PERF_PT_PER_CPU_MMAPS] = pt->per_cpu,
	    [MT_PERF_PT_MTC_BIT] = MT_WRITER_PT_MTC,
	    [MT_PERF_PT_MTC_FREQ_BITS] = 0xfu << MT_WRITER_PT_MTC_SHIFT,
	    [MT_PERF_PT_TSC_CTC_N] = pt->tsc_ctc_numerator,
	    [MT_PERF_PT_TSC_CTC_D] = pt->tsc_ctc_denominator,
	    [MT_PERF_PT_CYC_BIT] = MT_WRITER_PT_CYC,
	    [MT_PERF_PT_MAX_NONTURBO_RATIO] = pt->max_nonturbo_ratio,
	    [MT_PERF_PT_FILTER_STR_LEN] = writer->filter ? strlen(writer->filter) : 0,
	};

	if (!pt->present || writer->has_auxtrace_info)
		return NULL;
	writer->has_auxtrace_info = true;

	mt_writer_begin(writer, MT_PERF_RECORD_AUXTRACE_INFO, 0);
	mt_block_put_u32(&writer->record, MT_PERF_AUXTRACE_INTEL_PT);
	mt_block_put_u32(&writer->record, 0);
	mt_block_put(&writer->record, info, sizeof(info));
	if (writer->filter)
		mt_block_put_text(&writer->record, writer->filter);
	mt_block_put_u64(&writer->record, 0); /* no Event Trace */
	return put_record(writer);
}

/* The feature that names them stands at the file's end, which it may not come to. */
static struct mt_error *put_event_names(struct mt_recording_writer *writer)
{
	for (unsigned i = 0; i < mt_writer_event_count(writer); i++) {
		mt_writer_begin(writer, MT_PERF_RECORD_EVENT_UPDATE, 0);
		mt_block_put_u64(&writer->record, MT_PERF_EVENT_UPDATE_NAME);
		mt_block_put_u64(&writer->record, mt_writer_event_at(writer, i) + 1u);
		mt_block_put_text(&writer->record,
				  mt_writer_event_name(mt_writer_event_at(writer, i)));
		mt_try(put_record(writer));
	}
	return NULL;
}

static struct mt_error *put_start(struct mt_recording_writer *writer)
{
	struct mt_perf_header header = make_header(writer);

	writer->data_offset = header.attrs.offset + header.attrs.size;
	header.data.offset = writer->data_offset;
	mt_try(mt_outfile_write(writer->file, &header, sizeof(header)));
	mt_try(put_attrs(writer));
	if (mt_time_conversion_is_known(&writer->conversion)) {
		mt_writer_begin(writer, MT_PERF_RECORD_TIME_CONV, 0);
		mt_block_put_u64(&writer->record, writer->conversion.shift);
		mt_block_put_u64(&writer->record, writer->conversion.mult);
		mt_block_put_u64(&writer->record, writer->conversion.zero_ns);
		mt_block_put_u64(&writer->record, 0); /* cycles */
		mt_block_put_u64(&writer->record, 0); /* mask */
		mt_block_put_u64(&writer->record, 1); /* cap_user_time_zero, in its first byte */
		mt_try(put_record(writer));
	}
	if (!writer->pt.filtered)
		mt_try(put_auxtrace_info(writer));
	return put_event_names(writer);
}

static struct mt_error *add_word(struct mt_recording_writer *writer, const char *word)
{
	char *copy = strdup(word);

	if (copy && !mt_array_push(&writer->command, copy))
		return NULL;
	free(copy);
	return mt_error_no_memory();
}

static struct mt_error *add_build_id(struct mt_recording_writer *writer,
				     struct mt_writer_build_id build_id, const char *path)
{
	build_id.path = strdup(path);
	if (build_id.path && !mt_array_push(&writer->build_ids, build_id))
		return NULL;
	free(build_id.path);
	return mt_error_no_memory();
}

static struct mt_error *start(struct mt_recording_writer *writer, const char *path,
			      const struct mt_recording_writer_options *options)
{
	if (options->pt) {
		writer->pt = *options->pt;
		writer->pt.present = true;
	}
	writer->calls = options->calls;
	if (options->stacks)
		writer->stacks = *options->stacks;
	writer->conversion = options->conversion;
	for (const char *const *word = options->command; word && *word; word++)
		mt_try(add_word(writer, *word));
	writer->is_named = path;
	mt_try(!path && options->beside
		   ? mt_outfile_create_beside(options->beside, ENDING, &writer->file)
		   : mt_outfile_create(path, &writer->file));
	if (!mt_outfile_is_seekable(writer->file))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "cannot write a recording to %s: give a regular file",
				    mt_outfile_path(writer->file));
	mt_try(put_start(writer));
	writer->records_offset = mt_outfile_position(writer->file);
	return mt_outfile_flush(writer->file);
}

struct mt_error *mt_recording_writer_create(const char *path,
					    const struct mt_recording_writer_options *options,
					    struct mt_recording_writer **out)
{
	struct mt_recording_writer *writer = malloc(sizeof(*writer));

	*out = NULL;
	if (!writer)
		return mt_error_no_memory();
	memset(writer, 0, offsetof(struct mt_recording_writer, batch));
	struct mt_error *error = start(writer, path, options);
	if (error) {
		mt_recording_writer_destroy(writer);
		return error;
	}
	*out = writer;
	return NULL;
}

void mt_recording_writer_destroy(struct mt_recording_writer *writer)
{
	if (!writer)
		return;
	mt_outfile_destroy(writer->file);
	mt_str_deinit(&writer->record);
	free(writer->filter);
	mt_array_each (word, &writer->command)
		free(*word);
	mt_array_deinit(&writer->command);
	mt_array_deinit(&writer->auxtraces);
	mt_array_each (build_id, &writer->build_ids)
		free(build_id->path);
	mt_array_deinit(&writer->build_ids);
	free(writer);
}

struct mt_error *mt_recording_writer_set_filter(struct mt_recording_writer *writer,
						const char *text)
{
	if (writer->filter || writer->has_auxtrace_info)
		return NULL;
	writer->filter = strdup(text);
	return writer->filter ? NULL : mt_error_no_memory();
}

void mt_writer_note_time(struct mt_recording_writer *writer, uint64_t time_ns)
{
	if (!time_ns)
		return;
	if (!writer->first_time || time_ns < writer->first_time)
		writer->first_time = time_ns;
	if (time_ns > writer->last_time)
		writer->last_time = time_ns;
}

static bool is_sound(const struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	switch (record->kind) {
	case MT_SIDEBAND_MMAP:
		return record->mmap.path && record->mmap.build_id_size <= MT_PERF_BUILD_ID_SIZE;
	case MT_SIDEBAND_COMM:
		return record->comm.name;
	case MT_SIDEBAND_SAMPLE:
		return record->sample.event < MT_NOTE_COUNT;
	case MT_SIDEBAND_ITRACE_START:
	case MT_SIDEBAND_AUX:
		return writer->pt.present;
	default:
		return record->kind <= MT_SIDEBAND_SAMPLE;
	}
}

struct mt_error *mt_recording_writer_put(struct mt_recording_writer *writer,
					 const struct mt_sideband *record)
{
	if (!is_sound(writer, record))
		return mt_error_new(MT_ERROR_INTERNAL,
				    "a record of kind %u that no recording can hold", record->kind);
	if (record->kind == MT_SIDEBAND_MMAP && record->mmap.build_id_size) {
		struct mt_writer_build_id build_id = {
		    .pid = record->mmap.kernel ? -1 : record->pid,
		    .kernel = record->mmap.kernel,
		    .size = record->mmap.build_id_size,
		};
		bool is_known = false;

		memcpy(build_id.bytes, record->mmap.build_id, build_id.size);
		mt_array_each (known, &writer->build_ids)
			is_known = is_known || strcmp(known->path, record->mmap.path) == 0;
		if (!is_known)
			mt_try(add_build_id(writer, build_id, record->mmap.path));
	}
	if (record->kind == MT_SIDEBAND_AUX)
		mt_try(put_auxtrace_info(writer));
	mt_writer_note_time(writer, record->time_ns);
	mt_writer_encode(writer, record);
	return put_record(writer);
}

struct mt_error *mt_recording_writer_put_stack(struct mt_recording_writer *writer,
					       enum mt_recording_stack kind,
					       const struct perf_event_header *sample,
					       uint64_t time_ns)
{
	const uint64_t id = MT_WRITER_FIRST_STACK + kind + 1;

	if (!writer->stacks.size || sample->size < MT_WRITER_STACK_TIME + sizeof(time_ns))
		return mt_error_new(MT_ERROR_INTERNAL,
				    "a sample of a stack that this recording cannot hold");
	mt_str_clear(&writer->record);
	mt_block_put(&writer->record, sample, sample->size);
	if (writer->record.failed)
		return mt_error_no_memory();
	memcpy(writer->record.text + MT_WRITER_STACK_ID, &id, sizeof(id));
	memcpy(writer->record.text + MT_WRITER_STACK_TIME, &time_ns, sizeof(time_ns));
	mt_writer_note_time(writer, time_ns);
	return put_record(writer);
}

struct mt_error *mt_recording_writer_put_aux_parts(struct mt_recording_writer *writer,
						   const struct mt_auxtrace *piece,
						   const uint8_t *const parts[2],
						   const size_t part_bytes[2])
{
	static const uint8_t padding[MT_PERF_ALIGNMENT];
	size_t pad = (MT_PERF_ALIGNMENT - piece->size % MT_PERF_ALIGNMENT) % MT_PERF_ALIGNMENT;
	struct mt_perf_auxtrace record = {
	    .header = {.type = MT_PERF_RECORD_AUXTRACE, .size = sizeof(record)},
	    .size = piece->size + pad,
	    .offset = piece->offset,
	    .reference = piece->reference,
	    .idx = piece->idx,
	    .tid = (uint32_t)piece->tid,
	    .cpu = (uint32_t)piece->cpu,
	};

	mt_try(put_auxtrace_info(writer));
	if (mt_array_push(&writer->auxtraces, mt_outfile_position(writer->file)))
		return mt_error_no_memory();
	mt_try(mt_outfile_write(writer->file, &record, sizeof(record)));
	for (int i = 0; i < 2; i++)
		mt_try(mt_outfile_write(writer->file, parts[i], part_bytes[i]));
	return mt_outfile_write(writer->file, padding, pad);
}

struct mt_error *mt_recording_writer_put_aux(struct mt_recording_writer *writer,
					     const struct mt_auxtrace *piece, const uint8_t *bytes)
{
	const uint8_t *const parts[2] = {bytes, bytes};
	const size_t part_bytes[2] = {piece->size, 0};

	return mt_recording_writer_put_aux_parts(writer, piece, parts, part_bytes);
}

/* Features stand behind the data, of which more will come. */
struct mt_error *mt_recording_writer_keep(struct mt_recording_writer *writer)
{
	struct mt_perf_header header = make_header(writer);

	mt_try(put_auxtrace_info(writer));
	header.data.size = mt_outfile_position(writer->file) - writer->data_offset;
	mt_try(mt_outfile_pwrite(writer->file, &header, sizeof(header), 0));
	mt_outfile_keep(writer->file);
	writer->is_kept = true;
	return NULL;
}

bool mt_recording_writer_has_failed(const struct mt_recording_writer *writer)
{
	return mt_outfile_has_failed(writer->file);
}

uint64_t mt_recording_writer_bytes(const struct mt_recording_writer *writer)
{
	return mt_outfile_position(writer->file);
}

struct mt_error *mt_recording_writer_free_bytes(const struct mt_recording_writer *writer,
						uint64_t *free_bytes)
{
	return mt_outfile_free_bytes(writer->file, free_bytes);
}

void mt_recording_writer_drop(struct mt_recording_writer *writer)
{
	mt_outfile_drop(writer->file);
	writer->is_kept = false;
}

const char *mt_recording_writer_kept(const struct mt_recording_writer *writer)
{
	return writer->is_kept ? mt_outfile_place(writer->file) : NULL;
}

struct mt_error *mt_recording_writer_finish(struct mt_recording_writer *writer)
{
	struct mt_perf_header header = make_header(writer);

	mt_try(put_auxtrace_info(writer));
	header.data.size = mt_outfile_position(writer->file) - writer->data_offset;
	mt_try(mt_writer_put_features(writer, header.features));
	mt_try(mt_outfile_pwrite(writer->file, &header, sizeof(header), 0));
	mt_try(mt_outfile_commit(writer->file));
	writer->is_finished = true;
	return NULL;
}

struct mt_error *mt_recording_writer_reopen(struct mt_recording_writer *writer,
					    struct mt_recording **out)
{
	int fd = -1;

	*out = NULL;
	if (!writer->is_finished)
		return mt_error_new(MT_ERROR_INTERNAL, "the recording %s is not finished",
				    mt_outfile_path(writer->file));
	mt_try(mt_outfile_dup(writer->file, &fd));
	return mt_recording_open_fd(
	    fd, writer->is_named ? mt_outfile_path(writer->file) : "the recording", NULL, out);
}

/* All of FROM behind AT. */
static struct mt_error *copy_bytes(struct mt_outfile *from, uint64_t at, struct mt_outfile *to)
{
	const uint64_t end = mt_outfile_position(from);
	struct mt_error *error = NULL;
	char bytes[COPY_BYTES];
	int fd = -1;

	mt_try(mt_outfile_dup(from, &fd));
	while (!error && at < end) {
		ssize_t got = pread(fd, bytes, end - at < sizeof(bytes) ? end - at : sizeof(bytes),
				    (off_t)at);

		if (got <= 0)
			error = mt_error_errno(got ? errno : EIO, "cannot read %s",
					       mt_outfile_path(from));
		else
			error = mt_outfile_write(to, bytes, (size_t)got);
		at += (uint64_t)got;
	}
	close(fd);
	return error;
}

struct mt_error *mt_recording_writer_rescue(struct mt_recording_writer *writer)
{
	const char *directory = getenv("TMPDIR");
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_outfile *copy = NULL;

	mt_str_appendf(&path, "%s/mtrace", directory && *directory ? directory : "/tmp");
	if (path.failed)
		return mt_error_no_memory();
	mt_try(mt_outfile_create_beside(path.text, ENDING, &copy));
	struct mt_error *error = copy_bytes(writer->file, 0, copy);
	if (!error)
		error = mt_outfile_flush(copy);
	if (error) {
		mt_outfile_destroy(copy);
		return error;
	}
	mt_outfile_keep(copy);
	mt_outfile_destroy(writer->file);
	writer->file = copy;
	return NULL;
}

/* Both begin alike, so that what stands behind has the same offset in both. */
static struct mt_error *copy_all(struct mt_recording_writer *from, struct mt_recording_writer *to)
{
	mt_array_each (word, &from->command)
		mt_try(add_word(to, *word));
	mt_array_each (offset, &from->auxtraces)
		if (mt_array_push(&to->auxtraces, *offset))
			return mt_error_no_memory();
	mt_array_each (known, &from->build_ids)
		mt_try(add_build_id(to, *known, known->path));
	if (from->filter)
		mt_try(mt_recording_writer_set_filter(to, from->filter));
	to->has_auxtrace_info = from->has_auxtrace_info;
	to->first_time = from->first_time;
	to->last_time = from->last_time;
	return copy_bytes(from->file, from->records_offset, to->file);
}

struct mt_error *mt_recording_writer_copy(struct mt_recording_writer *writer, const char *path,
					  struct mt_recording_writer **out)
{
	const struct mt_recording_writer_options options = {
	    .pt = writer->pt.present ? &writer->pt : NULL,
	    .calls = writer->calls,
	    .stacks = writer->stacks.size ? &writer->stacks : NULL,
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
