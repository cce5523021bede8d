/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events that wait until all of what belongs together is known: those beyond a bound lie in an
 * unlinked temporary file. */
#ifndef MT_DECODE_KEPT_EVENTS_H
#define MT_DECODE_KEPT_EVENTS_H

#include "base/array.h"
#include "base/spill.h"
#include "trace/event.h"

struct mt_kept_events {
	MT_ARRAY(struct mt_event) events; /* behind the first `spilled` */
	uint64_t spilled;
	struct mt_spill spill;
	struct mt_event *batch; /* of those that come back from there */
};

typedef struct mt_error *mt_kept_events_taker(void *context, const struct mt_event *events,
					      size_t count);

void mt_kept_events_deinit(struct mt_kept_events *kept);
static inline uint64_t mt_kept_events_count(const struct mt_kept_events *kept)
{
	return kept->spilled + kept->events.count;
}
/* Errors: SYSTEM (no room to spill); NO_MEMORY. */
struct mt_error *mt_kept_events_add(struct mt_kept_events *kept, const struct mt_event *event);
/* Gives COUNT from FIRST on, which are there, to TAKE, some at once.  Errors: TAKE's; SYSTEM;
 * NO_MEMORY. */
struct mt_error *mt_kept_events_give(struct mt_kept_events *kept, uint64_t first, uint64_t count,
				     mt_kept_events_taker *take, void *context);

#endif
