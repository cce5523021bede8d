/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is mapped into the program for us. */
#ifndef MT_ENGINE_CALLS_MEMORY_H
#define MT_ENGINE_CALLS_MEMORY_H

#include "engine/calls/state/types.h"

/* inject.c */
/* From now on our sudden end does no harm within a remote call: begin() is for system
 * calls, and what it put into the program ends with the others.  Errors: the target's. */
struct mt_error *mt_calls_inject_begin(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
struct mt_error *mt_calls_inject_give_up(struct mt_calls_engine *engine,
					 struct mt_calls_space *space);
struct mt_error *mt_calls_inject(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 pid_t lwp);
/* Whether several calls at once may be made as a list: while rings and the word that tells that we
 * live are mapped.  Errors: the target's. */
struct mt_error *mt_calls_inject_lists(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space, bool on);
/* Bytes that remote calls read, as long as they are lent.  AT: where.  For as many calls at once as
 * there is room for beside them, of MT_INJECT_LIST_BYTES in all. */
struct mt_calls_lent {
	uint64_t at;
	size_t size; /* of what stood there; 0: it is ours */
	uint8_t saved[MT_INJECT_LIST_BYTES];
};
struct mt_error *mt_calls_lend(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			       pid_t lwp, const void *bytes, size_t size,
			       struct mt_calls_lent *out);
void mt_calls_lend_end(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		       const struct mt_calls_lent *lent);
/* All bytes of its code's page, but for the mark, a frame and a list. */
void mt_calls_inject_page(uint8_t page[4096]);
/* Whether the page may be mapped there. */
bool mt_calls_is_inject_address(uint64_t address);
struct mt_error *mt_calls_inject_end(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp);
/* Why no system call may be made in the name of a thread, or of a process because of one of its
 * threads: what it does ("is under seccomp").  NULL: it may. */
const char *mt_calls_sandbox_of(const struct mt_calls_engine *engine, pid_t lwp);
const char *mt_calls_sandbox(const struct mt_calls_engine *engine,
			     const struct mt_calls_space *space);

/* room.c: by system calls in the name of LWP. */
struct mt_calls_room_wish {
	uint64_t start, end; /* it reaches [start, end) */
	uint64_t bytes;
	uint64_t best; /* where it is to be, if that is free; 0: anywhere */
};
/* Memory for code.  Errors: UNSUPPORTED (none is free); the target's. */
struct mt_error *mt_calls_room_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const struct mt_calls_room_wish *wish,
				   uint64_t *address);
/* The same of several by one list of calls, each where it is best by what is known to be mapped;
 * the address of one that cannot be there becomes 0.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_rooms_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, const struct mt_calls_room_wish *wishes,
				    size_t count, uint64_t *addresses);
struct mt_error *mt_calls_room_unmap(struct mt_calls_engine *engine, pid_t lwp, uint64_t address,
				     uint64_t bytes);
/* In between what is mapped is looked at once.  Should the process map something meanwhile, that
 * room is not taken. */
void mt_calls_rooms_begin(struct mt_calls_space *space);
void mt_calls_rooms_end(struct mt_calls_space *space);
/* Something is mapped there now.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_room_take(struct mt_calls_space *space, uint64_t start, uint64_t end);
/* Of the rooms for single instructions at ADDRESS, one from which all of the WISH is within reach,
 * with at least so many bytes left: between two such rooms jumps need not reach. */
struct mt_error *mt_calls_room_find(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t address,
				    const struct mt_calls_room_wish *wish,
				    struct mt_calls_room **out);
/* An address amid the largest gap, at which a huge page may begin: nobody else is likely to map
 * anything there.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_room_afar(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    uint64_t *address);
/* A system call whose failure is an error; the error of one that was made.  WHAT it was for. */
struct mt_error *mt_calls_system(struct mt_calls_engine *engine, pid_t lwp, const char *what,
				 long number, const uint64_t arguments[6], uint64_t *result);
struct mt_error *mt_calls_system_error(const struct mt_system_call *call, const char *what,
				       pid_t lwp);

/* alive.c */
/* In the name of LWP: the program's descriptors for the pages that tell that we live, and for the
 * rings.  Should one alone fail, the other is there; the one that is not is none's number. */
struct mt_error *mt_calls_make_memfds(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp, uint64_t *alive_fd, uint64_t *rings_fd);
/* A descriptor of our own for the program's ITS_FD, of SIZE bytes and with SEALS.  What is opened
 * must be a memfd that nobody has sealed otherwise: the program may have exchanged it. */
struct mt_error *mt_calls_open_memfd(pid_t pid, uint64_t its_fd, off_t size, int seals, int *fd);
/* Errors: UNSUPPORTED; NO_MEMORY; the target's. */
struct mt_error *mt_calls_alive_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_rings *rings, pid_t lwp, uint64_t its_fd);
void mt_calls_alive_unmap(struct mt_calls_engine *engine, struct mt_calls_rings *rings, pid_t lwp);
/* Into the directory, if the space has one: memory that was mapped, before it is used.  INODE: of
 * the file that it is a copy of; 0: it is private, and a mark is put at its end. */
void mt_calls_list(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		   uint64_t start, uint64_t end, uint64_t inode);
/* The same of memory that is about to be mapped there, so that it is found should we be killed
 * before it is listed: a copy, or private memory as long as it holds nothing. */
void mt_calls_list_ahead(const struct mt_calls_space *space, uint64_t start, uint64_t end,
			 uint64_t inode);
/* The first BYTES of what begins there were unmapped; or are about to be, if that is not all of it.
 */
void mt_calls_unlist(const struct mt_calls_space *space, uint64_t start, uint64_t bytes);

/* rings.c */
#define MT_MADV_POPULATE_WRITE 23
/* Those of a space that has none.  Errors: the target's; SYSTEM (what the program may not have);
 * NO_MEMORY. */
struct mt_error *mt_calls_rings_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       pid_t lwp);
void mt_calls_rings_unref(struct mt_calls_rings *rings);
/* In the program: the slots' size; where a ring, its pages' table and a slot are.  Here: a ring, a
 * slot. */
uint64_t mt_calls_slots_bytes(const struct mt_calls_rings *rings);
/* From ring to ring: what its thread's conditions note lies behind each. */
static inline uint64_t mt_calls_ring_stride(const struct mt_calls_rings *rings)
{
	return rings->ring_bytes + MT_CALLS_TABLES_BYTES;
}
uint64_t mt_calls_ring_address(const struct mt_calls_rings *rings, uint32_t ring);
uint64_t mt_calls_pages_address(const struct mt_calls_rings *rings, uint32_t ring);
uint64_t mt_calls_slot_address(const struct mt_calls_rings *rings, uint32_t ring);
uint8_t *mt_calls_ring_here(const struct mt_calls_rings *rings, uint32_t ring);
struct mt_ring_position *mt_calls_slot(const struct mt_calls_rings *rings, uint32_t ring);
/* The file comes to hold this ring.  Errors: SYSTEM. */
struct mt_error *mt_calls_rings_reach(struct mt_calls_rings *rings, uint32_t ring);
/* From rings->address on: that are mapped, and that threads may have written to. */
uint64_t mt_calls_rings_bytes(const struct mt_calls_rings *rings);
uint64_t mt_calls_rings_used_bytes(const struct mt_calls_rings *rings);
/* Where errors of conditions are counted: in the program, and here. */
uint64_t mt_calls_conditions_address(const struct mt_calls_rings *rings);
uint8_t *mt_calls_conditions_here(const struct mt_calls_rings *rings);
/* In the program, and here: where a list's results go. */
uint64_t mt_calls_results_address(const struct mt_calls_rings *rings);
const uint64_t *mt_calls_results_here(const struct mt_calls_rings *rings);
/* In the program: the word that tells whether we live. */
static inline uint64_t mt_calls_alive_word(const struct mt_calls_rings *rings)
{
	return rings->alive_address + MT_CALLS_ALIVE_WORD;
}
/* Its memory goes back to the system; what is written on comes anew. */
void mt_calls_rings_empty(const struct mt_calls_rings *rings);

/* agent.c */
/* Put it into a program, in the name of LWP.  Errors: the target's. */
struct mt_error *mt_calls_agent_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp);

#endif
