/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is to call dlopen() must not be within the dynamic loader, the allocator, or what else holds
 * a lock that they take: these locks are not made to be taken twice.  That is judged by the
 * thread's frames, by those that it interrupted with a signal handler too.
 *
 * The allocator's inner functions have no names in most C libraries, but they are called by public
 * ones, which stay on the stack.  An allocator that is a library of its own is left alone whole. */
#include "engine/calls/private.h"

#include "elf/file.h"
#include "elf/section.h"
#include "space/unwind.h"

#include <string.h>

#define MOST_FRAMES 4096

/* Those that run with a lock that dlopen() takes: the allocator's, the loader's, or the list of
 * threads' stacks. */
static const char *const names[] = {
    "malloc",         "free",          "calloc",         "realloc",
    "memalign",       "aligned_alloc", "posix_memalign", "valloc",
    "pvalloc",        "reallocarray",  "malloc_trim",    "malloc_info",
    "malloc_stats",   "mallinfo",      "mallinfo2",      "mallopt",
    "cfree",          "fork",          "_Fork",          "dl_iterate_phdr",
    "pthread_create", "pthread_exit",  "pthread_detach", "pthread_getattr_np",
};

struct code {
	uint64_t start, end;
};

struct mt_calls_quiet {
	struct mt_calls_engine *engine;
	struct mt_calls_space *process;
	struct mt_space_pool *pool;
	struct mt_space *space;
	MT_ARRAY(uint64_t) functions;         /* where those of `names` begin */
	MT_ARRAY(struct code) with_functions; /* that has some of them */
	MT_ARRAY(struct code) untouchable;
	MT_ARRAY(struct code) library; /* the C library's */
};

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct mt_calls_quiet *quiet = context;

	return quiet->engine->target->ops->read(quiet->engine->target, quiet->process->pid, address,
						buffer, size);
}

static bool is_in(const struct code *code, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (address >= code[i].start && address < code[i].end)
			return true;
	return false;
}

static bool is_named(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Whether it defines malloc().  Errors: NO_MEMORY. */
static struct mt_error *note_functions(struct mt_calls_quiet *quiet, Elf *elf, uint64_t bias,
				       bool *allocates)
{
	struct mt_section symbols;
	GElf_Sym symbol;

	if (!mt_section_find_type(elf, SHT_DYNSYM, &symbols))
		return NULL;
	for (int i = 0; gelf_getsym(symbols.data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);

		if (symbol.st_shndx == SHN_UNDEF || !name || !is_named(name))
			continue;
		if (strcmp(name, "malloc") == 0)
			*allocates = true;
		if (mt_array_push(&quiet->functions, symbol.st_value + bias))
			return mt_error_no_memory();
	}
	return NULL;
}

static bool is_c_library(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && (strncmp(base, "/libc.", 6) == 0 || strncmp(base, "/libc-", 6) == 0 ||
			strncmp(base, "/libpthread", 11) == 0);
}

static bool is_library(const char *path)
{
	return strstr(path, ".so") != NULL;
}

/* A file that cannot be read has none: it was deleted since. */
static struct mt_error *note_functions_of(struct mt_calls_quiet *quiet,
					  const struct mt_mapping *mapping, bool *allocates)
{
	struct mt_elf_file file = {0};
	struct mt_error *unread = mt_elf_file_open(mapping->path, &file), *error = NULL;

	if (!unread)
		error = note_functions(quiet, file.elf, mapping->bias, allocates);
	mt_error_destroy(unread);
	mt_elf_file_close(&file);
	return error;
}

static struct mt_error *judge_file(struct mt_calls_quiet *quiet, const struct mt_mapping *mapping)
{
	const struct code code = {mapping->start, mapping->end};
	bool allocates = false, loader = strcmp(mapping->path, quiet->process->loader_path) == 0;
	size_t before = quiet->functions.count;

	if (!loader)
		mt_try(note_functions_of(quiet, mapping, &allocates));
	if (quiet->functions.count > before && mt_array_push(&quiet->with_functions, code))
		return mt_error_no_memory();
	if (is_c_library(mapping->path))
		return mt_array_push(&quiet->library, code) ? mt_error_no_memory() : NULL;
	if (loader || (allocates && is_library(mapping->path)))
		return mt_array_push(&quiet->untouchable, code) ? mt_error_no_memory() : NULL;
	return NULL;
}

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct mt_calls_quiet *quiet = context;
	const struct mt_mapping mapping = {.start = map->start,
					   .end = map->end,
					   .offset = map->offset,
					   .path = map->path[0] ? map->path : "//anon"};

	if (!map->executable || map->start >> 63)
		return NULL;
	mt_try(mt_space_add(quiet->space, &mapping));
	if (map->path[0] != '/')
		return NULL;
	return judge_file(quiet, mt_space_find(quiet->space, map->start));
}

struct mt_error *mt_calls_quiet_create(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_quiet **out)
{
	/* Threads stand still while frames are looked for: debuggers' files would take long. */
	const struct mt_objfile_options options = {.debug_directory = "/dev/null"};
	struct mt_calls_quiet *quiet = calloc(1, sizeof(*quiet));
	const struct mt_target_ops *ops = engine->target->ops;

	*out = NULL;
	if (!quiet)
		return mt_error_no_memory();
	quiet->engine = engine;
	quiet->process = space;
	struct mt_error *error = mt_space_pool_create(&options, &quiet->pool);
	if (!error)
		error = mt_space_create(quiet->pool, space->pid, &quiet->space);
	if (!error)
		error = ops->each_map(engine->target, space->pid, see_map, quiet);
	if (error)
		mt_calls_quiet_destroy(quiet);
	else
		*out = quiet;
	return error;
}

void mt_calls_quiet_destroy(struct mt_calls_quiet *quiet)
{
	if (!quiet)
		return;
	mt_space_destroy(quiet->space);
	mt_space_pool_destroy(quiet->pool);
	mt_array_deinit(&quiet->functions);
	mt_array_deinit(&quiet->with_functions);
	mt_array_deinit(&quiet->untouchable);
	mt_array_deinit(&quiet->library);
	free(quiet);
}

/* In a public function that takes such a lock. */
static bool is_in_function(struct mt_calls_quiet *quiet, uint64_t address)
{
	const struct mt_function *function;

	if (!is_in(quiet->with_functions.items, quiet->with_functions.count, address))
		return false;
	function = mt_space_function_at(quiet->space, address);
	if (!function)
		return true;
	mt_array_each (start, &quiet->functions)
		if (*start >= function->start && *start < function->end)
			return true;
	return false;
}

/* A thread with nothing but the C library on its stack begins or ends. */
bool mt_calls_is_quiet(struct mt_calls_quiet *quiet, const struct user_regs_struct *user)
{
	const struct mt_unwind_source source = {
	    .space = quiet->space, .read = read_memory, .context = quiet};
	const struct mt_registers registers = mt_registers_of(user);
	struct mt_unwinder unwinder;
	struct mt_unwind_frame frame;
	bool has_program = false;

	mt_unwind_start(&unwinder, &source, &registers);
	for (int i = 0; i < MOST_FRAMES && mt_unwind_next(&unwinder, &frame); i++) {
		uint64_t address = mt_unwind_inside(&frame);

		if (is_in(quiet->untouchable.items, quiet->untouchable.count, address) ||
		    is_in_function(quiet, address))
			return false;
		has_program |= !is_in(quiet->library.items, quiet->library.count, address);
	}
	return has_program && unwinder.end != MT_UNWIND_BAD_STACK;
}
