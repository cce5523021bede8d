/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads are decoded one after the other, so what a goroutine did is kept, a run at a time, from a
 * switch to it up to the next switch of that thread, and put together at the end, by the times of
 * the switches, which have stamps of their own.
 *
 * Its stack may be moved, but it is switched to right after that.  Where a stack ends is recorded,
 * and a frame stays as far below as it was: so stack pointers are counted from there, and the
 * rebuild sees one stack that never moves. */
#include "trace/goroutines.h"
#include "decode/goroutines_private.h"
#include "trace/words.h"

#include <stdlib.h>
#include <string.h>

/* So many bytes runtime.systemstack() takes at the most. */
#define MOST_OF_SWITCH 1024u
/* So far below the stack's beginning a thread's first function may have its return address. */
#define MOST_OF_BIRTH 16u

static bool is_named(const struct mt_recorded_value *value, const char *name)
{
	return value && value->name && strcmp(value->name, name) == 0;
}

struct mt_error *mt_goroutines_create(struct mt_decode_run *run, struct mt_goroutines **out)
{
	bool has_switches = false;

	*out = NULL;
	if ((run->options->tid && !run->last_goroutine) || run->options->by_threads)
		return NULL;
	mt_array_each (value, &run->values.items)
		has_switches |= is_named(value, MT_GOROUTINE_ID_NAME);
	if (!has_switches && run->options->goroutine)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "the recording does not tell goroutines apart");
	if (!has_switches)
		return NULL;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->run = run;
	return NULL;
}

void mt_goroutines_destroy(struct mt_goroutines *goroutines)
{
	struct mt_goroutine *one, *next;

	if (!goroutines)
		return;
	HASH_ITER (hh, goroutines->by_id, one, next) {
		HASH_DEL(goroutines->by_id, one);
		free(one);
	}
	mt_array_deinit(&goroutines->runs);
	mt_array_deinit(&goroutines->notices);
	mt_array_deinit(&goroutines->wakes);
	mt_kept_events_deinit(&goroutines->events);
	free(goroutines);
}

/* ---- A thread's events ---- */

/* NULL: no memory. */
static struct mt_goroutine *find(struct mt_goroutines *goroutines, int pid, uint64_t id)
{
	struct mt_goroutine *one = NULL, key = {.key = {pid, id}};

	HASH_FIND(hh, goroutines->by_id, &key.key, sizeof(key.key), one);
	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->key = key.key;
	HASH_ADD(hh, goroutines->by_id, key, sizeof(one->key), one);
	if (one->hh.tbl)
		return one;
	free(one);
	return NULL;
}

static const char *name_at(const struct mt_track *track, uint64_t address)
{
	const struct mt_symbolizer *symbolizer = &track->epoch->symbolizer.symbolizer;

	return symbolizer->function_at(symbolizer->context, address)->name;
}

static struct mt_error *begin_run(struct mt_goroutines *goroutines, struct mt_track *track,
				  uint64_t time_ns, bool goes_on)
{
	struct mt_goroutine_place *place = &track->place;
	const struct mt_goroutine_run run = {.goroutine = place->goroutine,
					     .goes_on = goes_on,
					     .epoch = track->epoch,
					     .tid = track->tid,
					     .begin_ns = time_ns,
					     .end_ns = time_ns,
					     .first = mt_kept_events_count(&goroutines->events)};

	place->is_switching = false;
	return mt_array_push(&goroutines->runs, run) ? mt_error_no_memory() : NULL;
}

/* Where the thread's own stack does something for its goroutine, that did it; but not once the
 * thread was left. */
static bool has_left(const struct mt_track *track)
{
	static const char *const ways[] = {MT_GOROUTINE_LEAVE, "runtime.morestack"};
	const uint64_t last = track->place.calls[0].function;
	const char *name = last ? name_at(track, last) : NULL;

	for (size_t i = 0; name && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strncmp(name, ways[i], strlen(ways[i])) == 0)
			return true;
	return false;
}

/* The runtime switches back to the goroutine that needs another stack, or may not be preempted. */
static bool is_back(const struct mt_track *track, const struct mt_event *event)
{
	const uint64_t caller = event->kind == MT_EVENT_ENTRY ? mt_event_return_address(event) : 0;
	const char *name = track->place.is_same && caller ? name_at(track, caller - 1) : NULL;

	return name && strcmp(name, MT_GOROUTINE_NEW_STACK) == 0;
}

static struct mt_error *note_wake(struct mt_goroutines *goroutines, struct mt_track *track,
				  const struct mt_event *event, bool is_new)
{
	const struct mt_goroutine_wake wake = {
	    .woken = find(goroutines, track->thread->pid, event->to),
	    .waker = track->place.goroutine && !has_left(track) ? track->place.goroutine : NULL,
	    .is_waker_known = track->place.goroutine || track->place.was_born,
	    .time_ns = event->time_ns,
	    .number = goroutines->wakes.count + 1,
	    .is_new = is_new,
	};

	const struct mt_goroutine_run *run =
	    goroutines->runs.count ? mt_array_last(&goroutines->runs) : NULL;

	if (!wake.woken || mt_array_push(&goroutines->wakes, wake))
		return mt_error_no_memory();
	if (is_new) {
		wake.woken->made_at = track->place.made_at;
		wake.woken->made_in = track->epoch;
		if (!wake.woken->start)
			wake.woken->start = track->place.made_start;
	}
	track->place.wake =
	    wake.waker && run && run->goroutine == wake.waker && run->count ? wake.number : 0;
	return NULL;
}

static struct mt_error *note_switch(struct mt_goroutines *goroutines, struct mt_track *track,
				    uint64_t id)
{
	struct mt_goroutine_place *place = &track->place;
	const struct mt_goroutine *before = place->goroutine;

	place->goroutine = NULL;
	/* Where a ring begins, a part of the switch is lost. */
	if (place->next_high <= place->next_low || !place->next_low)
		return NULL;
	place->goroutine = find(goroutines, track->thread->pid, id);
	if (!place->goroutine)
		return mt_error_no_memory();
	place->is_same = place->goroutine == before;
	if (place->next_start)
		place->goroutine->start = place->next_start;
	place->high = place->next_high;
	place->low = place->next_low;
	place->next_high = place->next_low = 0;
	place->is_switching = true;
	place->wake = 0;
	place->calls[0].function = 0;
	return NULL;
}

/* What is recorded at a switch; its number comes last. */
static struct mt_error *note_value(struct mt_goroutines *goroutines, struct mt_track *track,
				   const struct mt_event *event)
{
	const struct mt_recorded_value *value =
	    mt_recorded_values_find(&goroutines->run->values, event->detail);
	struct mt_goroutine_place *place = &track->place;

	if (is_named(value, MT_GOROUTINE_HIGH_NAME)) {
		place->next_high = event->to;
		place->next_start = 0;
	} else if (is_named(value, MT_GOROUTINE_LOW_NAME)) {
		place->next_low = event->to;
	} else if (is_named(value, MT_GOROUTINE_START_NAME)) {
		place->next_start = event->to;
	} else if (is_named(value, MT_GOROUTINE_ID_NAME)) {
		return note_switch(goroutines, track, event->to);
	} else if (is_named(value, MT_GOROUTINE_WOKEN_NAME)) {
		return note_wake(goroutines, track, event, false);
	} else if (is_named(value, MT_GOROUTINE_MADE_NAME)) {
		return note_wake(goroutines, track, event, true);
	} else if (is_named(value, MT_GOROUTINE_MADE_START_NAME)) {
		place->made_start = event->to;
	} else if (is_named(value, MT_GOROUTINE_MADE_AT_NAME)) {
		place->made_at = event->to;
	} else if (value && value->name &&
		   strncmp(value->name, MT_WORDS_PREFIX, sizeof(MT_WORDS_PREFIX) - 1) == 0) {
		place->said_at = event->from;
	}
	return NULL;
}

static struct mt_error *keep(struct mt_goroutines *goroutines, const struct mt_event *event)
{
	struct mt_goroutine_run *run = mt_array_last(&goroutines->runs);

	mt_try(mt_kept_events_add(&goroutines->events, event));
	run->count++;
	if (event->time_ns > run->end_ns)
		run->end_ns = event->time_ns;
	return NULL;
}

/* What a program says of itself by mtrace.h belongs to threads, and lies on their tracks. */
static bool is_said(struct mt_goroutine_place *place, const struct mt_event *event)
{
	if (!place->said_at || event->from != place->said_at)
		return false;
	if (event->kind == MT_EVENT_LEAVE)
		place->said_at = 0;
	return true;
}

/* How far below its end: rings have the lower halves of stack pointers. */
static uint32_t below(const struct mt_goroutine_place *place, const struct mt_event *event)
{
	return (uint32_t)(place->high - event->from);
}

static bool is_on_stack(struct mt_goroutine_place *place, const struct mt_event *event)
{
	return place->goroutine && below(place, event) < place->high - place->low &&
	       !is_said(place, event);
}

static void note_call(struct mt_goroutine_place *place, const struct mt_event *event)
{
	struct mt_goroutine_call *calls = place->calls;

	if (event->kind == MT_EVENT_ENTRY) {
		calls[1] = calls[0];
		calls[0] = (struct mt_goroutine_call){event->to, below(place, event)};
	} else if (event->kind == MT_EVENT_LEAVE && below(place, event) <= calls[0].below) {
		calls[0] = calls[1];
		calls[1].function = 0;
	}
}

/* Who waits for the thread's own stack, in runtime.systemstack(), may have its stack made smaller
 * by the collector in another thread, and goes on in the copy: that call returns there, as far
 * below the end as it was. */
static void follow_copy(struct mt_track *track, const struct mt_event *event)
{
	struct mt_goroutine_place *place = &track->place;
	const struct mt_goroutine_call *call = &place->calls[0];
	const struct mt_symbolizer *symbolizer = &track->epoch->symbolizer.symbolizer;

	if (event->kind != MT_EVENT_LEAVE || place->is_there || !call->function ||
	    event->to - call->function >= MOST_OF_SWITCH ||
	    symbolizer->function_at(symbolizer->context, event->to) !=
		symbolizer->function_at(symbolizer->context, call->function) ||
	    below(place, event) < place->high - place->low)
		return;
	const uint64_t size = (place->high - place->low) / 2;
	place->high = event->from + call->below;
	place->low = place->high - size;
}

static struct mt_error *notice(struct mt_goroutines *goroutines, const struct mt_track *track,
			       struct mt_event event, uint64_t until_ns)
{
	const struct mt_goroutine_notice notice = {
	    .pid = track->thread->pid, .event = event, .until_ns = until_ns};

	return mt_array_push(&goroutines->notices, notice) ? mt_error_no_memory() : NULL;
}

/* ---- What of a thread was not seen ---- */

static struct mt_error *end_unseen(struct mt_goroutines *goroutines, struct mt_track *track,
				   uint64_t time_ns)
{
	const struct mt_event gap = {
	    .time_ns = track->place.unseen_ns, .kind = MT_EVENT_GAP, .detail = MT_GAP_AUX_LOST};

	return notice(goroutines, track, gap, time_ns);
}

/* The first call of all lies right below where the thread's stack begins. */
static bool is_birth(const struct mt_goroutine_place *place, const struct mt_event *event)
{
	return place->own_stack && event->kind == MT_EVENT_ENTRY &&
	       place->own_stack - event->from <= MOST_OF_BIRTH;
}

/* The first of a thread's events, or the first behind a loss.  A goroutine that it runs was nowhere
 * else by now. */
static struct mt_error *see(struct mt_goroutines *goroutines, struct mt_track *track,
			    const struct mt_event *event)
{
	struct mt_goroutine_place *place = &track->place;

	if (place->is_seen)
		return NULL;
	place->is_seen = true;
	place->was_born = is_birth(place, event);
	return place->was_born ? NULL : end_unseen(goroutines, track, event->time_ns);
}

static struct mt_error *lose(struct mt_goroutines *goroutines, struct mt_track *track,
			     const struct mt_event *event)
{
	struct mt_error *error = NULL;

	if (!track->place.is_seen && track->place.unseen_ns)
		error = end_unseen(goroutines, track, event->time_ns);
	track->place = (struct mt_goroutine_place){.unseen_ns = event->time_ns};
	return error;
}

/* It comes before all others of a thread. */
static void note_own_stack(struct mt_goroutine_place *place, const struct mt_event *event)
{
	if (place->is_seen || place->unseen_ns)
		return;
	place->unseen_ns = event->time_ns;
	place->own_stack = event->to;
}

/* A signal, or a trigger's hit: it came to whom the thread ran.  *STAYS: on the thread's track. */
static struct mt_error *keep_there(struct mt_goroutines *goroutines,
				   const struct mt_goroutine_place *place,
				   const struct mt_event *event, bool *stays)
{
	*stays = !place->goroutine || !place->is_there;
	return *stays ? NULL : keep(goroutines, event);
}

static struct mt_error *take_mark(struct mt_goroutines *goroutines, struct mt_track *track,
				  const struct mt_event *event, bool *stays)
{
	struct mt_goroutine_place *place = &track->place;

	switch (event->detail) {
	case MT_MARK_TRIGGER:
		return keep_there(goroutines, place, event, stays);
	case MT_MARK_SNAPSHOT:
		if (place->goroutine && !place->is_switching && !has_left(track))
			mt_try(begin_run(goroutines, track, event->time_ns, true));
		return notice(goroutines, track, *event, 0);
	case MT_MARK_OWN_STACK:
		note_own_stack(place, event);
		return NULL;
	case MT_MARK_EXEC:
		*place = (struct mt_goroutine_place){.is_seen = true};
		return NULL;
	default:
		return NULL;
	}
}

static struct mt_error *take(struct mt_goroutines *goroutines, struct mt_track *track,
			     const struct mt_event *event, bool *stays)
{
	struct mt_goroutine_place *place = &track->place;

	*stays = true;
	if (event->kind == MT_EVENT_GAP)
		return lose(goroutines, track, event);
	if (event->kind >= MT_EVENT_ENTRY)
		mt_try(see(goroutines, track, event));
	if (event->kind == MT_EVENT_VALUE)
		mt_try(note_value(goroutines, track, event));
	else if (place->is_switching)
		mt_try(begin_run(goroutines, track, event->time_ns, is_back(track, event)));
	if (event->kind == MT_EVENT_MARK)
		return take_mark(goroutines, track, event, stays);
	if (event->kind == MT_EVENT_SIGNAL)
		return keep_there(goroutines, place, event, stays);
	if (event->kind < MT_EVENT_ENTRY)
		return NULL;
	/* The values of a switch come before it, on the stack that it leaves. */
	if (place->goroutine)
		follow_copy(track, event);
	place->is_there = !place->is_switching && is_on_stack(place, event);
	if (!place->is_there)
		return NULL;
	note_call(place, event);
	if (place->wake)
		goroutines->wakes.items[place->wake - 1].is_seen = true;
	place->wake = 0;
	struct mt_event moved = *event;
	moved.from = MT_GOROUTINE_TOP - below(place, event);
	*stays = false;
	return keep(goroutines, &moved);
}

/* Its handler runs on a stack of the thread's. */
static struct mt_error *push_told(struct mt_track *track, struct mt_event signal)
{
	signal.flags |= MT_EVENT_IS_TOLD;
	return mt_rebuild_push(track->rebuild, &signal, 1);
}

struct mt_error *mt_goroutines_take(struct mt_goroutines *goroutines, struct mt_track *track,
				    const struct mt_event *events, size_t count)
{
	const struct mt_goroutine_place *place = &track->place;
	uint64_t *last = goroutines->run->last_goroutine;
	const bool wants_threads = !last && !goroutines->run->options->goroutine;

	for (size_t i = 0, next; i < count; i = next) {
		bool stays = true;

		/* As many at once as stay. */
		for (next = i; next < count && stays; next++)
			mt_try(take(goroutines, track, &events[next], &stays));
		if (wants_threads && next - i - !stays)
			mt_try(mt_rebuild_push(track->rebuild, &events[i], next - i - !stays));
		if (wants_threads && !stays && events[next - 1].kind == MT_EVENT_SIGNAL)
			mt_try(push_told(track, events[next - 1]));
	}
	if (last)
		*last = place->goroutine && !has_left(track) ? place->goroutine->key.id : 0;
	return NULL;
}
