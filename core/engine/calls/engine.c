/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls engine: each function's entry and its returns are overwritten with jumps to trampolines
 * that write into the thread's ring (trampoline/, ring/), and the program runs freely between
 * stops.
 *
 * It stops by itself where its dynamic loader reports libraries to debuggers, at births, signals
 * and ends, and at breakpoints of ours. */
#include "engine/calls/private.h"

#include "process/proc.h"
#include "process/sharers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_RING_BYTES (16ull << 10)
#define MOST_RING_BYTES  (1ull << 30)
#define RDTSC_BYTES      2
#define SHARER_LOOKS     50
#define SHARER_PAUSE_NS  5000000

static struct mt_calls_engine *engine_of(struct mt_engine *base)
{
	return (struct mt_calls_engine *)base;
}

static struct mt_error *probe(void)
{
	return NULL;
}

/* Trampolines wrap by one bit operation. */
static uint64_t ring_size(uint64_t wanted)
{
	uint64_t size = LEAST_RING_BYTES;

	if (!wanted)
		wanted = MT_ENGINE_DEFAULT_RING_BYTES;
	while (size < wanted && size < MOST_RING_BYTES)
		size *= 2;
	return size;
}

static struct mt_error *create(struct mt_target *target, const struct mt_engine_options *options,
			       struct mt_engine **out)
{
	struct mt_calls_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return mt_error_no_memory();
	engine->base.ops = &mt_engine_calls;
	engine->target = target;
	engine->options = *options;
	engine->options.ring_bytes = ring_size(options->ring_bytes);
	*out = &engine->base;
	return NULL;
}

void mt_calls_thread_destroy(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	HASH_DEL(engine->threads, thread);
	mt_calls_take_ring(thread);
	mt_array_deinit(&thread->anchors);
	mt_calls_space_unref(thread->space);
	mt_array_deinit(&thread->frames);
	free(thread);
}

static void destroy(struct mt_engine *base)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_file *file, *next;

	while (engine->threads)
		mt_calls_thread_destroy(engine, engine->threads);
	mt_array_each (birth, &engine->births)
		mt_calls_space_unref(birth->parent);
	mt_array_deinit(&engine->births);
	mt_calls_forget_ended(engine);
	mt_calls_tell_throttled(engine);
	mt_calls_conditions_end(engine);
	mt_calls_values_end(engine);
	mt_calls_text_end(engine);
	free(engine->scratch);
	mt_array_deinit(&engine->throttled);
	mt_array_each (module, &engine->modules)
		mt_calls_module_destroy(*module);
	mt_array_deinit(&engine->modules);
	mt_array_each (place, &engine->ready)
		mt_calls_place_deinit(place);
	mt_array_deinit(&engine->ready);
	bool was_stored = false;
	HASH_ITER (hh, engine->files, file, next) {
		was_stored |= file->was_stored;
		HASH_DEL(engine->files, file);
		mt_calls_file_destroy(file);
	}
	if (was_stored)
		mt_calls_trim_cache();
	mt_space_pool_destroy(engine->pool);
	mt_objfile_unref(engine->vdso);
	free(engine);
}

static void describe(const struct mt_engine *base, struct mt_recording_pt *pt)
{
	(void)base;
	*pt = (struct mt_recording_pt){0};
}

static void remove_thread(struct mt_engine *base, pid_t lwp)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);

	if (!thread)
		return;
	struct mt_calls_space *space = thread->space;
	space->references++;
	mt_calls_thread_destroy(engine, thread);
	mt_error_destroy(mt_calls_leave_memory(engine, space));
	mt_calls_space_unref(space);
}

static void rename_thread(struct mt_engine *base, pid_t former, pid_t lwp)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, former);

	if (!thread || former == lwp)
		return;
	remove_thread(base, lwp);
	HASH_DEL(engine->threads, thread);
	thread->lwp = lwp;
	HASH_ADD_INT(engine->threads, lwp, thread);
	if (engine->options.only == former)
		engine->options.only = lwp;
}

static struct mt_error *set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address,
				       const struct mt_engine_condition *given)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);
	struct mt_calls_condition *condition = NULL;

	if (given && space && !mt_calls_has_condition(space, address, given->text)) {
		condition = mt_calls_condition_add(engine_of(base), given);
		if (!condition)
			return mt_error_no_memory();
	}
	return space && (condition || !given)
		   ? mt_calls_set_break(engine_of(base), space, address, false, condition)
		   : NULL;
}

/* Who shares the memory has no rings.  For a moment a child by vfork() may look like that, whose
 * maker is on its way to wait, or has ended. */
static struct mt_error *check_sharers(const struct mt_calls_engine *engine, pid_t pid)
{
	const struct timespec pause = {.tv_nsec = SHARER_PAUSE_NS};
	pid_t sharer = mt_proc_sharer(pid);

	for (int i = 0; sharer && i < SHARER_LOOKS; i++) {
		nanosleep(&pause, NULL);
		sharer = mt_proc_sharer(pid);
	}
	return sharer ? mt_error_new(
			    MT_ERROR_UNSUPPORTED,
			    "cannot record the calls of process %d: it shares its memory with "
			    "process %d (%s)",
			    pid, sharer, mt_calls_who_can(engine))
		      : NULL;
}

static struct mt_error *prepare_attach(struct mt_engine *base, pid_t pid)
{
	struct mt_error *error = mt_calls_make_ready(engine_of(base), pid);

	if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED)
		return error;
	mt_error_destroy(error);
	return check_sharers(engine_of(base), pid);
}

static struct mt_error *attach(struct mt_engine *base, pid_t pid)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);

	return space ? mt_calls_attach(engine_of(base), space) : NULL;
}

static struct mt_error *hide(struct mt_engine *base, pid_t pid)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);

	return space ? mt_calls_hide(engine_of(base), space) : NULL;
}

static struct mt_error *show(struct mt_engine *base, pid_t pid, const struct mt_engine_alone *alone)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);

	return space ? mt_calls_show(engine_of(base), space, alone) : NULL;
}

static bool original(struct mt_engine *base, pid_t pid, uint64_t address, uint8_t *bytes,
		     size_t size)
{
	const struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);

	return space && mt_calls_original(engine_of(base), space, address, bytes, size);
}

static struct mt_error *unmask(struct mt_engine *base, pid_t pid)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);

	return space ? mt_calls_unmask(engine_of(base), space) : NULL;
}

static struct mt_error *clean(struct mt_engine *base, pid_t parent, pid_t child)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), parent);

	return space ? mt_calls_clean(engine_of(base), space, child) : NULL;
}

static struct mt_error *discard(struct mt_engine *base, pid_t lwp)
{
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);

	return thread ? mt_calls_discard(engine_of(base), thread->space, lwp) : NULL;
}

static bool look(struct mt_engine *base, pid_t lwp, struct mt_engine_ring *ring)
{
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);

	if (!thread || !thread->rings)
		return false;
	*ring = mt_calls_ring_look(engine_of(base), thread);
	return true;
}

/* A new program, in memory of its own. */
static struct mt_error *on_exec(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct mt_calls_space *former = thread->space;
	struct mt_calls_space *space = mt_calls_space_create(thread->pid);

	if (!space)
		return mt_error_no_memory();
	space->attached = former->attached;
	mt_calls_take_ring(thread);
	thread->frames.count = 0;
	thread->space = space;
	thread->guest = false;
	thread->forked = false;
	struct mt_error *error = mt_calls_leave_memory(engine, former);
	mt_calls_space_unref(former);
	return error;
}

/* The call that hit THERE is in the ring from now on.  Where other triggers stand between that and
 * what records calls, they are evaluated now as well, by whoever asked for them. */
static struct mt_error *enter_function(struct mt_calls_engine *engine,
				       struct mt_calls_thread *thread,
				       const struct mt_calls_break *there,
				       struct mt_engine_news *news)
{
	const uint64_t next = mt_calls_break_end_of_stops(thread->space, there);
	uint64_t pc;

	mt_try(mt_calls_enter_function(engine, thread, there, next, &pc));
	if (pc && next != there->next)
		news->asked = NULL;
	return NULL;
}

/* While the loader is at it, a library may be mapped that is not patched yet: where a trigger
 * stands in it is found when it is. */
static struct mt_error *on_libraries(struct mt_calls_engine *engine,
				     const struct mt_calls_thread *thread,
				     struct mt_engine_news *news)
{
	news->maps_changed = mt_calls_is_whole(engine, thread->space);
	news->ordinary = true;
	return mt_calls_space_update(engine, thread->space, thread->lwp);
}

static struct mt_error *on_breakpoint(struct mt_calls_engine *engine,
				      struct mt_calls_thread *thread, struct mt_calls_break *there,
				      struct mt_engine_news *news)
{
	news->pc = there->asked ? there->asked : there->address;
	if (there->loader) {
		mt_try(mt_calls_pass_break(engine, thread->space, thread->lwp, there));
		/* What follows takes a while, in which we may be killed. */
		mt_try(mt_target_clear_pending_stop(engine->target, thread->lwp));
		return on_libraries(engine, thread, news);
	}
	news->breakpoint = true;
	news->asked = there->condition && !there->shared ? there->condition->given.text : NULL;
	news->holds = there->condition && there->condition->address && !there->condition->is_left;
	news->took_ns = mt_calls_break_is_timed(there) ? mt_calls_slow_ns(engine, thread) : 0;
	mt_try(mt_calls_pass_break(engine, thread->space, thread->lwp, there));
	mt_try(enter_function(engine, thread, there, news));
	return mt_target_clear_pending_stop(engine->target, thread->lwp);
}

/* The instruction itself did it, and does it again when it runs again. */
static bool is_fault(const struct mt_stop *stop)
{
	return stop->kind == MT_STOP_SIGNAL && stop->code > 0 &&
	       (stop->signal == SIGSEGV || stop->signal == SIGBUS || stop->signal == SIGFPE ||
		stop->signal == SIGILL);
}

/* The instruction at PC faults, and whoever handles that wants to see it where it was written:
 * its patch is taken out for good, and it faults there. */
static struct mt_error *on_fault(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				 struct mt_calls_place *place, uint64_t original)
{
	ssize_t patch = mt_calls_patch_at(place, original);
	struct user_regs_struct registers;

	if (patch >= 0) {
		mt_calls_patch_off(place, (size_t)patch, MT_CALLS_OFF_FAULT);
		mt_try(mt_target_halt(engine->target, thread->pid));
		struct mt_error *error = mt_calls_text_write(engine, thread->space, place);
		mt_target_release(engine->target, thread->pid);
		if (error)
			return error;
	}
	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	registers.rip = original;
	return engine->target->ops->set_registers(engine->target, thread->lwp, &registers);
}

/* The program forbade itself to read the time stamp counter (strict seccomp, PR_SET_TSC), and a
 * trampoline wanted to. */
static bool is_forbidden_stamp(const struct mt_calls_module *module, const struct mt_stop *stop,
			       const struct mt_trampoline_row *row, uint64_t pc)
{
	static const uint8_t rdtsc[RDTSC_BYTES] = {0x0f, 0x31};
	uint32_t at = 0;
	const struct mt_trampolines *one = mt_calls_trampoline_at(module, pc, &at);

	return is_fault(stop) && stop->signal == SIGSEGV && row->phase != MT_PHASE_DISPLACED &&
	       one && one->code.count - at >= sizeof(rdtsc) &&
	       memcmp(one->code.items + at, rdtsc, sizeof(rdtsc)) == 0;
}

static struct mt_error *give_stamp(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	uint64_t tsc = mt_clock_tsc();

	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	registers.rax = (uint32_t)tsc;
	registers.rdx = tsc >> 32;
	registers.rip += RDTSC_BYTES;
	mt_try(engine->target->ops->set_registers(engine->target, thread->lwp, &registers));
	mt_try(mt_target_clear_pending_stop(engine->target, thread->lwp));
	/* A process that outlives us must not need us for its stamps. */
	if (thread->space->stampless)
		return NULL;
	thread->space->stampless = true;
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "process %d disabled the time stamp counter for itself (strict seccomp, "
	       "PR_SET_TSC): %s from now on",
	       thread->space->pid,
	       thread->space->attached ? "it is not recorded" : "recording it is slow");
	return thread->space->attached ? mt_calls_record_no_more(engine, thread->space) : NULL;
}

/* What it set it to is its own, and trampolines must not write there any more. */
static struct mt_error *note_foreign_gs(struct mt_calls_engine *engine,
					struct mt_calls_space *space)
{
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "not recording the calls of process %d from now on: it uses the GS register, which "
	       "the engine calls needs (%s)",
	       space->pid, mt_calls_who_can(engine));
	return mt_calls_record_no_more(engine, space);
}

/* It read memory at FAULT that is not there any more: the condition does not hold. */
static struct mt_error *pass_condition(struct mt_calls_engine *engine,
				       struct mt_calls_thread *thread,
				       const struct mt_calls_break *there, uint64_t fault)
{
	struct user_regs_struct registers;

	mt_calls_condition_fault(engine, thread->space, there->condition, fault);
	mt_try(mt_calls_leave_trampoline(engine, thread));
	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	registers.rip = there->copy;
	mt_try(engine->target->ops->set_registers(engine->target, thread->lwp, &registers));
	return mt_target_clear_pending_stop(engine->target, thread->lwp);
}

/* Of the trampoline that called what such share.  *ROW NULL: that is not known. */
static struct mt_error *find_caller(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				    const struct mt_calls_module *module,
				    const struct mt_trampoline_row **row)
{
	struct user_regs_struct registers;

	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	mt_calls_leave_shared(engine, thread->space, &registers);
	*row = mt_calls_row_at(module, registers.rip);
	if (*row && (*row)->phase == MT_PHASE_SHARED)
		*row = NULL;
	return NULL;
}

/* Where nothing of ours is. */
static struct mt_error *on_elsewhere(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				     const struct mt_stop *stop, struct mt_engine_news *news)
{
	/* A debugger asks for it itself. */
	if (!is_fault(stop) || stop->signal != SIGSEGV || engine->options.live)
		return NULL;
	mt_try(
	    mt_calls_mend_copy(engine, thread->space, thread->lwp, stop->address, &news->ordinary));
	return news->ordinary ? mt_target_clear_pending_stop(engine->target, thread->lwp) : NULL;
}

/* Where a thread stands, in the program's own terms. */
static struct mt_error *on_signal(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				  const struct mt_stop *stop, struct mt_engine_news *news)
{
	struct mt_calls_place *place = mt_calls_place_of_trampoline(thread->space, news->pc);
	const struct mt_calls_break *there = mt_calls_break_of_stub(thread->space, news->pc);
	const struct mt_trampoline_row *row;

	const struct mt_calls_break *condition =
	    mt_calls_break_of_condition(thread->space, news->pc);

	if (condition && is_fault(stop)) {
		news->ordinary = true;
		return pass_condition(engine, thread, condition, stop->address);
	}
	if (there || condition)
		news->pc = (there ? there : condition)->address;
	else if (!place)
		return on_elsewhere(engine, thread, stop, news);
	if (!place)
		return NULL;
	row = mt_calls_row_at(place->module, news->pc);
	if (!row)
		return NULL;
	news->ordinary = is_forbidden_stamp(place->module, stop, row, news->pc);
	if (row->phase == MT_PHASE_SHARED)
		mt_try(find_caller(engine, thread, place->module, &row));
	news->pc = row ? row->original : news->pc;
	if (news->ordinary)
		return give_stamp(engine, thread);
	if (!row)
		return NULL;
	if (!is_fault(stop) || (row->phase == MT_PHASE_DISPLACED && row->below))
		return NULL;
	/* The stack is at its end: the program may need less of it than we. */
	if (row->phase != MT_PHASE_DISPLACED)
		mt_try(mt_calls_leave_trampoline(engine, thread));
	news->ordinary = true;
	return on_fault(engine, thread, place, row->original);
}

/* An int3 of the program's, or of a copy of its code. */
static struct mt_error *on_foreign_trap(struct mt_calls_engine *engine,
					struct mt_calls_thread *thread, struct mt_engine_news *news)
{
	if (!engine->options.live)
		mt_try(mt_calls_mend_trap(engine, thread->space, thread->lwp, news->pc,
					  &news->ordinary));
	return news->ordinary ? mt_target_clear_pending_stop(engine->target, thread->lwp)
			      : mt_calls_describe_at(engine, thread->space, news->pc);
}

/* Signals with lower numbers come to a thread in a stub before the stub's own, which then comes
 * where the first one's handler begins; and one that has it blocked gets it when it has not. */
static void note_urged(struct mt_calls_thread *thread)
{
	thread->urged = mt_proc_is_queued(thread->lwp, SIGURG);
}

static struct mt_error *on_any_signal(struct mt_calls_engine *engine,
				      struct mt_calls_thread *thread, const struct mt_stop *stop,
				      struct mt_engine_news *news)
{
	struct mt_calls_break *there = mt_calls_break_of_stub(thread->space, news->pc);
	const bool is_raised = there && news->pc == there->raised;

	if (stop->signal == SIGURG && stop->code == SI_TKILL && (is_raised || thread->urged)) {
		thread->urged = false;
		news->ordinary = !is_raised;
		return is_raised ? on_breakpoint(engine, thread, there, news) : NULL;
	}
	if (is_raised)
		note_urged(thread);
	mt_try(mt_calls_describe_at(engine, thread->space, news->pc));
	mt_try(mt_calls_move_thread(engine, thread->space, stop->lwp));
	return on_signal(engine, thread, stop, news);
}

static struct mt_error *understand(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				   const struct mt_stop *stop, struct mt_engine_news *news)
{
	struct mt_calls_break *there;

	switch (stop->kind) {
	case MT_STOP_EXEC:
		news->maps_changed = true;
		news->left = thread->kept;
		return on_exec(engine, thread);
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
		return mt_calls_note_birth(engine, thread, stop);
	case MT_STOP_BREAKPOINT: /* PC is behind the int3 */
		there = mt_calls_break_trap(thread->space, news->pc - 1);
		return there ? on_breakpoint(engine, thread, there, news)
			     : on_foreign_trap(engine, thread, news);
	case MT_STOP_SIGNAL:
		return on_any_signal(engine, thread, stop, news);
	case MT_STOP_LIBRARIES:
		return on_libraries(engine, thread, news);
	case MT_STOP_EXITING:
		return NULL;
	case MT_STOP_INTERRUPTED:
		there = mt_calls_break_of_stub(thread->space, news->pc);
		if (there && mt_calls_stub_waits(there, news->pc)) {
			note_urged(thread);
			return on_breakpoint(engine, thread, there, news);
		}
		/* fall through */
	default:
		if (stop->kind == MT_STOP_NEW_THREAD && thread->kept)
			mt_try(mt_calls_keep_thread(engine, thread, stop->child));
		mt_try(mt_calls_move_thread(engine, thread->space, stop->lwp));
		return on_signal(engine, thread, stop, news);
	}
}

static struct mt_error *stopped(struct mt_engine *base, const struct mt_stop *stop,
				struct mt_engine_news *news)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, stop->lwp);
	struct user_regs_struct registers;
	uint64_t tsc = mt_clock_tsc();

	*news = (struct mt_engine_news){0};
	if (!thread || stop->kind == MT_STOP_EXITED)
		return NULL;
	/* A debugger tells of it when it has shown the stop. */
	if (stop->kind == MT_STOP_SIGNAL && thread->space->hidden && thread->space->hidden_tsc)
		tsc = thread->space->hidden_tsc;
	news->time_ns = mt_tsc_to_ns(&engine->options.conversion, tsc);
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, stop->lwp, &registers);
	if (error && stop->kind == MT_STOP_NEW_THREAD) {
		mt_error_destroy(error); /* only the new one stands still */
		return NULL;
	}
	if (error)
		return error;
	if (!thread->rings && stop->kind != MT_STOP_EXEC &&
	    thread->space->stage == MT_CALLS_LOADED && thread->space->rings) {
		mt_try(mt_calls_give_ring(engine, thread, true));
		mt_try(engine->target->ops->get_registers(engine->target, stop->lwp, &registers));
	}
	mt_calls_anchor(thread, tsc);
	if (!engine->options.live) /* else a debugger says when it goes on */
		thread->held_tsc = tsc;
	news->pc = registers.rip;
	if (is_fault(stop))
		news->late_ns = mt_calls_stood_ns(engine, thread, tsc);
	if (thread->rings && stop->kind != MT_STOP_EXEC &&
	    thread->space->stage != MT_CALLS_REFUSED &&
	    !mt_calls_is_slot(thread->rings, registers.gs_base))
		mt_try(note_foreign_gs(engine, thread->space));
	mt_try(understand(engine, thread, stop, news));
	thread->pc = news->pc;
	return NULL;
}

static struct mt_error *resume(struct mt_engine *base, pid_t lwp, int signal)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);

	if (thread && !thread->guest && thread->space->stage == MT_CALLS_NEW)
		mt_try(mt_calls_prepare(engine, thread->space, lwp));
	if (thread) {
		mt_calls_note_resumed(thread, mt_clock_tsc());
		mt_calls_let_run(thread);
	}
	return mt_target_resume(engine->target, lwp, MT_RESUME_CONTINUE, signal);
}

static bool is_copy(struct mt_engine *base, pid_t pid, uint64_t start)
{
	const struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);

	return space && mt_calls_is_copy(space, start);
}

static struct mt_objfile *file(struct mt_engine *base, const char *path)
{
	return mt_calls_file_open(engine_of(base), path);
}

static struct mt_error *mend_copy(struct mt_engine *base, pid_t lwp, uint64_t fault,
				  bool *is_mended)
{
	struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);

	*is_mended = false;
	return thread ? mt_calls_mend_copy(engine_of(base), thread->space, lwp, fault, is_mended)
		      : NULL;
}

static const struct mt_engine_break_ops breaks = {.measures = true,
						  .set = set_breakpoint,
						  .retire = mt_calls_retire,
						  .number = mt_calls_number_thread};
static const struct mt_engine_live_ops live = {.tick = mt_calls_tick,
					       .tick_ms = mt_calls_tick_ms,
					       .look = look,
					       .each_value = mt_calls_each_value};
static const struct mt_engine_text_ops text = {
    .prepare_attach = prepare_attach,
    .attach = attach,
    .let_go = mt_calls_let_go,
    .is_copy = is_copy,
    .file = file,
    .hide = hide,
    .show = show,
    .original = original,
    .unmask = unmask,
    .give_way = mt_calls_give_way,
    .step_through = mt_calls_step_through,
    .clean = clean,
    .disown = mt_calls_disown,
    .discard = discard,
    .missed = mt_calls_missed,
    .record_missed = mt_calls_record_missed,
    .mend = mt_calls_mend,
    .mend_copy = mend_copy,
    .each_function = mt_calls_each_function,
};

const struct mt_engine_ops mt_engine_calls = {
    .name = "calls",
    .summary = "patches the program's functions: every call, at nearly full speed",
    .automatic = true,
    .records_calls = true,
    .probe = probe,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .add_thread = mt_calls_add_thread,
    .remove_thread = remove_thread,
    .rename_thread = rename_thread,
    .stopped = stopped,
    .resume = resume,
    .snapshot = mt_calls_snapshot,
    .breaks = &breaks,
    .gates = &mt_calls_gates,
    .text = &text,
    .live = &live,
};
