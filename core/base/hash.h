/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checksum at the speed of memory.  It finds what was garbled or cut short, not what somebody
 * made on purpose: any change within one word changes it. */
#ifndef MT_BASE_HASH_H
#define MT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SEED: 0, or the sum of what comes before.  BYTES: NULL where SIZE is 0, too. */
uint64_t mt_hash(uint64_t seed, const void *bytes, size_t size);

#endif
