/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An address space: which file is mapped where in a process, and the look-ups that follow from it.
 *
 * A space is what was true from one moment to the next: when a mapping is replaced by another
 * (exec, dlclose and dlopen) its owner begins a new one.  Spaces of a pool share object files (one
 * a path and build id) and number their functions together.
 *
 * Functions, inlined calls, and the strings in them belong to the pool and live until it is
 * destroyed; the same function of the same file at the same place is the same pointer in every
 * space of a pool.
 *
 * One thread uses a pool and its spaces. */
#ifndef MT_SPACE_SPACE_H
#define MT_SPACE_SPACE_H

#include "elf/objfile.h"

struct mt_space_pool;

struct mt_error *mt_space_pool_create(const struct mt_objfile_options *options,
				      struct mt_space_pool **out); /* options are copied */
void mt_space_pool_destroy(struct mt_space_pool *pool);            /* NULL is fine */
/* OBJFILE is open, and is what lay at PATH then: as long as it still does, the pool takes that
 * instead of opening it again, and keeps a reference until the end.  Errors: NO_MEMORY. */
struct mt_error *mt_space_pool_offer(struct mt_space_pool *pool, const char *path,
				     struct mt_objfile *objfile);
/* The file that lies at PATH by now, as spaces of the pool have it too; *OUT is lent.  NULL: it
 * cannot be opened.  Errors: NO_MEMORY. */
struct mt_error *mt_space_pool_open(struct mt_space_pool *pool, const char *path,
				    struct mt_objfile **out);
/* How many mt_function ids were given out. */
uint32_t mt_space_pool_function_count(const struct mt_space_pool *pool);
/* That of kind PYTHON: the same one for the same words.  NULL: no memory. */
const struct mt_function *mt_space_pool_python_function(struct mt_space_pool *pool,
							const char *name, const char *file,
							uint32_t line);

struct mt_space;

struct mt_error *mt_space_create(struct mt_space_pool *pool, pid_t pid, struct mt_space **out);
void mt_space_destroy(struct mt_space *space); /* before its pool; NULL is fine */

struct mt_mapping {
	uint64_t start; /* [start, end) */
	uint64_t end;
	uint64_t offset;  /* of start in the file */
	const char *path; /* "[vdso]", "[kernel.kallsyms]_text" and "//anon" as perf writes them */
	struct mt_build_id build_id; /* size 0: not known */
	/* Set by the space: NULL when the file could not be opened (problem says why). */
	struct mt_objfile *objfile;
	const char *problem;
	bool is_nameless; /* a function of it was asked for, and its file has a problem */
	uint64_t bias;    /* process address = file address + bias */
};

/* Add a mapping (path is copied; objfile, problem and bias are ignored and found out).  It
 * replaces what it overlaps.  A file that cannot be opened is no error: the mapping is kept with
 * its problem.  Errors: NO_MEMORY. */
struct mt_error *mt_space_add(struct mt_space *space, const struct mt_mapping *mapping);
/* The same with an object file that is open already (a vDSO from memory).  The pool takes a
 * reference; an object file serves one pool, whose numbers its inlined functions carry. */
struct mt_error *mt_space_add_objfile(struct mt_space *space, const struct mt_mapping *mapping,
				      struct mt_objfile *objfile);
/* Nothing is mapped in [start, end) any more.  Errors: NO_MEMORY. */
struct mt_error *mt_space_remove(struct mt_space *space, uint64_t start, uint64_t end);
/* Symbols of code that the process made at run time, as it has written them down for perf: in the
 * jitdump files that it has mapped, with lines, and in /tmp/perf-PID.map.  Each if it is the user's
 * or root's; a missing file is fine, and what is garbled is left out.  Once all mappings are there.
 * A file that has not changed since is not read again.  Errors: NO_MEMORY. */
struct mt_error *mt_space_add_made(struct mt_space *space);
/* The same, of one file, whose name tells which of them it is. */
struct mt_error *mt_space_add_made_file(struct mt_space *space, const char *path);
/* An object file that a JIT compiler has registered in memory, as it was settled
 * (elf/jit_object.h): its code lies where it says, but where a file is mapped.  Garbled ones are
 * left out. Errors: NO_MEMORY. */
struct mt_error *mt_space_add_object(struct mt_space *space, const uint8_t *bytes, size_t size);
void mt_space_drop_objects(struct mt_space *space); /* all of those */
/* Kernel symbols in the format of /proc/kallsyms.  Errors: as opening; NO_MEMORY. */
struct mt_error *mt_space_add_kallsyms(struct mt_space *space, const char *path);

/* True if ADDING the mapping would replace one with other contents. */
bool mt_space_conflicts(const struct mt_space *space, const struct mt_mapping *mapping);
/* A second space with the same mappings. */
struct mt_error *mt_space_copy(const struct mt_space *space, struct mt_space **out);

size_t mt_space_mapping_count(const struct mt_space *space);
const struct mt_mapping *mt_space_mapping(const struct mt_space *space, size_t index);
const struct mt_mapping *mt_space_find(const struct mt_space *space, uint64_t address);

/* The function at an address: never NULL but without memory; unknown ones are of kind UNKNOWN.
 * Warm: under 1 µs. */
const struct mt_function *mt_space_function_at(struct mt_space *space, uint64_t address);
/* What stands for all code that the process has made at run time, "[JIT: PROGRAM]".  NULL: the
 * address is in none, as far as it is known, or no memory. */
const struct mt_function *mt_space_made_at(struct mt_space *space, uint64_t address);
bool mt_space_source_at(struct mt_space *space, uint64_t address, struct mt_source *out);
void mt_space_inlines_at(struct mt_space *space, uint64_t address, struct mt_inline_span *out);
/* The program's bytes, as the files have them; returns how many. */
size_t mt_space_read(const struct mt_space *space, uint64_t address, void *buffer, size_t size);

#endif
