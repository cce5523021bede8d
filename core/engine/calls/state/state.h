/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the engine knows of programs: where in it something is found. */
#ifndef MT_ENGINE_CALLS_STATE_H
#define MT_ENGINE_CALLS_STATE_H

#include "engine/calls/state/types.h"

/* engine.c */
/* Of a process of its own; NULL: there is none. */
struct mt_calls_space *mt_calls_find_space(const struct mt_calls_engine *engine, pid_t pid);
struct mt_calls_thread *mt_calls_find_thread(const struct mt_calls_engine *engine, pid_t lwp);
/* Between two parts of long work on a process that runs.  Errors: GONE (it is not the same program
 * any more); the session's. */
struct mt_error *mt_calls_breathe(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space);

/* places.c */
/* The place whose text, or trampolines, hold an address; NULL: none. */
struct mt_calls_place *mt_calls_place_at(struct mt_calls_space *space, uint64_t address);
struct mt_calls_place *mt_calls_place_of_trampoline(struct mt_calls_space *space, uint64_t address);
/* The same of all memory that was mapped for its trampolines. */
struct mt_calls_place *mt_calls_place_of_room(struct mt_calls_space *space, uint64_t address);
/* The patch in the text that displaces ADDRESS; -1: none. */
ssize_t mt_calls_patch_at(const struct mt_calls_place *place, uint64_t address);
/* One that begins at the address, and is in the text but when that is hidden, or for a while. */
ssize_t mt_calls_planned_at(const struct mt_calls_place *place, uint64_t address);
/* The patch whose long jump stands in a hole at ADDRESS; -1: none. */
ssize_t mt_calls_patch_of_hole(const struct mt_calls_place *place, uint64_t address);
/* Code of ours lies at ADDRESS. */
bool mt_calls_is_ours(struct mt_calls_space *space, uint64_t address);

/* breaks.c */
/* The one whose int3 stands at ADDRESS; whose stub holds it.  NULL: none. */
struct mt_calls_break *mt_calls_break_trap(struct mt_calls_space *space, uint64_t address);
struct mt_calls_break *mt_calls_break_of_stub(struct mt_calls_space *space, uint64_t address);
/* The bytes that it has in the code in place of the program's. */
void mt_calls_break_bytes(const struct mt_calls_break *one, uint8_t bytes[MT_CALLS_BREAK_BYTES]);
/* Where threads come to it: to its condition, if that is compiled. */
uint64_t mt_calls_stub_entry(const struct mt_calls_break *one);
/* Where a jump to an active patch's trampoline really goes. */
uint64_t mt_calls_stub_before(const struct mt_calls_space *space, uint64_t address,
			      uint64_t trampoline);
/* Where the copy of the instruction at ADDRESS stands, if it is one that ONE, a line's, displaces,
 * but for the first; else 0. */
uint64_t mt_calls_line_copy_in(const struct mt_calls_break *one, uint64_t address);
/* The same of all that are in the text. */
uint64_t mt_calls_line_copy_of(const struct mt_calls_space *space, uint64_t address);

#endif
