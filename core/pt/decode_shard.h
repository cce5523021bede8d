/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: a shard decodes windows, one at a time, each from what the one before it left.
 *
 * What comes of a window depends on nothing else: not on the windows that the shard decoded before,
 * which only left it blocks that it knows.  So several shards can share a stream's windows. */
#ifndef MT_PT_DECODE_SHARD_H
#define MT_PT_DECODE_SHARD_H

#include "pt/decode_flow.h"
#include "pt/decode_window.h"

struct mt_pt_shard;

/* Errors: NO_MEMORY. */
struct mt_error *mt_pt_shard_create(const struct mt_pt_decoder_config *config,
				    struct mt_pt_shard **out);
void mt_pt_shard_destroy(struct mt_pt_shard *shard); /* NULL is fine */

/* WINDOW's bytes, which are overwritten, must stay until its end, or until another one begins. */
void mt_pt_shard_begin(struct mt_pt_shard *shard, const struct mt_pt_window *window,
		       const struct mt_pt_carried *carried);
/* The next events, of a bounded amount of work.  ENDED: they are the window's last ones, if there
 * are any.  Errors: NO_MEMORY. */
struct mt_error *mt_pt_shard_next(struct mt_pt_shard *shard, struct mt_event *events,
				  size_t capacity, size_t *count, bool *ended);
/* Of the window so far. */
struct mt_pt_decoder_stats mt_pt_shard_stats(const struct mt_pt_shard *shard);
/* What it leaves at its end. */
struct mt_pt_carried mt_pt_shard_carry(const struct mt_pt_shard *shard);

#endif
