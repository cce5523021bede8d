/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the running kernel's code lies, as records of a recording: its text and its modules. */
#ifndef MT_ENGINE_PT_KERNEL_H
#define MT_ENGINE_PT_KERNEL_H

#include "perf/recording_writer.h"

/* ROOT stands before "/proc": "" but in tests.
 * Errors: PERMISSION (the kernel hides its addresses: what would show them); NOT_FOUND; the
 * writer's. */
struct mt_error *mt_pt_put_kernel(const char *root, uint64_t time_ns,
				  struct mt_recording_writer *writer);

#endif
