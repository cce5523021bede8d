/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which calls are open in a thread that stands still, by unwinding its stack: what was called
 * before there were patches, and what the ring has lost.
 *
 * Told is what the events say too: a function that is entered, but whose event is not written yet,
 * is not open; one whose return was written is not any more.  But to people who look at the thread
 * where it stands, a function is open from its first instruction to its last. */
#include "engine/calls/private.h"

#include "base/clock.h"
#include "process/moved.h"
#include "space/unwind.h"
#include "x86/insn.h"

#include <string.h>

/* A stack of the usual limit, 8 MiB, holds no more. */
#define MOST_FRAMES         (1u << 19)
#define GREATEST_VDSO_BYTES (1u << 20)
#define ENDBR_BYTES         4

struct walk {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	pid_t pid;
	const struct mt_calls_thread *thread;
	const struct mt_calls_history *copied; /* its ring; NULL: it was not */
};

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct walk *walk = context;

	return walk->engine->target->ops->read(walk->engine->target, walk->pid, address, buffer,
					       size);
}

static struct mt_objfile *objfile_of(struct walk *walk, const struct mt_map *map)
{
	struct mt_calls_file *file = NULL;

	if (strcmp(map->path, "[vdso]") == 0) {
		/* The same in all processes. */
		size_t size = map->end - map->start;
		uint8_t *bytes;

		if (walk->engine->vdso || size > GREATEST_VDSO_BYTES)
			return walk->engine->vdso;
		bytes = malloc(size);
		if (bytes && read_memory(walk, map->start, bytes, size) == size)
			mt_error_destroy(
			    mt_objfile_open_memory(map->path, bytes, size, &walk->engine->vdso));
		free(bytes);
		return walk->engine->vdso;
	}
	HASH_FIND_STR(walk->engine->files, map->path, file);
	return file ? file->objfile : NULL;
}

/* NULL: it was not moved out of one that is recorded. */
static const struct mt_calls_module *moved_of(const struct walk *walk, const struct mt_map *map)
{
	const struct mt_calls_place *place = mt_calls_place_at(walk->space, map->start);
	const struct mt_calls_module *module = place ? place->module : NULL;

	return mt_map_is_nameless_code(map) && module && map->end <= module->end &&
		       mt_map_holds_text(walk->engine->target, walk->pid, map,
					 module->file->objfile,
					 module->offset + (map->start - module->start))
		   ? module
		   : NULL;
}

static struct mt_error *add_map(void *context, const struct mt_map *map)
{
	struct walk *walk = context;
	struct mt_mapping mapping = {.start = map->start,
				     .end = map->end,
				     .offset = map->offset,
				     .path = mt_map_is_nameless_code(map) ? "//anon" : map->path};
	struct mt_objfile *objfile;

	if (!map->executable)
		return NULL;
	const struct mt_calls_module *module = moved_of(walk, map);
	if (module) {
		mapping.offset = module->offset + (map->start - module->start);
		mapping.path = module->file->path;
	}
	objfile = module ? module->file->objfile : objfile_of(walk, map);
	return objfile ? mt_space_add_objfile(walk->space->code, &mapping, objfile)
		       : mt_space_add(walk->space->code, &mapping);
}

static struct mt_error *find_code(struct walk *walk)
{
	struct mt_calls_engine *engine = walk->engine;

	if (walk->space->code)
		return NULL;
	if (!engine->pool)
		mt_try(mt_space_pool_create(NULL, &engine->pool));
	mt_try(mt_space_create(engine->pool, walk->pid, &walk->space->code));
	struct mt_error *error = mt_target_each_map(engine->target, walk->pid, add_map, walk);
	if (error)
		mt_calls_forget_code(walk->space);
	return error;
}

void mt_calls_forget_code(struct mt_calls_space *space)
{
	mt_space_destroy(space->code);
	space->code = NULL;
}

static const struct mt_trampoline_row *row_at(const struct mt_calls_place *place, uint64_t pc)
{
	return place ? mt_calls_row_at(place->module, pc) : NULL;
}

/* What the thread was about to write where it stands, or when a signal came. */
static void clear_unwritten(const struct walk *walk, const struct mt_registers *registers)
{
	const uint64_t *values = registers->values;
	struct mt_calls_unwritten unwritten;

	if (walk->copied &&
	    mt_calls_find_unwritten(walk->thread, values[MT_REGISTER_RIP], values[MT_REGISTER_RAX],
				    values[MT_REGISTER_RCX], &unwritten))
		mt_ring_clear(walk->copied->bytes, walk->copied->view.size,
			      walk->copied->view.written, unwritten.at, unwritten.bytes);
}

static void leave_shared(const struct walk *walk, struct mt_registers *registers)
{
	struct user_regs_struct user = {.rip = registers->values[MT_REGISTER_RIP],
					.rsp = registers->values[MT_REGISTER_RSP]};

	mt_calls_leave_shared(walk->engine, walk->space, &user);
	registers->values[MT_REGISTER_RIP] = user.rip;
	registers->values[MT_REGISTER_RSP] = user.rsp;
}

/* The program's own place for one in code of ours. */
static void mend(void *context, struct mt_registers *registers)
{
	const struct walk *walk = context;
	uint64_t *pc = &registers->values[MT_REGISTER_RIP];

	clear_unwritten(walk, registers);
	leave_shared(walk, registers);
	const struct mt_trampoline_row *row =
	    row_at(mt_calls_place_of_trampoline(walk->space, *pc), *pc);

	if (!row)
		row = mt_calls_condition_row(walk->space, *pc);
	if (row) {
		registers->values[MT_REGISTER_RIP] = row->original;
		registers->values[MT_REGISTER_RSP] += (uint64_t)row->below;
		/* No function's frame is found by these. */
		registers->known &=
		    ~(1u << MT_REGISTER_RAX | 1u << MT_REGISTER_RDX | 1u << MT_REGISTER_RCX);
		return;
	}
	const struct mt_calls_place *place = mt_calls_place_at(walk->space, *pc);
	ssize_t patch = place ? mt_calls_patch_of_hole(place, *pc) : -1;
	if (patch >= 0) {
		*pc = mt_calls_patch_address(place->module, (size_t)patch);
		return;
	}
	mt_array_each (one, &walk->space->breaks)
		if (one->copy == *pc)
			*pc = one->address;
}

void mt_calls_mend(struct mt_engine *base, pid_t lwp, struct mt_registers *registers)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);
	const struct walk walk = {
	    .engine = engine, .space = thread ? thread->space : NULL, .pid = lwp};

	if (thread)
		mend((void *)&walk, registers);
}

static bool is_return(const struct mt_calls_module *module, uint64_t address)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn;

	if (address < module->start || address >= module->end)
		return false;
	uint64_t left = module->end - address, size = left < sizeof(bytes) ? left : sizeof(bytes);
	return mt_calls_clean_bytes(module, address, bytes, size) &&
	       !mt_insn_decode(bytes, size, address, &insn) && insn.class == MT_INSN_RETURN;
}

static bool is_entry(const struct mt_calls_place *place, ssize_t patch, uint64_t address)
{
	return patch >= 0 && mt_calls_patch_address(place->module, (size_t)patch) == address &&
	       place->module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY;
}

/* Behind the event of a return that ends a call which is measured. */
static bool is_behind_end(const struct mt_calls_space *space, uint64_t pc)
{
	mt_array_each (one, &space->breaks)
		if (one->hook &&
		    ((pc >= one->stub && pc <= one->copy) ||
		     pc - one->condition->address < one->condition->code.trampolines.code.count))
			return true;
	return false;
}

/* In code in front of a trampoline, which records the entry, unless that code did. */
static bool is_before_entry(struct mt_calls_space *space, uint64_t pc)
{
	const struct mt_calls_break *one = mt_calls_break_of_condition(space, pc);

	return one && !one->hook && !mt_calls_break_is_line(one) &&
	       mt_calls_condition_row(space, pc)->phase != MT_PHASE_RECORDED;
}

/* The innermost frame counts as not open, by the events. */
static bool is_not_told(const struct walk *walk, struct user_regs_struct registers)
{
	mt_calls_leave_shared(walk->engine, walk->space, &registers);
	uint64_t pc = registers.rip;
	const struct mt_calls_place *place = mt_calls_place_of_trampoline(walk->space, pc);
	const struct mt_trampoline_row *row = row_at(place, pc);

	if (row) {
		bool entry =
		    is_entry(place, mt_calls_patch_at(place, row->original), row->original);

		if (entry && row->phase == MT_PHASE_RECORDING)
			return true;
		return is_return(place->module, row->original) && row->phase != MT_PHASE_RECORDING;
	}
	place = mt_calls_place_at(walk->space, pc);
	if (!place)
		return is_behind_end(walk->space, pc) || is_before_entry(walk->space, pc);
	ssize_t patch = mt_calls_patch_of_hole(place, pc);
	if (patch >= 0)
		pc = mt_calls_patch_address(place->module, (size_t)patch);
	return is_entry(place, patch >= 0 ? patch : mt_calls_patch_at(place, pc), pc);
}

static struct mt_error *unwind(struct walk *walk, const struct user_regs_struct *user,
			       struct mt_calls_frames *out)
{
	const struct mt_unwind_source source = {
	    .space = walk->space->code, .read = read_memory, .mend = mend, .context = walk};
	struct mt_registers registers = mt_registers_of(user);
	bool skip = !walk->space->hidden && is_not_told(walk, *user);
	struct mt_unwind_frame frame;
	struct mt_unwinder unwinder;

	mt_unwind_start(&unwinder, &source, &registers);
	for (; out->count < MOST_FRAMES && mt_unwind_next(&unwinder, &frame); skip = false) {
		const struct mt_event call = {.to = mt_unwind_inside(&frame),
					      .from = frame.cfa - sizeof(uint64_t),
					      .kind = MT_EVENT_FRAME};

		if (frame.cfa && !frame.signal && !skip && mt_array_push(out, call))
			return mt_error_no_memory();
	}
	return NULL;
}

struct mt_error *mt_calls_find_frames(struct mt_calls_engine *engine,
				      const struct mt_calls_thread *thread,
				      const struct mt_calls_history *copied,
				      struct mt_calls_frames *out)
{
	struct walk walk = {.engine = engine,
			    .space = thread->space,
			    .pid = thread->pid,
			    .thread = thread,
			    .copied = copied};
	struct user_regs_struct registers;
	struct mt_error *error;

	out->count = 0;
	if (!thread->rings)
		return NULL;
	error = engine->target->ops->get_registers(engine->target, thread->lwp, &registers);
	/* Else it is in another program by now. */
	if (!error && !mt_calls_is_slot(thread->rings, registers.gs_base))
		return NULL;
	if (!error)
		error = find_code(&walk);
	if (!error)
		error = unwind(&walk, &registers, out);
	/* It does not stand still, or is dead. */
	if (error && mt_error_code(error) != MT_ERROR_NO_MEMORY) {
		mt_error_destroy(error);
		return NULL;
	}
	return error;
}

int mt_calls_frames_copy(struct mt_calls_frames *to, const struct mt_calls_frames *from)
{
	to->count = 0;
	if (mt_array_reserve(to, from->count))
		return -1;
	mt_array_each (frame, from)
		to->items[to->count++] = *frame;
	return 0;
}

/* Its entry is patched, behind an endbr64 perhaps. */
static bool is_recorded(struct mt_calls_space *space, uint64_t address)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, address);
	const struct mt_calls_module *module = place ? place->module : NULL;
	const struct mt_symbol *symbol =
	    module ? mt_objfile_symbol_at(module->file->objfile, address - module->bias) : NULL;

	if (!symbol)
		return false;
	for (uint64_t start = symbol->start; start <= symbol->start + ENDBR_BYTES;
	     start += ENDBR_BYTES) {
		uint64_t entry = start + module->bias;

		if (is_entry(place, mt_calls_patch_at(place, entry), entry))
			return true;
	}
	return false;
}

static bool is_among(const struct mt_calls_frames *frames, const struct mt_event *frame)
{
	mt_array_each (other, frames)
		if (other->from == frame->from)
			return true;
	return false;
}

size_t mt_calls_unreported_frames(const struct mt_calls_thread *thread,
				  const struct mt_calls_frames *frames)
{
	size_t i = 0;

	/* Functions that were left alone did not report, and may have been patched again since. */
	if (thread->space->hidden)
		return frames->count;
	while (i < frames->count && !is_among(&thread->frames, &frames->items[i]) &&
	       !is_recorded(thread->space, frames->items[i].to))
		i++;
	return i < frames->count ? i + 1 : 0;
}

/* What it has written since the patches came does not count. */
static void begin_recording(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	if (!thread->rings)
		return;
	thread->used = mt_calls_written_whole(engine, thread, mt_calls_written(thread));
	mt_calls_begin_anew(thread, mt_clock_tsc());
}

struct mt_error *mt_calls_note_roots(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	space->roots_pending = false;
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (thread->space != space)
			continue;
		begin_recording(engine, thread);
		mt_try(mt_calls_find_frames(engine, thread, NULL, &thread->frames));
	}
	return NULL;
}
