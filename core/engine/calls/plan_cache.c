/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of large files are kept in ${XDG_CACHE_HOME:-~/.cache}/mtrace/plan-BUILDID, those used
 * last. Whatever goes wrong there costs time, and is no error. */
#include "engine/calls/private.h"

#include "engine/calls/plan/cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_FUNCTIONS 500u /* others are planned in no time */
#define MOST_BYTES      (128ull << 20)
#define PREFIX          "plan-"

/* Made by another build, a plan is made anew. */
static uint64_t planner_number(void)
{
	struct stat file;
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)mt_plan_create, &info) || stat(info.dli_fname, &file))
		return 0;
	return (uint64_t)file.st_size << 40 ^ (uint64_t)file.st_mtim.tv_sec << 20 ^
	       (uint64_t)file.st_mtim.tv_nsec ^ (uint64_t)file.st_ino;
}

/* Under sudo it may be somebody else's. */
static bool is_own_directory(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISDIR(file.st_mode) && file.st_uid == geteuid();
}

/* The cache's directory, made if need be. */
static bool find_directory(struct mt_str *path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache)
		mt_str_append(path, cache);
	else if (home && is_own_directory(home))
		mt_str_appendf(path, "%s/.cache", home);
	if (path->failed || !path->length || path->text[0] != '/')
		return false;
	mkdir(path->text, 0700);
	mt_str_append(path, "/mtrace");
	if (path->failed)
		return false;
	mkdir(path->text, 0777);
	return is_own_directory(path->text);
}

struct kept {
	uint64_t bytes;
	struct timespec used;
	char name[NAME_MAX + 1];
};

/* How many bytes all plans take; *oldest: the one that was not used for the longest time. */
static uint64_t see_all(DIR *directory, struct kept *oldest)
{
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat file;

	oldest->name[0] = '\0';
	rewinddir(directory);
	while ((entry = readdir(directory))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    fstatat(dirfd(directory), entry->d_name, &file, AT_SYMLINK_NOFOLLOW))
			continue;
		bytes += (uint64_t)file.st_size;
		if (oldest->name[0] && file.st_mtim.tv_sec >= oldest->used.tv_sec)
			continue;
		oldest->used = file.st_mtim;
		strcpy(oldest->name, entry->d_name);
	}
	return bytes;
}

static void make_room(const char *path)
{
	DIR *directory = opendir(path);
	struct kept oldest;

	while (directory && see_all(directory, &oldest) > MOST_BYTES)
		if (unlinkat(dirfd(directory), oldest.name, 0))
			break;
	if (directory)
		closedir(directory);
}

static void store(const struct mt_calls_engine *engine, struct mt_objfile *objfile,
		  const struct mt_plan *plan, const char *directory, const char *path)
{
	struct mt_error *error = mt_plan_store(plan, objfile, planner_number(), path);

	if (error)
		mt_log(engine->options.log, MT_LOG_DEBUG, "cannot cache the plan of %s: %s",
		       mt_objfile_path(objfile), mt_error_message(error));
	mt_error_destroy(error);
	make_room(directory);
}

struct mt_error *mt_calls_plan(const struct mt_calls_engine *engine, struct mt_objfile *objfile,
			       const struct mt_plan_options *options, struct mt_plan **out)
{
	mt_auto(mt_str) struct mt_str directory = {0}, path = {0};
	const struct mt_build_id *id = mt_objfile_build_id(objfile);
	bool can_keep = id->size && planner_number() && find_directory(&directory);
	char hex[41];

	mt_build_id_format(id, hex);
	mt_str_appendf(&path, "%s/" PREFIX "%s", directory.text ? directory.text : "", hex);
	can_keep = can_keep && !path.failed;
	if (can_keep)
		mt_try(mt_plan_load(objfile, planner_number(), path.text, out));
	if (can_keep && *out)
		return NULL;
	mt_try(mt_plan_create(objfile, options, out));
	if (can_keep && (*out)->functions.count >= LEAST_FUNCTIONS)
		store(engine, objfile, *out, directory.text, path.text);
	return NULL;
}
