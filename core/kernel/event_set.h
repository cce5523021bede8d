/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of one thread that write into one data ring. */
#ifndef MT_KERNEL_EVENT_SET_H
#define MT_KERNEL_EVENT_SET_H

#include "base/array.h"
#include "kernel/data_ring.h"
#include "kernel/event.h"

struct mt_event_member {
	int fd;
	uint64_t id;
	uint32_t tag; /* the owner's word for it */
};

/* Zeroed storage is an empty set. */
struct mt_event_set {
	struct mt_data_ring ring; /* of the first */
	MT_ARRAY(struct mt_event_member) members;
};

/* Open another one on thread LWP; the first maps the ring, of RING_BYTES.  GROUP: the group that it
 * is to be in, by its leader's descriptor; -1: none.  Errors: mt_perf_event_open()'s;
 * mt_data_ring_map()'s. */
struct mt_error *mt_event_set_add(struct mt_event_set *set, const struct mt_perf_spec *spec,
				  pid_t lwp, int group, uint32_t tag, size_t ring_bytes);
void mt_event_set_deinit(struct mt_event_set *set);
/* Pause an event with that tag, or let it go on; no error, if there is none. */
void mt_event_set_pause(const struct mt_event_set *set, uint32_t tag, bool paused);
/* The tag of the event with that id.  False: there is none. */
bool mt_event_set_tag(const struct mt_event_set *set, uint64_t id, uint32_t *tag);
/* The event that came last.  The set is not empty. */
static inline int mt_event_set_last(const struct mt_event_set *set)
{
	return mt_array_last(&set->members)->fd;
}

#endif
