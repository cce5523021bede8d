/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The insides of the encoder, shared by encoder.c (control flow), encode_time.c (time packets) and
 * encode_ring.c (where the bytes go). */
#ifndef MT_PT_ENCODE_H
#define MT_PT_ENCODE_H

#include "pt/encoder.h"

#include <endian.h>
#include <string.h>

/* No event makes more bytes than this: late MTCs with their CYCs, a PSB+, eight TNTs, FUP, PGD. */
#define MT_PT_EVENT_BYTES 256

#define MT_PT_RUNS         16
#define MT_PT_RETURN_STACK 64 /* SDM 33.4.2, TIP; a power of two, as the top wraps both ways */

/* A lap ends where the next event might not fit, so no packet lies across the edge. */
struct mt_pt_encoder_ring {
	uint8_t *bytes;
	size_t capacity; /* as allocated */
	size_t position; /* of the next byte in this lap */
	size_t lap_end;  /* where the lap before this one ended; 0: there was none */
	uint64_t before; /* bytes written in the laps before this one */
	bool grows;
	bool failed;
};

struct mt_pt_encoder {
	struct mt_pt_encoder_config config;
	struct mt_pt_encoder_ring ring;

	bool tracing;
	bool mode_is_due; /* MODE.Exec goes before the next TIP.PGE */
	uint64_t next;    /* what runs next, by the last event */
	uint64_t last_ip; /* what IP packets are compressed against */
	uint64_t psb_at;  /* byte number of the last PSB+'s end */
	bool psb_is_due;

	uint64_t tnt; /* pending bits, the oldest the highest */
	unsigned int tnt_count;
	unsigned int tnt_limit;
	uint64_t tnt_tsc; /* when the last of them came */

	uint64_t returns[MT_PT_RETURN_STACK]; /* a ring: the oldest falls out */
	unsigned int returns_top;
	unsigned int returns_depth;

	/* The code that ran since the last packet of control flow, in straight runs; the oldest
	 * falls out.
	 */
	struct {
		uint64_t first;
		uint64_t last;
	} runs[MT_PT_RUNS];
	unsigned int run_count;

	uint64_t tsc;          /* of the last event */
	uint64_t cyc_tsc;      /* cycles up to here are in packets */
	uint64_t mtc_ctc;      /* CTC >> period of the last MTC or TMA */
	uint64_t next_mtc_tsc; /* when the next MTC is due; UINT64_MAX: never */
};

/* Room for one event's bytes in one piece.  False: there is none and never will be. */
bool mt_pt_ring_make_room_slow(struct mt_pt_encoder_ring *ring);

/* A copy from the oldest PSB that is whole; NULL and 0 when there is none. Errors: NO_MEMORY. */
struct mt_error *mt_pt_ring_copy(const struct mt_pt_encoder_ring *ring, uint8_t **bytes,
				 size_t *size);

static inline bool mt_pt_ring_make_room(struct mt_pt_encoder_ring *ring)
{
	if (ring->capacity - ring->position >= MT_PT_EVENT_BYTES && !ring->failed)
		return true;
	return mt_pt_ring_make_room_slow(ring);
}

static inline uint64_t mt_pt_ring_total(const struct mt_pt_encoder_ring *ring)
{
	return ring->before + ring->position;
}

/* The low SIZE bytes of VALUE, at most 8. */
static inline void mt_pt_put(struct mt_pt_encoder_ring *ring, uint64_t value, unsigned int size)
{
	uint64_t little = htole64(value);

	memcpy(ring->bytes + ring->position, &little, sizeof(little));
	ring->position += size;
}

/* CYC up to this time, if cycles passed. */
void mt_pt_put_cyc(struct mt_pt_encoder *encoder, uint64_t tsc);
/* TSC and, with MTC, TMA. */
void mt_pt_put_tsc_tma(struct mt_pt_encoder *encoder, uint64_t tsc);
/* The MTCs that are due up to this time, or TSC and TMA when they are many. */
void mt_pt_put_late_mtc(struct mt_pt_encoder *encoder, uint64_t tsc);

#endif
