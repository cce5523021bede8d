/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a perf.data file beyond linux/perf_event.h: the file's header, its features, and
 * the records that the perf tool adds to those of the kernel.
 * Source: linux/tools/perf/Documentation/perf.data-file-format.txt. */
#ifndef MT_PERF_FORMAT_H
#define MT_PERF_FORMAT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#define MT_PERF_MAGIC         "PERFILE2"
#define MT_PERF_MAGIC_SWAPPED "2ELIFREP"
#define MT_PERF_MAGIC_OLD     "PERFFILE"
#define MT_PERF_MAGIC_SIZE    8
#define MT_PERF_ALIGNMENT     8

struct mt_perf_section {
	uint64_t offset;
	uint64_t size;
};

struct mt_perf_header {
	char magic[MT_PERF_MAGIC_SIZE];
	uint64_t size; /* of this struct; of the first two fields alone: pipe mode */
	uint64_t attr_size;
	struct mt_perf_section attrs;
	struct mt_perf_section data; /* size 0: the writer died */
	struct mt_perf_section event_types;
	uint64_t features[4];
};

#define MT_PERF_PIPE_HEADER_SIZE 16

/* Bits of mt_perf_header.features; their sections stand in this order behind the data. */
enum mt_perf_feature {
	MT_PERF_FEATURE_BUILD_ID = 2,
	MT_PERF_FEATURE_HOSTNAME = 3,
	MT_PERF_FEATURE_OSRELEASE = 4,
	MT_PERF_FEATURE_VERSION = 5,
	MT_PERF_FEATURE_ARCH = 6,
	MT_PERF_FEATURE_NRCPUS = 7,
	MT_PERF_FEATURE_CPUDESC = 8,
	MT_PERF_FEATURE_CPUID = 9,
	MT_PERF_FEATURE_CMDLINE = 11,
	MT_PERF_FEATURE_EVENT_DESC = 12,
	MT_PERF_FEATURE_AUXTRACE = 18,
	MT_PERF_FEATURE_SAMPLE_TIME = 21,
	MT_PERF_FEATURE_DIR_FORMAT = 24,
	MT_PERF_FEATURE_COUNT = 256,
};

/* Records of the tool, above those of the kernel; they carry no sample_id. */
enum mt_perf_user_record {
	MT_PERF_RECORD_HEADER_ATTR = 64,
	MT_PERF_RECORD_HEADER_EVENT_TYPE = 65,
	MT_PERF_RECORD_HEADER_TRACING_DATA = 66,
	MT_PERF_RECORD_HEADER_BUILD_ID = 67,
	MT_PERF_RECORD_FINISHED_ROUND = 68,
	MT_PERF_RECORD_ID_INDEX = 69,
	MT_PERF_RECORD_AUXTRACE_INFO = 70,
	MT_PERF_RECORD_AUXTRACE = 71,
	MT_PERF_RECORD_AUXTRACE_ERROR = 72,
	MT_PERF_RECORD_THREAD_MAP = 73,
	MT_PERF_RECORD_CPU_MAP = 74,
	MT_PERF_RECORD_STAT_CONFIG = 75,
	MT_PERF_RECORD_STAT = 76,
	MT_PERF_RECORD_STAT_ROUND = 77,
	MT_PERF_RECORD_EVENT_UPDATE = 78,
#define MT_PERF_EVENT_UPDATE_NAME 2 /* its type: PERF_EVENT_UPDATE__NAME */
	MT_PERF_RECORD_TIME_CONV = 79,
	MT_PERF_RECORD_HEADER_FEATURE = 80,
	MT_PERF_RECORD_COMPRESSED = 81,
	MT_PERF_RECORD_FINISHED_INIT = 82,
	MT_PERF_RECORD_COMPRESSED2 = 83,
	MT_PERF_RECORD_BPF_METADATA = 84,
};

#define MT_PERF_RECORD_USER_FIRST 64

/* Newer than some kernels' headers. */
#define MT_PERF_MISC_BUILD_ID_SIZE (1 << 15)    /* of HEADER_BUILD_ID */
#define MT_PERF_BRANCH_COUNTERS    (1ull << 19) /* of branch_sample_type */

#define MT_PERF_BUILD_ID_SIZE 20

/* Samples of stacks that are of no event's: where a thread was stopped, laid out like those of the
 * clock beside it.  A software event of a kind that the kernel does not have. */
#define MT_PERF_STOP_CONFIG 0x6d7300
#define MT_PERF_STOP_NAME   "mtrace:stack"

/* Call events are events of a type of ours, far from what sysfs gives to PMUs; `config` is an enum
 * mt_perf_call.  Their samples are all laid out alike, struct mt_perf_call_sample, but for batches.
 */
#define MT_PERF_TYPE_CALLS 0x6d74

enum mt_perf_call {
	MT_PERF_CALL,
	MT_PERF_CALL_ESTIMATED, /* in time: it lies between two that are known */
	MT_PERF_RETURN,
	MT_PERF_RETURN_ESTIMATED,
	MT_PERF_FRAME,
	MT_PERF_AGAIN,      /* estimated, for all that is known */
	MT_PERF_VALUE,      /* the same */
	MT_PERF_CALL_BATCH, /* many of those above: perf/call_batch.h */
	MT_PERF_CALL_COUNT
};

#define MT_PERF_CALL_BATCH_TYPE  (MT_PERF_CALL_SAMPLE_TYPE_1 | PERF_SAMPLE_RAW)
#define MT_PERF_CALL_SAMPLE_TYPE (MT_PERF_CALL_SAMPLE_TYPE_1 | PERF_SAMPLE_WEIGHT)
/* Recordings before return addresses were recorded: the samples have no weight. */
#define MT_PERF_CALL_SAMPLE_TYPE_1                                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR)

struct mt_perf_call_sample {
	struct perf_event_header header;
	uint64_t id;
	uint64_t ip;
	int32_t pid, tid;
	uint64_t time;
	uint64_t addr;
	uint64_t weight; /* of a call: where it returns to; else, or where it is not known, 0 */
};
#define MT_PERF_CALL_SAMPLE_BYTES_1 offsetof(struct mt_perf_call_sample, weight)

/* MT_PERF_RECORD_AUXTRACE, followed by `size` bytes of AUX data that its header does not count. */
struct mt_perf_auxtrace {
	struct perf_event_header header;
	uint64_t size;
	uint64_t offset;
	uint64_t reference;
	uint32_t idx;
	uint32_t tid;
	uint32_t cpu;
	uint32_t reserved;
};

/* MT_PERF_RECORD_AUXTRACE_INFO: a type, and numbers whose meaning depends on it. */
#define MT_PERF_AUXTRACE_INTEL_PT 1

enum mt_perf_intel_pt_info {
	MT_PERF_PT_PMU_TYPE,
	MT_PERF_PT_TIME_SHIFT,
	MT_PERF_PT_TIME_MULT,
	MT_PERF_PT_TIME_ZERO,
	MT_PERF_PT_CAP_USER_TIME_ZERO,
	MT_PERF_PT_TSC_BIT, /* this and the other bits are masks of the event's config */
	MT_PERF_PT_NORETCOMP_BIT,
	MT_PERF_PT_HAVE_SCHED_SWITCH, /* 2: PERF_RECORD_SWITCH */
	MT_PERF_PT_SNAPSHOT_MODE,
	MT_PERF_PT_PER_CPU_MMAPS,
	MT_PERF_PT_MTC_BIT,
	MT_PERF_PT_MTC_FREQ_BITS,
	MT_PERF_PT_TSC_CTC_N,
	MT_PERF_PT_TSC_CTC_D,
	MT_PERF_PT_CYC_BIT,
	MT_PERF_PT_MAX_NONTURBO_RATIO,
	MT_PERF_PT_FILTER_STR_LEN, /* of the text behind the numbers; 0: there is none */
	MT_PERF_PT_INFO_COUNT,
	/* The text of the address filters, as the kernel took it, its NUL, zeros up to 8 bytes;
	 * then one more number, which is not 0 where the processor has Event Trace. */
};

/* "MMAP2"; NULL for an unknown type. */
const char *mt_perf_record_name(uint32_t type);

#endif
