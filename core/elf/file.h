/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One ELF file, opened through libelf.
 *
 * Sections are read, never mapped: a mapped file that somebody cuts short meanwhile ends the
 * process by SIGBUS. */
#ifndef MT_ELF_FILE_H
#define MT_ELF_FILE_H

#include "base/error.h"
#include "elf/objfile.h"

#include <libelf.h>
#include <sys/stat.h>

struct mt_elf_file {
	char *path;         /* where it was opened */
	int fd;             /* -1: from memory */
	void *bytes;        /* its own memory; NULL: none */
	Elf *elf;           /* NULL: not open */
	bool is_i386;       /* else of x86-64 */
	struct stat status; /* when it was opened: */
	struct timespec opened;
};

/* Errors: NOT_FOUND; PERMISSION; FORMAT; UNSUPPORTED (neither x86-64 nor i386); NO_MEMORY; SYSTEM.
 */
struct mt_error *mt_elf_file_open(const char *path, struct mt_elf_file *out);
/* BYTES are copied. */
struct mt_error *mt_elf_file_open_memory(const char *name, const void *bytes, size_t size,
					 struct mt_elf_file *out);
/* BYTES remain the caller's, and must outlive it. */
struct mt_error *mt_elf_file_lend_memory(const char *name, void *bytes, size_t size,
					 struct mt_elf_file *out);
/* Whether the segments lie in the file.  Those of a separate debug file need not.  Errors: FORMAT.
 */
struct mt_error *mt_elf_file_check_segments(const struct mt_elf_file *file);
/* The error for what is of another architecture. */
struct mt_error *mt_elf_file_refuse(const struct mt_elf_file *file);
void mt_elf_file_close(struct mt_elf_file *file); /* one that is not open is fine */
/* From the notes of sections or segments; size 0: none. */
void mt_elf_file_build_id(const struct mt_elf_file *file, struct mt_build_id *out);
/* Whether its times tell what was written into it: what is written within one tick of the clock may
 * leave them as they were, so that one that was new when it was opened may have changed since. */
bool mt_elf_file_is_settled(const struct mt_elf_file *file);
/* Whether it is the file of that inode, and nothing was written into it since it was opened.  False
 * where that is not known. */
bool mt_elf_file_is_still(const struct mt_elf_file *file, uint64_t device, uint64_t inode);
/* Up to SIZE bytes at a file offset; returns how many. */
size_t mt_elf_file_read(const struct mt_elf_file *file, uint64_t offset, void *buffer, size_t size);

#endif
