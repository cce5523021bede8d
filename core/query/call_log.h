/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of each thread in their order, as numbers of names with depths: what two runs are
 * compared by.  A filter before another sink.  The calls lie in a temporary file, eight bytes each;
 * memory grows with the names and the threads.
 *
 * In it are calls, what was lost, and where signal handlers ran; not the kernel's events, and no
 * times. */
#ifndef MT_QUERY_CALL_LOG_H
#define MT_QUERY_CALL_LOG_H

#include "base/array.h"
#include "trace/slice.h"

/* Names of several logs, so that the same one has the same number. */
struct mt_call_names;
/* Errors: NO_MEMORY. */
struct mt_error *mt_call_names_create(struct mt_call_names **out);
void mt_call_names_destroy(struct mt_call_names *names); /* after the logs; NULL is fine */
const char *mt_call_name(const struct mt_call_names *names, uint32_t number);

struct mt_call_item {
	uint32_t name;
	uint32_t depth; /* with MT_CALL_LOST: data was lost there */
};
#define MT_CALL_LOST 0x80000000u

struct mt_call_log_thread {
	pid_t pid, tid;
	uint32_t name;              /* its number */
	uint64_t count;             /* of calls */
	bool began_before;          /* some of its calls are older than the recording */
	MT_ARRAY(uint64_t) offsets; /* of its blocks in the file */
};

struct mt_call_log;

/* Errors: NO_MEMORY. */
struct mt_error *mt_call_log_create(struct mt_call_names *names, struct mt_slice_sink to,
				    struct mt_call_log **out);
void mt_call_log_destroy(struct mt_call_log *log); /* NULL is fine */
/* Errors of the sink: SYSTEM (no room for temporary files); the next one's. */
struct mt_slice_sink mt_call_log_sink(struct mt_call_log *log);
/* In the order of their numbers, from the first process's on: as they were born.  Lent. */
size_t mt_call_log_threads(const struct mt_call_log *log);
const struct mt_call_log_thread *mt_call_log_thread(const struct mt_call_log *log, size_t index);

/* Reads a thread's calls: zeroed but for log and thread. */
struct mt_call_reader {
	struct mt_call_log *log;
	const struct mt_call_log_thread *thread;
	uint64_t block; /* which is in `items`, plus 1 */
	struct mt_call_item *items;
};
/* Errors: SYSTEM; NO_MEMORY. */
struct mt_error *mt_call_reader_get(struct mt_call_reader *reader, uint64_t index,
				    struct mt_call_item *out);
void mt_call_reader_deinit(struct mt_call_reader *reader);

#endif
