/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intel PT packets one by one, for `mtdb dump`, statistics and tests: what stands in the bytes,
 * without following the program.  Source: Intel SDM vol. 3C, ch. 33.4, "Packet definitions". */
#ifndef MT_PT_PACKET_H
#define MT_PT_PACKET_H

#include <stddef.h>
#include <stdint.h>

struct mt_pt_packet {
	const char *name; /* "TNT", "TIP.PGE", "PSB" …: static */
	uint8_t size;     /* bytes; 0: not decodable here */
	uint8_t count;    /* TNT: number of bits; IP packets: IPBytes */
	uint64_t payload; /* TNT: the oldest bit is the highest of `count`; IP: as it stands, before
			   * the last IP completes it; TSC, MTC, CYC …: the number */
};

/* Decode the packet at BYTES.  Returns its size, 0 when the bytes are no packet, -1 when it is cut
 * off at the end. */
int mt_pt_packet_decode(const uint8_t *bytes, size_t size, struct mt_pt_packet *out);
/* "TIP.PGE 0x401000", "TNT TTN (3)". */
void mt_pt_packet_format(const struct mt_pt_packet *packet, char *text, size_t text_size);
/* Offset of the first PSB at or after FROM; SIZE if there is none. */
size_t mt_pt_find_psb(const uint8_t *bytes, size_t size, size_t from);
/* Offset of the last PSB; SIZE if there is none. */
size_t mt_pt_find_last_psb(const uint8_t *bytes, size_t size);

#endif
