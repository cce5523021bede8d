/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters by the names that perf gives them: "page-faults", "instructions", "msr/tsc/". */
#ifndef MT_KERNEL_COUNTER_H
#define MT_KERNEL_COUNTER_H

#include "kernel/event.h"

/* Fills type and config, and `what`, which lives as long as NAME.  Errors: USAGE (no such name:
 * names those there are); UNSUPPORTED (no such PMU). */
struct mt_error *mt_counter_find(const char *name, struct mt_perf_spec *spec);

#endif
