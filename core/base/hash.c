/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash.h"

#include <string.h>

#define LANES 8
#define WORD  sizeof(uint64_t)

/* The factor is odd, so that no two words lead to the same. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * MT_TEXT_HASH_FACTOR;
	return sum << MT_TEXT_HASH_ROTATE | sum >> (64 - MT_TEXT_HASH_ROTATE);
}

static uint64_t word_at(const uint8_t *bytes, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes, size < WORD ? size : WORD);
	return word;
}

/* Lanes that do not wait for each other. */
uint64_t mt_hash(uint64_t seed, const void *bytes, size_t size)
{
	uint64_t lanes[LANES] = {seed,     seed + 1, seed + 2, seed + 3,
				 seed + 4, seed + 5, seed + 6, seed + 7};
	uint64_t sum = mix(seed, size);
	const uint8_t *at = size ? bytes : (const uint8_t *)"", *end = at + size;

	for (; (size_t)(end - at) >= LANES * WORD; at += LANES * WORD)
		for (unsigned i = 0; i < LANES; i++)
			lanes[i] = mix(lanes[i], word_at(at + i * WORD, WORD));
	for (unsigned i = 0; i < LANES; i++)
		sum = mix(sum, lanes[i]);
	for (size_t left = (size_t)(end - at); left; left -= left < WORD ? left : WORD)
		sum = mix(sum, word_at(end - left, left));
	return sum ^ sum >> 32;
}

uint64_t mt_text_hash(const void *bytes, size_t size)
{
	const uint8_t *at = size ? bytes : (const uint8_t *)"";
	const uint8_t *end = at + (size < MT_TEXT_HASH_BYTES ? size : MT_TEXT_HASH_BYTES);
	uint64_t sum = size;

	for (; (size_t)(end - at) >= WORD; at += WORD)
		sum = mix(sum, word_at(at, WORD));
	for (; at < end; at++)
		sum = mix(sum, *at);
	return sum;
}
