/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of the history for people:
 *
 *	           time   duration  function                        called at
 *	    -812.400 µs       open  main                            crash
 *	    -810.110 µs     1.2 µs    parse_line                    main.c:42
 *
 * Times count back from the segment's end, which is what the reader hunts: the crash, the trigger.
 * "called at" is the caller's line; of a signal it is the line that raised it. */
#ifndef MT_OUTPUT_TEXT_LINE_H
#define MT_OUTPUT_TEXT_LINE_H

#include "base/str.h"
#include "trace/slice.h"

/* Where the names of functions begin, which are indented by so much a level, up to a depth. */
#define MT_TEXT_FUNCTION_COLUMN  (MT_TEXT_TIME_COLUMNS + MT_TEXT_DURATION_COLUMNS + 2)
#define MT_TEXT_TIME_COLUMNS     15
#define MT_TEXT_DURATION_COLUMNS 11
#define MT_TEXT_INDENT_LEVELS    20 /* deeper levels are shown as a number */
#define MT_TEXT_INDENT_COLUMNS   2

enum mt_text_kind {
	MT_TEXT_SEGMENT,
	MT_TEXT_SLICE,
	MT_TEXT_RETURN, /* of a slice whose own line was written before it ended */
	MT_TEXT_INSTANT,
	MT_TEXT_UNENDED, /* slices whose own line was written, and that never ended */
};

/* A line, taken apart.  Names are lent by the sink for the whole run. */
struct mt_text_entry {
	uint8_t kind; /* enum mt_text_kind */
	bool has_ended;
	uint8_t end_flags; /* MT_SLICE_END_… */
	uint32_t depth;
	uint32_t samples; /* of a sampled slice that has ended */
	uint64_t end_ns;
	const char *result;        /* of a slice that has ended; NULL: not known */
	const char *caller_module; /* of a slice without a call source; NULL: not known */
	union {
		struct mt_thread_segment segment;
		struct mt_slice slice; /* SLICE, RETURN */
		struct mt_instant instant;
		uint64_t count; /* UNENDED */
	};
};

struct mt_text_style {
	bool colour;
	uint64_t zero_ns;      /* times are shown relative to it */
	uint64_t length_ns;    /* of the segment: chooses the unit of times */
	struct mt_str scratch; /* of the functions below */
	struct mt_str cell;
};

void mt_text_style_deinit(struct mt_text_style *style);

/* "1.23 ms": three digits that count, and a unit. */
void mt_text_duration(struct mt_str *out, uint64_t ns);
/* "-12.345 ms": relative to ZERO_NS, in the unit of a history that is LENGTH_NS long. */
void mt_text_time(struct mt_str *out, uint64_t time_ns, uint64_t zero_ns, uint64_t length_ns);

void mt_text_command(struct mt_str *out, struct mt_text_style *style, const char *command);
void mt_text_thread(struct mt_str *out, struct mt_text_style *style,
		    const struct mt_thread *thread);
/* The names of the columns, which mt_text_thread() has, too. */
void mt_text_head(struct mt_str *out, struct mt_text_style *style);
/* A SEGMENT sets the style's zero. */
void mt_text_entry(struct mt_str *out, struct mt_text_style *style,
		   const struct mt_text_entry *entry);
/* "213 samples of cpu-clock, every ~1.00 ms: what is not sampled is not seen" */
void mt_text_sampling(struct mt_str *out, const struct mt_sampling *sampling);
/* Stands for COUNT callers that are not shown. */
void mt_text_elided(struct mt_str *out, struct mt_text_style *style, size_t count);

#endif
