/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was read of a core file. */
#ifndef MT_PROCESS_COREFILE_PRIVATE_H
#define MT_PROCESS_COREFILE_PRIVATE_H

#include "base/array.h"
#include "process/corefile.h"

struct mt_core_thread {
	pid_t lwp;
	int signal;
	bool has_floats;
	struct user_regs_struct registers;
	struct user_fpregs_struct floats;
};

/* A mapping of the process; the file has its first FILE_SIZE bytes. */
struct mt_core_segment {
	uint64_t start, end;
	uint64_t offset, file_size;
	bool readable, writable, executable;
};

/* A mapping of a file, from NT_FILE. */
struct mt_core_mapping {
	uint64_t start, end;
	uint64_t offset;
	size_t file; /* index of it */
};

struct mt_core_file {
	char *path;
	bool is_program;
	bool is_opened; /* or could not be */
	int fd;
};

struct mt_core_target {
	struct mt_target base;
	struct mt_corefile about;
	int fd;
	char *program;        /* that stands for the executable; NULL: the file that it was */
	uint64_t entry, vdso; /* from NT_AUXV; 0: not known */
	MT_ARRAY(struct mt_core_thread) threads; /* in the core's order: the one that died first */
	MT_ARRAY(struct mt_core_segment) segments; /* sorted */
	MT_ARRAY(struct mt_core_mapping) mappings; /* sorted */
	MT_ARRAY(struct mt_core_file) files;
};

/* corefile_read.c: fills in all but BASE and PROGRAM.  Errors: as mt_corefile_open(). */
struct mt_error *mt_core_read(struct mt_core_target *target, const char *path);

/* corefile.c */
/* What the core itself has from ADDRESS on, within one mapping; returns how many bytes.  *END, if
 * nothing: where there may be something again. */
size_t mt_core_read_dumped(const struct mt_core_target *target, uint64_t address, void *buffer,
			   size_t size, uint64_t *end);
/* NULL: no file is mapped there. */
const struct mt_core_mapping *mt_core_mapping_at(const struct mt_core_target *target,
						 uint64_t address);

#endif
