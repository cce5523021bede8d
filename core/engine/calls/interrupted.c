/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values and the call that they belong to, brought together.  A trampoline records arguments before
 * their entry, and results behind their return; a signal that comes in between has its handler's
 * events there.  All that belongs together was recorded at one stack pointer, at which no call of
 * the handler's can be: it runs below, or on a stack of its own. */
#include "engine/calls/threads.h"

#include <string.h>

/* A run and all behind it change places, but for the newest event, to which it belongs. */
static void move_to_newest(struct mt_event *events, size_t count, struct mt_calls_values_run *run)
{
	struct mt_event values[MT_CALLS_RUN_VALUES], *newest = &events[count - 1];
	struct mt_event *first = events + run->first, *place = newest - run->count;

	if (first == place)
		return;
	memcpy(values, first, run->count * sizeof(*values));
	memmove(first, first + run->count, (size_t)(place - first) * sizeof(*values));
	memcpy(place, values, run->count * sizeof(*values));
	for (struct mt_event *value = place; value < newest; value++)
		value->time_ns = newest->time_ns;
	run->first = (size_t)(place - events);
}

/* Those that began behind it are a handler's, which has come to its end.  NULL: there is none. */
static struct mt_calls_values_run *run_at(struct mt_calls_values_runs *runs, uint64_t sp)
{
	for (size_t i = runs->count; i-- > 0;)
		if (runs->items[i].sp == sp) {
			runs->count = i + 1;
			return &runs->items[i];
		}
	return NULL;
}

static void begin_run(struct mt_calls_values_runs *runs, uint64_t sp, size_t first)
{
	if (runs->count == MT_CALLS_VALUES_RUNS)
		memmove(runs->items, runs->items + 1, --runs->count * sizeof(runs->items[0]));
	runs->items[runs->count++] = (struct mt_calls_values_run){sp, first, 1};
}

static void take_argument(struct mt_calls_values_runs *runs, struct mt_event *events, size_t count)
{
	const struct mt_event *value = &events[count - 1];
	struct mt_calls_values_run *run = run_at(runs, value->from);

	/* Who longjmp()s away, or was put back to the entry, comes with all of them again. */
	if (run &&
	    (events[run->first].detail == value->detail || run->count == MT_CALLS_RUN_VALUES)) {
		runs->count--;
		run = NULL;
	}
	if (!run) {
		begin_run(runs, value->from, count - 1);
		return;
	}
	move_to_newest(events, count, run);
	run->count++;
}

/* In front of its return.  What began behind that is a handler's, which has come to its end. */
static void take_result(struct mt_calls_values_runs *runs, struct mt_event *events, size_t count)
{
	const struct mt_event value = events[count - 1];
	size_t i = count - 1;

	while (i-- > 0) {
		if (events[i].from != value.from || events[i].kind == MT_EVENT_VALUE)
			continue;
		if (events[i].kind != MT_EVENT_LEAVE)
			return;
		while (runs->count && runs->items[runs->count - 1].first > i)
			runs->count--;
		memmove(&events[i + 1], &events[i], (count - 1 - i) * sizeof(value));
		events[i] = value;
		events[i].time_ns = events[i + 1].time_ns;
		return;
	}
}

void mt_calls_join_values(struct mt_calls_values_runs *runs, struct mt_event *events, size_t count,
			  bool is_result)
{
	const struct mt_event *newest = &events[count - 1];

	if (newest->kind == MT_EVENT_VALUE) {
		if (is_result)
			take_result(runs, events, count);
		else
			take_argument(runs, events, count);
	} else if (runs->count) {
		struct mt_calls_values_run *run = run_at(runs, newest->from);

		if (!run)
			return;
		if (newest->kind == MT_EVENT_ENTRY)
			move_to_newest(events, count, run);
		runs->count--;
	}
}

void mt_calls_values_written(struct mt_calls_values_runs *runs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < runs->count; i++)
		if (runs->items[i].first >= count) {
			runs->items[kept] = runs->items[i];
			runs->items[kept++].first -= count;
		}
	runs->count = kept;
}
