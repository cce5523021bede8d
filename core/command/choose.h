/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets the user choose a running process or a function from a list, instead of naming it. */
#ifndef MT_COMMAND_CHOOSE_H
#define MT_COMMAND_CHOOSE_H

#include "command/command.h"

#include <string.h>
#include <sys/types.h>

/* "?", and "." as in magic-trace: what the user types to choose from a list. */
static inline bool mt_choose_is_asked(const char *text)
{
	return strcmp(text, "?") == 0 || strcmp(text, ".") == 0;
}

/* One of the processes that this user may trace.
 * Errors: USAGE (the front end has no way to choose); INTERRUPTED; NO_MEMORY; the front end's. */
struct mt_error *mt_choose_process(const struct mt_command_context *context, pid_t *pid);
/* NAME: demangled; the caller's to free.
 * Errors: as above; those of mt_objfile_open(). */
struct mt_error *mt_choose_function(const struct mt_command_context *context, const char *path,
				    char **name);

#endif
