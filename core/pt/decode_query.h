/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: what a flow asks the packets: was this branch taken, where did that one go, what
 * else happened and where.
 *
 * The answers, and the errors, are those of libipt's query decoder (intel-pt.h, pt_qry_…), which is
 * the second opinion: a query can be answered by it instead.  Ours reads up to the packet that
 * answers, and on to the next one that answers or is an event, so that the flow knows of an event
 * before it goes on.  What most questions are about, a bit of a TNT, is answered inline. */
#ifndef MT_PT_DECODE_QUERY_H
#define MT_PT_DECODE_QUERY_H

#include "pt/decode_clock.h"
#include "pt/decode_libipt.h"
#include "pt/packet.h"

/* What stands at `at`. */
enum mt_pt_ahead {
	MT_PT_AHEAD_NONE, /* nothing, or nothing that can be read: ahead_error */
	MT_PT_AHEAD_TNT,
	MT_PT_AHEAD_TIP,
	MT_PT_AHEAD_EVENT, /* a packet that makes an event, or that one has waited for */
};

/* Which packet makes an event complete. */
enum { MT_PT_WITH_PSBEND, MT_PT_WITH_TIP, MT_PT_WITH_FUP, MT_PT_WITHS };

#define MT_PT_WAITING 6 /* at most; more is no trace */

struct mt_pt_waiting {
	struct pt_event events[MT_PT_WAITING];
	uint8_t begin, count;
};

struct mt_pt_query {
	struct pt_config config; /* of what is read */
	const uint8_t *at, *end;

	/* Bits of a TNT: the next one is the highest. */
	uint64_t tnt;
	uint32_t tnt_left;
	int behind; /* the answer's flags (pts_…) once none are left */

	/* Of the answer. */
	bool has_tsc;
	uint64_t tsc;

	uint8_t ahead; /* enum mt_pt_ahead */
	int ahead_error;
	bool enabled;   /* packets trace */
	bool partly;    /* the packet at `at` has more events, or is used up by the last one */
	bool has_event; /* was made */
	struct pt_event event;
	struct mt_pt_waiting waiting[MT_PT_WITHS];

	uint64_t last_ip;
	bool has_ip, ip_suppressed;

	struct mt_pt_clock clock;

	struct pt_query_decoder *libipt; /* answers instead; NULL: it does not */
};

/* Of CONFIG's bytes, which begin with a PSB.  Returns 0, or -1 without memory, which only BY_LIBIPT
 * needs. */
int mt_pt_query_open(struct mt_pt_query *query, const struct pt_config *config, bool by_libipt);
void mt_pt_query_close(struct mt_pt_query *query);

/* All return flags (pts_…) or an error (-pte_…); 0 is the usual answer. */
/* The state at the first PSB. */
int mt_pt_query_sync(struct mt_pt_query *query, uint64_t *ip);
int mt_pt_query_indirect(struct mt_pt_query *query, uint64_t *to);
int mt_pt_query_event(struct mt_pt_query *query, struct pt_event *event);

/* Of what was read; it is ahead of the answers. */
size_t mt_pt_query_offset(const struct mt_pt_query *query);

/* Read the next TNT.  Returns 0, or an error. */
int mt_pt_query_read_tnt(struct mt_pt_query *query);

static inline int mt_pt_query_branch(struct mt_pt_query *query, bool *taken)
{
	if (__builtin_expect(!query->tnt_left, 0)) {
		int status = mt_pt_query_read_tnt(query);

		if (status < 0)
			return status;
	}
	*taken = query->tnt >> 63;
	query->tnt <<= 1;
	return --query->tnt_left ? 0 : query->behind;
}

/* Where control is at a PSB. */
struct mt_pt_position {
	bool tracing;
	bool has_tsc;
	uint64_t ip; /* if tracing */
	uint64_t tsc;
};

/* Read the PSB+ at OFFSET.  Returns 0, or -1 when it is garbled or cut off, or without memory. */
int mt_pt_position_at_psb(const struct pt_config *config, const uint8_t *bytes, size_t size,
			  size_t offset, struct mt_pt_position *out);

/* ---- between the parts ---- */

/* decode_query.c */
/* The packet at AT.  Returns its size, or an error; 0: it said nothing to flows, and others are
 * there now. */
int mt_pt_query_packet(const struct mt_pt_query *query, const uint8_t *at,
		       struct mt_pt_packet *packet);
/* Time goes on over PACKET, if it says so.  Returns 0, or an error. */
int mt_pt_query_take_time(struct mt_pt_clock *clock, const struct mt_pt_packet *packet,
			  bool in_psb);
/* The address of PACKET is the last one.  False: it has none. */
bool mt_pt_query_take_ip(struct mt_pt_query *query, const struct mt_pt_packet *packet);

static inline bool mt_pt_query_waits(const struct mt_pt_query *query, int with)
{
	return query->waiting[with].count != 0;
}

/* decode_take.c */
/* The packet at `at`, which is no TNT; an event of it is `event`.  Returns 0, or an error. */
int mt_pt_query_take(struct mt_pt_query *query);
/* An event that is there now; or one that comes with another packet.  NULL: too many wait. */
struct pt_event *mt_pt_query_make(struct mt_pt_query *query, enum pt_event_type type);
struct pt_event *mt_pt_query_await(struct mt_pt_query *query, int with, enum pt_event_type type);

/* decode_overflow.c */
/* Behind an OVF.  Returns 0, or an error. */
int mt_pt_query_overflow(struct mt_pt_query *query);
/* Whether a FUP in a PSB+ stands there by BDM70 alone, since a TIP.PGE follows: 1, 0, or an
 * error. */
int mt_pt_query_is_bdm70(const struct mt_pt_query *query, const uint8_t *behind_fup);

#endif
