/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files, and what is made of them before anything is touched. */
#ifndef MT_ENGINE_CALLS_MODULES_H
#define MT_ENGINE_CALLS_MODULES_H

#include "engine/calls/state/types.h"

/* file.c */
/* By options.modules. */
bool mt_calls_is_wanted(const struct mt_calls_engine *engine, const char *path);
/* (*out)->plan NULL: it cannot be planned, and the log says why.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_file_get(struct mt_calls_engine *engine, const char *path,
				   struct mt_calls_file **out);
/* What mt_calls_file_get() opened; NULL: nothing. */
struct mt_objfile *mt_calls_file_open(const struct mt_calls_engine *engine, const char *path);
/* Plan what PID, which may be running, has mapped, on all processors; but not the file EXCEPT, if
 * that is not NULL.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_plan_ahead(struct mt_calls_engine *engine, pid_t pid, const char *except);
/* Whether functions of what PID has mapped use the GS register, but of the file EXCEPT, if that is
 * not NULL: WHY is not empty then.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_check_gs(struct mt_calls_engine *engine, pid_t pid, const char *except,
				   struct mt_str *why);
void mt_calls_file_destroy(struct mt_calls_file *file);

/* plan_cache.c: what is made now, or was once. */
/* The plan of all functions; options->wanted is NULL.  Errors: those of making it. */
struct mt_error *mt_calls_plan(const struct mt_calls_engine *engine, struct mt_calls_file *file,
			       const struct mt_plan_options *options);
/* The same of file->gs_user alone: the plan may not be made. */
struct mt_error *mt_calls_find_gs_user(const struct mt_calls_engine *engine,
				       struct mt_calls_file *file,
				       const struct mt_plan_options *options);
/* Remove what was not used for the longest time, as far as all takes too much room. */
void mt_calls_trim_cache(void);
/* The image of a file that is planned.  load(): it was kept; false: it was not.  make(): without
 * that, from the file's bytes.  Errors: as mt_image_make(). */
bool mt_calls_image_load(const struct mt_calls_file *file, const struct mt_image_config *config,
			 struct mt_image *image);
struct mt_error *mt_calls_image_make(const struct mt_calls_engine *engine,
				     struct mt_calls_file *file,
				     const struct mt_image_config *config, struct mt_image *image);

/* module.c */
/* A file for a place, with nothing done to the process, which may be running.  OUTLIVES_US: the
 * process does.  *out NULL: nothing of it can be recorded, and the log says why.  Errors:
 * NO_MEMORY. */
struct mt_error *mt_calls_module_make(struct mt_calls_engine *engine, const struct mt_map *map,
				      bool outlives_us, struct mt_calls_module **out);
/* From here on its `clean` is there.  0, or -1 without memory. */
int mt_calls_module_find_clean(struct mt_calls_module *module);
/* SIZE bytes of it at ADDRESS in the process, wherever they are.  False: they are not to be had. */
bool mt_calls_clean_bytes(const struct mt_calls_module *module, uint64_t address, void *bytes,
			  size_t size);
/* The rooms of several modules at once, as far as they can be where they are best; module_map()
 * finds those of the others.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_modules_map_rooms(struct mt_calls_engine *engine,
					    struct mt_calls_space *space, pid_t lwp,
					    struct mt_calls_module **modules, size_t count);
/* Its room, unless it has one, by a call in the name of LWP.  *module becomes NULL: there is none,
 * and the log says so. Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_module_map(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct mt_calls_module **module);
/* Its trampolines into that; the process may be running.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_module_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_module *module);
/* And what describes them to unwinders.  Where nobody else can get the module, once. */
struct mt_error *mt_calls_module_write_tables(struct mt_calls_engine *engine,
					      const struct mt_calls_space *space,
					      struct mt_calls_module *module);
void mt_calls_module_destroy(struct mt_calls_module *module);
/* Memory in which pieces are put together, small enough for the processor's cache: good until the
 * target has something to report.  MT_IMAGE_MARGIN more bytes lie at both sides.  NULL: without
 * memory. */
#define MT_CALLS_SCRATCH_BYTES (64u << 10)
uint8_t *mt_calls_scratch(struct mt_calls_engine *engine);
/* Where the instruction at a displaced ADDRESS stands now; 0: it is not displaced. */
uint64_t mt_calls_module_copy_of(const struct mt_calls_module *module, size_t patch,
				 uint64_t address);
/* The trampoline of a patch, made again: offsets are from its own first byte.  Good until the next
 * call.  NULL: it has none, or without memory. */
const struct mt_trampolines *mt_calls_trampoline_again(const struct mt_calls_module *module,
						       size_t patch);
/* The same of the trampoline that holds an address in the process, or of what they share, at *AT in
 * it. */
const struct mt_trampolines *mt_calls_trampoline_at(const struct mt_calls_module *module,
						    uint64_t address, uint32_t *at);
/* Its row there; NULL: none. */
const struct mt_trampoline_row *mt_calls_row_at(const struct mt_calls_module *module,
						uint64_t address);
/* The module that a site belongs to; NULL: none. */
const struct mt_calls_module *mt_calls_module_of_site(const struct mt_calls_engine *engine,
						      uint32_t site);
static inline uint64_t mt_calls_patch_address(const struct mt_calls_module *module, size_t patch)
{
	return module->file->plan->patches.items[patch].address + module->bias;
}

/* cfi.c */
/* Tell the program's unwinder of the trampolines of a place, or of all, unless that was done; the
 * process is halted.  Errors: the target's. */
struct mt_error *mt_calls_describe(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_place *place);
struct mt_error *mt_calls_describe_all(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
/* A signal is about to come to a thread at PC. */
struct mt_error *mt_calls_describe_at(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      uint64_t pc);
/* The tables wait until then: each signal is told to us first, and the memory dies with us. */
bool mt_calls_describes_late(const struct mt_calls_engine *engine,
			     const struct mt_calls_space *space);
/* Into the agent's list, and out of it; the process is halted.  *AT: where it stands there; 0:
 * nowhere. */
struct mt_error *mt_calls_cfi_link(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   const struct mt_calls_entry *what, uint64_t *at);
struct mt_error *mt_calls_cfi_unlink(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     uint64_t *at);

/* detour.c */
const struct mt_calls_finder *mt_calls_find_finder(struct mt_calls_file *file);
/* Have the program's unwinder ask the agent, if libc, of which BASE is the load address, knows
 * _dl_find_object(); and no more.  Errors: the target's. */
struct mt_error *mt_calls_detour(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *libc, uint64_t base);
struct mt_error *mt_calls_end_detour(struct mt_calls_engine *engine, struct mt_calls_space *space);

#endif
