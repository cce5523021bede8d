/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hook by which long work reports how far it is and learns that it should stop.
 * Called on the thread that began the work, a few times a millisecond at the most. */
#ifndef MT_BASE_PROGRESS_H
#define MT_BASE_PROGRESS_H

#include "base/error.h"

struct mt_progress {
	/* May be NULL.  `what` is a short phrase ("decoding"); total 0: not known. */
	void (*report)(void *context, const char *what, uint64_t done, uint64_t total);
	/* May be NULL.  True: the user wants it to stop. */
	bool (*interrupted)(void *context);
	void *context;
};

/* Report, then ask.  A NULL progress is silent and never interrupts.  Errors: INTERRUPTED. */
struct mt_error *mt_progress_step(const struct mt_progress *progress, const char *what,
				  uint64_t done, uint64_t total);

#endif
