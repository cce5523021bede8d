/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arguments that the timeline formats show of a slice or an instant, apart from its name and
 * times: one list, so that fxt and json say the same. */
#ifndef MT_OUTPUT_ARGS_H
#define MT_OUTPUT_ARGS_H

#include "trace/slice.h"

#include <stdbool.h>

enum mt_arg_name {
	MT_ARG_ADDRESS, /* where control entered; of a signal: what could not be reached */
	MT_ARG_FILE,    /* of the callee's definition; of an instant: of the PC */
	MT_ARG_LINE,
	MT_ARG_CALL, /* the call site: "file:line", or its address */
	MT_ARG_MODULE,
	MT_ARG_INLINED,
	MT_ARG_INFERRED,
	MT_ARG_TAIL_CALL,
	MT_ARG_TIME_ESTIMATED,
	MT_ARG_SIGNAL_HANDLER,
	MT_ARG_CAUSE,
	MT_ARG_BYTES_LOST,
	MT_ARG_UNWOUND, /* these three stand on ends */
	MT_ARG_END_LOST,
	MT_ARG_END_ESTIMATED,
	MT_ARG_PC,
	MT_ARG_FUNCTION,
	MT_ARG_NUMBER, /* of a signal, a trigger, a snapshot */
	MT_ARG_EXIT_STATUS,
	MT_ARG_SIGNAL,
	MT_ARG_LEFT_OUT, /* calls deeper than the format can hold */
	MT_ARG_DEEPEST,
	MT_ARG_PROCESS,
	MT_ARG_LOCATION, /* these five are of a trigger's hit */
	MT_ARG_CONDITION,
	MT_ARG_VALUES,
	MT_ARG_REGISTERS,
	MT_ARG_THREAD,
	MT_ARG_ARGUMENTS, /* these two are of a call, or a system call */
	MT_ARG_RESULT,
	MT_ARG_REASON,  /* why a thread went off the CPU, or the program asked for a snapshot */
	MT_ARG_VALUE,   /* of a counter */
	MT_ARG_SAMPLES, /* in how many a sampled frame was; on its end */
	MT_ARG_CALL_ID, /* one on all slices of a call that was cut by a loss */
	MT_ARG_NAMES
};

/* Of arrows, in formats in which they have one. */
#define MT_FLOW_NAME     "wakes"
#define MT_CATEGORY_FLOW "goroutine"

enum mt_arg_type {
	MT_ARG_TYPE_POINTER,
	MT_ARG_TYPE_INTEGER,
	MT_ARG_TYPE_REAL, /* `number`: the bits of a double */
	MT_ARG_TYPE_BOOL,
	MT_ARG_TYPE_TEXT,  /* `text`, for the whole run */
	MT_ARG_TYPE_PLACE, /* "text:number" */
};

struct mt_arg {
	uint8_t name; /* enum mt_arg_name */
	uint8_t type; /* enum mt_arg_type */
	uint64_t number;
	const char *text;
};

#define MT_ARGS_MAX 15 /* as many as a record of the Fuchsia trace format takes */

struct mt_args {
	struct mt_arg items[MT_ARGS_MAX];
	size_t count;
};

/* "address", "file", …: lent, static. */
const char *mt_arg_name_text(enum mt_arg_name name);

/* Append; what is over MT_ARGS_MAX is left out. */
void mt_args_add(struct mt_args *args, enum mt_arg_name name, enum mt_arg_type type,
		 uint64_t number, const char *text);
void mt_args_of_slice(struct mt_args *args, const struct mt_slice *slice);
void mt_args_of_end(struct mt_args *args, const struct mt_slice_end *end);
void mt_args_of_instant(struct mt_args *args, const struct mt_instant *instant);

void mt_args_of_counter(struct mt_args *args, const struct mt_counter *counter);
void mt_args_of_snapshot(struct mt_args *args, const struct mt_thread_segment *segment);

/* The kind of a slice or instant, by which a viewer can distinguish and filter them. */
#define MT_CATEGORY_CALL    "call"
#define MT_CATEGORY_INLINED "inlined"
#define MT_CATEGORY_SAMPLED "sampled" /* seen in samples alone, called or inlined */
#define MT_CATEGORY_KERNEL  "kernel"  /* the kernel, which was not traced */
#define MT_CATEGORY_LOST    "lost"
#define MT_CATEGORY_MARK    "mark"
#define MT_CATEGORY_COUNTER "counter"
const char *mt_slice_category(const struct mt_slice *slice);
const char *mt_instant_category(const struct mt_instant *instant);

#define MT_SNAPSHOT_NAME "snapshot" /* the instant at the end of a snapshot's segment */
/* "SIGSEGV", "trigger", "[lost: …]", a hit's location, "snapshot: queue full": lent for the run. */
const char *mt_instant_name(const struct mt_instant *instant);
/* Whether si_addr means something: it is a fault's address. */
bool mt_signal_has_address(uint32_t number);

#endif
