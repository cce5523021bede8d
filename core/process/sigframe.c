/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/sigframe.h"
#include "base/search.h"

#include <string.h>

#define SEGMENTS    0x002b000000000033ull /* __USER_DS, __USER_CS */
#define CHUNK_WORDS 8192u
#define MOST_STACK  (16ull << 20)
#define PART        (256ull << 10)
#define MOST_STACKS 16 /* that interrupted each other */
#define WORD        sizeof(uint64_t)

/* mov rax, rt_sigreturn; syscall: glibc's, musl's, Go's.  Unwinders know it by these, too. */
static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

struct search {
	struct mt_target *target;
	pid_t pid;
	uint64_t sp, end; /* the stack at hand */
	uint64_t next;    /* another one, which it interrupted; 0: none */
	struct mt_error *(*found)(void *context, uint64_t address, const struct mt_sigframe *frame);
	void *context;
};

int mt_stacks_add(struct mt_stacks *stacks, const struct mt_map *map)
{
	struct mt_stack_range range = {map->start, map->end};

	return map->writable ? mt_array_push(stacks, range) : 0;
}

/* Where the search on the stack at SP ends; SP itself: no stack is there. */
static uint64_t end_of_stack(const struct mt_stacks *stacks, uint64_t sp)
{
	const size_t at = mt_partition_point(i, 0, stacks->count, stacks->items[i].end <= sp);

	if (at == stacks->count || stacks->items[at].start > sp)
		return sp;
	const struct mt_stack_range *range = &stacks->items[at];
	bool is_large = range->end - range->start > MOST_STACK && range->end - sp > PART;
	return is_large ? sp + PART : range->end;
}

static bool is_frame(const struct search *search, const struct mt_sigframe *frame)
{
	uint8_t code[sizeof(restorer)];

	return frame->segments == SEGMENTS &&
	       search->target->ops->read(search->target, search->pid, frame->restorer, code,
					 sizeof(code)) == sizeof(code) &&
	       memcmp(code, restorer, sizeof(code)) == 0;
}

/* The word at AT looks like a frame's segments. */
static struct mt_error *look_at(struct search *search, uint64_t at)
{
	const uint64_t address = at - offsetof(struct mt_sigframe, segments);
	struct mt_sigframe frame;

	if (address < search->sp ||
	    search->target->ops->read(search->target, search->pid, address, &frame,
				      sizeof(frame)) != sizeof(frame) ||
	    !is_frame(search, &frame))
		return NULL;
	if (frame.rsp < search->sp || frame.rsp >= search->end)
		search->next = frame.rsp;
	return search->found(search->context, address, &frame);
}

static struct mt_error *search_stack(struct search *search)
{
	uint64_t words[CHUNK_WORDS];

	for (uint64_t at = search->sp; at < search->end;) {
		uint64_t left = search->end - at;
		size_t size =
		    search->target->ops->read(search->target, search->pid, at, words,
					      left < sizeof(words) ? left : sizeof(words));

		for (size_t i = 0; i < size / WORD; i++)
			if (words[i] == SEGMENTS)
				mt_try(look_at(search, at + i * WORD));
		if (size < WORD)
			return NULL;
		at += size & ~(WORD - 1);
	}
	return NULL;
}

struct mt_error *mt_sigframe_each(struct mt_target *target, pid_t pid,
				  const struct mt_stacks *stacks, uint64_t sp,
				  struct mt_error *(*found)(void *context, uint64_t address,
							    const struct mt_sigframe *frame),
				  void *context)
{
	struct search search = {
	    .target = target, .pid = pid, .found = found, .context = context, .next = sp};

	for (int i = 0; i < MOST_STACKS && search.next; i++) {
		search.sp = search.next & ~(WORD - 1);
		search.end = end_of_stack(stacks, search.sp);
		search.next = 0;
		mt_try(search_stack(&search));
	}
	return NULL;
}
