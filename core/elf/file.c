/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/file.h"

#include "base/clock.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define SETTLED_SECONDS 2

static struct mt_error *garbled(const char *path, const char *why)
{
	return mt_error_at_path(
	    mt_error_new(MT_ERROR_FORMAT, "cannot read %s as an ELF file: %s", path, why), path,
	    -1);
}

static uint64_t file_size(const struct mt_elf_file *file)
{
	size_t size = 0;
	struct stat status;

	if (file->fd >= 0)
		return fstat(file->fd, &status) ? 0 : (uint64_t)status.st_size;
	return elf_rawfile(file->elf, &size) ? size : 0;
}

struct mt_error *mt_elf_file_check_segments(const struct mt_elf_file *file)
{
	uint64_t size = file_size(file);
	size_t count;

	if (elf_getphdrnum(file->elf, &count))
		return garbled(file->path,
			       "its program headers cannot be read: it may be truncated");
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(file->elf, (int)i, &header))
			return garbled(
			    file->path,
			    "its program headers are beyond its end: it is truncated or damaged");
		if (header.p_type == PT_LOAD &&
		    (header.p_filesz > size || header.p_offset > size - header.p_filesz))
			return garbled(
			    file->path,
			    "a segment is beyond its end: it is truncated, or still being written");
	}
	return NULL;
}

struct mt_error *mt_elf_file_refuse(const struct mt_elf_file *file)
{
	return mt_error_at_path(
	    mt_error_new(MT_ERROR_UNSUPPORTED,
			 "%s is not for x86-64, the only architecture that mtrace supports",
			 file->path),
	    file->path, -1);
}

static struct mt_error *check(struct mt_elf_file *file)
{
	GElf_Ehdr header;

	if (elf_kind(file->elf) != ELF_K_ELF)
		return garbled(file->path, "it does not start with the ELF magic number");
	if (!gelf_getehdr(file->elf, &header))
		return garbled(file->path, "its header is damaged");
	file->is_i386 = header.e_machine == EM_386 && header.e_ident[EI_CLASS] == ELFCLASS32;
	if (!file->is_i386 &&
	    (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64))
		return mt_elf_file_refuse(file);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return garbled(file->path, "it is neither a program nor a shared library");
	return NULL;
}

static struct mt_error *begin(struct mt_elf_file *file, Elf *elf)
{
	struct mt_error *error;

	file->elf = elf;
	if (!elf)
		error = garbled(file->path, elf_errmsg(-1));
	else
		error = check(file);
	if (error)
		mt_elf_file_close(file);
	return error;
}

struct mt_error *mt_elf_file_open(const char *path, struct mt_elf_file *out)
{
	struct mt_elf_file file = {.fd = -1, .path = strdup(path)};

	if (!file.path)
		return mt_error_no_memory();
	elf_version(EV_CURRENT);
	/* Not blocking: a FIFO under the name of a library must not hold us. */
	file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	clock_gettime(CLOCK_REALTIME, &file.opened);
	if (file.fd < 0 || fstat(file.fd, &file.status)) {
		struct mt_error *error =
		    mt_error_at_path(mt_error_errno(errno, "cannot open %s", path), path, -1);
		mt_elf_file_close(&file);
		return error;
	}
	*out = file;
	if (!S_ISREG(file.status.st_mode)) {
		struct mt_error *error = garbled(path, "it is not a regular file");
		mt_elf_file_close(out);
		return error;
	}
	return begin(out, elf_begin(out->fd, ELF_C_READ, NULL));
}

struct mt_error *mt_elf_file_lend_memory(const char *name, void *bytes, size_t size,
					 struct mt_elf_file *out)
{
	*out = (struct mt_elf_file){.fd = -1, .path = strdup(name)};
	if (!out->path)
		return mt_error_no_memory();
	elf_version(EV_CURRENT);
	return begin(out, elf_memory(bytes, size));
}

struct mt_error *mt_elf_file_open_memory(const char *name, const void *bytes, size_t size,
					 struct mt_elf_file *out)
{
	void *copy = malloc(size + 1);
	struct mt_error *error;

	*out = (struct mt_elf_file){.fd = -1};
	if (!copy)
		return mt_error_no_memory();
	if (size)
		memcpy(copy, bytes, size);
	error = mt_elf_file_lend_memory(name, copy, size, out);
	if (error)
		free(copy);
	else
		out->bytes = copy;
	return error;
}

void mt_elf_file_close(struct mt_elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->path && file->fd >= 0)
		close(file->fd);
	free(file->bytes);
	free(file->path);
	*file = (struct mt_elf_file){.fd = -1};
}

void mt_elf_file_build_id(const struct mt_elf_file *file, struct mt_build_id *out)
{
	const void *bytes;
	ssize_t size = dwelf_elf_gnu_build_id(file->elf, &bytes);

	*out = (struct mt_build_id){0};
	if (size <= 0)
		return;
	out->size = (size_t)size < sizeof(out->bytes) ? (uint8_t)size : sizeof(out->bytes);
	memcpy(out->bytes, bytes, out->size);
}

bool mt_elf_file_is_settled(const struct mt_elf_file *file)
{
	return file->fd >= 0 && file->status.st_ctim.tv_sec + SETTLED_SECONDS < file->opened.tv_sec;
}

bool mt_elf_file_is_still(const struct mt_elf_file *file, uint64_t device, uint64_t inode)
{
	const struct stat *then = &file->status;
	struct stat now;

	return mt_elf_file_is_settled(file) && fstat(file->fd, &now) == 0 && now.st_ino == inode &&
	       ((uint64_t)major(now.st_dev) << 32 | minor(now.st_dev)) == device &&
	       now.st_size == then->st_size && mt_is_same_time(&now.st_mtim, &then->st_mtim) &&
	       mt_is_same_time(&now.st_ctim, &then->st_ctim);
}

size_t mt_elf_file_read(const struct mt_elf_file *file, uint64_t offset, void *buffer, size_t size)
{
	size_t have = 0;

	if (file->fd < 0) {
		const char *bytes = elf_rawfile(file->elf, &have);
		if (!bytes || offset >= have)
			return 0;
		size = size < have - offset ? size : have - offset;
		memcpy(buffer, bytes + offset, size);
		return size;
	}
	while (have < size && offset <= INT64_MAX - size) {
		ssize_t count =
		    pread(file->fd, (char *)buffer + have, size - have, (off_t)(offset + have));
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		have += (size_t)count;
	}
	return have;
}
