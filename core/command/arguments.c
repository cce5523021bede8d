/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/arguments.h"

static struct mt_error *usage_error(const struct mt_command_context *context,
				    const struct mt_command *command, const char *problem,
				    const char *word)
{
	return mt_error_new(
	    MT_ERROR_USAGE, "%s: %s%s%s\nUsage: %s %s%s%s\nTry \"%s %s\" for more information.",
	    command->name, problem, *word ? ": " : "", word, context->prefix, command->name,
	    *command->usage ? " " : "", command->usage, context->help, command->name);
}

struct mt_error *mt_arguments_parse(struct mt_arguments *arguments,
				    const struct mt_command_context *context,
				    const struct mt_command *command,
				    const struct poptOption *options, int argc, char **argv,
				    size_t least, size_t most)
{
	int status;

	arguments->popt =
	    poptGetContext(NULL, argc, (const char **)argv, options, arguments->popt_flags);
	if (!arguments->popt)
		return mt_error_no_memory();
	while ((status = poptGetNextOpt(arguments->popt)) > 0)
		;
	if (status < -1)
		return usage_error(context, command, poptStrerror(status),
				   poptBadOption(arguments->popt, 0));

	arguments->words = poptGetArgs(arguments->popt);
	for (arguments->count = 0; arguments->words && arguments->words[arguments->count];)
		arguments->count++;
	if (arguments->count < least)
		return usage_error(context, command, "missing argument", "");
	if (arguments->count > most)
		return usage_error(context, command, "unexpected argument", arguments->words[most]);
	return NULL;
}

void mt_arguments_deinit(struct mt_arguments *arguments)
{
	if (arguments->popt)
		poptFreeContext(arguments->popt);
	arguments->popt = NULL;
}
