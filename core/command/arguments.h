/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command's arguments, read with popt: options may stand before and after the other words. */
#ifndef MT_COMMAND_ARGUMENTS_H
#define MT_COMMAND_ARGUMENTS_H

#include "base/error.h"
#include "command/command.h"

#include <popt.h>
#include <stdlib.h>

struct mt_arguments {
	unsigned int popt_flags; /* in: POPT_CONTEXT_POSIXMEHARDER ends options at the first word */
	poptContext popt;
	const char **words; /* the other words; NULL at the end; live as long as this */
	size_t count;
};

/* Stores the options as OPTIONS says (strings: see mt_auto(mt_option)), and checks that there are
 * at least LEAST and at most MOST other words.  Zeroed storage can be deinited.
 * Errors: USAGE, with the command's usage and how to get its help; NO_MEMORY. */
struct mt_error *mt_arguments_parse(struct mt_arguments *arguments,
				    const struct mt_command_context *context,
				    const struct mt_command *command,
				    const struct poptOption *options, int argc, char **argv,
				    size_t least, size_t most);
void mt_arguments_deinit(struct mt_arguments *arguments);
static inline void mt_arguments_cleanup(struct mt_arguments *arguments)
{
	mt_arguments_deinit(arguments);
}

/* mt_auto(mt_option) char *output = NULL: popt allocates what POPT_ARG_STRING gives. */
static inline void mt_option_cleanup(char **text)
{
	free(*text);
}

#endif
