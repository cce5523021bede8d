/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan as a file, so that a large program need not be decoded at each start.  What is read is
 * believed only if it was made for the same text by the same planner, is whole, and could have come
 * from a planner: a garbled file is as good as none. */
#ifndef MT_ENGINE_CALLS_PLAN_CACHE_H
#define MT_ENGINE_CALLS_PLAN_CACHE_H

#include "engine/calls/plan/plan.h"

/* PLANNER: a number that another planner would not give.  Errors: as writing a file. */
struct mt_error *mt_plan_store(const struct mt_plan *plan, struct mt_objfile *objfile,
			       uint64_t planner, const char *path);
/* *out NULL: there is none that could be believed; the file must be our own user's.  Its functions'
 * symbols are not known (UINT32_MAX).  Errors: NO_MEMORY. */
struct mt_error *mt_plan_load(struct mt_objfile *objfile, uint64_t planner, const char *path,
			      struct mt_plan **out);

#endif
