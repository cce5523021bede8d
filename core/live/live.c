/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live/live.h"

#include "base/clock.h"
#include "decode/files.h"

#include <stdlib.h>
#include <string.h>

bool mt_live_is_recording(const struct mt_live *live)
{
	return live && live->state >= MT_LIVE_BEGINNING;
}

struct mt_session *mt_live_session(const struct mt_live *live)
{
	return mt_live_is_recording(live) ? live->session : NULL;
}

void mt_live_end(struct mt_live *live)
{
	live->changed_ns = mt_clock_monotonic_ns();
	if (mt_live_is_recording(live))
		live->state = MT_LIVE_ARMED;
}

void mt_live_leave(struct mt_live *live)
{
	struct mt_session *session = mt_live_session(live);

	if (session)
		mt_session_clear(session, live->pid);
	mt_live_end(live);
}

void mt_live_discard(struct mt_live *live)
{
	mt_live_end(live);
	mt_decode_files_destroy(live->files);
	live->files = NULL;
	mt_session_destroy(live->session);
	live->session = NULL;
	if (live->target)
		live->target->ops->destroy(live->target);
	live->target = NULL;
	live->pid = 0;
	live->crash = 0;
	live->crash_lwp = 0;
	live->has_news = false;
}

void mt_live_deinit(struct mt_live *live)
{
	mt_live_discard(live);
	free(live->engine);
	free(live->events);
	*live = (struct mt_live){0};
}

/* ENGINE and EVENTS become LIVE's. */
static void set_options(struct mt_live *live, const struct mt_session_options *options,
			char *engine, char *events)
{
	free(live->engine);
	free(live->events);
	live->engine = engine;
	live->events = events;
	live->event_lists[0] = events && *events ? events : NULL;
	live->options = *options;
	live->options.engine.live = true;
	live->options.engine_name = engine;
	live->options.events = live->event_lists[0] ? live->event_lists : NULL;
}

struct mt_error *mt_live_inherit(struct mt_live *live, const struct mt_live *other)
{
	char *engine = strdup(other->engine), *events = strdup(other->events);

	if (!engine || !events) {
		free(engine);
		free(events);
		return mt_error_no_memory();
	}
	set_options(live, &other->options, engine, events);
	live->one_thread = other->one_thread;
	return NULL;
}

struct mt_error *mt_live_begin(struct mt_live *live, struct mt_target *target, pid_t pid, pid_t lwp,
			       bool fresh)
{
	mt_live_discard(live);
	enum mt_live_state before = live->state;
	live->target = target;
	live->options.engine.only = live->one_thread ? lwp : 0;
	struct mt_error *error = mt_session_create(target, &live->options, NULL, &live->session);
	if (!error) {
		live->pid = pid;
		live->has_news = true;
		live->state = MT_LIVE_BEGINNING;
		error = fresh ? mt_session_begin(live->session, pid)
			      : mt_session_attach(live->session, pid);
	}
	if (error) {
		if (live->session)
			mt_session_clear(live->session, pid);
		live->state = before;
		mt_live_discard(live);
		return error;
	}
	live->state = fresh ? MT_LIVE_SHOWN : MT_LIVE_HIDDEN;
	return NULL;
}

struct mt_error *mt_live_hide(struct mt_live *live)
{
	bool is_cancelled = live->state == MT_LIVE_CANCELLED;

	if (live->state < MT_LIVE_SHOWN)
		return NULL;
	mt_try(mt_session_reap(live->session));
	live->state = MT_LIVE_HIDDEN;
	mt_try(mt_session_hide(live->session, live->pid));
	if (!is_cancelled)
		return NULL;
	live->state = MT_LIVE_OFF;
	return mt_error_new(MT_ERROR_USAGE,
			    "process %d is no longer being recorded, since planning was "
			    "interrupted (\"mtrace start\" begins again)",
			    live->pid);
}

struct mt_error *mt_live_add_place(void *alone, uint64_t address)
{
	struct mt_live_alone *list = alone;

	return mt_array_push(&list->places, address) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_live_add_function(struct mt_live_alone *alone, uint64_t address)
{
	return mt_array_push(&alone->functions, address) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_live_add_told(struct mt_live_alone *alone, pid_t lwp)
{
	return mt_array_push(&alone->told, lwp) ? mt_error_no_memory() : NULL;
}

void mt_live_alone_deinit(struct mt_live_alone *alone)
{
	mt_array_deinit(&alone->places);
	mt_array_deinit(&alone->functions);
	mt_array_deinit(&alone->told);
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

struct mt_error *mt_live_show(struct mt_live *live, struct mt_live_alone *alone)
{
	if (alone->places.count)
		qsort(alone->places.items, alone->places.count, sizeof(uint64_t), compare);
	if (alone->functions.count)
		qsort(alone->functions.items, alone->functions.count, sizeof(uint64_t), compare);
	const struct mt_engine_alone what = {alone->places.items,    alone->places.count,
					     alone->functions.items, alone->functions.count,
					     alone->told.items,      alone->told.count};
	live->state = MT_LIVE_SHOWN;
	live->changed_ns = mt_clock_monotonic_ns();
	return mt_session_show(live->session, live->pid, &what);
}

/* ---- start, stop ---- */

const char *const mt_live_defaults[MT_LIVE_SETTINGS] = {
    [MT_LIVE_ENGINE] = "auto",      [MT_LIVE_BUFFER_SIZE] = "4M", [MT_LIVE_TIMESTAMPS] = "sampled",
    [MT_LIVE_PYTHON_CALLS] = "off", [MT_LIVE_EVENTS] = "",        [MT_LIVE_OUTPUT] = "trace-%n.fxt",
    [MT_LIVE_ON_CRASH] = "on",      [MT_LIVE_ON_EXIT] = "off",    [MT_LIVE_HISTORY_SIZE] = "25",
};

char *mt_live_setting(const struct mt_live_debugger *debugger, enum mt_live_setting which)
{
	char *text =
	    debugger->ops->setting ? debugger->ops->setting(debugger->context, which) : NULL;

	return text ? text : strdup(mt_live_defaults[which]);
}

/* `auto` is the engine that can share the program with a debugger. */
static struct mt_error *check_engine(const struct mt_live_debugger *debugger, const char *name,
				     const char **out)
{
	for (const char *const *one = debugger->ops->engines; *one; one++) {
		if (strcmp(*one, name) != 0)
			continue;
		*out = strcmp(name, "auto") == 0 ? "calls" : *one;
		return NULL;
	}
	for (size_t i = 0; mt_engines[i]; i++)
		if (strcmp(mt_engines[i]->name, name) == 0)
			return mt_error_new(MT_ERROR_USAGE,
					    "the engine \"%s\" does not work in this debugger (use "
					    "calls, or mtdb run --engine %s)",
					    name, name);
	mt_auto(mt_str) struct mt_str names = {0};
	for (const char *const *one = debugger->ops->engines; *one; one++)
		mt_str_appendf(&names, "%s%s", !names.length ? "" : one[1] ? ", " : " or ", *one);
	if (names.failed)
		return mt_error_no_memory();
	return mt_error_new(MT_ERROR_USAGE, "unknown engine \"%s\": must be %s", name, names.text);
}

static char *option_or_setting(const struct mt_live_debugger *debugger, const char *option,
			       enum mt_live_setting which)
{
	return option ? strdup(option) : mt_live_setting(debugger, which);
}

static inline void text_cleanup(char **text)
{
	free(*text);
}

static struct mt_error *configure(const struct mt_live_debugger *debugger,
				  const struct mt_live_start *start, struct mt_live *live)
{
	mt_auto(text) char *name = option_or_setting(debugger, start->engine, MT_LIVE_ENGINE);
	mt_auto(text) char *size = option_or_setting(debugger, start->size, MT_LIVE_BUFFER_SIZE);
	mt_auto(text) char *stamps = option_or_setting(debugger, start->stamps, MT_LIVE_TIMESTAMPS);
	mt_auto(text) char *python = mt_live_setting(debugger, MT_LIVE_PYTHON_CALLS);
	const char *threads = start->threads ? start->threads : "all", *engine = NULL;
	struct mt_session_options options = {
	    .engine = {.log = debugger->log, .progress = debugger->progress}};

	if (!name || !size || !stamps || !python)
		return mt_error_no_memory();
	options.python_calls = start->python_calls || strcmp(python, "on") == 0;
	mt_try(check_engine(debugger, name, &engine));
	mt_try(mt_parse_size(size, &options.engine.ring_bytes));
	mt_try(mt_session_check_ring(options.engine.ring_bytes));
	mt_try(mt_parse_stamps(stamps, &options.engine.stamps));
	if (strcmp(threads, "all") != 0 && strcmp(threads, "current") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "invalid value \"%s\" for -threads: must be all or current",
				    threads);
	char *kept = strdup(engine), *events = mt_live_setting(debugger, MT_LIVE_EVENTS);
	if (!kept || !events) {
		free(kept);
		free(events);
		return mt_error_no_memory();
	}
	set_options(live, &options, kept, events);
	live->one_thread = strcmp(threads, "current") == 0;
	return NULL;
}

struct mt_error *mt_live_start(struct mt_live_debugger *debugger,
			       const struct mt_live_start *options)
{
	const struct mt_live_debugger_ops *ops = debugger->ops;
	struct mt_live *live = ops->selected(debugger->context, false);

	if (mt_live_is_recording(live))
		return mt_error_new(MT_ERROR_USAGE, "process %d is already being recorded",
				    live->pid);
	if (ops->refuse)
		mt_try(ops->refuse(debugger->context));
	live = ops->selected(debugger->context, true);
	if (!live)
		return mt_error_no_memory();
	mt_try(configure(debugger, options, live));
	live->state = MT_LIVE_OFF;
	if (ops->pid(debugger->context))
		return ops->begin(debugger->context, live);
	live->state = MT_LIVE_ARMED;
	return NULL;
}

struct mt_error *mt_live_stop(struct mt_live_debugger *debugger)
{
	struct mt_live *live = debugger->ops->selected(debugger->context, false);

	if (!live || live->state == MT_LIVE_OFF)
		return mt_error_new(MT_ERROR_USAGE,
				    "nothing is being recorded (\"mtrace start\" begins)");
	if (live->state >= MT_LIVE_SHOWN)
		return mt_error_new(MT_ERROR_USAGE,
				    "process %d is running: stop it first (\"interrupt\")",
				    live->pid);
	debugger->ops->ended(debugger->context, live);
	live->state = MT_LIVE_OFF;
	live->has_news = false;
	return NULL;
}
