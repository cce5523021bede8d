/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the recording writer: writer.c (the file), writer_event.c (its attributes),
 * writer_record.c (a sideband record's bytes), calls.c (call events), writer_feature.c (the
 * features behind the data). */
#ifndef MT_PERF_WRITER_PRIVATE_H
#define MT_PERF_WRITER_PRIVATE_H

#include "base/array.h"
#include "base/outfile.h"
#include "perf/block.h"
#include "perf/call_batch.h"
#include "perf/format.h"
#include "perf/recording_writer.h"

#define MT_WRITER_STACKS 2 /* enum mt_recording_stack */

/* Each event (attribute) has one id, its number here plus 1: perf takes id 0 for none. */
enum mt_writer_event {
	MT_WRITER_TRACKING,
	MT_WRITER_FIRST_NOTE,
	MT_WRITER_PT = MT_WRITER_FIRST_NOTE + MT_NOTE_COUNT,
	MT_WRITER_FIRST_CALL,                                              /* enum mt_perf_call */
	MT_WRITER_FIRST_STACK = MT_WRITER_FIRST_CALL + MT_PERF_CALL_COUNT, /* MT_STACK_TIMED, … */
	MT_WRITER_EVENT_COUNT = MT_WRITER_FIRST_STACK + MT_WRITER_STACKS,
};

/* All software events have the same: perf script looks at the first of a type alone when it is
 * asked for a field.  Records that are no samples carry of it TID, TIME, CPU and IDENTIFIER. */
#define MT_WRITER_SAMPLE_TYPE (MT_WRITER_ID_TYPE | PERF_SAMPLE_RAW)
#define MT_WRITER_ID_TYPE                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_WEIGHT)

/* The notes are software events of kinds that the kernel does not have: of its own dummy kind perf
 * script does not print the IP. */
#define MT_WRITER_NOTE_CONFIG 0x6d7400

/* Where `perf record` sets them by what sysfs says of the machine; AUXTRACE_INFO names them. */
#define MT_WRITER_PT_PMU_TYPE  8
#define MT_WRITER_PT_PT        (1u << 0)
#define MT_WRITER_PT_CYC       (1u << 1)
#define MT_WRITER_PT_MTC       (1u << 9)
#define MT_WRITER_PT_TSC       (1u << 10)
#define MT_WRITER_PT_NORETCOMP (1u << 11)
#define MT_WRITER_PT_BRANCH    (1u << 13)
#define MT_WRITER_PT_MTC_SHIFT 14

/* Where MT_RECORDING_STACK_TYPE has them. */
#define MT_WRITER_STACK_ID   sizeof(struct perf_event_header)
#define MT_WRITER_STACK_TIME (MT_WRITER_STACK_ID + 3 * sizeof(uint64_t))

struct mt_writer_build_id {
	char *path;
	int32_t pid;
	bool kernel;
	uint8_t size;
	uint8_t bytes[MT_PERF_BUILD_ID_SIZE];
};

struct mt_recording_writer {
	struct mt_outfile *file;
	bool is_named; /* else its file's name means nothing to people, and only we read it */
	struct mt_recording_pt pt;
	char *filter;           /* NULL: none, or not told yet */
	bool has_auxtrace_info; /* it was put out */
	bool calls;
	struct perf_event_attr stacks; /* size 0: it holds none */
	struct mt_time_conversion conversion;
	bool is_finished, is_kept;
	uint64_t data_offset;
	uint64_t records_offset; /* of what was put, behind what each recording begins with */
	uint64_t first_time, last_time; /* of the records; 0: none yet */
	struct mt_str record;           /* the one that is being put together */
	struct mt_call_packer packer;   /* who packs them */
	MT_ARRAY(char *) command;
	MT_ARRAY(uint64_t) auxtraces; /* file offsets */
	MT_ARRAY(struct mt_writer_build_id) build_ids;
	uint8_t batch[MT_CALL_BATCH_MAX]; /* as `record`, of call events; not zeroed */
};

struct perf_event_attr mt_writer_attr(const struct mt_recording_writer *writer,
				      enum mt_writer_event event);
const char *mt_writer_event_name(enum mt_writer_event event);
/* calls.c: "mtrace:call". */
const char *mt_perf_call_name(enum mt_perf_call call);
/* The attribute that the file lists at `index`: Intel PT's or that of stacks first, where there is
 * one, since perf takes the first for the event that the recording is about. */
enum mt_writer_event mt_writer_event_at(const struct mt_recording_writer *writer, unsigned index);
unsigned mt_writer_event_count(const struct mt_recording_writer *writer);

void mt_writer_note_time(struct mt_recording_writer *writer, uint64_t time_ns);

/* Begins a record in writer->record; its size is set when it is written. */
void mt_writer_begin(struct mt_recording_writer *writer, uint32_t type, uint16_t misc);
/* Puts RECORD together in writer->record. */
void mt_writer_encode(struct mt_recording_writer *writer, const struct mt_sideband *record);

/* Write the features from the file's present position; sets their bits. */
struct mt_error *mt_writer_put_features(struct mt_recording_writer *writer, uint64_t bits[4]);

#endif
