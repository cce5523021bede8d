/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtdb: finds the command in the arguments, runs it in a context of the terminal's, and turns its
 * result into an exit status. */
#include "command/command.h"
#include "prompt/prompt.h"
#include "ptrace/target.h"
#include "screen/screen.h"
#include "terminal/ending.h"
#include "terminal/picker.h"
#include "terminal/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct mt_error *unknown_command(const char *name)
{
	const struct mt_command *near = mt_command_suggest(name);

	if (near)
		return mt_error_new(MT_ERROR_USAGE, "unknown command \"%s\": did you mean \"%s\"?",
				    name, near->name);
	return mt_error_new(MT_ERROR_USAGE, "unknown command \"%s\": try \"mtdb help\"", name);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Runs the command; "mtdb" and "mtdb --help" are "mtdb help", "mtdb COMMAND --help" is "mtdb help
 * COMMAND". */
static struct mt_error *dispatch(struct mt_command_context *context, int argc, char **argv,
				 const struct mt_command **command)
{
	char *name = argc < 2 || is_help(argv[1]) ? NULL : argv[1];
	char *help[] = {(char *)"help", name, NULL};

	*command = name ? mt_command_find(name) : &mt_command_help;
	if (!*command)
		return unknown_command(name);
	if (!name || (argc > 2 && is_help(argv[2])))
		return mt_command_help.run(context, name ? 2 : 1, help);
	return (*command)->run(context, argc - 1, argv + 1);
}

/* When the reader closes the pipe (`mtdb history … | head`): no failure to report. */
#define CLOSED_PIPE_STATUS (128 + SIGPIPE)

static int report_error(struct terminal *terminal, struct mt_error *error,
			const struct mt_command *command)
{
	int status = mt_exit_status(mt_error_code(error));

	if (mt_error_code(error) == MT_ERROR_INTERRUPTED && ending_signal())
		status = 128 + ending_signal();
	if (command && command->failure_status && mt_error_code(error) != MT_ERROR_TRIGGER)
		status = command->failure_status;
	if (mt_error_errnum(error) == EPIPE || terminal->output_errno == EPIPE)
		status = CLOSED_PIPE_STATUS;
	else
		terminal->log.line(terminal, MT_LOG_INFO, mt_error_message(error));
	mt_error_destroy(error);
	return status;
}

static struct mt_error *create_target(void *context, struct mt_target **out)
{
	(void)context;
	ending_offer_snapshots();
	return mt_ptrace_target_create(out);
}

int main(int argc, char **argv)
{
	struct terminal terminal;
	const struct mt_command *command = NULL;
	struct mt_error *error = NULL;

	terminal_init(&terminal);
	struct mt_command_context context = {
	    .print = terminal_print,
	    .report = terminal_report,
	    .context = &terminal,
	    .log = &terminal.log,
	    .progress = &terminal.progress,
	    .target_create = create_target,
	    .choose = pick,
	    .screen = &screen_of_terminal,
	    .columns = terminal_columns(),
	    .prefix = "mtdb",
	    .help = "mtdb help",
	    .print_colour = terminal.print_colour,
	    .report_colour = terminal.report_colour,
	};

	if (argc > 1 && !mt_command_find(argv[1]) && prompt_is_meant(argc, argv))
		context.exit_status = prompt_main(&terminal, argc, argv);
	else if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
		terminal_print(
		    &terminal,
		    "mtdb " MT_VERSION "\n"
		    "Licence GPL-3.0-or-later; there is no warranty, as far as the law permits.\n");
	else
		error = dispatch(&context, argc, argv, &command);

	int output_errno = terminal_flush(&terminal);
	if (error)
		return report_error(&terminal, error, command);
	if (output_errno == EPIPE)
		return CLOSED_PIPE_STATUS;
	if (output_errno)
		mt_log(&terminal.log, MT_LOG_INFO, "cannot write to standard output: %s",
		       strerrordesc_np(output_errno));
	return output_errno ? 1 : context.exit_status;
}
