/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_DECODE_PROCESSES_PRIVATE_H
#define MT_DECODE_PROCESSES_PRIVATE_H

#include "decode/processes.h"

struct mt_processes {
	/* Held while anything is made at its first use: threads, images, and what spaces find. */
	pthread_mutex_t lock;
	struct mt_recording *recording;
	const struct mt_decode_options *options;
	struct mt_decode_files *files;
	struct mt_call_sites *call_sites;
	struct mt_space *kernel;
	struct mt_pt_image_cache *images;
	struct mt_process *by_pid;
	struct mt_process_thread *by_tid;
	struct mt_cpu_timeline *by_cpu;
	bool made_here;                 /* on the kernel that runs now */
	MT_ARRAY(const char *) missing; /* paths whose problem was logged */
};

/* From TIME_NS on the process has an epoch of its own, like the one that it was in.  Errors:
 * NO_MEMORY. */
struct mt_error *mt_process_split(struct mt_processes *processes, struct mt_process *process,
				  uint64_t time_ns);

/* processes_code.c */
/* The path of what perf record --kcore kept of the kernel under NAME.  False: nothing. */
bool mt_processes_kept_of_kernel(const struct mt_processes *processes, const char *name, char *path,
				 size_t size);

/* objects.c: object files that were registered in the process's memory (process/jit_list.h). */
/* A note of one.  Garbled ones are left out.  Errors: NO_MEMORY. */
struct mt_error *mt_process_note_object(struct mt_process *process,
					const struct mt_sideband *record);
struct mt_error *mt_process_note_object_gone(struct mt_process *process,
					     const struct mt_sideband *record);
/* The process runs another program from now on. */
void mt_process_end_objects(struct mt_process *process, uint64_t time_ns);
/* All are known: put each into the epochs in which it was there.  Errors: NO_MEMORY. */
struct mt_error *mt_process_place_objects(struct mt_processes *processes,
					  struct mt_process *process);
void mt_process_forget_objects(struct mt_process *process);

#endif
