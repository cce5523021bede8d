/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/processes.h"

#include "decode/kernel_code.h"
#include "perf/recording_writer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_PID (-1)

struct mt_machine {
	struct mt_recording *recording;
	const struct mt_decode_options *options;
	struct mt_space_pool *spaces;
	struct mt_call_sites *call_sites;
	struct mt_space *kernel;
	struct mt_pt_image_cache *images;
	struct mt_process *processes;
	struct mt_machine_thread *threads;
	struct mt_cpu_timeline *cpus;
	bool made_here; /* on the kernel that runs now */
	struct mt_objfile *vdso;
	char *vdso_path;
	MT_ARRAY(const char *) missing; /* paths that were complained of */
};

/* uthash with HASH_NONFATAL_OOM leaves hh.tbl NULL when it could not add. */
#define add_or_free(head, field, item)                                                             \
	do {                                                                                       \
		HASH_ADD_INT(head, field, item);                                                   \
		if (!(item)->hh.tbl) {                                                             \
			free(item);                                                                \
			(item) = NULL;                                                             \
		}                                                                                  \
	} while (0)

static struct mt_error *epoch_begin(struct mt_machine *machine, struct mt_process *process,
				    uint64_t time_ns, const struct mt_space *like)
{
	struct mt_epoch *epoch = calloc(1, sizeof(*epoch));

	if (!epoch || mt_array_push(&process->epochs, epoch)) {
		free(epoch);
		return mt_error_no_memory();
	}
	epoch->begin_ns = time_ns;
	mt_try(like ? mt_space_copy(like, &epoch->space)
		    : mt_space_create(machine->spaces, process->pid, &epoch->space));
	mt_space_symbolizer_init(&epoch->symbolizer, epoch->space, machine->kernel,
				 !machine->options->no_inlines, machine->call_sites);
	return NULL;
}

static struct mt_epoch *latest(const struct mt_process *process)
{
	return process->epochs.count ? *mt_array_last(&process->epochs) : NULL;
}

static struct mt_error *process_find(struct mt_machine *machine, int pid, struct mt_process **out)
{
	struct mt_process *process = NULL;

	HASH_FIND_INT(machine->processes, &pid, process);
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return mt_error_no_memory();
		process->pid = pid;
		add_or_free(machine->processes, pid, process);
		if (!process)
			return mt_error_no_memory();
	}
	*out = process;
	return process->epochs.count ? NULL : epoch_begin(machine, process, 0, NULL);
}

static struct mt_machine_thread *thread_find(struct mt_machine *machine, int tid)
{
	struct mt_machine_thread *thread = NULL;

	HASH_FIND_INT(machine->threads, &tid, thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->pid = tid;
	add_or_free(machine->threads, tid, thread);
	return thread;
}

struct mt_machine_thread *mt_machine_thread(struct mt_machine *machine, int tid)
{
	struct mt_machine_thread *thread = thread_find(machine, tid);

	if (thread && !thread->process) {
		struct mt_error *error = process_find(machine, thread->pid, &thread->process);

		mt_error_destroy(error);
		if (error)
			return NULL;
	}
	return thread;
}

const char *mt_machine_process_name(struct mt_machine *machine, const struct mt_machine_thread *of)
{
	struct mt_machine_thread *main_thread = NULL;

	HASH_FIND_INT(machine->threads, &of->pid, main_thread);
	return main_thread ? main_thread->name : NULL;
}

static struct mt_cpu_timeline *cpu_find(struct mt_machine *machine, int cpu)
{
	struct mt_cpu_timeline *timeline = NULL;

	HASH_FIND_INT(machine->cpus, &cpu, timeline);
	if (timeline)
		return timeline;
	timeline = calloc(1, sizeof(*timeline));
	if (!timeline)
		return NULL;
	timeline->cpu = cpu;
	add_or_free(machine->cpus, cpu, timeline);
	return timeline;
}

const struct mt_cpu_timeline *mt_machine_cpu(const struct mt_machine *machine, int cpu)
{
	struct mt_cpu_timeline *timeline = NULL;

	HASH_FIND_INT(machine->cpus, &cpu, timeline);
	return timeline;
}

/* A vDSO has no file: of a recording made here, ours is the same one. */
static struct mt_error *add_vdso(struct mt_machine *machine, struct mt_space *space,
				 const struct mt_mapping *mapping)
{
	if (!machine->made_here)
		return mt_space_add(space, mapping);
	if (!machine->vdso) {
		struct mt_error *error = mt_vdso_open(&machine->vdso, &machine->vdso_path);

		if (error) {
			mt_log(machine->options->log, MT_LOG_WARNING, "%s",
			       mt_error_message(error));
			mt_error_destroy(error);
			machine->made_here = false;
			return mt_space_add(space, mapping);
		}
	}
	return mt_space_add_objfile(space, mapping, machine->vdso);
}

static struct mt_error *on_mmap(struct mt_machine *machine, const struct mt_sideband *record)
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
		return mt_space_add(machine->kernel, &mapping);
	mt_try(process_find(machine, record->pid, &process));
	if (mt_space_conflicts(latest(process)->space, &mapping))
		mt_try(epoch_begin(machine, process, record->time_ns, latest(process)->space));
	if (strcmp(mapping.path, "[vdso]") == 0)
		return add_vdso(machine, latest(process)->space, &mapping);
	return mt_space_add(latest(process)->space, &mapping);
}

static struct mt_machine_thread *thread_of(struct mt_machine *machine,
					   const struct mt_sideband *record)
{
	struct mt_machine_thread *thread = thread_find(machine, record->tid);

	if (thread && record->pid > 0)
		thread->pid = record->pid;
	return thread;
}

static struct mt_error *on_comm(struct mt_machine *machine, const struct mt_sideband *record)
{
	struct mt_machine_thread *thread = thread_of(machine, record);
	struct mt_process *process = NULL;

	if (!thread)
		return mt_error_no_memory();
	thread->name = record->comm.name;
	if (!record->comm.exec)
		return NULL;
	mt_try(process_find(machine, record->pid, &process));
	if (!mt_space_mapping_count(latest(process)->space))
		return NULL;
	mt_try(epoch_begin(machine, process, record->time_ns, NULL));
	latest(process)->exec = true;
	return NULL;
}

/* A new thread has its maker's name, a new process its maker's mappings as well. */
static struct mt_error *on_fork(struct mt_machine *machine, const struct mt_sideband *record)
{
	struct mt_machine_thread *thread = thread_of(machine, record);
	struct mt_machine_thread *parent = thread_find(machine, record->fork.parent_tid);
	struct mt_process *from = NULL, *child = NULL;

	if (!thread || !parent)
		return mt_error_no_memory();
	if (!thread->name)
		thread->name = parent->name;
	if (record->pid == record->fork.parent_pid)
		return NULL;
	mt_try(process_find(machine, record->fork.parent_pid, &from));
	mt_try(process_find(machine, record->pid, &child));
	return epoch_begin(machine, child, record->time_ns, latest(from)->space);
}

static struct mt_error *on_switch(struct mt_machine *machine, const struct mt_sideband *record)
{
	struct mt_cpu_timeline *timeline = NULL;
	struct mt_cpu_switch change = {record->time_ns, record->tid};

	if (record->cpu < 0)
		return NULL;
	if (record->kind == MT_SIDEBAND_SWITCH && record->context_switch.out)
		change.tid =
		    record->context_switch.other_tid > 0 ? record->context_switch.other_tid : 0;
	timeline = cpu_find(machine, record->cpu);
	if (!timeline || mt_array_push(&timeline->switches, change))
		return mt_error_no_memory();
	return thread_of(machine, record) ? NULL : mt_error_no_memory();
}

/* Notes of tracks beside the calls are many, and nothing to the calls. */
static bool is_beside(const struct mt_machine *machine, const struct mt_sideband *record)
{
	const char *name = mt_recording_event_name(machine->recording, record->sample.event);

	for (int note = MT_NOTE_FIRST_BESIDE; name && note < MT_NOTE_COUNT; note++)
		if (strcmp(name, mt_recording_note_names[note]) == 0)
			return true;
	return false;
}

static struct mt_error *on_sample(struct mt_machine *machine, const struct mt_sideband *record)
{
	struct mt_machine_thread *thread = thread_of(machine, record);

	if (thread && is_beside(machine, record))
		return NULL;

	if (!thread || mt_array_push(&thread->notes, record))
		return mt_error_no_memory();
	return NULL;
}

static struct mt_error *on_record(struct mt_machine *machine, const struct mt_sideband *record)
{
	switch (record->kind) {
	case MT_SIDEBAND_MMAP:
		return on_mmap(machine, record);
	case MT_SIDEBAND_COMM:
		return on_comm(machine, record);
	case MT_SIDEBAND_FORK:
		return on_fork(machine, record);
	case MT_SIDEBAND_SWITCH:
	case MT_SIDEBAND_ITRACE_START:
		return on_switch(machine, record);
	case MT_SIDEBAND_SAMPLE:
		return on_sample(machine, record);
	case MT_SIDEBAND_LOST:
		return record->tid > 0 && mt_recording_call_thread_count(machine->recording)
			   ? on_sample(machine, record)
			   : NULL;
	default:
		return NULL;
	}
}

/* Symbols that no mapping brings: the kernel's, and those that a JIT compiler wrote down. */
static struct mt_error *add_other_symbols(struct mt_machine *machine)
{
	const char *kallsyms = machine->options->kallsyms;
	struct mt_error *error = NULL;

	if (!kallsyms && machine->made_here)
		kallsyms = "/proc/kallsyms";
	if (kallsyms && mt_space_mapping_count(machine->kernel))
		error = mt_space_add_kallsyms(machine->kernel, kallsyms);
	if (error) {
		mt_log(machine->options->log, MT_LOG_WARNING, "%s", mt_error_message(error));
		mt_error_destroy(error);
	}
	for (struct mt_process *process = machine->processes; process; process = process->hh.next)
		mt_array_each (epoch, &process->epochs)
			mt_try(mt_space_add_perf_map((*epoch)->space, NULL));
	return NULL;
}

/* Call events name their process, even where nothing else speaks of the thread. */
static struct mt_error *read_call_threads(struct mt_machine *machine)
{
	for (size_t i = 0; i < mt_recording_call_thread_count(machine->recording); i++) {
		const struct mt_recording_call_thread *calls =
		    mt_recording_call_thread(machine->recording, i);
		struct mt_machine_thread *thread = thread_find(machine, calls->tid);

		if (!thread)
			return mt_error_no_memory();
		if (calls->pid > 0)
			thread->pid = calls->pid;
	}
	return NULL;
}

static struct mt_error *read_sideband(struct mt_machine *machine)
{
	const struct mt_sideband *records = mt_recording_sideband(machine->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(machine->recording); i++)
		mt_try(on_record(machine, &records[i]));
	mt_try(read_call_threads(machine));
	return add_other_symbols(machine);
}

struct mt_error *mt_machine_create(struct mt_recording *recording,
				   const struct mt_decode_options *options, struct mt_machine **out)
{
	struct mt_machine *machine = calloc(1, sizeof(*machine));
	struct mt_error *error = NULL;

	if (!machine)
		return mt_error_no_memory();
	machine->recording = recording;
	machine->options = options;
	machine->made_here = mt_kernel_is_running(mt_recording_info(recording)->os_release);
	error = mt_space_pool_create(&options->objfile, &machine->spaces);
	if (!error)
		error = mt_space_create(machine->spaces, KERNEL_PID, &machine->kernel);
	machine->call_sites = mt_call_sites_create();
	if (!error && !machine->call_sites)
		error = mt_error_no_memory();
	if (!error)
		error = mt_pt_image_cache_create(&machine->images);
	if (!error)
		error = read_sideband(machine);
	if (error) {
		mt_machine_destroy(machine);
		return error;
	}
	*out = machine;
	return NULL;
}

static void process_destroy(struct mt_process *process)
{
	mt_array_each (epoch, &process->epochs) {
		mt_pt_image_destroy((*epoch)->image);
		mt_space_destroy((*epoch)->space);
		free(*epoch);
	}
	mt_array_deinit(&process->epochs);
	free(process);
}

void mt_machine_destroy(struct mt_machine *machine)
{
	struct mt_process *process, *next_process;
	struct mt_machine_thread *thread, *next_thread;
	struct mt_cpu_timeline *cpu, *next_cpu;

	if (!machine)
		return;
	HASH_ITER (hh, machine->processes, process, next_process) {
		HASH_DEL(machine->processes, process);
		process_destroy(process);
	}
	HASH_ITER (hh, machine->threads, thread, next_thread) {
		HASH_DEL(machine->threads, thread);
		mt_array_deinit(&thread->notes);
		free(thread);
	}
	HASH_ITER (hh, machine->cpus, cpu, next_cpu) {
		HASH_DEL(machine->cpus, cpu);
		mt_array_deinit(&cpu->switches);
		free(cpu);
	}
	mt_pt_image_cache_destroy(machine->images);
	mt_space_destroy(machine->kernel);
	mt_space_pool_destroy(machine->spaces);
	mt_call_sites_destroy(machine->call_sites);
	mt_objfile_unref(machine->vdso);
	if (machine->vdso_path)
		unlink(machine->vdso_path);
	free(machine->vdso_path);
	mt_array_deinit(&machine->missing);
	free(machine);
}

struct mt_epoch *mt_process_epoch_at(const struct mt_process *process, uint64_t time_ns)
{
	size_t index = process->epochs.count - 1;

	while (index > 0 && process->epochs.items[index]->begin_ns > time_ns)
		index--;
	return process->epochs.items[index];
}

static bool is_a_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/* Lost code is shown as gaps where it ran; here its cause is told once.  Takes the error. */
static void complain(struct mt_machine *machine, const char *path, struct mt_error *error)
{
	bool told = !error;

	mt_array_each (other, &machine->missing)
		told = told || strcmp(*other, path) == 0;
	if (!told && !mt_array_push(&machine->missing, path))
		mt_log(machine->options->log, MT_LOG_WARNING, "what ran in %s is lost: %s", path,
		       mt_error_message(error));
	mt_error_destroy(error);
}

static struct mt_error *image_add_mapping(struct mt_machine *machine, struct mt_pt_image *image,
					  const struct mt_mapping *mapping)
{
	const char *path = mapping->objfile ? mt_objfile_code_path(mapping->objfile) : NULL;

	if (path && mapping->objfile == machine->vdso)
		path = machine->vdso_path;
	if (!path)
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s",
				    is_a_file(mapping->path) && mapping->problem
					? mapping->problem
					: "its code is in no file and was not recorded");
	return mt_pt_image_add(image, path, mapping->offset, mapping->end - mapping->start,
			       mapping->start);
}

static struct mt_error *image_add_kernel(struct mt_machine *machine, struct mt_pt_image *image)
{
	if (!mt_space_mapping_count(machine->kernel) || !machine->made_here)
		return NULL;
	return mt_kernel_code_add(image, "/proc/kcore", machine->kernel);
}

struct mt_pt_image *mt_machine_image(struct mt_machine *machine, struct mt_epoch *epoch)
{
	if (epoch->image)
		return epoch->image;

	struct mt_error *error = mt_pt_image_create(machine->images, &epoch->image);
	if (error) {
		mt_error_destroy(error);
		return NULL;
	}
	for (size_t i = 0; i < mt_space_mapping_count(epoch->space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(epoch->space, i);

		complain(machine, mapping->path, image_add_mapping(machine, epoch->image, mapping));
	}
	complain(machine, "[kernel]", image_add_kernel(machine, epoch->image));
	return epoch->image;
}

uint32_t mt_machine_missing_files(const struct mt_machine *machine)
{
	return (uint32_t)machine->missing.count;
}
