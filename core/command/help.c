/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/arguments.h"

static const char *const options[] = {NULL};

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	const struct poptOption table[] = {POPT_TABLEEND};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};

	mt_try(mt_arguments_parse(&arguments, context, &mt_command_help, table, argc, argv, 0, 1));
	if (arguments.count) {
		const char *name = arguments.words[0];
		const struct mt_command *command = mt_command_find(name);

		if (!command)
			return mt_error_new(MT_ERROR_USAGE,
					    "unknown command \"%s\": try \"%s help\"", name,
					    context->prefix);
		mt_command_printf(context, "%s\n\nUsage: %s %s%s%s\n\n%s", command->summary,
				  context->prefix, command->name, *command->usage ? " " : "",
				  command->usage, command->help);
		return NULL;
	}
	mt_command_printf(context, "Usage: %s COMMAND [ARGUMENT]...\n\nCommands:\n",
			  context->prefix);
	for (const struct mt_command *const *command = mt_commands; *command; command++)
		if ((*command)->where & MT_COMMAND_IN_SHELL)
			mt_command_printf(context, "  %-9s %s\n", (*command)->name,
					  (*command)->summary);
	mt_command_printf(context,
			  "\n\"%s help COMMAND\" shows the help of a command.  \"%s PROGRAM "
			  "[ARGUMENT]...\"\nstarts a debugger prompt for PROGRAM.\n",
			  context->prefix, context->prefix);
	return NULL;
}

const struct mt_command mt_command_help = {
    .name = "help",
    .summary = "List the commands, or show the help of one",
    .usage = "[COMMAND]",
    .help = "List the commands; with COMMAND, show its help.\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL,
    .run = run,
};
