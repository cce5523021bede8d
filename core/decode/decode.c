/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/decode.h"

#include "decode/private.h"

static struct mt_error *check_kind(const struct mt_decode_run *run)
{
	const struct mt_recording *recording = run->recording;
	const char *path = mt_recording_info(recording)->path;

	if (mt_recording_call_thread_count(recording) || mt_decode_has_beside(run))
		return NULL;
	if (mt_recording_is_of_calls(recording))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s holds no calls: no function that could be recorded, and "
				    "was asked for, ran meanwhile",
				    path);
	if (!mt_recording_pt(recording)->present)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s holds no Intel PT trace: make one with \"mtdb run --record FILE\" "
		    "or \"perf record -e intel_pt//u\"",
		    path);
	if (!mt_recording_auxtrace_count(recording))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s holds no trace data: nothing ran while it was recorded, or it was cut off",
		    path);
	return NULL;
}

static struct mt_error *decode(struct mt_decode_run *run)
{
	mt_try(mt_machine_create(run->recording, run->options, &run->machine));
	if (run->rebuild == &mt_rebuild_from_calls)
		return mt_decode_calls(run);
	return mt_recording_auxtrace_count(run->recording) ? mt_decode_pt(run) : NULL;
}

/* Times of call events are in the clock of the notes already. */
static void choose(struct mt_decode_run *run)
{
	const struct mt_recording_info *info = mt_recording_info(run->recording);

	run->rebuild = &mt_rebuild_from_branches;
	run->timed = info->has_time && mt_time_conversion_is_known(&info->conversion);
	if (mt_recording_is_of_calls(run->recording)) {
		run->rebuild = &mt_rebuild_from_calls;
		run->timed = info->has_time;
	}
}

struct mt_error *mt_decode(struct mt_recording *recording, const struct mt_decode_options *options,
			   struct mt_slice_sink sink, struct mt_decode_stats *stats)
{
	static const struct mt_decode_options defaults;
	struct mt_decode_run run = {
	    .recording = recording,
	    .options = options ? options : &defaults,
	    .sink = sink,
	};
	struct mt_track *track, *next;

	mt_try(check_kind(&run));
	choose(&run);
	struct mt_error *error = decode(&run);
	if (!error)
		error = mt_decode_hits(&run);
	if (!error)
		error = mt_decode_beside(&run);
	if (!error && sink.ops->finish)
		error = sink.ops->finish(sink.self);

	HASH_ITER (hh, run.tracks, track, next)
		mt_track_destroy(&run, track);
	mt_array_deinit(&run.hits);
	mt_array_deinit(&run.counter_names);
	mt_arena_deinit(&run.arena);
	mt_pt_streams_deinit(&run.streams);
	if (run.machine)
		run.stats.missing_files = mt_machine_missing_files(run.machine);
	mt_machine_destroy(run.machine);
	if (stats)
		*stats = run.stats;
	return error;
}
