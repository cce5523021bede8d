/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object file (program, shared library, vDSO) with what its separate debug file adds.
 * Addresses are the file's own virtual addresses (st_value), before relocation.
 *
 * One thread opens it and builds its indexes (libdw is not thread-safe); what look-ups give is
 * lent and lives as long as the objfile.  Indexes are built at the first look-up that needs them,
 * once. */
#ifndef MT_ELF_OBJFILE_H
#define MT_ELF_OBJFILE_H

#include "base/error.h"
#include "base/log.h"
#include "elf/function.h"

#include <stddef.h>

struct mt_objfile;

struct mt_build_id {
	uint8_t size; /* bytes used; 0: none */
	uint8_t bytes[20];
};

bool mt_build_id_equal(const struct mt_build_id *a, const struct mt_build_id *b);
/* Lower-case hex and a NUL. */
void mt_build_id_format(const struct mt_build_id *id, char text[41]);

struct mt_objfile_options {
	const char *debug_directory; /* NULL: /usr/lib/debug */
	const char *sysroot;    /* NULL: none; else tried before the path itself (/proc/PID/root) */
	bool debuginfod;        /* ask the servers of DEBUGINFOD_URLS, if that is set */
	bool with_i386;         /* 32-bit programs too */
	bool without_locations; /* nobody asks where variables are */
	const struct mt_log *log;
};

/* Open the file at PATH.  When WANTED is given and not empty, a file with another build id is
 * refused, after the build-id directories and debuginfod were tried for the right one.
 * options may be NULL.
 * Errors: NOT_FOUND; PERMISSION; FORMAT (no ELF file, or a garbled one: the message says what);
 * UNSUPPORTED (not x86-64, nor i386 if asked for); NOT_FOUND with "changed since" (build id
 * differs); NO_MEMORY. */
struct mt_error *mt_objfile_open(const char *path, const struct mt_build_id *wanted,
				 const struct mt_objfile_options *options, struct mt_objfile **out);

/* The same from bytes (a vDSO read out of a process), which are copied. */
struct mt_error *mt_objfile_open_memory(const char *name, const void *bytes, size_t size,
					struct mt_objfile **out);

struct mt_objfile *mt_objfile_ref(struct mt_objfile *objfile);
void mt_objfile_unref(struct mt_objfile *objfile); /* NULL is fine */

const char *mt_objfile_path(const struct mt_objfile *objfile); /* as it was asked for */
bool mt_objfile_has_debug_info(struct mt_objfile *objfile);    /* it, or its debug file */
/* The file that its bytes come from: another one where a sysroot or a build id led there; NULL:
 * memory. */
const char *mt_objfile_code_path(const struct mt_objfile *objfile);
/* NULL: no separate file.  Looked for at the first question that needs it. */
const char *mt_objfile_debug_path(struct mt_objfile *objfile);
const struct mt_build_id *mt_objfile_build_id(const struct mt_objfile *objfile);
bool mt_objfile_is_pie(const struct mt_objfile *objfile); /* ET_DYN */
uint64_t mt_objfile_entry(const struct mt_objfile *objfile);

/* Between file offsets (mappings have them) and virtual addresses, by the PT_LOAD segments.
 * False: no segment holds it. */
bool mt_objfile_offset_to_address(const struct mt_objfile *objfile, uint64_t offset,
				  uint64_t *address);
bool mt_objfile_address_to_offset(const struct mt_objfile *objfile, uint64_t address,
				  uint64_t *offset);

/* A PT_LOAD segment, by address.  False: there are no more than INDEX. */
struct mt_load {
	uint64_t address;
	uint64_t size; /* in memory */
	uint64_t offset;
};
bool mt_objfile_load(const struct mt_objfile *objfile, size_t index, struct mt_load *out);
/* Where that segment brings a file offset: of the few that share a page of the file, several bring
 * it somewhere.  False: it does not. */
bool mt_objfile_load_address(const struct mt_objfile *objfile, size_t index, uint64_t offset,
			     uint64_t *address);

/* Whether it is the file of that inode (of a struct mt_map), with the contents that it had when it
 * was opened.  False where that is not known. */
bool mt_objfile_is_still(const struct mt_objfile *objfile, uint64_t device, uint64_t inode);

/* Up to SIZE bytes of the file's contents at a virtual address; returns how many. */
size_t mt_objfile_read(const struct mt_objfile *objfile, uint64_t address, void *buffer,
		       size_t size);

/* The same without a copy: the bytes from ADDRESS to the end of its segment; they live as long as
 * the objfile.  NULL: none. */
const uint8_t *mt_objfile_bytes(const struct mt_objfile *objfile, uint64_t address, size_t *size);
/* The same of whole pages, as a mapping has them: with zeros where the segment of code that they
 * belong to has nothing.  NULL: they are not of one such segment, or without memory. */
const uint8_t *mt_objfile_pages(const struct mt_objfile *objfile, uint64_t address, size_t size);
/* The same from the file into a buffer, with what else these pages hold in it.  False: they are not
 * of one such segment. */
bool mt_objfile_read_pages(const struct mt_objfile *objfile, uint64_t address, void *buffer,
			   size_t size);

struct mt_symbol {
	uint64_t start; /* [start, end), ranges do not overlap */
	uint64_t end;
	const char *raw_name; /* as linked; NULL for kinds without a symbol */
	uint8_t kind;         /* enum mt_function_kind */
	uint8_t flags;        /* MT_FUNCTION_… */
};

/* The index: sorted by start, one symbol an address (of aliases a global one, then the one with
 * fewer underscores in front, a strong one, the shorter one).
 * Never fails: a file without anything gives count 0. */
const struct mt_symbol *mt_objfile_symbols(struct mt_objfile *objfile, size_t *count);
/* NULL: no symbol holds it.  Under 1 µs. */
const struct mt_symbol *mt_objfile_symbol_at(struct mt_objfile *objfile, uint64_t address);
/* Demangled (C++, Rust), for people: `ns::f(int)`.  Cached. */
const char *mt_objfile_symbol_name(struct mt_objfile *objfile, const struct mt_symbol *symbol);

/* Looking up what people type.  NAME is compared with the raw name, and with the demangled one as
 * mt_name_matches() has it.  Calls `found` for each; aliases once.
 * Includes aliases that the index left out. */
void mt_objfile_find_name(struct mt_objfile *objfile, const char *name,
			  void (*found)(void *context, uint64_t address, const char *name),
			  void *context);
/* NAME, as mt_objfile_find_name() gives it, is no function of its own: ADDRESS is that of a
 * resolver, which chooses one when the program begins (space/implementations.h). */
bool mt_objfile_is_ifunc(struct mt_objfile *objfile, uint64_t address, const char *name);
/* Whether a demangled NAME is what people mean by WANTED: all of it, without its parameters,
 * without its template arguments, without the namespaces in front. */
bool mt_name_matches(const char *name, const char *wanted);
/* Whether a function is what they mean by WANTED, which may be a glob; its part for unlikely cases
 * ("f.cold") is the function.  Of one in Python all that stands in front of a dot may be left out.
 */
bool mt_function_matches(const struct mt_function *function, const char *wanted);
/* How much of a name stands before its parameters, and (of LENGTH) before the arguments of the
 * template that it names last. */
size_t mt_name_without_parameters(const char *name);
size_t mt_name_without_arguments(const char *name, size_t length);
/* How much of the name of a function's cold part is the function's: of "f.cold", "f(int) [clone
 * .cold]" (libiberty), "f(int) (.cold)" (LLVM).  All of other names. */
size_t mt_name_without_cold(const char *name);
/* How much of the name of a function that a compiler made of another one, as a part or a copy of
 * it, is the other one's: of "f.constprop.0.isra.0", "f.llvm.123", "f(int) [clone .part.0]".  All
 * of other names, as "main.f.func1.2" of Go. */
size_t mt_name_without_clone(const char *name);
/* The last word of what was typed, which must stand in a name that it means, and in what that is
 * mangled to; returns its length.  0: there is no such word. */
size_t mt_name_last_word(const char *name, const char **word);
#endif
