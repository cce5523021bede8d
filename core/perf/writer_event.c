/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events that a recording of ours is of: their attributes and names. */
#include "perf/writer_private.h"

const char *const mt_recording_note_names[MT_NOTE_COUNT] = {
    [MT_NOTE_SIGNAL] = "mtrace:signal",           [MT_NOTE_TRIGGER] = "mtrace:trigger",
    [MT_NOTE_SNAPSHOT] = "mtrace:snapshot",       [MT_NOTE_EXIT] = "mtrace:exit",
    [MT_NOTE_THROTTLE] = "mtrace:throttle",       [MT_NOTE_OFF_CPU] = "mtrace:off-cpu",
    [MT_NOTE_ON_CPU] = "mtrace:on-cpu",           [MT_NOTE_FAULT] = "mtrace:fault",
    [MT_NOTE_SYSCALL] = "mtrace:syscall",         [MT_NOTE_SYSRET] = "mtrace:sysret",
    [MT_NOTE_COUNTER] = "mtrace:counter",         [MT_NOTE_MARK] = "mtrace:mark",
    [MT_NOTE_MISSED] = "mtrace:missed",           [MT_NOTE_VALUE_IS] = "mtrace:value-is",
    [MT_NOTE_OPEN_CALL] = "mtrace:open-call",     [MT_NOTE_OWN_STACK] = "mtrace:own-stack",
    [MT_NOTE_OBJECT] = "mtrace:object",           [MT_NOTE_OBJECT_GONE] = "mtrace:object-gone",
    [MT_NOTE_PYTHON_TEXT] = "mtrace:python-text", [MT_NOTE_SPAN] = "mtrace:span",
    [MT_NOTE_UNWRITTEN] = "mtrace:unwritten",     [MT_NOTE_SPAN_END] = "mtrace:span-end",
    [MT_NOTE_PYTHON_AT] = "mtrace:python-at",
};

const char *mt_writer_event_name(enum mt_writer_event event)
{
	unsigned note = event - MT_WRITER_FIRST_NOTE;
	unsigned call = event - MT_WRITER_FIRST_CALL;

	if (note < MT_NOTE_COUNT)
		return mt_recording_note_names[note];
	if (call < MT_PERF_CALL_COUNT)
		return mt_perf_call_name(call);
	if (event >= MT_WRITER_FIRST_STACK)
		return event - MT_WRITER_FIRST_STACK == MT_STACK_TIMED ? "task-clock:u"
								       : MT_PERF_STOP_NAME;
	return event == MT_WRITER_PT ? "intel_pt//u" : "dummy:u";
}

static unsigned stack_count(const struct mt_recording_writer *writer)
{
	return writer->stacks.size ? MT_WRITER_STACKS : 0;
}

unsigned mt_writer_event_count(const struct mt_recording_writer *writer)
{
	return MT_WRITER_PT + writer->pt.present + stack_count(writer) +
	       (writer->calls ? MT_PERF_CALL_COUNT : 0);
}

enum mt_writer_event mt_writer_event_at(const struct mt_recording_writer *writer, unsigned index)
{
	if (index < stack_count(writer))
		return MT_WRITER_FIRST_STACK + index;
	index -= stack_count(writer);
	if (writer->pt.present && index == 0)
		return MT_WRITER_PT;
	index -= writer->pt.present;
	return index < MT_WRITER_PT ? index : index + 1;
}

struct perf_event_attr mt_writer_attr(const struct mt_recording_writer *writer,
				      enum mt_writer_event event)
{
	const struct mt_recording_pt *pt = &writer->pt;
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_period = 1,
	    .sample_type = MT_WRITER_SAMPLE_TYPE,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .sample_id_all = 1,
	};

	if (event == MT_WRITER_PT) {
		attr.type = MT_WRITER_PT_PMU_TYPE;
		attr.sample_type = MT_WRITER_ID_TYPE;
		attr.config = MT_WRITER_PT_PT | MT_WRITER_PT_BRANCH;
		if (pt->tsc)
			attr.config |= MT_WRITER_PT_TSC;
		if (pt->mtc)
			attr.config |= MT_WRITER_PT_MTC | (uint64_t)pt->mtc_period
							      << MT_WRITER_PT_MTC_SHIFT;
		if (pt->cyc)
			attr.config |= MT_WRITER_PT_CYC;
		if (!pt->return_compression)
			attr.config |= MT_WRITER_PT_NORETCOMP;
		attr.exclude_kernel = !pt->kernel;
	} else if (event == MT_WRITER_TRACKING) {
		attr.mmap = attr.mmap2 = 1;
		attr.comm = attr.comm_exec = 1;
		attr.task = attr.context_switch = 1;
	} else if (event >= MT_WRITER_FIRST_STACK) {
		attr = writer->stacks;
		if (event - MT_WRITER_FIRST_STACK == MT_STACK_STOP)
			attr.config = MT_PERF_STOP_CONFIG;
	} else if (event >= MT_WRITER_FIRST_CALL) {
		attr.type = MT_PERF_TYPE_CALLS;
		attr.config = event - MT_WRITER_FIRST_CALL;
		attr.sample_type = attr.config == MT_PERF_CALL_BATCH ? MT_PERF_CALL_BATCH_TYPE
								     : MT_PERF_CALL_SAMPLE_TYPE;
	} else {
		attr.config = MT_WRITER_NOTE_CONFIG + event - MT_WRITER_FIRST_NOTE;
	}
	return attr;
}
