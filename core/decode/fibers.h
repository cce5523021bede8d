/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracks of coroutines: what a thread does on a stack that it switches to (trace/sp_fibers.c) is
 * kept, and put together behind the thread's own track, a track a stack.  There a call is one
 * slice, however often control left its stack meanwhile. */
#ifndef MT_DECODE_FIBERS_H
#define MT_DECODE_FIBERS_H

#include "decode/private.h"

/* Errors: NO_MEMORY. */
struct mt_error *mt_fibers_create(struct mt_decode_run *run, struct mt_fibers **out);
void mt_fibers_destroy(struct mt_fibers *fibers); /* NULL is fine */

/* For the rebuild of TRACK, to which FIBERS belong. */
struct mt_fiber_taker mt_fibers_taker(struct mt_fibers *fibers, const struct mt_track *track);

/* Of threads, where only a coroutine is wanted: they are gone through, as it is numbered by the
 * order in which all come, but not shown. */
struct mt_slice_sink mt_fibers_no_sink(void);

/* After the thread's last event: those that are wanted.  Errors: the sink's; SYSTEM; NO_MEMORY. */
struct mt_error *mt_fibers_show(struct mt_fibers *fibers);
/* Whether the one that was wanted has come.  Errors: NOT_FOUND. */
struct mt_error *mt_fibers_check(const struct mt_decode_run *run);

#endif
