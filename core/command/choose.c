/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/choose.h"

#include "base/array.h"
#include "base/str.h"
#include "elf/objfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_MAX 4096

struct process {
	pid_t pid;
	char *line;
};

typedef MT_ARRAY(struct process) processes;

static struct mt_error *choose(const struct mt_command_context *context, const char *what,
			       const char *const *items, size_t count, size_t *chosen)
{
	if (!context->choose)
		return mt_error_new(MT_ERROR_USAGE,
				    "cannot choose a %s here: give it on the command line", what);
	return context->choose(context->context, what, items, count, chosen);
}

/* The process's command line; kernel threads have none. */
static size_t read_command(pid_t pid, char text[COMMAND_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, COMMAND_MAX - 1, file) : 0;
	if (file)
		fclose(file);
	while (length && !text[length - 1])
		length--;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20)
			text[i] = ' ';
	text[length] = '\0';
	return length;
}

static bool is_ours(pid_t pid, uid_t *owner)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &status))
		return false;
	*owner = status.st_uid;
	return pid != getpid() && (geteuid() == 0 || status.st_uid == geteuid());
}

static struct mt_error *add_process(processes *all, pid_t pid)
{
	char command[COMMAND_MAX], number[24];
	mt_auto(mt_str) struct mt_str line = {0};
	uid_t owner;

	if (!is_ours(pid, &owner) || !read_command(pid, command))
		return NULL;
	const struct passwd *user = getpwuid(owner);
	snprintf(number, sizeof(number), "%u", owner);
	mt_str_appendf(&line, "%7d  %-10s  %s", pid, user ? user->pw_name : number, command);
	struct process process = {pid, line.text};
	if (line.failed || mt_array_push(all, process))
		return mt_error_no_memory();
	line.text = NULL;
	return NULL;
}

static int compare_pids(const void *a, const void *b)
{
	return ((const struct process *)b)->pid - ((const struct process *)a)->pid;
}

/* Newest first. */
static struct mt_error *list_processes(processes *all)
{
	struct mt_error *error = NULL;
	const struct dirent *entry;
	DIR *directory = opendir("/proc");

	if (!directory)
		return mt_error_errno(errno, "cannot list the processes in /proc");
	while (!error && (entry = readdir(directory)))
		if (isdigit((unsigned char)*entry->d_name))
			error = add_process(all, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(directory);
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), compare_pids);
	return error;
}

struct mt_error *mt_choose_process(const struct mt_command_context *context, pid_t *pid)
{
	processes all = {0};
	size_t chosen = 0;
	struct mt_error *error = list_processes(&all);
	const char **lines = calloc(all.count + 1, sizeof(*lines));

	if (!lines && !error)
		error = mt_error_no_memory();
	for (size_t i = 0; !error && i < all.count; i++)
		lines[i] = all.items[i].line;
	if (!error)
		error = choose(context, "process", lines, all.count, &chosen);
	if (!error)
		*pid = all.items[chosen].pid;
	free(lines);
	mt_array_each (process, &all)
		free(process->line);
	mt_array_deinit(&all);
	return error;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, without duplicates; lent by the object file.  NULL: no memory. */
static const char **function_names(struct mt_objfile *objfile, size_t *count)
{
	size_t all, used = 0;
	const struct mt_symbol *symbols = mt_objfile_symbols(objfile, &all);
	const char **names = calloc(all + 1, sizeof(*names));

	*count = 0;
	if (!names)
		return NULL;
	for (size_t i = 0; i < all; i++)
		if (symbols[i].kind == MT_FUNCTION_SYMBOL)
			names[used++] = mt_objfile_symbol_name(objfile, &symbols[i]);
	qsort(names, used, sizeof(*names), compare_names);
	for (size_t i = 0; i < used; i++)
		if (!*count || strcmp(names[*count - 1], names[i]) != 0)
			names[(*count)++] = names[i];
	return names;
}

struct mt_error *mt_choose_function(const struct mt_command_context *context, const char *path,
				    char **name)
{
	struct mt_objfile *objfile = NULL;
	size_t count, chosen = 0;

	*name = NULL;
	mt_try(mt_objfile_open(path, NULL, NULL, &objfile));
	const char **names = function_names(objfile, &count);
	struct mt_error *error =
	    names ? choose(context, "function", names, count, &chosen) : mt_error_no_memory();
	if (!error) {
		*name = strdup(names[chosen]);
		error = *name ? NULL : mt_error_no_memory();
	}
	free(names);
	mt_objfile_unref(objfile);
	return error;
}
