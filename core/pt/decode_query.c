/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_query.h"

#include <endian.h>
#include <string.h>

#define MWAIT_BYTES 10

/* ---- packets ---- */

static bool begins_psb(const struct mt_pt_query *query, const uint8_t *at)
{
	return query->end - at > 1 && at[0] == 0x02 && at[1] == 0x82;
}

int mt_pt_query_packet(const struct mt_pt_query *query, const uint8_t *at,
		       struct mt_pt_packet *packet)
{
	size_t offset = (size_t)(at - query->config.begin), left = (size_t)(query->end - at);
	int size = mt_pt_packet_decode(at, left, packet);

	if (size > 0 && packet->kind >= MT_PT_MWAIT)
		return mt_pt_mask_from(query->config.decode.context, query->config.begin + offset,
				       left) > 0
			   ? 0
			   : -pte_bad_packet;
	if (size > 0 && mt_pt_packet_is_impossible(packet)) {
		if (!mt_pt_mask_tma(query->config.decode.context, packet,
				    query->config.begin + offset, left))
			return -pte_bad_packet;
		size = mt_pt_packet_decode(at, left, packet);
	}
	if (size > 0)
		return size;
	/* What begins as a PSB at the very end is taken for one that is cut off. */
	return size < 0 || (left < MT_PT_PSB_BYTES && begins_psb(query, at)) ? -pte_eos
									     : -pte_bad_packet;
}

int mt_pt_query_take_time(struct mt_pt_clock *clock, const struct mt_pt_packet *packet, bool in_psb)
{
	uint64_t payload = packet->payload;
	int status = 0;

	switch (packet->kind) {
	case MT_PT_TSC:
		mt_pt_clock_tsc(clock, payload, in_psb);
		break;
	case MT_PT_TMA:
		status = mt_pt_clock_tma(clock, (uint16_t)payload, payload >> 24 & 0x1ff);
		break;
	case MT_PT_MTC:
		mt_pt_clock_mtc(clock, (uint8_t)payload);
		break;
	case MT_PT_CYC:
		mt_pt_clock_cyc(clock, payload);
		break;
	case MT_PT_CBR:
		status = mt_pt_clock_cbr(clock, (uint8_t)payload, in_psb);
		break;
	default:
		break;
	}
	return status ? -pte_bad_packet : 0;
}

bool mt_pt_query_take_ip(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	bool has_ip = mt_pt_packet_ip(packet->count, packet->payload, &query->last_ip);

	query->ip_suppressed = !has_ip;
	query->has_ip |= has_ip;
	return has_ip;
}

/* ---- reading ---- */

/* Whether the packet at `at` is one that has to wait for a question, by its first bytes. */
static enum mt_pt_ahead look(const struct mt_pt_query *query)
{
	uint8_t first = query->at[0];
	bool has_second = query->at + 1 < query->end;
	bool tip = mt_pt_query_waits(query, MT_PT_WITH_TIP),
	     fup = mt_pt_query_waits(query, MT_PT_WITH_FUP);

	if (first == 0x02) {
		switch (has_second ? query->at[1] : 0) {
		case 0xa3:
			return MT_PT_AHEAD_TNT;
		case 0x23: /* PSBEND */
			return mt_pt_query_waits(query, MT_PT_WITH_PSBEND) ? MT_PT_AHEAD_EVENT
									   : MT_PT_AHEAD_NONE;
		case 0x03: /* CBR */
		case 0x43: /* PIP */
		case 0xf3: /* OVF */
		case 0x83: /* TraceStop */
		case 0xc8: /* VMCS */
		case 0x62: /* EXSTOP */
		case 0xe2:
		case 0x22: /* PWRE */
		case 0xa2: /* PWRX */
		case 0x12: /* PTWRITE, of any size */
		case 0x32:
		case 0x52:
		case 0x72:
		case 0x92:
		case 0xb2:
		case 0xd2:
		case 0xf2:
			return MT_PT_AHEAD_EVENT;
		case 0xc2: /* MWAIT; a whole one is passed over */
			return query->end - query->at < MWAIT_BYTES ? MT_PT_AHEAD_EVENT
								    : MT_PT_AHEAD_NONE;
		case 0xc3: /* MNT */
			return query->end - query->at > 2 && query->at[2] == 0x88
				   ? MT_PT_AHEAD_EVENT
				   : MT_PT_AHEAD_NONE;
		default:
			return MT_PT_AHEAD_NONE;
		}
	}
	if (first == 0x99) /* MODE */
		return MT_PT_AHEAD_EVENT;
	switch (first & 0x1f) {
	case 0x0d: /* TIP */
		return tip ? MT_PT_AHEAD_EVENT : MT_PT_AHEAD_TIP;
	case 0x01: /* TIP.PGD */
	case 0x11: /* TIP.PGE */
		return MT_PT_AHEAD_EVENT;
	case 0x1d: /* FUP */
		return fup ? MT_PT_AHEAD_EVENT : MT_PT_AHEAD_NONE;
	default:
		return MT_PT_AHEAD_NONE;
	}
}

static inline int stand(struct mt_pt_query *query, enum mt_pt_ahead ahead, int error)
{
	query->ahead = (uint8_t)ahead;
	query->ahead_error = error;
	query->behind = ahead == MT_PT_AHEAD_EVENT ? pts_event_pending
			: error == -pte_eos        ? pts_eos
						   : 0;
	return error;
}

static inline bool begins_short_tnt(uint8_t first)
{
	return !(first & 1) && first > 2;
}

/* To the next packet that waits for a question.  Returns 0, or an error. */
static int read_ahead(struct mt_pt_query *query)
{
	while (query->at < query->end) {
		uint8_t first = *query->at;
		enum mt_pt_ahead ahead = MT_PT_AHEAD_NONE;

		if (begins_short_tnt(first))
			return stand(query, MT_PT_AHEAD_TNT, 0);
		if (!first) { /* PAD */
			query->at++;
			continue;
		}
		if ((first & 7) == 3) { /* a short CYC */
			query->at++;
			mt_pt_clock_cyc(&query->clock, first >> 3);
			continue;
		}
		if (query->end - query->at > 1) {
			uint8_t second = query->at[1];

			if (first == 0x59) { /* MTC */
				query->at += 2;
				mt_pt_clock_mtc(&query->clock, second);
				continue;
			}
			/* A CYC of two bytes, as it stands where no erratum cuts it short. */
			if ((first & 7) == 7 && !(second & 1) && !query->config.errata.skd007) {
				query->at += 2;
				mt_pt_clock_cyc(&query->clock, first >> 3 | (uint64_t)(second >> 1)
										<< 5);
				continue;
			}
		}
		ahead = look(query);
		if (ahead != MT_PT_AHEAD_NONE)
			return stand(query, ahead, 0);
		int status = mt_pt_query_take(query);
		/* What is cut off is passed over, if its opcode is there. */
		if (status == -pte_eos && (first != 0x02 || query->end - query->at > 1))
			query->at = query->end;
		if (status)
			return stand(query, MT_PT_AHEAD_NONE, status);
	}
	return stand(query, MT_PT_AHEAD_NONE, -pte_eos);
}

/* An answer was found: what it is worth is known once the next packet is. */
static inline int answer(struct mt_pt_query *query)
{
	query->has_tsc = query->clock.has_tsc;
	query->tsc = query->clock.tsc;
	if (query->at < query->end && begins_short_tnt(*query->at))
		return stand(query, MT_PT_AHEAD_TNT, 0);

	int status = read_ahead(query);
	return status == -pte_eos ? 0 : status;
}

/* ---- questions ---- */

/* libipt's answer has a time of its own. */
static int answer_by_libipt(struct mt_pt_query *query, int status)
{
	query->has_tsc = pt_qry_time(query->libipt, &query->tsc, NULL, NULL) >= 0;
	return status;
}

int mt_pt_query_open(struct mt_pt_query *query, const struct pt_config *config, bool by_libipt)
{
	*query = (struct mt_pt_query){
	    .config = *config,
	    .at = config->begin,
	    .end = config->end,
	    .clock = {.numerator = config->cpuid_0x15_ebx,
		      .denominator = config->cpuid_0x15_eax,
		      .mtc_shift = config->mtc_freq,
		      .nominal = config->nom_freq},
	};
	if (!by_libipt)
		return 0;
	query->libipt = pt_qry_alloc_decoder(&query->config);
	return query->libipt ? 0 : -1;
}

void mt_pt_query_close(struct mt_pt_query *query)
{
	pt_qry_free_decoder(query->libipt);
	query->libipt = NULL;
}

int mt_pt_query_sync(struct mt_pt_query *query, uint64_t *ip)
{
	int status;

	*ip = 0;
	if (query->libipt)
		return answer_by_libipt(query, pt_qry_sync_set(query->libipt, ip, 0));
	if (!begins_psb(query, query->at))
		return -pte_nosync;
	status = mt_pt_query_take(query);
	if (status < 0)
		return status;

	bool has_ip = query->has_ip && !query->ip_suppressed;
	*ip = query->last_ip;
	status = read_ahead(query);
	if (status < 0)
		return status;
	if (!has_ip) {
		has_ip = query->has_ip && !query->ip_suppressed;
		*ip = has_ip ? query->last_ip : 0;
	}
	return query->behind | (has_ip ? 0 : pts_ip_suppressed);
}

static int read_bit_by_libipt(struct mt_pt_query *query)
{
	int taken = 0, status = pt_qry_cond_branch(query->libipt, &taken);

	if (status >= 0) {
		query->tnt = (uint64_t)taken << 63;
		query->tnt_left = 1;
		query->behind = status;
	}
	return answer_by_libipt(query, status < 0 ? status : 0);
}

int mt_pt_query_read_tnt(struct mt_pt_query *query)
{
	uint64_t bits = query->at < query->end ? *query->at >> 1 : 0;
	int size = 1;

	if (query->libipt)
		return read_bit_by_libipt(query);
	if (query->ahead == MT_PT_AHEAD_NONE)
		return query->ahead_error;
	if (query->ahead != MT_PT_AHEAD_TNT)
		return -pte_bad_query;
	if (bits == 1) { /* long: six bytes behind its opcode */
		size = 8;
		if (query->end - query->at < size)
			return -pte_eos;
		memcpy(&bits, query->at, sizeof(bits));
		bits = le64toh(bits) >> 16;
	}
	if (bits < 2)
		return -pte_bad_packet;
	query->tnt_left = 63 - (uint32_t)__builtin_clzll(bits);
	query->tnt = bits << (64 - query->tnt_left);
	query->at += size;
	return answer(query);
}

/* The TIP at `at`, which has an address.  False: it has not, or is near the end. */
static bool take_whole_tip(struct mt_pt_query *query)
{
	/* By IPBytes (SDM table 33-19); 0: what is left to others. */
	static const uint8_t sizes[8] = {[1] = 2, [2] = 4, [3] = 6, [4] = 6, [6] = 8};
	const unsigned int ip_bytes = *query->at >> 5, size = sizes[ip_bytes];
	uint64_t payload;

	if (!size || query->end - query->at <= (ptrdiff_t)sizeof(payload))
		return false;
	memcpy(&payload, query->at + 1, sizeof(payload));
	payload = le64toh(payload) & ~UINT64_C(0) >> (64 - 8 * size);
	mt_pt_packet_ip(ip_bytes, payload, &query->last_ip);
	query->ip_suppressed = false;
	query->has_ip = true;
	query->at += 1 + size;
	return true;
}

static int take_any_tip(struct mt_pt_query *query)
{
	struct mt_pt_packet packet;
	int size = mt_pt_query_packet(query, query->at, &packet);

	if (size < 0)
		return size;
	query->at += packet.size;
	return mt_pt_query_take_ip(query, &packet) ? 0 : pts_ip_suppressed;
}

int mt_pt_query_indirect(struct mt_pt_query *query, uint64_t *to)
{
	int status, flags = 0;

	if (query->libipt)
		return answer_by_libipt(query, pt_qry_indirect_branch(query->libipt, to));
	/* Bits of a TNT before it may be of branches to come: the TIP was not put off. */
	if (query->ahead == MT_PT_AHEAD_TNT && !query->tnt_left) {
		status = mt_pt_query_read_tnt(query);
		if (status < 0)
			return status;
	}
	if (query->ahead == MT_PT_AHEAD_NONE)
		return query->ahead_error;
	if (query->ahead != MT_PT_AHEAD_TIP)
		return -pte_bad_query;
	if (!take_whole_tip(query))
		flags = take_any_tip(query);
	if (flags < 0)
		return flags;
	*to = query->last_ip;
	status = answer(query);
	if (status < 0)
		return status;
	return flags | (query->tnt_left ? 0 : query->behind);
}

int mt_pt_query_event(struct mt_pt_query *query, struct pt_event *event)
{
	int status;

	if (query->libipt)
		return answer_by_libipt(query, pt_qry_event(query->libipt, event, sizeof(*event)));
	if (query->tnt_left)
		return -pte_bad_query;
	query->has_event = false;
	for (;;) {
		if (query->ahead == MT_PT_AHEAD_NONE)
			return query->ahead_error;
		if (query->ahead != MT_PT_AHEAD_EVENT)
			return -pte_bad_query;
		status = mt_pt_query_take(query);
		if (status < 0)
			return status;
		if (query->has_event)
			break;
		status = read_ahead(query);
		if (status < 0)
			return status;
	}
	*event = query->event;
	status = answer(query);
	return status < 0 ? status : query->behind;
}

size_t mt_pt_query_offset(const struct mt_pt_query *query)
{
	uint64_t offset = 0;

	if (!query->libipt)
		return (size_t)(query->at - query->config.begin);
	return pt_qry_get_offset(query->libipt, &offset) < 0 ? 0 : (size_t)offset;
}

int mt_pt_position_at_psb(const struct pt_config *config, const uint8_t *bytes, size_t size,
			  size_t offset, struct mt_pt_position *out)
{
	struct pt_config own = mt_pt_libipt_config_of(config, bytes + offset, size - offset);
	struct mt_pt_query query;
	int status;

	mt_pt_query_open(&query, &own, false);
	status = mt_pt_query_sync(&query, &out->ip);
	out->tracing = status >= 0 && !(status & pts_ip_suppressed);
	out->has_tsc = query.clock.has_tsc;
	out->tsc = query.clock.tsc;
	return status < 0 ? -1 : 0;
}
