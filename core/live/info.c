/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is printed of recordings: `mtrace info`, `mtrace history`. */
#include "base/utf8.h"
#include "decode/timeline.h"
#include "live/live.h"

#include <stdarg.h>
#include <stdio.h>

#define NS_PER_MS 1e6

/* A trigger may take snapshots by the thousand. */
#define MOST_SHOWN 10u

void mt_live_printf(const struct mt_live_debugger *debugger, const char *format, ...)
{
	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(&text, format, args);
	va_end(args);
	if (text.text && !text.failed)
		debugger->printer.print(debugger->printer.context, text.text);
}

static void print_thread(void *context, const struct mt_live_thread *thread)
{
	const struct mt_live_debugger *debugger = context;
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);
	struct mt_engine_ring ring = {.span_ns = UINT64_MAX};
	char rest[96] = "not recorded";

	if (mt_session_look(live->session, thread->lwp, &ring)) {
		bool mega = ring.bytes >= 1u << 20;
		int used = snprintf(rest, sizeof(rest), "%3llu%% of %llu%s",
				    (unsigned long long)(ring.used * 100 / ring.bytes),
				    (unsigned long long)(ring.bytes >> (mega ? 20 : 10)),
				    mega ? "M" : "k");
		if (ring.span_ns != UINT64_MAX)
			snprintf(rest + used, sizeof(rest) - (size_t)used, ", the last %.3f ms",
				 (double)ring.span_ns / NS_PER_MS);
	}
	mt_live_printf(debugger, "  %-4u LWP %-8d %-16s %s\n", thread->number, thread->lwp,
		       thread->name, rest);
}

void mt_live_info(const struct mt_live_debugger *debugger)
{
	const struct mt_live_debugger_ops *ops = debugger->ops;
	const struct mt_live *live = ops->selected(debugger->context, false);
	size_t count = debugger->written.count;
	size_t hidden = count > MOST_SHOWN ? count - MOST_SHOWN : 0;

	if (mt_live_is_recording(live))
		mt_live_printf(debugger, "Recording process %d with the engine %s.\n", live->pid,
			       mt_session_result(live->session).engine);
	else
		mt_live_printf(debugger, "%s\n",
			       live && live->state == MT_LIVE_ARMED
				   ? "Recording begins when the program runs."
				   : "Nothing is being recorded (\"mtrace start\" begins).");
	if (mt_live_is_recording(live) && ops->pid(debugger->context) == live->pid) {
		mt_live_printf(debugger, "Threads and the fill level of their rings:\n");
		ops->each_thread(debugger->context, print_thread, (void *)debugger);
	}
	if (ops->list_others)
		ops->list_others(debugger->context);
	mt_live_printf(debugger, "Snapshots: %u\n", debugger->snapshots);
	if (hidden)
		mt_live_printf(debugger, "  ... %zu before\n", hidden);
	for (size_t i = hidden; i < count; i++)
		mt_live_printf(debugger, "  %-4u %s\n", debugger->written.items[i].number,
			       debugger->written.items[i].path);
	mt_live_list_values(debugger);
	mt_array_each (one, &debugger->triggers) {
		const struct mt_live_trigger *trigger = *one;

		mt_auto(mt_str) struct mt_str what = {0};
		mt_trigger_spec_describe(&trigger->spec, &what);
		mt_trigger_describe_limits(&trigger->spec.limits, &what);
		mt_live_printf(debugger, "Trigger %u: %s: %u hit%s%s%s\n", trigger->number,
			       what.text ? what.text : "", trigger->hits,
			       trigger->hits == 1 ? "" : "s",
			       mt_live_is_done(trigger) ? " (done)" : "",
			       ops->has_breakpoint(debugger->context, trigger)
				   ? ""
				   : " (its breakpoint was deleted)");
		mt_auto(mt_str) struct mt_str how = {0};
		mt_live_tell_gates(debugger, trigger, &how);
		if (how.text && !how.failed)
			mt_live_printf(debugger, "%s", how.text);
	}
}

struct mt_error *mt_live_no_calls_of(pid_t tid)
{
	return mt_error_new(MT_ERROR_USAGE,
			    "no calls of thread %d were recorded (\"mtrace info\" shows which "
			    "threads are)",
			    tid);
}

struct mt_live_history mt_live_default_history(const struct mt_live_debugger *debugger)
{
	char *size = mt_live_setting(debugger, MT_LIVE_HISTORY_SIZE);
	const struct mt_live_history history = {.last = size ? strtoull(size, NULL, 10) : 0,
						.tid = debugger->ops->lwp(debugger->context)};

	free(size);
	return history;
}

struct mt_error *mt_live_history(struct mt_live_debugger *debugger,
				 const struct mt_live_history *what,
				 const struct mt_slice_sink *sink)
{
	struct mt_live *live = debugger->ops->selected(debugger->context, false);
	struct mt_timeline timeline = {.printer = debugger->printer,
				       .colour = debugger->colour,
				       .last = what->last,
				       .tid = what->tid,
				       .by_threads = what->by_threads,
				       .function = what->function,
				       .is_for_statistics = what->is_for_statistics,
				       .missed = what->missed,
				       .context = what->context};

	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	if (what->last && !what->is_unfolded)
		timeline.fold_hint = "\"mtrace history -unfold\" shows them";
	mt_try(mt_live_open(debugger, live, &timeline.tid, &recording));
	timeline.files = &live->files;
	struct mt_error *error = NULL;
	if (!what->by_threads)
		error =
		    mt_live_goroutine(debugger, live, recording, timeline.tid, &timeline.goroutine);
	if (timeline.goroutine)
		timeline.tid = 0;
	if (!error)
		error = sink ? mt_timeline_decode(debugger->log, debugger->progress, recording,
						  &timeline, *sink, &stats)
			     : mt_timeline_write(debugger->log, debugger->progress, recording,
						 &timeline, &stats);
	mt_recording_close(recording);
	if (!error && timeline.tid && !stats.events)
		return mt_live_no_calls_of(timeline.tid);
	return error;
}
