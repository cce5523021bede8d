/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live.h"

#include "base/array.h"
#include "command/record_options.h"
#include "gdb.h"
#include "progress.h"
#include "refuse.h"
#include "settings.h"
#include "target.h"

#include <string.h>

/* How the kernel names the memory that core/engine/calls/rings.c makes. */
#define RINGS_NAME "/memfd:mtrace rings"

static MT_ARRAY(struct mt_live *) lives;

struct mt_live *mt_live_next(const struct mt_live *live)
{
	size_t next = 0;

	while (live && next < lives.count && lives.items[next++] != live)
		;
	return next < lives.count ? lives.items[next] : NULL;
}

static struct mt_live *find_inferior(int inferior)
{
	mt_array_each (live, &lives)
		if ((*live)->inferior == inferior)
			return *live;
	return NULL;
}

struct mt_live *mt_live_find(pid_t pid)
{
	mt_array_each (live, &lives)
		if ((*live)->pid == pid && mt_live_session(*live))
			return *live;
	return NULL;
}

/* After exec a process may be in another inferior (follow-exec-mode new). */
struct mt_live *mt_live_selected(void)
{
	int inferior = mt_gdb_inferior();
	struct mt_live *live = find_inferior(inferior);

	if (live || !mt_gdb_pid())
		return live;
	live = mt_live_find(mt_gdb_pid());
	if (live)
		live->inferior = inferior;
	return live;
}

struct mt_session *mt_live_session(const struct mt_live *live)
{
	return !live || live->over ? NULL : live->session;
}

static struct mt_error *see_rings(void *context, const struct mt_map *map)
{
	bool *there = context;

	*there |= strncmp(map->path, RINGS_NAME, strlen(RINGS_NAME)) == 0;
	return NULL;
}

struct mt_error *mt_live_look_for_rings(const struct mt_live *live, bool *there)
{
	*there = false;
	return live->target->ops->each_map(live->target, live->pid, see_rings, there);
}

static struct mt_error *on_libraries(void *context, pid_t lwp)
{
	struct mt_live *live = context;
	const struct mt_stop stop = {.kind = MT_STOP_LIBRARIES, .pid = live->pid, .lwp = lwp};

	/* What attach() itself loads it looks for itself. */
	if (!mt_live_session(live) || live->busy || mt_gdb_pid() != live->pid)
		return NULL;
	struct mt_error *error = mt_session_take(live->session, &stop);
	live->interrupted |= error && mt_error_code(error) == MT_ERROR_INTERRUPTED;
	mt_try(error);
	return live->has_rings ? NULL : mt_live_look_for_rings(live, &live->has_rings);
}

static void destroy_session(struct mt_live *live)
{
	mt_births_forget(&live->births);
	mt_session_destroy(live->session);
	live->session = NULL;
	if (live->target)
		live->target->ops->destroy(live->target);
	live->target = NULL;
	live->pid = 0;
	live->hidden = live->over = live->has_rings = live->interrupted = false;
}

void mt_live_end(struct mt_live *live)
{
	live->over = true;
	mt_births_forget(&live->births);
	if (live->target)
		mt_gdb_target_let_go(live->target);
}

static void destroy(struct mt_live *live)
{
	destroy_session(live);
	free(live->engine);
	free(live->events);
	free(live);
}

void mt_live_forget(int inferior)
{
	for (size_t i = 0; i < lives.count; i++) {
		if (lives.items[i]->inferior != inferior)
			continue;
		destroy(lives.items[i]);
		memmove(&lives.items[i], &lives.items[i + 1],
			(--lives.count - i) * sizeof(lives.items[0]));
		return;
	}
}

void mt_live_destroy(void)
{
	mt_array_each (live, &lives)
		destroy(*live);
	mt_array_deinit(&lives);
}

static struct mt_error *create(int inferior, struct mt_live **out)
{
	struct mt_live *live = calloc(1, sizeof(*live));

	*out = live;
	if (live && !mt_array_push(&lives, live)) {
		live->inferior = inferior;
		return NULL;
	}
	free(live);
	*out = NULL;
	return mt_error_no_memory();
}

static struct mt_error *refuse_engine(const char *name)
{
	for (size_t i = 0; mt_engines[i]; i++)
		if (strcmp(mt_engines[i]->name, name) == 0)
			return mt_error_new(MT_ERROR_USAGE,
					    "the engine \"%s\" does not work inside of GDB (use "
					    "calls, or mtdb run --engine %s)",
					    name, name);
	return mt_error_new(MT_ERROR_USAGE, "no engine \"%s\" (in GDB it can be auto, calls or pt)",
			    name);
}

/* `auto`, in GDB: what can share the program with it, and has been seen to. */
static struct mt_error *choose_engine(struct mt_live *live, const char *name)
{
	char *wanted = name ? strdup(name) : mt_setting_text(MT_SETTING_ENGINE);
	struct mt_error *error = NULL;
	bool calls = wanted && (strcmp(wanted, "auto") == 0 || strcmp(wanted, "calls") == 0);

	if (!wanted)
		return mt_error_no_memory();
	if (!calls && strcmp(wanted, "pt") != 0)
		error = refuse_engine(wanted);
	else if (!(live->engine = strdup(calls ? "calls" : "pt")))
		error = mt_error_no_memory();
	free(wanted);
	return error;
}

static struct mt_error *parse_threads(struct mt_live *live, const char *text)
{
	if (text && strcmp(text, "all") != 0 && strcmp(text, "current") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "no choice of threads: \"%s\" (it can be all or current)",
				    text);
	live->one_thread = text && strcmp(text, "current") == 0;
	return NULL;
}

static void set_options(struct mt_live *live)
{
	live->log = *mt_gdb_context().log;
	live->options.engine_name = live->engine;
	live->options.engine.live = true;
	live->event_lists[0] = live->events && *live->events ? live->events : NULL;
	live->options.events = live->event_lists[0] ? live->event_lists : NULL;
	live->options.engine.log = &live->log;
	live->options.engine.progress = &mt_gdb_progress;
}

static struct mt_error *read_settings(struct mt_live *live, const struct mt_live_options *options)
{
	char *size = mt_setting_text(MT_SETTING_BUFFER_SIZE);
	char *stamps = mt_setting_text(MT_SETTING_TIMESTAMPS);
	struct mt_error *error = choose_engine(live, options->engine);

	live->options = (struct mt_session_options){.engine.ring_bytes = options->ring_bytes};
	free(live->events);
	live->events = mt_setting_text(MT_SETTING_EVENTS);
	set_options(live);
	if (!error && !options->ring_bytes && size)
		error = mt_parse_size(size, &live->options.engine.ring_bytes);
	if (!error)
		error = mt_session_check_ring(live->options.engine.ring_bytes);
	if (!error)
		error = mt_parse_stamps(options->stamps ? options->stamps
					: stamps        ? stamps
							: "sampled",
					&live->options.engine.stamps);
	if (!error)
		error = parse_threads(live, options->threads);
	free(size);
	free(stamps);
	return error;
}

/* Words that are off change nothing. */
static struct mt_error *change_settings(struct mt_live *live, const struct mt_live_options *options)
{
	struct mt_live draft = {0};
	struct mt_error *error = read_settings(&draft, options);

	if (error) {
		free(draft.engine);
		free(draft.events);
		return error;
	}
	free(live->engine);
	free(live->events);
	live->engine = draft.engine;
	live->events = draft.events;
	live->one_thread = draft.one_thread;
	live->options = draft.options;
	set_options(live);
	return NULL;
}

static struct mt_error *make_session(struct mt_live *live, pid_t pid)
{
	destroy_session(live);
	live->options.engine.is_clean = pid == live->child;
	mt_try(mt_gdb_target_create(on_libraries, live, &live->target));
	mt_gdb_target_set_pid(live->target, pid);
	live->options.engine.only = live->one_thread ? mt_gdb_lwp() : 0;
	mt_try(mt_session_create(live->target, &live->options, NULL, &live->session));
	live->pid = pid;
	live->child = 0;
	live->news = true;
	return NULL;
}

struct mt_error *mt_live_begin(struct mt_live *live, pid_t pid, bool fresh)
{
	struct mt_error *error = make_session(live, pid);

	if (!error && fresh)
		error = mt_session_begin(live->session, pid);
	if (!error && !fresh) {
		live->busy = true;
		error = mt_session_attach(live->session, pid);
		live->busy = false;
		live->hidden = live->has_rings = true;
	}
	if (error)
		destroy_session(live);
	return error;
}

/* By "continue &", or because a condition of a breakpoint's calls us: text is changed at stops. */
static struct mt_error *refuse_running(pid_t pid)
{
	if (!pid || !mt_gdb_is_running())
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "process %d runs: stop it first (\"interrupt\")", pid);
}

struct mt_error *mt_live_start(const struct mt_live_options *options)
{
	struct mt_live *live = mt_live_selected();
	pid_t pid = mt_gdb_pid();

	if (mt_live_session(live))
		return mt_error_new(MT_ERROR_USAGE, "process %d is recorded already", live->pid);
	mt_try(mt_refuse(pid));
	mt_try(refuse_running(pid));
	if (!live)
		mt_try(create(mt_gdb_inferior(), &live));
	mt_try(change_settings(live, options));
	live->armed = false;
	if (pid) {
		mt_try(mt_live_begin(live, pid, false));
		mt_error_destroy(mt_gdb_target_flush(live->target));
	}
	live->armed = true;
	return NULL;
}

struct mt_error *mt_live_stop(void)
{
	struct mt_live *live = mt_live_selected();

	if (!live || !live->armed)
		return mt_error_new(MT_ERROR_USAGE,
				    "nothing is recorded (\"mtrace start\" begins)");
	if (mt_live_session(live) && !live->hidden)
		return mt_error_new(MT_ERROR_USAGE,
				    "process %d runs: stop it first (\"interrupt\")", live->pid);
	live->armed = false;
	mt_live_end(live);
	return NULL;
}

struct mt_error *mt_live_inherit(const struct mt_live *parent, int inferior, pid_t child,
				 struct mt_live **out)
{
	struct mt_live *live = find_inferior(inferior);
	char *engine = strdup(parent->engine);

	if (!engine)
		return mt_error_no_memory();
	if (!live) {
		struct mt_error *error = create(inferior, &live);

		if (error) {
			free(engine);
			return error;
		}
	}
	destroy_session(live);
	free(live->engine);
	live->engine = engine;
	free(live->events);
	live->events = parent->events ? strdup(parent->events) : NULL;
	live->armed = true;
	live->child = child;
	live->one_thread = parent->one_thread;
	live->options = parent->options;
	set_options(live);
	*out = live;
	return NULL;
}
