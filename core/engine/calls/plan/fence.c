/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fences: code between two places that stays as it is.
 *
 * Valgrind's tools hold functions that the program runs which they emulate, in place of its own.
 * Emulated, it may go nowhere else in the tool's memory, so a jump of ours ends it.  They lie
 * between two pages of nothing but ud2, by which they are known in stripped files, too.
 *
 * BoringSSL's FIPS module, which Go's boringcrypto is, computes a checksum of its code when it
 * begins, and aborts if that is another than it was built with.  It lies between two symbols.
 *
 * Sources: valgrind's coregrind/m_trampoline.S; BoringSSL's crypto/fipsmodule/FIPS.md. */
#include "elf/data_symbol.h"
#include "engine/calls/plan/private.h"

#define PAGE 4096u

static bool is_ud2(const uint8_t *bytes)
{
	return bytes[0] == 0x0f && bytes[1] == 0x0b;
}

/* The begin of the first page of ud2 at or behind AT; `end - start` of the range: there is none. */
static size_t find_page(const struct mt_plan_range *range, size_t at)
{
	const size_t size = range->end - range->start;

	/* A probe each half page meets whatever is a page long. */
	for (size_t probe = at + PAGE / 2; probe + 2 < size; probe += PAGE / 2) {
		size_t begin = is_ud2(range->bytes + probe) ? probe : probe + 1, end = begin;

		while (begin >= at + 2 && is_ud2(range->bytes + begin - 2))
			begin -= 2;
		while (end + 2 <= size && is_ud2(range->bytes + end))
			end += 2;
		if (end >= begin + PAGE)
			return begin;
	}
	return size;
}

static void leave_fenced(struct mt_planner *planner, uint64_t start, uint64_t end, uint16_t fact)
{
	const struct mt_plan *plan = planner->plan;

	for (size_t i = 0; i < plan->functions.count; i++)
		if (plan->functions.items[i].start - start < end - start)
			planner->facts.items[i] |= fact;
}

static void find_checked(struct mt_planner *planner)
{
	const uint64_t start =
	    mt_objfile_find_function_symbol(planner->objfile, "BORINGSSL_bcm_text_start");
	const uint64_t end =
	    start ? mt_objfile_find_function_symbol(planner->objfile, "BORINGSSL_bcm_text_end") : 0;

	if (end > start)
		leave_fenced(planner, start, end, MT_FACT_CHECKED);
}

void mt_plan_find_fences(struct mt_planner *planner)
{
	find_checked(planner);
	mt_array_each (range, &planner->ranges) {
		const size_t size = range->end - range->start;
		size_t first = find_page(range, 0);

		while (first < size) {
			const size_t begin = first + PAGE, second = find_page(range, begin);

			if (second < size && second - begin <= PAGE)
				leave_fenced(planner, range->start + begin, range->start + second,
					     MT_FACT_FENCED);
			first = second;
		}
	}
}
