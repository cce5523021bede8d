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

#endif
