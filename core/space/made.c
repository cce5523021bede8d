/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols that come beside the object files: which files have them, each read once as long as it
 * does not change.  A table lives while a space uses it, or it is the newest of its file; its
 * functions, and its strings, belong to the pool. */
#include "space/private.h"

#include "base/clock.h"
#include "elf/jit_object.h"
#include "elf/jitdump.h"
#include "elf/objfile_private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct mt_error *read_symbols(FILE *file, const struct mt_text_store *store,
				      struct mt_text_symbols *out);

static const char *keep(void *context, const char *text)
{
	return mt_space_pool_text(context, text);
}

static void unuse(struct mt_text_symbols *table)
{
	if (!table || --table->users)
		return;
	mt_text_symbols_deinit(table);
	free(table);
}

static bool is_in_use(const struct mt_space *space, const struct mt_text_symbols *table)
{
	mt_array_each (known, &space->made)
		if (*known == table)
			return true;
	return false;
}

static struct mt_error *use(struct mt_space *space, struct mt_text_symbols *table)
{
	if (!table || is_in_use(space, table))
		return NULL;
	if (mt_array_push(&space->made, table))
		return mt_error_no_memory();
	table->users++;
	mt_space_forget_last(space);
	return NULL;
}

struct mt_error *mt_space_share_tables(const struct mt_space *from, struct mt_space *to)
{
	to->kernel = from->kernel;
	if (to->kernel)
		to->kernel->users++;
	mt_array_each (table, &from->made)
		mt_try(use(to, *table));
	return NULL;
}

void mt_space_drop_tables(struct mt_space *space)
{
	mt_array_each (table, &space->made)
		unuse(*table);
	mt_array_deinit(&space->made);
	unuse(space->kernel);
	space->kernel = NULL;
}

void mt_space_pool_drop_tables(struct mt_space_pool *pool)
{
	for (struct mt_space_pool_table *table = pool->tables; table; table = table->hh.next)
		unuse(table->symbols);
	HASH_CLEAR(hh, pool->tables);
}

/* With one user: the caller.  *OUT is NULL where there are no symbols. */
static struct mt_error *read_table(struct mt_space_pool *pool, FILE *file, read_symbols *read,
				   struct mt_text_symbols **out)
{
	const struct mt_text_store store = {keep, pool};
	struct mt_text_symbols *table = calloc(1, sizeof(*table));

	*out = NULL;
	if (!table)
		return mt_error_no_memory();
	table->users = 1;
	struct mt_error *error = read(file, &store, table);
	if (!error && table->count)
		*out = table;
	else
		unuse(table);
	return error;
}

static struct mt_table_version version_of(const struct stat *status)
{
	return (struct mt_table_version){
	    .device = status->st_dev,
	    .inode = status->st_ino,
	    .size = status->st_size,
	    .modified = status->st_mtim,
	    .changed = status->st_ctim,
	};
}

static bool is_version(const struct mt_table_version *one, const struct mt_table_version *other)
{
	return one->device == other->device && one->inode == other->inode &&
	       one->size == other->size && mt_is_same_time(&one->modified, &other->modified) &&
	       mt_is_same_time(&one->changed, &other->changed);
}

/* Without version: never read.  NULL: no memory. */
static struct mt_space_pool_table *table_of(struct mt_space_pool *pool, const char *path)
{
	struct mt_space_pool_table *table;
	const char *text = mt_space_pool_text(pool, path);

	if (!text)
		return NULL;
	HASH_FIND(hh, pool->tables, text, strlen(text), table);
	if (table)
		return table;
	table = mt_arena_zalloc(&pool->arena, sizeof(*table));
	if (!table)
		return NULL;
	table->path = text;
	HASH_ADD_KEYPTR(hh, pool->tables, table->path, strlen(text), table);
	return table->hh.tbl ? table : NULL;
}

static struct mt_error *read_newest(struct mt_space_pool *pool, const char *path, FILE *file,
				    const struct stat *status, read_symbols *read,
				    struct mt_text_symbols **out)
{
	const struct mt_table_version version = version_of(status);
	struct mt_space_pool_table *table = table_of(pool, path);
	struct mt_text_symbols *symbols;

	if (!table)
		return mt_error_no_memory();
	if (!is_version(&table->version, &version)) {
		mt_try(read_table(pool, file, read, &symbols));
		unuse(table->symbols);
		table->symbols = symbols;
		table->version = version;
	}
	*out = table->symbols;
	return NULL;
}

/* As perf does it: the names of our functions come from nobody else. */
static bool is_trusted(const struct stat *status)
{
	return status->st_uid == geteuid() || status->st_uid == 0 || geteuid() == 0;
}

/* As perf knows them: by the name, jit-PID.dump, of a mapping that the process has made for that.
 * The PID is its own where it runs, which may be a container. */
static bool is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strncmp(name, "jit-", 4) != 0)
		return false;
	size_t digits = strspn(name + 4, "0123456789");
	return digits && strcmp(name + 4 + digits, ".dump") == 0;
}

struct mt_error *mt_space_add_made_file(struct mt_space *space, const char *path)
{
	read_symbols *read = is_jitdump(path) ? mt_jitdump_read : mt_text_symbols_read_perf_map;
	struct mt_text_symbols *table = NULL;
	struct stat status;
	FILE *file;
	struct mt_error *error = mt_text_symbols_open(path, &file, &status);

	if (error) {
		mt_error_destroy(error);
		return NULL;
	}
	if (is_trusted(&status))
		error = read_newest(space->pool, path, file, &status, read, &table);
	fclose(file);
	return error ? error : use(space, table);
}

struct mt_error *mt_space_add_made(struct mt_space *space)
{
	char map[64];

	for (size_t i = 0; i < space->count; i++)
		if (is_jitdump(space->entries[i].mapping.path))
			mt_try(mt_space_add_made_file(space, space->entries[i].mapping.path));
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)space->pid);
	return mt_space_add_made_file(space, map);
}

struct mt_error *mt_space_add_kallsyms(struct mt_space *space, const char *path)
{
	struct mt_text_symbols *table = NULL;
	struct stat status;
	FILE *file;

	mt_try(mt_text_symbols_open(path, &file, &status));
	struct mt_error *error =
	    read_table(space->pool, file, mt_text_symbols_read_kallsyms, &table);
	fclose(file);
	if (error || !table)
		return error;
	unuse(space->kernel);
	space->kernel = table;
	mt_space_forget_last(space);
	return NULL;
}

/* Of the file that is mapped first, which is the program's: kernel and loader put it below all
 * others. */
static const char *program_of(const struct mt_space *space)
{
	for (size_t i = 0; i < space->count; i++)
		if (space->entries[i].image &&
		    strcmp(space->entries[i].mapping.path, MT_JIT_OBJECT_PATH) != 0)
			return mt_path_name(space->entries[i].mapping.path);
	return "?";
}

const struct mt_function *mt_space_made_at(struct mt_space *space, uint64_t address)
{
	const struct mt_space_entry *entry = mt_space_entry_at(space, address);
	char name[NAME_MAX + 16];

	if (!entry || (strcmp(entry->mapping.path, MT_SPACE_NO_FILE) != 0 &&
		       strcmp(entry->mapping.path, MT_JIT_OBJECT_PATH) != 0))
		return NULL;
	snprintf(name, sizeof(name), "[JIT: %s]", program_of(space));
	const struct mt_hole_key key = {.end = UINT64_MAX,
					.path = mt_space_pool_text(space->pool, name)};
	return key.path ? mt_space_pool_hole(space->pool, &key, name) : NULL;
}
