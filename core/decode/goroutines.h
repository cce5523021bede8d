/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracks of goroutines: what Go's runtime switches to is recorded (trace/goroutines.h), so it is
 * known which one's stack a thread is on.  Events on that leave the thread's track for the
 * goroutine's, which takes them from whatever thread it ran in.  The thread keeps what is on its
 * own stacks, the scheduler among it, and gets a track that shows whom it ran when. */
#ifndef MT_DECODE_GOROUTINES_H
#define MT_DECODE_GOROUTINES_H

#include "decode/private.h"

/* *OUT is NULL where no switches were recorded, or threads are wanted.  Errors: NO_MEMORY. */
struct mt_error *mt_goroutines_create(struct mt_decode_run *run, struct mt_goroutines **out);
void mt_goroutines_destroy(struct mt_goroutines *goroutines); /* NULL is fine */

/* The next events and notes of a thread: those that stay there go to its rebuild.  Errors: the
 * sink's; SYSTEM (no room to spill); NO_MEMORY. */
struct mt_error *mt_goroutines_take(struct mt_goroutines *goroutines, struct mt_track *track,
				    const struct mt_event *events, size_t count);
/* After all threads.  Errors: as above; NOT_FOUND (the one that is wanted never ran). */
struct mt_error *mt_goroutines_finish(struct mt_goroutines *goroutines);

#endif
