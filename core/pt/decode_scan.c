/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_scan.h"

#include <endian.h>
#include <string.h>

enum { MODE_64 = 0x01 }; /* MODE.Exec: CS.L (SDM 33.4.2.8) */

void mt_pt_scan_start(struct mt_pt_scan *scan, const struct pt_config *config, const uint8_t *bytes,
		      size_t size, size_t psb)
{
	*scan = (struct mt_pt_scan){
	    .config = config,
	    .bytes = bytes,
	    .size = size,
	    .offset = psb,
	    .mode = MODE_64,
	};
}

static bool take_ip(struct mt_pt_scan *scan, const struct mt_pt_packet *packet)
{
	return mt_pt_packet_ip(packet->count, packet->payload, &scan->last_ip);
}

static void take_mtc(struct mt_pt_scan *scan, uint8_t mtc)
{
	if (!scan->has_ctc)
		return;

	uint64_t count = scan->ctc >> scan->config->mtc_freq;
	uint64_t ctc = (count + (uint8_t)(mtc - count)) << scan->config->mtc_freq;
	if (ctc < scan->base_ctc)
		return;
	scan->ctc = ctc;
	scan->tsc = scan->base_tsc + (ctc - scan->base_ctc) * scan->config->cpuid_0x15_ebx /
					 scan->config->cpuid_0x15_eax;
}

static bool mode_has_fup(const struct mt_pt_scan *scan)
{
	return mt_pt_mode_has_fup(scan->config->decode.context, scan->bytes + scan->offset,
				  scan->size - scan->offset);
}

/* Returns what the packet says of control. */
static enum mt_pt_point_kind take_packet(struct mt_pt_scan *scan, const struct mt_pt_packet *packet)
{
	bool fup_is_here = scan->fup_is_here;

	scan->in_psb = mt_pt_packet_leaves_in_psb(packet, scan->in_psb);
	switch (packet->kind) {
	case MT_PT_PSB:
		scan->last_ip = 0;
		return MT_PT_POINT_PSB;
	case MT_PT_OVF:
		scan->last_ip = 0;
		scan->fup_is_here = true;
		break;
	case MT_PT_FUP:
		scan->fup_is_here = false;
		return take_ip(scan, packet) && fup_is_here ? MT_PT_POINT_BRANCH : MT_PT_POINT_END;
	case MT_PT_TIP:
		scan->fup_is_here = false;
		return take_ip(scan, packet) ? MT_PT_POINT_BRANCH : MT_PT_POINT_END;
	case MT_PT_TIP_PGE:
		scan->fup_is_here = false;
		return take_ip(scan, packet) ? MT_PT_POINT_ENABLE : MT_PT_POINT_END;
	case MT_PT_TIP_PGD:
		scan->fup_is_here = false;
		take_ip(scan, packet);
		break;
	case MT_PT_MODE_EXEC:
		if (scan->in_psb || !mode_has_fup(scan))
			scan->mode = (uint8_t)packet->payload;
		break;
	case MT_PT_PTWRITE:
		scan->fup_is_here |= packet->count != 0;
		break;
	case MT_PT_CBR:
		scan->cbr = (uint8_t)packet->payload;
		break;
	case MT_PT_TSC:
		scan->has_tsc = true;
		scan->has_ctc = false;
		scan->tsc = packet->payload;
		break;
	case MT_PT_TMA:
		scan->has_ctc = scan->has_tsc && scan->config->cpuid_0x15_eax;
		scan->ctc = scan->base_ctc = (uint16_t)packet->payload;
		scan->base_tsc = scan->tsc - (packet->payload >> 24 & 0x1ff);
		break;
	case MT_PT_MTC:
		take_mtc(scan, (uint8_t)packet->payload);
		break;
	default:
		break;
	}
	return MT_PT_POINT_END;
}

static enum mt_pt_deferral deferral_after(const struct mt_pt_scan *scan,
					  const struct mt_pt_packet *packet)
{
	if (scan->config->cpu.vendor != pcv_intel)
		return MT_PT_DEFER_NONE;
	/* A short TNT has up to 6 bits, a long one up to 47. */
	if (packet->kind == MT_PT_TNT)
		return packet->count == (packet->size == 1 ? 6 : 47) ? MT_PT_DEFER_FULL
								     : MT_PT_DEFER_PARTIAL;
	return packet->kind == MT_PT_TIP || mt_pt_packet_is_of_time(packet) ? scan->deferral
									    : MT_PT_DEFER_NONE;
}

struct finder {
	struct mt_pt_block block;
	bool has_candidate; /* good if the next packet is a TNT */
	struct mt_pt_scan candidate;
};

/* One packet further.  Returns a point that is certain. */
static enum mt_pt_point_kind find_step(struct finder *finder, struct mt_pt_scan *scan, size_t from,
				       const struct mt_pt_image *image)
{
	struct mt_pt_packet packet;
	size_t begin = scan->offset;
	int size = mt_pt_packet_decode_in_block(scan->bytes + begin, scan->size - begin,
						&finder->block, &packet);

	if (size <= 0 || mt_pt_packet_is_impossible(&packet)) {
		/* Behind bytes that are no packet only the next PSB can be trusted. */
		*finder = (struct finder){0};
		scan->offset = mt_pt_find_psb(scan->bytes, scan->size, begin + 1);
		scan->fup_is_here = false;
		return MT_PT_POINT_END;
	}
	scan->offset += (size_t)size;
	if (packet.kind == MT_PT_TNT && finder->has_candidate) {
		*scan = finder->candidate;
		return MT_PT_POINT_BRANCH;
	}
	enum mt_pt_point_kind kind = take_packet(scan, &packet);
	scan->deferral = deferral_after(scan, &packet);
	if (packet.kind != MT_PT_PAD && packet.kind != MT_PT_CYC)
		finder->has_candidate = false;
	if (begin < from ||
	    (kind == MT_PT_POINT_BRANCH && (!image || !mt_pt_image_has(image, scan->last_ip))))
		return MT_PT_POINT_END;
	if (kind == MT_PT_POINT_PSB)
		scan->offset = begin;
	if (kind != MT_PT_POINT_BRANCH || scan->deferral == MT_PT_DEFER_NONE)
		return kind;
	finder->has_candidate = scan->deferral == MT_PT_DEFER_PARTIAL;
	finder->candidate = *scan;
	return MT_PT_POINT_END;
}

enum mt_pt_point_kind mt_pt_scan_point(struct mt_pt_scan *scan, size_t from,
				       const struct mt_pt_image *image)
{
	struct finder finder = {0};
	enum mt_pt_point_kind kind = MT_PT_POINT_END;

	while (kind == MT_PT_POINT_END && scan->offset < scan->size)
		kind = find_step(&finder, scan, from, image);
	return kind;
}

bool mt_pt_scan_last_branch(struct mt_pt_scan *scan, size_t limit, const struct mt_pt_image *image)
{
	size_t size = scan->size;
	struct mt_pt_scan walk = *scan;
	bool found = false;

	walk.size = limit;
	while (walk.offset < limit) {
		enum mt_pt_point_kind kind = mt_pt_scan_point(&walk, walk.offset, image);

		if (kind == MT_PT_POINT_PSB)
			break;
		if (kind != MT_PT_POINT_BRANCH)
			continue;
		*scan = walk;
		found = true;
	}
	scan->size = size;
	return found;
}

/* A packet of SIZE bytes: its opcode and, behind that, PAYLOAD. */
static uint8_t *put(uint8_t *at, uint64_t opcode, unsigned int opcode_bytes, uint64_t payload,
		    size_t size)
{
	const uint64_t little[] = {htole64(opcode), htole64(payload)};

	memcpy(at, &little[0], opcode_bytes);
	memcpy(at + opcode_bytes, &little[1], size - opcode_bytes);
	return at + size;
}

static uint8_t *put_psb(uint8_t *at)
{
	for (int i = 0; i < MT_PT_PSB_BYTES / 2; i++)
		at = put(at, 0x8202, 2, 0, 2);
	return at;
}

/* With all 64 bits of the address. */
static uint8_t *put_ip(uint8_t *at, uint8_t opcode, uint64_t ip)
{
	return put(at, 6u << 5 | opcode, 1, ip, 9);
}

size_t mt_pt_scan_prefix(const struct mt_pt_scan *scan, enum mt_pt_point_kind kind,
			 uint8_t bytes[MT_PT_PREFIX_BYTES])
{
	const bool branch = kind == MT_PT_POINT_BRANCH;
	uint8_t *at = put_psb(bytes);

	if (scan->has_tsc)
		at = put(at, 0x19, 1, scan->tsc, 8);
	if (scan->has_ctc)
		at = put(at, 0x7302, 2, (uint16_t)scan->ctc, 7); /* TMA */
	if (scan->cbr)
		at = put(at, 0x0302, 2, scan->cbr, 4);
	if (branch) {
		at = put(at, 0x99, 1, scan->mode, 2);
		at = put_ip(at, 0x1d, scan->last_ip); /* FUP */
	}
	at = put(at, 0x2302, 2, 0, 2); /* PSBEND */
	if (!branch) {
		at = put(at, 0x99, 1, scan->mode, 2);
		at = put_ip(at, 0x11, scan->last_ip); /* TIP.PGE */
	}
	return (size_t)(at - bytes);
}
