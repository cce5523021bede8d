/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The features behind the data: what `perf report --header-only` shows, and what perf needs to find
 * the AUX data (AUXTRACE). */
#include "perf/writer_private.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* perf_header_string: its length with the NUL and the padding, then the text. */
static void put_string(struct mt_str *block, const char *text)
{
	size_t size = strlen(text) + 1;
	size_t padded = (size + MT_PERF_ALIGNMENT - 1) & ~(size_t)(MT_PERF_ALIGNMENT - 1);
	static const char zeros[MT_PERF_ALIGNMENT];

	mt_block_put_u32(block, (uint32_t)padded);
	mt_block_put(block, text, size);
	mt_block_put(block, zeros, padded - size);
}

static void put_build_ids(const struct mt_recording_writer *writer, struct mt_str *block)
{
	mt_array_each (build_id, &writer->build_ids) {
		struct perf_event_header header = {
		    .misc = MT_PERF_MISC_BUILD_ID_SIZE |
			    (build_id->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER),
		};
		uint8_t bytes[24] = {0};
		size_t start = block->length;

		memcpy(bytes, build_id->bytes, build_id->size);
		bytes[MT_PERF_BUILD_ID_SIZE] = build_id->size;
		mt_block_put(block, &header, sizeof(header));
		mt_block_put_u32(block, (uint32_t)build_id->pid);
		mt_block_put(block, bytes, sizeof(bytes));
		mt_block_put_text(block, build_id->path);
		mt_block_end_record(block, start);
	}
}

static void put_hostname(const struct mt_recording_writer *writer, struct mt_str *block)
{
	struct utsname names = {0};

	(void)writer;
	uname(&names);
	put_string(block, names.nodename);
}

static void put_os_release(const struct mt_recording_writer *writer, struct mt_str *block)
{
	struct utsname names = {0};

	(void)writer;
	uname(&names);
	put_string(block, names.release);
}

static void put_version(const struct mt_recording_writer *writer, struct mt_str *block)
{
	(void)writer;
	put_string(block, "mtrace " MT_VERSION);
}

static void put_arch(const struct mt_recording_writer *writer, struct mt_str *block)
{
	(void)writer;
	put_string(block, "x86_64");
}

static void put_nr_cpus(const struct mt_recording_writer *writer, struct mt_str *block)
{
	(void)writer;
	mt_block_put_u32(block, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	mt_block_put_u32(block, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static void put_cpu_description(const struct mt_recording_writer *writer, struct mt_str *block)
{
	FILE *stream = fopen("/proc/cpuinfo", "re");
	char line[256], name[256] = "";

	(void)writer;
	while (stream && !*name && fgets(line, sizeof(line), stream))
		if (sscanf(line, "model name : %255[^\n]", name) != 1)
			*name = '\0';
	if (stream)
		fclose(stream);
	if (*name)
		put_string(block, name);
}

/* Of the processor whose packets these are; none where software made them, since its errata must
 * not be looked for in them. */
static void put_cpuid(const struct mt_recording_writer *writer, struct mt_str *block)
{
	const struct mt_recording_pt *pt = &writer->pt;
	char text[64];

	if (!pt->present || !pt->cpu_is_intel)
		return;
	snprintf(text, sizeof(text), "GenuineIntel,%u,%u,%u", pt->cpu_family, pt->cpu_model,
		 pt->cpu_stepping);
	put_string(block, text);
}

static void put_command(const struct mt_recording_writer *writer, struct mt_str *block)
{
	if (!writer->command.count)
		return;
	mt_block_put_u32(block, (uint32_t)writer->command.count);
	mt_array_each (word, &writer->command)
		put_string(block, *word);
}

static void put_event_descriptions(const struct mt_recording_writer *writer, struct mt_str *block)
{
	mt_block_put_u32(block, mt_writer_event_count(writer));
	mt_block_put_u32(block, sizeof(struct perf_event_attr));
	for (unsigned i = 0; i < mt_writer_event_count(writer); i++) {
		enum mt_writer_event event = mt_writer_event_at(writer, i);
		struct perf_event_attr attr = mt_writer_attr(writer, event);

		mt_block_put(block, &attr, sizeof(attr));
		mt_block_put_u32(block, 1);
		put_string(block, mt_writer_event_name(event));
		mt_block_put_u64(block, event + 1);
	}
}

/* perf wants the size of the record alone, without the AUX data behind it. */
static void put_auxtrace_index(const struct mt_recording_writer *writer, struct mt_str *block)
{
	if (!writer->pt.present)
		return;
	mt_block_put_u64(block, writer->auxtraces.count);
	mt_array_each (offset, &writer->auxtraces) {
		mt_block_put_u64(block, *offset);
		mt_block_put_u64(block, sizeof(struct mt_perf_auxtrace));
	}
}

static void put_sample_time(const struct mt_recording_writer *writer, struct mt_str *block)
{
	mt_block_put_u64(block, writer->first_time);
	mt_block_put_u64(block, writer->last_time);
}

/* In the order of their bits.  A feature that puts nothing is not there. */
static const struct {
	enum mt_perf_feature bit;
	void (*put)(const struct mt_recording_writer *, struct mt_str *);
} features[] = {
    {MT_PERF_FEATURE_BUILD_ID, put_build_ids},
    {MT_PERF_FEATURE_HOSTNAME, put_hostname},
    {MT_PERF_FEATURE_OSRELEASE, put_os_release},
    {MT_PERF_FEATURE_VERSION, put_version},
    {MT_PERF_FEATURE_ARCH, put_arch},
    {MT_PERF_FEATURE_NRCPUS, put_nr_cpus},
    {MT_PERF_FEATURE_CPUDESC, put_cpu_description},
    {MT_PERF_FEATURE_CPUID, put_cpuid},
    {MT_PERF_FEATURE_CMDLINE, put_command},
    {MT_PERF_FEATURE_EVENT_DESC, put_event_descriptions},
    {MT_PERF_FEATURE_AUXTRACE, put_auxtrace_index},
    {MT_PERF_FEATURE_SAMPLE_TIME, put_sample_time},
};
#define FEATURE_COUNT (sizeof(features) / sizeof(features[0]))

struct mt_error *mt_writer_put_features(struct mt_recording_writer *writer, uint64_t bits[4])
{
	uint64_t offset = mt_outfile_position(writer->file);
	mt_auto(mt_str) struct mt_str block = {0};
	size_t sizes[FEATURE_COUNT];

	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		size_t before = block.length;

		features[i].put(writer, &block);
		sizes[i] = block.length - before;
		if (!sizes[i])
			continue;
		bits[features[i].bit / 64] |= 1ull << features[i].bit % 64;
		offset += sizeof(struct mt_perf_section);
	}
	if (block.failed)
		return mt_error_no_memory();
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		struct mt_perf_section section = {offset, sizes[i]};

		if (sizes[i])
			mt_try(mt_outfile_write(writer->file, &section, sizeof(section)));
		offset += sizes[i];
	}
	return mt_outfile_write(writer->file, block.text, block.length);
}
