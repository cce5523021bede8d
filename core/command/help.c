/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/arguments.h"

static const char *const options[] = {NULL};

static void list_commands(const struct mt_command_context *context)
{
	mt_command_printf(context, "Usage: %s COMMAND [ARGUMENT]...\n\nCommands:\n",
			  context->prefix);
	for (const struct mt_command *const *command = mt_commands; *command; command++)
		mt_command_printf(context, "  %-9s %s\n", (*command)->name, (*command)->summary);
	mt_command_printf(context,
			  "\n\"%s help COMMAND\" tells more of one.  \"%s PROGRAM [ARGUMENT]...\" "
			  "opens a prompt, at which\nthe program is debugged.\n",
			  context->prefix, context->prefix);
}

static struct mt_error *tell(const struct mt_command_context *context, const char *name)
{
	const struct mt_command *command = mt_command_find(name);

	if (!command)
		return mt_error_new(MT_ERROR_USAGE, "there is no command \"%s\": see \"%s help\"",
				    name, context->prefix);
	mt_command_printf(context, "%s\n\nUsage: %s %s%s%s\n\n%s", command->summary,
			  context->prefix, command->name, *command->usage ? " " : "",
			  command->usage, command->help);
	return NULL;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	const struct poptOption table[] = {POPT_TABLEEND};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct mt_error *error =
	    mt_arguments_parse(&arguments, context, &mt_command_help, table, argc, argv, 0, 1);

	if (error)
		return error;
	if (arguments.count)
		return tell(context, arguments.words[0]);
	list_commands(context);
	return NULL;
}

const struct mt_command mt_command_help = {
    .name = "help",
    .summary = "List the commands, or explain one",
    .usage = "[COMMAND]",
    .help = "Without COMMAND, list the commands.  With it, tell all about that one.\n",
    .options = options,
    .run = run,
};
