/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Core files: a target without run control takes the process's place.  Threads, frames and values
 * are those of a process that never goes on. */
#include "base/clock.h"
#include "private.h"
#include "process/corefile.h"

#include <string.h>

bool mt_debugger_has_process(const struct mt_debugger *debugger)
{
	return debugger->pid && debugger->process != MT_DEBUG_CORE;
}

const char *mt_debugger_core_path(const struct mt_debugger *debugger)
{
	return debugger->process == MT_DEBUG_CORE ? debugger->core_path : NULL;
}

struct mt_error *mt_debug_needs_process(const struct mt_debugger *debugger)
{
	if (debugger->process != MT_DEBUG_CORE)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "You can't do that without a process to debug.");
}

void mt_debugger_close_core(struct mt_debugger *debugger)
{
	if (debugger->process != MT_DEBUG_CORE)
		return;
	debugger->target->ops->destroy(debugger->target);
	debugger->target = debugger->native;
	debugger->native = NULL;
	/* It may be of another kernel than ours. */
	mt_objfile_unref(debugger->vdso);
	debugger->vdso = NULL;
	mt_debug_process_ended(debugger);
	free(debugger->core_path);
	debugger->core_path = NULL;
}

/* ---- Warnings ---- */

static void warn(struct mt_debugger *debugger, const struct mt_str *text)
{
	if (debugger->front.warned && text->text && !text->failed)
		debugger->front.warned(debugger->front.context, text->text);
}

static void warn_if_truncated(struct mt_debugger *debugger)
{
	const struct mt_corefile *core = mt_corefile_of(debugger->target);
	mt_auto(mt_str) struct mt_str text = {0};

	if (core->size >= core->expected_size)
		return;
	mt_str_appendf(&text,
		       "%s is truncated: expected core file size >= %llu, found: %llu.  What was "
		       "cut off cannot be read.",
		       debugger->core_path, (unsigned long long)core->expected_size,
		       (unsigned long long)core->size);
	warn(debugger, &text);
}

/* The kernel keeps 15 bytes of the name, but the whole path of what it mapped. */
static bool has_another_name(const struct mt_debugger *debugger)
{
	const char *ran = mt_corefile_of(debugger->target)->program;
	const char *name = debugger->path ? strrchr(debugger->path, '/') : NULL;
	const char *ran_name = ran ? strrchr(ran, '/') : NULL;

	return name && ran_name && strcmp(name, ran_name) != 0;
}

/* What lies there now is not what ran. */
static void warn_of_program(struct mt_debugger *debugger, const struct mt_mapping *mapping)
{
	const struct mt_build_id ran = mt_corefile_build_id(debugger->target, mapping->start);
	const struct mt_build_id *now = mt_objfile_build_id(mapping->objfile);
	mt_auto(mt_str) struct mt_str text = {0};

	if (ran.size && now->size && mt_build_id_equal(&ran, now))
		return;
	if (ran.size && now->size)
		mt_str_appendf(&text,
			       "core file may not match specified executable file: the build ID of "
			       "%s is another one, so it was rebuilt, or is another program.",
			       mapping->path);
	else if (has_another_name(debugger))
		mt_str_appendf(&text, "core file may not match specified executable file.");
	warn(debugger, &text);
}

static void warn_of_files(struct mt_debugger *debugger)
{
	mt_auto(mt_str) struct mt_str text = {0};
	const char *told = ""; /* a file has several mappings */
	bool has_program = false;

	for (size_t i = 0; i < mt_space_mapping_count(debugger->code); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(debugger->code, i);
		bool is_program = debugger->path && strcmp(mapping->path, debugger->path) == 0;

		if (is_program && mapping->objfile && !has_program)
			warn_of_program(debugger, mapping);
		has_program |= is_program;
		if (mapping->objfile || mapping->path[0] != '/' || mapping->path[1] == '/' ||
		    strcmp(mapping->path, told) == 0)
			continue;
		told = mapping->path;
		mt_str_clear(&text);
		mt_str_appendf(&text, "no symbols of %s: %s", mapping->path,
			       mapping->problem ? mapping->problem : "it cannot be opened");
		warn(debugger, &text);
	}
	if (!has_program && has_another_name(debugger)) {
		mt_str_clear(&text);
		mt_str_append(&text, "core file may not match specified executable file.");
		warn(debugger, &text);
	}
}

/* ---- Opening ---- */

static struct mt_error *add_thread(void *context, pid_t lwp)
{
	struct mt_debugger *debugger = context;

	return mt_debug_add_lwp(debugger, lwp, true, NULL);
}

/* The executable is the one that was loaded, else the one that ran. */
static struct mt_error *find_program(struct mt_debugger *debugger)
{
	const char *ran = mt_corefile_of(debugger->target)->program;

	if (!debugger->path && ran)
		debugger->path = realpath(ran, NULL);
	return debugger->path ? mt_corefile_set_program(debugger->target, debugger->path) : NULL;
}

static struct mt_error *look_at(struct mt_debugger *debugger)
{
	struct mt_target *target = debugger->target;

	mt_try(find_program(debugger));
	mt_try(target->ops->each_thread(target, debugger->pid, add_thread, debugger));
	debugger->selected = debugger->lwps.items[0];
	return mt_debug_begin(debugger, mt_corefile_of(target)->pid);
}

struct mt_error *mt_debugger_open_core(struct mt_debugger *debugger, const char *path)
{
	struct mt_target *core;
	char *absolute;

	if (mt_debugger_has_process(debugger))
		return mt_error_new(MT_ERROR_USAGE, "A program is being debugged already.");
	mt_try(mt_corefile_open(path, &core));
	absolute = realpath(path, NULL);
	if (!absolute) {
		core->ops->destroy(core);
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s: it is gone.", path);
	}
	mt_debugger_close_core(debugger);
	/* What was recorded before is not this program's past. */
	mt_live_discard(&debugger->live);
	debugger->live.changed_ns = mt_clock_monotonic_ns();
	mt_objfile_unref(debugger->vdso);
	debugger->vdso = NULL;
	debugger->core_path = absolute;
	debugger->native = debugger->target;
	debugger->target = core;
	debugger->process = MT_DEBUG_CORE;
	debugger->pid = mt_corefile_of(core)->pid;
	struct mt_error *error = look_at(debugger);
	if (error) {
		mt_debugger_close_core(debugger);
		return error;
	}
	warn_if_truncated(debugger);
	warn_of_files(debugger);
	return NULL;
}

struct mt_error *mt_debug_core_reload(struct mt_debugger *debugger)
{
	mt_try(find_program(debugger));
	mt_try(mt_debug_space_of_process(debugger));
	warn_of_files(debugger);
	return NULL;
}
