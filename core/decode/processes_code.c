/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code of what was mapped, for who follows branches through it. */
#include "decode/processes_private.h"

#include "decode/kernel_code.h"
#include "elf/jit_object.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool mt_processes_kept_of_kernel(const struct mt_processes *processes, const char *name, char *path,
				 size_t size)
{
	const char *directory = mt_recording_info(processes->recording)->kcore_dir;

	return directory && snprintf(path, size, "%s/%s", directory, name) < (int)size &&
	       access(path, R_OK) == 0;
}

/* Once for each file. */
static void complain(struct mt_processes *processes, const char *what, const char *path,
		     const char *why)
{
	mt_array_each (other, &processes->missing)
		if (strcmp(*other, path) == 0)
			return;
	if (!mt_array_push(&processes->missing, path))
		mt_log(processes->options->log, MT_LOG_WARNING, "%s in %s are missing: %s", what,
		       path, why);
}

/* Of what is in the line: the owner's, whoever logs it. */
static void hear_missing(void *context, enum mt_log_level level, const char *text)
{
	const struct mt_missing_code *missing = context;

	(void)level;
	complain(missing->processes, "calls", missing->path, text);
}

void mt_epoch_log_missing(struct mt_epoch *epoch)
{
	mt_array_each (missing, &epoch->missing) {
		const struct mt_log log = {hear_missing, missing, MT_LOG_DEBUG};

		mt_log(&log, MT_LOG_WARNING, "%s", mt_error_message(missing->why));
	}
}

/* Code that cannot be read is shown as gaps where it ran.  Takes the error. */
static void note_missing(struct mt_processes *processes, struct mt_epoch *epoch, const char *path,
			 struct mt_error *error)
{
	const struct mt_missing_code missing = {processes, path, error};

	if (error && mt_array_push(&epoch->missing, missing))
		mt_error_destroy(error);
}

/* Its own bytes, and what its last page has behind them. */
static struct mt_error *image_add_object(struct mt_pt_image *image,
					 const struct mt_mapping *mapping)
{
	size_t size = 0;
	const uint8_t *bytes =
	    mt_objfile_bytes(mapping->objfile, mapping->start - mapping->bias, &size);

	return bytes ? mt_pt_image_add_bytes(image, bytes, size, mapping->start) : NULL;
}

static struct mt_error *image_add_mapping(struct mt_processes *processes, struct mt_pt_image *image,
					  const struct mt_mapping *mapping)
{
	const char *path = mapping->objfile ? mt_objfile_code_path(mapping->objfile) : NULL;

	if (mapping->objfile && strcmp(mapping->path, MT_JIT_OBJECT_PATH) == 0)
		return image_add_object(image, mapping);
	if (path && mapping->objfile == processes->files->vdso)
		path = processes->files->vdso_path;
	if (!path)
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s",
				    mapping->path[0] == '/' && mapping->path[1] != '/' &&
					    mapping->problem
					? mapping->problem
					: "its code was not recorded, and is not in a file");
	return mt_pt_image_add(image, path, mapping->offset, mapping->end - mapping->start,
			       mapping->start);
}

/* As much of FILTER as is mapped there. */
static struct mt_error *add_filter(struct mt_pt_image *image,
				   const struct mt_recording_filter *filter,
				   const struct mt_mapping *mapping)
{
	const uint64_t size = mapping->end - mapping->start;
	/* Counted from the mapping's beginning on. */
	uint64_t begin = filter->start > mapping->offset ? filter->start - mapping->offset : 0;
	uint64_t end = filter->start + filter->size;

	if (end <= mapping->offset || begin >= size)
		return NULL;
	end -= mapping->offset;
	end = end < size ? end : size;
	return mt_pt_image_add_filter(image, mapping->start + begin, end - begin, filter->stops);
}

static struct mt_error *image_add_filter(struct mt_pt_image *image,
					 const struct mt_recording_filter *filter,
					 const struct mt_space *space)
{
	if (!filter->path)
		return mt_pt_image_add_filter(image, filter->start, filter->size, filter->stops);
	for (size_t i = 0; i < mt_space_mapping_count(space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(space, i);

		if (strcmp(mapping->path, filter->path) == 0)
			mt_try(add_filter(image, filter, mapping));
	}
	return NULL;
}

static void make_image(struct mt_processes *processes, struct mt_epoch *epoch)
{
	char kcore[PATH_MAX];
	struct mt_error *error = mt_pt_image_create(processes->images, &epoch->image);

	if (error) {
		mt_error_destroy(error);
		return;
	}
	for (size_t i = 0; i < mt_space_mapping_count(epoch->space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(epoch->space, i);

		note_missing(processes, epoch, mapping->path,
			     image_add_mapping(processes, epoch->image, mapping));
	}
	for (size_t i = 0; i < mt_recording_filter_count(processes->recording); i++)
		mt_error_destroy(image_add_filter(
		    epoch->image, mt_recording_filter(processes->recording, i), epoch->space));
	bool is_kept = mt_processes_kept_of_kernel(processes, "kcore", kcore, sizeof(kcore));
	if (mt_space_mapping_count(processes->kernel) && (is_kept || processes->made_here))
		note_missing(processes, epoch, "[kernel]",
			     mt_kernel_code_add(epoch->image, is_kept ? kcore : "/proc/kcore",
						processes->kernel));
}

struct mt_pt_image *mt_processes_image(struct mt_processes *processes, struct mt_epoch *epoch)
{
	pthread_mutex_lock(&processes->lock);
	if (!epoch->image)
		make_image(processes, epoch);
	struct mt_pt_image *image = epoch->image;
	pthread_mutex_unlock(&processes->lock);
	return image;
}

uint32_t mt_processes_missing_files(const struct mt_processes *processes)
{
	return (uint32_t)processes->missing.count;
}

void mt_processes_log_nameless(struct mt_processes *processes)
{
	struct mt_process *process, *next;

	HASH_ITER (hh, processes->by_pid, process, next)
		mt_array_each (epoch, &process->epochs)
			for (size_t i = 0; i < mt_space_mapping_count((*epoch)->space); i++) {
				const struct mt_mapping *mapping =
				    mt_space_mapping((*epoch)->space, i);

				if (mapping->is_nameless)
					complain(processes, "names of functions", mapping->path,
						 mapping->problem);
			}
}
