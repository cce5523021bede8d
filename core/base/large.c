/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE      ((size_t)4096)

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

void *mt_large_map(size_t size)
{
	const size_t spare = size < HUGE_PAGE / 2 || size > SIZE_MAX / 2 ? 0 : HUGE_PAGE;
	char *memory = mmap(NULL, size + spare, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (!spare)
		return memory;

	/* From one huge page's beginning to a page's end. */
	const size_t end = (size + PAGE - 1) & ~(PAGE - 1);
	const size_t before = -(uintptr_t)memory & (HUGE_PAGE - 1);
	char *aligned = memory + before;

	if (before)
		munmap(memory, before);
	if (spare > before)
		munmap(aligned + end, spare - before);
	madvise(aligned, end, MADV_HUGEPAGE);
	return aligned;
}
