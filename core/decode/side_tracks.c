/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracks beside the calls, out of the notes of session/tracks.h: for each thread one of where
 * it ran, of its system calls, of page faults, of marks, of counters.  Calls and these are of one
 * clock, so that a viewer shows what belongs together one above the other. */
#include "decode/private.h"
#include "decode/syscall_names.h"

#include <errno.h>
#include <string.h>

struct item {
	int tid;
	enum mt_beside_track track;
	enum mt_recording_note note;
	const struct mt_sideband *record;
	size_t order;
};

/* One track while it is put out. */
struct beside {
	struct mt_decode_run *run;
	const struct mt_machine_thread *thread;
	const struct item *items;
	size_t count;
	bool open; /* a slice is */
};

static enum mt_beside_track track_of(enum mt_recording_note note)
{
	switch (note) {
	case MT_NOTE_OFF_CPU:
	case MT_NOTE_ON_CPU:
		return MT_BESIDE_SCHED;
	case MT_NOTE_SYSCALL:
	case MT_NOTE_SYSRET:
		return MT_BESIDE_SYSCALLS;
	case MT_NOTE_FAULT:
		return MT_BESIDE_FAULTS;
	case MT_NOTE_MARK:
		return MT_BESIDE_MARKS;
	case MT_NOTE_COUNTER:
		return MT_BESIDE_COUNTERS;
	default:
		return 0;
	}
}

static struct mt_arena *arena(const struct beside *beside)
{
	return &beside->run->arena;
}

static struct mt_error *end_slice(struct beside *beside, uint64_t time_ns, uint8_t flags)
{
	const struct mt_slice_end end = {.time_ns = time_ns, .flags = flags};

	if (!beside->open)
		return NULL;
	beside->open = false;
	return beside->run->sink.ops->end(beside->run->sink.self, &end);
}

static struct mt_error *begin_slice(struct beside *beside, const struct mt_sideband *record,
				    const struct mt_beside *what)
{
	const struct mt_slice slice = {
	    .time_ns = record->time_ns, .kind = MT_SLICE_BESIDE, .beside = what};

	beside->open = true;
	return beside->run->sink.ops->begin(beside->run->sink.self, &slice);
}

static struct mt_beside *new_beside(const struct beside *beside, const char *category,
				    const char *name)
{
	struct mt_beside *what = mt_arena_zalloc(arena(beside), sizeof(*what));

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
	    {0x1, "sleeping", "waits until something happens, or a signal comes (S)"},
	    {0x2, "blocked", "waits for the disk or in the kernel (D)"},
	    {0x4, "stopped", "stopped by a signal (T)"},
	    {0x8, "traced", "stopped by the debugger (t)"},
	    {0x10, "ended", "it has ended (X)"},
	    {0x20, "ended", "it has ended (Z)"},
	    {0x40, "parked", "parked by the kernel (P)"},
	    {0x80, "idle", "has nothing to do (I)"},
	};

	*name = "off the CPU";
	*reason = NULL;
	if (state == MT_OFF_CPU_UNKNOWN)
		return;
	*name = "preempted";
	*reason = "could run, but another thread had the CPU (R)";
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (state & states[i].bit) {
			*name = states[i].name;
			*reason = states[i].reason;
			return;
		}
}

static struct mt_error *put_switch(struct beside *beside, const struct item *item)
{
	const struct mt_sideband *record = item->record;
	const char *name = NULL, *reason = NULL;
	struct mt_beside *what;

	if (item->note == MT_NOTE_OFF_CPU)
		describe_state(record->sample.weight, &name, &reason);
	else
		name = mt_arena_format(arena(beside), "CPU %d", record->cpu);
	what = new_beside(beside, "sched", name);
	if (!what)
		return mt_error_no_memory();
	what->reason = reason;
	mt_try(end_slice(beside, record->time_ns, 0));
	return begin_slice(beside, record, what);
}

/* System calls. */

static const char *syscall_name(const struct beside *beside, uint64_t number)
{
	if (number < mt_syscall_count && mt_syscall_table[number])
		return mt_syscall_table[number];
	return mt_arena_format(arena(beside), "syscall %lld", (long long)number);
}

static const char *arguments_text(const struct beside *beside, const struct mt_sideband *record)
{
	uint64_t arguments[6] = {0};
	size_t size = record->sample.raw_size;

	if (record->sample.raw)
		memcpy(arguments, record->sample.raw,
		       size < sizeof(arguments) ? size : sizeof(arguments));
	return mt_arena_format(arena(beside), "%#llx, %#llx, %#llx, %#llx, %#llx, %#llx",
			       (unsigned long long)arguments[0], (unsigned long long)arguments[1],
			       (unsigned long long)arguments[2], (unsigned long long)arguments[3],
			       (unsigned long long)arguments[4], (unsigned long long)arguments[5]);
}

static const char *result_text(const struct beside *beside, uint64_t result)
{
	int64_t number = (int64_t)result;
	const char *error = number < 0 && number > -4096 ? strerrorname_np((int)-number) : NULL;

	if (error)
		return mt_arena_format(arena(beside), "-%s", error);
	return mt_arena_format(arena(beside), number >> 32 ? "%#llx" : "%lld", (long long)number);
}

static bool returns(const struct beside *beside, size_t index)
{
	return index + 1 < beside->count && beside->items[index + 1].note == MT_NOTE_SYSRET;
}

static struct mt_error *put_syscall(struct beside *beside, size_t index)
{
	const struct mt_sideband *record = beside->items[index].record;
	struct mt_beside *what =
	    new_beside(beside, "syscall", syscall_name(beside, record->sample.weight));

	if (!what)
		return mt_error_no_memory();
	what->arguments = arguments_text(beside, record);
	if (returns(beside, index))
		what->result = result_text(beside, beside->items[index + 1].record->sample.address);
	if (!what->arguments || (returns(beside, index) && !what->result))
		return mt_error_no_memory();
	mt_try(end_slice(beside, record->time_ns, MT_SLICE_END_LOST));
	return begin_slice(beside, record, what);
}

/* Instants. */

static struct mt_error *put_instant(struct beside *beside, const struct item *item,
				    enum mt_instant_kind kind, const char *category,
				    const char *name)
{
	const struct mt_sideband *record = item->record;
	struct mt_instant instant = {
	    .time_ns = record->time_ns,
	    .kind = (uint8_t)kind,
	    .value = record->sample.address,
	    .address = record->sample.ip,
	    .beside = new_beside(beside, category, name),
	};

	if (!instant.beside)
		return mt_error_no_memory();
	if (instant.address) {
		struct mt_space *space =
		    mt_decode_epoch_at(beside->run, beside->thread, record->time_ns)->space;

		instant.function = mt_space_function_at(space, instant.address);
		mt_space_source_at(space, instant.address, &instant.source);
	}
	return beside->run->sink.ops->instant(beside->run->sink.self, &instant);
}

static struct mt_error *put_gap(struct beside *beside, const struct item *item)
{
	const struct mt_instant instant = {
	    .time_ns = item->record->time_ns,
	    .kind = MT_INSTANT_GAP,
	    .detail = MT_GAP_EVENTS_LOST,
	};

	mt_try(end_slice(beside, instant.time_ns, MT_SLICE_END_LOST));
	return beside->run->sink.ops->instant(beside->run->sink.self, &instant);
}

static const char *raw_text(const struct beside *beside, const struct mt_sideband *record)
{
	return mt_arena_text(arena(beside), (const char *)record->sample.raw,
			     record->sample.raw ? record->sample.raw_size : 0);
}

/* Formats tell strings apart by where they lie: a counter has one name all through. */
static const char *counter_name(struct beside *beside, const struct mt_sideband *record)
{
	const char *counter = raw_text(beside, record);
	const char *name;

	if (!counter)
		return NULL;
	name = mt_arena_format(arena(beside), "%s of %s (%d)", counter,
			       beside->thread->name ? beside->thread->name : "?", record->tid);
	mt_array_each (known, &beside->run->counter_names)
		if (name && strcmp(*known, name) == 0)
			return *known;
	return name && !mt_array_push(&beside->run->counter_names, name) ? name : NULL;
}

static struct mt_error *put_counter(struct beside *beside, const struct item *item)
{
	uint64_t value = item->record->sample.weight;
	const struct mt_slice_sink *sink = &beside->run->sink;
	const struct mt_counter counter = {
	    .time_ns = item->record->time_ns,
	    .name = counter_name(beside, item->record),
	    .value = value < INT64_MAX ? value : INT64_MAX,
	    .tid = item->tid,
	};

	if (!counter.name)
		return mt_error_no_memory();
	return sink->ops->counter ? sink->ops->counter(sink->self, &counter) : NULL;
}

static struct mt_error *put_item(struct beside *beside, size_t index)
{
	const struct item *item = &beside->items[index];
	const struct mt_sideband *record = item->record;
	const char *text;

	switch (item->note) {
	case MT_NOTE_OFF_CPU:
	case MT_NOTE_ON_CPU:
		return put_switch(beside, item);
	case MT_NOTE_SYSCALL:
		return put_syscall(beside, index);
	case MT_NOTE_SYSRET:
		return end_slice(beside, record->time_ns, 0);
	case MT_NOTE_FAULT:
		return put_instant(beside, item, MT_INSTANT_FAULT, "fault",
				   record->sample.weight ? "major page fault" : "page fault");
	case MT_NOTE_MARK:
		text = raw_text(beside, record);
		return put_instant(beside, item, MT_INSTANT_MARK, "mark",
				   text && !*text ? "(no words)" : text);
	case MT_NOTE_COUNTER:
		return put_counter(beside, item);
	default:
		return put_gap(beside, item);
	}
}

static const char *track_name(const struct beside *beside, enum mt_beside_track track)
{
	static const char *const titles[MT_BESIDE_TRACKS] = {
	    [MT_BESIDE_SCHED] = "scheduling",   [MT_BESIDE_SYSCALLS] = "system calls",
	    [MT_BESIDE_FAULTS] = "page faults", [MT_BESIDE_MARKS] = "marks",
	    [MT_BESIDE_COUNTERS] = "counters",
	};

	return mt_arena_format(arena(beside), "%s of %s (%d)", titles[track],
			       beside->thread->name ? beside->thread->name : "?",
			       beside->thread->tid);
}

static struct mt_error *put_track(struct beside *beside)
{
	const struct mt_slice_sink *sink = &beside->run->sink;
	enum mt_beside_track track = beside->items[0].track;
	const struct mt_thread_segment segment = {
	    .begin_ns = beside->items[0].record->time_ns,
	    .end_ns = beside->items[beside->count - 1].record->time_ns,
	};
	struct mt_thread who = {
	    .pid = beside->thread->pid,
	    .tid = MT_BESIDE_TID(track, beside->thread->tid),
	    .name = track_name(beside, track),
	    .process = mt_machine_process_name(beside->run->machine, beside->thread),
	};

	if (!who.name)
		return mt_error_no_memory();
	mt_try(sink->ops->thread(sink->self, &who));
	mt_try(sink->ops->segment_begin(sink->self, &segment));
	for (size_t i = 0; i < beside->count; i++)
		mt_try(put_item(beside, i));
	mt_try(end_slice(beside, segment.end_ns, MT_SLICE_END_OPEN));
	return sink->ops->segment_end(sink->self, &segment);
}

typedef MT_ARRAY(struct item) items;

/* A gap is one in all tracks of its thread. */
static struct mt_error *collect_one(const struct mt_sideband *record, enum mt_recording_note note,
				    items *found)
{
	struct item item = {record->tid, track_of(note), note, record, found->count};

	if (note != MT_NOTE_MISSED)
		return mt_array_push(found, item) ? mt_error_no_memory() : NULL;
	for (item.track = MT_BESIDE_SCHED; item.track < MT_BESIDE_TRACKS; item.track++)
		if (mt_array_push(found, item))
			return mt_error_no_memory();
	return NULL;
}

static bool is_beside(enum mt_recording_note note)
{
	return note >= MT_NOTE_FIRST_BESIDE && note != MT_NOTE_COUNT;
}

bool mt_decode_has_beside(const struct mt_decode_run *run)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++)
		if (is_beside(mt_decode_note_of(run, &records[i])))
			return true;
	return false;
}

/* Others have no place among the tracks' numbers. */
static bool is_a_tid(int32_t tid)
{
	return tid > 0 && tid < MT_HITS_TID;
}

static struct mt_error *collect(const struct mt_decode_run *run, items *found)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		enum mt_recording_note note = mt_decode_note_of(run, &records[i]);

		if (is_beside(note) && is_a_tid(records[i].tid) &&
		    mt_decode_has_time(&records[i]) && mt_decode_wants(run, records[i].tid))
			mt_try(collect_one(&records[i], note, found));
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	if (one->track != other->track)
		return one->track < other->track ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

static bool is_of_gaps_alone(const struct item *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (first[i].note != MT_NOTE_MISSED)
			return false;
	return true;
}

static struct mt_error *put_tracks(struct mt_decode_run *run, const items *found)
{
	for (size_t i = 0, count; i < found->count; i += count) {
		const struct item *first = &found->items[i];
		struct beside beside = {.run = run, .items = first};

		for (count = 1; i + count < found->count && first[count].tid == first->tid &&
				first[count].track == first->track;)
			count++;
		if (is_of_gaps_alone(first, count) ||
		    (first->track == MT_BESIDE_COUNTERS && !run->sink.ops->counter))
			continue;
		beside.count = count;
		beside.thread = mt_machine_thread(run->machine, first->tid);
		if (!beside.thread)
			return mt_error_no_memory();
		mt_try(put_track(&beside));
	}
	return NULL;
}

struct mt_error *mt_decode_beside(struct mt_decode_run *run)
{
	items found = {0};
	struct mt_error *error = run->timed ? collect(run, &found) : NULL;

	if (!error && found.count) {
		qsort(found.items, found.count, sizeof(found.items[0]), compare);
		error = put_tracks(run, &found);
	}
	mt_array_deinit(&found);
	return error;
}
