/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that lead to what a killed tracer of ours left.  Those that the space has as places are
 * cleaned with what is its own; the others are exchanged for clean copies, too.  A jump in a text
 * counts if it is not the file's. */
#include "engine/calls/private.h"

#include "process/inject.h"
#include "process/proc.h"

#include <string.h>
#include <unistd.h>

#define PAGE        4096u
#define JUMP        0xe9
#define SHORT_JUMP  0xeb
#define INT3        0xcc
#define JUMP_BYTES  MT_PATCH_JUMP_BYTES
#define SHORT_BYTES MT_PATCH_SHORT_BYTES
#define SHORT_REACH 127
/* Of a text, which is read as a whole to be cleaned, and of all that are searched. */
#define MOST_TEXT_BYTES (512ull << 20)
#define MOST_BYTES      (16ull << 30)

struct looking {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	struct mt_calls_left *left;
	int pagemap;    /* -1: it cannot be had */
	uint64_t bytes; /* of texts that were looked at */
};

struct search {
	const struct looking *looking;
	uint64_t end; /* of the text */
	bool found;
};

/* With the end of a jump that reaches into the next one. */
static bool see_page(void *context, uint64_t page)
{
	struct search *search = context;
	const struct looking *looking = search->looking;
	struct mt_target *target = looking->engine->target;
	uint8_t bytes[PAGE + JUMP_BYTES - 1];
	const uint64_t rest = search->end - page;
	const size_t size = target->ops->read(target, looking->space->pid, page, bytes,
					      rest < sizeof(bytes) ? rest : sizeof(bytes));

	search->found = mt_calls_left_next_jump(looking->left, page, bytes, size, 0) < size;
	return !search->found;
}

/* Whether what looks like a jump in a text leads to what is left.  Only in pages that somebody
 * wrote is one that is not the file's; others are not touched, since memory comes to be where a
 * file has none.  False, and not whole: it is not known. */
static bool leads_there(struct looking *looking, uint64_t start, uint64_t end)
{
	struct search search = {.looking = looking, .end = end};
	const bool is_too_large =
	    end - start > MOST_TEXT_BYTES || end - start > MOST_BYTES - looking->bytes;

	looking->bytes += is_too_large ? 0 : end - start;
	if (is_too_large ||
	    (!mt_proc_each_written(looking->pagemap, start, end, see_page, &search) &&
	     !search.found))
		looking->left->is_whole = false;
	return search.found;
}

static struct mt_error *see_text(void *context, const struct mt_map *map)
{
	struct looking *looking = context;
	struct mt_calls_left *left = looking->left;
	const struct mt_calls_place *place = mt_calls_place_at(looking->space, map->start);
	struct mt_calls_left_text text = {.start = map->start, .end = map->end};

	if (!map->executable || !map->inode || mt_calls_left_has_copy(left, map->start) ||
	    !leads_there(looking, map->start, map->end))
		return NULL;
	if (place && !place->another)
		return NULL; /* its text is cleaned as such */
	if (place || map->writable)
		left->is_whole = false;
	text.path = strdup(map->path);
	if (text.path && !mt_array_push(&left->texts, text))
		return NULL;
	free(text.path);
	return mt_error_no_memory();
}

struct mt_error *mt_calls_left_add_texts(struct mt_calls_engine *engine,
					 struct mt_calls_space *space, struct mt_calls_left *left,
					 struct mt_calls_swap *swap)
{
	struct looking looking = {engine, space, left, mt_proc_open_pagemap(space->pid), 0};
	struct mt_error *error = mt_target_each_map(engine->target, space->pid, see_text, &looking);

	if (looking.pagemap >= 0)
		close(looking.pagemap);
	mt_try(error);
	mt_array_each (text, &left->texts)
		if (mt_calls_swap_add(swap, text->start, text->end, text->path))
			return mt_error_no_memory();
	return NULL;
}

/* A copy that is the file's byte for byte may take the text's place whatever was there meanwhile:
 * so what is there now has to be the file's, but for what is ours. */
static struct mt_error *fill(const struct mt_calls_engine *engine,
			     const struct mt_calls_space *space, const struct mt_calls_left *left,
			     struct mt_calls_copy *copy)
{
	struct mt_target *target = engine->target;
	const size_t size = copy->end - copy->start;
	uint8_t *text = malloc(2 * size), *clean = text ? text + size : NULL;
	const struct mt_calls_piece piece = {copy->start, size, text};

	if (!text)
		return mt_error_no_memory();
	if (target->ops->read(target, space->pid, copy->start, text, size) == size &&
	    target->ops->read(target, space->pid, copy->address, clean, size) == size) {
		mt_calls_undo_breaks(space, &piece);
		copy->is_filled = mt_calls_left_undo(left, copy->start, text, clean, size) &&
				  memcmp(text, clean, size) == 0;
	}
	free(text);
	return NULL;
}

struct mt_error *mt_calls_left_fill(const struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_left *left, struct mt_calls_swap *swap)
{
	mt_array_each (text, &left->texts) {
		struct mt_calls_copy *copy = mt_calls_swap_find(swap, text->start);

		if (copy && copy->is_due)
			mt_try(fill(engine, space, left, copy));
	}
	return NULL;
}

bool mt_calls_left_is_unreached(struct mt_calls_engine *engine, struct mt_calls_space *space,
				struct mt_calls_left *left, const struct mt_calls_swap *swap)
{
	struct looking looking = {engine, space, left, mt_proc_open_pagemap(space->pid), 0};
	bool is_reached = false;

	/* One that was unloaded meanwhile leads nowhere. */
	mt_array_each (text, &left->texts)
		is_reached |= !mt_calls_swap_is_exchanged(swap, text->start) &&
			      leads_there(&looking, text->start, text->end);
	if (looking.pagemap >= 0)
		close(looking.pagemap);
	return !is_reached && left->is_whole;
}

/* At a jump of the other's: it may be the second of two, and then nothing else stands there. */
static bool follow(void *context, struct user_regs_struct *registers)
{
	const struct looking *looking = context;
	struct mt_target *target = looking->engine->target;
	uint8_t bytes[JUMP_BYTES];
	int32_t distance;

	if (mt_inject_is_restarted(registers) ||
	    target->ops->read(target, looking->space->pid, registers->rip, bytes, sizeof(bytes)) !=
		sizeof(bytes) ||
	    mt_calls_left_next_jump(looking->left, registers->rip, bytes, sizeof(bytes), 0) != 0)
		return false;
	memcpy(&distance, bytes + 1, sizeof(distance));
	registers->rip += sizeof(bytes) + (uint64_t)(int64_t)distance;
	return true;
}

struct mt_error *mt_calls_left_follow(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      struct mt_calls_left *left)
{
	struct looking looking = {engine, space, left, -1, 0};
	bool is_whole;

	return mt_calls_move_all(engine, space, follow, &looking, &is_whole);
}
