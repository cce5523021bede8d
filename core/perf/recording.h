/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording is a perf.data file, whatever made it: `perf record`, or one of our engines.
 * Source: linux/tools/perf/Documentation/perf.data-file-format.txt and perf_event_open(2).
 *
 * Opening reads everything but the AUX data itself: attributes, features, and the sideband (who was
 * mapped, named, forked, switched when), sorted by time.  AUX data stays in the file and is mapped
 * a piece at a time.  perf.data from a pipe is spooled to an unlinked temporary file first. */
#ifndef MT_PERF_RECORDING_H
#define MT_PERF_RECORDING_H

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "trace/event.h"

#include <stddef.h>

struct mt_recording;

/* PATH "-" is standard input (pipe mode or a file); or a directory, as perf record --kcore and
 * --threads make them.
 * Errors: as opening; FORMAT, with the offset, for whatever is garbled beyond use (a recording cut
 * off at its end opens: see is_truncated); INTERRUPTED; NO_MEMORY. */
struct mt_error *mt_recording_open(const char *path, const struct mt_progress *progress,
				   struct mt_recording **out);
void mt_recording_close(struct mt_recording *recording); /* NULL is fine */
/* The same, for one more owner, who closes it, too. */
struct mt_recording *mt_recording_share(struct mt_recording *recording);

struct mt_recording_info {
	const char *path;
	const char *kcore_dir; /* what perf record --kcore kept of the kernel; NULL: nothing */
	const char *cmdline;   /* NULL: not known; lent, as the rest */
	const char *hostname;
	const char *os_release;
	const char *cpuid; /* "GenuineIntel,6,78,3" */
	bool is_pipe;
	bool is_truncated;    /* the file ends before its header says */
	uint64_t bad_records; /* left out, since garbled */
	uint64_t events_lost; /* sum of PERF_RECORD_LOST */
	/* From TIME_CONV, AUXTRACE_INFO, or neither. */
	struct mt_time_conversion conversion;
	bool has_time; /* samples of the sideband carry a time */
};
const struct mt_recording_info *mt_recording_info(const struct mt_recording *recording);

/* Intel PT, by AUXTRACE_INFO; the fields of struct mt_pt_timing, and the CPU from the
 * CPUID feature, as numbers, since perf/ does not know pt/. */
struct mt_recording_pt {
	bool present; /* there is an Intel PT AUXTRACE_INFO */
	bool tsc, mtc, cyc, return_compression;
	bool kernel; /* the kernel is traced as well */
	bool per_cpu;
	bool snapshot;
	bool filtered; /* by addresses */
	uint8_t mtc_period;
	uint8_t max_nonturbo_ratio;
	uint32_t tsc_ctc_numerator, tsc_ctc_denominator;
	bool cpu_is_intel;
	uint16_t cpu_family;
	uint8_t cpu_model, cpu_stepping;
};
const struct mt_recording_pt *mt_recording_pt(const struct mt_recording *recording);

/* An address filter of Intel PT: SIZE bytes were traced, or ended the trace where control came into
 * them. */
struct mt_recording_filter {
	uint64_t start;   /* from the file's beginning on; an address where there is no file */
	uint64_t size;    /* not 0; START + SIZE does not overflow */
	const char *path; /* NULL: in the kernel */
	bool stops;
};
/* No more than processors have. */
size_t mt_recording_filter_count(const struct mt_recording *recording);
const struct mt_recording_filter *mt_recording_filter(const struct mt_recording *recording,
						      size_t index);

/* One PERF_RECORD_AUXTRACE: a piece of one AUX area's stream. In the file's order. */
struct mt_auxtrace {
	uint64_t file_offset; /* of the AUX data */
	uint32_t part;        /* of a directory, in which file; else 0 */
	uint64_t size;        /* in the file: what is there, if the file is cut off */
	uint64_t offset;      /* in the stream of its AUX area */
	uint64_t reference;   /* TSC or perf's reference number */
	uint32_t idx;         /* of the AUX area */
	int32_t tid;          /* -1: not one thread's */
	int32_t cpu;          /* -1: not one CPU's */
};
size_t mt_recording_auxtrace_count(const struct mt_recording *recording);
const struct mt_auxtrace *mt_recording_auxtrace(const struct mt_recording *recording, size_t index);
/* Map SIZE bytes from OFFSET within one piece, a private copy of the file's, which must not become
 * shorter meanwhile.
 * Errors: SYSTEM; FORMAT (beyond its end, or SIZE is 0). */
struct mt_error *mt_recording_map_aux(const struct mt_recording *recording, size_t index,
				      uint64_t offset, uint64_t size, uint8_t **bytes);
void mt_recording_unmap_aux(const uint8_t *bytes, uint64_t size);

/* Sideband, decoded.  Sorted by time; the file's order on ties; those without a time first. */
enum mt_sideband_kind {
	MT_SIDEBAND_MMAP, /* MMAP, MMAP2 */
	MT_SIDEBAND_COMM,
	MT_SIDEBAND_FORK,
	MT_SIDEBAND_EXIT,
	MT_SIDEBAND_SWITCH, /* SWITCH, SWITCH_CPU_WIDE */
	MT_SIDEBAND_ITRACE_START,
	MT_SIDEBAND_AUX,
	MT_SIDEBAND_AUXTRACE_ERROR,
	MT_SIDEBAND_LOST,
	MT_SIDEBAND_SAMPLE,
};

/* Where the sample of an event that samples stacks lies, whole: too large for memory, it stays in
 * the file. */
struct mt_stack_place {
	union {
		uint64_t offset;      /* in the file */
		const uint8_t *bytes; /* of one that was packed */
	};
	uint32_t part; /* of a directory, in which file; MT_STACK_UNPACKED: in `bytes` */
	uint16_t size; /* with its header; 0: the event is another */
};
#define MT_STACK_UNPACKED UINT32_MAX

struct mt_sideband {
	uint64_t time_ns; /* 0: none */
	uint8_t kind;     /* enum mt_sideband_kind */
	int32_t pid, tid; /* of the record itself where it has them, else of its sample_id; -1 */
	int32_t cpu;      /* -1: not known */
	union {
		struct {
			uint64_t start, length, offset;
			const char *path;
			bool executable;
			bool kernel;
			uint8_t build_id_size; /* 0: none; from MMAP2 or the BUILD_ID feature */
			uint8_t build_id[20];
		} mmap;
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			int32_t parent_pid, parent_tid;
		} fork; /* FORK and EXIT */
		struct {
			bool out;
			bool preempted;
			int32_t other_pid, other_tid; /* SWITCH_CPU_WIDE; else -1 */
		} context_switch;
		struct {
			uint64_t offset, size, flags; /* PERF_AUX_FLAG_… */
		} aux;
		struct {
			uint64_t lost;
		} lost;
		struct {
			uint32_t event; /* index into mt_recording_event_name() */
			uint64_t ip;
			uint64_t address;   /* PERF_SAMPLE_ADDR */
			uint64_t weight;    /* PERF_SAMPLE_WEIGHT */
			const uint8_t *raw; /* NULL: none */
			uint32_t raw_size;
			struct mt_stack_place stack; /* for perf/stack_sample.h */
		} sample;
		struct {
			const char *message;
			uint64_t ip;
		} error;
	};
};
size_t mt_recording_sideband_count(const struct mt_recording *recording);
const struct mt_sideband *mt_recording_sideband(const struct mt_recording *recording);
/* Names of the events (attributes), from EVENT_DESC or made up; NULL beyond the last. */
const char *mt_recording_event_name(const struct mt_recording *recording, uint32_t index);

/* Call events: too many for a struct in memory each, so they stay in the file and are read a
 * thread at a time, in the file's order.  Of struct mt_event the kinds ENTRY, LEAVE, FRAME, AGAIN
 * and VALUE are stored, with time_ns, from, to and TIME_IS_ESTIMATE. */
struct mt_recording_call_thread {
	int32_t pid, tid;
	uint64_t events;
};
/* It was made for call events, also when it holds none. */
bool mt_recording_is_of_calls(const struct mt_recording *recording);
size_t mt_recording_call_thread_count(const struct mt_recording *recording);
const struct mt_recording_call_thread *
mt_recording_call_thread(const struct mt_recording *recording, size_t index);

/* A walk over one thread's.  Of several that are open each may go on in a thread of its own.
 * Errors: NO_MEMORY. */
struct mt_recording_calls;
struct mt_error *mt_recording_calls_open(struct mt_recording *recording, size_t index,
					 struct mt_recording_calls **out);
void mt_recording_calls_close(struct mt_recording_calls *calls); /* NULL is fine */
/* Up to CAPACITY more; *count is 0 at the end.  Errors: SYSTEM; FORMAT (the file was changed while
 * it was read). */
struct mt_error *mt_recording_calls_next(struct mt_recording_calls *calls, struct mt_event *out,
					 size_t capacity, size_t *count);

/* Calls RECORD for every record of the file in its order, known ("unknown") or not: for `mtdb
 * dump`. SIZE counts the AUX data that follows.  After a packed record (COMPRESSED) come those
 * within it, with its offset.  Errors: SYSTEM; RECORD's, which ends it. */
struct mt_error *
mt_recording_each_record(struct mt_recording *recording,
			 struct mt_error *(*record)(void *context, uint64_t offset, uint32_t type,
						    uint16_t misc, uint64_t size, const char *name),
			 void *context);

#endif
