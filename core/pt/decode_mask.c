/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_mask.h"

#include <string.h>

#define SKZ84_BYTES 8 /* of the TMA and the byte behind it */

struct walk {
	const struct mt_pt_mask *mask;
	uint8_t *bytes;
	size_t size;
	size_t at;
	struct mt_pt_block block;
	bool in_psb;
	uint8_t *owner; /* of a FUP that may come next; NULL: there is none */
};

static bool is_unknown(const struct mt_pt_packet *packet)
{
	switch (packet->kind) {
	case MT_PT_CFE:
	case MT_PT_EVD:
	case MT_PT_BBP:
	case MT_PT_BIP:
	case MT_PT_BEP:
	case MT_PT_TRIG:
		return true;
	default:
		return false;
	}
}

bool mt_pt_mask_tma(const struct mt_pt_mask *mask, const struct mt_pt_packet *packet,
		    uint8_t *bytes, size_t size)
{
	if (!mask->skz84 || packet->kind != MT_PT_TMA || !mt_pt_packet_is_impossible(packet))
		return false;
	memset(bytes, 0, size < SKZ84_BYTES ? size : SKZ84_BYTES); /* PAD */
	return true;
}

static void mask_packet(struct walk *walk, const struct mt_pt_packet *packet)
{
	uint8_t *at = walk->bytes + walk->at;

	if (is_unknown(packet)) {
		memset(at, 0, packet->size); /* PAD */
		walk->owner = (packet->kind == MT_PT_CFE || packet->kind == MT_PT_BEP ||
			       packet->kind == MT_PT_TRIG) &&
				      packet->count
				  ? at
				  : NULL;
		return;
	}
	if (mt_pt_packet_is_of_time(packet))
		return;
	switch (packet->kind) {
	case MT_PT_MODE_EXEC:
		walk->owner = walk->in_psb ? NULL : at;
		return;
	case MT_PT_FUP:
		if (walk->owner)
			memcpy(walk->owner, "\x02\xe2", 2); /* EXSTOP with an address */
		break;
	case MT_PT_PSB:
		walk->in_psb = true;
		break;
	case MT_PT_PSBEND:
	case MT_PT_OVF:
		walk->in_psb = false;
		break;
	default:
		break;
	}
	walk->owner = NULL;
}

/* To the first bytes that are no packet. */
static void mask_packets(struct walk *walk)
{
	struct mt_pt_packet packet;

	while (mt_pt_packet_decode_in_block(walk->bytes + walk->at, walk->size - walk->at,
					    &walk->block, &packet) > 0) {
		if (mt_pt_mask_tma(walk->mask, &packet, walk->bytes + walk->at,
				   walk->size - walk->at))
			continue;
		mask_packet(walk, &packet);
		walk->at += packet.size;
	}
}

void mt_pt_mask_window(const struct mt_pt_mask *mask, uint8_t *bytes, size_t size)
{
	struct walk walk = {.mask = mask, .bytes = bytes, .size = size};

	while (walk.at < size) {
		mask_packets(&walk);
		walk = (struct walk){.mask = mask, .bytes = bytes, .size = size, .at = walk.at + 1};
		walk.at = mt_pt_find_psb(bytes, size, walk.at);
	}
}

int mt_pt_mask_from(struct mt_pt_mask *mask, uint8_t *bytes, size_t size)
{
	struct walk walk = {.mask = mask, .bytes = bytes, .size = size};
	struct mt_pt_packet packet;

	int packet_size = mt_pt_packet_decode(bytes, size, &packet);
	if (packet_size <= 0 || !is_unknown(&packet))
		return packet_size < 0 ? -1 : 0;
	mask->needed = true;
	mask_packets(&walk);
	return 1;
}
