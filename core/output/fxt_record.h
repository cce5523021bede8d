/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the Fuchsia trace format, and its table of strings.
 * Source: Fuchsia, docs/reference/tracing/trace-format.md.
 *
 * A record is a number of 64-bit little-endian words; the first holds its type and its size. */
#ifndef MT_OUTPUT_FXT_RECORD_H
#define MT_OUTPUT_FXT_RECORD_H

#include "output/args.h"
#include "output/stream.h"

#include <uthash.h>

#define MT_FXT_SIZE_SHIFT   4  /* of the size in a header */
#define MT_FXT_ARGS_SHIFT   20 /* of an event's number of arguments */
#define MT_FXT_THREAD_SHIFT 24 /* of an event's thread, 8 bits of its header */

#define MT_FXT_MAGIC 0x0016547846040010

enum mt_fxt_record_type {
	MT_FXT_METADATA = 0,
	MT_FXT_INITIALIZATION = 1,
	MT_FXT_STRING = 2,
	MT_FXT_THREAD = 3,
	MT_FXT_EVENT = 4,
	MT_FXT_KERNEL_OBJECT = 7,
};

enum mt_fxt_event_type {
	MT_FXT_INSTANT = 0,
	MT_FXT_COUNTER = 1,
	MT_FXT_BEGIN = 2,
	MT_FXT_END = 3,
	MT_FXT_FLOW_BEGIN = 8,
	MT_FXT_FLOW_END = 10,
};

enum mt_fxt_object_type {
	MT_FXT_PROCESS = 1,
	MT_FXT_THREAD_OBJECT = 2,
};

/* A text longer than this is cut: it and what else is in its record fit the 4095 words that a
 * record's size can count. */
#define MT_FXT_TEXT_MAX  32000
#define MT_FXT_WORDS_MAX 4095

struct mt_fxt_record {
	size_t count;
	uint64_t words[MT_FXT_WORDS_MAX];
};

/* HEADER without the size. */
void mt_fxt_start(struct mt_fxt_record *record, enum mt_fxt_record_type type, uint64_t header);
void mt_fxt_word(struct mt_fxt_record *record, uint64_t word);
/* Padded with zeros to whole words. */
void mt_fxt_text(struct mt_fxt_record *record, const char *text, size_t length);
/* Errors: SYSTEM. */
struct mt_error *mt_fxt_send(struct mt_fxt_record *record, struct mt_stream *stream);

/* References to strings: 15 bits of an index, so the slots are given out in turn, and again.
 * What a slice sink is given lives for the whole run, so texts are distinguished by their address;
 * but the file depends on the order of their first use alone.  The names of arguments have slots of
 * their own. */
#define MT_FXT_FIXED_STRINGS (MT_ARG_NAMES + 1)
#define MT_FXT_STRINGS       0x8000
#define MT_FXT_HINTS         8192

struct mt_fxt_string {
	const char *text; /* the key: text and line; NULL: a free slot */
	uint64_t line;
	uint64_t last_use;
	UT_hash_handle hh;
};

struct mt_fxt_strings {
	struct mt_stream *stream;
	uint64_t uses;
	uint32_t generation; /* another once an index means another string than before */
	uint16_t last_slot;
	struct mt_str scratch;
	struct mt_fxt_record record;
	struct mt_fxt_string *table;
	uint16_t hints[MT_FXT_HINTS]; /* by hash: the slot that was found last */
	struct mt_fxt_string slots[MT_FXT_STRINGS];
};

void mt_fxt_strings_deinit(struct mt_fxt_strings *strings);
/* The string TEXT, or "TEXT:LINE" when LINE is not 0; NULL and "" have the index 0.  Writes a
 * String record when the text has no slot.  Errors: SYSTEM, NO_MEMORY. */
struct mt_error *mt_fxt_string(struct mt_fxt_strings *strings, const char *text, uint32_t line,
			       uint16_t *index);
/* Write a String record for a slot below MT_FXT_FIXED_STRINGS.  Errors: as above. */
struct mt_error *mt_fxt_fixed_string(struct mt_fxt_strings *strings, uint16_t index,
				     const char *text);

#endif
