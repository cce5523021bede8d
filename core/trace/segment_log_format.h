/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packed records of a segment's log, between segment_log.c, which writes them, and
 * segment_replay.c.
 *
 * A record is a tag byte (kind, flags), then by kind: BEGIN: number (3 bytes), time; END: time;
 * INSTANT: time, struct; DEFINE: number, struct; TEXT: pointer; LATE_TEXT: struct.  Times are
 * LEB128 differences to the record before. */
#ifndef MT_TRACE_SEGMENT_LOG_FORMAT_H
#define MT_TRACE_SEGMENT_LOG_FORMAT_H

#include "trace/segment_log.h"

enum mt_log_kind {
	MT_LOG_BEGIN,
	MT_LOG_END,
	MT_LOG_INSTANT,
	MT_LOG_DEFINE,
	MT_LOG_TEXT,
	MT_LOG_LATE_TEXT,
};

/* The tag byte. */
enum {
	MT_LOG_KIND_MASK = 0x07,
	MT_LOG_FLAGS_SHIFT = 3,
	MT_LOG_ESTIMATED = 0x08, /* BEGIN; an END has its flags there */
};

/* A DEFINE record: what a number means from here on. */
struct mt_log_definition {
	struct mt_log_slice slice;
	struct mt_source call_source;
};

enum {
	MT_LOG_TIME_MAX = 10, /* bytes of a LEB128 time */
	MT_LOG_RECORD_MAX = 4 + MT_LOG_TIME_MAX +
			    (sizeof(struct mt_log_definition) > sizeof(struct mt_instant)
				 ? sizeof(struct mt_log_definition)
				 : sizeof(struct mt_instant)),
};

/* Bytes of records, those that spilled and those that did not. */
static inline uint64_t mt_log_size(const struct mt_segment_log *log)
{
	return log->spilled + log->bytes.count;
}

#endif
