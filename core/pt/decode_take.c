/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each packet but TNTs says: the time, the state, events, and parts of events. */
#include "pt/decode_query.h"

#include <string.h>

static void forget_ip(struct mt_pt_query *query)
{
	query->last_ip = 0;
	query->has_ip = query->ip_suppressed = false;
}

/* ---- events ---- */

static void stamp(const struct mt_pt_query *query, struct pt_event *event)
{
	event->has_tsc = query->clock.has_tsc;
	event->tsc = query->clock.tsc;
}

/* The address that comes with it; NULL: none does. */
static uint64_t *address_of(struct pt_event *event)
{
	switch (event->type) {
	case ptev_enabled:
		return &event->variant.enabled.ip;
	case ptev_disabled:
		return &event->variant.disabled.ip;
	case ptev_async_disabled:
		return &event->variant.async_disabled.ip;
	case ptev_async_branch:
		return &event->variant.async_branch.to;
	case ptev_async_paging:
		return &event->variant.async_paging.ip;
	case ptev_async_vmcs:
		return &event->variant.async_vmcs.ip;
	case ptev_overflow:
		return &event->variant.overflow.ip;
	case ptev_exec_mode:
		return &event->variant.exec_mode.ip;
	case ptev_tsx:
		return &event->variant.tsx.ip;
	default:
		return NULL;
	}
}

/* That of the packet that was read last. */
static void set_address(const struct mt_pt_query *query, struct pt_event *event)
{
	bool known = query->has_ip && !query->ip_suppressed;
	uint64_t *address = address_of(event);

	if (address)
		*address = known ? query->last_ip : 0;
	event->ip_suppressed |= address && !known;
}

struct pt_event *mt_pt_query_make(struct mt_pt_query *query, enum pt_event_type type)
{
	query->event = (struct pt_event){.type = type};
	query->has_event = true;
	stamp(query, &query->event);
	return &query->event;
}

struct pt_event *mt_pt_query_await(struct mt_pt_query *query, int with, enum pt_event_type type)
{
	struct mt_pt_waiting *waiting = &query->waiting[with];
	struct pt_event *event;

	if (waiting->begin + waiting->count == MT_PT_WAITING)
		return NULL;
	event = &waiting->events[waiting->begin + waiting->count++];
	*event = (struct pt_event){.type = type};
	stamp(query, event);
	return event;
}

/* The one that has waited longest.  NULL: none has. */
static struct pt_event *take_waiting(struct mt_pt_query *query, int with)
{
	struct mt_pt_waiting *waiting = &query->waiting[with];

	if (!waiting->count)
		return NULL;
	query->event = waiting->events[waiting->begin++];
	query->has_event = true;
	if (!--waiting->count)
		waiting->begin = 0;
	return &query->event;
}

static bool waits(const struct mt_pt_query *query, int with, enum pt_event_type type)
{
	const struct mt_pt_waiting *waiting = &query->waiting[with];

	for (int i = 0; i < waiting->count; i++)
		if (waiting->events[waiting->begin + i].type == type)
			return true;
	return false;
}

/* The packet that an event came with is read again for the next one that waits for it. */
static void use_up(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	query->at += packet->size;
	query->partly = false;
}

/* Of events that wait for it; if none is an interrupt, it is a branch's, too. */
static int take_tip(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	struct pt_event *event = take_waiting(query, MT_PT_WITH_TIP);

	query->partly |= event->type == ptev_async_branch;
	set_address(query, event);
	if (!mt_pt_query_waits(query, MT_PT_WITH_TIP) && query->partly)
		use_up(query, packet);
	return 0;
}

static int take_enable(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	struct pt_event *event = query->partly ? take_waiting(query, MT_PT_WITH_TIP)
					       : mt_pt_query_make(query, ptev_enabled);

	if (event->type != ptev_enabled && event->type != ptev_exec_mode)
		return -pte_bad_context;
	set_address(query, event);
	if (event->type == ptev_enabled) {
		if (event->ip_suppressed)
			return -pte_bad_packet;
		query->tnt_left = 0;
		query->enabled = query->partly = true;
	}
	if (!mt_pt_query_waits(query, MT_PT_WITH_TIP))
		use_up(query, packet);
	return 0;
}

static int take_disable(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	struct pt_event *event = take_waiting(query, MT_PT_WITH_TIP);

	if (!event) {
		event = mt_pt_query_make(query, ptev_disabled);
		set_address(query, event);
	} else if (event->type == ptev_async_branch) {
		uint64_t from = event->variant.async_branch.from;

		event->type = ptev_async_disabled;
		event->variant.async_disabled.at = from;
		set_address(query, event);
	} else {
		event->ip_suppressed = 1; /* of what goes on elsewhere */
	}
	if (mt_pt_query_waits(query, MT_PT_WITH_TIP))
		return 0;
	query->enabled = false;
	use_up(query, packet);
	return 0;
}

/* Of something before it, or of an interrupt, whose rest a TIP tells. */
static int take_fup(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	struct pt_event *event = take_waiting(query, MT_PT_WITH_FUP);

	if (!event) {
		if (!query->has_ip || query->ip_suppressed)
			return -pte_noip;
		event = mt_pt_query_await(query, MT_PT_WITH_TIP, ptev_async_branch);
		if (!event)
			return -pte_nomem;
		event->variant.async_branch.from = query->last_ip;
		query->at += packet->size;
		return 0;
	}
	set_address(query, event);
	if (event->type == ptev_overflow && event->ip_suppressed)
		return -pte_noip;
	/* An abort's FUP is an interrupt's as well. */
	query->partly |= event->type != ptev_tsx || !event->variant.tsx.aborted;
	if (!mt_pt_query_waits(query, MT_PT_WITH_FUP) && query->partly)
		use_up(query, packet);
	return 0;
}

/* The event of a packet that tells the state in a PSB+, or one that changed. */
static int take_state(struct mt_pt_query *query, const struct mt_pt_packet *packet, bool in_psb)
{
	bool exec = packet->kind == MT_PT_MODE_EXEC, tsx = packet->kind == MT_PT_MODE_TSX;
	bool interrupted = waits(query, MT_PT_WITH_TIP, ptev_async_branch);
	enum pt_event_type type = exec                        ? ptev_exec_mode
				  : tsx                       ? ptev_tsx
				  : packet->kind == MT_PT_CBR ? ptev_cbr
				  : packet->kind == MT_PT_MNT ? ptev_mnt
				  : packet->kind == MT_PT_PIP ? ptev_paging
							      : ptev_vmcs;
	struct pt_event *event;

	if (type == ptev_paging && (in_psb || interrupted))
		type = ptev_async_paging;
	if (type == ptev_vmcs && (in_psb || interrupted))
		type = ptev_async_vmcs;
	if (in_psb)
		event = mt_pt_query_await(query, MT_PT_WITH_PSBEND, type);
	else if (exec || type == ptev_async_paging || type == ptev_async_vmcs)
		event = mt_pt_query_await(query, MT_PT_WITH_TIP, type);
	else if (tsx && query->enabled)
		event = mt_pt_query_await(query, MT_PT_WITH_FUP, type);
	else
		event = mt_pt_query_make(query, type);
	if (!event)
		return -pte_nomem;
	/* SDM 33.4.2.8: CS.L and CS.D; InTX and TXAbort. */
	if (exec) {
		const struct pt_packet_mode_exec mode = {.csl = packet->payload & 1,
							 .csd = packet->payload >> 1 & 1};

		event->variant.exec_mode.mode = pt_get_exec_mode(&mode);
	}
	if (tsx) {
		event->variant.tsx.speculative = packet->payload & 1;
		event->variant.tsx.aborted = packet->payload >> 1 & 1;
		event->ip_suppressed = !in_psb && !query->enabled;
	}
	query->at += packet->size;
	return 0;
}

/* What flows take no notice of, but for the FUP that may belong to it. */
static int take_other(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	bool with_fup =
	    (packet->kind == MT_PT_EXSTOP || packet->kind == MT_PT_PTWRITE) && packet->count;
	enum pt_event_type type = packet->kind == MT_PT_TRACESTOP ? ptev_stop
				  : packet->kind == MT_PT_EXSTOP  ? ptev_exstop
				  : packet->kind == MT_PT_PTWRITE ? ptev_ptwrite
				  : packet->kind == MT_PT_PWRE    ? ptev_pwre
								  : ptev_pwrx;
	struct pt_event *event = with_fup ? mt_pt_query_await(query, MT_PT_WITH_FUP, type)
					  : mt_pt_query_make(query, type);

	if (!event)
		return -pte_nomem;
	event->has_tsc = type == ptev_stop && query->clock.has_tsc;
	query->at += packet->size;
	return 0;
}

/* With event trace it may have a FUP of its own: the interrupt flag changed, the mode did not. */
static int take_mode_exec(struct mt_pt_query *query, struct mt_pt_packet *packet)
{
	const uint8_t *behind = query->at + packet->size;

	if (!mt_pt_mode_has_fup(query->config.decode.context, behind,
				(size_t)(query->end - behind)))
		return take_state(query, packet, false);
	packet->kind = MT_PT_EXSTOP; /* of which nothing comes either */
	packet->count = 1;
	return take_other(query, packet);
}

/* ---- PSB+ ---- */

static int take_header_fup(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	int is_bdm70 = query->config.errata.bdm70 && !query->enabled
			   ? mt_pt_query_is_bdm70(query, query->at + packet->size)
			   : 0;

	if (is_bdm70 < 0)
		return is_bdm70;
	if (!is_bdm70 && mt_pt_query_take_ip(query, packet))
		query->enabled = true;
	query->at += packet->size;
	return 0;
}

static int take_clock_packet(struct mt_pt_query *query, const struct mt_pt_packet *packet,
			     bool in_psb)
{
	bool is_cut = query->config.errata.skd007 &&
		      mt_pt_cyc_is_cut(packet, query->at + packet->size, query->end);
	int status = is_cut ? 0 : mt_pt_query_take_time(&query->clock, packet, in_psb);

	if (!status)
		query->at += is_cut ? 1 : packet->size;
	return status;
}

/* Of what is cut off at the end of the trace, by its first bytes. */
static bool may_be_in_psb(const struct mt_pt_query *query)
{
	uint8_t first = query->at < query->end ? query->at[0] : 0x02;

	if (first != 0x02)
		return first == 0x99 || first == 0x19 || first == 0x59 || first == 0xd9 ||
		       (first & 3) == 3 || (first & 0x1f) == 0x1d;
	if (query->end - query->at < 2)
		return true;
	switch (query->at[1]) {
	case 0x03: /* CBR */
	case 0x43: /* PIP */
	case 0x73: /* TMA */
	case 0xc3: /* MNT */
	case 0xc8: /* VMCS */
	case 0x13: /* CFE, EVD, BBP */
	case 0x53:
	case 0x63:
		return true;
	default:
		return false;
	}
}

/* One packet of it.  Returns 1 at its end. */
static int take_header_packet(struct mt_pt_query *query)
{
	struct mt_pt_packet packet;
	int size = mt_pt_query_packet(query, query->at, &packet), status = 0;

	if (size <= 0)
		return size == -pte_eos && !may_be_in_psb(query) ? -pte_bad_context : size;
	switch (packet.kind) {
	case MT_PT_PSBEND:
	case MT_PT_OVF:
		return 1;
	case MT_PT_FUP:
		return take_header_fup(query, &packet);
	case MT_PT_TSC:
	case MT_PT_TMA:
	case MT_PT_MTC:
	case MT_PT_CYC:
	case MT_PT_PAD:
		return take_clock_packet(query, &packet, true);
	case MT_PT_CBR:
		status = mt_pt_query_take_time(&query->clock, &packet, true);
		return status ? status : take_state(query, &packet, true);
	case MT_PT_MODE_EXEC:
	case MT_PT_MODE_TSX:
	case MT_PT_PIP:
	case MT_PT_VMCS:
	case MT_PT_MNT:
		return take_state(query, &packet, true);
	default:
		return -pte_bad_context;
	}
}

/* Up to its PSBEND, with which its events come.  After an error the PSB is read again. */
static int take_psb(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	const uint8_t *psb = query->at;
	int status;

	query->at += packet->size;
	forget_ip(query);
	do {
		status = take_header_packet(query);
	} while (!status);
	if (status > 0)
		return 0;
	query->at = psb;
	query->waiting[MT_PT_WITH_PSBEND] = (struct mt_pt_waiting){0};
	return status;
}

static int take_psbend(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	struct pt_event *event = take_waiting(query, MT_PT_WITH_PSBEND);

	if (!event) {
		query->at += packet->size;
		return 0;
	}
	event->status_update = event->type != ptev_mnt;
	stamp(query, event);
	if (event->status_update)
		set_address(query, event);
	return 0;
}

/* ---- any packet ---- */

static int take_overflow(struct mt_pt_query *query, const struct mt_pt_packet *packet)
{
	if (mt_pt_query_waits(query, MT_PT_WITH_PSBEND))
		return take_psbend(query, packet);
	query->at += packet->size;
	query->enabled = query->partly = query->has_tsc = false;
	query->tnt_left = 0;
	forget_ip(query);
	memset(query->waiting, 0, sizeof(query->waiting));
	mt_pt_clock_forget_cycles(&query->clock);
	return mt_pt_query_overflow(query);
}

/* Any packet but TNTs.  Returns 0, or an error. */
int mt_pt_query_take(struct mt_pt_query *query)
{
	struct mt_pt_packet packet;
	int size = mt_pt_query_packet(query, query->at, &packet), status;

	if (size <= 0)
		return size;
	switch (packet.kind) {
	case MT_PT_TIP:
	case MT_PT_TIP_PGE:
	case MT_PT_TIP_PGD:
	case MT_PT_FUP:
		mt_pt_query_take_ip(query, &packet);
		return packet.kind == MT_PT_TIP       ? take_tip(query, &packet)
		       : packet.kind == MT_PT_TIP_PGE ? take_enable(query, &packet)
		       : packet.kind == MT_PT_TIP_PGD ? take_disable(query, &packet)
						      : take_fup(query, &packet);
	case MT_PT_PSB:
		return take_psb(query, &packet);
	case MT_PT_PSBEND:
		return take_psbend(query, &packet);
	case MT_PT_OVF:
		return take_overflow(query, &packet);
	case MT_PT_CBR:
		status = mt_pt_query_take_time(&query->clock, &packet, false);
		return status ? status : take_state(query, &packet, false);
	case MT_PT_MODE_EXEC:
		return take_mode_exec(query, &packet);
	case MT_PT_MODE_TSX:
	case MT_PT_PIP:
	case MT_PT_VMCS:
	case MT_PT_MNT:
		return take_state(query, &packet, false);
	case MT_PT_CYC:
	case MT_PT_PAD:
	case MT_PT_TSC:
	case MT_PT_TMA:
	case MT_PT_MTC:
		return take_clock_packet(query, &packet, false);
	default:
		return take_other(query, &packet);
	}
}
