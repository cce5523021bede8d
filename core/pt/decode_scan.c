/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_scan.h"

#include "pt/packet.h"

void mt_pt_scan_start(struct mt_pt_scan *scan, const struct pt_config *config, const uint8_t *bytes,
		      size_t size, size_t psb)
{
	*scan = (struct mt_pt_scan){
	    .config = config,
	    .bytes = bytes,
	    .size = size,
	    .offset = psb,
	    .mode = {.csl = 1},
	};
}

static bool take_ip(struct mt_pt_scan *scan, const struct pt_packet_ip *packet)
{
	return mt_pt_packet_ip(packet->ipc, packet->ip, &scan->last_ip);
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

/* Returns what the packet says of control. */
static enum mt_pt_point_kind take_packet(struct mt_pt_scan *scan, const struct pt_packet *packet)
{
	bool fup_is_here = scan->fup_is_here;

	switch (packet->type) {
	case ppt_psb:
		scan->last_ip = 0;
		return MT_PT_POINT_PSB;
	case ppt_ovf:
		scan->last_ip = 0;
		scan->fup_is_here = true;
		break;
	case ppt_fup:
		scan->fup_is_here = false;
		return take_ip(scan, &packet->payload.ip) && fup_is_here ? MT_PT_POINT_BRANCH
									 : MT_PT_POINT_END;
	case ppt_tip:
		scan->fup_is_here = false;
		return take_ip(scan, &packet->payload.ip) ? MT_PT_POINT_BRANCH : MT_PT_POINT_END;
	case ppt_tip_pge:
		scan->fup_is_here = false;
		return take_ip(scan, &packet->payload.ip) ? MT_PT_POINT_ENABLE : MT_PT_POINT_END;
	case ppt_tip_pgd:
		scan->fup_is_here = false;
		take_ip(scan, &packet->payload.ip);
		break;
	case ppt_mode:
		if (packet->payload.mode.leaf == pt_mol_exec)
			scan->mode = packet->payload.mode.bits.exec;
		break;
	case ppt_ptw:
		scan->fup_is_here |= packet->payload.ptw.ip;
		break;
	case ppt_cbr:
		scan->cbr = packet->payload.cbr.ratio;
		break;
	case ppt_tsc:
		scan->has_tsc = true;
		scan->has_ctc = false;
		scan->tsc = packet->payload.tsc.tsc;
		break;
	case ppt_tma:
		scan->has_ctc = scan->has_tsc && scan->config->cpuid_0x15_eax;
		scan->ctc = scan->base_ctc = packet->payload.tma.ctc;
		scan->base_tsc = scan->tsc - packet->payload.tma.fc;
		break;
	case ppt_mtc:
		take_mtc(scan, packet->payload.mtc.ctc);
		break;
	default:
		break;
	}
	return MT_PT_POINT_END;
}

static enum mt_pt_deferral deferral_after(const struct mt_pt_scan *scan,
					  const struct pt_packet *packet)
{
	if (scan->config->cpu.vendor != pcv_intel)
		return MT_PT_DEFER_NONE;
	switch (packet->type) {
	case ppt_tnt_8:
		return packet->payload.tnt.bit_size < 6 ? MT_PT_DEFER_PARTIAL : MT_PT_DEFER_FULL;
	case ppt_tnt_64:
		return packet->payload.tnt.bit_size < 47 ? MT_PT_DEFER_PARTIAL : MT_PT_DEFER_FULL;
	case ppt_tip:
	case ppt_pad:
	case ppt_cyc:
	case ppt_mtc:
	case ppt_tsc:
	case ppt_tma:
	case ppt_cbr:
		return scan->deferral;
	default:
		return MT_PT_DEFER_NONE;
	}
}

struct finder {
	struct pt_packet_decoder *packets;
	bool has_candidate; /* good if the next packet is a TNT */
	struct mt_pt_scan candidate;
};

/* One packet further.  Returns a point that is certain. */
static enum mt_pt_point_kind find_step(struct finder *finder, struct mt_pt_scan *scan, size_t from,
				       const struct mt_pt_image *image)
{
	struct pt_packet packet;
	size_t begin = scan->offset;
	int size = pt_pkt_next(finder->packets, &packet, sizeof(packet));

	if (size <= 0) {
		/* Behind bytes that are no packet only the next PSB can be trusted. */
		finder->has_candidate = false;
		scan->offset = mt_pt_find_psb(scan->bytes, scan->size, scan->offset + 1);
		scan->fup_is_here = false;
		if (pt_pkt_sync_set(finder->packets, scan->offset) < 0)
			scan->offset = scan->size;
		return MT_PT_POINT_END;
	}
	scan->offset += (size_t)size;
	bool is_tnt = packet.type == ppt_tnt_8 || packet.type == ppt_tnt_64;
	if (is_tnt && finder->has_candidate) {
		*scan = finder->candidate;
		return MT_PT_POINT_BRANCH;
	}
	enum mt_pt_point_kind kind = take_packet(scan, &packet);
	scan->deferral = deferral_after(scan, &packet);
	if (packet.type != ppt_pad && packet.type != ppt_cyc)
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
	struct pt_config config = mt_pt_libipt_config_of(scan->config, scan->bytes, scan->size);
	struct finder finder = {.packets = pt_pkt_alloc_decoder(&config)};
	enum mt_pt_point_kind kind = MT_PT_POINT_END;

	if (finder.packets && pt_pkt_sync_set(finder.packets, scan->offset) >= 0)
		while (kind == MT_PT_POINT_END && scan->offset < scan->size)
			kind = find_step(&finder, scan, from, image);
	else
		scan->offset = scan->size;
	pt_pkt_free_decoder(finder.packets);
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

static size_t put(struct pt_encoder *encoder, size_t size, const struct pt_packet *packet)
{
	int status = pt_enc_next(encoder, packet);

	return status < 0 ? size : size + (size_t)status;
}

static size_t put_ip(struct pt_encoder *encoder, size_t size, enum pt_packet_type type, uint64_t ip)
{
	struct pt_packet packet = {
	    .type = type,
	    .payload.ip = {.ipc = pt_ipc_full, .ip = ip},
	};

	return put(encoder, size, &packet);
}

static size_t put_mode(struct pt_encoder *encoder, size_t size, struct pt_packet_mode_exec mode)
{
	struct pt_packet packet = {
	    .type = ppt_mode,
	    .payload.mode = {.leaf = pt_mol_exec, .bits.exec = mode},
	};

	return put(encoder, size, &packet);
}

size_t mt_pt_scan_prefix(const struct mt_pt_scan *scan, enum mt_pt_point_kind kind,
			 uint8_t bytes[MT_PT_PREFIX_BYTES])
{
	struct pt_config config = mt_pt_libipt_config_of(scan->config, bytes, MT_PT_PREFIX_BYTES);
	struct pt_packet psb = {.type = ppt_psb};
	struct pt_packet psbend = {.type = ppt_psbend};
	struct pt_packet tsc = {.type = ppt_tsc, .payload.tsc.tsc = scan->tsc & (~0ull >> 8)};
	struct pt_packet tma = {.type = ppt_tma, .payload.tma.ctc = (uint16_t)scan->ctc};
	struct pt_packet cbr = {.type = ppt_cbr, .payload.cbr.ratio = scan->cbr};
	bool branch = kind == MT_PT_POINT_BRANCH;

	struct pt_encoder *encoder = pt_alloc_encoder(&config);
	if (!encoder)
		return 0;
	size_t size = put(encoder, 0, &psb);
	if (scan->has_tsc)
		size = put(encoder, size, &tsc);
	if (scan->has_ctc)
		size = put(encoder, size, &tma);
	if (scan->cbr)
		size = put(encoder, size, &cbr);
	if (branch) {
		size = put_mode(encoder, size, scan->mode);
		size = put_ip(encoder, size, ppt_fup, scan->last_ip);
	}
	size = put(encoder, size, &psbend);
	if (!branch) {
		size = put_mode(encoder, size, scan->mode);
		size = put_ip(encoder, size, ppt_tip_pge, scan->last_ip);
	}
	pt_free_encoder(encoder);
	return size;
}
