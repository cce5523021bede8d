/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An open recording, and what its readers do for one another:
 *	recording.c   opening, the getters, AUX data
 *	header.c      the file's header, attributes, ids
 *	feature.c     the features: from the file's end, or from records in pipe mode
 *	filter.c      address filters of Intel PT
 *	walk.c        the records one after the other, garbled ones left out, packed ones unpacked
 *	sample.c      the sample_id behind a record, and samples, with the stacks in them
 *	calls.c       call events, which stay in the file
 *	sideband.c    a record's meaning: a struct mt_sideband, or a change of the recording */
#ifndef MT_PERF_RECORDING_PRIVATE_H
#define MT_PERF_RECORDING_PRIVATE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/cursor.h"
#include "perf/format.h"
#include "perf/recording.h"

#include <uthash.h>

/* The most that a processor may have: three bits (SDM vol. 2A, CPUID leaf 0x14). */
#define MT_PERF_PT_FILTERS 7

struct mt_perf_attr {
	struct perf_event_attr attr; /* what the file's is shorter by is 0 */
	const char *name;            /* NULL: not known yet */
};

struct mt_perf_id {
	uint64_t id;
	uint32_t attr;
};

struct mt_perf_build_id {
	const char *path;
	uint8_t size;
	uint8_t bytes[MT_PERF_BUILD_ID_SIZE];
};

/* Call events of one thread that lie one behind the other in the file, or in one batch. */
struct mt_call_run {
	uint64_t offset;
	uint64_t count;
	uint32_t sample_bytes; /* of each; 0: it is a batch */
	uint32_t batch_bytes;
};

/* Which ids are call events', to find that out once for each and not for each sample.  Zeroed
 * storage is empty. */
struct mt_call_ids {
	size_t attrs, ids; /* of the recording when it was asked */
	struct {
		uint64_t id;
		uint8_t sample_bytes; /* 0: nothing is known here */
		uint8_t event;        /* enum mt_perf_call */
	} known[16];                  /* by the id's lowest bits */
};

struct mt_call_stream {
	struct mt_recording_call_thread thread;
	MT_ARRAY(struct mt_call_run) runs;
	UT_hash_handle hh; /* by thread.tid */
};

/* One of the files of records that lie in a directory beside the first, "data.N": nothing else. */
struct mt_recording_part {
	int fd;
	uint64_t size;
};

struct mt_recording {
	unsigned sharers; /* beside the first owner */
	int fd;
	uint64_t file_size;
	uint64_t data_offset, data_end;
	bool is_directory;
	MT_ARRAY(struct mt_recording_part) parts;
	uint32_t part; /* that is read now, from 1 on; 0: the first file */
	uint64_t features[4];
	struct mt_recording_info info;
	struct mt_recording_pt pt;
	bool has_pt_info;
	uint64_t pt_info[MT_PERF_PT_INFO_COUNT]; /* of AUXTRACE_INFO; 0: not there */
	struct mt_recording_filter filters[MT_PERF_PT_FILTERS];
	size_t filter_count;
	struct mt_time_conversion time_conv; /* of TIME_CONV */
	struct mt_arena arena;
	MT_ARRAY(struct mt_perf_attr) attrs;
	MT_ARRAY(struct mt_perf_id) ids; /* sorted, where ids_are_sorted */
	bool ids_are_sorted;
	MT_ARRAY(struct mt_perf_build_id) build_ids;
	MT_ARRAY(struct mt_auxtrace) auxtraces;
	MT_ARRAY(struct mt_sideband) sideband;
	MT_ARRAY(struct mt_call_stream *) call_streams;
	struct mt_call_stream *call_streams_by_tid;
	struct mt_call_stream *last_call_stream; /* that grew */
	struct mt_call_ids call_ids;
};

/* One record.  Lent to the visitor for the call. */
struct mt_perf_record {
	struct perf_event_header header;
	uint64_t offset;      /* in the file; of the record that it was packed in */
	const uint8_t *bytes; /* header.size of them, the header too */
	uint64_t data_size;   /* of what follows the record: AUX data, as much as is there */
	bool packed;          /* it was within another */
};

/* The bytes behind the header. */
static inline struct mt_cursor mt_perf_record_body(const struct mt_perf_record *record)
{
	return mt_cursor_over(record->bytes + sizeof(record->header),
			      record->header.size - sizeof(record->header));
}

enum mt_parsed {
	MT_PARSED,
	MT_IGNORED,
	MT_GARBLED,
	MT_NO_MEMORY,
};

/* Takes FD over, also where it fails.  PATH is for messages. */
struct mt_error *mt_recording_open_fd(int fd, const char *path, const struct mt_progress *progress,
				      struct mt_recording **out);

/* Fill BYTES; *count is less at the file's end. */
struct mt_error *mt_recording_read(const struct mt_recording *recording, void *bytes, size_t size,
				   uint64_t offset, size_t *count);
/* The same, of one of a directory's files (struct mt_auxtrace). */
struct mt_error *mt_recording_read_part(const struct mt_recording *recording, uint32_t part,
					void *bytes, size_t size, uint64_t offset, size_t *count);
/* A FORMAT error at OFFSET of the file. */
struct mt_error *mt_recording_garbled(const struct mt_recording *recording, uint64_t offset,
				      const char *what);

/* header.c */
/* MAGIC: the MT_PERF_MAGIC_SIZE bytes that PATH begins with.  Errors: FORMAT, UNSUPPORTED. */
struct mt_error *mt_recording_check_magic(const char *path, const char *magic);
struct mt_error *mt_recording_read_header(struct mt_recording *recording);
/* CURSOR over one attribute (its own size says where it ends) and then its ids. */
enum mt_parsed mt_recording_add_attr(struct mt_recording *recording, struct mt_cursor *cursor);
enum mt_parsed mt_recording_add_id(struct mt_recording *recording, uint64_t id, uint32_t attr);
/* The index of the attribute with this id; -1: none. */
int64_t mt_recording_find_id(struct mt_recording *recording, uint64_t id);

/* feature.c */
struct mt_error *mt_recording_read_features(struct mt_recording *recording);
enum mt_parsed mt_recording_parse_feature(struct mt_recording *recording, uint64_t feature,
					  struct mt_cursor *cursor);
/* CURSOR over a HEADER_BUILD_ID record behind its header; MISC is the header's. */
enum mt_parsed mt_recording_add_build_id(struct mt_recording *recording, uint16_t misc,
					 struct mt_cursor *cursor);
/* When all is read: build ids to the mappings that have none of their own. */
void mt_recording_spread_build_ids(struct mt_recording *recording);
/* When all is read: what AUXTRACE_INFO says of Intel PT, and the conversion of times. */
void mt_recording_conclude_pt(struct mt_recording *recording);

/* filter.c */
/* CURSOR: behind the numbers of AUXTRACE_INFO.  What cannot be read whole is not there. */
enum mt_parsed mt_recording_take_filters(struct mt_recording *recording, struct mt_cursor *cursor);

/* walk.c */
typedef struct mt_error *mt_perf_visitor(void *context, const struct mt_perf_record *record);

/* Takes records that lie one behind the other in the SIZE bytes at OFFSET, of which the last may
 * not be whole.  Returns how many bytes; 0: the visitor is to look at the first one. */
typedef size_t mt_perf_run_visitor(void *context, uint64_t offset, const uint8_t *bytes,
				   size_t size);

struct mt_perf_walk_result {
	uint64_t bad_records;
	bool is_truncated;
};

/* RUN_VISITOR: NULL: VISITOR sees all. */
struct mt_error *mt_recording_walk(const struct mt_recording *recording,
				   const struct mt_progress *progress, mt_perf_visitor *visitor,
				   mt_perf_run_visitor *run_visitor, void *context,
				   struct mt_perf_walk_result *result);

/* unpack.c: what `perf record -z` packed. */
struct mt_unpacker;
struct mt_unpacker *mt_unpacker_create(void); /* NULL: no memory */
void mt_unpacker_destroy(struct mt_unpacker *unpacker);
/* The records of one packed record's DATA, and of the ones before it what was no whole record:
 * lent until the next call.  Returns MT_GARBLED for what cannot be unpacked, or unpacks to more
 * than honest records would. */
enum mt_parsed mt_unpacker_feed(struct mt_unpacker *unpacker, const uint8_t *data, size_t size,
				const uint8_t **bytes, size_t *count);
/* How many of the bytes were whole records: the others stand before those of the next call. */
void mt_unpacker_took(struct mt_unpacker *unpacker, size_t count);

/* sample.c */
/* The fields that all records of the kernel have.  -1: not there. */
struct mt_sample_id {
	uint64_t time_ns;
	int32_t pid, tid, cpu;
};
/* Takes the sample_id off the end of BODY. */
enum mt_parsed mt_sample_id_parse(struct mt_recording *recording, struct mt_cursor *body,
				  struct mt_sample_id *id);
enum mt_parsed mt_sample_parse(struct mt_recording *recording, const struct mt_perf_record *record,
			       struct mt_sideband *sample);

/* The index of the attribute that a sample behind its header, BODY, belongs to; -1: none. */
int64_t mt_sample_event(struct mt_recording *recording, const struct mt_cursor *body);

/* calls.c */
/* Is RECORD, a sample, a call event?  Then *parsed says what came of it. */
bool mt_recording_take_call(struct mt_recording *recording, const struct mt_perf_record *record,
			    enum mt_parsed *parsed);
/* A mt_perf_run_visitor: call events of the thread that the last one was of. */
size_t mt_recording_take_calls(struct mt_recording *recording, uint64_t offset,
			       const uint8_t *bytes, size_t size);
void mt_recording_forget_calls(struct mt_recording *recording);

/* sideband.c */
/* Put the record's meaning into RECORDING. */
enum mt_parsed mt_recording_take(struct mt_recording *recording,
				 const struct mt_perf_record *record);

#endif
