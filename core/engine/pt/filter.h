/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Address filters of Intel PT, from what people type to what the kernel takes.
 *
 *	FUNCTION                        within its own code
 *	filter A [/ B] [@ FILE]         from A to the end of B
 *	stop A [/ B] [@ FILE]           tracing ends where control comes there
 *
 * A and B are functions, or offsets in the file (0x1234); without FILE the program is meant.  The
 * hardware has no filter that begins tracing at an address.
 * Source: linux/kernel/events/core.c, perf_event_parse_addr_filter(); arch/x86/events/intel/pt.c,
 * pt_event_addr_filters_validate(). */
#ifndef MT_ENGINE_PT_FILTER_H
#define MT_ENGINE_PT_FILTER_H

#include "base/str.h"

/* For PERF_EVENT_IOC_SET_FILTER.  WORDS end with NULL; PROGRAM is a path; MOST: so many filters the
 * processor has.
 * Errors: USAGE (not the form of a filter, or too many); NOT_FOUND (no such function: says where);
 * UNSUPPORTED (the processor has none); those of opening the file. */
struct mt_error *mt_pt_filter_text(const char *const *words, const char *program, uint32_t most,
				   struct mt_str *text);

#endif
