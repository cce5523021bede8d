/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints: an int3 that stays where it is while its instruction runs elsewhere, so that no
 * thread can slip by.  At a patch's first byte that elsewhere is the trampoline; else it is a copy
 * made at the first hit. */
#include "target/calls_private.h"

#include "x86/insn.h"

#define INT3       0xcc
#define REACH      0x7ff00000ull
#define ROOM_BYTES 4096u

struct mt_error *mt_calls_move_thread(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      pid_t lwp)
{
	struct user_regs_struct registers;
	struct mt_calls_place *place;
	uint64_t copy = 0;
	ssize_t patch;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	place = mt_calls_place_at(space, registers.rip);
	if (!place)
		return NULL;
	patch = mt_calls_patch_at(place, registers.rip);
	if (patch < 0 || mt_calls_patch_address(place->module, (size_t)patch) == registers.rip)
		return NULL;
	copy = mt_calls_module_copy_of(place->module, (size_t)patch, registers.rip);
	if (!copy)
		return NULL;
	registers.rip = copy;
	return engine->target->ops->set_registers(engine->target, lwp, &registers);
}

/* Between a short jump and the long one in its hole. */
static uint64_t trampoline_of_hole(const struct mt_calls_place *place, uint64_t address)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; i < plan->patches.count; i++)
		if (place->written[i] && plan->patches.items[i].hole &&
		    plan->patches.items[i].hole + module->bias == address)
			return module->room + module->offsets[i];
	return 0;
}

struct mt_error *mt_calls_leave_hole(struct mt_calls_engine *engine,
				     const struct mt_calls_place *place, pid_t lwp)
{
	struct user_regs_struct registers;
	uint64_t trampoline;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	trampoline = trampoline_of_hole(place, registers.rip);
	if (!trampoline)
		return NULL;
	registers.rip = trampoline;
	return engine->target->ops->set_registers(engine->target, lwp, &registers);
}

struct mt_calls_break *mt_calls_break_at(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (one, &space->breaks)
		if (one->address == address)
			return one;
	return NULL;
}

static struct mt_error *read_original(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      const struct mt_calls_place *place, uint64_t address,
				      uint8_t *byte)
{
	if (place) {
		*byte = place->module->clean[address - place->module->start];
		return NULL;
	}
	if (engine->target->ops->read(engine->target, space->pid, address, byte, 1) == 1)
		return NULL;
	return mt_error_new(MT_ERROR_NOT_FOUND, "no code is at 0x%llx of process %d",
			    (unsigned long long)address, space->pid);
}

struct mt_error *mt_calls_set_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    uint64_t address, bool loader)
{
	struct mt_calls_break one = {.address = address, .loader = loader};
	struct mt_calls_place *place = mt_calls_place_at(space, address);
	const uint8_t int3 = INT3;

	if (mt_calls_break_at(space, address))
		return NULL;
	mt_try(read_original(engine, space, place, address, &one.original));
	if (mt_array_push(&space->breaks, one))
		return mt_error_no_memory();
	if (!place)
		return engine->target->ops->write(engine->target, space->pid, address, &int3, 1);
	mt_try(engine->target->ops->halt(engine->target, space->pid));
	struct mt_error *error = mt_calls_text_write(engine, space, place);
	engine->target->ops->release(engine->target, space->pid);
	return error;
}

static bool is_near(const struct mt_calls_room *room, uint64_t address)
{
	uint64_t distance = room->used > address ? room->used - address : address - room->used;

	return distance < REACH;
}

static struct mt_error *find_room(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp, uint64_t address, struct mt_calls_room **out)
{
	struct mt_calls_room room = {0};

	mt_array_each (one, &space->rooms) {
		if (!is_near(one, address) || one->end - one->used < 64)
			continue;
		*out = one;
		return NULL;
	}
	mt_try(
	    mt_calls_room_map(engine, space, lwp, address, address + 1, ROOM_BYTES, &room.start));
	room.used = room.start;
	room.end = room.start + ROOM_BYTES;
	if (mt_array_push(&space->rooms, room))
		return mt_error_no_memory();
	*out = mt_array_last(&space->rooms);
	return NULL;
}

/* The program's own bytes from ADDRESS on. */
static size_t read_code(struct mt_calls_engine *engine, struct mt_calls_space *space,
			const struct mt_calls_break *one, uint8_t bytes[MT_INSN_MAX_BYTES])
{
	const struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	size_t size = engine->target->ops->read(engine->target, space->pid, one->address, bytes,
						MT_INSN_MAX_BYTES);

	for (size_t i = 0; place && i < size && one->address + i < place->module->end; i++)
		bytes[i] = place->module->clean[one->address + i - place->module->start];
	mt_array_each (other, &space->breaks)
		if (other->address - one->address < size)
			bytes[other->address - one->address] = other->original;
	return size;
}

static struct mt_error *cannot_pass(const struct mt_calls_break *one)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "the instruction at 0x%llx cannot be run elsewhere",
			    (unsigned long long)one->address);
}

static struct mt_error *make_copy(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp, struct mt_calls_break *one)
{
	struct mt_trampolines code = {0};
	struct mt_calls_room *room = NULL;
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn;
	struct mt_patch patch = {.address = one->address};

	if (mt_insn_decode(bytes, read_code(engine, space, one, bytes), one->address, &insn))
		return cannot_pass(one);
	patch.length = insn.length;
	mt_try(find_room(engine, space, lwp, one->address, &room));
	struct mt_trampoline_config config = {.address = room->used,
					      .ring_bytes = (uint32_t)engine->options.ring_bytes};
	struct mt_error *error = NULL;
	if (mt_trampoline_append(&code, &config, &patch, bytes, 0) ||
	    code.code.count > room->end - room->used)
		error = cannot_pass(one);
	if (!error)
		error = engine->target->ops->write(engine->target, space->pid, room->used,
						   code.code.items, code.code.count);
	if (!error) {
		one->copy = room->used;
		room->used += code.code.count;
	}
	mt_trampolines_deinit(&code);
	return error;
}

/* It will not be hit again. */
static struct mt_error *give_up(struct mt_calls_engine *engine, struct mt_calls_space *space,
				struct mt_calls_break *one)
{
	uint64_t address = one->address;
	uint8_t original = one->original;

	mt_log(engine->options.log, MT_LOG_WARNING,
	       "the breakpoint at 0x%llx is taken out: its instruction cannot be run elsewhere",
	       (unsigned long long)address);
	*one = *mt_array_last(&space->breaks);
	space->breaks.count--;
	return engine->target->ops->write(engine->target, space->pid, address, &original, 1);
}

struct mt_error *mt_calls_pass_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct mt_calls_break *one)
{
	struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	ssize_t patch = place ? mt_calls_patch_at(place, one->address) : -1;
	struct user_regs_struct registers;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	registers.rip = one->address;
	mt_try(engine->target->ops->set_registers(engine->target, lwp, &registers));
	if (patch >= 0) {
		registers.rip = place->module->room + place->module->offsets[patch];
		return engine->target->ops->set_registers(engine->target, lwp, &registers);
	}
	if (!one->copy) {
		struct mt_error *error = make_copy(engine, space, lwp, one);

		if (error && mt_error_code(error) == MT_ERROR_UNSUPPORTED) {
			mt_error_destroy(error);
			return give_up(engine, space, one);
		}
		if (error)
			return error;
	}
	registers.rip = one->copy;
	return engine->target->ops->set_registers(engine->target, lwp, &registers);
}

/* At a patch's first byte stands the patch's jump. */
static uint8_t byte_without(struct mt_calls_space *space, const struct mt_calls_break *one)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	ssize_t patch = place ? mt_calls_patch_at(place, one->address) : -1;

	if (patch < 0)
		return one->original;
	return place->module->file->plan->patches.items[patch].hole ? 0xeb : 0xe9;
}

struct mt_error *mt_calls_remove_breaks(struct mt_calls_engine *engine,
					struct mt_calls_space *space, pid_t pid)
{
	mt_array_each (one, &space->breaks) {
		uint8_t byte = byte_without(space, one);

		mt_try(engine->target->ops->write(engine->target, pid, one->address, &byte, 1));
	}
	return NULL;
}
