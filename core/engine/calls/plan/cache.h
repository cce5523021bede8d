/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan as a file, so that a large program need not be decoded at each start.  What is read is
 * believed only if kept.h says so, and it could have come from a planner: a garbled file is as good
 * as none. */
#ifndef MT_ENGINE_CALLS_PLAN_CACHE_H
#define MT_ENGINE_CALLS_PLAN_CACHE_H

#include "elf/kept.h"
#include "engine/calls/plan/plan.h"

/* For keys: changes with the sources that plans and trampolines depend on.  The Makefile makes it.
 */
extern const uint64_t mt_planner_number;

/* Errors: as writing a file. */
struct mt_error *mt_plan_store(const struct mt_plan *plan, const struct mt_kept_key *key,
			       const char *path);
/* *out NULL: there is none that could be believed; the file must be our own user's.  Its functions'
 * symbols are not known (UINT32_MAX).  Errors: NO_MEMORY. */
struct mt_error *mt_plan_load(struct mt_objfile *objfile, const struct mt_kept_key *key,
			      const char *path, struct mt_plan **out);

#endif
