/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the running kernel's code lies, as records of a recording: its text and its modules. */
#ifndef MT_ENGINE_KERNEL_MAPS_H
#define MT_ENGINE_KERNEL_MAPS_H

#include "base/log.h"
#include "perf/recording_writer.h"

/* Where it cannot be had the LOG says so, and what would help: kernel code has no names then.
 * Errors: the writer's. */
struct mt_error *mt_engine_put_kernel(const struct mt_log *log, uint64_t time_ns,
				      struct mt_recording_writer *writer);

#endif
