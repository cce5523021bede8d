/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/modules/modules.h"

#include "base/hash.h"
#include "base/search.h"
#include "engine/calls/memory/memory.h"
#include "engine/calls/state/state.h"

#include <string.h>

#define WRITE_CHUNK (1u << 20)
#define PAGE        4096u
/* How far below its text the room of a file is looked for: so far from NEAREST on.  Each file has
 * a distance of its own. */
#define NEAREST (256ull << 20)
#define SPREAD  (1280ull << 20)
/* The same above the text of a program that is not to be moved: behind the heap's room. */
#define FIXED_NEAREST (1ull << 30)
#define FIXED_SPREAD  (512ull << 20)
#define STEP          (64ull << 10)
/* No jump reaches from one end of it to the other.  A mapping may be larger than its file. */
#define GREATEST_TEXT (2ull << 30)

/* A single trampoline, the one that was asked for last; and what all share, once it was. */
struct mt_calls_again {
	struct mt_trampolines trampolines;
	size_t patch; /* + 1; 0: none yet */
	struct mt_trampolines shared;
};

void mt_calls_module_destroy(struct mt_calls_module *module)
{
	if (!module)
		return;
	mt_image_deinit(&module->image);
	if (module->again) {
		mt_trampolines_deinit(&module->again->trampolines);
		mt_trampolines_deinit(&module->again->shared);
	}
	free(module->again);
	free(module->levels);
	free(module->own_offsets);
	free(module->own_clean);
	free(module);
}

/* The mapping may be of several segments, or go beyond the file's end: then what is not of its
 * first one is zeros. */
int mt_calls_module_find_clean(struct mt_calls_module *module)
{
	const uint64_t address = module->start - module->bias, size = module->end - module->start;
	struct mt_objfile *objfile = module->file->objfile;

	if (!module->clean)
		module->clean = mt_objfile_pages(objfile, address, size);
	if (module->clean)
		return 0;
	module->clean = module->own_clean = calloc(1, size);
	if (!module->clean)
		return -1;
	/* A mapping begins with a page, and its segment anywhere in that (lld). */
	for (size_t at = 0; at < PAGE; at++)
		if (mt_objfile_read(objfile, address + at, module->own_clean + at, size - at))
			break;
	return 0;
}

bool mt_calls_clean_bytes(const struct mt_calls_module *module, uint64_t address, void *bytes,
			  size_t size)
{
	if (!module->clean)
		return mt_objfile_read_pages(module->file->objfile, address - module->bias, bytes,
					     size);
	memcpy(bytes, module->clean + (address - module->start), size);
	return true;
}

/* A number of the file and the place in it that is the same in each run. */
static uint64_t number_of(const struct mt_calls_module *module)
{
	const struct mt_build_id *id = mt_objfile_build_id(module->file->objfile);
	const uint64_t start = module->start - module->bias;

	return mt_hash(mt_hash(0, id->bytes, id->size), &start, sizeof(start));
}

/* Where the room is to be, as an address of the file: always the same, so that what was kept of the
 * file fits as it is. */
static uint64_t wanted_base(const struct mt_calls_module *module)
{
	uint64_t start = module->start - module->bias, number = number_of(module);

	if (!module->file->is_kept || module->outlives_us)
		return start;
	return module->config.movable
		   ? start - NEAREST - number % (SPREAD / STEP) * STEP
		   : start + FIXED_NEAREST + number % (FIXED_SPREAD / STEP) * STEP;
}

/* And of its first site. */
static uint32_t wanted_site(const struct mt_calls_module *module)
{
	return module->file->is_kept && !module->outlives_us
		   ? 1 + (uint32_t)(number_of(module) % (MT_RING_SITE_END / 2))
		   : 0;
}

static struct mt_image_config image_config(const struct mt_calls_module *module)
{
	return (struct mt_image_config){
	    .start = module->start - module->bias,
	    .end = module->end - module->bias,
	    .clean = module->clean,
	    .base = wanted_base(module),
	    .first_site = wanted_site(module),
	    .ring_bytes = module->config.ring_bytes,
	    .stamps = module->config.stamps,
	    .movable = module->config.movable,
	    .outlives_us = module->outlives_us,
	};
}

/* Where the process outlives us, the image goes when it is written. */
static int take_offsets(struct mt_calls_module *module)
{
	size_t size = module->image.offsets.count * sizeof(*module->offsets);

	module->offsets = module->image.offsets.items;
	if (!module->outlives_us)
		return 0;
	free(module->own_offsets);
	module->offsets = module->own_offsets = malloc(size + 1);
	if (!module->offsets)
		return -1;
	memcpy(module->own_offsets, module->image.offsets.items, size);
	return 0;
}

static struct mt_error *fill(struct mt_calls_engine *engine, struct mt_calls_module *module)
{
	struct mt_image_config config = image_config(module);

	if (mt_calls_image_load(module->file, &config, &module->image))
		return NULL;
	if (mt_calls_module_find_clean(module))
		return mt_error_no_memory();
	config.clean = module->clean;
	return mt_calls_image_make(engine, module->file, &config, &module->image);
}

/* The first free COUNT numbers from WANTED on, and behind which module they are.  False: there are
 * none. */
static bool find_sites(const struct mt_calls_engine *engine, uint32_t wanted, size_t count,
		       uint32_t *first, size_t *index)
{
	uint64_t at = wanted;
	size_t i = 0;

	for (; i < engine->modules.count; i++) {
		const struct mt_calls_module *other = engine->modules.items[i];
		uint64_t end = other->site_base + other->file->plan->sites.count;

		if (other->site_base >= at + count)
			break;
		if (end > at)
			at = end;
	}
	*first = (uint32_t)at;
	*index = i;
	return at + count <= MT_RING_SITE_END;
}

static struct mt_error *add_module(struct mt_calls_engine *engine, struct mt_calls_module *module)
{
	size_t sites = module->file->plan->sites.count, index = 0;
	uint32_t wanted = wanted_site(module);

	if (!find_sites(engine, wanted ? wanted : 1, sites, &module->site_base, &index) &&
	    !find_sites(engine, 1, sites, &module->site_base, &index))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "too many functions in one session");
	if (mt_array_push(&engine->modules, module))
		return mt_error_no_memory();
	struct mt_calls_module **items = engine->modules.items;
	memmove(items + index + 1, items + index,
		(engine->modules.count - 1 - index) * sizeof(*items));
	items[index] = module;
	return NULL;
}

/* What cannot be recorded is none, and the log says why. */
static struct mt_error *give_up(const struct mt_calls_engine *engine,
				const struct mt_calls_module *module, struct mt_error *error,
				struct mt_calls_module **out)
{
	*out = NULL;
	if (mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		return error;
	mt_log(engine->options.log, MT_LOG_WARNING, "calls in %s are not recorded: %s",
	       module->file->path, mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

/* NULL without memory. */
static struct mt_calls_module *create(const struct mt_calls_engine *engine,
				      const struct mt_map *map, uint64_t bias, bool outlives_us)
{
	struct mt_calls_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	*module = (struct mt_calls_module){
	    .bias = bias,
	    .start = map->start,
	    .end = map->end,
	    .offset = map->offset,
	    .inode = map->inode,
	    .device = map->device,
	    .outlives_us = outlives_us,
	    .config =
		{
		    .bias = bias,
		    .ring_bytes = (uint32_t)engine->options.ring_bytes,
		    .stamps = engine->options.stamps,
		    .movable = bias != 0,
		},
	    .again = calloc(1, sizeof(*module->again)),
	};
	if (module->again)
		return module;
	free(module);
	return NULL;
}

struct mt_error *mt_calls_module_make(struct mt_calls_engine *engine, const struct mt_map *map,
				      bool outlives_us, struct mt_calls_module **out)
{
	struct mt_calls_file *file = NULL;
	struct mt_calls_module *module;
	uint64_t address = 0;

	*out = NULL;
	if (!mt_calls_is_wanted(engine, map->path))
		return NULL;
	mt_try(mt_calls_file_get(engine, map->path, &file));
	if (!file->plan || !file->plan->patches.count ||
	    !mt_objfile_offset_to_address(file->objfile, map->offset, &address))
		return NULL;
	if (map->end - map->start > GREATEST_TEXT) {
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "calls in %s are not recorded: its code is mapped with more than 2 GiB",
		       map->path);
		return NULL;
	}
	module = create(engine, map, map->start - address, outlives_us);
	if (!module)
		return mt_error_no_memory();
	module->file = file;
	module->is_mapped_file = mt_objfile_is_still(file->objfile, map->device, map->inode);
	struct mt_error *error = add_module(engine, module);
	if (error) {
		mt_calls_module_destroy(module);
		return error;
	}
	error = fill(engine, module);
	if (error)
		return give_up(engine, module, error, out);
	*out = module;
	return take_offsets(module) ? mt_error_no_memory() : NULL;
}

/* For all of the image as it is. */
static struct mt_calls_room_wish wish_of(const struct mt_calls_module *module)
{
	const struct mt_image *image = &module->image;

	return (struct mt_calls_room_wish){
	    .start = module->bias + image->fixes.low,
	    .end = module->bias + image->fixes.high,
	    .bytes = (image->bytes.count + MT_CALLS_MARK_BYTES + PAGE - 1) & ~(uint64_t)(PAGE - 1),
	    .best = module->outlives_us ? 0 : module->bias + image->base,
	};
}

struct mt_error *mt_calls_modules_map_rooms(struct mt_calls_engine *engine,
					    struct mt_calls_space *space, pid_t lwp,
					    struct mt_calls_module **modules, size_t count)
{
	struct mt_calls_room_wish *wishes = calloc(count + 1, sizeof(*wishes));
	uint64_t *addresses = calloc(count + 1, sizeof(*addresses));
	struct mt_error *error = wishes && addresses ? NULL : mt_error_no_memory();

	for (size_t i = 0; i < count && !error; i++)
		wishes[i] = wish_of(modules[i]);
	if (!error)
		error = mt_calls_rooms_map(engine, space, lwp, wishes, count, addresses);
	for (size_t i = 0; i < count && !error; i++) {
		modules[i]->room = addresses[i];
		modules[i]->room_bytes = wishes[i].bytes;
	}
	free(wishes);
	free(addresses);
	return error;
}

/* Where all of the image fits as it is; else room from which all reach what they lead to; or at
 * least the text, for what reaches the rest from there. */
static struct mt_error *find_room(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp, struct mt_calls_module *module)
{
	struct mt_image_config config = image_config(module);
	struct mt_calls_room_wish wish = wish_of(module);

	if (module->room)
		return NULL;
	module->room_bytes = wish.bytes;
	struct mt_error *error = mt_calls_room_map(engine, space, lwp, &wish, &module->room);
	if (!error || mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		return error;
	mt_error_destroy(error);
	wish.start = module->start;
	wish.end = module->end;
	mt_try(mt_calls_room_map(engine, space, lwp, &wish, &module->room));
	mt_image_deinit(&module->image);
	if (mt_calls_module_find_clean(module))
		return mt_error_no_memory();
	config.clean = module->clean;
	config.base = module->room - module->bias;
	mt_try(mt_image_make(module->file->plan, &config, &module->image));
	if (take_offsets(module))
		return mt_error_no_memory();
	if (module->image.bytes.count + MT_CALLS_MARK_BYTES <= module->room_bytes)
		return NULL;
	mt_try(mt_calls_room_unmap(engine, lwp, module->room, module->room_bytes));
	mt_calls_unlist(space, module->room, module->room_bytes);
	return mt_error_new(MT_ERROR_UNSUPPORTED, "no free memory within 2 GiB of its code");
}

uint8_t *mt_calls_scratch(struct mt_calls_engine *engine)
{
	if (!engine->scratch)
		engine->scratch = malloc(MT_CALLS_SCRATCH_BYTES + 2 * (size_t)MT_IMAGE_MARGIN);
	return engine->scratch ? engine->scratch + MT_IMAGE_MARGIN : NULL;
}

static struct mt_image_place image_place(const struct mt_calls_module *module)
{
	return (struct mt_image_place){.room = module->room,
				       .bias = module->bias,
				       .alive = module->config.alive,
				       .first_site = module->site_base};
}

static struct mt_error *write_code(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space,
				   const struct mt_calls_module *module)
{
	const struct mt_image_place place = image_place(module);
	const uint32_t size = module->image.code_bytes;
	uint8_t *scratch = mt_calls_scratch(engine);

	if (!scratch)
		return mt_error_no_memory();
	for (uint32_t at = 0; at < size;) {
		uint32_t left = size - at;
		uint32_t end = at + (left < MT_CALLS_SCRATCH_BYTES ? left : MT_CALLS_SCRATCH_BYTES);

		mt_image_copy_code(&module->image, &place, at, end, scratch);
		mt_try(engine->target->ops->write(engine->target, space->pid, module->room + at,
						  scratch, end - at));
		mt_try(mt_calls_breathe(engine, space));
		at = end;
	}
	return NULL;
}

static struct mt_error *write_bytes(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_module *module, size_t from, size_t end)
{
	for (size_t at = from; at < end; at += WRITE_CHUNK) {
		mt_try(engine->target->ops->write(engine->target, space->pid, module->room + at,
						  module->image.bytes.items + at,
						  end - at < WRITE_CHUNK ? end - at : WRITE_CHUNK));
		mt_try(mt_calls_breathe(engine, space));
	}
	return NULL;
}

static void describe(struct mt_calls_module *module)
{
	const struct mt_image *image = &module->image;

	module->config.address = module->config.shared = module->room;
	module->code_bytes = image->code_bytes;
	module->shared_bytes = image->shared_bytes;
	module->entry = (struct mt_calls_entry){
	    .code = module->room,
	    .code_bytes = image->code_bytes,
	    .module = module->start,
	    .module_bytes = module->end - module->start,
	    .search_table = module->room + image->table,
	    .holes = module->room + image->holes,
	    .hole_count = image->hole_count,
	};
}

struct mt_error *mt_calls_module_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct mt_calls_module **module)
{
	(*module)->config.alive = (*module)->outlives_us ? mt_calls_alive_word(space->rings) : 0;
	struct mt_error *error = find_room(engine, space, lwp, *module);
	return error ? give_up(engine, *module, error, module) : NULL;
}

struct mt_error *mt_calls_module_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_module *module)
{
	struct mt_image *image = &module->image;

	mt_try(write_code(engine, space, module));
	mt_kept_close(&image->kept);
	const struct mt_calls_room spare = {.start = module->room + image->spare,
					    .used = module->room + image->spare,
					    .end = module->room + image->table};
	if (mt_array_push(&space->rooms, spare))
		return mt_error_no_memory();
	describe(module);
	return NULL;
}

struct mt_error *mt_calls_module_write_tables(struct mt_calls_engine *engine,
					      const struct mt_calls_space *space,
					      struct mt_calls_module *module)
{
	const struct mt_image_place place = image_place(module);

	if (!module->has_tables)
		mt_image_fix_tables(&module->image, &place);
	module->has_tables = true;
	mt_try(write_bytes(engine, space, module, module->image.table, module->image.bytes.count));
	if (module->outlives_us)
		mt_image_deinit(&module->image);
	return NULL;
}

/* The patch whose trampoline holds an offset; -1: none. */
static ssize_t patch_of_offset(const struct mt_calls_module *module, uint64_t offset)
{
	size_t low = 0, high = module->file->plan->patches.count;
	ssize_t found = -1;

	if (offset >= module->code_bytes)
		return -1;
	while (low < high) {
		size_t middle = low + (high - low) / 2, at = middle;

		while (at < high && module->offsets[at] == MT_CALLS_NONE)
			at++;
		if (at < high && module->offsets[at] <= offset) {
			found = (ssize_t)at;
			low = at + 1;
		} else {
			high = middle;
		}
	}
	return found;
}

const struct mt_trampolines *mt_calls_trampoline_again(const struct mt_calls_module *module,
						       size_t patch)
{
	const struct mt_patch *what = &module->file->plan->patches.items[patch];
	struct mt_trampoline_config config = module->config;
	struct mt_calls_again *again = module->again;
	uint8_t bytes[MT_PATCH_MAX_BYTES];

	if (module->offsets[patch] == MT_CALLS_NONE)
		return NULL;
	if (again->patch == patch + 1)
		return &again->trampolines;
	config.address += module->offsets[patch];
	again->patch = 0;
	again->trampolines.code.count = again->trampolines.rows.count = 0;
	if (!mt_calls_clean_bytes(module, what->address + module->bias, bytes, what->length) ||
	    mt_trampoline_append(&again->trampolines, &config, what, bytes,
				 module->site_base + what->site))
		return NULL;
	again->patch = patch + 1;
	return &again->trampolines;
}

static const struct mt_trampolines *shared_again(const struct mt_calls_module *module)
{
	struct mt_trampolines *shared = &module->again->shared;

	return shared->code.count || !mt_trampolines_share(shared, &module->config) ? shared : NULL;
}

const struct mt_trampolines *mt_calls_trampoline_at(const struct mt_calls_module *module,
						    uint64_t address, uint32_t *at)
{
	if (address - module->room < module->shared_bytes) {
		*at = (uint32_t)(address - module->room);
		return shared_again(module);
	}
	ssize_t patch = patch_of_offset(module, address - module->room);

	if (patch < 0)
		return NULL;
	*at = (uint32_t)(address - module->room - module->offsets[patch]);
	return mt_calls_trampoline_again(module, (size_t)patch);
}

const struct mt_trampoline_row *mt_calls_row_at(const struct mt_calls_module *module,
						uint64_t address)
{
	uint32_t at = 0;
	const struct mt_trampolines *one = mt_calls_trampoline_at(module, address, &at);

	return one ? mt_trampoline_row_at(one, at) : NULL;
}

uint64_t mt_calls_module_copy_of(const struct mt_calls_module *module, size_t patch,
				 uint64_t address)
{
	const struct mt_trampolines *one = mt_calls_trampoline_again(module, patch);
	uint32_t copy =
	    one ? mt_trampoline_copy_of(one, 0, UINT32_MAX, address) : MT_TRAMPOLINE_NONE;

	return copy == MT_TRAMPOLINE_NONE ? 0 : module->room + module->offsets[patch] + copy;
}

const struct mt_calls_module *mt_calls_module_of_site(const struct mt_calls_engine *engine,
						      uint32_t site)
{
	const size_t low = mt_partition_point(i, 0, engine->modules.count,
					      engine->modules.items[i]->site_base <= site);
	const struct mt_calls_module *module;
	if (!low)
		return NULL;
	module = engine->modules.items[low - 1];
	return site - module->site_base < module->file->plan->sites.count ? module : NULL;
}
