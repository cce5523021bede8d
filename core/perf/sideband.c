/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a record means.  Source: perf_event_open(2), "MMAP layout"; for the records of the perf tool
 * perf.data-file-format.txt. */
#include "perf/recording_private.h"

#include <sys/mman.h>

#define MAPPED_BY_GUEST(misc)                                                                      \
	(((misc)&PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_GUEST_KERNEL ||                \
	 ((misc)&PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_GUEST_USER)

static enum mt_parsed keep_text(struct mt_recording *recording, struct mt_cursor *body,
				const char **text)
{
	if (body->failed)
		return MT_GARBLED;
	*text = mt_arena_text(&recording->arena, (const char *)body->at, mt_cursor_left(body));
	return *text ? MT_PARSED : MT_NO_MEMORY;
}

static void read_pid_tid(struct mt_cursor *body, struct mt_sideband *out)
{
	out->pid = (int32_t)mt_cursor_u32(body);
	out->tid = (int32_t)mt_cursor_u32(body);
}

static void read_mapping(struct mt_cursor *body, uint16_t misc, struct mt_sideband *out)
{
	out->kind = MT_SIDEBAND_MMAP;
	read_pid_tid(body, out);
	out->mmap.start = mt_cursor_u64(body);
	out->mmap.length = mt_cursor_u64(body);
	out->mmap.offset = mt_cursor_u64(body);
	out->mmap.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	out->mmap.executable = !(misc & PERF_RECORD_MISC_MMAP_DATA);
}

/* Mappings in a virtual machine under us belong to no process that is traced. */
static enum mt_parsed parse_mmap(struct mt_recording *recording,
				 const struct mt_perf_record *record, struct mt_cursor *body,
				 struct mt_sideband *out)
{
	if (MAPPED_BY_GUEST(record->header.misc))
		return MT_IGNORED;
	read_mapping(body, record->header.misc, out);
	return keep_text(recording, body, &out->mmap.path);
}

static enum mt_parsed parse_mmap2(struct mt_recording *recording,
				  const struct mt_perf_record *record, struct mt_cursor *body,
				  struct mt_sideband *out)
{
	uint8_t identity[24]; /* device and inode, or the build id */

	if (MAPPED_BY_GUEST(record->header.misc))
		return MT_IGNORED;
	read_mapping(body, record->header.misc, out);
	mt_cursor_copy(body, identity, sizeof(identity));
	uint32_t protection = mt_cursor_u32(body);
	mt_cursor_u32(body); /* flags */
	if (!out->mmap.kernel)
		out->mmap.executable = protection & PROT_EXEC;
	if (record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (identity[0] > MT_PERF_BUILD_ID_SIZE)
			return MT_GARBLED;
		out->mmap.build_id_size = identity[0];
		memcpy(out->mmap.build_id, identity + 4, identity[0]);
	}
	return keep_text(recording, body, &out->mmap.path);
}

static enum mt_parsed parse_comm(struct mt_recording *recording,
				 const struct mt_perf_record *record, struct mt_cursor *body,
				 struct mt_sideband *out)
{
	out->kind = MT_SIDEBAND_COMM;
	read_pid_tid(body, out);
	out->comm.exec = record->header.misc & PERF_RECORD_MISC_COMM_EXEC;
	return keep_text(recording, body, &out->comm.name);
}

static enum mt_parsed parse_fork(struct mt_recording *recording,
				 const struct mt_perf_record *record, struct mt_cursor *body,
				 struct mt_sideband *out)
{
	(void)recording;
	out->kind = record->header.type == PERF_RECORD_FORK ? MT_SIDEBAND_FORK : MT_SIDEBAND_EXIT;
	out->pid = (int32_t)mt_cursor_u32(body);
	out->fork.parent_pid = (int32_t)mt_cursor_u32(body);
	out->tid = (int32_t)mt_cursor_u32(body);
	out->fork.parent_tid = (int32_t)mt_cursor_u32(body);
	mt_cursor_u64(body); /* the time, as in the sample_id; without one no record has a time */
	return MT_PARSED;
}

static enum mt_parsed parse_switch(struct mt_recording *recording,
				   const struct mt_perf_record *record, struct mt_cursor *body,
				   struct mt_sideband *out)
{
	(void)recording;
	out->kind = MT_SIDEBAND_SWITCH;
	out->context_switch.out = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT;
	out->context_switch.preempted = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	out->context_switch.other_pid = out->context_switch.other_tid = -1;
	if (record->header.type == PERF_RECORD_SWITCH_CPU_WIDE) {
		out->context_switch.other_pid = (int32_t)mt_cursor_u32(body);
		out->context_switch.other_tid = (int32_t)mt_cursor_u32(body);
	}
	return MT_PARSED;
}

static enum mt_parsed parse_itrace_start(struct mt_recording *recording,
					 const struct mt_perf_record *record,
					 struct mt_cursor *body, struct mt_sideband *out)
{
	(void)recording;
	(void)record;
	out->kind = MT_SIDEBAND_ITRACE_START;
	read_pid_tid(body, out);
	return MT_PARSED;
}

static enum mt_parsed parse_aux(struct mt_recording *recording, const struct mt_perf_record *record,
				struct mt_cursor *body, struct mt_sideband *out)
{
	(void)recording;
	(void)record;
	out->kind = MT_SIDEBAND_AUX;
	out->aux.offset = mt_cursor_u64(body);
	out->aux.size = mt_cursor_u64(body);
	out->aux.flags = mt_cursor_u64(body);
	return MT_PARSED;
}

static enum mt_parsed parse_lost(struct mt_recording *recording,
				 const struct mt_perf_record *record, struct mt_cursor *body,
				 struct mt_sideband *out)
{
	(void)record;
	out->kind = MT_SIDEBAND_LOST;
	mt_cursor_u64(body); /* the event's id */
	out->lost.lost = mt_cursor_u64(body);
	recording->info.events_lost += out->lost.lost;
	return MT_PARSED;
}

/* Samples alone are missing, no sideband: not a gap. */
static enum mt_parsed parse_lost_samples(struct mt_recording *recording,
					 const struct mt_perf_record *record,
					 struct mt_cursor *body, struct mt_sideband *out)
{
	(void)record;
	(void)out;
	recording->info.events_lost += mt_cursor_u64(body);
	return body->failed ? MT_GARBLED : MT_IGNORED;
}

static enum mt_parsed parse_sample(struct mt_recording *recording,
				   const struct mt_perf_record *record, struct mt_cursor *body,
				   struct mt_sideband *out)
{
	(void)record;
	out->kind = MT_SIDEBAND_SAMPLE;
	return mt_sample_parse(recording, body, out);
}

/* The oldest form has no time, and its message in the time's place. */
static enum mt_parsed parse_auxtrace_error(struct mt_recording *recording,
					   const struct mt_perf_record *record,
					   struct mt_cursor *body, struct mt_sideband *out)
{
	(void)record;
	out->kind = MT_SIDEBAND_AUXTRACE_ERROR;
	mt_cursor_u64(body); /* type, code */
	out->cpu = (int32_t)mt_cursor_u32(body);
	read_pid_tid(body, out);
	uint32_t form = mt_cursor_u32(body);
	out->error.ip = mt_cursor_u64(body);
	if (form)
		out->time_ns = mt_cursor_u64(body);
	if (body->end - body->at > 64)
		body->end = body->at + 64;
	return keep_text(recording, body, &out->error.message);
}

static enum mt_parsed take_attr(struct mt_recording *recording, const struct mt_perf_record *record,
				struct mt_cursor *body, struct mt_sideband *out)
{
	(void)record;
	(void)out;
	return mt_recording_add_attr(recording, body);
}

static enum mt_parsed take_event_update(struct mt_recording *recording,
					const struct mt_perf_record *record, struct mt_cursor *body,
					struct mt_sideband *out)
{
	const uint64_t update_name = 2; /* PERF_EVENT_UPDATE__NAME */
	uint64_t type = mt_cursor_u64(body);
	int64_t attr = mt_recording_find_id(recording, mt_cursor_u64(body));

	(void)record;
	(void)out;
	if (body->failed)
		return MT_GARBLED;
	if (type != update_name || attr < 0)
		return MT_IGNORED;
	return keep_text(recording, body, &recording->attrs.items[attr].name);
}

static enum mt_parsed take_build_id(struct mt_recording *recording,
				    const struct mt_perf_record *record, struct mt_cursor *body,
				    struct mt_sideband *out)
{
	(void)out;
	return mt_recording_add_build_id(recording, record->header.misc, body);
}

static enum mt_parsed take_feature(struct mt_recording *recording,
				   const struct mt_perf_record *record, struct mt_cursor *body,
				   struct mt_sideband *out)
{
	uint64_t feature = mt_cursor_u64(body);

	(void)record;
	(void)out;
	return body->failed ? MT_GARBLED : mt_recording_parse_feature(recording, feature, body);
}

/* Older perfs know fewer of the numbers: what is not there is 0. */
static enum mt_parsed take_auxtrace_info(struct mt_recording *recording,
					 const struct mt_perf_record *record,
					 struct mt_cursor *body, struct mt_sideband *out)
{
	uint32_t type = mt_cursor_u32(body);

	(void)record;
	(void)out;
	mt_cursor_u32(body); /* reserved */
	if (body->failed)
		return MT_GARBLED;
	if (type != MT_PERF_AUXTRACE_INTEL_PT)
		return MT_IGNORED;
	size_t size = mt_cursor_left(body) & ~(sizeof(uint64_t) - 1);
	if (size > sizeof(recording->pt_info))
		size = sizeof(recording->pt_info);
	mt_cursor_copy(body, recording->pt_info, size);
	recording->has_pt_info = true;
	return MT_PARSED;
}

static enum mt_parsed take_auxtrace(struct mt_recording *recording,
				    const struct mt_perf_record *record, struct mt_cursor *body,
				    struct mt_sideband *out)
{
	struct mt_auxtrace piece = {
	    .file_offset = record->offset + record->header.size,
	    .size = record->data_size,
	};

	(void)out;
	mt_cursor_u64(body); /* its size, of which the file may have less */
	piece.offset = mt_cursor_u64(body);
	piece.reference = mt_cursor_u64(body);
	piece.idx = mt_cursor_u32(body);
	piece.tid = (int32_t)mt_cursor_u32(body);
	piece.cpu = (int32_t)mt_cursor_u32(body);
	if (body->failed)
		return MT_GARBLED;
	return mt_array_push(&recording->auxtraces, piece) ? MT_NO_MEMORY : MT_PARSED;
}

static enum mt_parsed take_time_conv(struct mt_recording *recording,
				     const struct mt_perf_record *record, struct mt_cursor *body,
				     struct mt_sideband *out)
{
	uint64_t shift = mt_cursor_u64(body);
	uint64_t mult = mt_cursor_u64(body);
	uint64_t zero = mt_cursor_u64(body);

	(void)record;
	(void)out;
	if (body->failed || shift >= 64 || mult > UINT32_MAX)
		return MT_GARBLED;
	recording->time_conv = (struct mt_time_conversion){
	    .shift = (uint16_t)shift,
	    .mult = (uint32_t)mult,
	    .zero_ns = zero,
	};
	return MT_PARSED;
}

typedef enum mt_parsed parser(struct mt_recording *recording, const struct mt_perf_record *record,
			      struct mt_cursor *body, struct mt_sideband *out);

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

static enum mt_parsed push(struct mt_recording *recording, const struct mt_sideband *record)
{
	recording->info.has_time |= record->time_ns != 0;
	return mt_array_push(&recording->sideband, *record) ? MT_NO_MEMORY : MT_PARSED;
}

static enum mt_parsed take_kernel_record(struct mt_recording *recording,
					 const struct mt_perf_record *record)
{
	uint32_t type = record->header.type;
	parser *parse = type < KERNEL_PARSER_COUNT ? kernel_parsers[type] : NULL;
	struct mt_cursor body = mt_perf_record_body(record);
	struct mt_sideband out = {0};
	struct mt_sample_id id = {.pid = -1, .tid = -1, .cpu = -1};
	enum mt_parsed parsed = MT_PARSED;

	if (!parse)
		return MT_IGNORED;
	if (type != PERF_RECORD_SAMPLE)
		parsed = mt_sample_id_parse(recording, &body, &id);
	if (parsed != MT_PARSED)
		return parsed;
	out.time_ns = id.time_ns;
	out.pid = id.pid;
	out.tid = id.tid;
	out.cpu = id.cpu;
	parsed = parse(recording, record, &body, &out);
	if (parsed != MT_PARSED)
		return parsed;
	return body.failed ? MT_GARBLED : push(recording, &out);
}

static enum mt_parsed take_error(struct mt_recording *recording,
				 const struct mt_perf_record *record)
{
	struct mt_cursor body = mt_perf_record_body(record);
	struct mt_sideband out = {0};
	enum mt_parsed parsed = parse_auxtrace_error(recording, record, &body, &out);

	return parsed == MT_PARSED ? push(recording, &out) : parsed;
}

enum mt_parsed mt_recording_take(struct mt_recording *recording,
				 const struct mt_perf_record *record)
{
	uint32_t type = record->header.type;
	struct mt_cursor body = mt_perf_record_body(record);

	if (type < MT_PERF_RECORD_USER_FIRST)
		return take_kernel_record(recording, record);
	if (type == MT_PERF_RECORD_AUXTRACE_ERROR)
		return take_error(recording, record);
	parser *take = user_parser(type);
	return take ? take(recording, record, &body, NULL) : MT_IGNORED;
}
