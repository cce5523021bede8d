/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *mt_large_alloc(size_t size)
{
	/* To clear the rest of one costs less than the faults of half of it. */
	size_t whole = (size + HUGE_PAGE / 2) & ~(HUGE_PAGE - 1);
	void *memory = NULL;

	if (!whole || size > SIZE_MAX / 2)
		return malloc(size ? size : 1);
	if (posix_memalign(&memory, HUGE_PAGE, whole > size ? whole : size))
		return NULL;
	madvise(memory, whole, MADV_HUGEPAGE);
	return memory;
}
