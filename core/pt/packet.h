/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intel PT packets one by one, for `mtdb dump`, statistics and tests: what stands in the bytes,
 * without following the program.  Source: Intel SDM vol. 3C, ch. 33.4, "Packet definitions". */
#ifndef MT_PT_PACKET_H
#define MT_PT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_pt_packet_kind {
	MT_PT_PAD,
	MT_PT_TNT, /* short and long */
	MT_PT_TIP,
	MT_PT_TIP_PGE,
	MT_PT_TIP_PGD,
	MT_PT_FUP,
	MT_PT_PIP,
	MT_PT_MODE_EXEC,
	MT_PT_MODE_TSX,
	MT_PT_TRACESTOP,
	MT_PT_CBR,
	MT_PT_TSC,
	MT_PT_MTC,
	MT_PT_TMA,
	MT_PT_CYC,
	MT_PT_VMCS,
	MT_PT_OVF,
	MT_PT_PSB,
	MT_PT_PSBEND,
	MT_PT_MNT,
	MT_PT_PTWRITE,
	MT_PT_EXSTOP,
	MT_PT_PWRE,
	MT_PT_PWRX,
	/* From here on none says anything to a decoder: decode_mask.h. */
	MT_PT_MWAIT,
	MT_PT_BBP,
	MT_PT_BIP,
	MT_PT_BEP,
	MT_PT_CFE,
	MT_PT_EVD,
	MT_PT_TRIG,
	MT_PT_PACKET_KINDS
};

struct mt_pt_packet {
	const char *name; /* "TNT", "TIP.PGE", "PSB" …: static */
	uint8_t kind;     /* enum mt_pt_packet_kind */
	uint8_t size;     /* bytes; 0: not decodable here */
	uint8_t count;    /* TNT: number of bits; IP packets: IPBytes; BIP: its ID; EVD: its type;
			   * PTWRITE, EXSTOP, BEP, CFE, TRIG: 1 when a FUP with the IP follows */
	uint64_t payload; /* TNT: the oldest bit is the highest of `count`; IP: as it stands, before
			   * the last IP completes it; TSC, MTC, CYC …: the number; all others: the
			   * bytes behind the opcode, little-endian */
};

/* Decode the packet at BYTES.  Returns its size, 0 when the bytes are no packet, -1 when it is cut
 * off at the end. */
int mt_pt_packet_decode(const uint8_t *bytes, size_t size, struct mt_pt_packet *out);

/* Of the time, or nothing at all (PAD): control goes on as if it were not there. */
static inline bool mt_pt_packet_is_of_time(const struct mt_pt_packet *packet)
{
	return packet->kind == MT_PT_PAD ||
	       (packet->kind >= MT_PT_CBR && packet->kind <= MT_PT_CYC);
}

/* Whether a PSB+, up to its PSBEND, goes on behind PACKET, which is in one or not, or begins it. */
static inline bool mt_pt_packet_leaves_in_psb(const struct mt_pt_packet *packet, bool in_psb)
{
	switch (packet->kind) {
	case MT_PT_PSB:
		return true;
	case MT_PT_FUP:
	case MT_PT_PIP:
	case MT_PT_MODE_EXEC:
	case MT_PT_MODE_TSX:
	case MT_PT_VMCS:
	case MT_PT_MNT:
		return in_psb;
	default:
		return in_psb && mt_pt_packet_is_of_time(packet);
	}
}

/* It can be read, and no processor writes it: a CYC of too many bytes, a TMA with reserved bits. */
bool mt_pt_packet_is_impossible(const struct mt_pt_packet *packet);

/* Between BBP and BEP (blocks of PEBS data) the byte of a TNT may be a BIP: a reader that wants to
 * see them keeps this from packet to packet.  Zero in the beginning and after a jump to a PSB. */
struct mt_pt_block {
	uint8_t item_bytes; /* 4 or 8; 0: not in a block */
};
int mt_pt_packet_decode_in_block(const uint8_t *bytes, size_t size, struct mt_pt_block *block,
				 struct mt_pt_packet *out);

/* The address of an IP packet, whose IPBytes and payload these are, completed by the last one (IP
 * compression: SDM table 33-19).  False: it has none, and *last_ip stays. */
bool mt_pt_packet_ip(unsigned int ip_bytes, uint64_t payload, uint64_t *last_ip);

/* "TIP.PGE 0x401000", "TNT TTN (3)". */
void mt_pt_packet_format(const struct mt_pt_packet *packet, char *text, size_t text_size);
/* Offset of the first PSB at or after FROM; SIZE if there is none. */
size_t mt_pt_find_psb(const uint8_t *bytes, size_t size, size_t from);
/* Offset of the last PSB; SIZE if there is none. */
size_t mt_pt_find_last_psb(const uint8_t *bytes, size_t size);

#endif
