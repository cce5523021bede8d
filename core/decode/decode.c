/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/fibers.h"
#include "decode/goroutines.h"

#include "perf/stack_sample.h"

/* What is shown the owner alone does, a third of the work or more: others would have nothing to do.
 */
#define MAX_WORKERS 8

static struct mt_error *check_kind(const struct mt_decode_run *run)
{
	const struct mt_recording *recording = run->recording;
	const char *path = mt_recording_info(recording)->path;

	if (mt_recording_call_thread_count(recording) || mt_decode_has_side_tracks(run) ||
	    mt_recording_is_of_samples(recording))
		return NULL;
	if (mt_recording_is_of_calls(recording))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s contains no calls: none of the functions that could be recorded ran", path);
	if (mt_recording_was_sampled(recording) && !mt_recording_pt(recording)->present)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s contains no samples: nothing ran for as long as two lie apart", path);
	if (!mt_recording_pt(recording)->present)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s contains no Intel PT trace, and no samples of stacks; make one with \"mtdb "
		    "run --record FILE\", \"perf record -e intel_pt//u\" or \"perf record -g\"",
		    path);
	if (!mt_recording_auxtrace_count(recording))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "%s contains no trace data: nothing ran while it was recorded, or the file "
		    "is truncated",
		    path);
	return NULL;
}

void mt_decode_get_workers(struct mt_decode_run *run, size_t tasks)
{
	const unsigned int processors = mt_pool_processors();
	const unsigned int workers = processors < MAX_WORKERS ? processors : MAX_WORKERS;

	if (workers > 1)
		mt_error_destroy(mt_pool_create(workers, workers + tasks, &run->ahead));
}

static struct mt_error *decode(struct mt_decode_run *run)
{
	const struct mt_recording_info *info = mt_recording_info(run->recording);
	const bool is_of_calls = mt_recording_is_of_calls(run->recording);
	const bool is_of_samples = mt_recording_is_of_samples(run->recording);

	mt_try(mt_processes_create(run->recording, run->options, &run->processes));
	run->rebuild_ops = is_of_calls ? &mt_rebuild_from_calls : &mt_rebuild_from_branches;
	/* Call events and samples are in the clock of the notes already. */
	run->timed = info->has_time && (is_of_calls || is_of_samples ||
					mt_time_conversion_is_known(&info->conversion));
	if (run->options->side_tracks_first)
		mt_try(mt_decode_side_tracks(run));
	mt_try(mt_decode_find_hits(run));
	mt_try(mt_hits_filter_create(run, &run->reasons));
	if (run->reasons)
		run->calls_sink = mt_hits_filter_sink(run->reasons);
	mt_try(mt_python_filter_create(run, &run->python_at));
	if (run->python_at)
		run->calls_sink = mt_python_filter_sink(run->python_at);
	if (is_of_samples)
		return mt_decode_samples(run);
	mt_try(mt_decode_values(run));
	if (!is_of_calls)
		return mt_recording_auxtrace_count(run->recording) ? mt_decode_pt(run) : NULL;
	mt_try(mt_words_filter_create(run, &run->words));
	if (run->words)
		run->calls_sink = mt_words_filter_sink(run->words);
	mt_try(mt_goroutines_create(run, &run->goroutines));
	mt_try(mt_decode_calls(run));
	return run->goroutines ? mt_goroutines_finish(run->goroutines) : NULL;
}

static void end(struct mt_decode_run *run)
{
	struct mt_track *track, *next;

	HASH_ITER (hh, run->tracks, track, next)
		mt_track_destroy(run, track);
	mt_array_deinit(&run->hits);
	mt_recorded_values_deinit(&run->values);
	mt_words_filter_destroy(run->words);
	mt_python_filter_destroy(run->python_at);
	mt_goroutines_destroy(run->goroutines);
	free(run->reasons);
	mt_array_deinit(&run->counter_names);
	mt_array_deinit(&run->said);
	mt_arena_deinit(&run->arena);
	mt_pt_streams_deinit(&run->streams);
	if (run->processes) {
		run->stats.missing_files = mt_processes_missing_files(run->processes);
		mt_processes_log_nameless(run->processes);
	}
	mt_processes_destroy(run->processes);
}

struct mt_error *mt_decode(struct mt_recording *recording, const struct mt_decode_options *options,
			   struct mt_slice_sink sink, struct mt_decode_stats *stats)
{
	static const struct mt_decode_options defaults;
	struct mt_decode_run run = {
	    .recording = recording,
	    .options = options ? options : &defaults,
	    .sink = sink,
	    .calls_sink = sink,
	};

	mt_try(check_kind(&run));
	struct mt_error *error = decode(&run);
	if (!error)
		error = mt_fibers_check(&run);
	if (!error)
		error = mt_decode_hits(&run);
	if (!error)
		error = mt_decode_side_tracks(&run);
	if (!error && sink.ops->finish)
		error = sink.ops->finish(sink.self);

	end(&run);
	if (stats)
		*stats = run.stats;
	return error;
}

static struct mt_error *find_last_goroutine(struct mt_decode_run *run)
{
	mt_try(mt_processes_create(run->recording, run->options, &run->processes));
	run->rebuild_ops = &mt_rebuild_from_calls;
	run->timed = mt_recording_info(run->recording)->has_time;
	mt_try(mt_decode_values(run));
	mt_try(mt_goroutines_create(run, &run->goroutines));
	return run->goroutines ? mt_decode_calls(run) : NULL;
}

struct mt_error *mt_decode_last_goroutine(struct mt_recording *recording,
					  const struct mt_decode_options *options, uint64_t *id)
{
	struct mt_decode_run run = {
	    .recording = recording,
	    .options = options,
	    .sink = mt_fibers_no_sink(),
	    .calls_sink = mt_fibers_no_sink(),
	    .last_goroutine = id,
	};

	*id = 0;
	if (!mt_recording_is_of_calls(recording))
		return NULL;
	struct mt_error *error = find_last_goroutine(&run);
	end(&run);
	return error;
}
