/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A track is one thread's rebuild of slices, with what the sideband says of the thread: whose
 * names are true at which time, and the notes (signals, triggers, snapshots, the end), each put in
 * where it belongs among the events. */
#include "decode/fibers.h"
#include "decode/goroutines.h"

#include <string.h>

/* What logs of tracks that are rebuilt at a time have in memory. */
#define LOGS_BYTES ((size_t)64 << 20)

struct mt_epoch *mt_decode_epoch_at(const struct mt_decode_run *run,
				    const struct mt_process_thread *thread, uint64_t time_ns)
{
	return mt_process_epoch_at(thread->process, run->timed ? time_ns : UINT64_MAX);
}

void mt_decode_name_instant(const struct mt_decode_run *run, const struct mt_process_thread *thread,
			    struct mt_instant *instant)
{
	struct mt_space *space = mt_decode_epoch_at(run, thread, instant->time_ns)->space;

	if (!instant->address)
		return;
	instant->function = mt_space_function_at(space, instant->address);
	mt_space_source_at(space, instant->address, &instant->source);
}

static struct mt_error *track_create(struct mt_decode_run *run, int tid, uint64_t events,
				     struct mt_track **out)
{
	struct mt_process_thread *thread = mt_processes_thread(run->processes, tid);
	struct mt_track *track = thread ? calloc(1, sizeof(*track)) : NULL;

	if (!track)
		return mt_error_no_memory();

	struct mt_error *error = NULL;

	if (!run->options->by_threads && !run->options->tid && !run->options->goroutine &&
	    !run->goroutines && run->rebuild_ops == &mt_rebuild_from_calls)
		error = mt_fibers_create(run, &track->fibers);
	const struct mt_rebuild_options options = {
	    .thread = {.pid = thread->pid,
		       .tid = tid,
		       .name = thread->name,
		       .process = mt_processes_name_of(run->processes, thread)},
	    .sink = run->options->coroutine ? mt_fibers_no_sink() : run->calls_sink,
	    .inlines = !run->options->no_inlines,
	    .values = &run->values,
	    .last_call_id = &run->last_call_id,
	    .events = events,
	    .log_memory_bytes = run->lanes ? LOGS_BYTES / run->lanes : 0,
	    .fibers =
		track->fibers ? mt_fibers_taker(track->fibers, track) : (struct mt_fiber_taker){0},
	};
	if (!error)
		error = mt_rebuild_create(run->rebuild_ops, &options, &track->rebuild);
	if (error) {
		mt_fibers_destroy(track->fibers);
		free(track);
		return error;
	}
	track->tid = tid;
	track->thread = thread;
	HASH_ADD_INT(run->tracks, tid, track);
	if (!track->hh.tbl) {
		mt_rebuild_destroy(track->rebuild);
		mt_fibers_destroy(track->fibers);
		free(track);
		return mt_error_no_memory();
	}
	run->stats.threads++;
	*out = track;
	return NULL;
}

struct mt_error *mt_track_find(struct mt_decode_run *run, int tid, uint64_t events,
			       struct mt_track **out)
{
	HASH_FIND_INT(run->tracks, &tid, *out);
	return *out ? NULL : track_create(run, tid, events, out);
}

void mt_track_destroy(struct mt_decode_run *run, struct mt_track *track)
{
	HASH_DEL(run->tracks, track);
	mt_rebuild_destroy(track->rebuild);
	mt_fibers_destroy(track->fibers);
	free(track);
}

enum mt_recording_note mt_decode_note_of(const struct mt_decode_run *run,
					 const struct mt_sideband *record)
{
	const char *name = mt_recording_event_name(run->recording, record->sample.event);
	int note = record->kind == MT_SIDEBAND_SAMPLE ? 0 : MT_NOTE_COUNT;

	while (note < MT_NOTE_COUNT && (!name || strcmp(name, mt_recording_note_names[note]) != 0))
		note++;
	return note;
}

/* False: the note is none of the thread's events. */
static bool event_of_note(const struct mt_decode_run *run, const struct mt_sideband *record,
			  struct mt_event *event)
{
	static const uint8_t marks[] = {
	    [MT_NOTE_TRIGGER] = MT_MARK_TRIGGER,     [MT_NOTE_SNAPSHOT] = MT_MARK_SNAPSHOT,
	    [MT_NOTE_EXIT] = MT_MARK_EXIT,           [MT_NOTE_THROTTLE] = MT_MARK_THROTTLE,
	    [MT_NOTE_OWN_STACK] = MT_MARK_OWN_STACK,
	};
	enum mt_recording_note note = mt_decode_note_of(run, record);

	*event = (struct mt_event){.time_ns = record->time_ns};
	if (record->kind == MT_SIDEBAND_LOST) {
		event->kind = MT_EVENT_GAP;
		event->from = record->lost.lost;
		event->detail = MT_GAP_AUX_LOST;
		return true;
	}
	if (note == MT_NOTE_UNWRITTEN) {
		event->kind = MT_EVENT_GAP;
		event->from = record->sample.weight;
		event->detail = MT_GAP_UNWRITTEN;
		return true;
	}
	event->from = record->sample.ip;
	if (note == MT_NOTE_SIGNAL) {
		event->kind = MT_EVENT_SIGNAL;
		event->to = record->sample.address;
		event->detail = (uint32_t)record->sample.weight;
		return true;
	}
	if (note >= sizeof(marks) / sizeof(marks[0]))
		return false;
	event->kind = MT_EVENT_MARK;
	event->to = record->sample.weight;
	if (note == MT_NOTE_OWN_STACK) {
		event->to = record->sample.address;
		event->from = record->sample.weight;
	}
	event->detail = marks[note];
	return true;
}

static bool is_snapshot_mark(const struct mt_event *event)
{
	return event->kind == MT_EVENT_MARK && event->detail == MT_MARK_SNAPSHOT;
}

static bool is_hit(const struct mt_event *event)
{
	return event->kind == MT_EVENT_MARK && event->detail == MT_MARK_TRIGGER;
}

static struct mt_error *push(struct mt_decode_run *run, struct mt_track *track,
			     const struct mt_event *events, size_t count)
{
	if (count)
		track->time_ns = events[count - 1].time_ns;
	if (run->goroutines)
		return mt_goroutines_take(run->goroutines, track, events, count);
	return mt_rebuild_push(track->rebuild, events, count);
}

static struct mt_error *push_note(struct mt_decode_run *run, struct mt_track *track,
				  const struct mt_sideband *note)
{
	struct mt_event event;

	if (!event_of_note(run, note, &event) ||
	    (is_snapshot_mark(&event) && run->rebuild_ops->snapshots_are_events))
		return NULL;
	/* A fault: it was told of when somebody looked, and happened behind the last call. */
	if (event.kind == MT_EVENT_SIGNAL && note->sample.weight >> 32) {
		event.time_ns -= note->sample.weight >> 32;
		event.flags |= MT_EVENT_TIME_IS_ESTIMATE;
	}
	if (event.time_ns < track->time_ns || !run->timed)
		event.time_ns = track->time_ns;
	return push(run, track, &event, 1);
}

/* The end of a thread belongs behind everything else. */
static bool note_is_due(const struct mt_decode_run *run, const struct mt_sideband *record,
			const struct mt_event *event)
{
	struct mt_event note;

	if (!run->timed || record->time_ns > event->time_ns)
		return false;
	if (!event_of_note(run, record, &note))
		return true;
	if (note.kind == MT_EVENT_MARK && note.detail == MT_MARK_EXIT)
		return false;
	/* An event with the snapshot's own time is in it; one with a hit's is the call that hit. */
	if ((is_snapshot_mark(&note) || is_hit(&note)) && note.time_ns == event->time_ns)
		return false;
	return run->rebuild_ops->takes_note(event, &note);
}

/* A crash: behind the last snapshot comes nothing but the end.  It belongs to the same segment, and
 * at its time, since the program stood still from then on. */
static struct mt_error *push_end_of_crash(struct mt_decode_run *run, struct mt_track *track,
					  uint64_t time_ns)
{
	size_t left = track->thread->notes.count - track->next_note;
	const struct mt_sideband *note = left ? track->thread->notes.items[track->next_note] : NULL;
	struct mt_event event;

	if (left != 1 || mt_decode_note_of(run, note) != MT_NOTE_EXIT)
		return NULL;
	track->next_note++;
	event_of_note(run, note, &event);
	event.time_ns = time_ns;
	return push(run, track, &event, 1);
}

/* All notes up to that of the snapshot, whose time is the mark's. */
static struct mt_error *push_notes_of_snapshot(struct mt_decode_run *run, struct mt_track *track,
					       struct mt_event *mark)
{
	const struct mt_pt_stream_piece *piece =
	    track->stream ? mt_pt_stream_piece_of(track->stream, mark->to) : NULL;
	const struct mt_process_thread *thread = track->thread;

	for (size_t i = track->next_note; i < thread->notes.count; i++) {
		const struct mt_sideband *last = thread->notes.items[i];

		if (mt_decode_note_of(run, last) != MT_NOTE_SNAPSHOT ||
		    last->sample.weight != mark->to)
			continue;
		while (track->next_note <= i)
			mt_try(push_note(run, track, thread->notes.items[track->next_note++]));
		if (run->timed && last->time_ns > mark->time_ns)
			mark->time_ns = last->time_ns;
		break;
	}
	if (piece && piece->runs_on)
		mark->flags |= MT_EVENT_RUNS_ON;
	if (!piece || piece != mt_array_last(&track->stream->pieces))
		return NULL;
	return push_end_of_crash(run, track, mark->time_ns);
}

/* The last exec between where the track is and EPOCH; NULL: there was none. */
static const struct mt_epoch *exec_before(const struct mt_track *track,
					  const struct mt_epoch *epoch)
{
	const struct mt_process *process = track->thread->process;
	const struct mt_epoch *exec = NULL;
	bool is_behind = false, is_over = false;

	mt_array_each (one, &process->epochs) {
		if (is_behind && !is_over && (*one)->exec)
			exec = *one;
		is_behind |= *one == track->epoch;
		is_over |= *one == epoch;
	}
	return exec;
}

/* What was told before it belongs to the former program, whose calls were over then. */
static struct mt_error *push_exec(struct mt_decode_run *run, struct mt_track *track,
				  const struct mt_epoch *epoch, const struct mt_event *event)
{
	const struct mt_process_thread *thread = track->thread;
	struct mt_event exec = {
	    .time_ns = event->time_ns, .kind = MT_EVENT_MARK, .detail = MT_MARK_EXEC};

	if (run->timed && epoch->begin_ns < event->time_ns)
		exec.time_ns = epoch->begin_ns;
	while (track->next_note < thread->notes.count &&
	       thread->notes.items[track->next_note]->time_ns <= exec.time_ns &&
	       note_is_due(run, thread->notes.items[track->next_note], event))
		mt_try(push_note(run, track, thread->notes.items[track->next_note++]));
	if (exec.time_ns < track->time_ns)
		exec.time_ns = track->time_ns;
	return push(run, track, &exec, 1);
}

static struct mt_error *enter_epoch(struct mt_decode_run *run, struct mt_track *track,
				    const struct mt_event *event)
{
	struct mt_epoch *epoch = mt_decode_epoch_at(run, track->thread, event->time_ns);

	if (epoch == track->epoch || (track->epoch && !run->rebuild_ops->names_may_change(event)))
		return NULL;
	const struct mt_epoch *exec = track->epoch ? exec_before(track, epoch) : NULL;
	if (exec)
		mt_try(push_exec(run, track, exec, event));
	track->epoch = epoch;
	mt_rebuild_set_symbolizer(track->rebuild, &epoch->symbolizer.symbolizer);
	return NULL;
}

/* Does something of the sideband go right before EVENT? */
static bool has_company(const struct mt_decode_run *run, const struct mt_track *track,
			const struct mt_event *event)
{
	const struct mt_process_thread *thread = track->thread;

	if (is_snapshot_mark(event))
		return true;
	if (run->rebuild_ops->names_may_change(event) &&
	    track->epoch != mt_decode_epoch_at(run, thread, event->time_ns))
		return true;
	return track->next_note < thread->notes.count &&
	       note_is_due(run, thread->notes.items[track->next_note], event);
}

struct mt_error *mt_track_deliver(struct mt_decode_run *run, struct mt_track *track,
				  struct mt_event *events, size_t count)
{
	const struct mt_process_thread *thread = track->thread;
	bool plain;

	if (!count)
		return NULL;
	/* Plain: nothing of the sideband can fall between these events. */
	uint64_t until_ns = events[count - 1].time_ns;
	plain = track->epoch && track->epoch == mt_decode_epoch_at(run, thread, until_ns) &&
		(track->next_note >= thread->notes.count ||
		 (run->timed && thread->notes.items[track->next_note]->time_ns > until_ns));
	for (size_t i = 0; plain && i < count; i++)
		plain = !is_snapshot_mark(&events[i]);
	if (plain)
		return push(run, track, events, count);
	for (size_t i = 0, more; i < count; i += more) {
		mt_try(enter_epoch(run, track, &events[i]));
		if (is_snapshot_mark(&events[i]))
			mt_try(push_notes_of_snapshot(run, track, &events[i]));
		else
			while (track->next_note < thread->notes.count &&
			       note_is_due(run, thread->notes.items[track->next_note], &events[i]))
				mt_try(
				    push_note(run, track, thread->notes.items[track->next_note++]));
		more = 1;
		while (i + more < count && !has_company(run, track, &events[i + more]))
			more++;
		mt_try(push(run, track, &events[i], more));
	}
	return NULL;
}

/* Nor does it need anything of other threads', as the text of a value does. */
static bool shows_nothing(const struct mt_event *event)
{
	return event->kind == MT_EVENT_ENTRY || event->kind == MT_EVENT_LEAVE ||
	       event->kind == MT_EVENT_FRAME || event->kind == MT_EVENT_AGAIN;
}

/* Times run on, so that the first and the last one tell of all. */
bool mt_track_is_silent(const struct mt_decode_run *run, const struct mt_track *track,
			const struct mt_event *events, size_t count)
{
	const struct mt_process_thread *thread = track->thread;
	const uint64_t first_ns = events[0].time_ns, last_ns = events[count - 1].time_ns;
	uint64_t time_ns = first_ns > track->time_ns ? first_ns : track->time_ns;

	if ((track->epoch ? track->epoch : mt_decode_epoch_at(run, thread, first_ns)) !=
	    mt_decode_epoch_at(run, thread, last_ns))
		return false;
	if (run->timed && track->next_note < thread->notes.count &&
	    thread->notes.items[track->next_note]->time_ns <= last_ns)
		return false;
	for (size_t i = 0; i < count; time_ns = events[i++].time_ns)
		if (events[i].time_ns < time_ns || !shows_nothing(&events[i]))
			return false;
	return true;
}

struct mt_error *mt_track_finish(struct mt_decode_run *run, struct mt_track *track)
{
	const struct mt_process_thread *thread = track->thread;

	while (track->next_note < thread->notes.count) {
		const struct mt_sideband *note = thread->notes.items[track->next_note++];

		if (mt_decode_note_of(run, note) == MT_NOTE_SNAPSHOT)
			mt_try(push_end_of_crash(run, track, note->time_ns));
		mt_try(push_note(run, track, note));
	}
	mt_try(mt_rebuild_finish(track->rebuild));
	if (track->fibers)
		mt_try(mt_fibers_show(track->fibers));
	mt_track_destroy(run, track);
	return NULL;
}
