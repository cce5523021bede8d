/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/interrupted.h"

#include <stdlib.h>

#define STACK_BYTES (256u << 10)
#define MOST_STACKS 4 /* a handler's own one, and what it interrupted */

/* Words of struct sigcontext_64, by how far they lie before the one with the segments. */
#define SEGMENTS     0x002b000000000033ull
#define PC_BEFORE    2
#define STACK_BEFORE 3

struct scan {
	struct mt_target *target;
	pid_t pid;
	uint64_t *words;
	uint64_t start, end; /* of what was read */
	uint64_t next;       /* a stack elsewhere; 0: none was seen */
	struct mt_error *(*found)(void *context, uint64_t pc);
	void *context;
};

static struct mt_error *look(struct scan *scan, size_t count)
{
	for (size_t i = STACK_BEFORE; i < count; i++) {
		uint64_t stack = scan->words[i - STACK_BEFORE];

		if (scan->words[i] != SEGMENTS)
			continue;
		mt_try(scan->found(scan->context, scan->words[i - PC_BEFORE]));
		if (stack < scan->start || stack >= scan->end)
			scan->next = stack;
	}
	return NULL;
}

static struct mt_error *look_from(struct scan *scan, uint64_t stack)
{
	size_t size;

	scan->start = stack & ~7ull;
	scan->next = 0;
	/* As much as there is of it. */
	size =
	    scan->target->ops->read(scan->target, scan->pid, scan->start, scan->words, STACK_BYTES);
	scan->end = scan->start + size;
	return look(scan, size / sizeof(uint64_t));
}

struct mt_error *mt_interrupted_each(struct mt_target *target, pid_t pid, uint64_t stack,
				     struct mt_error *(*found)(void *context, uint64_t pc),
				     void *context)
{
	struct scan scan = {.target = target,
			    .pid = pid,
			    .words = malloc(STACK_BYTES),
			    .next = stack,
			    .found = found,
			    .context = context};
	struct mt_error *error = scan.words ? NULL : mt_error_no_memory();

	for (int i = 0; !error && scan.next && i < MOST_STACKS; i++)
		error = look_from(&scan, scan.next);
	free(scan.words);
	return error;
}

struct place {
	struct mt_target *target;
	pid_t pid;
	uint64_t start;
	size_t size;
	bool inside;
};

static struct mt_error *see_pc(void *context, uint64_t pc)
{
	struct place *place = context;

	place->inside |= pc - place->start < place->size;
	return NULL;
}

static struct mt_error *look_at(void *context, pid_t lwp)
{
	struct place *place = context;
	struct user_regs_struct registers;
	struct mt_error *error = place->target->ops->get_registers(place->target, lwp, &registers);

	if (!error)
		error = see_pc(place, registers.rip);
	if (!error)
		error =
		    mt_interrupted_each(place->target, place->pid, registers.rsp, see_pc, place);
	place->inside |= error != NULL;
	mt_error_destroy(error);
	return NULL;
}

bool mt_interrupted_is_inside(struct mt_target *target, pid_t pid, uint64_t start, size_t size)
{
	struct place place = {target, pid, start, size, false};

	mt_error_destroy(target->ops->each_thread(target, pid, look_at, &place));
	return place.inside;
}
