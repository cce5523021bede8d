/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The target over what was read of a core file. */
#include "process/corefile_private.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_HEADERS 256

static struct mt_core_target *target_of(struct mt_target *base)
{
	return (struct mt_core_target *)base;
}

/* ---- Memory ---- */

static size_t read_at(int fd, uint64_t offset, void *buffer, size_t size)
{
	ssize_t done = fd >= 0 && offset <= INT64_MAX ? pread(fd, buffer, size, (off_t)offset) : 0;

	return done > 0 ? (size_t)done : 0;
}

size_t mt_core_read_dumped(const struct mt_core_target *target, uint64_t address, void *buffer,
			   size_t size, uint64_t *end)
{
	*end = UINT64_MAX;
	mt_array_each (segment, &target->segments) {
		if (segment->start > address) {
			*end = segment->start;
			break;
		}
		uint64_t at = address - segment->start;
		if (at >= segment->file_size)
			continue;
		if (size > segment->file_size - at)
			size = segment->file_size - at;
		return read_at(target->fd, segment->offset + at, buffer, size);
	}
	return 0;
}

const struct mt_core_mapping *mt_core_mapping_at(const struct mt_core_target *target,
						 uint64_t address)
{
	mt_array_each (mapping, &target->mappings)
		if (address >= mapping->start && address < mapping->end)
			return mapping;
	return NULL;
}

static const char *path_of(const struct mt_core_target *target, const struct mt_core_file *file)
{
	return file->is_program && target->program ? target->program : file->path;
}

static int open_file(const struct mt_core_target *target, struct mt_core_file *file)
{
	if (!file->is_opened)
		/* A device, or a pipe of this name, must not hold us up. */
		file->fd = open(path_of(target, file), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	file->is_opened = true;
	return file->fd;
}

/* What the mapped file has, which was not dumped, before END. */
static size_t read_mapped(struct mt_core_target *target, uint64_t address, void *buffer,
			  size_t size, uint64_t end)
{
	const struct mt_core_mapping *mapping = mt_core_mapping_at(target, address);

	if (!mapping)
		return 0;
	int fd = open_file(target, &target->files.items[mapping->file]);
	if (end > mapping->end)
		end = mapping->end;
	if (size > end - address)
		size = end - address;
	return read_at(fd, mapping->offset + (address - mapping->start), buffer, size);
}

static size_t read_memory(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			  size_t size)
{
	struct mt_core_target *target = target_of(base);
	size_t done = 0, got;
	uint64_t end;

	(void)pid;
	for (; done < size; done += got) {
		char *to = (char *)buffer + done;

		got = mt_core_read_dumped(target, address + done, to, size - done, &end);
		if (!got)
			got = read_mapped(target, address + done, to, size - done, end);
		if (!got)
			break;
	}
	return done;
}

/* ---- Threads and mappings ---- */

static const struct mt_core_thread *thread_of(struct mt_target *base, pid_t lwp)
{
	mt_array_each (thread, &target_of(base)->threads)
		if (thread->lwp == lwp)
			return thread;
	return NULL;
}

static struct mt_error *get_registers(struct mt_target *base, pid_t lwp,
				      struct user_regs_struct *registers)
{
	const struct mt_core_thread *thread = thread_of(base, lwp);

	if (!thread)
		return mt_error_at_lwp(
		    mt_error_new(MT_ERROR_GONE, "thread %d is not in the core file", lwp), lwp);
	*registers = thread->registers;
	return NULL;
}

static bool get_float_registers(struct mt_target *base, pid_t lwp,
				struct user_fpregs_struct *registers)
{
	const struct mt_core_thread *thread = thread_of(base, lwp);

	if (thread && thread->has_floats)
		*registers = thread->floats;
	return thread && thread->has_floats;
}

static struct mt_error *each_thread(struct mt_target *base, pid_t pid,
				    struct mt_error *(*found)(void *context, pid_t lwp),
				    void *context)
{
	(void)pid;
	mt_array_each (thread, &target_of(base)->threads)
		mt_try(found(context, thread->lwp));
	return NULL;
}

static struct mt_map map_of(const struct mt_core_target *target,
			    const struct mt_core_mapping *mapping)
{
	return (struct mt_map){.start = mapping->start,
			       .end = mapping->end,
			       .offset = mapping->offset,
			       .path = path_of(target, &target->files.items[mapping->file])};
}

/* Whether the file has code there.  True where that is not known. */
static bool is_code(struct mt_core_target *target, const struct mt_core_mapping *mapping)
{
	int fd = open_file(target, &target->files.items[mapping->file]);
	Elf64_Ehdr file;
	Elf64_Phdr header;

	if (read_at(fd, 0, &file, sizeof(file)) != sizeof(file))
		return true;
	for (uint64_t i = 0; i < file.e_phnum && i < MOST_HEADERS; i++)
		if (read_at(fd, file.e_phoff + i * sizeof(header), &header, sizeof(header)) ==
			sizeof(header) &&
		    header.p_type == PT_LOAD && header.p_flags & PF_X &&
		    mapping->offset < header.p_offset + header.p_filesz &&
		    header.p_offset < mapping->offset + (mapping->end - mapping->start))
			return memcmp(file.e_ident, ELFMAG, SELFMAG) == 0;
	return false;
}

/* GDB's generate-core-file leaves mappings out that the program could not write to. */
static struct mt_error *
each_left_out(struct mt_core_target *target,
	      struct mt_error *(*found)(void *context, const struct mt_map *map), void *context)
{
	const struct mt_core_segment *segment = target->segments.items;
	const struct mt_core_segment *end = segment + target->segments.count;

	mt_array_each (mapping, &target->mappings) {
		struct mt_map map = map_of(target, mapping);

		while (segment < end && segment->end <= mapping->start)
			segment++;
		if (segment < end && segment->start < mapping->end)
			continue;
		map.readable = true;
		map.executable = is_code(target, mapping);
		mt_try(found(context, &map));
	}
	return NULL;
}

static struct mt_error *each_map(struct mt_target *base, pid_t pid,
				 struct mt_error *(*found)(void *context, const struct mt_map *map),
				 void *context)
{
	struct mt_core_target *target = target_of(base);

	(void)pid;
	mt_array_each (segment, &target->segments) {
		const struct mt_core_mapping *mapping = mt_core_mapping_at(target, segment->start);
		struct mt_map map = {.path = segment->start == target->vdso ? "[vdso]" : ""};

		if (mapping) {
			map = map_of(target, mapping);
			map.offset += segment->start - mapping->start;
		}
		map.start = segment->start;
		map.end = segment->end;
		map.readable = segment->readable;
		map.writable = segment->writable;
		map.executable = segment->executable;
		mt_try(found(context, &map));
	}
	return each_left_out(target, found, context);
}

void mt_corefile_each_file(struct mt_target *base,
			   void (*found)(void *context, const struct mt_map *map), void *context)
{
	const struct mt_core_target *target = target_of(base);

	mt_array_each (mapping, &target->mappings) {
		const struct mt_map map = map_of(target, mapping);

		found(context, &map);
	}
}

/* ---- What needs a process ---- */

static struct mt_error *needs_process(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "You can't do that without a process to debug.");
}

static struct mt_error *write_memory(struct mt_target *base, pid_t pid, uint64_t address,
				     const void *bytes, size_t size)
{
	(void)base;
	(void)pid;
	(void)address;
	(void)bytes;
	(void)size;
	return needs_process();
}

static struct mt_error *set_registers(struct mt_target *base, pid_t lwp,
				      const struct user_regs_struct *registers)
{
	(void)base;
	(void)lwp;
	(void)registers;
	return needs_process();
}

static struct mt_error *set_gs_base(struct mt_target *base, pid_t lwp, uint64_t gs_base)
{
	(void)base;
	(void)lwp;
	(void)gs_base;
	return needs_process();
}

static struct mt_error *call_systems(struct mt_target *base, pid_t lwp,
				     struct mt_system_call *calls, size_t count)
{
	(void)base;
	(void)lwp;
	(void)calls;
	(void)count;
	return needs_process();
}

static struct mt_error *run_to(struct mt_target *base, pid_t lwp, uint64_t goal, bool *arrived)
{
	(void)base;
	(void)lwp;
	(void)goal;
	*arrived = false;
	return needs_process();
}

/* ---- Its life ---- */

static void close_files(struct mt_core_target *target)
{
	mt_array_each (file, &target->files) {
		if (file->fd >= 0)
			close(file->fd);
		file->fd = -1;
		file->is_opened = false;
	}
}

static void destroy(struct mt_target *base)
{
	struct mt_core_target *target = target_of(base);

	close_files(target);
	mt_array_each (file, &target->files)
		free(file->path);
	mt_array_deinit(&target->files);
	mt_array_deinit(&target->mappings);
	mt_array_deinit(&target->segments);
	mt_array_deinit(&target->threads);
	if (target->fd >= 0)
		close(target->fd);
	free(target->program);
	free(target);
}

static const struct mt_target_ops ops = {
    .destroy = destroy,
    .read = read_memory,
    .write = write_memory,
    .get_registers = get_registers,
    .set_registers = set_registers,
    .get_float_registers = get_float_registers,
    .set_gs_base = set_gs_base,
    .each_thread = each_thread,
    .each_map = each_map,
    .call_systems = call_systems,
    .run_to = run_to,
};

const struct mt_corefile *mt_corefile_of(struct mt_target *target)
{
	return &target_of(target)->about;
}

struct mt_error *mt_corefile_set_program(struct mt_target *base, const char *path)
{
	struct mt_core_target *target = target_of(base);
	char *copy = strdup(path);

	if (!copy)
		return mt_error_no_memory();
	free(target->program);
	target->program = copy;
	close_files(target);
	return NULL;
}

struct mt_error *mt_corefile_open(const char *path, struct mt_target **out)
{
	struct mt_core_target *target = calloc(1, sizeof(*target));

	if (!target)
		return mt_error_no_memory();
	target->base.ops = &ops;
	target->fd = -1;
	struct mt_error *error = mt_core_read(target, path);
	if (error)
		destroy(&target->base);
	else
		*out = &target->base;
	return error;
}
