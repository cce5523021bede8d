/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf/kernel_record.h"

#include "base/cursor.h"
#include "perf/format.h"

#include <sys/mman.h>

#define SAMPLE_ID_BYTES 32

static bool parse_mmap2(uint16_t misc, struct mt_cursor *body, struct mt_sideband *out)
{
	uint8_t identity[24]; /* device and inode, or the build id */

	out->kind = MT_SIDEBAND_MMAP;
	out->pid = (int32_t)mt_cursor_u32(body);
	out->tid = (int32_t)mt_cursor_u32(body);
	out->mmap.start = mt_cursor_u64(body);
	out->mmap.length = mt_cursor_u64(body);
	out->mmap.offset = mt_cursor_u64(body);
	mt_cursor_copy(body, identity, sizeof(identity));
	out->mmap.executable = mt_cursor_u32(body) & PROT_EXEC;
	mt_cursor_u32(body); /* flags */
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID && identity[0] <= MT_PERF_BUILD_ID_SIZE) {
		out->mmap.build_id_size = identity[0];
		memcpy(out->mmap.build_id, identity + 4, identity[0]);
	}
	out->mmap.path = (const char *)body->at;
	return !body->failed && memchr(body->at, 0, mt_cursor_left(body));
}

bool mt_kernel_record_parse(const struct perf_event_header *record, struct mt_sideband *out)
{
	size_t size = record->size;

	*out = (struct mt_sideband){.pid = -1, .tid = -1, .cpu = -1};
	if (size < sizeof(*record) + SAMPLE_ID_BYTES)
		return false;
	struct mt_cursor body =
	    mt_cursor_over(record + 1, size - sizeof(*record) - SAMPLE_ID_BYTES);
	struct mt_cursor id = mt_cursor_over(body.end, SAMPLE_ID_BYTES);

	out->pid = (int32_t)mt_cursor_u32(&id);
	out->tid = (int32_t)mt_cursor_u32(&id);
	out->time_ns = mt_cursor_u64(&id);
	out->cpu = (int32_t)mt_cursor_u32(&id);
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		return parse_mmap2(record->misc, &body, out);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		out->kind = MT_SIDEBAND_SWITCH;
		out->context_switch.out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
		out->context_switch.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		out->context_switch.other_pid = out->context_switch.other_tid = -1;
		if (record->type == PERF_RECORD_SWITCH_CPU_WIDE) {
			out->context_switch.other_pid = (int32_t)mt_cursor_u32(&body);
			out->context_switch.other_tid = (int32_t)mt_cursor_u32(&body);
		}
		return !body.failed;
	case PERF_RECORD_AUX:
		out->kind = MT_SIDEBAND_AUX;
		out->aux.offset = mt_cursor_u64(&body);
		out->aux.size = mt_cursor_u64(&body);
		out->aux.flags = mt_cursor_u64(&body);
		return !body.failed;
	case PERF_RECORD_LOST:
		out->kind = MT_SIDEBAND_LOST;
		mt_cursor_u64(&body); /* the event's id */
		out->lost.lost = mt_cursor_u64(&body);
		return !body.failed;
	case PERF_RECORD_ITRACE_START:
		out->kind = MT_SIDEBAND_ITRACE_START;
		return true;
	default:
		return false;
	}
}
