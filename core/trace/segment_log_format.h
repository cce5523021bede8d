/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packed records of a segment's log, between those who write them, segment_log.c and,
 * of settled begins and ends, the rebuild by the stack pointer, and segment_replay.c.
 *
 * A record is a tag byte (kind, flags), then by kind: BEGIN: number (3 bytes), time; END: time;
 * INSTANT: time, struct; DEFINE: number, struct; TEXT: pointer; LATE_TEXT: struct.  Times are
 * LEB128 differences to the record before. */
#ifndef MT_TRACE_SEGMENT_LOG_FORMAT_H
#define MT_TRACE_SEGMENT_LOG_FORMAT_H

#include "trace/segment_log.h"

#include <endian.h>
#include <string.h>

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

/* What comes after a failure goes where it does no harm. */
void mt_log_make_room(struct mt_segment_log *log);

/* Where the next record goes: there is always room for one. */
static inline uint8_t *mt_log_record_start(const struct mt_segment_log *log)
{
	return log->bytes.items + log->bytes.count;
}

static inline void mt_log_record_end(struct mt_segment_log *log, const uint8_t *end)
{
	log->bytes.count = (size_t)(end - log->bytes.items);
	if (log->bytes.count >= log->full_at)
		mt_log_make_room(log);
}

static inline uint8_t *mt_log_put_number(uint8_t *at, uint8_t tag, uint32_t number)
{
	uint32_t both = htole32(number << 8 | tag);

	memcpy(at, &both, sizeof(both));
	return at + sizeof(both);
}

/* Records at AT, for who keeps LAST_NS, which is the log's `time_ns`, and where they end. */
static inline uint8_t *mt_log_write_time(uint8_t *at, uint64_t *last_ns, uint64_t time_ns)
{
	uint64_t delta = time_ns > *last_ns ? time_ns - *last_ns : 0;

	*last_ns += delta;
	for (; delta >= 0x80; delta >>= 7)
		*at++ = (uint8_t)(delta | 0x80);
	*at++ = (uint8_t)delta;
	return at;
}

static inline uint8_t *mt_log_write_begin(uint8_t *at, uint64_t *last_ns, uint64_t time_ns,
					  bool estimated, uint32_t number)
{
	const uint8_t tag = MT_LOG_BEGIN | (estimated ? MT_LOG_ESTIMATED : 0);

	return mt_log_write_time(mt_log_put_number(at, tag, number), last_ns, time_ns);
}

static inline uint8_t *mt_log_write_end(uint8_t *at, uint64_t *last_ns, uint64_t time_ns,
					bool estimated, uint8_t flags)
{
	if (estimated)
		flags |= MT_SLICE_END_TIME_ESTIMATED;
	*at++ = (uint8_t)(MT_LOG_END | flags << MT_LOG_FLAGS_SHIFT);
	return mt_log_write_time(at, last_ns, time_ns);
}

/* NUMBER has a record that defines it. */
static inline void mt_log_put_begin(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				    uint32_t number)
{
	mt_log_record_end(log, mt_log_write_begin(mt_log_record_start(log), &log->time_ns, time_ns,
						  estimated, number));
}

static inline void mt_log_put_end(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				  uint8_t flags)
{
	mt_log_record_end(log, mt_log_write_end(mt_log_record_start(log), &log->time_ns, time_ns,
						estimated, flags));
}

#endif
