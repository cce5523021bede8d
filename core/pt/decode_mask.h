/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: packets that libipt 2.0.5 does not know (CFE, EVD, BBP, BIP, BEP, TRIG) become
 * such as say nothing, in place; so does MWAIT, which it gives the next FUP though that is an
 * EXSTOP's, or nobody's to share (SDM vol. 3C, tables of MWAIT and EXSTOP).
 *
 * A FUP behind one of them belongs to it, where libipt would take it for an interrupt's.  It must
 * stay, since later addresses are compressed against it; so the packet before it becomes an EXSTOP
 * with an address, of which nothing comes.  With event trace a MODE.Exec may have a FUP too (the
 * interrupt flag changed: SDM vol. 3C, 33.2.4): our decoder knows, and for libipt that becomes an
 * EXSTOP as well. */
#ifndef MT_PT_DECODE_MASK_H
#define MT_PT_DECODE_MASK_H

#include "pt/packet.h"

struct mt_pt_mask {
	bool needed; /* such packets were seen, or libipt reads */
	bool skz84;  /* TMAs may be corrupted, and a byte that is no packet follow */
	bool skd007; /* a CYC may be cut short by an OVF, whose first byte is then its second */
	bool for_libipt;
};

/* Whether PACKET, before what stands from BEHIND up to END, is but one byte of a CYC (SKD007). */
static inline bool mt_pt_cyc_is_cut(const struct mt_pt_packet *packet, const uint8_t *behind,
				    const uint8_t *end)
{
	return packet->kind == MT_PT_CYC && packet->size == 2 &&
	       (packet->payload & ~UINT64_C(0x1f)) == 0x20 && behind < end && *behind == 0xf3;
}

/* BYTES begin with a PSB. */
void mt_pt_mask_window(const struct mt_pt_mask *mask, uint8_t *bytes, size_t size);
/* SKZ84 of those at BYTES, the first of which is PACKET: in a virtual machine whose TSC is not the
 * processor's a TMA has bits set that are reserved.  False: it is none of those. */
bool mt_pt_mask_tma(const struct mt_pt_mask *mask, const struct mt_pt_packet *packet,
		    uint8_t *bytes, size_t size);
/* Whether the FUP that comes next belongs to the MODE.Exec in front of BYTES, which is in no PSB+.
 */
bool mt_pt_mode_has_fup(const struct mt_pt_mask *mask, const uint8_t *bytes, size_t size);
/* BYTES begin with a packet that says nothing: overwrite it and what follows it.  Returns 1; 0: it
 * is none of those; -1: it is cut off. */
int mt_pt_mask_from(struct mt_pt_mask *mask, uint8_t *bytes, size_t size);

#endif
