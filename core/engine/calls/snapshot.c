/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings into the recording.  The processes are halted while their rings are copied, so that all
 * threads' histories end at the same moment, and run on while the copies are written.  Where a
 * target cannot halt them, each history ends when it was copied.
 *
 * Before a thread's events stand the frames that were open when its ring began to be filled; where
 * it has lost events since, those that are open now stand behind them instead, and else the ones
 * of them that do not report.
 *
 * What is copied is nowhere else once threads have begun anew: a request to end that comes while it
 * is written waits for that, so long; then the rest is lost, and told as that. */
#include "engine/calls/private.h"

#include "base/clock.h"
#include "process/proc.h"

#include <string.h>

#define BATCH 1024
/* A thread that goes round its ring while it is copied. */
#define MOST_TRIES  8
#define PATIENCE_NS 3000000000u

struct snapshot {
	struct mt_calls_engine *engine;
	uint32_t number;
	bool whole; /* of all threads */
	uint64_t tsc;
	uint64_t asked_ns; /* when it was first seen that somebody waits for its end; 0: not yet */
	bool is_cut;       /* nothing is written any more */
	mt_calls_histories histories;
};

/* Where a target holds only the thread that stopped. */
static bool runs_on(struct mt_calls_engine *engine, const struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);
	bool stands = !error;

	mt_error_destroy(error);
	return !stands && !mt_proc_has_ended(thread->lwp);
}

static struct mt_error *begin_anew(struct mt_calls_thread *thread,
				   const struct mt_calls_history *history)
{
	mt_calls_begin_anew(thread, history->tsc);
	thread->is_continued = true;
	thread->forked = false;
	return mt_calls_frames_copy(&thread->frames, &history->frames) ? mt_error_no_memory()
								       : NULL;
}

/* The part of the ring that counts.  False: nothing does. */
static bool view_ring(const struct snapshot *snapshot, struct mt_calls_thread *thread,
		      bool is_running, struct mt_ring_view *view)
{
	struct mt_calls_engine *engine = snapshot->engine;

	if (!is_running)
		mt_calls_anchor(thread, snapshot->tsc);
	*view = mt_calls_ring_view(engine, thread);
	/* Perhaps it is writing. */
	const uint64_t whole =
	    is_running ? view->written - mt_ring_event_bytes(engine->options.stamps, true)
		       : mt_calls_written_whole(engine, thread, view->written);
	if (whole >= view->begin && whole < view->written)
		view->written = whole;
	thread->used = view->written;
	return view->written > view->begin;
}

/* People who look at a thread see where it stopped, however late they look. */
static uint64_t end_of(const struct mt_calls_thread *thread, uint64_t tsc)
{
	const struct mt_calls_space *space = thread->space;

	return space->hidden && space->hidden_tsc ? space->hidden_tsc : tsc;
}

static struct mt_error *try_to_copy(struct snapshot *snapshot, struct mt_calls_thread *thread,
				    bool is_running, struct mt_calls_history *out)
{
	struct mt_ring_view view;
	bool empty = !view_ring(snapshot, thread, is_running, &view);
	uint64_t tsc = is_running ? mt_clock_tsc() : snapshot->tsc;

	*out = (struct mt_calls_history){0};
	/* A thread that ends contributes only its events. */
	if (empty && !snapshot->whole)
		return NULL;
	if (mt_calls_history_create(thread, &view, end_of(thread, tsc), out))
		return mt_error_no_memory();
	out->tsc = tsc;
	return NULL;
}

/* Half of what it could have. */
static bool is_enough(const struct mt_ring_view *view)
{
	uint64_t written = view->written - view->begin;

	return mt_ring_bytes_left(view) >= (written < view->size ? written : view->size) / 2;
}

static struct mt_error *copy_ring(struct snapshot *snapshot, struct mt_calls_thread *thread)
{
	bool is_running = runs_on(snapshot->engine, thread);
	struct mt_calls_history history;
	struct mt_error *error = NULL;

	mt_try(try_to_copy(snapshot, thread, is_running, &history));
	for (unsigned i = 1; i < MOST_TRIES && !is_enough(&history.view); i++) {
		mt_calls_history_deinit(&history);
		mt_try(try_to_copy(snapshot, thread, is_running, &history));
	}
	if (!history.bytes)
		return NULL;
	error = mt_calls_find_frames(snapshot->engine, thread, &history, &history.frames);
	if (!error && mt_array_push(&snapshot->histories, history))
		error = mt_error_no_memory();
	if (error)
		mt_calls_history_deinit(&history);
	return error;
}

/* What needs no standing thread: symbols are read for it, perhaps for the first time. */
static struct mt_error *complete(struct snapshot *snapshot)
{
	struct mt_calls_engine *engine = snapshot->engine;
	mt_calls_histories *histories = &snapshot->histories;
	size_t count = histories->count;
	struct mt_error *error = NULL;

	histories->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct mt_calls_history history = histories->items[i];
		struct mt_calls_thread *thread = mt_calls_find_thread(engine, history.lwp);

		histories->items[i] = (struct mt_calls_history){0};
		history.unreported = mt_calls_unreported_frames(thread, &history.frames);
		if (history.view.written <= history.view.begin && !history.unreported) {
			mt_calls_history_deinit(&history);
			continue;
		}
		histories->items[histories->count++] = history;
		if (!engine->options.live && !error)
			error = begin_anew(thread, &history);
	}
	return error;
}

struct depth {
	uint64_t address;
	uint64_t begin, end; /* of mappings one behind the other, the last one that was seen */
	uint64_t bytes;      /* below the address; 0: it was not seen yet */
};

static struct mt_error *see_mapping(void *context, const struct mt_map *map)
{
	struct depth *depth = context;

	if (map->start != depth->end)
		depth->begin = map->start;
	depth->end = map->end;
	if (depth->address > map->start && depth->address <= map->end)
		depth->bytes = depth->address - depth->begin;
	return NULL;
}

/* The stack of a process's first thread grows as it is used, and never gets smaller; others' are
 * mapped as a whole. */
static void find_depths(struct snapshot *snapshot)
{
	mt_array_each (history, &snapshot->histories) {
		struct depth depth = {.address = history->own_stack};

		if (history->lwp != history->pid || !depth.address)
			continue;
		mt_error_destroy(mt_target_each_map(snapshot->engine->target, history->pid,
						    see_mapping, &depth));
		if (depth.bytes && depth.bytes < history->own_stack_bytes)
			history->own_stack_bytes = depth.bytes;
	}
}

/* Stack pointers of a thread's lie near one another. */
static uint64_t whole_stack(uint64_t near, uint32_t low)
{
	return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

static enum mt_event_kind kind_of(const struct mt_plan_site *site)
{
	if (site->is_again)
		return MT_EVENT_AGAIN;
	return site->is_return ? MT_EVENT_LEAVE : MT_EVENT_ENTRY;
}

static bool is_site_of(const struct mt_calls_module *module, uint32_t site)
{
	return module && site - module->site_base < module->file->plan->sites.count;
}

/* *MODULE: that of the last event, which is the next one's most of the time; NULL: none yet. */
static bool understand(const struct mt_calls_engine *engine, uint64_t stack,
		       const struct mt_call_event *event, const struct mt_calls_module **module,
		       struct mt_event *out)
{
	const struct mt_plan_site *site;
	uint32_t pushed, value;

	if (mt_calls_value_of(engine, event->site, &value)) {
		*out = (struct mt_event){
		    .time_ns = mt_tsc_to_ns(&engine->options.conversion, event->tsc),
		    .from = whole_stack(stack, event->stack),
		    .to = event->return_address,
		    .kind = MT_EVENT_VALUE,
		    .flags = MT_EVENT_TIME_IS_ESTIMATE,
		    .detail = value,
		};
		return true;
	}
	if (!is_site_of(*module, event->site))
		*module = mt_calls_module_of_site(engine, event->site);
	if (!*module)
		return false;
	site = &(*module)->file->plan->sites.items[event->site - (*module)->site_base];
	pushed = mt_ring_pushed(engine->options.stamps, site->is_return);
	*out = (struct mt_event){
	    .time_ns = mt_tsc_to_ns(&engine->options.conversion, event->tsc),
	    .from = whole_stack(stack, event->stack + pushed - site->is_landing),
	    .to = site->address + (*module)->bias,
	    .kind = (uint8_t)kind_of(site),
	    .flags = event->estimated ? MT_EVENT_TIME_IS_ESTIMATE : 0,
	};
	mt_event_set_return_address(out, event->return_address);
	return true;
}

/* Whoever debugs can ask again for all that is there.  Errors: INTERRUPTED. */
static struct mt_error *go_on(struct snapshot *snapshot, uint64_t done)
{
	const struct mt_engine_options *options = &snapshot->engine->options;
	struct mt_error *error = mt_progress_step(options->progress, "copying the rings", done, 0);

	if (!error || options->live)
		return error;
	if (!snapshot->asked_ns)
		snapshot->asked_ns = mt_clock_monotonic_ns();
	snapshot->is_cut = mt_clock_monotonic_ns() - snapshot->asked_ns > PATIENCE_NS;
	if (snapshot->is_cut)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *put_events(struct snapshot *snapshot,
				   const struct mt_calls_history *history,
				   struct mt_recording_writer *writer)
{
	const struct mt_calls_engine *engine = snapshot->engine;
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_event calls[2 * BATCH + MT_RING_LINE_EVENTS];
	struct mt_calls_values_runs runs = {0};
	const struct mt_calls_module *module = NULL;
	struct mt_ring_cursor cursor;
	size_t count = 0;
	uint64_t all = 0;
	bool at_end = false;

	mt_ring_cursor_init(&cursor, &history->view);
	while (!at_end) {
		size_t more = mt_ring_next_line(&cursor, events, &at_end);

		for (size_t i = 0; i < more; i++) {
			if (!understand(engine, history->stack, &events[i], &module, &calls[count]))
				continue;
			const struct mt_event *newest = &calls[count++];
			mt_calls_join_values(&runs, calls, count,
					     newest->kind == MT_EVENT_VALUE &&
						 mt_calls_value_is_result(engine, newest->detail));
		}
		if (count < 2 * BATCH && !at_end)
			continue;
		mt_try(go_on(snapshot, all));
		/* Values of the newest ones' calls may come yet. */
		const size_t done = at_end ? count : BATCH;
		all += done;
		mt_try(
		    mt_recording_writer_put_calls(writer, history->pid, history->lwp, calls, done));
		mt_calls_values_written(&runs, done);
		count -= done;
		memmove(calls, calls + done, count * sizeof(calls[0]));
	}
	return NULL;
}

static struct mt_error *put_frames(const struct mt_calls_history *history,
				   const struct mt_calls_frames *frames, size_t count,
				   uint64_t time_ns, struct mt_recording_writer *writer)
{
	for (size_t i = 0; i < count; i++) {
		struct mt_event *frame = &frames->items[i];

		frame->time_ns = time_ns;
		/* As those of events are, on whatever stack they lie. */
		frame->from = whole_stack(history->stack, (uint32_t)frame->from);
	}
	return mt_recording_writer_put_calls(writer, history->pid, history->lwp, frames->items,
					     count);
}

/* Since the snapshot before. */
static struct mt_error *put_loss(const struct mt_calls_history *history, uint64_t time_ns,
				 struct mt_recording_writer *writer)
{
	const struct mt_sideband loss = {
	    .kind = MT_SIDEBAND_LOST,
	    .time_ns = time_ns,
	    .pid = history->pid,
	    .tid = history->lwp,
	    .cpu = -1,
	    .lost = {.lost = mt_ring_bytes_lost(&history->view)},
	};

	return mt_recording_writer_put(writer, &loss);
}

/* Else, where the beginning is not recorded, a coroutine's might be taken for it. */
static struct mt_error *put_own_stack(const struct mt_calls_history *history, uint64_t time_ns,
				      struct mt_recording_writer *writer)
{
	const struct mt_sideband note = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = history->pid,
	    .tid = history->lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_OWN_STACK,
		       .address = whole_stack(history->stack, (uint32_t)history->own_stack),
		       .weight = history->own_stack_bytes},
	};

	return history->own_stack ? mt_recording_writer_put(writer, &note) : NULL;
}

static struct mt_error *put_whole(struct snapshot *snapshot, const struct mt_calls_history *history,
				  uint64_t begin_ns, uint64_t end_ns,
				  struct mt_recording_writer *writer)
{
	const bool lost = mt_ring_bytes_lost(&history->view);

	mt_try(put_own_stack(history, begin_ns, writer));
	/* Events at the time of the snapshot before are in that one. */
	if (!lost)
		mt_try(put_frames(history, &history->before, history->before.count, begin_ns + 1,
				  writer));
	else if (history->is_continued)
		mt_try(put_loss(history, begin_ns + 1, writer));
	mt_try(put_events(snapshot, history, writer));
	/* What is open in a forked child was, but for what it says, open at its birth, too. */
	return put_frames(history, &history->frames,
			  lost || history->forked ? history->frames.count : history->unreported,
			  end_ns, writer);
}

static struct mt_error *put_history(struct snapshot *snapshot,
				    const struct mt_calls_history *history,
				    struct mt_recording_writer *writer)
{
	const struct mt_time_conversion *conversion = &snapshot->engine->options.conversion;
	const uint64_t begin_ns = mt_tsc_to_ns(conversion, history->anchors.items[0].first);
	const uint64_t end_ns = mt_tsc_to_ns(conversion, mt_array_last(&history->anchors)->last);
	struct mt_error *error =
	    snapshot->is_cut ? NULL : put_whole(snapshot, history, begin_ns, end_ns, writer);

	if (!snapshot->is_cut)
		return error;
	mt_error_destroy(error);
	const struct mt_sideband unwritten = {
	    .time_ns = end_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = history->pid,
	    .tid = history->lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_UNWRITTEN, .weight = mt_ring_bytes_left(&history->view)},
	};
	mt_try(mt_recording_writer_put(writer, &unwritten));
	return put_frames(history, &history->frames, history->frames.count, end_ns, writer);
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

static struct mt_error *put_ended(struct snapshot *snapshot, struct mt_recording_writer *writer)
{
	struct mt_calls_engine *engine = snapshot->engine;

	mt_array_each (history, &engine->ended)
		mt_try(put_history(snapshot, history, writer));
	if (engine->forgotten)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "many threads ended: kept the last calls of %zu, none of %u",
		       engine->ended.count, engine->forgotten);
	if (engine->options.live)
		return NULL;
	mt_calls_forget_ended(engine);
	engine->forgotten = 0;
	return NULL;
}

static struct mt_error *put_all(struct snapshot *snapshot, struct mt_recording_writer *writer)
{
	mt_try(put_ended(snapshot, writer));
	mt_try(mt_calls_put_throttled(snapshot->engine, writer));
	mt_try(mt_calls_put_values(snapshot->engine, writer));
	mt_array_each (history, &snapshot->histories) {
		mt_try(put_history(snapshot, history, writer));
		mt_try(mt_engine_put_snapshot(
		    writer, history->pid, history->lwp, history->pc, snapshot->number,
		    mt_tsc_to_ns(&snapshot->engine->options.conversion, history->tsc)));
	}
	if (snapshot->is_cut)
		mt_log(snapshot->engine->options.log, MT_LOG_WARNING,
		       "a part of snapshot %u was not written, since it was asked to end",
		       snapshot->number);
	return NULL;
}

/* One thread alone stands still, since it ends: what it did waits for the next snapshot. */
static struct mt_error *keep_one(struct snapshot *snapshot, pid_t lwp)
{
	mt_try(copy_rings(snapshot, lwp));
	mt_try(complete(snapshot));
	find_depths(snapshot);
	while (snapshot->histories.count) {
		if (mt_calls_keep_ended(snapshot->engine, mt_array_last(&snapshot->histories)))
			return mt_error_no_memory();
		snapshot->histories.count--;
	}
	return NULL;
}

struct mt_error *mt_calls_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				   struct mt_recording_writer *writer)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct snapshot snapshot = {.engine = engine, .number = number, .whole = !lwp};
	const struct mt_calls_thread *thread;
	struct mt_error *error;

	if (lwp) {
		error = keep_one(&snapshot, lwp);
	} else {
		for (thread = engine->threads; thread; thread = thread->hh.next)
			mt_error_destroy(mt_target_halt(engine->target, thread->pid));
		/* Until then some run: time that they used must not be taken from them. */
		const uint64_t before = mt_clock_tsc();
		error = copy_rings(&snapshot, 0);
		for (thread = engine->threads; thread; thread = thread->hh.next)
			if (!thread->held_tsc && !thread->space->hidden)
				mt_calls_hold(thread, mt_clock_tsc() - before);
		for (thread = engine->threads; thread; thread = thread->hh.next)
			mt_target_release(engine->target, thread->pid);
		if (!error)
			error = complete(&snapshot);
		if (!error && engine->options.copied)
			error = engine->options.copied(engine->options.copied_context);
		find_depths(&snapshot);
		if (!error)
			error = put_all(&snapshot, writer);
	}
	mt_array_each (history, &snapshot.histories)
		mt_calls_history_deinit(history);
	mt_array_deinit(&snapshot.histories);
	return error;
}
