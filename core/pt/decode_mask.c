/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_mask.h"

#include "pt/packet.h"

#include <string.h>

struct walk {
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
	switch (packet->kind) {
	case MT_PT_PAD:
	case MT_PT_CYC:
	case MT_PT_MTC:
	case MT_PT_TSC:
	case MT_PT_TMA:
	case MT_PT_CBR:
		return;
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
		mask_packet(walk, &packet);
		walk->at += packet.size;
	}
}

void mt_pt_mask_window(uint8_t *bytes, size_t size)
{
	struct walk walk = {.bytes = bytes, .size = size};

	while (walk.at < size) {
		mask_packets(&walk);
		walk = (struct walk){.bytes = bytes, .size = size, .at = walk.at + 1};
		walk.at = mt_pt_find_psb(bytes, size, walk.at);
	}
}

int mt_pt_mask_from(struct mt_pt_mask *mask, uint8_t *bytes, size_t size)
{
	struct walk walk = {.bytes = bytes, .size = size};
	struct mt_pt_packet packet;

	int packet_size = mt_pt_packet_decode(bytes, size, &packet);
	if (packet_size <= 0 || !is_unknown(&packet))
		return packet_size < 0 ? -1 : 0;
	mask->needed = true;
	mask_packets(&walk);
	return 1;
}
