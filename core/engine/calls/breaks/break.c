/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints: an int3 in the text that stays where it is while its instruction runs elsewhere, so
 * that no thread can slip by.  At a patch's first byte that elsewhere is the trampoline; else it is
 * a copy made at the first hit.  Where it can be, a breakpoint is a jump to a stub instead
 * (stub.c). */
#include "engine/calls/breaks/breaks.h"

#include "engine/calls/memory/memory.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "engine/calls/texts/texts.h"
#include "process/inject.h"
#include "x86/insn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INT3 0xcc
#define JUMP 0xe9
/* A jump, and what is overwritten behind it. */
#define COPY_BYTES 64u

bool mt_calls_has_condition(const struct mt_calls_space *space, uint64_t address, const char *text)
{
	mt_array_each (one, &space->breaks)
		if ((one->address == address || one->asked == address) && one->condition &&
		    one->condition->given.text == text)
			return true;
	return false;
}

struct file_bytes {
	uint64_t address;
	uint8_t *bytes;
	size_t size;
};

static struct mt_error *read_file(void *context, const struct mt_map *map)
{
	struct file_bytes *file = context;
	struct stat found;
	ssize_t size = 0;

	if (file->address < map->start || file->address >= map->end || map->path[0] != '/')
		return NULL;
	/* Not blocking: a FIFO may have the name of a file that has none any more. */
	int fd = open(map->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	/* In another mount namespace it may be another file's, too.  The device is not compared:
	 * btrfs has another one for mappings. */
	if (fstat(fd, &found) == 0 && found.st_ino == map->inode)
		size = pread(fd, file->bytes, MT_INSN_MAX_BYTES,
			     (off_t)(file->address - map->start + map->offset));
	close(fd);
	file->size = size > 0 ? (size_t)size : 0;
	return NULL;
}

/* Of another file that has the module's name there. */
static bool is_of_another(const struct mt_calls_place *place, uint64_t address)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const struct mt_patch *patch = mt_plan_patch_at(plan, address - module->bias);

	return !module->is_mapped_file &&
	       (place->another ||
		(patch && place->off[patch - plan->patches.items] == MT_CALLS_OFF_FOREIGN));
}

/* The program's own bytes from ADDRESS on: the file's, since another tracer of ours may have been
 * killed here. */
static struct mt_error *read_code(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  uint64_t address, uint8_t bytes[MT_INSN_MAX_BYTES], size_t *size)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, address);
	struct file_bytes file = {.address = address, .bytes = bytes};

	if (place && !is_of_another(place, address)) {
		uint64_t left = place->module->end - address;

		*size = left < MT_INSN_MAX_BYTES ? left : MT_INSN_MAX_BYTES;
		if (mt_calls_clean_bytes(place->module, address, bytes, *size))
			return NULL;
	}
	mt_try(mt_target_each_map(engine->target, space->pid, read_file, &file));
	*size = file.size;
	if (!*size)
		*size = engine->target->ops->read(engine->target, space->pid, address, bytes,
						  MT_INSN_MAX_BYTES);
	if (*size)
		return NULL;
	return mt_error_new(MT_ERROR_NOT_FOUND, "no code at 0x%llx of process %d",
			    (unsigned long long)address, space->pid);
}

static struct mt_error *see_code(void *context, const struct mt_map *map)
{
	struct mt_calls_break *one = context;

	if (one->address >= map->start && one->address < map->end)
		one->code = mt_calls_code_of(map);
	return NULL;
}

struct mt_error *mt_calls_find_code(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_break *one,
				    bool *is_gone)
{
	const struct mt_calls_code asked = one->code;

	one->code = (struct mt_calls_code){0};
	mt_try(mt_target_each_map(engine->target, space->pid, see_code, one));
	*is_gone = asked.is_known && !mt_calls_is_same_code(&one->code, &asked);
	return NULL;
}

/* A thread in the middle of a system call, as in an event stop of fork(), would lose its result. */
static bool stands_well(struct mt_calls_engine *engine, pid_t lwp, bool *waits)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, lwp, &registers);
	bool known = !error;

	mt_error_destroy(error);
	*waits = known && mt_inject_is_restarted(&registers);
	return known && ((int64_t)registers.orig_rax < 0 || (int64_t)registers.rax != -ENOSYS);
}

/* One that cannot do getpid() cannot do more; but under seccomp that may end it. */
static bool is_able(struct mt_calls_engine *engine, pid_t lwp, struct mt_error **why)
{
	struct mt_system_call nothing = {.number = SYS_getpid};

	mt_error_destroy(*why);
	*why = mt_target_call_system(engine->target, lwp, &nothing);
	return !*why;
}

/* The first of those that wait, or of those that do not. */
static pid_t find_able(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		       bool of_waiting, struct mt_error **why)
{
	for (const struct mt_calls_thread *thread = engine->threads; thread;
	     thread = thread->hh.next) {
		bool waits;

		if (thread->space != space || thread->guest ||
		    !stands_well(engine, thread->lwp, &waits))
			continue;
		waits &= thread->lwp != thread->pid;
		if (waits == of_waiting && !mt_calls_sandbox_of(engine, thread->lwp) &&
		    is_able(engine, thread->lwp, why))
			return thread->lwp;
	}
	return 0;
}

/* One that waits has less to do than others, among which a process's first thread counts. */
pid_t mt_calls_able_thread(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			   struct mt_error **why)
{
	struct mt_error *last = NULL;
	pid_t lwp = find_able(engine, space, true, &last);

	if (!lwp)
		lwp = find_able(engine, space, false, &last);
	if (why)
		*why = last;
	else
		mt_error_destroy(last);
	return lwp;
}

/* An int3 would outlive us, and kill the program. */
static struct mt_error *go_without(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   const struct mt_calls_break *one, bool for_now)
{
	const struct mt_calls_break later = {.address = one->asked ? one->asked : one->address,
					     .code = one->code,
					     .loader = one->loader,
					     .condition = one->condition};

	if (for_now)
		return mt_array_push(&space->waiting, later) ? mt_error_no_memory() : NULL;
	if (one->loader)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "calls in libraries that process %d loads from now on are not recorded: no "
		       "jump fits at its dynamic loader's debugger hook",
		       space->pid);
	else
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "ignoring the trigger at 0x%llx of process %d: no jump fits there, and a "
		       "breakpoint instruction would kill the process if mtdb were killed (try the "
		       "start of a function, a line next to this one, or mtdb run)",
		       (unsigned long long)one->address, space->pid);
	return NULL;
}

/* A patch leaves a function's endbr64 where it is, and begins behind it: so does what is to run in
 * front of its trampoline. */
static void go_behind_endbr64(struct mt_calls_space *space, struct mt_calls_break *one)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t bytes[sizeof(endbr64)];
	const struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	uint64_t behind = one->address + sizeof(endbr64);
	ssize_t patch =
	    place && behind < place->module->end ? mt_calls_planned_at(place, behind) : -1;

	if (patch < 0 || !mt_calls_clean_bytes(place->module, one->address, bytes, sizeof(bytes)) ||
	    memcmp(bytes, endbr64, sizeof(endbr64)) != 0)
		return;
	one->asked = one->address;
	one->address = behind;
}

static struct mt_error *put_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  struct mt_calls_break *one)
{
	if (one->condition || one->gate)
		go_behind_endbr64(space, one);
	struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	uint8_t bytes[MT_INSN_MAX_BYTES], text[MT_CALLS_BREAK_BYTES];
	size_t size = 0;
	bool sandboxed = mt_calls_sandbox(engine, space) != NULL;
	pid_t lwp = space->rings && !sandboxed ? mt_calls_able_thread(engine, space, NULL) : 0;

	mt_try(read_code(engine, space, one->address, bytes, &size));
	memcpy(one->original, bytes, size);
	one->length = 1;
	if (mt_calls_records_values(one->condition)) {
		mt_try(mt_calls_values_find(engine, space, one));
		if (!one->condition->values.count)
			return NULL;
	}
	if (mt_calls_is_later(one->condition) && space->rings) {
		mt_try(
		    mt_calls_condition_compile(engine, space, one->condition, one->address, false));
		if (!mt_calls_needs_begin(space, one))
			return mt_calls_add_ends(engine, space, lwp, one);
	}
	if (space->rings)
		mt_try(mt_calls_stub_make(engine, space, lwp, one, bytes, size));
	if (mt_calls_is_later(one->condition)) {
		if (one->stub)
			mt_try(mt_calls_add_ends(engine, space, lwp, one));
		else if (!space->attached || lwp || sandboxed)
			return mt_calls_cannot_measure(one->condition,
						       "there is no memory near it");
	}
	if (mt_calls_is_span(one->condition) && !one->gate && !one->next &&
	    (one->stub || !space->attached || lwp || sandboxed))
		return mt_calls_cannot_measure(one->condition, one->stub
								   ? "its calls are not recorded"
								   : "there is no memory near it");
	if (!one->stub && (one->gate || mt_calls_records_values(one->condition)))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "there is no memory near it");
	if (!one->stub && space->attached)
		return go_without(engine, space, one, !lwp && !sandboxed);
	mt_array_each (other, &space->breaks)
		other->behind |= one->next && other->address == one->address;
	if (mt_array_push(&space->breaks, *one))
		return mt_error_no_memory();
	mt_try(mt_calls_line_begin(engine, space, mt_array_last(&space->breaks)));
	if (place)
		return mt_calls_text_write_break(engine, space, place,
						 mt_array_last(&space->breaks));
	mt_calls_break_bytes(one, text);
	return engine->target->ops->write(engine->target, space->pid, one->address, text,
					  one->length);
}

/* It lets threads pass that its condition is not about, to one behind it. */
static bool stands_aside(const struct mt_calls_break *one)
{
	return one->stub && !one->length && one->condition && one->condition->is_compiled;
}

/* At an entry. */
static bool stops(const struct mt_calls_break *one)
{
	return !one->hook && !mt_calls_is_later(one->condition) &&
	       !mt_calls_records_values(one->condition) &&
	       (one->gate ? !mt_calls_begins_span(one->condition)
			  : !mt_calls_is_span(one->condition));
}

struct mt_calls_break *mt_calls_stopping_break_at(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (one, &space->breaks)
		if (stops(one) && mt_calls_break_is_at(one, address))
			return one;
	return NULL;
}

uint64_t mt_calls_break_end_of_stops(const struct mt_calls_space *space,
				     const struct mt_calls_break *one)
{
	uint64_t end = one->next;

	/* The last one that was made is first. */
	for (size_t i = (size_t)(one - space->breaks.items); i-- > 0;) {
		const struct mt_calls_break *behind = &space->breaks.items[i];

		if (behind->next && !behind->retired && behind->address == one->address &&
		    mt_calls_stub_entry(behind) == end)
			end = behind->next;
	}
	if (end == one->next || !stops(one))
		return one->next;
	/* Nobody else knows how many hits the program has counted. */
	mt_array_each (other, &space->breaks)
		if (other->address == one->address && !other->retired &&
		    (!stops(other) ? other < one
				   : other->condition &&
					 mt_engine_is_limited(&other->condition->given.limits)))
			return one->next;
	return end;
}

/* In a library that came since the mappings were looked at: first it is patched. */
static bool is_too_early(const struct mt_calls_space *space, const struct mt_calls_break *one)
{
	if (!space->attached || space->stage != MT_CALLS_LOADED || one->loader || !one->code.inode)
		return false;
	mt_array_each (code, &space->looked_at)
		if (mt_calls_is_same_code(code, &one->code))
			return false;
	return true;
}

/* One that had to wait may come too late: its library was unloaded, and what lies there now is
 * another's, or no code at all. */
static struct mt_error *put_if_there(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_break *one)
{
	bool is_gone;

	mt_try(mt_calls_find_code(engine, space, one, &is_gone));
	if (!is_gone && is_too_early(space, one))
		return mt_array_push(&space->waiting, *one) ? mt_error_no_memory() : NULL;
	if (!is_gone)
		return put_break(engine, space, one);
	mt_log(engine->options.log, MT_LOG_DEBUG,
	       "no trigger at 0x%llx of process %d: what was there was unmapped",
	       (unsigned long long)one->address, space->pid);
	return NULL;
}

static struct mt_error *set_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  struct mt_calls_break one)
{
	const uint64_t address = one.address;
	struct mt_calls_condition *condition = one.condition;
	struct mt_held_maps maps;

	mt_try(mt_calls_unmask(engine, space));
	mt_try(mt_calls_line_yield(engine, space, address));
	struct mt_calls_break *there = mt_calls_is_later(condition) ||
					       mt_calls_is_span(condition) ||
					       mt_calls_records_values(condition)
					   ? NULL
					   : mt_calls_stopping_break_at(space, address);

	if (there && (!condition || !stands_aside(there))) {
		there->shared = true;
		return NULL;
	}
	/* Until its function is patched. */
	if (condition && space->stage < MT_CALLS_LOADED) {
		bool is_gone;

		mt_try(mt_calls_find_code(engine, space, &one, &is_gone));
		return !is_gone && mt_array_push(&space->waiting, one) ? mt_error_no_memory()
								       : NULL;
	}
	mt_try(mt_target_halt(engine->target, space->pid));
	mt_target_hold_maps(engine->target, space->pid, &maps);
	struct mt_error *error = put_if_there(engine, space, &one);
	mt_target_let_maps_go(engine->target, &maps);
	mt_target_release(engine->target, space->pid);
	return mt_calls_records_values(condition) ? mt_calls_values_tell(engine, condition, error)
						  : error;
}

struct mt_error *mt_calls_set_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    uint64_t address, bool loader,
				    struct mt_calls_condition *condition)
{
	return set_break(
	    engine, space,
	    (struct mt_calls_break){.address = address, .loader = loader, .condition = condition});
}

struct mt_error *mt_calls_set_gate(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   uint64_t address, const struct mt_engine_condition *given)
{
	struct mt_calls_break one = {.address = address, .gate = true, .trigger = given->trigger};

	mt_try(mt_calls_unmask(engine, space));
	go_behind_endbr64(space, &one);
	const struct mt_calls_place *place = mt_calls_place_at(space, one.address);
	ssize_t patch = place ? mt_calls_planned_at(place, one.address) : -1;
	bool is_entry =
	    patch >= 0 && place->module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY;
	one.address = address;
	one.asked = 0;
	one.condition = mt_calls_condition_add(engine, given);
	if (!one.condition)
		return mt_error_no_memory();
	one.condition->is_gate = true;
	if (!is_entry && !mt_calls_may_be_at_line(one.condition))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    given->values
					? "its calls are not recorded"
					: "it is not at a function's entry that is recorded");
	mt_try(put_break(engine, space, &one));
	return given->values && !one.condition->values.count
		   ? mt_error_new(MT_ERROR_UNSUPPORTED, "no value of it can be recorded")
		   : NULL;
}

struct mt_error *mt_calls_set_waiting_breaks(struct mt_calls_engine *engine,
					     struct mt_calls_space *space)
{
	size_t count = space->waiting.count;

	/* Those that must wait on are put at the end again. */
	for (size_t i = 0; i < count; i++)
		mt_try(set_break(engine, space, space->waiting.items[i]));
	if (!count)
		return NULL;
	memmove(space->waiting.items, space->waiting.items + count,
		(space->waiting.count - count) * sizeof(space->waiting.items[0]));
	space->waiting.count -= count;
	return NULL;
}

static struct mt_error *cannot_pass(const struct mt_calls_break *one)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "the instruction at 0x%llx cannot be displaced",
			    (unsigned long long)one->address);
}

static struct mt_error *make_copy(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp, struct mt_calls_break *one)
{
	struct mt_trampolines code = {0};
	struct mt_calls_room *room = NULL;
	uint8_t bytes[MT_INSN_MAX_BYTES];
	size_t size = 0;
	struct mt_insn insn;
	struct mt_patch patch = {.address = one->address};
	const struct mt_calls_room_wish wish = {
	    .start = one->address, .end = one->address + 1, .bytes = COPY_BYTES};

	mt_try(read_code(engine, space, one->address, bytes, &size));
	if (mt_insn_decode(bytes, size, one->address, &insn))
		return cannot_pass(one);
	patch.length = insn.length;
	mt_try(mt_calls_room_find(engine, space, lwp, one->address, &wish, &room));
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
	uint8_t original = one->original[0];

	mt_log(engine->options.log, MT_LOG_WARNING,
	       "removed the breakpoint at 0x%llx: its instruction cannot be displaced",
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

	if (one->stub)
		return mt_calls_stub_leave(engine, one, space->pid, lwp);
	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	registers.rip = one->address;
	mt_try(engine->target->ops->set_registers(engine->target, lwp, &registers));
	if (patch >= 0) {
		registers.rip = mt_calls_stub_before(
		    space, one->address, place->module->room + place->module->offsets[patch]);
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
		return one->original[0];
	return place->module->file->plan->patches.items[patch].hole ? 0xeb : 0xe9;
}

struct mt_error *mt_calls_remove_breaks(struct mt_calls_engine *engine,
					struct mt_calls_space *space, pid_t pid)
{
	mt_array_each (one, &space->breaks) {
		uint8_t byte = byte_without(space, one);

		if (one->stub) {
			mt_try(mt_calls_stub_silence(engine, one, pid));
			continue;
		}
		uint8_t there = 0;
		if (engine->target->ops->read(engine->target, pid, one->address, &there, 1) == 1 &&
		    there == INT3)
			mt_try(engine->target->ops->write(engine->target, pid, one->address, &byte,
							  1));
	}
	return NULL;
}
