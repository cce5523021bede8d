/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A filter before a sink of people: the calls that libraries make because the program ends, or
 * something was thrown, are counted instead, so that the last calls are those that led there.  Of a
 * thread that called exit() the calls in there are, of one that died of abort() those in there, of
 * a C++ exception and of a Rust panic those of the unwinder.  Where a runtime has told why the
 * program dies (Go's), those by which it ends that thread's calls are.  An instant
 * MT_INSTANT_FOLDED stands for them.
 *
 * Nothing is folded where anything else happened meanwhile: a crash in an exit handler, lost data,
 * a trigger's hit; nor where the call goes on, as at a breakpoint in an exit handler, or has
 * returned. */
#ifndef MT_OUTPUT_FOLD_H
#define MT_OUTPUT_FOLD_H

#include "trace/slice.h"

struct mt_fold;

/* HINT: how to see them all ("\"mtrace history -unfold\" shows them").  Both are lent.  Errors:
 * NO_MEMORY. */
struct mt_error *mt_fold_create(const char *hint, struct mt_slice_sink to, struct mt_fold **out);
struct mt_slice_sink mt_fold_sink(struct mt_fold *fold);
void mt_fold_destroy(struct mt_fold *fold); /* NULL is fine */

#endif
