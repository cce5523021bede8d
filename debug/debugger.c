/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates and destroys the debugger; launches, attaches to and ends its program. */
#include "debugger.h"
#include "base/path.h"
#include "private.h"
#include "process/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void mt_debugger_destroy(struct mt_debugger *debugger)
{
	if (!debugger)
		return;
	debugger->front = (struct mt_debug_front){0};
	mt_debugger_close_core(debugger);
	if (debugger->vfork_parent && debugger->process != MT_DEBUG_ATTACHED) {
		mt_error_destroy(
		    debugger->target->run->kill(debugger->target, debugger->vfork_parent));
		debugger->vfork_parent = 0;
	}
	if (debugger->pid && debugger->process == MT_DEBUG_ATTACHED)
		mt_error_destroy(mt_debugger_detach(debugger));
	else if (debugger->pid)
		mt_error_destroy(mt_debugger_kill(debugger));
	mt_live_deinit(&debugger->live);
	mt_debug_plan_clear(debugger);
	mt_debug_remove_lwps(debugger);
	mt_array_deinit(&debugger->lwps);
	mt_debug_breakpoints_deinit(debugger);
	mt_array_deinit(&debugger->sites);
	mt_debug_seen_clear(debugger);
	mt_debug_space_deinit(debugger);
	mt_debug_environment_deinit(debugger);
	mt_array_each (path, &debugger->former)
		free(*path);
	mt_array_deinit(&debugger->former);
	debugger->target->ops->destroy(debugger->target);
	free(debugger->arguments);
	free(debugger->path);
	free(debugger);
}

struct mt_error *mt_debugger_create(struct mt_target *target, const struct mt_debug_front *front,
				    struct mt_debugger **out)
{
	struct mt_debugger *debugger = calloc(1, sizeof(*debugger));
	struct mt_error *error;

	if (!debugger) {
		target->ops->destroy(target);
		return mt_error_no_memory();
	}
	debugger->target = target;
	debugger->front = *front;
	debugger->settings = (struct mt_debug_settings){.follow_fork = MT_DEBUG_FOLLOW_PARENT,
							.follow_exec = MT_DEBUG_EXEC_SAME,
							.hardware_watches = true};
	mt_debug_signals_init(debugger);
	error = mt_debug_space_init(debugger);
	if (!error)
		error = mt_debug_environment_init(debugger);
	if (error)
		mt_debugger_destroy(debugger);
	else
		*out = debugger;
	return error;
}

struct mt_error *mt_debugger_load(struct mt_debugger *debugger, const char *path)
{
	mt_auto(mt_str) struct mt_str found = {0};
	char *absolute = realpath(path, NULL), *former = debugger->path;

	if (!absolute && errno == ENOENT && !strchr(path, '/')) {
		if (mt_path_find(path, &found))
			absolute = realpath(found.text, NULL);
		else
			errno = ENOENT;
	}
	if (!absolute)
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s: %s.", path, strerror(errno));
	debugger->path = absolute;
	struct mt_error *error = debugger->pid ? NULL : mt_debug_space_of_file(debugger);
	if (error) {
		debugger->path = former;
		free(absolute);
		return error;
	}
	free(former);
	if (debugger->process == MT_DEBUG_CORE)
		mt_try(mt_debug_core_reload(debugger));
	mt_debug_resolve_all(debugger);
	return NULL;
}

const char *mt_debugger_path(const struct mt_debugger *debugger)
{
	return debugger->path;
}

pid_t mt_debugger_pid(const struct mt_debugger *debugger)
{
	return debugger->pid;
}

bool mt_debugger_is_attached(const struct mt_debugger *debugger)
{
	return debugger->process == MT_DEBUG_ATTACHED;
}

struct mt_space *mt_debugger_space(const struct mt_debugger *debugger)
{
	return debugger->code;
}

struct mt_target *mt_debugger_target(const struct mt_debugger *debugger)
{
	return debugger->target;
}

/* Waits until the shell becomes the program. */
static struct mt_error *pass_shell(struct mt_debugger *debugger, pid_t pid)
{
	const struct mt_run_ops *run = debugger->target->run;
	struct mt_stop stop = {0};

	for (;;) {
		mt_try(run->resume(debugger->target, pid, MT_RESUME_CONTINUE,
				   stop.kind == MT_STOP_SIGNAL ? stop.signal : 0));
		do /* a detached process may exit meanwhile */
			mt_try(run->wait(debugger->target, -1, &stop));
		while (stop.kind != MT_STOP_REQUEST &&
		       (stop.kind == MT_STOP_NONE || stop.pid != pid));
		if (stop.kind == MT_STOP_REQUEST) {
			mt_error_destroy(run->kill(debugger->target, pid));
			return mt_error_new(MT_ERROR_INTERRUPTED, "Quit");
		}
		if (stop.kind == MT_STOP_EXEC)
			return NULL;
		if (stop.kind == MT_STOP_EXITED)
			return mt_error_new(MT_ERROR_SYSTEM,
					    "During startup program exited with code %d.",
					    WEXITSTATUS(stop.status));
	}
}

/* Arguments need a shell, which becomes the program. */
static struct mt_error *launch(struct mt_debugger *debugger, pid_t *pid)
{
	bool has_arguments = debugger->arguments && *debugger->arguments;
	const char *shell = getenv("SHELL");
	mt_auto(mt_str) struct mt_str command = {0};

	/* Within single quotes only these are special to a shell. */
	mt_str_append(&command, "exec '");
	for (const char *at = debugger->path; *at; at++)
		mt_str_append_bytes(&command, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
	mt_str_appendf(&command, "' %s", has_arguments ? debugger->arguments : "");
	if (command.failed)
		return mt_error_no_memory();
	shell = shell && *shell ? shell : "/bin/sh";
	const char *const words[] = {shell, "-c", command.text, NULL};
	const char *const alone[] = {debugger->path, NULL};
	const struct mt_launch launch = {.path = has_arguments ? shell : debugger->path,
					 .arguments = has_arguments ? words : alone,
					 .environment = mt_debugger_environment(debugger),
					 .apart = true};
	mt_try(debugger->target->run->launch(debugger->target, &launch, pid));
	return has_arguments ? pass_shell(debugger, *pid) : NULL;
}

struct mt_error *mt_debug_begin(struct mt_debugger *debugger, pid_t pid)
{
	debugger->pid = pid;
	debugger->beginnings++;
	debugger->selected_frame = 0;
	/* Watchpoints are at other addresses now. */
	mt_debug_watch_ended(debugger);
	mt_try(mt_debug_space_of_process(debugger));
	mt_debug_resolve_all(debugger);
	return NULL;
}

struct mt_error *mt_debugger_launch(struct mt_debugger *debugger)
{
	struct mt_debug_lwp *lwp;
	pid_t pid = 0;

	if (!debugger->path)
		return mt_error_new(MT_ERROR_USAGE,
				    "No executable file specified.\nUse the \"file\" or "
				    "\"exec-file\" command.");
	mt_debugger_close_core(debugger);
	if (debugger->pid)
		mt_try(mt_debugger_kill(debugger));
	mt_array_each (one, &debugger->breakpoints)
		(*one)->public.hits = 0;
	mt_try(launch(debugger, &pid));
	debugger->process = MT_DEBUG_LAUNCHED;
	mt_try(mt_debug_add_lwp(debugger, pid, false, &lwp));
	debugger->selected = lwp;
	mt_try(mt_debug_begin(debugger, pid));
	return mt_debug_record_launched(debugger);
}

static struct mt_error *add_attached(void *context, pid_t lwp)
{
	struct mt_debugger *debugger = context;

	if (lwp == debugger->pid)
		return NULL;
	return mt_debug_add_lwp(debugger, lwp, true, NULL);
}

struct mt_error *mt_debugger_attach(struct mt_debugger *debugger, pid_t pid)
{
	struct mt_debug_lwp *lwp;
	char link[64];

	mt_debugger_close_core(debugger);
	mt_try(debugger->target->run->attach(debugger->target, pid));
	debugger->pid = pid;
	debugger->process = MT_DEBUG_ATTACHED;
	mt_try(mt_debug_add_lwp(debugger, pid, false, &lwp));
	debugger->selected = lwp;
	mt_try(debugger->target->ops->each_thread(debugger->target, pid, add_attached, debugger));
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	char *path = realpath(link, NULL);
	if (path) { /* else it was deleted, but its mappings are known all the same */
		free(debugger->path);
		debugger->path = path;
	}
	return mt_debug_begin(debugger, pid);
}

static struct mt_error *not_running(void)
{
	return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
}

void mt_debug_restore_threads(struct mt_debugger *debugger)
{
	mt_debug_watch_withdraw(debugger);
	mt_debug_drop_children(debugger, false);
	mt_debug_rescue_end(debugger);
	/* Signals that were about to be delivered are sent again. */
	mt_array_each (lwp, &debugger->lwps) {
		int signal = (*lwp)->signal;

		if ((*lwp)->state == MT_DEBUG_LWP_PENDING &&
		    ((*lwp)->pending.kind == MT_STOP_SIGNAL ||
		     (*lwp)->pending.kind == MT_STOP_BREAKPOINT) &&
		    !mt_debug_is_of_processor(&(*lwp)->pending))
			signal = (*lwp)->pending.signal;
		if (signal)
			syscall(SYS_tgkill, debugger->pid, (*lwp)->thread.lwp, signal);
	}
}

struct mt_error *mt_debugger_detach(struct mt_debugger *debugger)
{
	struct mt_error *error;

	if (!mt_debugger_has_process(debugger))
		return not_running();
	mt_debugger_record_stop(debugger);
	mt_debug_restore_threads(debugger);
	mt_error_destroy(mt_debug_release_vfork_parent(debugger, MT_DEBUG_BY_DETACH));
	error = debugger->target->run->detach(debugger->target, debugger->pid, 0);
	mt_debug_process_ended(debugger);
	return error;
}

struct mt_error *mt_debugger_kill(struct mt_debugger *debugger)
{
	struct mt_error *error;

	if (!mt_debugger_has_process(debugger))
		return not_running();
	mt_debug_drop_children(debugger, true);
	error = debugger->target->run->kill(debugger->target, debugger->pid);
	mt_debug_process_ended(debugger);
	return error;
}

/* ---- Arguments and environment ---- */

struct mt_error *mt_debug_environment_init(struct mt_debugger *debugger)
{
	mt_debug_words *words = &debugger->environment;

	for (char **from = environ; from && *from; from++) {
		char *word = strdup(*from);

		if (!word || mt_array_push(words, word)) {
			free(word);
			return mt_error_no_memory();
		}
	}
	return mt_array_push(words, NULL) ? mt_error_no_memory() : NULL;
}

void mt_debug_environment_deinit(struct mt_debugger *debugger)
{
	mt_array_each (word, &debugger->environment)
		free(*word);
	mt_array_deinit(&debugger->environment);
}

struct mt_error *mt_debugger_set_environment(struct mt_debugger *debugger, const char *name,
					     const char *value)
{
	mt_debug_words *words = &debugger->environment;
	mt_auto(mt_str) struct mt_str word = {0};
	size_t length = strlen(name), kept = 0;

	mt_array_each (at, words) {
		if (*at && strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			free(*at);
		else
			words->items[kept++] = *at;
	}
	words->count = kept;
	if (!value)
		return NULL;
	mt_str_appendf(&word, "%s=%s", name, value);
	if (word.failed || mt_array_push(words, NULL))
		return mt_error_no_memory();
	words->items[words->count - 2] = word.text;
	word = (struct mt_str){0};
	return NULL;
}

const char *const *mt_debugger_environment(const struct mt_debugger *debugger)
{
	return (const char *const *)debugger->environment.items;
}

struct mt_error *mt_debugger_set_arguments(struct mt_debugger *debugger, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return mt_error_no_memory();
	free(debugger->arguments);
	debugger->arguments = copy;
	return NULL;
}

const char *mt_debugger_arguments(const struct mt_debugger *debugger)
{
	return debugger->arguments ? debugger->arguments : "";
}
