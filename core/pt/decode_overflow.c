/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where decoding goes on behind an OVF: the processor's buffer was full, and what it lost nobody
 * knows.  A FUP says where control is if tracing is on by then; if it is off, a TIP.PGE will.
 * Errata make both look otherwise (Intel's specification updates). */
#include "pt/decode_query.h"

/* Packets ahead, with the time that goes on over them. */
struct walk {
	const struct mt_pt_query *query;
	const uint8_t *at, *next;
	struct mt_pt_clock clock; /* at `next` */
	bool is_timed;            /* decoding goes on with that clock: no time may be wrong */
	struct mt_pt_packet packet;
};

/* False: there are no more that could be read; `status` says why. */
static bool walk_on(struct walk *walk, int *status)
{
	walk->at = walk->next;
	do
		*status = mt_pt_query_packet(walk->query, walk->at, &walk->packet);
	while (!*status);
	if (*status < 0)
		return false;
	walk->next = walk->at + *status;
	*status = mt_pt_query_take_time(&walk->clock, &walk->packet, false);
	return !*status || !walk->is_timed;
}

static struct walk walk_from(const struct mt_pt_query *query, const uint8_t *at)
{
	return (struct walk){.query = query, .at = at, .next = at, .clock = query->clock};
}

/* Whether tracing is on in a PSB+: 1, and WALK at its FUP; 0; or an error.  Its times count when it
 * is decoded. */
static int find_header_fup(struct walk *walk)
{
	int status;

	walk->is_timed = false;
	while (walk_on(walk, &status))
		if (walk->packet.kind == MT_PT_FUP || walk->packet.kind == MT_PT_PSBEND)
			return walk->packet.kind == MT_PT_FUP;
	return status;
}

/* To the next packet that says more than the time.  False: as walk_on(). */
static bool walk_over_time(struct walk *walk, int *status)
{
	while (walk_on(walk, status)) {
		switch (walk->packet.kind) {
		case MT_PT_PAD:
		case MT_PT_MNT:
		case MT_PT_CBR:
		case MT_PT_TSC:
		case MT_PT_TMA:
		case MT_PT_MTC:
		case MT_PT_CYC:
			break;
		default:
			return true;
		}
	}
	return false;
}

/* The OVF's FUP.  Returns 1 when it was found, with WALK behind it; 0 when tracing is off; or an
 * error. */
static int find_fup(struct walk *walk)
{
	int status;

	if (!walk_over_time(walk, &status))
		return status;
	switch (walk->packet.kind) {
	case MT_PT_FUP:
		return 1;
	case MT_PT_PSBEND:
	case MT_PT_TIP:
	case MT_PT_TIP_PGD:
	case MT_PT_TNT:
		return -pte_bad_context;
	default:
		return 0;
	}
}

/* ---- what comes of it ---- */

static int tracing_is_off(struct mt_pt_query *query)
{
	query->enabled = false;
	mt_pt_query_make(query, ptev_overflow)->ip_suppressed = 1;
	return 0;
}

/* Go on at AT, at that time. */
static int is_off_from(struct mt_pt_query *query, const uint8_t *at,
		       const struct mt_pt_clock *clock)
{
	query->at = at;
	query->clock = *clock;
	return tracing_is_off(query);
}

/* Control is where PACKET says. */
static int is_on_from(struct mt_pt_query *query, const uint8_t *at, const struct mt_pt_clock *clock,
		      const struct mt_pt_packet *packet)
{
	if (!mt_pt_query_take_ip(query, packet))
		return -pte_bad_context;
	query->at = at;
	query->clock = *clock;
	query->enabled = true;
	mt_pt_query_make(query, ptev_overflow)->variant.overflow.ip = query->last_ip;
	return 0;
}

/* ---- errata ---- */

/* Nothing that was looked for came up to the end of the trace, or to an error. */
static int found_nothing(int status)
{
	return status == -pte_eos ? 1 : status;
}

static bool mode_has_fup(const struct walk *walk)
{
	return mt_pt_mode_has_fup(walk->query->config.decode.context, walk->next,
				  (size_t)(walk->query->end - walk->next));
}

/* SKD010: the FUP may be missing though tracing is on.  Returns 1 if that is not so, or cannot be
 * mended. */
static int mend_skd010(struct mt_pt_query *query)
{
	struct walk walk = walk_from(query, query->at), tsx = {0}, psb;
	int status, on;

	walk.is_timed = true;
	while (walk_on(&walk, &status)) {
		switch (walk.packet.kind) {
		case MT_PT_TIP_PGD:
			return is_off_from(query, walk.next, &walk.clock);
		case MT_PT_TIP:
			return is_on_from(query, walk.next, &walk.clock, &walk.packet);
		case MT_PT_FUP:
			return tsx.at ? is_on_from(query, tsx.at, &tsx.clock, &walk.packet)
				      : is_on_from(query, walk.at, &walk.clock, &walk.packet);
		case MT_PT_PSB:
			psb = walk;
			on = find_header_fup(&walk);
			return on > 0    ? is_on_from(query, psb.at, &psb.clock, &walk.packet)
			       : on == 0 ? 1
					 : found_nothing(on);
		case MT_PT_MODE_TSX:
			/* It belongs to a FUP; two of them do not. */
			if (tsx.at)
				return 1;
			tsx = walk;
			break;
		case MT_PT_EXSTOP:
		case MT_PT_PTWRITE:
			if (walk.packet.count)
				return 1;
			break;
		case MT_PT_MODE_EXEC:
			if (mode_has_fup(&walk))
				return 1;
			break;
		case MT_PT_PSBEND:
			return -pte_bad_context;
		case MT_PT_TIP_PGE:
		case MT_PT_TNT:
		case MT_PT_OVF:
		case MT_PT_TRACESTOP:
			return 1;
		default:
			break;
		}
	}
	return found_nothing(status);
}

/* APL11: there may be a TIP.PGD too many. */
static int mend_apl11(struct mt_pt_query *query)
{
	struct walk walk = walk_from(query, query->at);
	int status;

	walk.is_timed = true;
	if (!walk_over_time(&walk, &status))
		return status;
	switch (walk.packet.kind) {
	case MT_PT_TIP_PGD:
		return is_off_from(query, walk.next, &walk.clock);
	case MT_PT_PSBEND:
	case MT_PT_TIP:
	case MT_PT_TNT:
		return -pte_bad_context;
	default:
		return 1;
	}
}

/* Go on behind the FUP that is too many.  Times before it that cannot be are an error here, as they
 * are on every way but the search for a FUP. */
static int is_off_behind_fup(struct mt_pt_query *query)
{
	struct walk walk = walk_from(query, query->at);
	int status;

	walk.is_timed = true;
	if (!walk_over_time(&walk, &status))
		return status;
	return is_off_from(query, walk.next, &walk.clock);
}

/* APL12: there may be a FUP, to behind which FUP stands, though tracing is off. */
static int mend_apl12(struct mt_pt_query *query, const struct walk *fup)
{
	struct walk walk = *fup;
	int status, on;

	while (walk_on(&walk, &status)) {
		switch (walk.packet.kind) {
		case MT_PT_TRACESTOP:
		case MT_PT_TIP_PGE:
			return is_off_behind_fup(query);
		case MT_PT_PSB:
			on = find_header_fup(&walk);
			return on == 0 ? is_off_behind_fup(query) : on > 0 ? 1 : found_nothing(on);
		case MT_PT_TNT:
		case MT_PT_TIP:
		case MT_PT_TIP_PGD:
		case MT_PT_OVF:
			return 1;
		case MT_PT_PSBEND:
			return -pte_bad_context;
		default:
			break;
		}
	}
	return found_nothing(status);
}

int mt_pt_query_overflow(struct mt_pt_query *query)
{
	const struct pt_errata *errata = &query->config.errata;
	struct walk walk = walk_from(query, query->at);
	int found = find_fup(&walk), status = 1;

	if (found > 0) {
		if (errata->apl12)
			status = mend_apl12(query, &walk);
		if (status <= 0)
			return status;
		query->enabled = true;
		return mt_pt_query_await(query, MT_PT_WITH_FUP, ptev_overflow) ? 0 : -pte_nomem;
	}
	if (errata->skd010)
		status = mend_skd010(query);
	if (status > 0 && errata->apl11 && found == -pte_bad_context)
		status = mend_apl11(query);
	if (status <= 0)
		return status;
	/* At the end of the trace no FUP is missing. */
	return found < 0 && found != -pte_eos ? found : tracing_is_off(query);
}

int mt_pt_query_is_bdm70(const struct mt_pt_query *query, const uint8_t *behind_fup)
{
	struct walk walk = walk_from(query, behind_fup);
	int status;

	while (walk_on(&walk, &status)) {
		switch (walk.packet.kind) {
		case MT_PT_TIP_PGE:
			return 1;
		case MT_PT_PAD:
		case MT_PT_TSC:
		case MT_PT_CBR:
		case MT_PT_PSBEND:
		case MT_PT_PIP:
		case MT_PT_MODE_EXEC:
		case MT_PT_MODE_TSX:
		case MT_PT_VMCS:
		case MT_PT_TMA:
		case MT_PT_MTC:
		case MT_PT_CYC:
		case MT_PT_MNT:
			break;
		default:
			return 0;
		}
	}
	return status == -pte_eos ? 0 : status;
}
