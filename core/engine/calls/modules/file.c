/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files are planned once, whoever maps them.  Plans depend on nothing but their files, so
 * several are made at once; and those of a running process before it is stopped. */
#include "engine/calls/modules/modules.h"

#include "base/pool.h"
#include "elf/code.h"

#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_MS 20
#define LINKER_CODE 320u /* bytes, at the most */

static bool matches_any(const char *const *globs, const char *name)
{
	for (; globs && *globs; globs++)
		if (fnmatch(*globs, name, 0) == 0)
			return true;
	return false;
}

bool mt_calls_is_wanted(const struct mt_calls_engine *engine, const char *path)
{
	const char *base = strrchr(path, '/');

	return !engine->options.modules || matches_any(engine->options.modules, path) ||
	       matches_any(engine->options.modules, base ? base + 1 : path);
}

struct wanted {
	const struct mt_calls_engine *engine;
	struct mt_objfile *objfile;
};

/* "ns::f(int)" is also called "ns::f". */
static bool matches_function(const char *const *globs, const char *name)
{
	size_t length = strcspn(name, "(");
	mt_auto(mt_str) struct mt_str without = {0};

	if (!globs || matches_any(globs, name))
		return globs;
	mt_str_append_bytes(&without, name, length);
	return without.text && matches_any(globs, without.text);
}

static bool is_wanted_function(void *context, const struct mt_symbol *symbol)
{
	const struct wanted *wanted = context;
	const struct mt_engine_options *options = &wanted->engine->options;
	const char *name = mt_objfile_symbol_name(wanted->objfile, symbol);

	if (!name)
		return !options->functions;
	if (options->functions && !matches_function(options->functions, name))
		return false;
	return !matches_function(options->no_functions, name);
}

/* As the kernel names what has no name any more. */
static bool is_deleted(const char *path)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path), more = sizeof(suffix) - 1;

	return length > more && strcmp(path + length - more, suffix) == 0 &&
	       access(path, F_OK) != 0;
}

static bool is_cancelled(const void *task)
{
	return mt_task_is_cancelled(task);
}

void mt_calls_file_destroy(struct mt_calls_file *file)
{
	mt_plan_destroy(file->plan);
	mt_array_deinit(&file->stretches);
	mt_objfile_unref(file->objfile);
	free(file->path);
	free(file);
}

/* More than what the linker adds for the C runtime (crti.o, crtbegin.o), which is all that
 * libraries of data have. */
static bool has_code(const struct mt_calls_file *file)
{
	struct mt_code code = {0};
	uint64_t bytes = 0;

	if (!mt_code_read(file->objfile, &code))
		mt_array_each (range, &code)
			bytes += range->end - range->start;
	mt_array_deinit(&code);
	return bytes > LINKER_CODE;
}

/* *out NULL: without memory.  Else the error is why it cannot be planned. */
static struct mt_error *make_file(const struct mt_calls_engine *engine, const char *path,
				  const struct mt_task *task, struct mt_calls_file **out)
{
	struct mt_calls_file *file = calloc(1, sizeof(*file));

	*out = NULL;
	if (!file)
		return mt_error_no_memory();
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return mt_error_no_memory();
	}
	*out = file;
	/* TASK NULL: nobody can cancel it. */
	struct wanted wanted = {.engine = engine};
	struct mt_plan_options options = {
	    .context = &wanted, .cancelled = task ? is_cancelled : NULL, .cancelled_context = task};
	bool all = !engine->options.functions && !engine->options.no_functions;
	if (is_deleted(file->path))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "the file was replaced or deleted while the program ran; "
				    "restart the program");
	mt_try(mt_objfile_open(file->path, NULL, NULL, &file->objfile));
	wanted.objfile = file->objfile;
	if (!mt_calls_is_wanted(engine, path))
		return mt_calls_find_gs_user(engine, file, &options);
	if (!all)
		options.wanted = is_wanted_function;
	mt_try(all ? mt_calls_plan(engine, file, &options)
		   : mt_plan_create(file->objfile, &options, &file->plan));
	file->gs_user = file->plan->gs_user;
	return file->plan->functions.count || !has_code(file)
		   ? NULL
		   : mt_error_new(MT_ERROR_UNSUPPORTED,
				  "it has neither symbols nor unwind tables (.eh_frame), which "
				  "show where functions begin");
}

static struct mt_calls_file *find_file(const struct mt_calls_engine *engine, const char *path)
{
	struct mt_calls_file *file = NULL;

	HASH_FIND_STR(engine->files, path, file);
	return file;
}

struct mt_objfile *mt_calls_file_open(const struct mt_calls_engine *engine, const char *path)
{
	const struct mt_calls_file *file = find_file(engine, path);

	return file ? file->objfile : NULL;
}

/* Takes the result of make_file(); the reason why a file cannot be planned is logged once. */
static struct mt_error *add_file(struct mt_calls_engine *engine, struct mt_calls_file *file,
				 struct mt_error *error)
{
	if (!file)
		return error;
	if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED) {
		mt_calls_file_destroy(file);
		return error;
	}
	HASH_ADD_KEYPTR(hh, engine->files, file->path, strlen(file->path), file);
	if (find_file(engine, file->path) != file) {
		mt_calls_file_destroy(file);
		mt_error_destroy(error);
		return mt_error_no_memory();
	}
	if (error && mt_calls_is_wanted(engine, file->path))
		mt_log(engine->options.log, MT_LOG_WARNING, "calls in %s are not recorded: %s",
		       file->path, mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

struct mt_error *mt_calls_file_get(struct mt_calls_engine *engine, const char *path,
				   struct mt_calls_file **out)
{
	struct mt_error *error;

	*out = find_file(engine, path);
	if (*out)
		return NULL;
	error = make_file(engine, path, NULL, out);
	return add_file(engine, *out, error);
}

struct wish {
	const struct mt_calls_engine *engine;
	char *path;
	struct mt_task *task;
};

struct wishes {
	struct mt_calls_engine *engine;
	const char *except;
	MT_ARRAY(struct wish) items;
};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct wishes *wishes = context;
	struct mt_calls_engine *engine = wishes->engine;
	struct wish wish = {.engine = engine};

	if (!map->executable || map->path[0] != '/' ||
	    (wishes->except && strcmp(map->path, wishes->except) == 0) ||
	    find_file(engine, map->path))
		return NULL;
	mt_array_each (other, &wishes->items)
		if (strcmp(other->path, map->path) == 0)
			return NULL;
	wish.path = strdup(map->path);
	if (wish.path && !mt_array_push(&wishes->items, wish))
		return NULL;
	free(wish.path);
	return mt_error_no_memory();
}

static struct mt_error *plan(const struct mt_task *task, const void *input, void **result)
{
	const struct wish *wish = input;
	struct mt_calls_file *file;
	struct mt_error *error = make_file(wish->engine, wish->path, task, &file);

	*result = file;
	return error;
}

/* Errors: INTERRUPTED. */
static struct mt_error *await(struct wishes *wishes)
{
	const struct mt_progress *progress = wishes->engine->options.progress;
	size_t done = 0;

	while (progress && done < wishes->items.count) {
		const struct wish *wish = &wishes->items.items[done];

		if (!wish->task || mt_task_is_done(wish->task, PROGRESS_MS))
			done++;
		mt_try(mt_progress_step(progress, "planning the files", done, wishes->items.count));
	}
	return NULL;
}

static struct mt_error *plan_all(struct wishes *wishes, struct mt_pool *pool)
{
	struct mt_error *first = NULL;

	mt_array_each (wish, &wishes->items)
		mt_error_destroy(mt_pool_submit(pool, plan, wish, &wish->task));
	first = await(wishes);
	mt_array_each (wish, &wishes->items) {
		void *file = NULL;

		if (!wish->task)
			continue;
		if (first)
			mt_task_cancel(wish->task);
		struct mt_error *error = mt_task_wait(wish->task, &file);
		error = add_file(wishes->engine, file, error);
		if (!first)
			first = error;
		else
			mt_error_destroy(error);
	}
	return first;
}

/* Without a free worker, a file is planned when its plan is needed. */
struct mt_error *mt_calls_plan_ahead(struct mt_calls_engine *engine, pid_t pid, const char *except)
{
	struct wishes wishes = {.engine = engine, .except = except};
	/* One alone can be planned where it is asked for, if nobody wants to stop that. */
	size_t least = engine->options.progress ? 1 : 2;
	struct mt_pool *pool = NULL;
	struct mt_error *error = mt_target_each_map(engine->target, pid, see_map, &wishes);

	if (!error && wishes.items.count >= least)
		mt_error_destroy(mt_pool_create(0, wishes.items.count, &pool));
	if (!error && pool)
		error = plan_all(&wishes, pool);
	mt_pool_destroy(pool);
	mt_array_each (wish, &wishes.items)
		free(wish->path);
	mt_array_deinit(&wishes.items);
	return error;
}

struct gs_search {
	struct mt_calls_engine *engine;
	const char *except;
	const struct mt_calls_file *found; /* NULL: none yet */
};

static struct mt_error *look_for_gs(void *context, const struct mt_map *map)
{
	struct gs_search *search = context;
	struct mt_calls_file *file = NULL;

	if (search->found || !map->executable || map->path[0] != '/' ||
	    (search->except && strcmp(map->path, search->except) == 0))
		return NULL;
	mt_try(mt_calls_file_get(search->engine, map->path, &file));
	if (file->gs_user)
		search->found = file;
	return NULL;
}

struct mt_error *mt_calls_check_gs(struct mt_calls_engine *engine, pid_t pid, const char *except,
				   struct mt_str *why)
{
	struct gs_search search = {.engine = engine, .except = except};

	mt_try(mt_calls_plan_ahead(engine, pid, except));
	mt_try(mt_target_each_map(engine->target, pid, look_for_gs, &search));
	if (!search.found)
		return NULL;
	struct mt_objfile *objfile = search.found->objfile;
	const struct mt_symbol *symbol = mt_objfile_symbol_at(objfile, search.found->gs_user);
	mt_str_appendf(why, "%s() in %s uses the GS register, which the engine calls needs",
		       symbol ? mt_objfile_symbol_name(objfile, symbol) : "?", search.found->path);
	return why->failed ? mt_error_no_memory() : NULL;
}
