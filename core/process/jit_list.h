/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The object files that a process has registered for GDB, in lists that begin at variables
 * __jit_debug_descriptor: a JIT compiler's own, or one in each library that brings one (GDB's
 * manual, "JIT Compilation Interface").  A look at the lists tells what came and went since the
 * last one.
 *
 * All of it is the program's memory, which may hold anything, and change meanwhile if the program
 * runs: what changes while it is read is left for the next look. */
#ifndef MT_PROCESS_JIT_LIST_H
#define MT_PROCESS_JIT_LIST_H

#include "elf/objfile.h"
#include "process/target.h"

struct mt_jit_list;

/* Of one process.  Errors: NO_MEMORY. */
struct mt_error *mt_jit_list_create(struct mt_jit_list **out);
void mt_jit_list_destroy(struct mt_jit_list *list); /* NULL is fine */

/* OBJFILE was found mapped, BIAS above its own addresses: its descriptor counts, if it has one.
 * Errors: NO_MEMORY. */
struct mt_error *mt_jit_list_add_file(struct mt_jit_list *list, struct mt_objfile *objfile,
				      uint64_t bias);

/* A thread at PC is about to tell debuggers that the list has changed. */
bool mt_jit_list_changes_at(const struct mt_jit_list *list, uint64_t pc);

/* What came is settled (elf/jit_object.h) and lent for the call; NUMBER counts from 0, and no
 * object has another's.  An error ends the look. */
struct mt_jit_changes {
	struct mt_error *(*came)(void *context, uint32_t number, const uint8_t *bytes, size_t size);
	struct mt_error *(*went)(void *context, uint32_t number);
	void *context;
	/* Why something that is registered is left out, once a list.  NULL: nobody asks. */
	const struct mt_log *log;
};
/* Errors: those of CHANGES; NO_MEMORY. */
struct mt_error *mt_jit_list_look(struct mt_jit_list *list, struct mt_target *target, pid_t pid,
				  const struct mt_jit_changes *changes);

#endif
