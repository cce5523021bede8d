/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features: what the recording's machine was, what its events are called, which files had which
 * build id.  In a file they stand behind the data, in a pipe among the records. */
#include "base/str.h"
#include "perf/recording_private.h"

#include <stdio.h>

#define FEATURE_SIZE_MAX (64u << 20)

static enum mt_parsed keep_text(struct mt_recording *recording, const char *text, size_t max,
				const char **kept)
{
	*kept = mt_arena_text(&recording->arena, text, max);
	return *kept ? MT_PARSED : MT_NO_MEMORY;
}

/* perf_header_string: lent, *SIZE at the most, maybe without a NUL. */
static const char *read_string(struct mt_cursor *cursor, size_t *size)
{
	*size = mt_cursor_u32(cursor);
	return (const char *)mt_cursor_bytes(cursor, *size);
}

static enum mt_parsed parse_string(struct mt_recording *recording, struct mt_cursor *cursor,
				   const char **kept)
{
	size_t size = 0;
	const char *text = read_string(cursor, &size);

	return text ? keep_text(recording, text, size, kept) : MT_GARBLED;
}

static enum mt_parsed parse_cpuid(struct mt_recording *recording, struct mt_cursor *cursor)
{
	struct mt_recording_pt *pt = &recording->pt;
	enum mt_parsed parsed = parse_string(recording, cursor, &recording->info.cpuid);
	unsigned family = 0, model = 0, stepping = 0;

	if (parsed == MT_PARSED && sscanf(recording->info.cpuid, "GenuineIntel,%5u,%5u,%5u",
					  &family, &model, &stepping) == 3) {
		pt->cpu_is_intel = true;
		pt->cpu_family = (uint16_t)family;
		pt->cpu_model = (uint8_t)model;
		pt->cpu_stepping = (uint8_t)stepping;
	}
	return parsed;
}

static enum mt_parsed parse_command(struct mt_recording *recording, struct mt_cursor *cursor)
{
	mt_auto(mt_str) struct mt_str line = {0};
	uint32_t count = mt_cursor_u32(cursor);

	for (uint32_t i = 0; i < count; i++) {
		size_t size = 0;
		const char *word = read_string(cursor, &size);

		if (!word)
			return MT_GARBLED;
		mt_str_appendf(&line, "%s%.*s", i ? " " : "", (int)strnlen(word, size), word);
	}
	if (line.failed)
		return MT_NO_MEMORY;
	if (!line.length)
		return MT_IGNORED;
	return keep_text(recording, line.text, line.length, &recording->info.cmdline);
}

/* Ids: where the table of attributes had none. */
static enum mt_parsed parse_description(struct mt_recording *recording, struct mt_cursor *cursor,
					uint32_t index, uint32_t attr_size, bool wants_ids)
{
	size_t size = 0;

	mt_cursor_bytes(cursor, attr_size);
	uint32_t id_count = mt_cursor_u32(cursor);
	const char *name = read_string(cursor, &size);
	const uint8_t *ids = mt_cursor_bytes(cursor, id_count * (uint64_t)sizeof(uint64_t));
	if (!name || !ids)
		return MT_GARBLED;
	if (index >= recording->attrs.count)
		return MT_IGNORED;
	struct mt_cursor id_cursor = mt_cursor_over(ids, id_count * sizeof(uint64_t));
	while (wants_ids && mt_cursor_left(&id_cursor))
		if (mt_recording_add_id(recording, mt_cursor_u64(&id_cursor), index) != MT_PARSED)
			return MT_NO_MEMORY;
	return keep_text(recording, name, size, &recording->attrs.items[index].name);
}

static enum mt_parsed parse_descriptions(struct mt_recording *recording, struct mt_cursor *cursor)
{
	uint32_t count = mt_cursor_u32(cursor);
	uint32_t attr_size = mt_cursor_u32(cursor);
	bool wants_ids = recording->ids.count == 0;
	enum mt_parsed parsed = cursor->failed ? MT_GARBLED : MT_PARSED;

	for (uint32_t i = 0; i < count && parsed == MT_PARSED; i++)
		parsed = parse_description(recording, cursor, i, attr_size, wants_ids);
	return parsed;
}

enum mt_parsed mt_recording_add_build_id(struct mt_recording *recording, uint16_t misc,
					 struct mt_cursor *cursor)
{
	struct mt_perf_build_id build_id = {.size = MT_PERF_BUILD_ID_SIZE};
	uint8_t bytes[24];

	mt_cursor_u32(cursor); /* the process; files are the same for all */
	mt_cursor_copy(cursor, bytes, sizeof(bytes));
	if (cursor->failed || !mt_cursor_left(cursor))
		return MT_GARBLED;
	if (misc & MT_PERF_MISC_BUILD_ID_SIZE)
		build_id.size = bytes[MT_PERF_BUILD_ID_SIZE];
	if (build_id.size > MT_PERF_BUILD_ID_SIZE)
		return MT_GARBLED;
	memcpy(build_id.bytes, bytes, build_id.size);
	if (keep_text(recording, (const char *)cursor->at, mt_cursor_left(cursor),
		      &build_id.path) != MT_PARSED ||
	    mt_array_push(&recording->build_ids, build_id))
		return MT_NO_MEMORY;
	return MT_PARSED;
}

static enum mt_parsed parse_build_ids(struct mt_recording *recording, struct mt_cursor *cursor)
{
	enum mt_parsed parsed = MT_PARSED;

	while (parsed == MT_PARSED && mt_cursor_left(cursor)) {
		struct perf_event_header header;

		mt_cursor_copy(cursor, &header, sizeof(header));
		if (header.size < sizeof(header))
			return MT_GARBLED;
		size_t size = header.size - sizeof(header);
		const uint8_t *bytes = mt_cursor_bytes(cursor, size);
		if (!bytes)
			return MT_GARBLED;
		struct mt_cursor body = mt_cursor_over(bytes, size);
		parsed = mt_recording_add_build_id(recording, header.misc, &body);
	}
	return parsed;
}

enum mt_parsed mt_recording_parse_feature(struct mt_recording *recording, uint64_t feature,
					  struct mt_cursor *cursor)
{
	switch (feature) {
	case MT_PERF_FEATURE_BUILD_ID:
		return parse_build_ids(recording, cursor);
	case MT_PERF_FEATURE_HOSTNAME:
		return parse_string(recording, cursor, &recording->info.hostname);
	case MT_PERF_FEATURE_OSRELEASE:
		return parse_string(recording, cursor, &recording->info.os_release);
	case MT_PERF_FEATURE_CPUID:
		return parse_cpuid(recording, cursor);
	case MT_PERF_FEATURE_CMDLINE:
		return parse_command(recording, cursor);
	case MT_PERF_FEATURE_EVENT_DESC:
		return parse_descriptions(recording, cursor);
	default:
		return MT_IGNORED;
	}
}

static struct mt_error *read_feature(struct mt_recording *recording, uint64_t feature,
				     struct mt_perf_section section)
{
	size_t count = 0;

	if (section.offset > recording->file_size || section.size > FEATURE_SIZE_MAX ||
	    section.size > recording->file_size - section.offset) {
		recording->info.is_truncated = true;
		return NULL;
	}
	uint8_t *bytes = malloc(section.size + 1);
	if (!bytes)
		return mt_error_no_memory();
	struct mt_error *error =
	    mt_recording_read(recording, bytes, section.size, section.offset, &count);
	struct mt_cursor cursor = mt_cursor_over(bytes, count);
	enum mt_parsed parsed =
	    error ? MT_IGNORED : mt_recording_parse_feature(recording, feature, &cursor);
	free(bytes);
	if (parsed == MT_NO_MEMORY)
		return mt_error_no_memory();
	recording->info.bad_records += parsed == MT_GARBLED;
	return error;
}

struct mt_error *mt_recording_read_features(struct mt_recording *recording)
{
	uint64_t offset = recording->data_end;

	if (recording->features[0] & 1u << MT_PERF_FEATURE_DIR_FORMAT && !recording->is_directory)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s is one file of a directory made by perf record --threads or "
		    "--kcore; open the directory",
		    recording->info.path);
	for (unsigned bit = 0; bit < MT_PERF_FEATURE_COUNT; bit++) {
		struct mt_perf_section section = {0};
		size_t count = 0;

		if (!(recording->features[bit / 64] & 1ull << bit % 64))
			continue;
		mt_try(mt_recording_read(recording, &section, sizeof(section), offset, &count));
		if (count < sizeof(section)) {
			recording->info.is_truncated = true;
			return NULL;
		}
		mt_try(read_feature(recording, bit, section));
		offset += sizeof(section);
	}
	return NULL;
}

static int compare_build_ids(const void *a, const void *b)
{
	const struct mt_perf_build_id *left = a, *right = b;

	return strcmp(left->path, right->path);
}

/* The kernel's mapping is named after the symbol that its addresses count from:
 * "[kernel.kallsyms]_text". */
static void find_build_id(struct mt_recording *recording, struct mt_sideband *record)
{
	struct mt_perf_build_id key = {.path = record->mmap.path};
	const char *end = record->mmap.kernel ? strchr(record->mmap.path, ']') : NULL;
	char name[64];

	if (end && end[1] && end - record->mmap.path < (ptrdiff_t)sizeof(name) - 1) {
		snprintf(name, sizeof(name), "%.*s", (int)(end + 1 - record->mmap.path),
			 record->mmap.path);
		key.path = name;
	}
	const struct mt_perf_build_id *found =
	    bsearch(&key, recording->build_ids.items, recording->build_ids.count, sizeof(key),
		    compare_build_ids);
	if (found) {
		record->mmap.build_id_size = found->size;
		memcpy(record->mmap.build_id, found->bytes, found->size);
	}
}

void mt_recording_spread_build_ids(struct mt_recording *recording)
{
	if (!recording->build_ids.count)
		return;
	qsort(recording->build_ids.items, recording->build_ids.count,
	      sizeof(*recording->build_ids.items), compare_build_ids);
	mt_array_each (record, &recording->sideband)
		if (record->kind == MT_SIDEBAND_MMAP && !record->mmap.build_id_size)
			find_build_id(recording, record);
}

void mt_recording_conclude_pt(struct mt_recording *recording)
{
	const uint64_t *info = recording->pt_info;
	uint64_t mtc_bits = info[MT_PERF_PT_MTC_FREQ_BITS];
	struct mt_recording_pt *pt = &recording->pt;

	recording->info.conversion = recording->time_conv;
	if (!recording->has_pt_info)
		return;
	pt->present = true;
	pt->per_cpu = info[MT_PERF_PT_PER_CPU_MMAPS];
	pt->snapshot = info[MT_PERF_PT_SNAPSHOT_MODE];
	pt->filtered = info[MT_PERF_PT_FILTER_STR_LEN];
	pt->max_nonturbo_ratio = (uint8_t)info[MT_PERF_PT_MAX_NONTURBO_RATIO];
	pt->tsc_ctc_numerator = (uint32_t)info[MT_PERF_PT_TSC_CTC_N];
	pt->tsc_ctc_denominator = (uint32_t)info[MT_PERF_PT_TSC_CTC_D];
	mt_array_each (one, &recording->attrs) {
		uint64_t config = one->attr.config;

		if (one->attr.type != info[MT_PERF_PT_PMU_TYPE])
			continue;
		pt->tsc = config & info[MT_PERF_PT_TSC_BIT];
		pt->mtc = config & info[MT_PERF_PT_MTC_BIT];
		pt->cyc = config & info[MT_PERF_PT_CYC_BIT];
		pt->return_compression = !(config & info[MT_PERF_PT_NORETCOMP_BIT]);
		pt->kernel = !one->attr.exclude_kernel;
		if (mtc_bits)
			pt->mtc_period =
			    (uint8_t)((config & mtc_bits) >> __builtin_ctzll(mtc_bits));
		break;
	}
	if (info[MT_PERF_PT_CAP_USER_TIME_ZERO] && info[MT_PERF_PT_TIME_SHIFT] < 64)
		recording->info.conversion = (struct mt_time_conversion){
		    .shift = (uint16_t)info[MT_PERF_PT_TIME_SHIFT],
		    .mult = (uint32_t)info[MT_PERF_PT_TIME_MULT],
		    .zero_ns = info[MT_PERF_PT_TIME_ZERO],
		};
}
