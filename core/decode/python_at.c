/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions in Python a thread was in at a snapshot: a sink before the run's puts that, as an
 * instant, behind the signal or the hit that the snapshot is of. */
#include "decode/private.h"
#include "trace/sink_ops.h"

#include <stdlib.h>

struct place {
	const struct mt_sideband *note;
	struct mt_side_event said;
	bool was_shown;
};

struct mt_python_filter {
	struct mt_slice_sink to;
	MT_ARRAY(struct place) places;
	pid_t tid;
};
MT_SLICE_FILTER(struct mt_python_filter, to);

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	struct mt_python_filter *filter = self;

	filter->tid = which->tid;
	return mt_slice_pass_thread(self, which);
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_python_filter *filter = self;

	mt_try(mt_slice_pass_instant(self, what));
	if (what->kind != MT_INSTANT_SIGNAL && what->kind != MT_INSTANT_TRIGGER)
		return NULL;
	mt_array_each (place, &filter->places) {
		if (place->was_shown || place->note->tid != filter->tid ||
		    place->note->time_ns != what->time_ns)
			continue;
		place->was_shown = true;
		const struct mt_instant shown = {
		    .time_ns = what->time_ns,
		    .estimated = what->estimated,
		    .kind = MT_INSTANT_MARK,
		    .side = &place->said,
		};
		return mt_slice_pass_instant(self, &shown);
	}
	return NULL;
}

static struct mt_error *find_places(const struct mt_decode_run *run,
				    struct mt_python_filter *filter)
{
	const struct mt_sideband *records = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		const struct mt_sideband *note = &records[i];

		if (!note->sample.raw || !mt_decode_has_time(note) ||
		    mt_decode_note_of(run, note) != MT_NOTE_PYTHON_AT)
			continue;
		const char *at = (const char *)note->sample.raw;
		const struct place place = {
		    .note = note,
		    .said = {.name = mt_decode_next_string(&at, at + note->sample.raw_size),
			     .category = "mark"},
		};
		if (*place.said.name && mt_array_push(&filter->places, place))
			return mt_error_no_memory();
	}
	return NULL;
}

struct mt_error *mt_python_filter_create(struct mt_decode_run *run, struct mt_python_filter **out)
{
	struct mt_python_filter *filter = calloc(1, sizeof(*filter));

	*out = filter;
	if (!filter)
		return mt_error_no_memory();
	filter->to = run->calls_sink;
	mt_try(find_places(run, filter));
	if (!filter->places.count) {
		mt_python_filter_destroy(filter);
		*out = NULL;
	}
	return NULL;
}

void mt_python_filter_destroy(struct mt_python_filter *filter)
{
	if (!filter)
		return;
	mt_array_deinit(&filter->places);
	free(filter);
}

struct mt_slice_sink mt_python_filter_sink(struct mt_python_filter *filter)
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
