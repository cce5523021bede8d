/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what a thread did to the Intel PT packets that hardware would have made of it: for the step
 * engine, and for tests.  Source: Intel SDM vol. 3C, ch. 33; what both perf and libipt accept was
 * tried out (docs/intel-pt.md).
 *
 * The packets go into a ring in memory: when it is full the oldest are overwritten. */
#ifndef MT_PT_ENCODER_H
#define MT_PT_ENCODER_H

#include "base/error.h"
#include "pt/timing.h"

#include <stddef.h>

struct mt_pt_encoder;

struct mt_pt_encoder_config {
	struct mt_pt_timing timing;
	size_t ring_bytes;       /* 0: grows without limit */
	size_t psb_period_bytes; /* a PSB+ every so many bytes; 0: 4096, or a quarter of a small
				    ring */
	bool no_return_compression;
	/* Up to 47 branches a TNT packet instead of 6: fewer CYC packets, coarser times. */
	bool long_tnt;
};

/* Errors: USAGE (a ring smaller than 8 KiB or not larger than two PSB periods); NO_MEMORY. */
struct mt_error *mt_pt_encoder_create(const struct mt_pt_encoder_config *config,
				      struct mt_pt_encoder **out);
void mt_pt_encoder_destroy(struct mt_pt_encoder *encoder); /* NULL is fine */

/* Each of these records one thing that the thread did; `tsc` is when (one that runs backwards
 * counts as the last); `next` is the address of the instruction that runs after it.  Tracing is off
 * until the first _start(); what comes while it is off, and a _start() while it is on, is ignored.
 * Without memory for a growing ring the encoder drops everything from then on and
 * mt_pt_encoder_failed() says so. */

void mt_pt_encode_start(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next);
void mt_pt_encode_branch(struct mt_pt_encoder *encoder, uint64_t tsc, bool taken, uint64_t next);
/* Optional, before a direct call or jump from FROM to TO.  Such branches make no packet, so
 * decoders cannot count the rounds of a circle that has no others (an endless recursion): where one
 * closes, the trace is made to say where control is. */
void mt_pt_encode_from(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t from, uint64_t to);
/* Direct jumps and calls make no packet, but a call is remembered for return compression.
 * return_address is what the call pushed. */
void mt_pt_encode_call(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t return_address,
		       uint64_t next);
void mt_pt_encode_jump(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next);
void mt_pt_encode_call_indirect(struct mt_pt_encoder *encoder, uint64_t tsc,
				uint64_t return_address, uint64_t next);
void mt_pt_encode_jump_indirect(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next);
void mt_pt_encode_return(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next);
/* Into the kernel by a system call (or another far branch, or int3): tracing is off until
 * _start(). */
void mt_pt_encode_syscall(struct mt_pt_encoder *encoder, uint64_t tsc);
/* An interrupt, fault, signal or the end of the window: the instruction at `next` did not run;
 * tracing is off until _start(). */
void mt_pt_encode_stop(struct mt_pt_encoder *encoder, uint64_t tsc, uint64_t next);

bool mt_pt_encoder_is_tracing(const struct mt_pt_encoder *encoder);
bool mt_pt_encoder_failed(const struct mt_pt_encoder *encoder);

/* The ring's contents, oldest first, from the first PSB that was not overwritten to the end of a
 * packet; pending TNT bits are written out first.  Do it after _stop(): behind an end while tracing
 * is on decoders walk straight on and show what has not run.  bytes_lost: how many were overwritten
 * before it, in all.  The bytes are the caller's to free().  When nothing was recorded size is 0
 * and bytes NULL. Errors: NO_MEMORY. */
struct mt_error *mt_pt_encoder_snapshot(struct mt_pt_encoder *encoder, uint8_t **bytes,
					size_t *size, uint64_t *bytes_lost);
/* Empty the ring; the next packet is a PSB+. */
void mt_pt_encoder_clear(struct mt_pt_encoder *encoder);

#endif
