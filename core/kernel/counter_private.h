/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_KERNEL_COUNTER_PRIVATE_H
#define MT_KERNEL_COUNTER_PRIVATE_H

#include "kernel/counter.h"

/* counter_pmu.c: NAME has a slash. */
struct mt_error *mt_counter_find_pmu(const char *name, struct mt_perf_spec *spec);

#endif
