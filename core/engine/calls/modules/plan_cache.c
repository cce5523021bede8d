/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans are kept in ${XDG_CACHE_HOME:-~/.cache}/mtrace/plan-BUILDID, images of trampolines in
 * image-BUILDID-VARIANT, in gs-BUILDID what must be known of files that are not recorded, and in
 * code-BUILDID the sum over the code of a file that was not changed since: those used last.
 * Whatever goes wrong there costs time, and is no error.
 */
#include "engine/calls/modules/modules.h"

#include "base/hash.h"
#include "engine/calls/plan/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (512ull << 20)
#define PLAN       "plan-"
#define IMAGE      "image-"
#define GS         "gs-"
#define CODE       "code-"

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
	const size_t above = path->length;
	mt_str_append(path, "/mtrace");
	if (path->failed)
		return false;
	if (is_own_directory(path->text))
		return true;
	path->text[above] = '\0';
	mkdir(path->text, 0700);
	path->text[above] = '/';
	mkdir(path->text, 0777);
	return is_own_directory(path->text);
}

struct kept {
	uint64_t bytes;
	struct timespec used;
	char name[NAME_MAX + 1];
};

static bool is_kept(const char *name)
{
	return strncmp(name, PLAN, strlen(PLAN)) == 0 || strncmp(name, IMAGE, strlen(IMAGE)) == 0 ||
	       strncmp(name, GS, strlen(GS)) == 0 || strncmp(name, CODE, strlen(CODE)) == 0;
}

/* How many bytes all take; *oldest: the one that was not used for the longest time. */
static uint64_t see_all(DIR *directory, struct kept *oldest)
{
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat file;

	oldest->name[0] = '\0';
	rewinddir(directory);
	while ((entry = readdir(directory))) {
		if (!is_kept(entry->d_name) ||
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

void mt_calls_trim_cache(void)
{
	mt_auto(mt_str) struct mt_str path = {0};
	DIR *directory = find_directory(&path) ? opendir(path.text) : NULL;
	struct kept oldest;

	while (directory && see_all(directory, &oldest) > MOST_BYTES)
		if (unlinkat(dirfd(directory), oldest.name, 0))
			break;
	if (directory)
		closedir(directory);
}

/* Takes what storing something of a file ended with. */
static void note_stored(const struct mt_calls_engine *engine, struct mt_calls_file *file,
			struct mt_error *error)
{
	file->was_stored |= !error;
	if (error)
		mt_log(engine->options.log, MT_LOG_DEBUG, "cannot keep what was made of %s: %s",
		       file->path, mt_error_message(error));
	mt_error_destroy(error);
}

/* Where it is kept, if it can be; VARIANT 0: of a plan. */
static bool find_path(const struct mt_calls_file *file, const char *kind, uint64_t variant,
		      struct mt_str *path)
{
	const struct mt_build_id *id = mt_objfile_build_id(file->objfile);
	char hex[41];

	if (!id->size || !find_directory(path))
		return false;
	mt_build_id_format(id, hex);
	mt_str_appendf(path, "/%s%s", kind, hex);
	if (variant)
		mt_str_appendf(path, "-%016llx", (unsigned long long)variant);
	return !path->failed;
}

/* In a file of its own. */
static void store_number(const struct mt_calls_engine *engine, struct mt_calls_file *file,
			 const struct mt_kept_key *key, const char *path, uint64_t number)
{
	const struct mt_kept_part part = {&number, 1, sizeof(number)};

	note_stored(engine, file, mt_kept_store(key, &part, 1, path));
}

/* The key of a plan.  The code of a file whose times are known need not be read for it. */
static int find_key(const struct mt_calls_engine *engine, struct mt_calls_file *file)
{
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_kept_key key;
	bool can_keep = mt_kept_key_of_file(file->objfile, mt_planner_number, &key) &&
			find_path(file, CODE, 0, &path);
	uint64_t code = 0;

	if (can_keep && mt_kept_read(&key, path.text, &code, sizeof(code))) {
		file->key = key;
		file->key.code = code;
		return 0;
	}
	if (mt_kept_key(file->objfile, mt_planner_number, &file->key))
		return -1;
	if (can_keep)
		store_number(engine, file, &key, path.text, file->key.code);
	return 0;
}

struct mt_error *mt_calls_plan(const struct mt_calls_engine *engine, struct mt_calls_file *file,
			       const struct mt_plan_options *options)
{
	mt_auto(mt_str) struct mt_str path = {0};
	bool can_keep = find_path(file, PLAN, 0, &path);

	if (can_keep) {
		if (find_key(engine, file))
			return mt_error_no_memory();
		mt_try(mt_plan_load(file->objfile, &file->key, path.text, &file->plan));
	}
	file->is_kept = file->plan;
	if (file->plan)
		return NULL;
	mt_try(mt_plan_create(file->objfile, options, &file->plan));
	file->is_kept = can_keep;
	if (file->is_kept)
		note_stored(engine, file, mt_plan_store(file->plan, &file->key, path.text));
	return NULL;
}

struct mt_error *mt_calls_find_gs_user(const struct mt_calls_engine *engine,
				       struct mt_calls_file *file,
				       const struct mt_plan_options *options)
{
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_kept_key key;
	uint64_t gs_user;
	bool can_keep = mt_kept_key_of_file(file->objfile, mt_planner_number, &key) &&
			find_path(file, GS, 0, &path);

	if (can_keep && mt_kept_read(&key, path.text, &gs_user, sizeof(gs_user))) {
		file->gs_user = gs_user;
		return NULL;
	}
	mt_try(mt_calls_plan(engine, file, options));
	file->gs_user = file->plan->gs_user;
	if (can_keep)
		store_number(engine, file, &key, path.text, file->gs_user);
	return NULL;
}

static uint64_t variant_of(const struct mt_image_config *config)
{
	const uint64_t facts[] = {config->start,      config->end,        config->base,
				  config->first_site, config->ring_bytes, config->stamps,
				  config->movable,    config->outlives_us};

	return mt_hash(0, facts, sizeof(facts)) | 1;
}

/* Where it is kept, and for what. */
static bool find_image(const struct mt_calls_file *file, const struct mt_image_config *config,
		       struct mt_kept_key *key, struct mt_str *path)
{
	*key = file->key;
	key->variant = variant_of(config);
	return file->is_kept && find_path(file, IMAGE, key->variant, path);
}

bool mt_calls_image_load(const struct mt_calls_file *file, const struct mt_image_config *config,
			 struct mt_image *image)
{
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_kept_key key;

	return find_image(file, config, &key, &path) &&
	       mt_image_load(file->plan, &key, path.text, image);
}

struct mt_error *mt_calls_image_make(const struct mt_calls_engine *engine,
				     struct mt_calls_file *file,
				     const struct mt_image_config *config, struct mt_image *image)
{
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_kept_key key;

	mt_try(mt_image_make(file->plan, config, image));
	if (find_image(file, config, &key, &path))
		note_stored(engine, file, mt_image_store(image, &key, path.text));
	return NULL;
}
