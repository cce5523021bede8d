/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions at lines.  A jump of the breakpoint's own leads to the condition's code, and displaces
 * as many instructions as it needs.  Their copies stand behind that code as in any trampoline: its
 * rows tell of them, so that threads find out of it, and unwinders their way, as everywhere.
 *
 *	the condition; it holds: jmp stub, else: jmp copies
 *	copies, and the jump back to the program
 * stub:	...; jmp copies */
#include "engine/calls/breaks/breaks.h"

#include "engine/calls/texts/texts.h"

#include <stdio.h>
#include <string.h>

#define JUMP 0xe9

static bool overlaps(const struct mt_calls_module *module, const struct mt_patch *patch,
		     uint64_t start, uint64_t end)
{
	const uint64_t at = patch->address + module->bias, hole = patch->hole + module->bias;

	return (at < end && at + patch->length > start) ||
	       (patch->hole && hole < end && hole + MT_PATCH_JUMP_BYTES > start);
}

/* Threads may still be in the copies of one that is retired, and go back to behind its bytes. */
static bool meets(const struct mt_calls_break *other, uint64_t start, uint64_t end)
{
	if (other->retired)
		return other->back > start && other->back < end;
	return other->address < end &&
	       other->address + (other->length ? other->length : 1u) > start;
}

/* A debugger asks for the same lines whenever its program goes on. */
static struct mt_error *find_stretch(struct mt_calls_file *file, uint64_t address, size_t *length)
{
	struct mt_calls_stretch stretch = {.address = address};

	mt_array_each (known, &file->stretches)
		if (known->address == address) {
			*length = known->length;
			return NULL;
		}
	mt_try(mt_plan_stretch_at(file->objfile, address, &stretch.length));
	*length = stretch.length;
	return mt_array_push(&file->stretches, stretch) ? mt_error_no_memory() : NULL;
}

struct in_file {
	uint64_t address;
	struct mt_calls_line *out;
};

static struct mt_error *see_file(void *context, const struct mt_map *map)
{
	const struct in_file *in = context;

	if (in->address >= map->start && in->address < map->end)
		snprintf(in->out->file, sizeof(in->out->file), "no calls are recorded in %s",
			 mt_path_name(map->path));
	return NULL;
}

/* One place of several may be in another file, like the dynamic loader's own functions of libc. */
static struct mt_error *tell_file(const struct mt_calls_engine *engine,
				  const struct mt_calls_space *space, uint64_t address,
				  struct mt_calls_line *out)
{
	struct in_file in = {address, out};

	snprintf(out->file, sizeof(out->file), "no calls are recorded in its file");
	out->why_not = out->file;
	return mt_target_each_map(engine->target, space->pid, see_file, &in);
}

struct mt_error *mt_calls_line_room(const struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_place *place,
				    const struct mt_calls_break *one, uint8_t first, size_t size,
				    struct mt_calls_line *out)
{
	const struct mt_calls_module *module = place ? place->module : NULL;
	size_t room = 0;

	*out = (struct mt_calls_line){0};
	if (!module)
		return tell_file(engine, space, one->address, out);
	out->why_not = "another trigger is too near";
	if (one->condition->yields)
		return NULL;
	mt_try(find_stretch(module->file, one->address - module->bias, &room));
	mt_array_each (other, &space->breaks)
		if (meets(other, one->address, one->address + room))
			return NULL;
	out->why_not = MT_CALLS_NO_JUMP;
	if (!room || room > size)
		return NULL;
	out->why_not = "threads may come into its bytes from what a killed mtdb left";
	if (room > first && (space->inherited || space->left))
		return NULL;
	out->why_not = MT_CALLS_NO_JUMP;
	mt_array_each (patch, &module->file->plan->patches)
		if (overlaps(module, patch, one->address, one->address + room))
			return NULL;
	*out = (struct mt_calls_line){.length = (uint8_t)room};
	return NULL;
}

/* A breakpoint, of the debugger whose gate it is, stands in the bytes that it would displace. */
static bool is_broken(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      const struct mt_calls_break *one)
{
	uint8_t there[MT_CALLS_BREAK_BYTES];

	return engine->target->ops->read(engine->target, space->pid, one->address, there,
					 one->length) != one->length ||
	       memcmp(there, one->original, one->length) != 0;
}

struct mt_error *mt_calls_line_begin(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_break *one)
{
	if (!mt_calls_break_is_line(one) || space->hidden)
		return NULL;
	one->held = one->gate && is_broken(engine, space, one);
	/* Before the text changes: should we be killed in between, they go on all the same. */
	one->written = !one->held;
	return one->written ? mt_calls_displace_all(engine, space, NULL) : NULL;
}

struct mt_error *mt_calls_line_yield(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     uint64_t address)
{
	mt_array_each (one, &space->breaks) {
		if (!mt_calls_break_is_line(one) || address < one->address ||
		    address >= one->address + one->length || (one->gate && address == one->address))
			continue;
		const uint64_t at = one->address;
		struct mt_calls_condition *condition =
		    mt_calls_condition_add(engine, &one->condition->given);

		if (!condition)
			return mt_error_no_memory();
		condition->yields = true;
		mt_try(mt_calls_break_retire(engine, space, one));
		return mt_calls_set_break(engine, space, at, false, condition);
	}
	return NULL;
}

struct mt_error *mt_calls_line_displace(const struct mt_calls_engine *engine,
					struct mt_calls_break *one, uint64_t address,
					const uint8_t *bytes, uint8_t length, uint64_t *copy)
{
	struct mt_trampolines *code = &one->condition->code.trampolines;
	const struct mt_patch patch = {.address = one->address, .length = length};
	const struct mt_trampoline_config config = {
	    .address = address, .ring_bytes = (uint32_t)engine->options.ring_bytes};
	const size_t hit = code->code.count, behind = hit + MT_PATCH_JUMP_BYTES;
	uint32_t distance;

	*copy = 0;
	if (mt_array_reserve(&code->code, behind))
		return mt_error_no_memory();
	code->code.count = behind;
	const int failed = mt_trampoline_append(code, &config, &patch, bytes, 0);
	if (failed)
		return failed == -1 ? mt_error_no_memory() : NULL;
	distance = (uint32_t)(code->code.count - behind);
	code->code.items[hit] = JUMP;
	memcpy(code->code.items + hit + 1, &distance, sizeof(distance));
	*copy = address + behind;
	return NULL;
}
