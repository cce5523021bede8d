/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stats/histogram.h"

#include <stdlib.h>

#define PART_BITS 5

_Static_assert(MT_HISTOGRAM_PARTS == 1 << PART_BITS, "a bucket's number is the value's bits");

static unsigned power_of(uint64_t value)
{
	return 63u - (unsigned)__builtin_clzll(value | 1);
}

static unsigned block_of(uint64_t value)
{
	return value < MT_HISTOGRAM_PARTS ? 0 : power_of(value) - PART_BITS + 1;
}

/* The least value of a bucket, and how many there are in it. */
static uint64_t value_of(unsigned block, unsigned part, uint64_t *width)
{
	*width = block ? 1ull << (block - 1) : 1;
	return block ? (uint64_t)(MT_HISTOGRAM_PARTS + part) << (block - 1) : part;
}

static uint64_t *block_at(struct mt_histogram *histogram, unsigned block)
{
	if (!histogram->blocks[block])
		histogram->blocks[block] = calloc(MT_HISTOGRAM_PARTS, sizeof(uint64_t));
	return histogram->blocks[block];
}

int mt_histogram_add(struct mt_histogram *histogram, uint64_t value)
{
	const unsigned block = block_of(value);
	uint64_t *counts = block_at(histogram, block);

	if (!counts)
		return -1;
	counts[block ? value >> (block - 1) & (MT_HISTOGRAM_PARTS - 1) : value]++;
	if (!histogram->count++ || value < histogram->least)
		histogram->least = value;
	if (value > histogram->most)
		histogram->most = value;
	return 0;
}

int mt_histogram_merge(struct mt_histogram *into, const struct mt_histogram *from)
{
	for (unsigned block = 0; block < MT_HISTOGRAM_BLOCKS; block++) {
		uint64_t *counts = from->blocks[block] ? block_at(into, block) : NULL;

		if (from->blocks[block] && !counts)
			return -1;
		for (unsigned part = 0; counts && part < MT_HISTOGRAM_PARTS; part++)
			counts[part] += from->blocks[block][part];
	}
	if (from->count && (!into->count || from->least < into->least))
		into->least = from->least;
	if (from->most > into->most)
		into->most = from->most;
	into->count += from->count;
	return 0;
}

uint64_t mt_histogram_quantile(const struct mt_histogram *histogram, unsigned permille)
{
	/* As many as that, rounded up; the products fit, since counts are far below 2^54. */
	uint64_t wanted = (histogram->count * permille + 999) / 1000, seen = 0, width;

	for (unsigned i = 0; i < MT_HISTOGRAM_BLOCKS * MT_HISTOGRAM_PARTS; i++) {
		const uint64_t *counts = histogram->blocks[i / MT_HISTOGRAM_PARTS];

		seen += counts ? counts[i % MT_HISTOGRAM_PARTS] : 0;
		if (!counts || !seen || seen < wanted)
			continue;
		uint64_t value = value_of(i / MT_HISTOGRAM_PARTS, i % MT_HISTOGRAM_PARTS, &width);
		value += width / 2;
		return value < histogram->least  ? histogram->least
		       : value > histogram->most ? histogram->most
						 : value;
	}
	return histogram->most;
}

void mt_histogram_powers(const struct mt_histogram *histogram, uint64_t counts[MT_HISTOGRAM_POWERS])
{
	uint64_t width;

	for (unsigned i = 0; i < MT_HISTOGRAM_POWERS; i++)
		counts[i] = 0;
	for (unsigned i = 0; i < MT_HISTOGRAM_BLOCKS * MT_HISTOGRAM_PARTS; i++) {
		const uint64_t *block = histogram->blocks[i / MT_HISTOGRAM_PARTS];

		if (block)
			counts[power_of(value_of(i / MT_HISTOGRAM_PARTS, i % MT_HISTOGRAM_PARTS,
						 &width))] += block[i % MT_HISTOGRAM_PARTS];
	}
}

void mt_histogram_deinit(struct mt_histogram *histogram)
{
	for (unsigned block = 0; block < MT_HISTOGRAM_BLOCKS; block++)
		free(histogram->blocks[block]);
	*histogram = (struct mt_histogram){0};
}
