/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: a walk over the packets of a window, apart from the decoder, that finds where
 * decoding can go on after an error, and knows there what a decoder would have to know.
 *
 * A query starts at a PSB only.  Where control is known otherwise (a TIP with its address, TIP.PGE,
 * the FUP of an overflow or of a PTWRITE) a PSB+ made up for it, put before a copy of the packets
 * that follow, makes a start as good, but for the return stack. */
#ifndef MT_PT_DECODE_SCAN_H
#define MT_PT_DECODE_SCAN_H

#include "pt/decode_libipt.h"
#include "pt/image.h"
#include "pt/packet.h"

/* Hardware may put TIPs off until the TNT before them is full or forced out (SDM 33.4.2.3,
 * "Deferred TIPs").  Then bits of that TNT belong behind the TIP, and to know where the TIP went is
 * not enough to go on from there. */
enum mt_pt_deferral {
	MT_PT_DEFER_NONE,    /* no TNT that could have bits of later branches */
	MT_PT_DEFER_PARTIAL, /* not if the next packet is a TNT again: a return forced this one out
			      */
	MT_PT_DEFER_FULL,
};

struct mt_pt_scan {
	const struct pt_config *config;
	const uint8_t *bytes;
	size_t size;
	size_t offset; /* of the next packet */

	bool in_psb; /* in a PSB+ */
	uint64_t last_ip;
	uint8_t mode; /* the MODE.Exec packet's second byte */
	enum mt_pt_deferral deferral;
	bool fup_is_here; /* where control is: it is of an OVF, or of what an instruction did */
	uint8_t cbr;      /* 0: not known */
	bool has_tsc;
	uint64_t tsc; /* at the last TSC or MTC */
	bool has_ctc; /* the crystal's count is known since the last TMA */
	uint64_t ctc;
	uint64_t base_ctc; /* at the TMA */
	uint64_t base_tsc;
};

enum mt_pt_point_kind {
	MT_PT_POINT_END, /* there is none */
	MT_PT_POINT_PSB,
	MT_PT_POINT_BRANCH, /* control is at the scan's last_ip */
	MT_PT_POINT_ENABLE, /* the same, and tracing began there */
};

/* Begin at a PSB of what was masked (decode_mask.h). */
void mt_pt_scan_start(struct mt_pt_scan *scan, const struct pt_config *config, const uint8_t *bytes,
		      size_t size, size_t psb);
/* Find the first point at FROM or later; branches count only into the code of IMAGE (NULL: none).
 * The scan stands at the PSB, or behind the packet with the address. */
enum mt_pt_point_kind mt_pt_scan_point(struct mt_pt_scan *scan, size_t from,
				       const struct mt_pt_image *image);
/* Go on to the last branch point before LIMIT.  False, and the scan as it was, if there is none. */
bool mt_pt_scan_last_branch(struct mt_pt_scan *scan, size_t limit, const struct mt_pt_image *image);

#define MT_PT_PREFIX_BYTES 64 /* at most */
/* The packets that make a decoder start where SCAN stands.  Returns their size. */
size_t mt_pt_scan_prefix(const struct mt_pt_scan *scan, enum mt_pt_point_kind kind,
			 uint8_t bytes[MT_PT_PREFIX_BYTES]);

#endif
