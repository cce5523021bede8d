/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the hit of a breakpoint can pause an Intel PT trace in the kernel.  It is tried on
 * ourselves, and nothing is traced.  Source: perf_event_open(2), aux_pause; Linux 6.13. */
#ifndef MT_ENGINE_PT_PAUSE_H
#define MT_ENGINE_PT_PAUSE_H

#include "kernel/pmu.h"

/* NULL: it can.  Errors: UNSUPPORTED (the kernel or its driver cannot); mt_perf_event_open()'s, of
 * which PERMISSION is the likely one: what resumes the trace is an event of the kernel's. */
struct mt_error *mt_pt_try_pause(const struct mt_pmu *pmu);

#endif
