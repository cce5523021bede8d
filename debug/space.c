/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address space: the program's file before it runs, its executable mappings when it does. */
#include "dwarf/source.h"
#include "private.h"
#include "process/corefile.h"

#include <string.h>

#define GREATEST_VDSO_BYTES (1u << 20)

static struct mt_error *begin_space(struct mt_debugger *debugger, pid_t pid)
{
	struct mt_space *code;

	mt_try(mt_space_create(debugger->pool, pid, &code));
	mt_debug_forget_conditions(debugger);
	mt_debug_watch_forget_exprs(debugger);
	mt_expr_program_set_space(debugger->expressions, code);
	mt_debug_forget_objects(debugger);
	mt_space_destroy(debugger->code);
	debugger->code = code;
	mt_debugger_forget_frames(debugger);
	return NULL;
}

struct mt_error *mt_debug_space_init(struct mt_debugger *debugger)
{
	mt_try(mt_space_pool_create(NULL, &debugger->pool));
	mt_try(mt_space_create(debugger->pool, 0, &debugger->code));
	return mt_expr_program_create(debugger->code, &debugger->expressions);
}

void mt_debug_space_deinit(struct mt_debugger *debugger)
{
	mt_debug_forget_objects(debugger);
	mt_expr_program_destroy(debugger->expressions);
	mt_space_destroy(debugger->code);
	mt_space_pool_destroy(debugger->pool);
	mt_objfile_unref(debugger->vdso);
}

struct mt_error *mt_debug_space_of_file(struct mt_debugger *debugger)
{
	struct mt_objfile *objfile = NULL;
	struct mt_error *error = NULL;
	struct mt_load load;

	mt_try(begin_space(debugger, 0));
	mt_try(mt_objfile_open(debugger->path, NULL, NULL, &objfile));
	for (size_t i = 0; !error && mt_objfile_load(objfile, i, &load); i++) {
		const struct mt_mapping mapping = {.start = load.address,
						   .end = load.address + load.size,
						   .offset = load.offset,
						   .path = debugger->path};
		if (load.size)
			error = mt_space_add(debugger->code, &mapping);
	}
	mt_objfile_unref(objfile);
	return error;
}

/* The same in all processes of this machine. */
static struct mt_objfile *vdso_of(struct mt_debugger *debugger, const struct mt_map *map)
{
	size_t size = map->end - map->start;
	uint8_t *bytes;

	if (debugger->vdso || size > GREATEST_VDSO_BYTES)
		return debugger->vdso;
	bytes = malloc(size);
	if (bytes && mt_debug_read(debugger, map->start, bytes, size) == size)
		mt_error_destroy(mt_objfile_open_memory(map->path, bytes, size, &debugger->vdso));
	free(bytes);
	return debugger->vdso;
}

/* Code only: data would not show where a library is, since a page of the file may be mapped twice.
 */
static struct mt_error *add_map(void *context, const struct mt_map *map)
{
	struct mt_debugger *debugger = context;
	struct mt_mapping mapping = {.start = map->start,
				     .end = map->end,
				     .offset = map->offset,
				     .path = map->path[0] ? map->path : "//anon"};

	if (!map->executable)
		return NULL;
	/* Libraries may have been updated since. */
	if (debugger->process == MT_DEBUG_CORE &&
	    (!debugger->path || strcmp(map->path, debugger->path) != 0))
		mapping.build_id = mt_corefile_build_id(debugger->target, map->start);
	struct mt_objfile *vdso = strcmp(map->path, "[vdso]") == 0 ? vdso_of(debugger, map) : NULL;
	return vdso ? mt_space_add_objfile(debugger->code, &mapping, vdso)
		    : mt_space_add(debugger->code, &mapping);
}

static void note_loader_break(void *context, uint64_t address, const char *name)
{
	(void)name;
	*(uint64_t *)context = address;
}

struct mt_error *mt_debug_space_of_process(struct mt_debugger *debugger)
{
	/* What has its number now is another process. */
	mt_try(begin_space(debugger, debugger->process == MT_DEBUG_CORE ? 0 : debugger->pid));
	mt_try(debugger->target->ops->each_map(debugger->target, debugger->pid, add_map, debugger));
	/* The dynamic loader calls a function before and after it maps or unmaps something. */
	debugger->loader_break = 0;
	for (size_t i = 0; i < mt_space_mapping_count(debugger->code); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(debugger->code, i);
		const char *name = strrchr(mapping->path, '/');
		uint64_t address = 0;

		if (!mapping->objfile || !name || strncmp(name, "/ld-", 4) != 0)
			continue;
		mt_objfile_find_name(mapping->objfile, "_dl_debug_state", note_loader_break,
				     &address);
		if (address)
			debugger->loader_break = address + mapping->bias;
	}
	return NULL;
}

static const struct mt_mapping *mapping_at(const struct mt_debugger *debugger, uint64_t address)
{
	const struct mt_mapping *mapping = mt_space_find(debugger->code, address);

	return mapping && mapping->objfile ? mapping : NULL;
}

bool mt_debug_line_at(struct mt_debugger *debugger, uint64_t address, struct mt_line_range *out)
{
	const struct mt_mapping *mapping = mapping_at(debugger, address);

	*out = (struct mt_line_range){0};
	if (!mapping || !mt_objfile_line_at(mapping->objfile, address - mapping->bias, out))
		return false;
	out->start += mapping->bias;
	out->end += mapping->bias;
	return true;
}

const char *mt_debug_file_name(struct mt_debugger *debugger, uint64_t address, const char *file)
{
	const struct mt_mapping *mapping = mapping_at(debugger, address);
	const char *directory =
	    mapping && file ? mt_objfile_directory_at(mapping->objfile, address - mapping->bias)
			    : NULL;
	size_t length = directory ? strlen(directory) : 0;

	return length && strncmp(file, directory, length) == 0 && file[length] == '/'
		   ? file + length + 1
		   : file;
}

uint64_t mt_debug_frame_made(struct mt_debugger *debugger, uint64_t start)
{
	const struct mt_mapping *mapping = mapping_at(debugger, start);

	return mapping
		   ? mt_objfile_frame_made(mapping->objfile, start - mapping->bias) + mapping->bias
		   : start;
}

/* Before the program runs: the file; what is in its segments, but not in the file, is zero. */
static size_t read_file(struct mt_debugger *debugger, uint64_t address, char *buffer, size_t size)
{
	size_t have = mt_space_read(debugger->code, address, buffer, size);
	const struct mt_mapping *program =
	    mt_space_mapping_count(debugger->code) ? mt_space_mapping(debugger->code, 0) : NULL;
	struct mt_load load;

	for (size_t i = 0; have < size && program && program->objfile &&
			   mt_objfile_load(program->objfile, i, &load);
	     i++)
		while (have < size && address + have - program->bias - load.address < load.size)
			buffer[have++] = 0;
	return have;
}

size_t mt_debug_read(struct mt_debugger *debugger, uint64_t address, void *buffer, size_t size)
{
	if (!debugger->pid)
		return read_file(debugger, address, buffer, size);
	return debugger->target->ops->read(debugger->target, debugger->pid, address, buffer, size);
}

size_t mt_debug_read_cancellably(struct mt_debugger *debugger, uint64_t address, void *buffer,
				 size_t size)
{
	const struct mt_debug_front *front = &debugger->front;

	if (!debugger->stop && front->cancelled && front->cancelled(front->context))
		return 0;
	return mt_debug_read(debugger, address, buffer, size);
}

uint64_t mt_debug_word(struct mt_debugger *debugger, uint64_t address)
{
	uint64_t word = 0;

	return mt_debug_read(debugger, address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}
