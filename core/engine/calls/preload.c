/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that was just exec'd stands before the first instruction of its dynamic loader, and its
 * arguments, environment and auxiliary vector lie on the stack.  LD_PRELOAD is written there, and
 * nobody but this loader ever sees it: when the libraries are loaded, it is taken out.
 *
 * When the variable is there already, a pointer is exchanged, and put back later.  Else the vectors
 * are copied downwards with two more pointers at the environment's end.  When these two are to
 * vanish, the first becomes the NULL that ends the environment, and the three words from there to
 * the auxiliary vector have to be no entry for those who look for it behind that NULL: AT_IGNORE
 * and any value.
 *
 * Source: System V ABI, AMD64 supplement, "Process Initialization". */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE      "LD_PRELOAD="
#define VECTORS_BYTES (16u << 20)
#define CHUNK         65536
#define STACK_ALIGN   16

struct vectors {
	MT_ARRAY(uint64_t) words; /* from argc to the end of the auxiliary vector */
	size_t environment;       /* index of its first pointer */
	size_t environment_end;   /* of its NULL */
	uint64_t loader, secure;
};

static bool read_more(struct mt_calls_engine *engine, pid_t pid, uint64_t address,
		      struct vectors *vectors)
{
	size_t before = vectors->words.count, got;

	if (before * sizeof(uint64_t) > VECTORS_BYTES ||
	    mt_array_reserve(&vectors->words, before + CHUNK / sizeof(uint64_t)))
		return false;
	got = engine->target->ops->read(engine->target, pid, address + before * sizeof(uint64_t),
					vectors->words.items + before, CHUNK);
	vectors->words.count += got / sizeof(uint64_t);
	return got >= sizeof(uint64_t);
}

/* The index behind the first NULL from INDEX on; 0: there is none yet. */
static size_t behind_null(const struct vectors *vectors, size_t index)
{
	for (; index < vectors->words.count; index++)
		if (!vectors->words.items[index])
			return index + 1;
	return 0;
}

static bool find_parts(struct vectors *vectors)
{
	size_t auxv, at;

	vectors->environment = behind_null(vectors, 1);
	if (!vectors->environment)
		return false;
	auxv = behind_null(vectors, vectors->environment);
	if (!auxv)
		return false;
	vectors->environment_end = auxv - 1;
	for (at = auxv; at + 1 < vectors->words.count; at += 2) {
		uint64_t value = vectors->words.items[at + 1];

		switch (vectors->words.items[at]) {
		case AT_NULL:
			vectors->words.count = at + 2;
			return true;
		case AT_BASE:
			vectors->loader = value;
			break;
		case AT_SECURE:
			vectors->secure = value;
			break;
		}
	}
	return false;
}

static bool read_vectors(struct mt_calls_engine *engine, pid_t pid, uint64_t address,
			 struct vectors *vectors)
{
	do
		if (!read_more(engine, pid, address, vectors))
			return false;
	while (!find_parts(vectors));
	return true;
}

static size_t find_preload(struct mt_calls_engine *engine, pid_t pid, const struct vectors *vectors)
{
	char start[sizeof(VARIABLE) - 1];

	for (size_t i = vectors->environment; i < vectors->environment_end; i++)
		if (engine->target->ops->read(engine->target, pid, vectors->words.items[i], start,
					      sizeof(start)) == sizeof(start) &&
		    memcmp(start, VARIABLE, sizeof(start)) == 0)
			return i;
	return 0;
}

/* The string at ADDRESS, of whatever length. */
static void append_string(struct mt_calls_engine *engine, pid_t pid, uint64_t address,
			  struct mt_str *text)
{
	char chunk[4096];
	size_t got, length;

	do {
		got = engine->target->ops->read(engine->target, pid, address, chunk, sizeof(chunk));
		length = strnlen(chunk, got);
		mt_str_append_bytes(text, chunk, length);
		address += length;
	} while (length && length == got && !text->failed);
}

/* "LD_PRELOAD=agent:what was there". */
static struct mt_error *make_text(struct mt_calls_engine *engine, pid_t pid, uint64_t old,
				  struct mt_str *text)
{
	mt_str_appendf(text, VARIABLE "%s%s", engine->agent.path, old ? ":" : "");
	if (old)
		append_string(engine, pid, old + sizeof(VARIABLE) - 1, text);
	return text->failed ? mt_error_no_memory() : NULL;
}

/* The vectors go down to NEW_STACK; between them and what was there stands the text. */
static struct mt_error *add_variable(struct mt_calls_space *space, struct vectors *vectors,
				     uint64_t new_stack, uint64_t text_at)
{
	size_t end = vectors->environment_end, count = vectors->words.count;

	if (mt_array_reserve(&vectors->words, count + 2))
		return mt_error_no_memory();
	memmove(vectors->words.items + end + 2, vectors->words.items + end,
		(count - end) * sizeof(uint64_t));
	vectors->words.items[end] = text_at;
	vectors->words.items[end + 1] = text_at;
	vectors->words.count = count + 2;
	space->preload_at = new_stack + end * sizeof(uint64_t);
	space->preload_original = 0;
	return NULL;
}

static struct mt_error *change_stack(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct user_regs_struct *registers,
				     struct vectors *vectors)
{
	mt_auto(mt_str) struct mt_str text = {0};
	size_t at = find_preload(engine, space->pid, vectors);
	uint64_t old = at ? vectors->words.items[at] : 0;

	mt_try(make_text(engine, space->pid, old, &text));
	uint64_t text_at = registers->rsp - (text.length + 1);
	uint64_t stack = (text_at - (vectors->words.count + 2) * sizeof(uint64_t)) &
			 ~(uint64_t)(STACK_ALIGN - 1);
	if (at) {
		vectors->words.items[at] = text_at;
		space->preload_at = stack + at * sizeof(uint64_t);
		space->preload_original = old;
	} else {
		mt_try(add_variable(space, vectors, stack, text_at));
	}
	mt_try(engine->target->ops->write(engine->target, space->pid, text_at, text.text,
					  text.length + 1));
	mt_try(engine->target->ops->write(engine->target, space->pid, stack, vectors->words.items,
					  vectors->words.count * sizeof(uint64_t)));
	registers->rsp = stack;
	return engine->target->ops->set_registers(engine->target, lwp, registers);
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

struct mt_error *mt_calls_find_loader(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      uint64_t *stop_at)
{
	*stop_at = 0;
	mt_try(engine->target->ops->each_map(engine->target, space->pid, see_loader, space));
	if (!space->loader_path)
		return NULL;
	space->debug = mt_calls_dynamic_symbol(space->loader_path, "_r_debug");
	if (!space->debug)
		return NULL;
	space->debug += space->loader;
	*stop_at = mt_calls_dynamic_symbol(space->loader_path, "_dl_debug_state");
	return NULL;
}

struct mt_error *mt_calls_refuse(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 const char *why)
{
	space->stage = MT_CALLS_REFUSED;
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "not recording the calls of process %d: %s (--engine step can)", space->pid, why);
	return NULL;
}

/* The loader would complain on the program's standard error. */
static bool sees_agent(const struct mt_calls_engine *engine, pid_t pid)
{
	mt_auto(mt_str) struct mt_str path = {0};

	mt_str_appendf(&path, "/proc/%d/root%s", pid, engine->agent.path);
	return path.text && access(path.text, R_OK) == 0;
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
	if (!error || mt_error_code(error) == MT_ERROR_GONE)
		return error;
	mt_error_destroy(mt_calls_refuse(engine, space, mt_error_message(error)));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				pid_t lwp, struct vectors *vectors)
{
	struct user_regs_struct registers;
	uint64_t stop_at;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	if (!read_vectors(engine, space->pid, registers.rsp, vectors))
		return mt_calls_refuse(engine, space, "its initial stack is not understood");
	if (!vectors->loader)
		return mt_calls_refuse(engine, space,
				       "it has no dynamic loader to load the agent (it is static)");
	if (vectors->secure)
		return mt_calls_refuse(
		    engine, space,
		    "it runs with elevated privileges (set-user-ID, capabilities or a security "
		    "module)");
	if (mt_proc_is_sandboxed(lwp))
		return mt_calls_refuse(
		    engine, space, "it is under seccomp, and an injected system call may kill it");
	if (!sees_agent(engine, space->pid))
		return mt_calls_refuse(
		    engine, space,
		    "it cannot see the agent's file (it is in a chroot or a container)");
	space->loader = vectors->loader;
	mt_try(mt_calls_find_loader(engine, space, &stop_at));
	if (!stop_at)
		return mt_calls_refuse(engine, space,
				       "its dynamic loader has no debugger interface");
	mt_try(change_stack(engine, space, lwp, &registers, vectors));
	if (engine->target->ops->watch_libraries)
		return engine->target->ops->watch_libraries(engine->target, space->pid,
							    space->loader + stop_at);
	if (space->attached)
		mt_try(prepare_to_outlive_us(engine, space, lwp));
	return space->stage == MT_CALLS_REFUSED
		   ? NULL
		   : mt_calls_set_break(engine, space, space->loader + stop_at, true);
}

struct mt_error *mt_calls_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  pid_t lwp)
{
	struct vectors vectors = {0};

	space->stage = MT_CALLS_PREPARED;
	struct mt_error *error = prepare(engine, space, lwp, &vectors);
	mt_array_deinit(&vectors.words);
	return error;
}

struct mt_error *mt_calls_restore_environment(struct mt_calls_engine *engine,
					      struct mt_calls_space *space)
{
	const uint64_t end[] = {0, AT_IGNORE, 0};
	uint64_t at = space->preload_at;

	space->preload_at = 0;
	if (!at)
		return NULL;
	if (space->preload_original)
		return engine->target->ops->write(engine->target, space->pid, at,
						  &space->preload_original, sizeof(uint64_t));
	return engine->target->ops->write(engine->target, space->pid, at, end, sizeof(end));
}
