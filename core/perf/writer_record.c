/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sideband record's bytes, as perf_event_open(2) lays them out. */
#include "perf/writer_private.h"

#include <limits.h>
#include <sys/mman.h>

#define TEXT_MAX       (PATH_MAX - 1)
#define MOST_RAW_BYTES 60000 /* of 16 bits for all of a record */

void mt_writer_begin(struct mt_recording_writer *writer, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	mt_str_clear(&writer->record);
	mt_block_put(&writer->record, &header, sizeof(header));
}

static void put_u32(struct mt_recording_writer *writer, uint32_t value)
{
	mt_block_put_u32(&writer->record, value);
}

static void put_u64(struct mt_recording_writer *writer, uint64_t value)
{
	mt_block_put_u64(&writer->record, value);
}

/* A path longer than the system's limit would not fit a record's 16 bits of size. */
static void put_text(struct mt_recording_writer *writer, const char *text)
{
	mt_block_put(&writer->record, text, strnlen(text, TEXT_MAX));
	mt_block_put_text(&writer->record, "");
}

static void put_pid_tid(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	put_u32(writer, (uint32_t)record->pid);
	put_u32(writer, (uint32_t)record->tid);
}

static void put_cpu(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	put_u32(writer, (uint32_t)record->cpu);
	put_u32(writer, 0);
}

/* struct sample_id, for MT_WRITER_SAMPLE_TYPE. */
static void put_sample_id(struct mt_recording_writer *writer, const struct mt_sideband *record,
			  enum mt_writer_event event)
{
	put_pid_tid(writer, record);
	put_u64(writer, record->time_ns);
	put_cpu(writer, record);
	put_u64(writer, event + 1);
}

static void put_tracked(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	put_sample_id(writer, record, MT_WRITER_TRACKING);
}

static void encode_mmap(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	uint16_t misc = record->mmap.kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	uint8_t build_id[24] = {record->mmap.build_id_size};

	if (record->mmap.build_id_size)
		memcpy(build_id + 4, record->mmap.build_id, MT_PERF_BUILD_ID_SIZE);
	if (!record->mmap.executable)
		misc |= PERF_RECORD_MISC_MMAP_DATA;
	if (record->mmap.build_id_size)
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	mt_writer_begin(writer, PERF_RECORD_MMAP2, misc);
	put_pid_tid(writer, record);
	put_u64(writer, record->mmap.start);
	put_u64(writer, record->mmap.length);
	put_u64(writer, record->mmap.offset);
	mt_block_put(&writer->record, build_id, sizeof(build_id));
	put_u32(writer, PROT_READ | (record->mmap.executable ? PROT_EXEC : 0));
	put_u32(writer, MAP_PRIVATE);
	put_text(writer, record->mmap.path);
	put_tracked(writer, record);
}

static void encode_comm(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	mt_writer_begin(writer, PERF_RECORD_COMM,
			record->comm.exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_pid_tid(writer, record);
	put_text(writer, record->comm.name);
	put_tracked(writer, record);
}

static void encode_fork(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	bool is_fork = record->kind == MT_SIDEBAND_FORK;

	mt_writer_begin(writer, is_fork ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
	put_u32(writer, (uint32_t)record->pid);
	put_u32(writer, (uint32_t)record->fork.parent_pid);
	put_u32(writer, (uint32_t)record->tid);
	put_u32(writer, (uint32_t)record->fork.parent_tid);
	put_u64(writer, record->time_ns);
	put_tracked(writer, record);
}

static void encode_switch(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	bool wide = record->context_switch.other_tid != -1;
	uint16_t misc = 0;

	if (record->context_switch.out)
		misc |= PERF_RECORD_MISC_SWITCH_OUT;
	if (record->context_switch.preempted)
		misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	mt_writer_begin(writer, wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH, misc);
	if (wide) {
		put_u32(writer, (uint32_t)record->context_switch.other_pid);
		put_u32(writer, (uint32_t)record->context_switch.other_tid);
	}
	put_tracked(writer, record);
}

static void encode_itrace_start(struct mt_recording_writer *writer,
				const struct mt_sideband *record)
{
	mt_writer_begin(writer, PERF_RECORD_ITRACE_START, 0);
	put_pid_tid(writer, record);
	put_sample_id(writer, record, MT_WRITER_PT);
}

static void encode_aux(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	mt_writer_begin(writer, PERF_RECORD_AUX, 0);
	put_u64(writer, record->aux.offset);
	put_u64(writer, record->aux.size);
	put_u64(writer, record->aux.flags);
	put_sample_id(writer, record, MT_WRITER_PT);
}

static void encode_lost(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	mt_writer_begin(writer, PERF_RECORD_LOST, 0);
	put_u64(writer, MT_WRITER_TRACKING + 1);
	put_u64(writer, record->lost.lost);
	put_tracked(writer, record);
}

static void encode_error(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	char message[64] = "";

	if (record->error.message)
		strncpy(message, record->error.message, sizeof(message) - 1);
	mt_writer_begin(writer, MT_PERF_RECORD_AUXTRACE_ERROR, 0);
	put_u32(writer, 1); /* PERF_AUXTRACE_ERROR_ITRACE */
	put_u32(writer, 0); /* a code of the tool's own */
	put_u32(writer, (uint32_t)record->cpu);
	put_pid_tid(writer, record);
	put_u32(writer, 1); /* a time follows */
	put_u64(writer, record->error.ip);
	put_u64(writer, record->time_ns);
	mt_block_put(&writer->record, message, sizeof(message));
}

static void encode_sample(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	static const uint8_t zeros[8];
	uint32_t size = record->sample.raw ? record->sample.raw_size : 0;

	if (size > MOST_RAW_BYTES)
		size = MOST_RAW_BYTES;
	/* A size and its bytes, together a multiple of 8. */
	uint32_t padding = (8 - (sizeof(size) + size) % 8) % 8;

	mt_writer_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(writer, MT_WRITER_FIRST_NOTE + record->sample.event + 1);
	put_u64(writer, record->sample.ip);
	put_pid_tid(writer, record);
	put_u64(writer, record->time_ns);
	put_u64(writer, record->sample.address);
	put_cpu(writer, record);
	put_u32(writer, size + padding);
	mt_block_put(&writer->record, record->sample.raw, size);
	mt_block_put(&writer->record, zeros, padding);
	put_u64(writer, record->sample.weight);
}

void mt_writer_encode(struct mt_recording_writer *writer, const struct mt_sideband *record)
{
	static void (*const encoders[])(struct mt_recording_writer *,
					const struct mt_sideband *) = {
	    [MT_SIDEBAND_MMAP] = encode_mmap,     [MT_SIDEBAND_COMM] = encode_comm,
	    [MT_SIDEBAND_FORK] = encode_fork,     [MT_SIDEBAND_EXIT] = encode_fork,
	    [MT_SIDEBAND_SWITCH] = encode_switch, [MT_SIDEBAND_ITRACE_START] = encode_itrace_start,
	    [MT_SIDEBAND_AUX] = encode_aux,       [MT_SIDEBAND_AUXTRACE_ERROR] = encode_error,
	    [MT_SIDEBAND_LOST] = encode_lost,     [MT_SIDEBAND_SAMPLE] = encode_sample,
	};

	encoders[record->kind](writer, record);
}
