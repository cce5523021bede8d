/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions at functions' entries, and at their lines, as machine code, which runs in the program.
 *
 * An expression is compiled with the types and the rules of core/expr, whose evaluation it equals;
 * at an entry parameters lie where the System V ABI puts them, at a line all variables where DWARF
 * has them there.  What cannot be compiled is left to whoever can stop the thread and evaluate it.
 *
 * The code changes no register (flags are dead at an entry, and kept at a line), calls nothing, has
 * no loops but those over the bytes of a string, of a million at most, and writes to its own stack
 * frame only.  What it reads through pointers is read in pages that it knows to be there: a page is
 * probed by a system call that cannot fault, and then noted in the thread's slot.  From the first
 * read that fails on, all are made by a system call.  Where a page goes without such a warning,
 * between its note and a read, the tracer sees the fault before the program does. */
#ifndef MT_ENGINE_CALLS_CONDITION_CONDITION_H
#define MT_ENGINE_CALLS_CONDITION_CONDITION_H

#include "engine/calls/trampoline/trampoline.h"
#include "expr/expr.h"

/* In memory that the program and the tracer share; the program can write it. */
struct mt_condition_errors {
	uint32_t reads;     /* of memory that is not there */
	uint32_t divisions; /* by zero */
	uint64_t address;   /* of the last such read */
	uint32_t unmatched; /* ends of calls whose beginnings are not known */
	uint32_t lost;      /* beginnings whose ends did not come here */
	/* Of all conditions with the same limits, in the first one of them: */
	uint64_t hits;      /* so far */
	uint64_t next_tsc;  /* before that none counts: see mt_condition_limits */
	uint32_t is_over;   /* not 0: none counts any more */
	uint32_t proved;    /* pages that were probed, and there */
	uint64_t trust;     /* MT_CONDITION_TRUST and so on */
	uint32_t unset;     /* thread-local storage that the thread does not have yet */
	uint32_t undecided; /* $_regex met characters that it does not know */
};

/* Calls that take long are found by code at their beginnings and their ends; so are the times
 * between places, a thread's last coming to the one and its coming to the other: measure.c. */
enum mt_measure_part {
	MT_MEASURE_NOTHING,
	MT_MEASURE_BEGIN,
	MT_MEASURE_END,
	MT_MEASURE_SPAN_BEGIN,
	MT_MEASURE_SPAN_END,
	MT_MEASURE_SPAN_AGAIN, /* both at one place: the end of one, and the next one's beginning */
};

/* Somebody may stop there, if it took long. */
static inline bool mt_measure_is_end(enum mt_measure_part part)
{
	return part == MT_MEASURE_END || part == MT_MEASURE_SPAN_END ||
	       part == MT_MEASURE_SPAN_AGAIN;
}

struct mt_measure {
	enum mt_measure_part part;
	uint64_t key;   /* of all calls that are measured for the same sake */
	uint32_t word;  /* a span: where in the thread's table it has its beginning */
	uint64_t ticks; /* an end: it counts if it took more; 0: however long it took */
	/* An end: its beginning is looked up, and counts only if it is known. */
	bool looks_up;
	/* Ticks to nanoseconds, for $_duration: times `mult`, and down by 2^shift; mult 0: not
	 * known.
	 */
	uint32_t mult;
	uint16_t shift;
	bool counts; /* an end: it is of such calls alone; unmatched ones are counted */
	/* Only which calls began is of interest, and not when; no call is counted. */
	bool untimed;
	bool is_own; /* an end that is untimed: it counts, too, if its beginning is not known */
	/* An end: in a trampoline, in place of what steps back over the red zone. */
	bool at_return;
};
#define MT_MEASURE_STEP_BYTES 8

/* A string of a library's type (values/text.h): where its parts lie. */
struct mt_condition_text {
	bool is_text;
	/* The value's own slot has the object's address, in which the parts lie so far; else that
	 * of the characters, and the slot behind it their number. */
	bool in_memory;
	uint64_t start, count;
};

/* What is recorded, in place of a condition. */
struct mt_condition_value {
	const struct mt_expr *expr;
	uint32_t site;
	struct mt_type *type; /* of it, once it is compiled: a number, or a pointer, or a text */
	struct mt_condition_text text; /* likewise */
	/* The first bytes that it points to, or of the text, as well: what they are is said at
	 * MT_VALUE_STRING and MT_VALUE_TEXT, in sites behind its own. */
	bool is_string;
	unsigned slot; /* in the code, of a string */
	bool may_miss; /* once it is compiled: there may be no such value */
};

/* Which of the hits count: see struct mt_engine_limits. */
struct mt_condition_limits {
	uint64_t ignore, every, interval_ticks;
	bool can_end;
	uint64_t counts; /* address of the struct mt_condition_errors that has their number */
};

static inline bool mt_condition_is_limited(const struct mt_condition_limits *limits)
{
	return limits->ignore || limits->every > 1 || limits->interval_ticks || limits->can_end;
}

struct mt_condition_place {
	uint64_t entry;  /* of the function, in the process; or what ends it; or a line's */
	bool at_line;    /* that */
	uint64_t alive;  /* address of a word whose low 30 bits are 0 when nobody reads the rings */
	uint64_t errors; /* address of a struct mt_condition_errors */
	/* Its memory, as far as it tells where thread-local storage lies; lent for the call.  NULL:
	 * that of libraries is not known. */
	const struct mt_expr_frame *memory;
	struct mt_measure measure;
	struct mt_condition_limits limits;
	struct mt_condition_value *values; /* are recorded, and nobody stops */
	size_t value_count;
	/* Of the event that the function's trampoline records, which is recorded with the values
	 * where it does; 0: it is not. */
	uint32_t entry_site;
	uint32_t ring_bytes; /* 2^n */
	enum mt_ring_stamps stamps;
};

/* Of each thread: its open calls, by 4 a bucket, and behind them a word for each span, which says
 * when it began; 0: it did not.  Only the program reads it. */
#define MT_MEASURE_BUCKET_BITS  12
#define MT_MEASURE_BUCKET_BYTES 64
#define MT_MEASURE_CALLS_BYTES  (MT_MEASURE_BUCKET_BYTES << MT_MEASURE_BUCKET_BITS)
#define MT_MEASURE_SPANS        512u
#define MT_MEASURE_TABLE_BYTES  (MT_MEASURE_CALLS_BYTES + MT_MEASURE_SPANS * sizeof(uint64_t))
/* And pages that were there when it read them, a word each (read.c). */
#define MT_CONDITION_PAGES       512u
#define MT_CONDITION_PAGES_BYTES (MT_CONDITION_PAGES * sizeof(uint64_t))

struct mt_condition {
	/* It can lie anywhere, until what a line's jump displaces is behind it (line.c).  A thread
	 * that comes to its first byte leaves it at its end when the condition holds, else by a
	 * jump whose distance, the 4 bytes at `miss`, is still to be set. */
	struct mt_trampolines trampolines;
	uint32_t miss;
	/* Of the entry that is recorded with values, else 0: 4 bytes each.  The distance of a jump
	 * behind what the trampoline records; and, from 5 bytes on, that to the byte with which it
	 * begins to reserve a slot: MT_CONDITION_RECORDS, unless it records nothing.  Rows from
	 * where the event is whole are of MT_PHASE_RECORDED. */
	uint32_t behind, recording;
	/* Within [probe_begin, probe_end) these registers may be a system call's, or what floats
	 * are computed in; the thread's own lie in this order at the stack pointer: rdi, rsi, r8,
	 * r9, r10, r11.
	 */
	uint32_t probe_begin, probe_end;
	bool reads; /* it reads memory, and may do the system call */
};

#define MT_CONDITION_RECORDS 0xb8 /* mov eax, … */

/* Compiles EXPR, which was parsed at the function's entry.  With a beginning, what it holds for is
 * noted, and nobody stops; with an end, it is about the return, and what takes long enough.  In
 * both EXPR may be NULL. Errors: USAGE, NOT_FOUND (it means nothing, in the words of its
 * evaluation); UNSUPPORTED (it cannot be compiled: "x is optimized out"); NO_MEMORY. */
struct mt_error *mt_condition_compile(const struct mt_expr *expr,
				      const struct mt_condition_place *place,
				      struct mt_condition *out);
void mt_condition_deinit(struct mt_condition *condition);

#define MT_CONDITION_PROBE_REGISTERS 6u

/* What reads go by (condition/read.c).  0: each is probed; TRUST: noted pages are believed; WILD,
 * whatever else: a read failed, so from now on the system reads; but SANDBOXED: it is not asked to,
 * and each is probed. */
#define MT_CONDITION_SANDBOXED (1ull << 61)
#define MT_CONDITION_TRUST     (1ull << 62)
#define MT_CONDITION_WILD      (1ull << 63)
#define MT_CONDITION_PROOFS    1024u /* so many probes without a failure, and notes are believed */

#endif
