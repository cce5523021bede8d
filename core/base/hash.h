/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checksum at the speed of memory.  It finds what was garbled or cut short, not what somebody
 * made on purpose: any change within one word changes it. */
#ifndef MT_BASE_HASH_H
#define MT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SEED: 0, or the sum of what comes before.  BYTES: NULL where SIZE is 0, too. */
uint64_t mt_hash(uint64_t seed, const void *bytes, size_t size);

/* Of a text, one word after the other, and then one byte: code within a program computes it too
 * (engine/calls/condition/strings.c).  Behind the first MT_TEXT_HASH_BYTES only SIZE counts. */
#define MT_TEXT_HASH_BYTES  4096u
#define MT_TEXT_HASH_FACTOR 0x9e3779b97f4a7c15ull
#define MT_TEXT_HASH_ROTATE 29 /* to the left */
uint64_t mt_text_hash(const void *bytes, size_t size);

#endif
