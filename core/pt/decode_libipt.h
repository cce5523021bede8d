/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: what the parts of the decoder share of libipt. */
#ifndef MT_PT_DECODE_LIBIPT_H
#define MT_PT_DECODE_LIBIPT_H

#include "pt/decode_mask.h"
#include "pt/decoder.h"

#include <intel-pt.h>

#define MT_PT_PSB_BYTES 16

/* The CPU's errata, the clocks' ratios, the packets that MASK overwrites; no buffer yet. */
void mt_pt_libipt_config(struct pt_config *config, const struct mt_cpu *cpu,
			 const struct mt_pt_timing *timing, struct mt_pt_mask *mask);
/* The same for the SIZE bytes at BYTES, which must be writable for MASK. */
struct pt_config mt_pt_libipt_config_of(const struct pt_config *config, const uint8_t *bytes,
					size_t size);

/* Where control is at a PSB. */
struct mt_pt_position {
	bool tracing;
	uint64_t ip; /* if tracing */
};

/* Read the PSB+ at OFFSET.  Returns 0, or -1 when it is garbled or cut off, or without memory. */
int mt_pt_position_at_psb(const struct pt_config *config, const uint8_t *bytes, size_t size,
			  size_t offset, struct mt_pt_position *out);

#endif
