/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"
#include "base/search.h"
#include "session/languages/go.h"
#include "session/languages/python.h"
#include "session/languages/words.h"
#include "session/private.h"

#include "process/maps.h"
#include "process/moved.h"
#include "process/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define FIRST_LOOK_NS 50000000u
#define MOST_OPEN     128u /* files at a time that nobody wants but to be looked at */

struct walk {
	struct mt_session *session;
	struct mt_session_process *process;
	uint64_t time_ns;
	struct mt_error *(*found)(void *context, const struct mt_map *map);
	size_t known;                 /* when it began: behind these are the new ones */
	struct mt_session_map before; /* what is mapped right before; path NULL: no file */
	bool owns_pool;               /* the session has it for this walk alone */
	unsigned opened;
	bool is_made; /* what the walk has come to: no file's, or what was moved out of one */
	bool failed;  /* not to read the mappings, but at what was done with one */
};

/* NULL: it is new. */
static struct mt_session_map *known_map(const struct walk *walk, const struct mt_map *map)
{
	struct mt_session_map *maps = walk->process->maps.items;
	const size_t first = mt_partition_point(i, 0, walk->known, maps[i].start < map->start);

	for (size_t i = first; i < walk->known && maps[i].start == map->start; i++)
		if (maps[i].end == map->end && maps[i].offset == map->offset &&
		    maps[i].inode == map->inode)
			return &maps[i];
	return NULL;
}

static int by_start(const void *left, const void *right)
{
	const struct mt_session_map *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static struct mt_error *put_map(struct mt_session *session, pid_t pid,
				const struct mt_mapping *mapping, bool is_code, uint64_t time_ns)
{
	struct mt_sideband record = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_MMAP,
	    .pid = pid,
	    .tid = pid,
	    .cpu = -1,
	    .mmap = {.start = mapping->start,
		     .length = mapping->end - mapping->start,
		     .offset = mapping->offset,
		     .path = mapping->path,
		     .executable = is_code,
		     .build_id_size = mapping->build_id.size},
	};

	memcpy(record.mmap.build_id, mapping->build_id.bytes, mapping->build_id.size);
	return mt_recording_writer_put(session->writer, &record);
}

/* Nobody has taken anything out of it. */
static void drop_pool(const struct walk *walk)
{
	if (!walk->owns_pool || walk->process->code)
		return;
	mt_space_pool_destroy(walk->session->pool);
	walk->session->pool = NULL;
}

/* Triggers, and what is said of languages, are looked for in the same one.  *OUT is the pool's;
 * NULL: it cannot be had. */
static struct mt_error *open_file(struct walk *walk, const char *path, struct mt_objfile **out)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(walk->session)->text;

	if (++walk->opened % MOST_OPEN == 0)
		drop_pool(walk);
	mt_try(mt_session_need_pool(walk->session));
	struct mt_objfile *open = text ? text->file(walk->session->engine, path) : NULL;
	if (open)
		mt_try(mt_space_pool_offer(walk->session->pool, path, open));
	return mt_space_pool_open(walk->session->pool, path, out);
}

static bool is_own(const struct mt_session *session, pid_t pid, const struct mt_map *map)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;

	return text && text->is_copy(session->engine, pid, map->start);
}

/* Should MAP have been moved out of FILE, which lies, or lay, in its place or right before it, it
 * becomes a mapping of that. */
static struct mt_error *try_file(struct walk *walk, const struct mt_session_map *file,
				 struct mt_map *map)
{
	const uint64_t offset = file->offset + (map->start - file->start);
	struct mt_objfile *objfile;

	mt_try(open_file(walk, file->path, &objfile));
	if (!objfile ||
	    !mt_map_holds_text(walk->session->target, walk->process->pid, map, objfile, offset))
		return NULL;
	map->offset = offset;
	map->inode = file->inode;
	map->path = file->path;
	return NULL;
}

static struct mt_error *try_files(struct walk *walk, const struct mt_session_map *files,
				  size_t count, struct mt_map *map)
{
	for (size_t i = 0; i < count && mt_map_is_nameless_code(map); i++)
		if (files[i].path[0] == '/' && map->start >= files[i].start &&
		    map->end <= files[i].end)
			mt_try(try_file(walk, &files[i], map));
	return NULL;
}

/* It was moved before we came; unless it is a child's, whose parent was recorded. */
static void tell_of_moved(const struct walk *walk, const struct mt_map *map)
{
	struct mt_session *session = walk->session;
	struct mt_session_process *process = walk->process;

	if (!mt_session_engine_ops(session)->text || process->moved_told ||
	    mt_session_original(session, process->pid, map->start, NULL, map->end - map->start))
		return;
	process->moved_told = true;
	mt_log(session->options->engine.log, MT_LOG_WARNING,
	       "calls in code of %s that process %d has moved into memory of no file are not "
	       "recorded (run it from its start)",
	       map->path, process->pid);
}

static struct mt_error *find_file(struct walk *walk, struct mt_map *map)
{
	const struct mt_session_process *process = walk->process;

	mt_try(try_files(walk, process->maps.items, walk->known, map));
	mt_try(try_files(walk, process->replaced.items, process->replaced.count, map));
	if (!mt_map_is_nameless_code(map) || !walk->before.path || walk->before.end != map->start)
		return NULL;
	mt_try(try_file(walk, &walk->before, map));
	if (!mt_map_is_nameless_code(map))
		tell_of_moved(walk, map);
	return NULL;
}

/* NULL: it is none of a file. */
static struct mt_error *note_before(struct walk *walk, const struct mt_map *map)
{
	char *path = map->path[0] == '/' ? strdup(map->path) : NULL;

	free(walk->before.path);
	walk->before = (struct mt_session_map){.start = map->start,
					       .end = map->end,
					       .offset = map->offset,
					       .inode = map->inode,
					       .path = path};
	return map->path[0] == '/' && !path ? mt_error_no_memory() : NULL;
}

static struct mt_error *see_one(void *context, const struct mt_map *listed)
{
	struct walk *walk = context;
	struct mt_error *error = NULL;
	struct mt_map map = *listed;

	if (map.start >> 63 || is_own(walk->session, walk->process->pid, &map))
		return NULL;
	walk->is_made = mt_map_is_nameless_code(&map);
	if (walk->is_made)
		error = find_file(walk, &map);
	if (!error)
		error = walk->found(walk, &map);
	if (!error)
		error = note_before(walk, &map);
	walk->failed |= error != NULL;
	return error;
}

static struct mt_error *each_map(struct walk *walk,
				 struct mt_error *(*found)(void *context, const struct mt_map *map))
{
	struct mt_session_process *process = walk->process;

	walk->known = process->maps.count;
	walk->found = found;
	struct mt_error *error =
	    mt_target_each_map(walk->session->target, process->pid, see_one, walk);
	free(walk->before.path);
	walk->before = (struct mt_session_map){0};
	if (process->maps.count > walk->known)
		qsort(process->maps.items, process->maps.count, sizeof(*process->maps.items),
		      by_start);
	return error;
}

static struct mt_error *note_map(struct walk *walk, const struct mt_map *map)
{
	const struct mt_session_map seen = {.start = map->start,
					    .end = map->end,
					    .offset = map->offset,
					    .inode = map->inode,
					    .path = strdup(map->path),
					    .is_there = true};

	if (seen.path && !mt_array_push(&walk->process->maps, seen))
		return NULL;
	free(seen.path);
	return mt_error_no_memory();
}

static struct mt_error *see_file(const struct walk *walk, struct mt_objfile *objfile,
				 const struct mt_map *map)
{
	struct mt_session *session = walk->session;
	struct mt_session_process *process = walk->process;

	mt_try(mt_session_see_header(session, process, objfile));
	mt_try(mt_session_see_goroutines(session, process, objfile));
	mt_try(mt_session_see_python(session, process, objfile, map));
	return mt_session_see_objects(process, objfile, map);
}

static struct mt_error *put_new_map(struct walk *walk, const struct mt_map *map)
{
	struct mt_mapping mapping = {
	    .start = map->start, .end = map->end, .offset = map->offset, .path = map->path};
	char *kept = NULL;

	if (strcmp(map->path, "[vdso]") == 0) {
		mt_session_keep_vdso(walk->session, walk->process->pid, map, &kept,
				     &mapping.build_id);
		if (kept)
			mapping.path = kept;
	} else if (map->path[0] == '/') {
		struct mt_objfile *objfile = NULL;

		mt_try(open_file(walk, map->path, &objfile));
		if (objfile) {
			mapping.build_id = *mt_objfile_build_id(objfile);
			mt_try(see_file(walk, objfile, map));
		}
	} else if (mt_map_is_nameless_code(map)) {
		mapping.path = "//anon";
	}
	struct mt_error *error =
	    put_map(walk->session, walk->process->pid, &mapping, true, walk->time_ns);
	if (!error && !walk->session->leaving)
		error = mt_session_find_triggers(walk->session, walk->process, &mapping);
	free(kept);
	return error;
}

/* Tables for unwinding lie beside the code; perf reads those that it finds mapped. */
static bool has_tables(const struct walk *walk, const struct mt_map *map)
{
	return mt_session_engine_ops(walk->session)->samples && map->path[0] == '/';
}

static struct mt_error *put_tables(const struct walk *walk, const struct mt_map *map)
{
	const struct mt_mapping mapping = {
	    .start = map->start, .end = map->end, .offset = map->offset, .path = map->path};

	return put_map(walk->session, walk->process->pid, &mapping, false, walk->time_ns);
}

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct walk *walk = context;

	if ((!map->executable && !has_tables(walk, map)) || known_map(walk, map))
		return NULL;
	mt_try(note_map(walk, map));
	return map->executable ? put_new_map(walk, map) : put_tables(walk, map);
}

static struct mt_error *see_again(void *context, const struct mt_map *map)
{
	struct walk *walk = context;
	struct mt_session_map *known = known_map(walk, map);

	if (known)
		known->is_there = true;
	if (!walk->is_made)
		return NULL;
	mt_array_each (under, &walk->process->maps)
		under->is_under |= map->start >= under->start && map->end <= under->end;
	return NULL;
}

static void forget(struct mt_session_map *maps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(maps[i].path);
}

void mt_session_forget_maps(struct mt_session_process *process)
{
	forget(process->maps.items, process->maps.count);
	forget(process->replaced.items, process->replaced.count);
	process->maps.count = process->replaced.count = 0;
}

/* Takes its path. */
static struct mt_error *note_replaced(struct mt_session_process *process,
				      struct mt_session_map *gone)
{
	mt_array_each (known, &process->replaced)
		if (known->start == gone->start && known->end == gone->end &&
		    known->offset == gone->offset && known->inode == gone->inode)
			return NULL;
	if (mt_array_push(&process->replaced, *gone))
		return mt_error_no_memory();
	gone->path = NULL;
	return NULL;
}

/* A library that was unloaded: should it come again, it is new, triggers and all, and until then
 * another may be in its place. */
static struct mt_error *forget_gone(struct walk *walk)
{
	struct mt_session_process *process = walk->process;
	MT_ARRAY(struct mt_session_map) gone = {0};
	struct mt_error *error = NULL;
	size_t kept = 0;

	mt_array_each (known, &process->maps)
		known->is_there = known->is_under = false;
	mt_try(each_map(walk, see_again));
	mt_array_each (known, &process->maps)
		if (known->is_there || mt_array_push(&gone, *known))
			process->maps.items[kept++] = *known;
	process->maps.count = kept;
	mt_array_each (one, &gone) {
		if (!error && one->is_under && one->path[0] == '/')
			error = note_replaced(process, one);
		if (!error)
			error = mt_session_forget_code(walk->session, process, one);
	}
	forget(gone.items, gone.count);
	mt_array_deinit(&gone);
	return error;
}

struct mt_error *mt_session_put_maps(struct mt_session *session, struct mt_session_process *process,
				     uint64_t time_ns)
{
	struct walk walk = {.session = session,
			    .process = process,
			    .time_ns = time_ns,
			    .owns_pool = !session->pool};
	struct mt_held_maps held;

	mt_target_hold_maps(session->target, process->pid, &held);
	struct mt_error *error = forget_gone(&walk);
	if (!error)
		error = each_map(&walk, see_map);
	if (!error)
		error = mt_session_bind_conditions(session, process);
	mt_target_let_maps_go(session->target, &held);
	drop_pool(&walk);
	if (!error || walk.failed || mt_error_code(error) != MT_ERROR_PERMISSION)
		return error;
	/* PR_SET_DUMPABLE: only root may look at it any more. */
	if (!session->hidden_is_told)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "libraries that process %d loads from now on will have no symbols and no "
		       "triggers: %s (it made itself undumpable; run as root)",
		       process->pid, mt_error_message(error));
	session->hidden_is_told = true;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *see_made(void *context, const struct mt_map *map)
{
	struct walk *walk = context;
	const struct mt_mapping mapping = {.start = map->start,
					   .end = map->end,
					   .offset = map->offset,
					   .path =
					       mt_map_is_nameless_code(map) ? "//anon" : map->path};

	if (!walk->is_made || known_map(walk, map))
		return NULL;
	mt_try(note_map(walk, map));
	return put_map(walk->session, walk->process->pid, &mapping, true, walk->time_ns);
}

static struct mt_error *put_made(struct mt_session *session, struct mt_session_process *process)
{
	struct walk walk = {.session = session,
			    .process = process,
			    .time_ns = mt_session_now(session),
			    .owns_pool = !session->pool};
	struct mt_error *error = each_map(&walk, see_made);

	drop_pool(&walk);
	if (walk.failed)
		return error;
	mt_error_destroy(error);
	return NULL;
}

struct mt_error *mt_session_put_made(struct mt_session *session)
{
	/* Else the kernel tells of them, or all code is known. */
	if (!mt_session_engine_ops(session)->records_calls)
		return NULL;
	for (struct mt_session_process *process = session->processes; process;
	     process = process->hh.next)
		mt_try(put_made(session, process));
	return NULL;
}

struct mt_error *mt_session_look_for_made(struct mt_session *session)
{
	const uint64_t now_ns = mt_clock_monotonic_ns();

	if (!session->began_ns)
		session->began_ns = now_ns;
	if (now_ns < session->next_look_ns)
		return NULL;
	session->next_look_ns = now_ns + FIRST_LOOK_NS + (now_ns - session->began_ns) / 4;
	return mt_session_put_made(session);
}

static struct mt_sideband record_of(const struct mt_session_thread *thread,
				    enum mt_sideband_kind kind, uint64_t time_ns)
{
	return (struct mt_sideband){
	    .time_ns = time_ns,
	    .kind = (uint8_t)kind,
	    .pid = thread->process->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	};
}

struct mt_error *mt_session_put_name(struct mt_session *session, struct mt_session_thread *thread,
				     bool exec, uint64_t time_ns)
{
	struct mt_sideband record = record_of(thread, MT_SIDEBAND_COMM, time_ns);
	char name[16];

	mt_proc_name(thread->lwp, name);
	if (!exec && (!name[0] || strcmp(name, thread->name) == 0))
		return NULL;
	strcpy(thread->name, name);
	record.comm.name = thread->name;
	record.comm.exec = exec;
	return mt_recording_writer_put(session->writer, &record);
}

struct mt_error *mt_session_put_names(struct mt_session *session)
{
	struct mt_session_thread *thread, *next;

	mt_try(mt_session_put_made(session));
	mt_try(mt_session_put_objects(session));
	mt_try(mt_session_put_python(session));
	HASH_ITER (hh, session->threads, thread, next)
		mt_try(mt_session_put_name(session, thread, false, mt_session_now(session)));
	return NULL;
}

struct mt_error *mt_session_put_birth(struct mt_session *session,
				      const struct mt_session_thread *thread, pid_t parent_pid,
				      pid_t parent_lwp, uint64_t time_ns)
{
	struct mt_sideband fork = record_of(thread, MT_SIDEBAND_FORK, time_ns);
	struct mt_sideband start = record_of(thread, MT_SIDEBAND_ITRACE_START, time_ns);

	fork.fork.parent_pid = parent_pid;
	fork.fork.parent_tid = parent_lwp;
	if (parent_pid)
		mt_try(mt_recording_writer_put(session->writer, &fork));
	/* With one ring per CPU, the kernel reports on which CPU. */
	return session->options->engine.pt.per_cpu || mt_session_engine_ops(session)->samples
		   ? NULL
		   : mt_recording_writer_put(session->writer, &start);
}

/* Where it stood at its last stop is where it ended if a signal came there; 0: not known. */
static uint64_t ended_at(const struct mt_session *session, const struct mt_session_thread *thread,
			 int status)
{
	const bool sees_each_instruction = !mt_session_engine_ops(session)->breaks;
	const bool is_by_signal = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL;

	return sees_each_instruction || is_by_signal ? thread->last_pc : 0;
}

struct mt_error *mt_session_put_end(struct mt_session *session,
				    const struct mt_session_thread *thread, int status,
				    uint64_t time_ns)
{
	struct mt_sideband record = record_of(thread, MT_SIDEBAND_EXIT, time_ns);

	record.fork.parent_pid = thread->process->pid;
	record.fork.parent_tid = thread->process->pid;
	mt_try(mt_session_put_note(session, thread, MT_NOTE_EXIT, ended_at(session, thread, status),
				   0, (uint64_t)status, time_ns));
	return mt_recording_writer_put(session->writer, &record);
}

struct mt_error *mt_session_put_note(struct mt_session *session,
				     const struct mt_session_thread *thread,
				     enum mt_recording_note note, uint64_t pc, uint64_t address,
				     uint64_t weight, uint64_t time_ns)
{
	struct mt_sideband record = record_of(thread, MT_SIDEBAND_SAMPLE, time_ns);

	record.sample.event = note;
	record.sample.ip = pc;
	record.sample.address = address;
	record.sample.weight = weight;
	return mt_recording_writer_put(session->writer, &record);
}

static void append_string(struct mt_str *raw, const char *text)
{
	mt_str_append_bytes(raw, text ? text : "", (text ? strlen(text) : 0) + 1);
}

struct mt_error *mt_session_put_hit(struct mt_session *session,
				    const struct mt_session_thread *thread,
				    const struct mt_session_hit *hit, uint64_t time_ns)
{
	struct mt_sideband record = record_of(thread, MT_SIDEBAND_SAMPLE, time_ns);
	mt_auto(mt_str) struct mt_str raw = {0};

	append_string(&raw, hit->location);
	append_string(&raw, hit->condition);
	append_string(&raw, hit->values);
	append_string(&raw, hit->registers);
	append_string(&raw, hit->reason);
	if (raw.failed)
		return mt_error_no_memory();
	record.sample.event = MT_NOTE_TRIGGER;
	record.sample.ip = hit->pc;
	record.sample.weight = hit->trigger;
	record.sample.raw = (const uint8_t *)raw.text;
	record.sample.raw_size = (uint32_t)raw.length;
	return mt_recording_writer_put(session->writer, &record);
}
