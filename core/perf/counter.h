/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters by the names that perf gives them: "page-faults", "instructions". */
#ifndef MT_PERF_COUNTER_H
#define MT_PERF_COUNTER_H

#include "perf/event.h"

/* Fills type and config, and `what`, which lives for ever.  Errors: USAGE (no such name: names
 * those there are). */
struct mt_error *mt_counter_find(const char *name, struct mt_perf_spec *spec);

#endif
