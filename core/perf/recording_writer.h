/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a perf.data that `perf script` and `perf report` read.
 *
 * Records go out as they come (what is written survives a crash of ours in the temporary file);
 * finish() writes the features and the header and renames the file to its final name.
 *
 * Besides Intel PT, a recording carries notes: samples of events with names of ours, which perf
 * shows by these names:
 *
 * - mtrace:signal: IP = PC, ADDR = si_addr, WEIGHT = signal number, before its delivery; of a fault
 *   in the upper half of WEIGHT: how many ns before, at the most, it happened
 * - mtrace:trigger: IP = PC, WEIGHT = the trigger's number, RAW = its location, its condition, what
 *   was printed, and registers, each with a NUL at its end, then more NULs
 * - mtrace:snapshot: WEIGHT = the snapshot's number, of each thread, when its ring was read
 * - mtrace:exit: WEIGHT = the wait status, when a thread ended
 * - mtrace:throttle: IP = a function that is not recorded from here on in this process
 * - mtrace:unwritten: what the thread did before was recorded, and is lost, since the recorder was
 *   asked to end and took too long; WEIGHT = bytes
 * - mtrace:off-cpu: WEIGHT = why: the kernel's bits of a task's state (sched_switch, prev_state) or
 *   an enum mt_off_cpu; CPU = which it left
 * - mtrace:on-cpu: CPU = where it runs now
 * - mtrace:fault: a page fault; IP = PC, ADDR = what was accessed, WEIGHT = 1 for a major one
 * - mtrace:syscall: WEIGHT = number, RAW = six arguments of 8 bytes each
 * - mtrace:sysret: WEIGHT = number, ADDR = what it returned
 * - mtrace:counter: WEIGHT = value, with ADDR 1 the bits of a double, RAW = the counter's name,
 * with a NUL at its end
 * - mtrace:span: a span of the program's own begins, RAW = its name, with a NUL at its end;
 *   mtrace:span-end: the innermost one that is open ends
 * - mtrace:mark: IP = PC, RAW = the program's words, with a NUL at their end
 * - mtrace:value-is: what a number of mtrace:value means: WEIGHT = the number, IP = the function,
 *   ADDR = 1 for its result, RAW = the argument's name, a letter (trace/recorded_values.h, enum
 *   mt_value_form) with the type's size in bytes, and of an enumeration its enumerators and their
 * numbers, each with a NUL at its end, then more NULs
 * - mtrace:open-call: a call that is open at the end of the snapshot WEIGHT (0: of one without a
 *   number): IP = in its function, ADDR = where its return address lies, RAW = its arguments; of an
 *   interpreter of Python's loop also "1 2", how many functions that it ran are left out, and how
 *   many follow, outermost first: name, file, "1 2", its first line and the one where it stands;
 *   each with a NUL at its end, then more NULs
 * - mtrace:object: a piece of an object file that was registered for GDB (process/jit_list.h), as
 *   it was settled: WEIGHT = its number in the process, ADDR = where in the file the piece begins,
 *   RAW = a struct mt_object_piece, the bytes, then zeros; mtrace:object-gone: it is registered no
 *   more, WEIGHT = its number, ADDR = when it was last seen, in ns
 * - mtrace:missed: older events of the kernel than this time were overwritten
 *
 * and call events (trace/event.h), with IP = `to`, ADDR = `from`, the stack pointer, and of a call
 * WEIGHT = the address that it returns to; the names with a ~ say that the time is an estimate:
 * mtrace:call, mtrace:call~, mtrace:return, mtrace:return~, mtrace:frame, mtrace:again; and
 * mtrace:value, what the call or the return behind it was called with or returned: IP = the value,
 * ADDR = the stack pointer, WEIGHT = which value it is; in a recording without a name of its own
 * mtrace:calls instead, many of them packed (perf/call_batch.h);
 *
 * or samples of stacks, of an event of the kernel's; and mtrace:stack, which are laid out like
 * them: where a thread was stopped. */
#ifndef MT_PERF_RECORDING_WRITER_H
#define MT_PERF_RECORDING_WRITER_H

#include "perf/recording.h"

#include <linux/perf_event.h>

struct mt_recording_writer;

struct mt_recording_writer_options {
	/* NULL: no Intel PT; cpu_… go to the CPUID feature; `filtered`: by what
	 * mt_recording_writer_set_filter() will tell. */
	const struct mt_recording_pt *pt;
	bool calls; /* it will hold call events */
	/* Of the event whose samples of stacks it will hold, with MT_RECORDING_STACK_TYPE; NULL:
	 * none.  Not with PT or CALLS. */
	const struct perf_event_attr *stacks;
	struct mt_time_conversion conversion;
	const char *beside; /* without a path: a file beside this one; NULL: without a name */
	const char *const *command; /* argv of the traced program, NULL at its end; or NULL */
};

/* PATH NULL: an unlinked temporary file, to be read with mt_recording_writer_reopen() only.
 * Errors: as creating a file; NO_MEMORY. */
struct mt_error *mt_recording_writer_create(const char *path,
					    const struct mt_recording_writer_options *options,
					    struct mt_recording_writer **out);
/* Without a finish before: takes the temporary file away.  NULL is fine. */
void mt_recording_writer_destroy(struct mt_recording_writer *writer);

/* A new recording at PATH (as above) that holds all that was put into this one so far, and goes its
 * own way from there.  Errors: as creating a file; NO_MEMORY; SYSTEM. */
struct mt_error *mt_recording_writer_copy(struct mt_recording_writer *writer, const char *path,
					  struct mt_recording_writer **out);

/* The address filters, as the kernel took them.  Counts once, and before there is AUX data. Errors:
 * NO_MEMORY. */
struct mt_error *mt_recording_writer_set_filter(struct mt_recording_writer *writer,
						const char *text);

/* `record`'s time_ns, pid, tid, cpu and its kind's own fields count.  For SAMPLE, `event` is an
 * enum mt_recording_note.  Times may come in any order.  Errors: SYSTEM. */
struct mt_error *mt_recording_writer_put(struct mt_recording_writer *writer,
					 const struct mt_sideband *record);

enum mt_recording_note {
	MT_NOTE_SIGNAL,
	MT_NOTE_TRIGGER,
	MT_NOTE_SNAPSHOT,
	MT_NOTE_EXIT,
	MT_NOTE_THROTTLE,
	MT_NOTE_VALUE_IS,
	MT_NOTE_OPEN_CALL,
	MT_NOTE_OWN_STACK, /* `address`: right above the thread's own stack, of `weight` bytes at
			      most */
	MT_NOTE_UNWRITTEN, /* `weight`: bytes */
	MT_NOTE_OBJECT,
	MT_NOTE_OBJECT_GONE,
	MT_NOTE_PYTHON_TEXT, /* what the sum `address` is of (trace/python_calls.h); raw: a string
			      */
	MT_NOTE_PYTHON_AT,   /* where the thread stands; raw: a string */
	MT_NOTE_OFF_CPU,     /* from here on those of side tracks */
	MT_NOTE_ON_CPU,
	MT_NOTE_FAULT,
	MT_NOTE_SYSCALL,
	MT_NOTE_SYSRET,
	MT_NOTE_COUNTER, /* `address` 1: `weight` is the bits of a double */
	MT_NOTE_MARK,
	MT_NOTE_MISSED,
	MT_NOTE_SPAN, /* begins; the innermost one ends with the next */
	MT_NOTE_SPAN_END,
	MT_NOTE_COUNT,
	MT_NOTE_FIRST_SIDE = MT_NOTE_OFF_CPU
};

/* Of a file of SIZE bytes that had not been there yet at SINCE_NS; BYTES behind this are its. */
struct mt_object_piece {
	uint64_t since_ns;
	uint64_t size;
	uint32_t bytes, zero;
};
#define MT_OBJECT_PIECE_BYTES 4000u /* at the most */

enum mt_off_cpu {
	MT_OFF_CPU_PREEMPTED = 0,
	MT_OFF_CPU_UNKNOWN = 1 << 16,
};

extern const char *const mt_recording_note_names[MT_NOTE_COUNT];

/* Append AUX data: file_offset of `piece` is ignored; a size that is no multiple of 8 is padded
 * with PT's PAD bytes.  Errors: SYSTEM. */
struct mt_error *mt_recording_writer_put_aux(struct mt_recording_writer *writer,
					     const struct mt_auxtrace *piece, const uint8_t *bytes);

/* The same of bytes that lie in two parts; the second may be empty. */
struct mt_error *mt_recording_writer_put_aux_parts(struct mt_recording_writer *writer,
						   const struct mt_auxtrace *piece,
						   const uint8_t *const parts[2],
						   const size_t part_bytes[2]);

/* Append call events of one thread, in the order in which they happened; later ones of the thread
 * come by later calls.  Frames go from the innermost outwards, and are what is open at that point:
 * before the first event, or after the last.  Errors: SYSTEM. */
struct mt_error *mt_recording_writer_put_calls(struct mt_recording_writer *writer, int32_t pid,
					       int32_t tid, const struct mt_event *calls,
					       size_t count);

/* The fields with which samples of stacks begin, and what the kernel puts behind them. */
#define MT_RECORDING_STACK_TYPE                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)
enum mt_recording_stack {
	MT_STACK_TIMED, /* by the event: it stands for the time since the last one */
	MT_STACK_STOP,  /* of a thread that was stopped there */
};

/* Append a sample of a stack, as it is in a ring of the event; its time becomes TIME_NS.  Errors:
 * SYSTEM. */
struct mt_error *mt_recording_writer_put_stack(struct mt_recording_writer *writer,
					       enum mt_recording_stack kind,
					       const struct perf_event_header *sample,
					       uint64_t time_ns);

/* What was put so far is whole: whoever opens the file finds it, also if we are killed.  From now
 * on the file stays, under its temporary name if it comes to no other.  Errors: SYSTEM. */
struct mt_error *mt_recording_writer_keep(struct mt_recording_writer *writer);
/* Its directory is gone: what was kept, and finished, goes to a file in $TMPDIR or /tmp, which
 * stays. Errors: as creating a file; SYSTEM. */
struct mt_error *mt_recording_writer_rescue(struct mt_recording_writer *writer);
/* Nothing more can be written to it. */
bool mt_recording_writer_has_failed(const struct mt_recording_writer *writer);
/* How large it is by now. */
uint64_t mt_recording_writer_bytes(const struct mt_recording_writer *writer);
/* What its file system has left, for us.  Errors: SYSTEM. */
struct mt_error *mt_recording_writer_free_bytes(const struct mt_recording_writer *writer,
						uint64_t *free_bytes);
/* A file beside another one is not needed any more. */
void mt_recording_writer_drop(struct mt_recording_writer *writer);
/* Where what was kept lies.  NULL: nothing was, or nowhere.  Lent. */
const char *mt_recording_writer_kept(const struct mt_recording_writer *writer);
/* Errors: SYSTEM. */
struct mt_error *mt_recording_writer_finish(struct mt_recording_writer *writer);
/* After finish: open what was written, also when it has no name. */
struct mt_error *mt_recording_writer_reopen(struct mt_recording_writer *writer,
					    struct mt_recording **out);

#endif
