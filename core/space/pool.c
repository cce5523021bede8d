/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space/pool.h"
#include "dwarf/source.h"

#include "base/array.h"
#include "base/str.h"
#include "elf/objfile_private.h"

#include <string.h>
#include <sys/stat.h>

struct mt_error *mt_space_pool_create(const struct mt_objfile_options *options,
				      struct mt_space_pool **out)
{
	struct mt_space_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return mt_error_no_memory();
	if (options)
		pool->options = *options;
	if (pool->options.debug_directory)
		pool->debug_directory = strdup(pool->options.debug_directory);
	if (pool->options.sysroot)
		pool->sysroot = strdup(pool->options.sysroot);
	if (pool->options.log)
		pool->log = *pool->options.log;
	if ((pool->options.debug_directory && !pool->debug_directory) ||
	    (pool->options.sysroot && !pool->sysroot)) {
		mt_space_pool_destroy(pool);
		return mt_error_no_memory();
	}
	pool->options.debug_directory = pool->debug_directory;
	pool->options.sysroot = pool->sysroot;
	pool->options.log = &pool->log;
	*out = pool;
	return NULL;
}

static void release(struct mt_objfile *objfile)
{
	if (objfile)
		mt_objfile_number_by(objfile, NULL);
	mt_objfile_unref(objfile);
}

void mt_space_pool_destroy(struct mt_space_pool *pool)
{
	if (!pool)
		return;
	struct mt_image *image = pool->images, *next;

	HASH_CLEAR(hh, pool->images);
	for (; image; image = next) {
		next = image->hh.next;
		free(image->functions);
		free(image);
	}
	for (struct mt_space_pool_file *file = pool->files; file; file = file->hh.next)
		release(file->objfile);
	for (size_t i = 0; i < pool->guests.count; i++)
		release(pool->guests.items[i]);
	mt_array_deinit(&pool->guests);
	mt_space_pool_drop_tables(pool);
	mt_space_pool_drop_objects(pool);
	HASH_CLEAR(hh, pool->made);
	HASH_CLEAR(hh, pool->texts);
	HASH_CLEAR(hh, pool->files);
	HASH_CLEAR(hh, pool->holes);
	mt_arena_deinit(&pool->arena);
	free(pool->debug_directory);
	free(pool->sysroot);
	free(pool);
}

uint32_t mt_space_pool_function_count(const struct mt_space_pool *pool)
{
	return pool->function_count;
}

const char *mt_space_pool_text(struct mt_space_pool *pool, const char *text)
{
	struct mt_space_pool_text *known;
	size_t length = strlen(text);

	HASH_FIND(hh, pool->texts, text, length, known);
	if (known)
		return known->text;
	known = mt_arena_zalloc(&pool->arena, sizeof(*known) + length + 1);
	if (!known)
		return NULL;
	memcpy(known->text, text, length);
	HASH_ADD_KEYPTR(hh, pool->texts, known->text, length, known);
	return known->hh.tbl ? known->text : NULL;
}

static bool open_file(struct mt_space_pool *pool, struct mt_space_pool_file *file, const char *path,
		      const struct mt_build_id *wanted)
{
	mt_auto(mt_error) struct mt_error *error =
	    mt_objfile_open(path, wanted, &pool->options, &file->objfile);

	if (!error) {
		mt_objfile_number_by(file->objfile, &pool->function_count);
		return true;
	}
	mt_log(&pool->log, MT_LOG_DEBUG, "%s", mt_error_message(error));
	file->problem = mt_space_pool_text(pool, mt_error_message(error));
	return file->problem != NULL;
}

static void make_key_of(const char *path, const struct stat *file, struct mt_str *key)
{
	mt_str_appendf(key, "%s\n\n%llu %lld.%ld", path, (unsigned long long)file->st_ino,
		       (long long)file->st_mtim.tv_sec, file->st_mtim.tv_nsec);
}

/* What a file is found by that was asked for with a build id, or with none: then another one may
 * have taken its place. */
static void make_key(const char *path, const struct mt_build_id *wanted, struct mt_str *key)
{
	struct stat found;
	char hex[41];

	if (!wanted->size && stat(path, &found) == 0) {
		make_key_of(path, &found, key);
		return;
	}
	mt_build_id_format(wanted, hex);
	mt_str_appendf(key, "%s\n%s", path, hex);
}

static struct mt_space_pool_file *find_file(const struct mt_space_pool *pool,
					    const struct mt_str *key)
{
	struct mt_space_pool_file *file = NULL;

	if (!key->failed)
		HASH_FIND(hh, pool->files, key->text, key->length, file);
	return file;
}

/* The one that lies at PATH, if it was asked for before without its build id.  NULL: it was not. */
static struct mt_objfile *find_open(const struct mt_space_pool *pool, const char *path,
				    const struct mt_build_id *wanted)
{
	const struct mt_build_id none = {0};
	mt_auto(mt_str) struct mt_str key = {0};

	if (!wanted->size)
		return NULL;
	make_key(path, &none, &key);
	const struct mt_space_pool_file *file = find_file(pool, &key);
	return file && file->objfile &&
		       mt_build_id_equal(mt_objfile_build_id(file->objfile), wanted)
		   ? file->objfile
		   : NULL;
}

static struct mt_space_pool_file *new_file(struct mt_space_pool *pool, const struct mt_str *key)
{
	struct mt_space_pool_file *file = mt_arena_zalloc(&pool->arena, sizeof(*file));

	if (file)
		file->key = mt_arena_text(&pool->arena, key->text, key->length);
	return file && file->key ? file : NULL;
}

/* Takes its object file's reference.  False: without memory. */
static bool add_file(struct mt_space_pool *pool, struct mt_space_pool_file *file, size_t key_length)
{
	HASH_ADD_KEYPTR(hh, pool->files, file->key, key_length, file);
	if (file->hh.tbl)
		return true;
	release(file->objfile);
	return false;
}

const struct mt_space_pool_file *mt_space_pool_file(struct mt_space_pool *pool, const char *path,
						    const struct mt_build_id *wanted)
{
	mt_auto(mt_str) struct mt_str key = {0};

	make_key(path, wanted, &key);
	struct mt_space_pool_file *file = find_file(pool, &key);
	if (key.failed || file)
		return file;
	file = new_file(pool, &key);
	if (!file)
		return NULL;
	struct mt_objfile *open = find_open(pool, path, wanted);
	if (open)
		file->objfile = mt_objfile_ref(open);
	else if (!open_file(pool, file, path, wanted))
		return NULL;
	return add_file(pool, file, key.length) ? file : NULL;
}

struct mt_error *mt_space_pool_offer(struct mt_space_pool *pool, const char *path,
				     struct mt_objfile *objfile)
{
	mt_auto(mt_str) struct mt_str key = {0};

	make_key_of(path, &objfile->main.status, &key);
	if (find_file(pool, &key))
		return NULL;
	struct mt_space_pool_file *file = key.failed ? NULL : new_file(pool, &key);
	if (!file)
		return mt_error_no_memory();
	file->objfile = mt_objfile_ref(objfile);
	if (!add_file(pool, file, key.length))
		return mt_error_no_memory();
	mt_objfile_number_by(objfile, &pool->function_count);
	return NULL;
}

struct mt_error *mt_space_pool_open(struct mt_space_pool *pool, const char *path,
				    struct mt_objfile **out)
{
	const struct mt_build_id any = {0};
	const struct mt_space_pool_file *file = mt_space_pool_file(pool, path, &any);

	*out = file ? file->objfile : NULL;
	return file ? NULL : mt_error_no_memory();
}

struct mt_error *mt_space_pool_adopt(struct mt_space_pool *pool, struct mt_objfile *objfile)
{
	if (objfile->function_count == &pool->function_count)
		return NULL;
	if (mt_array_push(&pool->guests, objfile))
		return mt_error_no_memory();
	mt_objfile_number_by(mt_objfile_ref(objfile), &pool->function_count);
	return NULL;
}

struct mt_image *mt_space_pool_image(struct mt_space_pool *pool, struct mt_objfile *objfile,
				     uint64_t bias)
{
	struct mt_image *image = calloc(1, sizeof(*image)), *known;

	if (!image)
		return NULL;
	image->key.objfile = objfile;
	image->key.bias = bias;
	HASH_FIND(hh, pool->images, &image->key, sizeof(image->key), known);
	if (known) {
		free(image);
		return known;
	}
	HASH_ADD(hh, pool->images, key, sizeof(image->key), image);
	if (image->hh.tbl)
		return image;
	free(image);
	return NULL;
}

static struct mt_function *new_function(struct mt_space_pool *pool)
{
	struct mt_function *function = mt_arena_zalloc(&pool->arena, sizeof(*function));

	if (function)
		function->id = pool->function_count++;
	return function;
}

static const struct mt_function *make_image_function(struct mt_space_pool *pool,
						     const struct mt_image *image,
						     const struct mt_symbol *symbol)
{
	struct mt_function *function = new_function(pool);

	if (!function)
		return NULL;
	function->kind = symbol->kind;
	function->flags = symbol->flags;
	function->name = mt_objfile_symbol_name(image->key.objfile, symbol);
	function->module = mt_objfile_path(image->key.objfile);
	function->start = symbol->start + image->key.bias;
	function->end = symbol->end + image->key.bias;
	mt_objfile_source_at(image->key.objfile, symbol->start, &function->source);
	return function;
}

const struct mt_function *mt_space_pool_image_function(struct mt_space_pool *pool,
						       struct mt_image *image, size_t symbol)
{
	if (!image->functions)
		image->functions = calloc(image->symbol_count, sizeof(*image->functions));
	if (!image->functions)
		return NULL;
	if (!image->functions[symbol])
		image->functions[symbol] =
		    make_image_function(pool, image, &image->symbols[symbol]);
	return image->functions[symbol];
}

/* NULL: no memory. */
static const struct mt_function *made_function(struct mt_space_pool *pool,
					       const struct mt_made_key *key, uint8_t kind)
{
	struct mt_space_pool_made *known;

	HASH_FIND(hh, pool->made, key, sizeof(*key), known);
	if (known)
		return known->function;
	known = mt_arena_zalloc(&pool->arena, sizeof(*known));
	if (!known || !(known->function = new_function(pool)))
		return NULL;
	*known->function =
	    (struct mt_function){.id = known->function->id,
				 .kind = kind,
				 .name = key->name,
				 .module = key->module,
				 .start = key->start,
				 .end = key->end,
				 .source = {.file = key->file, .line = (uint32_t)key->line}};
	known->key = *key;
	HASH_ADD(hh, pool->made, key, sizeof(known->key), known);
	return known->hh.tbl ? known->function : NULL;
}

const struct mt_function *mt_space_pool_python_function(struct mt_space_pool *pool,
							const char *name, const char *file,
							uint32_t line)
{
	const char *path = mt_space_pool_text(pool, file);
	const struct mt_made_key key = {
	    .name = mt_space_pool_text(pool, name), .module = path, .file = path, .line = line};

	return key.name && path ? made_function(pool, &key, MT_FUNCTION_PYTHON) : NULL;
}

const struct mt_function *mt_space_pool_text_function(struct mt_space_pool *pool,
						      struct mt_text_symbols *table, size_t index)
{
	struct mt_text_symbol *symbol = &table->items[index];
	const struct mt_text_line *line =
	    symbol->line_count ? &table->lines.items[symbol->first_line] : NULL;
	const struct mt_made_key key = {.start = symbol->start,
					.end = symbol->end,
					.name = symbol->name,
					.module = symbol->module,
					.file = line ? line->file : NULL,
					.line = line ? line->line : 0};

	if (!symbol->function)
		symbol->function = made_function(pool, &key, MT_FUNCTION_SYMBOL);
	return symbol->function;
}

const struct mt_function *mt_space_pool_hole(struct mt_space_pool *pool,
					     const struct mt_hole_key *key, const char *name)
{
	struct mt_hole *hole;

	HASH_FIND(hh, pool->holes, key, sizeof(*key), hole);
	if (hole)
		return hole->function;
	hole = mt_arena_zalloc(&pool->arena, sizeof(*hole));
	const char *text = mt_space_pool_text(pool, name);
	struct mt_function *function = hole && text ? new_function(pool) : NULL;
	if (!function)
		return NULL;
	function->kind = MT_FUNCTION_UNKNOWN;
	function->name = text;
	function->module = key->path ? key->path : "";
	function->start = key->start;
	function->end = key->end;
	hole->key = *key;
	hole->function = function;
	HASH_ADD(hh, pool->holes, key, sizeof(*key), hole);
	return function;
}
