/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packets of control flow.  Every event first brings the stream up to its time (late MTCs, a
 * PSB+ that is due), then writes its own packets; all PSBs are written that late, so one
 * function knows what goes into them.
 *
 * Return compression is kept to what every decoder can follow: libipt takes a call from its stack
 * at compressed returns only, perf at every return.  An encoder that forgets the whole stack when a
 * return does not match (longjmp, a signal's frame) is right with both, as what it still knows is
 * always the top of theirs. */
#include "pt/encode.h"

#include <stdlib.h>

#define SHORT_TNT 6
#define LONG_TNT  47

#define DEFAULT_PSB_PERIOD 4096

/* SDM 33.4.2, TIP, TIP.PGE, TIP.PGD and FUP: the low five bits of the header byte; IPBytes are the
 * upper three. */
enum ip_packet {
	IP_TIP_PGD = 0x01,
	IP_TIP = 0x0d,
	IP_TIP_PGE = 0x11,
	IP_FUP = 0x1d,
};

static struct mt_error *check_config(const struct mt_pt_encoder_config *config)
{
	if (config->ring_bytes == 0)
		return NULL;
	if (config->ring_bytes < 8192)
		return mt_error_new(MT_ERROR_USAGE,
				    "a trace ring of %zu bytes is too small: the minimum is 8 KiB",
				    config->ring_bytes);
	if (config->ring_bytes / 2 <= config->psb_period_bytes)
		return mt_error_new(MT_ERROR_USAGE,
				    "a trace ring of %zu bytes is too small for a PSB every %zu "
				    "bytes: use more than twice that",
				    config->ring_bytes, config->psb_period_bytes);
	return NULL;
}

struct mt_error *mt_pt_encoder_create(const struct mt_pt_encoder_config *config,
				      struct mt_pt_encoder **out)
{
	struct mt_pt_encoder_config normal = *config;
	struct mt_pt_timing *timing = &normal.timing;

	if (!normal.psb_period_bytes)
		normal.psb_period_bytes =
		    normal.ring_bytes && normal.ring_bytes < 4 * DEFAULT_PSB_PERIOD
			? normal.ring_bytes / 4
			: DEFAULT_PSB_PERIOD;
	/* Packets that the timing cannot give are left out; MTC means nothing without the TSC that
	 * it began at. */
	if (!timing->tsc || !timing->tsc_ctc_denominator || !timing->tsc_ctc_numerator ||
	    timing->mtc_period > 15)
		timing->mtc = false;
	if (!timing->max_nonturbo_ratio)
		timing->cyc = false;
	mt_try(check_config(&normal));
	struct mt_pt_encoder *encoder = calloc(1, sizeof(*encoder));
	if (!encoder)
		return mt_error_no_memory();
	encoder->config = normal;
	encoder->tnt_limit = normal.long_tnt ? LONG_TNT : SHORT_TNT;
	encoder->ring.grows = normal.ring_bytes == 0;
	encoder->ring.capacity = normal.ring_bytes;
	if (normal.ring_bytes && !(encoder->ring.bytes = malloc(normal.ring_bytes))) {
		free(encoder);
		return mt_error_no_memory();
	}
	mt_pt_encoder_clear(encoder);
	*out = encoder;
	return NULL;
}

void mt_pt_encoder_destroy(struct mt_pt_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->ring.bytes);
	free(encoder);
}

/* The stop bit stands above the oldest branch. */
static void put_short_tnt(struct mt_pt_encoder_ring *ring, uint64_t bits, unsigned int count)
{
	mt_pt_put(ring, (1u << count | (bits & ((1u << count) - 1))) << 1, 1);
}

/* A long TNT is 8 bytes: as many as the short ones for its most bits, so it never pays before. */
static void flush_tnt(struct mt_pt_encoder *encoder)
{
	struct mt_pt_encoder_ring *ring = &encoder->ring;
	unsigned int count = encoder->tnt_count;

	if (!count)
		return;
	mt_pt_put_cyc(encoder, encoder->tnt_tsc);
	if (count > LONG_TNT - SHORT_TNT + 1) {
		uint64_t payload = (UINT64_C(1) << count) | encoder->tnt;

		mt_pt_put(ring, 0xa302 | payload << 16, 8);
	} else {
		for (; count > SHORT_TNT; count -= SHORT_TNT)
			put_short_tnt(ring, encoder->tnt >> (count - SHORT_TNT), SHORT_TNT);
		put_short_tnt(ring, encoder->tnt, count);
	}
	encoder->tnt = 0;
	encoder->tnt_count = 0;
}

static void put_bit(struct mt_pt_encoder *encoder, bool taken)
{
	encoder->tnt = encoder->tnt << 1 | taken;
	encoder->tnt_tsc = encoder->tsc;
	if (++encoder->tnt_count == encoder->tnt_limit)
		flush_tnt(encoder);
}

/* SDM 33.4.2, TIP, "IP compression". */
static void put_ip(struct mt_pt_encoder *encoder, enum ip_packet packet, uint64_t ip)
{
	struct mt_pt_encoder_ring *ring = &encoder->ring;
	uint64_t changed = ip ^ encoder->last_ip;

	encoder->last_ip = ip;
	if (changed >> 16 == 0) {
		mt_pt_put(ring, packet | 1 << 5 | ip << 8, 3);
	} else if (changed >> 32 == 0) {
		mt_pt_put(ring, packet | 2 << 5 | ip << 8, 5);
	} else if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip) {
		mt_pt_put(ring, packet | 3 << 5 | ip << 8, 7);
	} else {
		mt_pt_put(ring, packet | 6 << 5, 1);
		mt_pt_put(ring, ip, 8);
	}
}

static void put_mode_exec_64(struct mt_pt_encoder *encoder)
{
	mt_pt_put(&encoder->ring, 0x0199, 2);
}

static void put_psb_plus(struct mt_pt_encoder *encoder)
{
	struct mt_pt_encoder_ring *ring = &encoder->ring;

	flush_tnt(encoder);
	if (mt_pt_ring_total(ring))
		mt_pt_put_cyc(encoder, encoder->tsc);
	encoder->cyc_tsc = encoder->tsc;
	mt_pt_put(ring, UINT64_C(0x8202820282028202), 8);
	mt_pt_put(ring, UINT64_C(0x8202820282028202), 8);
	encoder->last_ip = 0;
	encoder->returns_depth = 0;
	mt_pt_put_tsc_tma(encoder, encoder->tsc);
	if (encoder->config.timing.max_nonturbo_ratio)
		mt_pt_put(ring, 0x0302 | encoder->config.timing.max_nonturbo_ratio << 16, 4);
	if (encoder->tracing) {
		put_mode_exec_64(encoder);
		/* With last-IP 0 a low address would be cut to two bytes; perf wants it whole. */
		encoder->last_ip = ~encoder->next;
		put_ip(encoder, IP_FUP, encoder->next);
	}
	mt_pt_put(ring, 0x2302, 2);
	encoder->mode_is_due = !encoder->tracing;
	encoder->psb_at = mt_pt_ring_total(ring);
	encoder->psb_is_due = false;
}

/* Room, and what the time that passed asks for.  False: nothing can be written any more. */
static bool begin_event(struct mt_pt_encoder *encoder, uint64_t tsc)
{
	if (!mt_pt_ring_make_room(&encoder->ring))
		return false;
	encoder->run_count = 0;
	if (tsc > encoder->tsc)
		encoder->tsc = tsc;
	if (encoder->tsc >= encoder->next_mtc_tsc) {
		flush_tnt(encoder);
		mt_pt_put_late_mtc(encoder, encoder->tsc);
	}
	if (encoder->psb_is_due ||
	    mt_pt_ring_total(&encoder->ring) - encoder->psb_at >= encoder->config.psb_period_bytes)
		put_psb_plus(encoder);
	return true;
}

static void push_return(struct mt_pt_encoder *encoder, uint64_t address)
{
	encoder->returns_top = (encoder->returns_top + 1) % MT_PT_RETURN_STACK;
	encoder->returns[encoder->returns_top] = address;
	if (encoder->returns_depth < MT_PT_RETURN_STACK)
		encoder->returns_depth++;
}

/* True: the return goes where the last call would have it. */
static bool pop_return(struct mt_pt_encoder *encoder, uint64_t to)
{
	if (!encoder->returns_depth)
		return false;
	if (encoder->returns[encoder->returns_top] != to) {
		encoder->returns_depth = 0;
		return false;
	}
	encoder->returns_top = (encoder->returns_top - 1) % MT_PT_RETURN_STACK;
	encoder->returns_depth--;
	return true;
}

static void put_timed_ip(struct mt_pt_encoder *encoder, enum ip_packet packet, uint64_t ip)
{
	flush_tnt(encoder);
	mt_pt_put_cyc(encoder, encoder->tsc);
	put_ip(encoder, packet, ip);
}

void mt_pt_encode_start(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next)
{
	if (encoder->tracing || !begin_event(encoder, tsc))
		return;
	mt_pt_put_cyc(encoder, encoder->tsc);
	if (encoder->mode_is_due)
		put_mode_exec_64(encoder);
	encoder->mode_is_due = false;
	put_ip(encoder, IP_TIP_PGE, next);
	encoder->tracing = true;
	encoder->next = next;
}

void mt_pt_encode_branch(struct mt_pt_encoder *encoder, uint64_t tsc, bool taken, uint64_t next)
{
	if (!encoder->tracing || !begin_event(encoder, tsc))
		return;
	put_bit(encoder, taken);
	encoder->next = next;
}

/* No transaction began or ended: of all packets that carry an address this one says nothing else.
 */
static void put_address(struct mt_pt_encoder *encoder, uint64_t ip)
{
	mt_pt_put(&encoder->ring, 0x2099, 2); /* MODE.TSX, SDM 33.4.2.8 */
	put_ip(encoder, IP_FUP, ip);
}

void mt_pt_encode_from(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t from, uint64_t to)
{
	unsigned int slot = encoder->run_count++ % MT_PT_RUNS;
	unsigned int count = encoder->run_count < MT_PT_RUNS ? encoder->run_count : MT_PT_RUNS;
	bool ran = false;

	encoder->runs[slot].first = encoder->next;
	encoder->runs[slot].last = from;
	if (!encoder->tracing || from == to)
		return;
	for (unsigned int i = 0; i < count && !ran; i++)
		ran = encoder->runs[i].first <= to && to <= encoder->runs[i].last;
	if (!ran || !begin_event(encoder, tsc))
		return;
	flush_tnt(encoder);
	mt_pt_put_cyc(encoder, encoder->tsc);
	put_address(encoder, from);
	put_address(encoder, to);
}

void mt_pt_encode_call(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t return_address,
		       uint64_t next)
{
	/* SDM 33.4.2, TIP, compression of returns: a call to the next instruction only asks where
	 * it is. */
	if (encoder->tracing && next != return_address)
		push_return(encoder, return_address);
	mt_pt_encode_jump(encoder, tsc, next);
}

void mt_pt_encode_jump(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next)
{
	if (!encoder->tracing)
		return;
	if (tsc > encoder->tsc)
		encoder->tsc = tsc;
	encoder->next = next;
}

void mt_pt_encode_call_indirect(struct mt_pt_encoder *encoder, uint64_t tsc,
				uint64_t return_address, uint64_t next)
{
	mt_pt_encode_jump_indirect(encoder, tsc, next);
	if (encoder->tracing)
		push_return(encoder, return_address);
}

void mt_pt_encode_jump_indirect(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next)
{
	if (!encoder->tracing || !begin_event(encoder, tsc))
		return;
	put_timed_ip(encoder, IP_TIP, next);
	encoder->next = next;
}

void mt_pt_encode_return(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next)
{
	if (!encoder->tracing || !begin_event(encoder, tsc))
		return;
	if (pop_return(encoder, next) && !encoder->config.no_return_compression)
		put_bit(encoder, true);
	else
		put_timed_ip(encoder, IP_TIP, next);
	encoder->next = next;
}

/* IPBytes 0: where the kernel was entered is not recorded in a trace of user space. */
static void put_pgd(struct mt_pt_encoder *encoder)
{
	mt_pt_put(&encoder->ring, IP_TIP_PGD, 1);
	encoder->tracing = false;
}

void mt_pt_encode_syscall(struct mt_pt_encoder *encoder, uint64_t tsc)
{
	if (!encoder->tracing || !begin_event(encoder, tsc))
		return;
	flush_tnt(encoder);
	mt_pt_put_cyc(encoder, encoder->tsc);
	put_pgd(encoder);
}

void mt_pt_encode_stop(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next)
{
	if (!encoder->tracing || !begin_event(encoder, tsc))
		return;
	put_timed_ip(encoder, IP_FUP, next);
	put_pgd(encoder);
}

bool mt_pt_encoder_is_tracing(const struct mt_pt_encoder *encoder)
{
	return encoder->tracing;
}

bool mt_pt_encoder_failed(const struct mt_pt_encoder *encoder)
{
	return encoder->ring.failed;
}

struct mt_error *mt_pt_encoder_snapshot(struct mt_pt_encoder *encoder, uint8_t **bytes,
					size_t *size, uint64_t *bytes_lost)
{
	if (encoder->tnt_count && mt_pt_ring_make_room(&encoder->ring))
		flush_tnt(encoder);
	mt_try(mt_pt_ring_copy(&encoder->ring, bytes, size));
	*bytes_lost = mt_pt_ring_total(&encoder->ring) - *size;
	return NULL;
}

void mt_pt_encoder_clear(struct mt_pt_encoder *encoder)
{
	encoder->ring.position = 0;
	encoder->ring.lap_end = 0;
	encoder->ring.before = 0;
	encoder->tnt_count = 0;
	encoder->tnt = 0;
	encoder->returns_depth = 0;
	encoder->psb_is_due = true;
	encoder->next_mtc_tsc = UINT64_MAX;
}
