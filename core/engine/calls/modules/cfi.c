/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program's own unwinder learns of trampolines.  Behind each module's trampolines lie the
 * tables that describe them (engine/calls/trampoline/cfi.h), and behind a condition those of its
 * code; an entry of the agent's leads to
 * it, and to the holes: one may lie in the dead bytes of another function's patch, which that
 * function's own call frame information covers.
 *
 * An unwinder meets a trampoline only where a signal's handler interrupted it.  So the tables of a
 * program that we started are written when a signal comes to a thread that stands in there, or when
 * somebody gets the memory whose signals we do not see: to most programs neither happens. */
#include "engine/calls/modules/modules.h"

#include "engine/calls/state/state.h"

#define MAP_OFFSET 8 /* of r_map in struct r_debug */

_Static_assert(sizeof(struct mt_calls_entry) == 96, "MT_AGENT_BYTES counts on it");
_Static_assert(offsetof(struct mt_calls_entry, code) == 8, "agent_code.S knows it");
_Static_assert(offsetof(struct mt_calls_entry, hole_count) == 64, "agent_code.S knows it");

static bool read_word(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      uint64_t address, uint64_t *word)
{
	return engine->target->ops->read(engine->target, space->pid, address, word,
					 sizeof(*word)) == sizeof(*word);
}

static struct mt_error *write_word(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space, uint64_t address,
				   uint64_t word)
{
	return engine->target->ops->write(engine->target, space->pid, address, &word, sizeof(word));
}

/* The first that is unused; 0: none.  One that leads to nothing stays on the way of those who
 * stand there. */
static uint64_t find_free(struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	uint64_t at = space->agent + MT_AGENT_ENTRIES;
	struct mt_calls_entry entries[64];

	for (unsigned i = 0; i < MT_AGENT_ENTRY_COUNT; i++, at += sizeof(entries[0])) {
		if (i % 64 == 0 &&
		    engine->target->ops->read(engine->target, space->pid, at, entries,
					      sizeof(entries)) != sizeof(entries))
			return 0;
		if (!entries[i % 64].code_bytes)
			return at;
	}
	return 0;
}

struct mt_error *mt_calls_cfi_link(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   const struct mt_calls_entry *what, uint64_t *at)
{
	struct mt_calls_entry entry = *what;
	uint64_t list = space->agent + MT_AGENT_LIST;
	uint64_t to = entry.code_bytes && space->agent ? find_free(engine, space) : 0;

	if (!to || !read_word(engine, space, list, &entry.next))
		return NULL;
	if (!space->debug || !read_word(engine, space, space->debug + MAP_OFFSET, &entry.object))
		entry.object = 0;
	mt_try(engine->target->ops->write(engine->target, space->pid, to, &entry, sizeof(entry)));
	*at = to;
	return write_word(engine, space, list, to);
}

/* The word that leads to the entry at AT; 0: none. */
static uint64_t find_link(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			  uint64_t at)
{
	uint64_t link = space->agent + MT_AGENT_LIST, to = 0;

	for (unsigned i = 0; i < MT_AGENT_ENTRY_COUNT && read_word(engine, space, link, &to); i++) {
		if (to == at)
			return link;
		if (!to)
			return 0;
		link = to + offsetof(struct mt_calls_entry, next);
	}
	return 0;
}

struct mt_error *mt_calls_cfi_unlink(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     uint64_t *at)
{
	const struct mt_calls_entry nothing = {0};
	uint64_t from = *at, next = 0;
	uint64_t link = from ? find_link(engine, space, from) : 0;

	*at = 0;
	if (!link || !read_word(engine, space, from, &next))
		return NULL;
	mt_try(write_word(engine, space, link, next));
	/* `next` stays. */
	return engine->target->ops->write(engine->target, space->pid, from + sizeof(next),
					  (const char *)&nothing + sizeof(next),
					  sizeof(nothing) - sizeof(next));
}

bool mt_calls_describes_late(const struct mt_calls_engine *engine,
			     const struct mt_calls_space *space)
{
	return engine->target->run && !space->attached;
}

struct mt_error *mt_calls_describe(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_place *place)
{
	if (place->is_described)
		return NULL;
	place->is_described = true;
	mt_try(mt_calls_module_write_tables(engine, space, place->module));
	return mt_calls_cfi_link(engine, space, &place->module->entry, &place->entry);
}

struct mt_error *mt_calls_describe_all(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	if (!mt_calls_describes_late(engine, space))
		return NULL;
	mt_array_each (place, &space->places)
		mt_try(mt_calls_describe(engine, space, place));
	return NULL;
}

struct mt_error *mt_calls_describe_at(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      uint64_t pc)
{
	struct mt_calls_place *place = mt_calls_place_of_trampoline(space, pc);

	if (!place) {
		place = mt_calls_place_at(space, pc);
		if (!place || mt_calls_patch_of_hole(place, pc) < 0)
			return NULL;
	}
	if (place->is_described || !mt_calls_describes_late(engine, space))
		return NULL;
	struct mt_error *error = mt_calls_describe(engine, space, place);
	/* It made itself undumpable, or is gone. */
	if (error && mt_error_code(error) != MT_ERROR_NO_MEMORY) {
		mt_error_destroy(error);
		return NULL;
	}
	return error;
}
