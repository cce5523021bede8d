/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that was just exec'd stands before its first instruction.  It is patched when its code
 * is there: a static one at its entry, another one where its dynamic loader tells debuggers that
 * the libraries are loaded.
 *
 * Source: getauxval(3); link.h, struct r_debug; musl's ldso/dynlink.c, struct debug. */
#include "engine/calls/private.h"

#include "elf/dynamic_symbol.h"
#include "elf/file.h"
#include "elf/section.h"
#include "process/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct mt_error *read_auxiliary(struct mt_calls_space *space)
{
	char path[64];
	Elf64_auxv_t entries[64];

	snprintf(path, sizeof(path), "/proc/%d/auxv", space->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, entries, sizeof(entries));
	int errnum = errno;
	if (fd >= 0)
		close(fd);
	if (size < 0)
		return mt_error_errno(errnum, "cannot read %s", path);
	space->loader = space->entry = 0;
	for (size_t i = 0; i < (size_t)size / sizeof(entries[0]); i++) {
		if (entries[i].a_type == AT_BASE)
			space->loader = entries[i].a_un.a_val;
		else if (entries[i].a_type == AT_ENTRY)
			space->entry = entries[i].a_un.a_val;
	}
	return NULL;
}

static struct mt_error *see_loader(void *context, const struct mt_map *map)
{
	struct mt_calls_space *space = context;

	if (map->start != space->loader || map->path[0] != '/')
		return NULL;
	free(space->loader_path);
	space->loader_path = strdup(map->path);
	return space->loader_path ? NULL : mt_error_no_memory();
}

/* In glibc's it is a symbol, in musl's a pointer that is set when it has relocated itself. *STOP_AT
 * becomes where it tells debuggers of libraries; 0: nowhere. */
static void find_debug(struct mt_calls_space *space, uint64_t *stop_at)
{
	enum { DEBUG, POINTER, STATE, OF_LIBC, COUNT };
	static const char *const names[COUNT] = {[DEBUG] = "_r_debug",
						 [POINTER] = "_dl_debug_addr",
						 [STATE] = "_dl_debug_state",
						 [OF_LIBC] = "fopen"};
	uint64_t found[COUNT];

	mt_elf_dynamic_symbols(space->loader_path, names, COUNT, found);
	space->debug = found[DEBUG] ? space->loader + found[DEBUG] : 0;
	space->debug_pointer = found[POINTER] && !found[DEBUG] ? space->loader + found[POINTER] : 0;
	space->loader_is_libc = found[OF_LIBC];
	*stop_at =
	    found[STATE] && (found[DEBUG] || found[POINTER]) ? space->loader + found[STATE] : 0;
}

struct mt_error *mt_calls_find_loader(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      uint64_t *stop_at)
{
	*stop_at = 0;
	mt_try(read_auxiliary(space));
	if (!space->loader)
		return NULL;
	mt_try(mt_target_each_map(engine->target, space->pid, see_loader, space));
	if (space->loader_path)
		find_debug(space, stop_at);
	return NULL;
}

struct mt_error *mt_calls_refuse(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *why)
{
	space->stage = MT_CALLS_REFUSED;
	mt_log(engine->options.log, MT_LOG_WARNING, "no calls of process %d are recorded: %s (%s)",
	       space->pid, why, mt_calls_who_can(engine));
	return NULL;
}

struct mt_error *mt_calls_refuse_for(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_error *error)
{
	if (!error || mt_error_code(error) == MT_ERROR_GONE)
		return error;
	mt_error_destroy(mt_calls_refuse(engine, space, mt_error_message(error)));
	mt_error_destroy(error);
	return NULL;
}

struct mt_error *mt_calls_record_no_more(struct mt_calls_engine *engine,
					 struct mt_calls_space *space)
{
	struct mt_error *error = NULL;

	space->stage = MT_CALLS_REFUSED;
	mt_try(mt_target_halt(engine->target, space->pid));
	mt_array_each (place, &space->places) {
		memset(place->off, MT_CALLS_OFF_REFUSED, place->module->file->plan->patches.count);
		place->is_current = false;
		if (!error)
			error = mt_calls_text_write(engine, space, place);
	}
	mt_target_release(engine->target, space->pid);
	return error;
}

/* The process was attached before it became this program: what a breakpoint takes that does no harm
 * when we are gone. */
static struct mt_error *prepare_to_outlive_us(struct mt_calls_engine *engine,
					      struct mt_calls_space *space, pid_t lwp)
{
	mt_try(mt_target_clear_pending_stop(engine->target, lwp));
	struct mt_error *error = mt_calls_inject_begin(engine, space);
	if (!error)
		error = mt_calls_inject(engine, space, lwp);
	if (!error)
		error = mt_calls_rings_create(engine, space, lwp);
	return mt_calls_refuse_for(engine, space, error);
}

struct mt_error *mt_calls_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp)
{
	uint64_t stop_at;

	space->stage = MT_CALLS_PREPARED;
	if (mt_proc_is_sandboxed(lwp))
		return mt_calls_refuse(
		    engine, space, "it is under seccomp, and a system call in its name may end it");
	mt_try(mt_calls_find_loader(engine, space, &stop_at));
	if (!space->loader)
		stop_at = space->entry;
	if (!stop_at)
		return mt_calls_refuse(engine, space,
				       "its dynamic loader does not tell debuggers of itself");
	if (engine->target->ops->watch_libraries)
		return engine->target->ops->watch_libraries(engine->target, space->pid, stop_at);
	if (space->attached)
		mt_try(prepare_to_outlive_us(engine, space, lwp));
	return space->stage == MT_CALLS_REFUSED
		   ? NULL
		   : mt_calls_set_break(engine, space, stop_at, true, NULL);
}

/* Whether the dynamic symbols may have that name: it stands among their names. */
static bool may_have_symbol(const char *path, const char *name)
{
	struct mt_elf_file file = {0};
	struct mt_section names;
	struct mt_error *error = mt_elf_file_open(path, &file);
	bool found = !error && mt_section_find(file.elf, ".dynstr", &names) && names.data->d_buf &&
		     memmem(names.data->d_buf, names.data->d_size, name, strlen(name) + 1);

	mt_error_destroy(error);
	mt_elf_file_close(&file);
	return found;
}

static bool is_in_environment(pid_t pid, const char *text)
{
	char path[64], bytes[65536];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
	if (fd >= 0)
		close(fd);
	return size > 0 && memmem(bytes, (size_t)size, text, strlen(text));
}

/* At the end it wants to trace the threads itself, and there is only one tracer.  Its runtime is a
 * library, or linked to the program. */
void mt_calls_warn_of_leak_check(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const struct mt_map *map)
{
	const char *base = strrchr(map->path, '/');
	bool is_program = space->entry - map->start < map->end - map->start;

	if (space->leaks_told || (!is_program && !(base && strstr(base, "san"))) ||
	    !may_have_symbol(map->path, "__lsan_is_turned_off") ||
	    is_in_environment(space->pid, "detect_leaks=0"))
		return;
	space->leaks_told = true;
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "the leak check of process %d will fail at its end, and change its exit status: "
	       "LeakSanitizer does not work in a traced process (set LSAN_OPTIONS=detect_leaks=0)",
	       space->pid);
}
