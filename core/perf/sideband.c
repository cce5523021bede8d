/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meaning of records.  Source: perf_event_open(2), "MMAP layout"; for the records of the perf
 * tool perf.data-file-format.txt. */
#include "perf/recording_private.h"

#include <sys/mman.h>

/* The most that a kernel can be built for. */
#define CPUS_MAX 8192

#define MAPPED_BY_GUEST(misc)                                                                      \
	(((misc)&PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_GUEST_KERNEL ||                \
	 ((misc)&PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_GUEST_USER)

/* A record at work.  A parser fills `out`, whose pid, tid, cpu and time are already those of the
 * sample_id; or it puts into the recording what the record says of it. */
struct parse {
	struct mt_recording *recording;
	const struct mt_perf_record *record;
	uint16_t misc;
	struct mt_cursor body;
	struct mt_sideband out;
};

typedef enum mt_parsed parser(struct parse *it);

static enum mt_parsed keep_text(struct parse *it, const char **text)
{
	if (it->body.failed)
		return MT_GARBLED;
	*text = mt_arena_text(&it->recording->arena, (const char *)it->body.at,
			      mt_cursor_left(&it->body));
	return *text ? MT_PARSED : MT_NO_MEMORY;
}

static void read_pid_tid(struct parse *it)
{
	it->out.pid = (int32_t)mt_cursor_u32(&it->body);
	it->out.tid = (int32_t)mt_cursor_u32(&it->body);
}

static void read_mapping(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_MMAP;
	read_pid_tid(it);
	it->out.mmap.start = mt_cursor_u64(&it->body);
	it->out.mmap.length = mt_cursor_u64(&it->body);
	it->out.mmap.offset = mt_cursor_u64(&it->body);
	it->out.mmap.kernel = (it->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	it->out.mmap.executable = !(it->misc & PERF_RECORD_MISC_MMAP_DATA);
}

/* Mappings in a virtual machine under us belong to no process that is traced. */
static enum mt_parsed parse_mmap(struct parse *it)
{
	if (MAPPED_BY_GUEST(it->misc))
		return MT_IGNORED;
	read_mapping(it);
	return keep_text(it, &it->out.mmap.path);
}

static enum mt_parsed parse_mmap2(struct parse *it)
{
	uint8_t identity[24]; /* device and inode, or the build id */

	if (MAPPED_BY_GUEST(it->misc))
		return MT_IGNORED;
	read_mapping(it);
	mt_cursor_copy(&it->body, identity, sizeof(identity));
	uint32_t protection = mt_cursor_u32(&it->body);
	mt_cursor_u32(&it->body); /* flags */
	if (!it->out.mmap.kernel)
		it->out.mmap.executable = protection & PROT_EXEC;
	if (it->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (identity[0] > MT_PERF_BUILD_ID_SIZE)
			return MT_GARBLED;
		it->out.mmap.build_id_size = identity[0];
		memcpy(it->out.mmap.build_id, identity + 4, identity[0]);
	}
	return keep_text(it, &it->out.mmap.path);
}

static enum mt_parsed parse_comm(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_COMM;
	read_pid_tid(it);
	it->out.comm.exec = it->misc & PERF_RECORD_MISC_COMM_EXEC;
	return keep_text(it, &it->out.comm.name);
}

static enum mt_parsed parse_fork(struct parse *it)
{
	it->out.kind =
	    it->record->header.type == PERF_RECORD_FORK ? MT_SIDEBAND_FORK : MT_SIDEBAND_EXIT;
	it->out.pid = (int32_t)mt_cursor_u32(&it->body);
	it->out.fork.parent_pid = (int32_t)mt_cursor_u32(&it->body);
	it->out.tid = (int32_t)mt_cursor_u32(&it->body);
	it->out.fork.parent_tid = (int32_t)mt_cursor_u32(&it->body);
	mt_cursor_u64(
	    &it->body); /* the time, as in the sample_id; without one no record has a time */
	return MT_PARSED;
}

static enum mt_parsed parse_switch(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_SWITCH;
	it->out.context_switch.out = it->misc & PERF_RECORD_MISC_SWITCH_OUT;
	it->out.context_switch.preempted = it->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	it->out.context_switch.other_pid = it->out.context_switch.other_tid = -1;
	if (it->record->header.type == PERF_RECORD_SWITCH_CPU_WIDE) {
		it->out.context_switch.other_pid = (int32_t)mt_cursor_u32(&it->body);
		it->out.context_switch.other_tid = (int32_t)mt_cursor_u32(&it->body);
	}
	return MT_PARSED;
}

static enum mt_parsed parse_itrace_start(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_ITRACE_START;
	read_pid_tid(it);
	return MT_PARSED;
}

static enum mt_parsed parse_aux(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_AUX;
	it->out.aux.offset = mt_cursor_u64(&it->body);
	it->out.aux.size = mt_cursor_u64(&it->body);
	it->out.aux.flags = mt_cursor_u64(&it->body);
	return MT_PARSED;
}

static enum mt_parsed parse_lost(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_LOST;
	mt_cursor_u64(&it->body); /* the event's id */
	it->out.lost.lost = mt_cursor_u64(&it->body);
	it->recording->info.events_lost += it->out.lost.lost;
	return MT_PARSED;
}

/* Samples alone are missing, no sideband: not a gap. */
static enum mt_parsed parse_lost_samples(struct parse *it)
{
	it->recording->info.events_lost += mt_cursor_u64(&it->body);
	return it->body.failed ? MT_GARBLED : MT_IGNORED;
}

static enum mt_parsed parse_sample(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_SAMPLE;
	return mt_sample_parse(it->recording, it->record, &it->out);
}

/* The oldest form has no time, and its message where others have the time. */
static enum mt_parsed parse_auxtrace_error(struct parse *it)
{
	it->out.kind = MT_SIDEBAND_AUXTRACE_ERROR;
	mt_cursor_u64(&it->body); /* type, code */
	it->out.cpu = (int32_t)mt_cursor_u32(&it->body);
	read_pid_tid(it);
	uint32_t form = mt_cursor_u32(&it->body);
	it->out.error.ip = mt_cursor_u64(&it->body);
	if (form)
		it->out.time_ns = mt_cursor_u64(&it->body);
	if (it->body.end - it->body.at > 64)
		it->body.end = it->body.at + 64;
	return keep_text(it, &it->out.error.message);
}

static enum mt_parsed take_attr(struct parse *it)
{
	return mt_recording_add_attr(it->recording, &it->body);
}

static enum mt_parsed take_event_update(struct parse *it)
{
	uint64_t type = mt_cursor_u64(&it->body);
	int64_t attr = mt_recording_find_id(it->recording, mt_cursor_u64(&it->body));

	if (it->body.failed)
		return MT_GARBLED;
	if (type != MT_PERF_EVENT_UPDATE_NAME || attr < 0)
		return MT_IGNORED;
	return keep_text(it, &it->recording->attrs.items[attr].name);
}

static enum mt_parsed take_build_id(struct parse *it)
{
	return mt_recording_add_build_id(it->recording, it->misc, &it->body);
}

static enum mt_parsed take_feature(struct parse *it)
{
	uint64_t feature = mt_cursor_u64(&it->body);

	return it->body.failed ? MT_GARBLED
			       : mt_recording_parse_feature(it->recording, feature, &it->body);
}

/* Older perfs know fewer of the numbers: what is not there is 0. */
static enum mt_parsed take_auxtrace_info(struct parse *it)
{
	uint32_t type = mt_cursor_u32(&it->body);

	mt_cursor_u32(&it->body); /* reserved */
	if (it->body.failed)
		return MT_GARBLED;
	if (type != MT_PERF_AUXTRACE_INTEL_PT)
		return MT_IGNORED;
	size_t size = mt_cursor_left(&it->body) & ~(sizeof(uint64_t) - 1);
	if (size > sizeof(it->recording->pt_info))
		size = sizeof(it->recording->pt_info);
	mt_cursor_copy(&it->body, it->recording->pt_info, size);
	it->recording->has_pt_info = true;
	return mt_recording_take_filters(it->recording, &it->body);
}

static enum mt_parsed take_auxtrace(struct parse *it)
{
	struct mt_auxtrace piece = {
	    .file_offset = it->record->offset + it->record->header.size,
	    .part = it->recording->part,
	    .size = it->record->data_size,
	};

	mt_cursor_u64(&it->body); /* its size, of which the file may have less */
	piece.offset = mt_cursor_u64(&it->body);
	piece.reference = mt_cursor_u64(&it->body);
	piece.idx = mt_cursor_u32(&it->body);
	piece.tid = (int32_t)mt_cursor_u32(&it->body);
	piece.cpu = (int32_t)mt_cursor_u32(&it->body);
	/* -1: of a CPU; of a thread, on whichever CPU */
	if (it->body.failed || (piece.tid != -1 && !mt_tid_is_thread(piece.tid)) ||
	    piece.cpu < -1 || piece.cpu >= CPUS_MAX)
		return MT_GARBLED;
	return mt_array_push(&it->recording->auxtraces, piece) ? MT_NO_MEMORY : MT_PARSED;
}

/* Older perfs end it after the zero, and write none whose zero is not known. */
static enum mt_parsed take_time_conv(struct parse *it)
{
	uint64_t shift = mt_cursor_u64(&it->body);
	uint64_t mult = mt_cursor_u64(&it->body);
	uint64_t zero = mt_cursor_u64(&it->body);

	if (it->body.failed || shift >= 64 || mult > UINT32_MAX)
		return MT_GARBLED;
	mt_cursor_skip_u64s(&it->body, 2); /* cycles, mask */
	const uint8_t *is_zero_known = mt_cursor_bytes(&it->body, 1);
	if (is_zero_known && !*is_zero_known)
		return MT_IGNORED;
	it->recording->time_conv = (struct mt_time_conversion){
	    .shift = (uint16_t)shift,
	    .mult = (uint32_t)mult,
	    .zero_ns = zero,
	};
	return MT_PARSED;
}

/* A record of the kernel: its own fields, then its sample_id. */
static parser *const kernel_parsers[] = {
    [PERF_RECORD_MMAP] = parse_mmap,
    [PERF_RECORD_LOST] = parse_lost,
    [PERF_RECORD_COMM] = parse_comm,
    [PERF_RECORD_EXIT] = parse_fork,
    [PERF_RECORD_FORK] = parse_fork,
    [PERF_RECORD_SAMPLE] = parse_sample,
    [PERF_RECORD_MMAP2] = parse_mmap2,
    [PERF_RECORD_AUX] = parse_aux,
    [PERF_RECORD_ITRACE_START] = parse_itrace_start,
    [PERF_RECORD_LOST_SAMPLES] = parse_lost_samples,
    [PERF_RECORD_SWITCH] = parse_switch,
    [PERF_RECORD_SWITCH_CPU_WIDE] = parse_switch,
};
#define KERNEL_PARSER_COUNT (sizeof(kernel_parsers) / sizeof(kernel_parsers[0]))

static parser *user_parser(uint32_t type)
{
	switch (type) {
	case MT_PERF_RECORD_HEADER_ATTR:
		return take_attr;
	case MT_PERF_RECORD_HEADER_BUILD_ID:
		return take_build_id;
	case MT_PERF_RECORD_AUXTRACE_INFO:
		return take_auxtrace_info;
	case MT_PERF_RECORD_AUXTRACE:
		return take_auxtrace;
	case MT_PERF_RECORD_AUXTRACE_ERROR:
		return parse_auxtrace_error;
	case MT_PERF_RECORD_EVENT_UPDATE:
		return take_event_update;
	case MT_PERF_RECORD_TIME_CONV:
		return take_time_conv;
	case MT_PERF_RECORD_HEADER_FEATURE:
		return take_feature;
	default:
		return NULL;
	}
}

enum mt_parsed mt_recording_take(struct mt_recording *recording,
				 const struct mt_perf_record *record)
{
	uint32_t type = record->header.type;
	enum mt_parsed parsed;

	if (type == PERF_RECORD_SAMPLE && mt_recording_take_call(recording, record, &parsed))
		return parsed;
	struct parse it = {
	    .recording = recording,
	    .record = record,
	    .misc = record->header.misc,
	    .body = mt_perf_record_body(record),
	};

	parser *parse = type < KERNEL_PARSER_COUNT ? kernel_parsers[type] : user_parser(type);
	if (!parse)
		return MT_IGNORED;
	if (type < MT_PERF_RECORD_USER_FIRST) {
		struct mt_sample_id id = {.pid = -1, .tid = -1, .cpu = -1};

		parsed = parse == parse_sample ? MT_PARSED
					       : mt_sample_id_parse(recording, &it.body, &id);
		if (parsed != MT_PARSED)
			return parsed;
		it.out.time_ns = id.time_ns;
		it.out.pid = id.pid;
		it.out.tid = id.tid;
		it.out.cpu = id.cpu;
	}
	parsed = parse(&it);
	if (parsed != MT_PARSED ||
	    (type >= MT_PERF_RECORD_USER_FIRST && type != MT_PERF_RECORD_AUXTRACE_ERROR))
		return parsed;
	if (type < MT_PERF_RECORD_USER_FIRST && it.body.failed)
		return MT_GARBLED;
	recording->info.has_time |= it.out.time_ns != 0;
	return mt_array_push(&recording->sideband, it.out) ? MT_NO_MEMORY : MT_PARSED;
}
