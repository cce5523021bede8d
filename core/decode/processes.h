/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who was there while a recording was made, out of its sideband: processes with what was mapped in
 * them at which time, threads with their names and notes, and who ran on a CPU when.
 *
 * A process's time is cut into epochs: within one, mappings only come, so that one address space
 * (space/space.h) and one code image (pt/decoder.h) hold for all of it; exec and a mapping that
 * replaces another begin a new one. */
#ifndef MT_DECODE_PROCESSES_H
#define MT_DECODE_PROCESSES_H

#include "base/array.h"
#include "decode/decode.h"
#include "decode/symbolizer.h"
#include "pt/decoder.h"

#include <uthash.h>

/* A mapping's code that could not be had. */
struct mt_missing_code {
	struct mt_processes *processes;
	const char *path;
	struct mt_error *why;
};

struct mt_epoch {
	uint64_t begin_ns; /* until the next one's */
	bool exec;         /* it begins with a new program */
	struct mt_space *space;
	struct mt_space_symbolizer symbolizer;
	struct mt_pt_image *image;                /* made at its first use, */
	MT_ARRAY(struct mt_missing_code) missing; /* and what is not in it */
};

/* An object file that was registered in its memory. */
struct mt_process_object {
	uint64_t number;
	uint64_t since_ns, until_ns; /* it may have been there */
	uint64_t seen_ns;            /* last; where it went */
	uint64_t size;
	MT_ARRAY(uint8_t) bytes;
};

struct mt_process {
	int pid;
	MT_ARRAY(struct mt_epoch *) epochs; /* at least one, by time */
	MT_ARRAY(struct mt_process_object) objects;
	size_t first_object; /* of its program */
	UT_hash_handle hh;
};

struct mt_process_thread {
	int tid;
	int pid;
	const char *name;           /* NULL: not known */
	struct mt_process *process; /* set for all once the sideband was read */
	/* The samples of our notes (perf/recording_writer.h) and, with call events, where some were
	 * lost; by time. */
	MT_ARRAY(const struct mt_sideband *) notes;
	UT_hash_handle hh;
};

struct mt_cpu_switch {
	uint64_t time_ns;
	int tid; /* who runs from now on; 0: no thread, or not known */
};

struct mt_cpu_timeline {
	int cpu;
	MT_ARRAY(struct mt_cpu_switch) switches;
	UT_hash_handle hh;
};

struct mt_processes;

/* Everything is lent by the recording, which must outlive it. */
struct mt_error *mt_processes_create(struct mt_recording *recording,
				     const struct mt_decode_options *options,
				     struct mt_processes **out);
void mt_processes_destroy(struct mt_processes *processes); /* NULL is fine */

/* Any thread may call the next six, and ask the symbolizer of an epoch.  What they give does not
 * change any more.
 *
 * The thread of that id, made if the sideband never named it.  NULL: no memory. */
struct mt_process_thread *mt_processes_thread(struct mt_processes *processes, int tid);
/* The name of a thread's process: its main thread's.  NULL: not known. */
const char *mt_processes_name_of(struct mt_processes *processes,
				 const struct mt_process_thread *of);
/* NULL: the recording has no switch of that CPU. */
const struct mt_cpu_timeline *mt_processes_cpu(const struct mt_processes *processes, int cpu);

struct mt_epoch *mt_process_epoch_at(const struct mt_process *process, uint64_t time_ns);
/* NULL: no code at all, or no memory. */
struct mt_pt_image *mt_processes_image(struct mt_processes *processes, struct mt_epoch *epoch);
/* The epoch's image is used: log what is missing in it.  However often, and by whomever, each file
 * comes out once: the one who is told first. */
void mt_epoch_log_missing(struct mt_epoch *epoch);
/* Mappings whose code could not be had; each was logged once. */
uint32_t mt_processes_missing_files(const struct mt_processes *processes);
/* Says of which files functions were shown without their names, and why. */
void mt_processes_log_nameless(struct mt_processes *processes);
/* That of all spaces.  Lent. */
struct mt_space_pool *mt_processes_pool(const struct mt_processes *processes);

#endif
