/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the headers and notes of a core file. */
#include "process/corefile_private.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Notes ---- */

static struct mt_error *take_status(struct mt_core_target *target, const void *bytes, size_t size)
{
	struct mt_core_thread thread = {0};
	struct elf_prstatus status;

	_Static_assert(sizeof(status.pr_reg) == sizeof(thread.registers), "the same registers");
	if (size < sizeof(status))
		return NULL;
	memcpy(&status, bytes, sizeof(status));
	mt_array_each (known, &target->threads)
		if (known->lwp == status.pr_pid)
			return NULL;
	if (status.pr_pid <= 0)
		return NULL;
	thread.lwp = status.pr_pid;
	thread.signal = status.pr_cursig;
	memcpy(&thread.registers, status.pr_reg, sizeof(thread.registers));
	return mt_array_push(&target->threads, thread) ? mt_error_no_memory() : NULL;
}

/* Of the thread whose status came last. */
static void take_floats(struct mt_core_target *target, const void *bytes, size_t size)
{
	struct mt_core_thread *thread =
	    target->threads.count ? mt_array_last(&target->threads) : NULL;

	if (!thread || size < sizeof(thread->floats))
		return;
	memcpy(&thread->floats, bytes, sizeof(thread->floats));
	thread->has_floats = true;
}

static void take_info(struct mt_core_target *target, const void *bytes, size_t size)
{
	struct elf_prpsinfo info;
	size_t length;

	if (size < sizeof(info))
		return;
	memcpy(&info, bytes, sizeof(info));
	length = strnlen(info.pr_psargs, sizeof(info.pr_psargs));
	while (length && info.pr_psargs[length - 1] == ' ') /* the kernel's */
		length--;
	memcpy(target->about.command, info.pr_psargs, length);
	target->about.command[length] = '\0';
	for (size_t i = 0; i < length; i++) /* it may be garbled, and is printed */
		if ((unsigned char)target->about.command[i] < ' ' || info.pr_psargs[i] == 0x7f)
			target->about.command[i] = '?';
	if (info.pr_pid > 0)
		target->about.pid = info.pr_pid;
}

static void take_auxv(struct mt_core_target *target, const uint8_t *bytes, size_t size)
{
	uint64_t pair[2];

	for (; size >= sizeof(pair); bytes += sizeof(pair), size -= sizeof(pair)) {
		memcpy(pair, bytes, sizeof(pair));
		if (pair[0] == AT_ENTRY)
			target->entry = pair[1];
		else if (pair[0] == AT_SYSINFO_EHDR)
			target->vdso = pair[1];
	}
}

/* The index of the file; SIZE_MAX: no memory. */
static size_t add_file(struct mt_core_target *target, const char *path)
{
	/* Mappings of a file follow one another. */
	if (target->files.count && strcmp(mt_array_last(&target->files)->path, path) == 0)
		return target->files.count - 1;
	struct mt_core_file file = {.path = strdup(path), .fd = -1};
	if (!file.path || mt_array_push(&target->files, file)) {
		free(file.path);
		return SIZE_MAX;
	}
	return target->files.count - 1;
}

/* A count, the size of a page, so many triples of start, end, and offset in pages; then so many
 * paths, each with its NUL. */
static struct mt_error *take_files(struct mt_core_target *target, const char *bytes, size_t size)
{
	uint64_t head[2], triple[3];

	if (size < sizeof(head) || bytes[size - 1] || target->files.count)
		return NULL;
	memcpy(head, bytes, sizeof(head));
	if (head[0] > (size - sizeof(head)) / sizeof(triple))
		return NULL;
	const char *at = bytes + sizeof(head), *path = at + head[0] * sizeof(triple);
	for (uint64_t i = 0; i < head[0] && path < bytes + size; i++) {
		memcpy(triple, at + i * sizeof(triple), sizeof(triple));
		const struct mt_core_mapping mapping = {.start = triple[0],
							.end = triple[1],
							.offset = triple[2] * head[1],
							.file = add_file(target, path)};
		if (mapping.file == SIZE_MAX || mt_array_push(&target->mappings, mapping))
			return mt_error_no_memory();
		path += strlen(path) + 1;
	}
	return NULL;
}

static struct mt_error *take_note(struct mt_core_target *target, unsigned type, const void *bytes,
				  size_t size)
{
	switch (type) {
	case NT_PRSTATUS:
		return take_status(target, bytes, size);
	case NT_FPREGSET:
		take_floats(target, bytes, size);
		break;
	case NT_PRPSINFO:
		take_info(target, bytes, size);
		break;
	case NT_AUXV:
		take_auxv(target, bytes, size);
		break;
	case NT_FILE:
		return take_files(target, bytes, size);
	}
	return NULL;
}

static struct mt_error *take_notes(struct mt_core_target *target, Elf *elf, const GElf_Phdr *header,
				   uint64_t size)
{
	Elf_Data *data =
	    size ? elf_getdata_rawchunk(elf, (int64_t)header->p_offset, size, ELF_T_NHDR) : NULL;
	size_t at = 0, next, name, content;
	GElf_Nhdr note;

	for (; data && (next = gelf_getnote(data, at, &note, &name, &content)); at = next) {
		const char *bytes = data->d_buf;

		if (note.n_namesz == sizeof("CORE") &&
		    memcmp(bytes + name, "CORE", sizeof("CORE")) == 0)
			mt_try(take_note(target, note.n_type, bytes + content, note.n_descsz));
	}
	return NULL;
}

/* ---- Segments ---- */

static struct mt_error *take_load(struct mt_core_target *target, const GElf_Phdr *header,
				  uint64_t file_size)
{
	const struct mt_core_segment segment = {
	    .start = header->p_vaddr,
	    .end = header->p_vaddr + header->p_memsz,
	    .offset = header->p_offset,
	    .file_size = file_size < header->p_memsz ? file_size : header->p_memsz,
	    .readable = header->p_flags & PF_R,
	    .writable = header->p_flags & PF_W,
	    .executable = header->p_flags & PF_X,
	};

	if (segment.end <= segment.start)
		return NULL;
	return mt_array_push(&target->segments, segment) ? mt_error_no_memory() : NULL;
}

static struct mt_error *take_header(struct mt_core_target *target, Elf *elf,
				    const GElf_Phdr *header)
{
	uint64_t size = header->p_filesz, end = target->about.size;

	if (header->p_offset + size >= size &&
	    header->p_offset + size > target->about.expected_size)
		target->about.expected_size = header->p_offset + size;
	if (header->p_offset >= end)
		size = 0;
	else if (size > end - header->p_offset)
		size = end - header->p_offset;
	if (header->p_type == PT_NOTE)
		return take_notes(target, elf, header, size);
	return header->p_type == PT_LOAD ? take_load(target, header, size) : NULL;
}

/* Both begin so. */
static int by_start(const void *a, const void *b)
{
	uint64_t one, other;

	memcpy(&one, a, sizeof(one));
	memcpy(&other, b, sizeof(other));
	return one < other ? -1 : one > other;
}

_Static_assert(offsetof(struct mt_core_segment, start) == 0, "see by_start()");
_Static_assert(offsetof(struct mt_core_mapping, start) == 0, "see by_start()");

static void find_program(struct mt_core_target *target)
{
	mt_array_each (mapping, &target->mappings)
		if (target->entry - mapping->start < mapping->end - mapping->start)
			target->about.program = target->files.items[mapping->file].path;
	mt_array_each (file, &target->files)
		file->is_program =
		    target->about.program && strcmp(file->path, target->about.program) == 0;
}

/* ---- The file ---- */

static struct mt_error *not_recognized(const char *path)
{
	return mt_error_new(MT_ERROR_FORMAT,
			    "\"%s\" is not a core dump: file format not recognized", path);
}

static struct mt_error *read_elf(struct mt_core_target *target, Elf *elf, const char *path)
{
	size_t count = 0;
	GElf_Ehdr file;
	GElf_Phdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &file) || file.e_type != ET_CORE)
		return not_recognized(path);
	if (file.e_machine != EM_X86_64 || file.e_ident[EI_CLASS] != ELFCLASS64)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "\"%s\" is a core file of another machine than x86-64", path);
	if (elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count && i < INT32_MAX && gelf_getphdr(elf, (int)i, &header); i++)
		mt_try(take_header(target, elf, &header));
	if (!target->threads.count)
		return mt_error_new(
		    MT_ERROR_FORMAT,
		    "\"%s\" has no registers of a thread: it is truncated or damaged", path);
	if (target->segments.count)
		qsort(target->segments.items, target->segments.count,
		      sizeof(target->segments.items[0]), by_start);
	if (target->mappings.count)
		qsort(target->mappings.items, target->mappings.count,
		      sizeof(target->mappings.items[0]), by_start);
	find_program(target);
	target->about.signal = target->threads.items[0].signal;
	if (!target->about.pid)
		target->about.pid = target->threads.items[0].lwp;
	return NULL;
}

struct mt_error *mt_core_read(struct mt_core_target *target, const char *path)
{
	struct stat file;

	target->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (target->fd < 0 || fstat(target->fd, &file))
		return mt_error_new(errno == ENOENT ? MT_ERROR_NOT_FOUND : MT_ERROR_SYSTEM,
				    "%s: %s.", path, strerrordesc_np(errno));
	if (!S_ISREG(file.st_mode))
		return not_recognized(path);
	target->about.size = (uint64_t)file.st_size;
	elf_version(EV_CURRENT);
	/* Read, not mapped: it may become shorter meanwhile. */
	Elf *elf = elf_begin(target->fd, ELF_C_READ, NULL);
	struct mt_error *error = elf ? read_elf(target, elf, path) : not_recognized(path);
	elf_end(elf);
	return error;
}

bool mt_is_corefile(const char *path)
{
	Elf64_Ehdr header;
	struct stat file;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_core = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
		       pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
		       memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_CORE;

	if (fd >= 0)
		close(fd);
	return is_core;
}
