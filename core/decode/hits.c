/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The track of triggers' hits: when, where, in which thread, on what condition, and what was
 * printed. On the thread's own track the hit stands too, among the calls. */
#include "decode/private.h"

#include <string.h>

const char *mt_decode_next_string(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, '\0', (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : "";
}

static struct mt_hit read_hit(const struct mt_sideband *note)
{
	const char *at = (const char *)note->sample.raw, *end = at + note->sample.raw_size;
	struct mt_hit hit = {.tid = note->tid};

	hit.location = mt_decode_next_string(&at, end);
	hit.condition = mt_decode_next_string(&at, end);
	hit.values = mt_decode_next_string(&at, end);
	hit.registers = mt_decode_next_string(&at, end);
	return hit;
}

static bool is_shown(const struct mt_decode_run *run, const struct mt_sideband *record)
{
	return mt_decode_note_of(run, record) == MT_NOTE_TRIGGER && record->sample.raw &&
	       *read_hit(record).location && mt_decode_has_time(record);
}

static struct mt_error *put(struct mt_decode_run *run, const struct mt_sideband *note,
			    const struct mt_hit *hit)
{
	const struct mt_process_thread *thread = mt_processes_thread(run->processes, note->tid);
	struct mt_instant instant = {
	    .time_ns = note->time_ns,
	    .kind = MT_INSTANT_TRIGGER,
	    .detail = (uint32_t)note->sample.weight,
	    .value = note->sample.weight,
	    .address = note->sample.ip,
	    .hit = hit,
	};

	if (thread)
		mt_decode_name_instant(run, thread, &instant);
	return run->sink.ops->instant(run->sink.self, &instant);
}

struct mt_error *mt_decode_hits(struct mt_decode_run *run)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);
	const struct mt_sideband *first = NULL, *last = NULL;

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		if (!is_shown(run, &records[i]))
			continue;
		if (mt_array_push(&run->hits, read_hit(&records[i])))
			return mt_error_no_memory();
		last = &records[i];
		first = first ? first : last;
	}
	if (!first || run->options->tid || !run->timed)
		return NULL;
	const struct mt_thread track = {.pid = first->pid, .tid = MT_HITS_TID, .name = "triggers"};
	const struct mt_thread_segment segment = {.begin_ns = first->time_ns,
						  .end_ns = last->time_ns};
	mt_try(run->sink.ops->thread(run->sink.self, &track));
	mt_try(run->sink.ops->segment_begin(run->sink.self, &segment));
	for (size_t i = 0, next = 0; next < run->hits.count; i++)
		if (is_shown(run, &records[i]))
			mt_try(put(run, &records[i], &run->hits.items[next++]));
	return run->sink.ops->segment_end(run->sink.self, &segment);
}
