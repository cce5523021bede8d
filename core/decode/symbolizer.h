/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The symbolizer of call stacks (trace/symbolizer.h) over the address spaces of elf/: a process's
 * own space for user addresses, the kernel's for the upper half.  Any thread may ask it: whoever
 * has decoded ahead and who rebuilds call stacks do. */
#ifndef MT_DECODE_SYMBOLIZER_H
#define MT_DECODE_SYMBOLIZER_H

#include "decode/call_sites.h"
#include "space/space.h"
#include "trace/symbolizer.h"

#include <pthread.h>

struct mt_space_symbolizer {
	struct mt_symbolizer symbolizer; /* its context is this struct */
	struct mt_space *user;
	struct mt_space *kernel;
	struct mt_call_sites *call_sites; /* lent; NULL: they are not to be looked for */
	pthread_mutex_t *lock;            /* held while any of these is asked */
};

/* The arguments are lent and must outlive it; call_sites may be NULL. */
void mt_space_symbolizer_init(struct mt_space_symbolizer *symbolizer, struct mt_space *user,
			      struct mt_space *kernel, bool inlines,
			      struct mt_call_sites *call_sites, pthread_mutex_t *lock);

#endif
