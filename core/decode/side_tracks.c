/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Side tracks, out of the notes of tracks/tracks.h: for each thread one of where it ran, of its
 * system calls, of page faults, of marks, of counters.  Calls and these are of one clock, so that a
 * viewer shows what belongs together one above the other. */
#include "decode/private.h"
#include "decode/syscall_names.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

struct item {
	int tid;
	enum mt_side_track kind;
	enum mt_recording_note note;
	const struct mt_sideband *record;
	size_t order;
};

/* One track while it is put out. */
struct track {
	struct mt_decode_run *run;
	const struct mt_process_thread *thread;
	const struct item *items;
	size_t count;
	uint32_t open; /* slices: of spans several */
};

static enum mt_side_track track_of(enum mt_recording_note note)
{
	switch (note) {
	case MT_NOTE_OFF_CPU:
	case MT_NOTE_ON_CPU:
		return MT_SIDE_TRACK_SCHED;
	case MT_NOTE_SYSCALL:
	case MT_NOTE_SYSRET:
		return MT_SIDE_TRACK_SYSCALLS;
	case MT_NOTE_FAULT:
		return MT_SIDE_TRACK_FAULTS;
	case MT_NOTE_MARK:
		return MT_SIDE_TRACK_MARKS;
	case MT_NOTE_COUNTER:
		return MT_SIDE_TRACK_COUNTERS;
	case MT_NOTE_SPAN:
	case MT_NOTE_SPAN_END:
		return MT_SIDE_TRACK_SPANS;
	default:
		return 0;
	}
}

static struct mt_error *end_slice(struct track *track, uint64_t time_ns, uint8_t flags)
{
	struct mt_slice_end end = {.time_ns = time_ns, .flags = flags};

	if (!track->open)
		return NULL;
	end.depth = --track->open;
	return track->run->sink.ops->end(track->run->sink.self, &end);
}

static struct mt_error *begin_slice(struct track *track, const struct mt_sideband *record,
				    const struct mt_side_event *what)
{
	const struct mt_slice slice = {.time_ns = record->time_ns,
				       .kind = MT_SLICE_SIDE,
				       .depth = track->open++,
				       .side = what};

	return track->run->sink.ops->begin(track->run->sink.self, &slice);
}

static struct mt_side_event *new_event(const struct track *track, const char *category,
				       const char *name)
{
	struct mt_side_event *what = mt_arena_zalloc(&track->run->arena, sizeof(*what));

	if (what) {
		what->category = category;
		what->name = name;
	}
	return name ? what : NULL;
}

/* Where it ran, and why it did not. */

/* Linux, include/trace/events/sched.h: the bits of prev_state. */
static void describe_state(uint64_t state, const char **name, const char **reason)
{
	static const struct {
		unsigned bit;
		const char *name, *reason;
	} states[] = {
	    {0x1, "sleeping", "waiting for an event or a signal (S)"},
	    {0x2, "blocked", "waiting uninterruptibly, as for the disk (D)"},
	    {0x4, "stopped", "stopped by a signal (T)"},
	    {0x8, "traced", "stopped by the debugger (t)"},
	    {0x10, "ended", "exited (X)"},
	    {0x20, "ended", "exited (Z)"},
	    {0x40, "parked", "parked by the kernel (P)"},
	    {0x80, "idle", "has nothing to do (I)"},
	};

	*name = "off the CPU";
	*reason = NULL;
	if (state == MT_OFF_CPU_UNKNOWN)
		return;
	*name = "preempted";
	*reason = "runnable, but another thread had the CPU (R)";
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (state & states[i].bit) {
			*name = states[i].name;
			*reason = states[i].reason;
			return;
		}
}

static struct mt_error *put_switch(struct track *track, const struct item *item)
{
	const struct mt_sideband *record = item->record;
	const char *name = NULL, *reason = NULL;
	struct mt_side_event *what;

	if (item->note == MT_NOTE_OFF_CPU)
		describe_state(record->sample.weight, &name, &reason);
	else
		name = mt_arena_format(&track->run->arena, "CPU %d", record->cpu);
	what = new_event(track, "sched", name);
	if (!what)
		return mt_error_no_memory();
	what->reason = reason;
	what->is_off_cpu = item->note == MT_NOTE_OFF_CPU;
	mt_try(end_slice(track, record->time_ns, 0));
	return begin_slice(track, record, what);
}

/* System calls. */

/* Linux, include/linux/errno.h: the kernel makes the call again, or it returns -EINTR from a signal
 * handler. */
#define ERESTARTSYS           512
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

static const char *result_text(struct mt_arena *arena, int64_t result)
{
	const char *error = result < 0 && result > -4096 ? strerrorname_np((int)-result) : NULL;

	if (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK)
		return "interrupted";
	return error ? mt_arena_format(arena, "-%s", error)
		     : mt_arena_format(arena, result >> 32 ? "%#llx" : "%lld", (long long)result);
}

static struct mt_error *put_syscall(struct track *track, size_t index)
{
	const struct mt_sideband *record = track->items[index].record;
	const struct mt_sideband *end =
	    index + 1 < track->count && track->items[index + 1].note == MT_NOTE_SYSRET
		? track->items[index + 1].record
		: NULL;
	struct mt_arena *arena = &track->run->arena;
	uint64_t number = record->sample.weight;
	unsigned long long arguments[6] = {0};
	size_t size = record->sample.raw_size;
	const char *name = number < mt_syscall_count ? mt_syscall_table[number] : NULL;

	if (!name)
		name = mt_arena_format(arena, "syscall %lld", (long long)number);
	struct mt_side_event *event = new_event(track, "syscall", name);
	if (!event)
		return mt_error_no_memory();
	if (record->sample.raw)
		memcpy(arguments, record->sample.raw,
		       size < sizeof(arguments) ? size : sizeof(arguments));
	event->arguments =
	    mt_arena_format(arena, "%#llx, %#llx, %#llx, %#llx, %#llx, %#llx", arguments[0],
			    arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
	if (end)
		event->result = result_text(arena, (int64_t)end->sample.address);
	if (!event->arguments || (end && !event->result))
		return mt_error_no_memory();
	mt_try(end_slice(track, record->time_ns, MT_SLICE_END_LOST));
	return begin_slice(track, record, event);
}

/* Instants. */

static struct mt_error *put_instant(struct track *track, const struct item *item,
				    enum mt_instant_kind kind, const char *category,
				    const char *name)
{
	const struct mt_sideband *record = item->record;
	struct mt_instant instant = {
	    .time_ns = record->time_ns,
	    .kind = (uint8_t)kind,
	    .value = record->sample.address,
	    .address = record->sample.ip,
	    .side = new_event(track, category, name),
	};

	if (!instant.side)
		return mt_error_no_memory();
	mt_decode_name_instant(track->run, track->thread, &instant);
	return track->run->sink.ops->instant(track->run->sink.self, &instant);
}

static const char *raw_text(const struct track *track, const struct mt_sideband *record)
{
	return mt_arena_text(&track->run->arena, (const char *)record->sample.raw,
			     record->sample.raw ? record->sample.raw_size : 0);
}

/* Formats distinguish strings by their address: a counter has one name all through. */
static const char *counter_name(struct track *track, const struct mt_sideband *record)
{
	const char *counter = raw_text(track, record);
	const char *name;

	if (!counter)
		return NULL;
	name = mt_arena_format(&track->run->arena, "%s of %s (%d)", counter,
			       track->thread->name ? track->thread->name : "?", record->tid);
	mt_array_each (known, &track->run->counter_names)
		if (name && strcmp(*known, name) == 0)
			return *known;
	return name && !mt_array_push(&track->run->counter_names, name) ? name : NULL;
}

static struct mt_error *put_counter(struct track *track, const struct item *item)
{
	const bool is_real = item->record->sample.address;
	uint64_t value = item->record->sample.weight;
	const struct mt_slice_sink *sink = &track->run->sink;
	struct mt_counter counter = {
	    .time_ns = item->record->time_ns,
	    .name = counter_name(track, item->record),
	    .value = value < INT64_MAX ? value : INT64_MAX,
	    .tid = item->tid,
	    .is_real = is_real,
	};

	if (is_real)
		memcpy(&counter.real, &value, sizeof(counter.real));
	if (!counter.name)
		return mt_error_no_memory();
	return sink->ops->counter ? sink->ops->counter(sink->self, &counter) : NULL;
}

static struct mt_error *begin_span(struct track *track, const struct item *item)
{
	const char *text = raw_text(track, item->record);
	struct mt_side_event *what = new_event(track, "span", text && !*text ? "(no words)" : text);

	return what ? begin_slice(track, item->record, what) : mt_error_no_memory();
}

static struct mt_error *end_all(struct track *track, uint64_t time_ns, uint8_t flags)
{
	while (track->open)
		mt_try(end_slice(track, time_ns, flags));
	return NULL;
}

static struct mt_error *put_item(struct track *track, size_t index)
{
	const struct item *item = &track->items[index];
	const struct mt_sideband *record = item->record;
	const struct mt_instant gap = {
	    .time_ns = record->time_ns,
	    .kind = MT_INSTANT_GAP,
	    .detail = MT_GAP_EVENTS_LOST,
	};
	const char *text;

	switch (item->note) {
	case MT_NOTE_OFF_CPU:
	case MT_NOTE_ON_CPU:
		return put_switch(track, item);
	case MT_NOTE_SYSCALL:
		return put_syscall(track, index);
	case MT_NOTE_SPAN:
		return begin_span(track, item);
	case MT_NOTE_SYSRET:
	case MT_NOTE_SPAN_END:
		return end_slice(track, record->time_ns, 0);
	case MT_NOTE_FAULT:
		return put_instant(track, item, MT_INSTANT_FAULT, "fault",
				   record->sample.weight ? "major page fault" : "page fault");
	case MT_NOTE_MARK:
		text = raw_text(track, record);
		return put_instant(track, item, MT_INSTANT_MARK, "mark",
				   text && !*text ? "(no words)" : text);
	case MT_NOTE_COUNTER:
		return put_counter(track, item);
	default:
		mt_try(end_all(track, record->time_ns, MT_SLICE_END_LOST));
		return track->run->sink.ops->instant(track->run->sink.self, &gap);
	}
}

static struct mt_error *put_track(struct track *track)
{
	static const char *const titles[MT_SIDE_TRACKS] = {
	    [MT_SIDE_TRACK_SCHED] = "scheduling",   [MT_SIDE_TRACK_SYSCALLS] = "system calls",
	    [MT_SIDE_TRACK_FAULTS] = "page faults", [MT_SIDE_TRACK_MARKS] = "marks",
	    [MT_SIDE_TRACK_COUNTERS] = "counters",  [MT_SIDE_TRACK_SPANS] = "spans",
	};
	const struct mt_slice_sink *sink = &track->run->sink;
	const struct mt_process_thread *thread = track->thread;
	enum mt_side_track kind = track->items[0].kind;
	const struct mt_thread_segment segment = {
	    .begin_ns = track->items[0].record->time_ns,
	    .end_ns = track->items[track->count - 1].record->time_ns,
	};
	struct mt_thread who = {
	    .pid = thread->pid,
	    .tid = MT_SIDE_TRACK_TID(kind, thread->tid),
	    .name = mt_arena_format(&track->run->arena, "%s of %s (%d)", titles[kind],
				    thread->name ? thread->name : "?", thread->tid),
	    .process = mt_processes_name_of(track->run->processes, thread),
	};

	if (!who.name)
		return mt_error_no_memory();
	mt_try(sink->ops->thread(sink->self, &who));
	mt_try(sink->ops->segment_begin(sink->self, &segment));
	for (size_t i = 0; i < track->count; i++)
		mt_try(put_item(track, i));
	mt_try(end_all(track, segment.end_ns, MT_SLICE_END_OPEN));
	return sink->ops->segment_end(sink->self, &segment);
}

typedef MT_ARRAY(struct item) items;

static bool is_of_side_track(enum mt_recording_note note)
{
	return note >= MT_NOTE_FIRST_SIDE && note != MT_NOTE_COUNT;
}

bool mt_decode_has_side_tracks(const struct mt_decode_run *run)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++)
		if (is_of_side_track(mt_decode_note_of(run, &records[i])))
			return true;
	return false;
}

static struct mt_error *collect(const struct mt_decode_run *run, items *found)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		enum mt_recording_note note = mt_decode_note_of(run, &records[i]);
		struct item item = {records[i].tid, track_of(note), note, &records[i],
				    found->count};
		/* A gap is one in all tracks of its thread. */
		bool is_gap = note == MT_NOTE_MISSED;

		/* Other numbers than threads' have no room among the tracks' numbers. */
		if (!is_of_side_track(note) || !mt_tid_is_thread(item.tid) ||
		    !mt_decode_has_time(&records[i]) || !mt_decode_wants(run, item.tid))
			continue;
		if (is_gap)
			item.kind = MT_SIDE_TRACK_SCHED;
		do
			if (mt_array_push(found, item))
				return mt_error_no_memory();
		while (is_gap && ++item.kind < MT_SIDE_TRACKS);
	}
	return NULL;
}

static struct mt_error *collect_said(const struct mt_decode_run *run, items *found)
{
	mt_array_each (said, &run->said) {
		const struct item item = {said->record.tid, track_of(said->note), said->note,
					  &said->record, found->count};

		if (mt_array_push(found, item))
			return mt_error_no_memory();
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	if (one->kind >= MT_SIDE_TRACK_COUNTERS && one->record->time_ns != other->record->time_ns)
		return one->record->time_ns < other->record->time_ns ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

/* The end of a system call is none that the program sees: what interrupted it (a stop of ours, as a
 * rule) had it made again at once. */
static bool is_restarted(const struct mt_sideband *call, const struct mt_sideband *end,
			 const struct mt_sideband *again)
{
	int64_t result = (int64_t)end->sample.address;

	if (result == -ERESTART_RESTARTBLOCK)
		return again->sample.weight == SYS_restart_syscall;
	return result <= -ERESTARTSYS && result >= -ERESTARTNOHAND &&
	       again->sample.weight == call->sample.weight &&
	       again->sample.raw_size == call->sample.raw_size &&
	       (!call->sample.raw ||
		memcmp(again->sample.raw, call->sample.raw, call->sample.raw_size) == 0);
}

static bool goes_on(const struct item *call)
{
	return call[0].note == MT_NOTE_SYSCALL && call[1].note == MT_NOTE_SYSRET &&
	       call[2].note == MT_NOTE_SYSCALL && call[2].tid == call[0].tid &&
	       is_restarted(call[0].record, call[1].record, call[2].record);
}

static void join_restarted(items *found)
{
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		found->items[count++] = found->items[i];
		while (i + 2 < found->count && goes_on(&found->items[i]))
			i += 2;
	}
	found->count = count;
}

static struct mt_error *put_tracks(struct mt_decode_run *run, const items *found)
{
	for (size_t i = 0, count; i < found->count; i += count) {
		const struct item *first = &found->items[i];
		struct track track = {.run = run, .items = first};
		bool only_gaps = true;

		for (count = 0; i + count < found->count && first[count].tid == first->tid &&
				first[count].kind == first->kind;
		     count++)
			only_gaps = only_gaps && first[count].note == MT_NOTE_MISSED;
		if (only_gaps || (first->kind == MT_SIDE_TRACK_COUNTERS && !run->sink.ops->counter))
			continue;
		track.count = count;
		track.thread = mt_processes_thread(run->processes, first->tid);
		if (!track.thread)
			return mt_error_no_memory();
		mt_try(put_track(&track));
	}
	return NULL;
}

struct mt_error *mt_decode_side_tracks(struct mt_decode_run *run)
{
	items found = {0};

	if (run->options->goroutine || run->options->coroutine)
		return NULL;
	struct mt_error *error = run->timed && !run->has_side_tracks ? collect(run, &found) : NULL;

	run->has_side_tracks = true;
	if (!error)
		error = collect_said(run, &found);
	if (!error && found.count) {
		qsort(found.items, found.count, sizeof(found.items[0]), compare);
		join_restarted(&found);
		error = put_tracks(run, &found);
	}
	mt_array_deinit(&found);
	return error;
}
