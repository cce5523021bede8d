/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets of Perfetto's protobuf format, and their interned strings.
 * Source: https://github.com/google/perfetto, protos/perfetto/trace/: trace.proto,
 * trace_packet.proto, interned_data/interned_data.proto, profiling/profile_common.proto and, in
 * track_event/, track_event.proto, track_descriptor.proto, process_descriptor.proto,
 * thread_descriptor.proto, debug_annotation.proto, source_location.proto; the encoding is that of
 * https://protobuf.dev/programming-guides/encoding/. */
#ifndef MT_OUTPUT_PFTRACE_RECORD_H
#define MT_OUTPUT_PFTRACE_RECORD_H

#include "output/args.h"
#include "output/stream.h"

/* Numbers of fields. */
enum {
	MT_PF_TRACE_PACKET = 1,

	MT_PF_PACKET_TIMESTAMP = 8,
	MT_PF_PACKET_SEQUENCE_ID = 10,
	MT_PF_PACKET_TRACK_EVENT = 11,
	MT_PF_PACKET_INTERNED_DATA = 12,
	MT_PF_PACKET_SEQUENCE_FLAGS = 13,
	MT_PF_PACKET_TRACK_DESCRIPTOR = 60,

	MT_PF_TRACK_UUID = 1,
	MT_PF_TRACK_NAME = 2,
	MT_PF_TRACK_PROCESS = 3,
	MT_PF_TRACK_THREAD = 4,
	MT_PF_TRACK_PARENT_UUID = 5,
	MT_PF_TRACK_COUNTER = 8,
	MT_PF_PROCESS_PID = 1,
	MT_PF_PROCESS_NAME = 6,
	MT_PF_THREAD_PID = 1,
	MT_PF_THREAD_TID = 2,
	MT_PF_THREAD_NAME = 5,

	MT_PF_EVENT_CATEGORY_IID = 3,
	MT_PF_EVENT_ANNOTATION = 4,
	MT_PF_EVENT_TYPE = 9,
	MT_PF_EVENT_NAME_IID = 10,
	MT_PF_EVENT_TRACK_UUID = 11,
	MT_PF_EVENT_COUNTER_VALUE = 30,
	MT_PF_EVENT_DOUBLE_COUNTER_VALUE = 44,
	MT_PF_EVENT_LOCATION_IID = 34,
	MT_PF_EVENT_FLOW = 47,
	MT_PF_EVENT_FLOW_END = 48,

	MT_PF_ANNOTATION_NAME_IID = 1,
	MT_PF_ANNOTATION_BOOL = 2,
	MT_PF_ANNOTATION_UINT = 3,
	MT_PF_ANNOTATION_DOUBLE = 5,
	MT_PF_ANNOTATION_POINTER = 7,
	MT_PF_ANNOTATION_STRING_IID = 17,

	/* Of what is interned; the same in all messages of it. */
	MT_PF_INTERNED_IID = 1,
	MT_PF_INTERNED_TEXT = 2,
	MT_PF_INTERNED_FUNCTION = 3,
	MT_PF_INTERNED_LINE = 4,
};

enum mt_pf_event_type {
	MT_PF_SLICE_BEGIN = 1,
	MT_PF_SLICE_END = 2,
	MT_PF_INSTANT = 3,
	MT_PF_COUNTER = 4,
};

/* All packets are of one sequence. */
#define MT_PF_SEQUENCE_ID   1
#define MT_PF_STATE_CLEARED 1 /* MT_PF_PACKET_SEQUENCE_FLAGS */
#define MT_PF_NEEDS_STATE   2

/* A message of bounded size: the largest is an event with MT_ARGS_MAX arguments, or a track with
 * its name.  What is more than fits is left out. */
#define MT_PF_MESSAGE_MAX 640
#define MT_PF_NAME_MAX    255 /* of a process, thread or counter, in bytes */
#define MT_PF_TEXT_MAX    32000

struct mt_pf_message {
	size_t size;
	uint8_t bytes[MT_PF_MESSAGE_MAX];
};

/* The bytes of a varint, which a 64-bit number takes at most 10 of. */
static inline size_t mt_pf_varint_size(uint64_t value)
{
	return ((size_t)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* Write a varint.  Returns the place behind it. */
static inline uint8_t *mt_pf_put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Append a field. */
void mt_pf_number(struct mt_pf_message *message, unsigned field, uint64_t value);
void mt_pf_fixed(struct mt_pf_message *message, unsigned field,
		 uint64_t bits); /* of a double, a number */
void mt_pf_bytes(struct mt_pf_message *message, unsigned field, const void *bytes, size_t size);
void mt_pf_message(struct mt_pf_message *message, unsigned field, const struct mt_pf_message *part);

/* Write the packet of an event: what is told of it in EVENT, and its track.  Errors: SYSTEM. */
struct mt_error *mt_pf_send_event(struct mt_stream *stream, uint64_t time_ns, uint64_t track_uuid,
				  const void *event, size_t size);
/* Write the packet of a track.  Errors: SYSTEM. */
struct mt_error *mt_pf_send_track(struct mt_stream *stream, const struct mt_pf_message *track);

/* Texts are told once, and then meant by their numbers (iid).  What a slice sink is given lives for
 * the whole run, so texts are distinguished by their address; but the file depends on the order of
 * their first use alone.  When the table is full it begins anew, and says so; numbers go on, as
 * none may ever have two meanings. */
enum mt_pf_interned { /* the fields of InternedData */
		      MT_PF_CATEGORY = 1,
		      MT_PF_EVENT_NAME = 2,
		      MT_PF_ANNOTATION_NAME = 3,
		      MT_PF_LOCATION = 4,
		      MT_PF_STRING = 29,
};

#define MT_PF_STRINGS       0x8000
#define MT_PF_STRING_PLACES 0x10000

struct mt_pf_string {
	const char *text; /* NULL: a free place */
	const char *function;
	uint64_t iid;
	uint32_t line;
	uint32_t kind; /* enum mt_pf_interned */
};

struct mt_pf_strings {
	struct mt_stream *stream;
	uint32_t generation; /* another once the table began anew */
	uint64_t last_iid;
	uint32_t count;
	bool is_new; /* nothing was told since it began */
	struct mt_str text, entry;
	struct mt_pf_string places[MT_PF_STRING_PLACES];
};

/* Zeroed storage with a stream; then this, which tells the names of arguments.
 * Errors: SYSTEM, NO_MEMORY. */
struct mt_error *mt_pf_strings_begin(struct mt_pf_strings *strings);
void mt_pf_strings_deinit(struct mt_pf_strings *strings);
/* Before an event: none of the numbers that it takes becomes another's meanwhile.  Errors: as
 * above. */
struct mt_error *mt_pf_strings_reserve(struct mt_pf_strings *strings);
/* The number of a text, told now if it is new.  With LINE, a string is "TEXT:LINE".  A location is
 * TEXT, a file, with FUNCTION, or NULL, and LINE, or 0.  Errors: as above. */
struct mt_error *mt_pf_string(struct mt_pf_strings *strings, enum mt_pf_interned kind,
			      const char *text, const char *function, uint32_t line, uint64_t *iid);

#endif
