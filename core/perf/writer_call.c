/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events come by the million, so they are laid out many at a time. */
#include "perf/writer_private.h"

#define BATCH 256

static enum mt_perf_call event_of(const struct mt_recording_call *call)
{
	switch (call->kind) {
	case MT_RECORDING_CALL:
		return call->time_is_estimate ? MT_PERF_CALL_ESTIMATED : MT_PERF_CALL;
	case MT_RECORDING_RETURN:
		return call->time_is_estimate ? MT_PERF_RETURN_ESTIMATED : MT_PERF_RETURN;
	case MT_RECORDING_AGAIN:
		return MT_PERF_AGAIN;
	default:
		return MT_PERF_FRAME;
	}
}

static struct mt_perf_call_sample sample_of(const struct mt_recording_call *call, int32_t pid,
					    int32_t tid)
{
	return (struct mt_perf_call_sample){
	    .header = {.type = PERF_RECORD_SAMPLE,
		       .misc = PERF_RECORD_MISC_USER,
		       .size = sizeof(struct mt_perf_call_sample)},
	    .id = MT_WRITER_FIRST_CALL + event_of(call) + 1u,
	    .ip = call->address,
	    .pid = pid,
	    .tid = tid,
	    .time = call->time_ns,
	    .addr = call->stack,
	};
}

struct mt_error *mt_recording_writer_put_calls(struct mt_recording_writer *writer, int32_t pid,
					       int32_t tid, const struct mt_recording_call *calls,
					       size_t count)
{
	struct mt_perf_call_sample samples[BATCH];

	if (!writer->calls)
		return mt_error_new(MT_ERROR_INTERNAL,
				    "call events for a recording that was not made for them");
	if (!count)
		return NULL;
	mt_writer_note_time(writer, calls[0].time_ns);
	mt_writer_note_time(writer, calls[count - 1].time_ns);
	for (size_t done = 0; done < count; done += BATCH) {
		size_t batch = count - done < BATCH ? count - done : BATCH;

		for (size_t i = 0; i < batch; i++)
			samples[i] = sample_of(&calls[done + i], pid, tid);
		mt_try(mt_outfile_write(writer->file, samples, batch * sizeof(samples[0])));
	}
	return NULL;
}
