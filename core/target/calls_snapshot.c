/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings into the recording.  The processes are halted while their rings are copied, so that all
 * threads' histories end at the same moment, and run on while the copies are written. */
#include "target/calls_private.h"

#include <string.h>

#define BATCH 1024

struct copy {
	struct mt_calls_thread *thread;
	struct mt_ring_view view;
	uint8_t *bytes;
	mt_calls_marks marks; /* the view's */
};

struct snapshot {
	struct mt_calls_engine *engine;
	uint32_t number;
	uint64_t tsc;
	MT_ARRAY(struct copy) copies;
};

static const uint8_t xadd[] = {0x64, 0x48, 0x0f, 0xc1, 0x04, 0x25};

/* A thread within the recording part of a trampoline: whether its slot is reserved, but not filled.
 * Until the xadd is run, it lies ahead. */
bool mt_calls_is_half_written(const struct mt_calls_module *module, uint64_t pc)
{
	const struct mt_trampolines *code = &module->trampolines;
	uint32_t at = (uint32_t)(pc - module->room);
	const struct mt_trampoline_row *row = mt_trampoline_row_at(code, at);
	const struct mt_trampoline_row *end = code->rows.items + code->rows.count, *next = row;
	size_t until;

	if (!row || row->phase != MT_PHASE_RECORDING)
		return false;
	while (next < end && next->phase == MT_PHASE_RECORDING && next->original == row->original)
		next++;
	until = next < end ? next->offset : code->code.count;
	return !memmem(code->code.items + at, until - at, xadd, sizeof(xadd));
}

static uint64_t slot_bytes(const struct mt_calls_engine *engine)
{
	return engine->options.stamps == MT_RING_FULL ? 16 : 8;
}

static bool leave_half_written(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);
	const struct mt_calls_place *place =
	    error ? NULL : mt_calls_place_of_trampoline(thread->space, registers.rip);

	mt_error_destroy(error);
	return place && mt_calls_is_half_written(place->module, registers.rip);
}

static int copy_marks(struct copy *copy, uint64_t tsc)
{
	const struct mt_ring_mark end = {copy->view.written, tsc, tsc};
	const mt_calls_marks *marks = &copy->thread->marks;

	if (mt_array_reserve(&copy->marks, marks->count + 1))
		return -1;
	memcpy(copy->marks.items, marks->items, marks->count * sizeof(end));
	copy->marks.items[marks->count] = end;
	copy->marks.count = marks->count + 1;
	copy->view.marks = copy->marks.items;
	copy->view.mark_count = copy->marks.count;
	return 0;
}

static void begin_anew(struct mt_calls_thread *thread, uint64_t written, uint64_t tsc)
{
	thread->begin = written;
	thread->marks.items[0] = (struct mt_ring_mark){written, tsc, tsc};
	thread->marks.count = 1;
}

/* The part of the ring that counts. */
static struct mt_error *copy_ring(struct snapshot *snapshot, struct mt_calls_thread *thread)
{
	struct mt_calls_engine *engine = snapshot->engine;
	struct copy copy = {.thread = thread};

	mt_calls_mark(engine, thread, snapshot->tsc);
	copy.view = mt_calls_ring_view(engine, thread);

	if (copy.view.written > copy.view.begin && leave_half_written(engine, thread))
		copy.view.written -= slot_bytes(engine);
	if (copy.view.written <= copy.view.begin)
		return NULL;
	copy.bytes = malloc(copy.view.size);
	if (!copy.bytes || copy_marks(&copy, snapshot->tsc) ||
	    mt_array_push(&snapshot->copies, copy)) {
		free(copy.bytes);
		mt_array_deinit(&copy.marks);
		return mt_error_no_memory();
	}
	/* From a ring that was never full, only what was written: the rest has no pages yet. */
	memcpy(copy.bytes, copy.view.bytes,
	       copy.view.written < copy.view.size ? copy.view.written : copy.view.size);
	mt_array_last(&snapshot->copies)->view.bytes = copy.bytes;
	if (!engine->options.keep_rings)
		begin_anew(thread, copy.view.written, snapshot->tsc);
	return NULL;
}

/* Stack pointers of a thread's lie near one another. */
static uint64_t whole_stack(const struct mt_calls_thread *thread, uint32_t low)
{
	return thread->stack + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)thread->stack);
}

static bool understand(const struct mt_calls_engine *engine, const struct mt_calls_thread *thread,
		       const struct mt_call_event *event, struct mt_recording_call *out)
{
	const struct mt_calls_module *module = mt_calls_module_of_site(engine, event->site);
	const struct mt_plan_site *site;

	if (!module)
		return false;
	site = &module->file->plan->sites.items[event->site - module->site_base];
	*out = (struct mt_recording_call){
	    .time_ns = mt_tsc_to_ns(&engine->options.conversion, event->tsc),
	    .address = site->address + module->bias,
	    .stack = whole_stack(
		thread, event->stack + mt_ring_pushed(engine->options.stamps, site->is_return)),
	    .kind = site->is_return ? MT_RECORDING_RETURN : MT_RECORDING_CALL,
	    .time_is_estimate = event->estimated,
	};
	return true;
}

static struct mt_error *put_events(struct mt_calls_engine *engine, const struct copy *copy,
				   struct mt_recording_writer *writer)
{
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_recording_call calls[BATCH + MT_RING_LINE_EVENTS];
	const struct mt_calls_thread *thread = copy->thread;
	struct mt_ring_cursor cursor;
	size_t count = 0;
	bool at_end = false;

	mt_ring_cursor_init(&cursor, &copy->view);
	while (!at_end) {
		size_t more = mt_ring_next_line(&cursor, events, &at_end);

		for (size_t i = 0; i < more; i++)
			count += understand(engine, thread, &events[i], &calls[count]);
		if (count < BATCH && !at_end)
			continue;
		mt_try(
		    mt_recording_writer_put_calls(writer, thread->pid, thread->lwp, calls, count));
		count = 0;
	}
	return NULL;
}

static struct mt_error *put_note(const struct snapshot *snapshot, const struct copy *copy,
				 struct mt_recording_writer *writer)
{
	struct mt_sideband note = {
	    .time_ns = mt_tsc_to_ns(&snapshot->engine->options.conversion, snapshot->tsc),
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = copy->thread->pid,
	    .tid = copy->thread->lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_SNAPSHOT,
		       .ip = copy->thread->pc,
		       .weight = snapshot->number},
	};

	return snapshot->number ? mt_recording_writer_put(writer, &note) : NULL;
}

static void for_processes(struct mt_calls_engine *engine, pid_t lwp,
			  void (*act)(struct mt_target *target, pid_t pid))
{
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (!lwp || thread->lwp == lwp)
			act(engine->target, thread->pid);
}

static void halt(struct mt_target *target, pid_t pid)
{
	mt_error_destroy(target->ops->halt(target, pid));
}

static struct mt_error *copy_rings(struct snapshot *snapshot, pid_t lwp)
{
	struct mt_calls_thread *thread = snapshot->engine->threads;

	snapshot->tsc = mt_clock_tsc();
	for (; thread; thread = thread->hh.next)
		if (thread->rings && (!lwp || thread->lwp == lwp))
			mt_try(copy_ring(snapshot, thread));
	return NULL;
}

struct mt_error *mt_calls_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				   struct mt_recording_writer *writer)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct snapshot snapshot = {.engine = engine, .number = number};
	struct mt_error *error;

	/* One thread alone stands still, when it is asked for: it ends. */
	if (!lwp)
		for_processes(engine, lwp, halt);
	error = copy_rings(&snapshot, lwp);
	if (!lwp)
		for_processes(engine, lwp, engine->target->ops->release);
	mt_array_each (copy, &snapshot.copies) {
		if (!error)
			error = put_events(engine, copy, writer);
		if (!error)
			error = put_note(&snapshot, copy, writer);
		free(copy->bytes);
		mt_array_deinit(&copy->marks);
	}
	mt_array_deinit(&snapshot.copies);
	return error;
}
