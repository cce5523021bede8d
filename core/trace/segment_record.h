/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tag byte of the log's records: what its writer and its reader share. */
#ifndef MT_TRACE_SEGMENT_RECORD_H
#define MT_TRACE_SEGMENT_RECORD_H

#include "trace/segment_log.h"

enum {
	MT_LOG_KIND_MASK = 0x07,
	MT_LOG_FLAGS_SHIFT = 3,
	MT_LOG_ESTIMATED = 0x08, /* BEGIN; an END has its flags there */
	MT_LOG_TIME_MAX = 10,    /* bytes of a LEB128 time */
	MT_LOG_RECORD_MAX = 3 + MT_LOG_TIME_MAX +
			    (sizeof(struct mt_log_definition) > sizeof(struct mt_instant)
				 ? sizeof(struct mt_log_definition)
				 : sizeof(struct mt_instant)),
};

#endif
