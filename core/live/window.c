/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history as a list to walk in, which is read once a stop. */
#include "live/live.h"

#include "decode/decode.h"

#define CONTEXT_COLUMNS 80 /* of the smallest terminal that people use */

static struct mt_error *read_view(const struct mt_live_debugger *debugger, struct mt_live *live,
				  pid_t tid, struct mt_view *view)
{
	struct mt_decode_options options = {
	    .progress = debugger->progress,
	    .log = debugger->log,
	    .objfile = {.debuginfod = true, .log = debugger->log},
	    .files = live ? &live->files : NULL, /* else nothing is opened */
	};
	struct mt_recording *recording = NULL;

	mt_try(mt_live_open(debugger, live, &tid, &recording));
	struct mt_error *error =
	    mt_live_goroutine(debugger, live, recording, tid, &options.goroutine);
	options.tid = options.goroutine ? 0 : tid;
	if (!error)
		error = mt_decode(recording, &options, mt_view_sink(view), NULL);
	mt_recording_close(recording);
	if (!error && !mt_view_count(view))
		return mt_live_no_calls_of(tid);
	return error;
}

static bool is_fresh(const struct mt_live_debugger *debugger, const struct mt_live *live, pid_t tid)
{
	return debugger->window.view && live && debugger->window.pid == live->pid &&
	       (live->state >= MT_LIVE_SHOWN ||
		(debugger->window.tid == tid && debugger->window.changed_ns == live->changed_ns));
}

struct mt_error *mt_live_view(struct mt_live_debugger *debugger, struct mt_view **out)
{
	struct mt_live *live = debugger->ops->selected(debugger->context, false);
	pid_t tid = debugger->ops->lwp(debugger->context);
	struct mt_view *view = NULL;

	if (!is_fresh(debugger, live, tid)) {
		struct mt_error *error = mt_view_create(&view);

		if (!error)
			error = read_view(debugger, live, tid, view);
		if (error) {
			mt_view_destroy(view);
			return error;
		}
		mt_view_destroy(debugger->window.view);
		debugger->window.view = view;
		debugger->window.pid = live->pid;
		debugger->window.tid = tid;
		debugger->window.changed_ns = live->changed_ns;
	}
	*out = debugger->window.view;
	return NULL;
}

static void put_line(struct mt_view *view, size_t at, struct mt_str *out)
{
	mt_view_line(view, at, 0, SIZE_MAX, out);
	mt_str_append(out, "\n");
}

static void print(const struct mt_live_debugger *debugger, const struct mt_str *text)
{
	if (text->text && !text->failed)
		debugger->printer.print(debugger->printer.context, text->text);
}

void mt_live_print_view(const struct mt_live_debugger *debugger, struct mt_view *view, size_t count)
{
	mt_auto(mt_str) struct mt_str out = {0};
	size_t at = mt_view_top(view, count);

	for (; count && at != MT_VIEW_NONE; count--, at = mt_view_below(view, at))
		put_line(view, at, &out);
	print(debugger, &out);
}

struct mt_error *mt_live_context(struct mt_live_debugger *debugger, uint64_t count)
{
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_view *view = NULL;

	mt_try(mt_live_view(debugger, &view));
	mt_view_brief(view, count, CONTEXT_COLUMNS, &out);
	print(debugger, &out);
	return NULL;
}
