/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/ring/throttle.h"

#include <stdlib.h>

struct busy {
	uint64_t function;
	size_t events, calls, leaves;
};

static int by_function(const void *one, const void *other)
{
	uint64_t a = ((const struct mt_throttle_event *)one)->function;
	uint64_t b = ((const struct mt_throttle_event *)other)->function;

	return a < b ? -1 : a > b;
}

static bool is_leaf(const struct busy *busy)
{
	return busy->leaves && 2 * busy->leaves >= busy->calls;
}

/* Of a function, beginning at EVENTS. */
static struct busy tally(const struct mt_throttle_event *events, size_t count)
{
	struct busy busy = {.function = events->function};

	for (; busy.events < count && events[busy.events].function == busy.function;
	     busy.events++) {
		busy.calls += !events[busy.events].is_return;
		busy.leaves += events[busy.events].follows;
	}
	return busy;
}

static bool any_leaf(const struct mt_throttle_event *events, size_t count, size_t least)
{
	struct busy busy;

	for (size_t i = 0; i < count; i += busy.events) {
		busy = tally(events + i, count - i);
		if (busy.events >= least && is_leaf(&busy))
			return true;
	}
	return false;
}

#define MOST 16

size_t mt_throttle_choose(struct mt_throttle_event *events, size_t count, size_t least,
			  uint64_t *functions, size_t capacity)
{
	struct busy best[MOST] = {0}, busy;
	size_t chosen = 0;
	bool leaves;

	if (!count)
		return 0;
	if (capacity > MOST)
		capacity = MOST;
	/* From here on `follows` says of a call that its own return came next. */
	for (size_t i = 0; i < count; i++) {
		const struct mt_throttle_event *next = i + 1 < count ? &events[i + 1] : NULL;

		events[i].follows = !events[i].is_return && next && next->follows &&
				    next->is_return && next->function == events[i].function;
	}
	qsort(events, count, sizeof(*events), by_function);
	leaves = any_leaf(events, count, least);
	for (size_t i = 0; i < count; i += busy.events) {
		busy = tally(events + i, count - i);
		if (busy.events >= least && (!leaves || is_leaf(&busy))) {
			/* BEST is full of zeros at its end. */
			size_t at = capacity;

			while (at && best[at - 1].events < busy.events) {
				if (at < capacity)
					best[at] = best[at - 1];
				at--;
			}
			if (at < capacity)
				best[at] = busy;
		}
	}
	while (chosen < capacity && best[chosen].events) {
		functions[chosen] = best[chosen].function;
		chosen++;
	}
	return chosen;
}
