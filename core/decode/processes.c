/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/search.h"
#include "decode/processes_private.h"

#include "decode/kernel_code.h"
#include "perf/recording_writer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_PID (-1)

/* uthash with HASH_NONFATAL_OOM leaves hh.tbl NULL when it could not add. */
#define add_or_free(head, field, item)                                                             \
	do {                                                                                       \
		HASH_ADD_INT(head, field, item);                                                   \
		if (!(item)->hh.tbl) {                                                             \
			free(item);                                                                \
			(item) = NULL;                                                             \
		}                                                                                  \
	} while (0)

static struct mt_error *epoch_begin(struct mt_processes *processes, struct mt_process *process,
				    uint64_t time_ns, const struct mt_space *like)
{
	struct mt_epoch *epoch = calloc(1, sizeof(*epoch));

	if (!epoch || mt_array_push(&process->epochs, epoch)) {
		free(epoch);
		return mt_error_no_memory();
	}
	epoch->begin_ns = time_ns;
	mt_try(like ? mt_space_copy(like, &epoch->space)
		    : mt_space_create(processes->files->pool, process->pid, &epoch->space));
	mt_space_symbolizer_init(&epoch->symbolizer, epoch->space, processes->kernel,
				 !processes->options->no_inlines, processes->call_sites,
				 &processes->lock);
	return NULL;
}

struct mt_error *mt_process_split(struct mt_processes *processes, struct mt_process *process,
				  uint64_t time_ns)
{
	const struct mt_epoch *like = mt_process_epoch_at(process, time_ns);
	size_t at = process->epochs.count;

	if (like->begin_ns >= time_ns)
		return NULL;
	mt_try(epoch_begin(processes, process, time_ns, like->space));
	struct mt_epoch *epoch = process->epochs.items[at];
	for (; process->epochs.items[at - 1]->begin_ns > time_ns; at--)
		process->epochs.items[at] = process->epochs.items[at - 1];
	process->epochs.items[at] = epoch;
	return NULL;
}

static struct mt_epoch *latest(const struct mt_process *process)
{
	return process->epochs.count ? *mt_array_last(&process->epochs) : NULL;
}

static struct mt_error *process_find(struct mt_processes *processes, int pid,
				     struct mt_process **out)
{
	struct mt_process *process = NULL;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return mt_error_no_memory();
		process->pid = pid;
		add_or_free(processes->by_pid, pid, process);
		if (!process)
			return mt_error_no_memory();
	}
	*out = process;
	return process->epochs.count ? NULL : epoch_begin(processes, process, 0, NULL);
}

static struct mt_process_thread *thread_find(struct mt_processes *processes, int tid)
{
	struct mt_process_thread *thread = NULL;

	HASH_FIND_INT(processes->by_tid, &tid, thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->pid = tid;
	add_or_free(processes->by_tid, tid, thread);
	return thread;
}

struct mt_process_thread *mt_processes_thread(struct mt_processes *processes, int tid)
{
	pthread_mutex_lock(&processes->lock);
	struct mt_process_thread *thread = thread_find(processes, tid);
	struct mt_error *error = NULL;

	if (thread && !thread->process)
		error = process_find(processes, thread->pid, &thread->process);
	pthread_mutex_unlock(&processes->lock);
	mt_error_destroy(error);
	return error ? NULL : thread;
}

const char *mt_processes_name_of(struct mt_processes *processes, const struct mt_process_thread *of)
{
	struct mt_process_thread *main_thread = NULL;

	pthread_mutex_lock(&processes->lock);
	HASH_FIND_INT(processes->by_tid, &of->pid, main_thread);
	pthread_mutex_unlock(&processes->lock);
	return main_thread ? main_thread->name : NULL;
}

const struct mt_cpu_timeline *mt_processes_cpu(const struct mt_processes *processes, int cpu)
{
	struct mt_cpu_timeline *timeline = NULL;

	HASH_FIND_INT(processes->by_cpu, &cpu, timeline);
	return timeline;
}

/* A vDSO has no file: of a recording made here, ours is the same one. */
static struct mt_error *add_vdso(struct mt_processes *processes, struct mt_space *space,
				 const struct mt_mapping *mapping)
{
	if (!processes->made_here)
		return mt_space_add(space, mapping);
	if (!processes->files->vdso) {
		struct mt_error *error =
		    mt_vdso_open(&processes->files->vdso, &processes->files->vdso_path);

		if (error) {
			mt_log(processes->options->log, MT_LOG_WARNING, "%s",
			       mt_error_message(error));
			mt_error_destroy(error);
			processes->made_here = false;
			return mt_space_add(space, mapping);
		}
	}
	return mt_space_add_objfile(space, mapping, processes->files->vdso);
}

static struct mt_error *on_mmap(struct mt_processes *processes, const struct mt_sideband *record)
{
	struct mt_mapping mapping = {
	    .start = record->mmap.start,
	    .end = record->mmap.start + record->mmap.length,
	    .offset = record->mmap.offset,
	    .path = record->mmap.path,
	    .build_id = {.size = record->mmap.build_id_size},
	};
	struct mt_process *process = NULL;

	if (!record->mmap.executable || mapping.end <= mapping.start)
		return NULL;
	memcpy(mapping.build_id.bytes, record->mmap.build_id, sizeof(mapping.build_id.bytes));
	if (record->mmap.kernel || record->pid == KERNEL_PID)
		return mt_space_add(processes->kernel, &mapping);
	mt_try(process_find(processes, record->pid, &process));
	if (mt_space_conflicts(latest(process)->space, &mapping))
		mt_try(epoch_begin(processes, process, record->time_ns, latest(process)->space));
	if (strcmp(mapping.path, "[vdso]") == 0)
		return add_vdso(processes, latest(process)->space, &mapping);
	return mt_space_add(latest(process)->space, &mapping);
}

static struct mt_process_thread *thread_of(struct mt_processes *processes,
					   const struct mt_sideband *record)
{
	struct mt_process_thread *thread = thread_find(processes, record->tid);

	if (thread && record->pid > 0)
		thread->pid = record->pid;
	return thread;
}

static struct mt_error *on_comm(struct mt_processes *processes, const struct mt_sideband *record)
{
	struct mt_process_thread *thread = thread_of(processes, record);
	struct mt_process *process = NULL;

	if (!thread)
		return mt_error_no_memory();
	thread->name = record->comm.name;
	if (!record->comm.exec)
		return NULL;
	mt_try(process_find(processes, record->pid, &process));
	if (!mt_space_mapping_count(latest(process)->space))
		return NULL;
	mt_process_end_objects(process, record->time_ns);
	mt_try(epoch_begin(processes, process, record->time_ns, NULL));
	latest(process)->exec = true;
	return NULL;
}

/* A new thread has its maker's name, a new process its maker's mappings as well. */
static struct mt_error *on_fork(struct mt_processes *processes, const struct mt_sideband *record)
{
	struct mt_process_thread *thread = thread_of(processes, record);
	struct mt_process_thread *parent = thread_find(processes, record->fork.parent_tid);
	struct mt_process *from = NULL, *child = NULL;

	if (!thread || !parent)
		return mt_error_no_memory();
	if (!thread->name)
		thread->name = parent->name;
	if (record->pid == record->fork.parent_pid)
		return NULL;
	mt_try(process_find(processes, record->fork.parent_pid, &from));
	mt_try(process_find(processes, record->pid, &child));
	return epoch_begin(processes, child, record->time_ns, latest(from)->space);
}

static struct mt_error *on_switch(struct mt_processes *processes, const struct mt_sideband *record)
{
	struct mt_cpu_timeline *timeline = NULL;
	struct mt_cpu_switch change = {record->time_ns, record->tid};

	if (record->cpu < 0)
		return NULL;
	if (record->kind == MT_SIDEBAND_SWITCH && record->context_switch.out)
		change.tid =
		    record->context_switch.other_tid > 0 ? record->context_switch.other_tid : 0;
	HASH_FIND_INT(processes->by_cpu, &record->cpu, timeline);
	if (!timeline) {
		timeline = calloc(1, sizeof(*timeline));
		if (!timeline)
			return mt_error_no_memory();
		timeline->cpu = record->cpu;
		add_or_free(processes->by_cpu, cpu, timeline);
	}
	if (!timeline)
		return mt_error_no_memory();
	bool changes =
	    !timeline->switches.count || mt_array_last(&timeline->switches)->tid != change.tid;
	if (changes && mt_array_push(&timeline->switches, change))
		return mt_error_no_memory();
	return thread_of(processes, record) ? NULL : mt_error_no_memory();
}

static bool is_note(const char *name, enum mt_recording_note note)
{
	return name && strcmp(name, mt_recording_note_names[note]) == 0;
}

static struct mt_error *on_sample(struct mt_processes *processes, const struct mt_sideband *record)
{
	const char *name = mt_recording_event_name(processes->recording, record->sample.event);
	struct mt_process_thread *thread = thread_of(processes, record);

	if (!thread)
		return mt_error_no_memory();
	if (record->sample.stack.size)
		return NULL;
	const bool is_object = is_note(name, MT_NOTE_OBJECT);
	if (is_object || is_note(name, MT_NOTE_OBJECT_GONE)) {
		struct mt_process *process;

		mt_try(process_find(processes, record->pid, &process));
		return is_object ? mt_process_note_object(process, record)
				 : mt_process_note_object_gone(process, record);
	}
	/* Of no moment, or of another note's, and so not what a thread's last note is: values.c,
	 * python_at.c. */
	if (is_note(name, MT_NOTE_VALUE_IS) || is_note(name, MT_NOTE_OPEN_CALL) ||
	    is_note(name, MT_NOTE_PYTHON_TEXT) || is_note(name, MT_NOTE_PYTHON_AT))
		return NULL;
	/* Notes of side tracks are many, and nothing to the calls. */
	for (int note = MT_NOTE_FIRST_SIDE; note < MT_NOTE_COUNT; note++)
		if (is_note(name, note))
			return NULL;
	return mt_array_push(&thread->notes, record) ? mt_error_no_memory() : NULL;
}

static struct mt_error *on_record(struct mt_processes *processes, const struct mt_sideband *record)
{
	switch (record->kind) {
	case MT_SIDEBAND_MMAP:
		return on_mmap(processes, record);
	case MT_SIDEBAND_COMM:
		return on_comm(processes, record);
	case MT_SIDEBAND_FORK:
		return on_fork(processes, record);
	case MT_SIDEBAND_SWITCH:
	case MT_SIDEBAND_ITRACE_START:
		return on_switch(processes, record);
	case MT_SIDEBAND_SAMPLE:
		return on_sample(processes, record);
	case MT_SIDEBAND_LOST:
		return record->tid > 0 && mt_recording_call_thread_count(processes->recording)
			   ? on_sample(processes, record)
			   : NULL;
	default:
		return NULL;
	}
}

/* Symbols that no mapping brings: the kernel's, and those that a JIT compiler wrote down. */
static struct mt_error *add_other_symbols(struct mt_processes *processes)
{
	const char *kallsyms = processes->options->kallsyms;
	char kept[PATH_MAX];
	struct mt_error *error = NULL;

	if (!kallsyms && mt_processes_kept_of_kernel(processes, "kallsyms", kept, sizeof(kept)))
		kallsyms = kept;
	else if (!kallsyms && processes->made_here)
		kallsyms = "/proc/kallsyms";
	if (kallsyms && mt_space_mapping_count(processes->kernel))
		error = mt_space_add_kallsyms(processes->kernel, kallsyms);
	if (error) {
		mt_log(processes->options->log, MT_LOG_WARNING, "%s", mt_error_message(error));
		mt_error_destroy(error);
	}
	for (struct mt_process *process = processes->by_pid; process; process = process->hh.next) {
		mt_try(mt_process_place_objects(processes, process));
		mt_array_each (epoch, &process->epochs)
			mt_try(mt_space_add_made((*epoch)->space));
	}
	return NULL;
}

static struct mt_error *read_recording(struct mt_processes *processes)
{
	struct mt_recording *recording = processes->recording;
	const struct mt_sideband *records = mt_recording_sideband(recording);

	for (size_t i = 0; i < mt_recording_sideband_count(recording); i++)
		mt_try(on_record(processes, &records[i]));
	/* Call events name their process, even where nothing else speaks of the thread. */
	for (size_t i = 0; i < mt_recording_call_thread_count(recording); i++) {
		const struct mt_recording_call_thread *calls =
		    mt_recording_call_thread(recording, i);
		struct mt_process_thread *thread = thread_find(processes, calls->tid);

		if (!thread)
			return mt_error_no_memory();
		if (calls->pid > 0)
			thread->pid = calls->pid;
	}
	return add_other_symbols(processes);
}

struct mt_error *mt_processes_create(struct mt_recording *recording,
				     const struct mt_decode_options *options,
				     struct mt_processes **out)
{
	struct mt_processes *processes = calloc(1, sizeof(*processes));
	struct mt_error *error = NULL;

	if (!processes)
		return mt_error_no_memory();
	pthread_mutex_init(&processes->lock, NULL);
	processes->recording = recording;
	processes->options = options;
	processes->made_here = mt_kernel_is_running(mt_recording_info(recording)->os_release);
	processes->files = options->files ? *options->files : NULL;
	if (!processes->files)
		error = mt_decode_files_create(&options->objfile, &processes->files);
	if (!error && options->files)
		*options->files = processes->files;
	if (!error)
		error = mt_space_create(processes->files->pool, KERNEL_PID, &processes->kernel);
	processes->call_sites = mt_call_sites_create();
	if (!error && !processes->call_sites)
		error = mt_error_no_memory();
	if (!error)
		error = mt_pt_image_cache_create(&processes->images);
	if (!error)
		error = read_recording(processes);
	if (error) {
		mt_processes_destroy(processes);
		return error;
	}
	*out = processes;
	return NULL;
}

static void let_files_go(struct mt_processes *processes)
{
	struct mt_decode_files **kept = processes->options->files;

	if (!kept || !*kept)
		mt_decode_files_destroy(processes->files);
}

void mt_processes_destroy(struct mt_processes *processes)
{
	struct mt_process *process, *next_process;
	struct mt_process_thread *thread, *next_thread;
	struct mt_cpu_timeline *cpu, *next_cpu;

	if (!processes)
		return;
	HASH_ITER (hh, processes->by_pid, process, next_process) {
		HASH_DEL(processes->by_pid, process);
		mt_array_each (epoch, &process->epochs) {
			mt_pt_image_destroy((*epoch)->image);
			mt_array_each (missing, &(*epoch)->missing)
				mt_error_destroy(missing->why);
			mt_array_deinit(&(*epoch)->missing);
			mt_space_destroy((*epoch)->space);
			free(*epoch);
		}
		mt_array_deinit(&process->epochs);
		mt_process_forget_objects(process);
		free(process);
	}
	HASH_ITER (hh, processes->by_tid, thread, next_thread) {
		HASH_DEL(processes->by_tid, thread);
		mt_array_deinit(&thread->notes);
		free(thread);
	}
	HASH_ITER (hh, processes->by_cpu, cpu, next_cpu) {
		HASH_DEL(processes->by_cpu, cpu);
		mt_array_deinit(&cpu->switches);
		free(cpu);
	}
	mt_pt_image_cache_destroy(processes->images);
	mt_space_destroy(processes->kernel);
	let_files_go(processes);
	mt_call_sites_destroy(processes->call_sites);
	mt_array_deinit(&processes->missing);
	pthread_mutex_destroy(&processes->lock);
	free(processes);
}

struct mt_epoch *mt_process_epoch_at(const struct mt_process *process, uint64_t time_ns)
{
	const size_t behind = mt_partition_point(i, 1, process->epochs.count,
						 process->epochs.items[i]->begin_ns <= time_ns);

	return process->epochs.items[behind - 1];
}

struct mt_space_pool *mt_processes_pool(const struct mt_processes *processes)
{
	return processes->files->pool;
}
