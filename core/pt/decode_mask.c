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

static bool says_nothing(const struct mt_pt_packet *packet)
{
	return packet->kind >= MT_PT_MWAIT;
}

static bool has_own_fup(const struct mt_pt_packet *packet)
{
	return packet->count && (packet->kind == MT_PT_CFE || packet->kind == MT_PT_BEP ||
				 packet->kind == MT_PT_TRIG);
}

static bool is_corrupted_tma(const struct mt_pt_mask *mask, const struct mt_pt_packet *packet)
{
	return mask->skz84 && packet->kind == MT_PT_TMA && mt_pt_packet_is_impossible(packet);
}

bool mt_pt_mask_tma(const struct mt_pt_mask *mask, const struct mt_pt_packet *packet,
		    uint8_t *bytes, size_t size)
{
	if (!is_corrupted_tma(mask, packet))
		return false;
	memset(bytes, 0, size < SKZ84_BYTES ? size : SKZ84_BYTES); /* PAD */
	return true;
}

/* Behind a MODE.Exec. */
static bool finds_fup(const struct mt_pt_mask *mask, struct mt_pt_block block, const uint8_t *bytes,
		      size_t size)
{
	struct mt_pt_packet packet;
	int step;

	while ((step = mt_pt_packet_decode_in_block(bytes, size, &block, &packet)) > 0) {
		if (is_corrupted_tma(mask, &packet))
			step = size < SKZ84_BYTES ? (int)size : SKZ84_BYTES;
		else if (packet.kind == MT_PT_FUP)
			return true;
		else if (mt_pt_packet_is_impossible(&packet) || packet.kind == MT_PT_CFE ||
			 has_own_fup(&packet) ||
			 !(says_nothing(&packet) || mt_pt_packet_is_of_time(&packet)))
			return false;
		bytes += step;
		size -= (size_t)step;
	}
	return false;
}

bool mt_pt_mode_has_fup(const struct mt_pt_mask *mask, const uint8_t *bytes, size_t size)
{
	return finds_fup(mask, (struct mt_pt_block){0}, bytes, size);
}

/* IP: 0x80 if an address comes with it. */
static void put_exstop(uint8_t *at, uint8_t ip)
{
	at[0] = 0x02;
	at[1] = 0x62 | ip;
}

static void mask_silent(struct walk *walk, const struct mt_pt_packet *packet)
{
	uint8_t *at = walk->bytes + walk->at;

	memset(at, 0, packet->size); /* PAD */
	if (has_own_fup(packet)) {
		walk->owner = at;
	} else if (packet->kind == MT_PT_CFE) {
		/* The FUP behind it begins an event, and is not that of a MODE.Exec before it. */
		put_exstop(at, 0);
		walk->owner = NULL;
		walk->in_psb = false;
	}
}

static void mask_packet(struct walk *walk, const struct mt_pt_packet *packet)
{
	uint8_t *at = walk->bytes + walk->at;
	uint8_t *owner = packet->kind == MT_PT_FUP ? walk->owner : NULL;

	if (says_nothing(packet)) {
		mask_silent(walk, packet);
		return;
	}
	if (mt_pt_packet_is_of_time(packet))
		return;
	if (packet->kind == MT_PT_MODE_EXEC && walk->mask->for_libipt && !walk->in_psb &&
	    finds_fup(walk->mask, walk->block, at + packet->size,
		      walk->size - walk->at - packet->size))
		owner = at;
	if (owner)
		put_exstop(owner, 0x80);
	walk->in_psb = !owner && mt_pt_packet_leaves_in_psb(packet, walk->in_psb);
	walk->owner = NULL;
}

/* To the first bytes that are no packet, or none that a processor writes. */
static void mask_packets(struct walk *walk)
{
	struct mt_pt_packet packet;

	while (mt_pt_packet_decode_in_block(walk->bytes + walk->at, walk->size - walk->at,
					    &walk->block, &packet) > 0) {
		if (mt_pt_mask_tma(walk->mask, &packet, walk->bytes + walk->at,
				   walk->size - walk->at))
			continue;
		if (mt_pt_packet_is_impossible(&packet))
			break;
		mask_packet(walk, &packet);
		bool is_cut = walk->mask->skd007 &&
			      mt_pt_cyc_is_cut(&packet, walk->bytes + walk->at + packet.size,
					       walk->bytes + walk->size);
		walk->at += is_cut ? 1 : packet.size;
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
	if (packet_size <= 0 || !says_nothing(&packet))
		return packet_size < 0 ? -1 : 0;
	mask->needed = true;
	walk.in_psb = true; /* it may be: a MODE.Exec's FUP is left to who reads it */
	mask_packets(&walk);
	return 1;
}
