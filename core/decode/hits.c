/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The track of triggers' hits: when, where, in which thread, on what condition, and what was
 * printed. On the thread's own track the hit stands too, among the calls: where the program itself
 * asked for a snapshot, a sink before the run's gives it the program's reason there. */
#include "decode/private.h"
#include "trace/sink_ops.h"
#include "trace/words.h"

#include <stdlib.h>

#include <string.h>

const char *mt_decode_next_string(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, '\0', (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : "";
}

static struct mt_hit read_hit(const struct mt_sideband *note, const char **reason)
{
	const char *at = (const char *)note->sample.raw, *end = at + note->sample.raw_size;
	struct mt_hit hit = {.tid = note->tid};

	hit.location = mt_decode_next_string(&at, end);
	hit.condition = mt_decode_next_string(&at, end);
	hit.values = mt_decode_next_string(&at, end);
	hit.registers = mt_decode_next_string(&at, end);
	*reason = mt_decode_next_string(&at, end);
	return hit;
}

static struct mt_error *add(struct mt_decode_run *run, const struct mt_sideband *note)
{
	const char *reason;
	struct mt_decode_hit hit = {.note = note, .hit = read_hit(note, &reason)};

	if (!*hit.hit.location)
		return NULL;
	/* The user's triggers where a program dies have none. */
	if (*reason) {
		hit.asked.is_death = mt_words_is_death(hit.hit.location);
		hit.asked.name =
		    hit.asked.is_death
			? reason
			: mt_arena_format(&run->arena, MT_WORDS_SNAPSHOT_FORMAT, reason);
		hit.asked.category = "mark";
		hit.asked.reason = reason;
		if (!hit.asked.name)
			return mt_error_no_memory();
	}
	return mt_array_push(&run->hits, hit) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_decode_find_hits(struct mt_decode_run *run)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++)
		if (mt_decode_note_of(run, &records[i]) == MT_NOTE_TRIGGER &&
		    records[i].sample.raw && mt_decode_has_time(&records[i]))
			mt_try(add(run, &records[i]));
	return NULL;
}

/* ---- On the thread's own track ---- */

struct mt_hits_filter {
	struct mt_slice_sink to;
	struct mt_decode_run *run;
	pid_t tid;
};
MT_SLICE_FILTER(struct mt_hits_filter, to);

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	struct mt_hits_filter *filter = self;

	filter->tid = which->tid;
	return mt_slice_pass_thread(self, which);
}

/* A goroutine's are of any thread, but at the very times, and so are a coroutine's. */
static bool is_shown_here(const struct mt_hits_filter *filter, const struct mt_decode_hit *hit,
			  const struct mt_instant *what)
{
	return mt_tid_is_goroutine(filter->tid) || mt_tid_is_fiber(filter->tid)
		   ? hit->note->time_ns == what->time_ns
		   : hit->hit.tid == filter->tid;
}

/* A trigger's hits in a thread come in their order. */
static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_hits_filter *filter = self;
	struct mt_instant shown = *what;

	if (what->kind != MT_INSTANT_TRIGGER)
		return mt_slice_pass_instant(self, what);
	mt_array_each (hit, &filter->run->hits) {
		if (hit->was_shown || hit->note->sample.weight != what->value ||
		    !is_shown_here(filter, hit, what))
			continue;
		hit->was_shown = true;
		shown.side = hit->asked.name ? &hit->asked : NULL;
		break;
	}
	return mt_slice_pass_instant(self, &shown);
}

struct mt_error *mt_hits_filter_create(struct mt_decode_run *run, struct mt_hits_filter **out)
{
	bool has_reason = false;

	*out = NULL;
	mt_array_each (hit, &run->hits)
		has_reason |= hit->asked.name != NULL;
	if (!has_reason)
		return NULL;
	struct mt_hits_filter *filter = calloc(1, sizeof(*filter));
	*out = filter;
	if (!filter)
		return mt_error_no_memory();
	filter->to = run->calls_sink;
	filter->run = run;
	return NULL;
}

struct mt_slice_sink mt_hits_filter_sink(struct mt_hits_filter *filter)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = mt_slice_pass_segment_begin,
	    .begin = mt_slice_pass_begin,
	    .end = mt_slice_pass_end,
	    .instant = instant,
	    .segment_end = mt_slice_pass_segment_end,
	};

	return (struct mt_slice_sink){&ops, filter};
}

/* ---- The track ---- */

static struct mt_error *put(struct mt_decode_run *run, const struct mt_decode_hit *hit)
{
	const struct mt_sideband *note = hit->note;
	const struct mt_process_thread *thread = mt_processes_thread(run->processes, note->tid);
	struct mt_instant instant = {
	    .time_ns = note->time_ns,
	    .kind = MT_INSTANT_TRIGGER,
	    .detail = (uint32_t)note->sample.weight,
	    .value = note->sample.weight,
	    .address = note->sample.ip,
	    .hit = &hit->hit,
	    .side = hit->asked.name ? &hit->asked : NULL,
	};

	if (thread)
		mt_decode_name_instant(run, thread, &instant);
	return run->sink.ops->instant(run->sink.self, &instant);
}

struct mt_error *mt_decode_hits(struct mt_decode_run *run)
{
	if (!run->hits.count || run->options->tid || run->options->goroutine ||
	    run->options->coroutine || !run->timed)
		return NULL;
	const struct mt_sideband *first = run->hits.items[0].note;
	const struct mt_thread track = {.pid = first->pid, .tid = MT_HITS_TID, .name = "triggers"};
	const struct mt_thread_segment segment = {
	    .begin_ns = first->time_ns, .end_ns = mt_array_last(&run->hits)->note->time_ns};
	mt_try(run->sink.ops->thread(run->sink.self, &track));
	mt_try(run->sink.ops->segment_begin(run->sink.self, &segment));
	mt_array_each (hit, &run->hits)
		mt_try(put(run, hit));
	return run->sink.ops->segment_end(run->sink.self, &segment);
}
