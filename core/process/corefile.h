/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target over a core file: the memory and the registers of a process that is gone.  It has no
 * run control, and nothing in it can be changed.
 *
 * Nothing in the file is trusted, and it may be cut off anywhere: what is behind its end, or means
 * nothing, is not there.  Pages that were not dumped, since they were as in the mapped files, are
 * read from those.
 *
 * Source: core(5); elf(5); Linux, fs/binfmt_elf.c (fill_note_info, fill_files_note). */
#ifndef MT_PROCESS_COREFILE_H
#define MT_PROCESS_COREFILE_H

#include "elf/objfile.h"
#include "process/target.h"

struct mt_corefile {
	pid_t pid;
	int signal;       /* that ended it; 0: not known */
	char command[81]; /* with its arguments, as far as the kernel keeps them; "": not known */
	const char *program; /* the executable, as the system knew it; NULL: not known */
	/* Bytes that it should have, and that it has: fewer when it was cut off. */
	uint64_t expected_size, size;
};

/* Whether the file at PATH claims to be a core file. */
bool mt_is_corefile(const char *path);
/* Errors: NOT_FOUND, SYSTEM (it cannot be read); FORMAT (it is no core file, or no thread's
 * registers are in it); UNSUPPORTED (not x86-64); NO_MEMORY. */
struct mt_error *mt_corefile_open(const char *path, struct mt_target **out);
/* Of a target that mt_corefile_open() made. */
const struct mt_corefile *mt_corefile_of(struct mt_target *target);
/* The file at PATH stands for the executable from now on, also where that was another file.
 * Errors: NO_MEMORY. */
struct mt_error *mt_corefile_set_program(struct mt_target *target, const char *path);
/* Of the file that is mapped at ADDRESS, as the core has it.  Size 0: not known. */
struct mt_build_id mt_corefile_build_id(struct mt_target *target, uint64_t address);
/* Calls FOUND for each mapping of a file. */
void mt_corefile_each_file(struct mt_target *target,
			   void (*found)(void *context, const struct mt_map *map), void *context);

#endif
